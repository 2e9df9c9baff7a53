/* Jobs from submit to proof on devices that prove by trapdoor. */
#include "unit/engine/engine_fixture.h"

static void test_winning_post_comes_back_proven(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    job_view v = submit_post(&f, PROOF_WINNING, 1, 1);
    assert_string_equal(v.job_id, "winning-1");
    assert_string_equal(v.circuit_id, "winning-2k");
    job_view end = wait_end(f.e, v.job_id);
    if (end.state != JOB_DONE)
        fail_msg("state %s: %s", JOB_STATE_NAMES[end.state], end.error);
    uint8_t *proof;
    size_t len;
    assert_ok(engine_get_proof(f.e, v.job_id, &proof, &len));
    assert_int_equal(len, 192);
    mem_free(proof);
    fixture_fini(&f);
}

static void test_partitions_are_all_proven_in_one_batch(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    job_view v = submit_post(&f, PROOF_WINDOW, 2, 5);
    assert_int_equal(v.n_partitions, 5);
    job_view end = wait_end(f.e, v.job_id);
    assert_int_equal(end.state, JOB_DONE);
    assert_int_equal(end.n_partitions_done, 5);
    assert_int_equal(end.proof_bytes, 5 * 192);
    assert_int_equal(atomic_load(&f.dev[0].n_proofs), 5);
    assert_int_equal(atomic_load(&f.dev[0].largest), 5);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_winning_post_comes_back_proven),
        cmocka_unit_test(test_partitions_are_all_proven_in_one_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
