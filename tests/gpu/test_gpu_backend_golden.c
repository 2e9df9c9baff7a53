/* Every golden circuit on the device: proofs with fixed r and s have the reference's bytes, with the
 * key decoded from file form and with the key made on the device. */
#include "unit/circuit/golden_task.h"
#define BACKEND_ASSERT_OK 1
#include "backend_fixture.h"

static pool *threads;
static run_ctx rc;
static g16_backend *cuda;

/* One key of params.json.gz and the cases of proofs.json.gz made with it. */
static const struct {
    const char *params, *cases[7];
} circuits[] = {
    {"winning-2KiB", {"post-winning-2KiB"}},
    {"window-2KiB",
     {"post-window-2KiB-V1_1-1sector", "post-window-2KiB-V1_1-2sectors",
      "post-window-2KiB-V1_1-3sectors", "post-window-2KiB-V1_2-1sector",
      "post-window-2KiB-V1_2-2sectors", "post-window-2KiB-V1_2-3sectors"}},
    {"update-2KiB", {"update-2KiB-snap", "update-2KiB-snap-b"}},
    {"porep-2KiB",
     {"porep-2KiB-V1", "porep-2KiB-V1_1", "porep-2KiB-Synthetic", "porep-2KiB-V1_1-b",
      "porep-2KiB-V1_1-dup", "porep-2KiB-NonInteractive"}},
};

/* The partitions of a case in proofs.json.gz, where post cases have no prefix. */
static json_val golden_partitions(const json_doc *proofs, const char *name)
{
    const char *want = strncmp(name, "post-", 5) == 0 ? name + 5 : name;
    json_iter it = items(get(json_root(proofs), "proofs"));
    json_val v;
    char got[128];
    while (json_next(&it, &v)) {
        get_str(got, sizeof got, v, "name");
        if (strcmp(got, want) == 0)
            return get(v, "partitions");
    }
    fail_msg("no golden proof %s", name);
    return v;
}

/* All partitions of a task as one batch. */
static void check_proofs(const proof_task *t, const r1cs_shape *s, void *handle, const g16_pvk *pvk,
                         json_val parts, const char *name)
{
    uint32_t n = proof_task_partitions(t), k = 0;
    witness *w = calloc(n, sizeof *w);
    const witness **ws = calloc(n, sizeof *ws);
    g16_blinding *rs = calloc(n, sizeof *rs);
    g16_proof *proofs = calloc(n, sizeof *proofs);
    g16_timings tm;
    for (k = 0; k < n; k++) {
        assert_ok(witness_init(&w[k], s));
        assert_ok(proof_task_witness(&w[k], s, t, k, CS_WITNESS_FAST, &rc));
        g16_tiny_blinding(&rs[k]);
        ws[k] = &w[k];
    }
    assert_ok(g16_prove(cuda, handle, ws, rs, n, proofs, &tm, &rc));
    print_message("%s: %u partitions, %.1f ms\n", name, n, (double)tm.total_ns / 1e6);
    json_iter it = items(parts);
    json_val part;
    assert_int_equal(it.n, n);
    for (k = 0; json_next(&it, &part); k++) {
        char want[2 * G16_PROOF_BYTES + 1], got[2 * G16_PROOF_BYTES + 1];
        uint8_t b[G16_PROOF_BYTES];
        json_val text;
        assert_ok(g16_verify(pvk, w[k].inputs + 1, w[k].n_inputs - 1, &proofs[k]));
        g16_proof_encode(b, &proofs[k]);
        hex_encode(got, b, sizeof b);
        if (json_member(&text, part, "proof")) { /* the reference proved some only */
            get_str(want, sizeof want, part, "proof");
            if (strcmp(want, got) != 0)
                fail_msg("%s, partition %u: %s", name, k, got);
        }
        witness_fini(&w[k]);
    }
    free(w);
    free(ws);
    free(rs);
    free(proofs);
}

static void check_cases(size_t circuit, bool on_device, const json_doc *proofs)
{
    r1cs_shape *shape = NULL;
    fx_key key = {0};
    g16_vk vk = {0};
    g16_pvk *pvk = NULL;
    void *handle = NULL;
    for (size_t i = 0; i < ARRAY_LEN(circuits[0].cases) && circuits[circuit].cases[i]; i++) {
        const char *name = circuits[circuit].cases[i];
        arena a = {0};
        proof_task *t = mem_zalloc(sizeof *t, 64);
        golden_task(t, &a, name);
        if (!shape) {
            g16_toxic toxic;
            g16_tiny_toxic(&toxic);
            assert_ok(proof_task_shape(&shape, t));
            if (on_device) {
                assert_ok(g16_cuda_load_development(cuda, shape, &toxic, &vk, &rc, &handle));
                assert_ok(g16_pvk_create(&pvk, &vk));
            } else {
                fx_key_make(&key, shape, &toxic, &rc);
                assert_ok(cuda->ops->load(cuda, shape, key.key, &rc, &handle));
            }
        }
        check_proofs(t, shape, handle, on_device ? pvk : key.pvk, golden_partitions(proofs, name),
                     name);
        mem_free(t);
        arena_fini(&a);
    }
    cuda->ops->unload(cuda, handle);
    fx_key_free(&key);
    g16_pvk_destroy(pvk);
    g16_vk_fini(&vk);
    r1cs_shape_destroy(shape);
}

static void test_proofs_with_file_keys_are_golden(void **state)
{
    (void)state;
    json_doc proofs = golden_json("proofs.json.gz");
    for (size_t i = 0; i < ARRAY_LEN(circuits); i++)
        check_cases(i, false, &proofs);
    golden_json_free(&proofs);
}

static void test_proofs_with_device_keys_are_golden(void **state)
{
    (void)state;
    json_doc proofs = golden_json("proofs.json.gz");
    for (size_t i = 0; i < ARRAY_LEN(circuits); i++)
        check_cases(i, true, &proofs);
    golden_json_free(&proofs);
}

static int set_up(void **state)
{
    (void)state;
    assert_ok(pool_create(&threads, 0));
    rc = (run_ctx){.pool = threads};
    assert_ok(g16_cuda_create(&cuda, &(g16_cuda_config){.in_process = true}));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cuda->ops->destroy(cuda);
    pool_destroy(threads);
    return 0;
}

int main(void)
{
    gpu_device_info first;
    if (gpu_device_find(&first, NULL).code != CUZK_OK)
        return 77; /* no device */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proofs_with_file_keys_are_golden),
        cmocka_unit_test(test_proofs_with_device_keys_are_golden),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
