/* Generated inputs satisfy every row of their circuits, so whatever a vanilla check might leave out
 * is right as well. */
#include "circuit/proof_task.h"
#include "fil/gen.h"
#include "r1cs/eval.h"
#include "unit/fil/golden.h"

static const fil_gen_id id = {.seed = 11, .miner = 1000, .sector = 5};

static void assert_satisfied(const proof_task *t)
{
    r1cs_shape *s;
    witness w;
    char name[64];
    const run_ctx rc = {0};
    proof_task_circuit_name(name, t);
    assert_ok(proof_task_shape(&s, t));
    for (uint32_t k = 0; k < proof_task_partitions(t); k++) {
        uint64_t n_bad;
        assert_ok(witness_init(&w, s));
        assert_ok(proof_task_witness(&w, s, t, k, CS_WITNESS_FAST, NULL));
        cuzk_status st = r1cs_satisfied(s, &w, &n_bad, &rc);
        if (st.code != CUZK_OK)
            fail_msg("%s, partition %u: %s", name, k, st.msg);
        assert_int_equal(n_bad, 0);
        witness_fini(&w);
    }
    r1cs_shape_destroy(s);
}

static void check_porep(const char *size, fil_seal_version v)
{
    arena a = {0};
    proof_task t = {.kind = PROOF_POREP};
    assert_ok(fil_gen_porep(&t.in.porep, &a, &id, fil_sector_by_name(size), v, NULL));
    assert_satisfied(&t);
    arena_fini(&a);
}

static void test_porep_satisfies(void **state)
{
    (void)state;
    check_porep("2KiB", FIL_SEAL_V1);
    check_porep("2KiB", FIL_SEAL_V1_1);
    check_porep("2KiB", FIL_SEAL_SYNTHETIC);
    check_porep("8MiB", FIL_SEAL_V1_1);
}

static void check_post(proof_kind kind, const char *name, uint32_t n)
{
    arena a = {0};
    proof_task t = {.kind = kind};
    assert_ok(fil_gen_post(&t.in.post, &a, &id, fil_post_proof_by_name(name), n, NULL));
    assert_satisfied(&t);
    arena_fini(&a);
}

static void test_post_satisfies(void **state)
{
    (void)state;
    check_post(PROOF_WINNING, "StackedDrgWinning2KiBV1", 1);
    check_post(PROOF_WINDOW, "StackedDrgWindow2KiBV1", 3);
    check_post(PROOF_WINDOW, "StackedDrgWindow2KiBV1_2", 2);
    check_post(PROOF_WINDOW, "StackedDrgWindow8MiBV1_2", 1);
}

static void test_update_satisfies(void **state)
{
    (void)state;
    const uint64_t sizes[] = {2 << 10, 16 << 10, 8 << 20};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        arena a = {0};
        proof_task t = {.kind = PROOF_SNAP};
        assert_ok(
            fil_gen_update(&t.in.update, &a, &id, fil_update_config_by_bytes(sizes[i]), NULL));
        assert_satisfied(&t);
        arena_fini(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_porep_satisfies),
        cmocka_unit_test(test_post_satisfies),
        cmocka_unit_test(test_update_satisfies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
