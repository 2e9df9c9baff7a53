/* A generated 32 GiB PoRep: vanilla check, one partition's witness by the fast and the slow path,
 * all rows; and the other kinds at 32 GiB. */
#include "base/mem.h"
#include "circuit/proof_task.h"
#include "fil/gen.h"
#include "r1cs/eval.h"
#include "unit/fil/golden.h"

static pool *threads;
static const fil_gen_id id = {.seed = 32, .miner = 1000, .sector = 77};

/* Partition k: fast = slow when asked, every row holds. */
static void check_partition(const proof_task *t, const r1cs_shape *s, uint32_t k, bool slow)
{
    run_ctx rc = {.pool = threads};
    witness w, v;
    uint64_t n_bad;
    assert_ok(witness_init(&w, s));
    assert_ok(proof_task_witness(&w, s, t, k, CS_WITNESS_FAST, &rc));
    if (slow) {
        assert_ok(witness_init(&v, s));
        assert_ok(proof_task_witness(&v, s, t, k, CS_WITNESS_SLOW, &rc));
        assert_memory_equal(v.bits, w.bits, (w.n_aux + 63) / 64 * 8);
        assert_memory_equal(v.dense, w.dense, w.n_dense * sizeof *w.dense);
        assert_memory_equal(v.inputs, w.inputs, w.n_inputs * sizeof *w.inputs);
        witness_fini(&v);
    }
    assert_ok(r1cs_satisfied(s, &w, &n_bad, &rc));
    assert_int_equal(n_bad, 0);
    witness_fini(&w);
}

static void check_task(const proof_task *t, bool slow)
{
    r1cs_shape *s;
    assert_ok(proof_task_shape(&s, t));
    check_partition(t, s, 0, slow);
    if (proof_task_partitions(t) > 1)
        check_partition(t, s, proof_task_partitions(t) - 1, false);
    r1cs_shape_destroy(s);
}

static void test_porep_32gib(void **state)
{
    (void)state;
    arena a = {0};
    run_ctx rc = {.pool = threads};
    proof_task t = {.kind = PROOF_POREP};
    assert_ok(fil_gen_porep(&t.in.porep, &a, &id, fil_sector_by_name("32GiB"), FIL_SEAL_V1_1, &rc));
    assert_ok(fil_porep_check(&t.in.porep, NULL, &rc));
    check_task(&t, true);
    arena_fini(&a);
}

static void test_winning_32gib(void **state)
{
    (void)state;
    arena a = {0};
    run_ctx rc = {.pool = threads};
    proof_task t = {.kind = PROOF_WINNING};
    assert_ok(fil_gen_post(&t.in.post, &a, &id, fil_post_proof_by_name("StackedDrgWinning32GiBV1"),
                           1, &rc));
    check_task(&t, true);
    arena_fini(&a);
}

static void test_update_32gib(void **state)
{
    (void)state;
    arena a = {0};
    run_ctx rc = {.pool = threads};
    proof_task t = {.kind = PROOF_SNAP};
    assert_ok(
        fil_gen_update(&t.in.update, &a, &id, fil_update_config_by_bytes((uint64_t)32 << 30), &rc));
    check_task(&t, true);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_porep_32gib),
        cmocka_unit_test(test_winning_32gib),
        cmocka_unit_test(test_update_32gib),
    };
    if (pool_create(&threads, 0).code != CUZK_OK)
        return 1;
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    pool_destroy(threads);
    return rc;
}
