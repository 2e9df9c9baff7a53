/* Witnesses, public inputs and row evaluations of every golden vanilla proof, value for value (as
 * SHA-256). */
#include "unit/circuit/golden_task.h"

#include <dirent.h>

#include "base/mem.h"
#include "hash/sha256.h"
#include "r1cs/eval.h"

static pool *threads;

/* SHA-256 of n values as 32-byte little-endian integers; value(i) by callback. */
typedef void value_fn(fr *out, const void *ctx, uint64_t i);

static void value_aux(fr *out, const void *ctx, uint64_t i) { witness_aux(out, ctx, i); }

static void value_at(fr *out, const void *ctx, uint64_t i) { *out = ((const fr *)ctx)[i]; }

static void assert_digest(json_val part, const char *field, value_fn *value, const void *ctx,
                          uint64_t n, const char *name)
{
    json_val want = get(part, field);
    uint8_t digest[32], expected[32], buf[64 * 32];
    sha256_ctx h;
    sha256_init(&h);
    assert_int_equal(get_u64(want, "len"), n);
    for (uint64_t i = 0; i < n; i += 64) {
        uint64_t len = n - i < 64 ? n - i : 64;
        for (uint64_t k = 0; k < len; k++) {
            fr v;
            value(&v, ctx, i + k);
            fr_to_le(buf + 32 * k, &v);
        }
        sha256_update(&h, buf, 32 * len);
    }
    sha256_final(&h, digest);
    get_hex32(expected, want, "sha256");
    if (memcmp(digest, expected, 32) != 0)
        fail_msg("%s: %s differs", name, field);
}

static void check_partition(const proof_task *t, const r1cs_shape *s, uint32_t k, json_val want,
                            const char *name, bool slow)
{
    const r1cs_counts *n = r1cs_shape_counts(s);
    run_ctx rc = {.pool = threads};
    witness w;
    assert_ok(witness_init(&w, s));
    assert_ok(proof_task_witness(&w, s, t, k, CS_WITNESS_FAST, &rc));
    assert_digest(want, "inputs", value_at, w.inputs, w.n_inputs, name);
    assert_digest(want, "aux", value_aux, &w, w.n_aux, name);
    fr *pub = mem_alloc(proof_task_n_public(t) * sizeof *pub, 64);
    proof_task_public_inputs(t, k, pub);
    assert_int_equal(proof_task_n_public(t) + 1, w.n_inputs);
    assert_memory_equal(pub, w.inputs + 1, (w.n_inputs - 1) * sizeof *pub);
    mem_free(pub);
    if (slow) {
        witness v;
        assert_ok(witness_init(&v, s));
        assert_ok(proof_task_witness(&v, s, t, k, CS_WITNESS_SLOW, NULL));
        assert_memory_equal(v.bits, w.bits, (w.n_aux + 63) / 64 * 8);
        assert_memory_equal(v.dense, w.dense, w.n_dense * sizeof *w.dense);
        witness_fini(&v);
    }
    uint64_t m = 1ull << n->lg_m;
    fr *e = mem_alloc(3 * m * sizeof *e, 64);
    assert_non_null(e);
    assert_ok(r1cs_eval(s, &w, e, e + m, e + 2 * m, m, &rc));
    assert_digest(want, "a", value_at, e, n->n_rows, name);
    assert_digest(want, "b", value_at, e + m, n->n_rows, name);
    assert_digest(want, "c", value_at, e + 2 * m, n->n_rows, name);
    assert_ok(r1cs_satisfied(s, &w, NULL, &rc));
    mem_free(e);
    witness_fini(&w);
}

/* Row evaluations of big circuits are compared for the first partition only; their inputs and aux
 * for all. */
static void check_case(const char *name)
{
    char file[160];
    arena a = {0};
    proof_task *t = mem_zalloc(sizeof *t, 64);
    r1cs_shape *s;
    snprintf(file, sizeof file, "witness/%s.json.gz", name);
    json_doc doc = golden_json(file);
    golden_task(t, &a, name);
    assert_ok(proof_task_shape(&s, t));
    json_iter it = items(get(json_root(&doc), "partitions"));
    json_val part;
    assert_int_equal(it.n, proof_task_partitions(t));
    for (uint32_t k = 0; json_next(&it, &part); k++)
        if (k == 0 || k + 1 == proof_task_partitions(t))
            check_partition(t, s, k, part, name, k == 0);
    r1cs_shape_destroy(s);
    golden_json_free(&doc);
    mem_free(t);
    arena_fini(&a);
}

static void check_all(const char *prefix, int min_cases)
{
    DIR *d = opendir(CUZK_GOLDEN_DIR "/witness");
    int n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char name[128];
        char *end = strstr(e->d_name, ".json.gz");
        if (!end || strncmp(e->d_name, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(end - e->d_name), e->d_name);
        check_case(name);
        n++;
    }
    closedir(d);
    if (n < min_cases)
        fail_msg("%d cases of %s, want at least %d", n, prefix, min_cases);
}

static void test_porep_witnesses_are_golden(void **state)
{
    (void)state;
    check_all("porep-", 14);
}

static void test_post_witnesses_are_golden(void **state)
{
    (void)state;
    check_all("post-", 17);
}

static void test_update_witnesses_are_golden(void **state)
{
    (void)state;
    check_all("update-", 6);
}

/* A wrong bit deep inside a witness is found and its place named. */
static void test_a_flipped_witness_bit_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *name, *path;
        double at; /* position of the flipped bit, as a share of all aux */
    } cases[] = {
        {"post-winning-2KiB", "sector_33/", 0.5},
        {"update-2KiB-snap", "challenge_", 0.5},
        {"porep-2KiB-V1_1", "challenge_0/labeling_", 0.25},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        arena a = {0};
        proof_task *t = mem_zalloc(sizeof *t, 64);
        r1cs_shape *s;
        witness w;
        run_ctx rc = {.pool = threads};
        golden_task(t, &a, cases[i].name);
        assert_ok(proof_task_shape(&s, t));
        assert_ok(witness_init(&w, s));
        assert_ok(proof_task_witness(&w, s, t, 0, CS_WITNESS_FAST, NULL));
        uint64_t j = (uint64_t)((double)w.n_aux * cases[i].at);
        while (witness_is_dense(&w, j))
            j++;
        w.bits[j >> 6] ^= 1ull << (j & 63);
        cuzk_status st = r1cs_satisfied(s, &w, NULL, &rc);
        assert_int_equal(st.code, CUZK_E_VERIFY);
        if (!strstr(st.msg, cases[i].path))
            fail_msg("%s: \"%s\" does not name %s", cases[i].name, st.msg, cases[i].path);
        witness_fini(&w);
        r1cs_shape_destroy(s);
        mem_free(t);
        arena_fini(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_porep_witnesses_are_golden),
        cmocka_unit_test(test_post_witnesses_are_golden),
        cmocka_unit_test(test_update_witnesses_are_golden),
        cmocka_unit_test(test_a_flipped_witness_bit_is_named),
    };
    if (pool_create(&threads, 0).code != CUZK_OK)
        return 1;
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    pool_destroy(threads);
    return rc;
}
