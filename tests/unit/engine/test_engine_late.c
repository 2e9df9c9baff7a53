/* Devices that start while witnesses are still being made. */
#include "unit/engine/engine_fixture.h"

#define N_PARTITIONS 12u
#define N_JOBS 20u

/* One job after the other; the engine has one host worker, so that witnesses take a while. */
static void prove_jobs(fixture *f, uint64_t first)
{
    for (uint64_t i = first; i < first + N_JOBS; i++) {
        job_view v = submit_post(f, PROOF_WINDOW, i, N_PARTITIONS);
        v = wait_end(f->e, v.job_id);
        if (v.state != JOB_DONE)
            fail_msg("job %llu: %s", (unsigned long long)i, v.error);
    }
}

static void test_a_device_starts_before_the_last_witness(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    f.cfg.n_host_workers = 1;
    fixture_start(&f);
    prove_jobs(&f, 1);
    assert_true(atomic_load(&f.dev[0].n_began_early) > 0);
    /* what is late comes into the batch that has begun: the others wait for nobody */
    assert_int_equal(atomic_load(&f.dev[0].largest), N_PARTITIONS);
    assert_int_equal(atomic_load(&f.dev[0].n_batches), N_JOBS);
    assert_int_equal(atomic_load(&f.dev[0].n_proofs), N_JOBS * N_PARTITIONS);
    fixture_fini(&f);
}

static void test_several_devices_take_turns_in_what_is_late(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 3);
    f.cfg.n_host_workers = 1;
    fixture_start(&f);
    prove_jobs(&f, 1);
    unsigned n = 0;
    for (int d = 0; d < 3; d++) {
        assert_true(atomic_load(&f.dev[d].n_proofs) > 0);
        n += atomic_load(&f.dev[d].n_proofs);
    }
    assert_int_equal(n, N_JOBS * N_PARTITIONS);
    fixture_fini(&f);
}

/* Whenever a job is cancelled, a device that waits for its witnesses goes on with others. */
static void test_cancel_while_witnesses_are_late(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    f.cfg.n_host_workers = 1;
    fixture_start(&f);
    for (uint64_t i = 1; i <= N_JOBS; i++) {
        job_view v = submit_post(&f, PROOF_WINDOW, i, N_PARTITIONS);
        job_view w = submit_post(&f, PROOF_WINDOW, 100 + i, 1);
        bool was_live;
        sleep_ms((uint32_t)(i % 10));
        cuzk_status st = engine_cancel(f.e, v.job_id, &was_live);
        assert_true(st.code == CUZK_OK || st.code == CUZK_E_NOT_FOUND);
        job_state end = wait_end(f.e, v.job_id).state;
        assert_true(end == JOB_CANCELLED || end == JOB_DONE);
        assert_int_equal(wait_end(f.e, w.job_id).state, JOB_DONE);
    }
    fixture_fini(&f);
}

/* A failure of the device says nothing of partitions without a witness: they are not tried yet. */
static void test_a_failure_spares_late_partitions(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    f.cfg.n_host_workers = 1;
    fixture_start(&f);
    atomic_store(&f.dev[0].fail_code, CUZK_E_NOMEM);
    for (uint64_t i = 1; i <= N_JOBS; i++) {
        atomic_store(&f.dev[0].n_fail, 1);
        job_view v = submit_post(&f, PROOF_WINDOW, i, N_PARTITIONS);
        v = wait_end(f.e, v.job_id);
        if (v.state != JOB_DONE)
            fail_msg("job %llu: %s", (unsigned long long)i, v.error);
    }
    assert_true(atomic_load(&f.dev[0].n_began_early) > 0);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_device_starts_before_the_last_witness),
        cmocka_unit_test(test_several_devices_take_turns_in_what_is_late),
        cmocka_unit_test(test_cancel_while_witnesses_are_late),
        cmocka_unit_test(test_a_failure_spares_late_partitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
