/* Every partition of one golden vanilla proof: public inputs, witness digests per 65,536 values,
 * satisfied. */
#ifndef PARTITION_GOLDEN_H
#define PARTITION_GOLDEN_H
#include "unit/circuit/golden_task.h"

#include "base/mem.h"
#include "hash/sha256.h"
#include "r1cs/eval.h"

#define PARTITION_CHUNK 65536u

/* The chunk that differs is named: a place in the circuit. */
static void assert_values(json_val part, const char *field, const witness *w, uint64_t n,
                          bool inputs)
{
    json_val want = get(part, field), chunk;
    json_iter it = items(get(want, "chunks65536"));
    assert_int_equal(get_u64(want, "len"), n);
    for (uint64_t lo = 0; lo < n; lo += PARTITION_CHUNK) {
        uint64_t hi = lo + PARTITION_CHUNK < n ? lo + PARTITION_CHUNK : n;
        sha256_ctx h;
        uint8_t digest[32], b[32];
        char got[17];
        const char *hex;
        size_t len;
        sha256_init(&h);
        for (uint64_t i = lo; i < hi; i++) {
            fr v;
            witness_var(&v, w, (inputs ? R1CS_INPUT : 0) | (r1cs_var)i);
            fr_to_le(b, &v);
            sha256_update(&h, b, sizeof b);
        }
        sha256_final(&h, digest);
        hex_encode(got, digest, 8);
        assert_true(json_next(&it, &chunk));
        assert_ok(json_get_string(&hex, &len, chunk));
        if (len != 16 || memcmp(hex, got, 16) != 0)
            fail_msg("%s: values %llu to %llu differ", field, (unsigned long long)lo,
                     (unsigned long long)hi - 1);
    }
    assert_false(json_next(&it, &chunk));
}

static void check_one(const proof_task *t, const r1cs_shape *s, uint32_t k, json_val want,
                      const run_ctx *rc)
{
    witness w;
    fr *pub = mem_alloc(proof_task_n_public(t) * sizeof *pub, 64);
    assert_non_null(pub);
    assert_ok(witness_init(&w, s));
    assert_ok(proof_task_witness(&w, s, t, k, CS_WITNESS_FAST, NULL));
    assert_int_equal(get_u64(want, "k"), k);
    assert_values(want, "inputs", &w, w.n_inputs, true);
    assert_values(want, "aux", &w, w.n_aux, false);
    assert_int_equal(proof_task_n_public(t) + 1, w.n_inputs);
    proof_task_public_inputs(t, k, pub);
    assert_memory_equal(pub, w.inputs + 1, (w.n_inputs - 1) * sizeof *pub);
    assert_ok(r1cs_satisfied(s, &w, NULL, rc));
    mem_free(pub);
    witness_fini(&w);
}

/* name as in tests/golden/witness. */
static void check_partitions(const char *name, uint32_t n_partitions)
{
    char file[160];
    arena a = {0};
    proof_task *t = mem_zalloc(sizeof *t, 64);
    r1cs_shape *s;
    run_ctx rc = {0};
    json_val part;
    assert_non_null(t);
    assert_ok(pool_create(&rc.pool, 0));
    snprintf(file, sizeof file, "witness/%s.json.gz", name);
    json_doc doc = golden_json(file);
    golden_task(t, &a, name);
    assert_int_equal(proof_task_partitions(t), n_partitions);
    assert_ok(proof_task_shape(&s, t));
    json_iter it = items(get(json_root(&doc), "partitions"));
    uint32_t k = 0;
    for (; json_next(&it, &part); k++) {
        print_message("%s, partition %u\n", name, k);
        check_one(t, s, k, part, &rc);
    }
    assert_int_equal(k, n_partitions);
    witness w;
    assert_ok(witness_init(&w, s));
    assert_int_equal(proof_task_witness(&w, s, t, n_partitions, CS_WITNESS_FAST, NULL).code,
                     CUZK_E_RANGE);
    witness_fini(&w);
    r1cs_shape_destroy(s);
    golden_json_free(&doc);
    mem_free(t);
    arena_fini(&a);
    pool_destroy(rc.pool);
}
#endif
