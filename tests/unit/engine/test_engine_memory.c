/* When memory runs out at any place, a job ends one way or the other and the engine goes on. */
#include "unit/engine/engine_fixture.h"

static uint64_t memory_used(engine *e)
{
    engine_snapshot s;
    cuzk_status st = engine_get_snapshot(e, &s);
    if (st.code != CUZK_OK)
        return UINT64_MAX;
    uint64_t used = s.memory_used;
    engine_snapshot_fini(&s);
    return used;
}

static void one_trial(fixture *f, uint64_t n, unsigned count[JOB_N_STATES])
{
    job_request r;
    post_request(&r, PROOF_WINDOW, n, 2);
    mem_fail_nth(n);
    engine_submitted s = submit_and_wait(f->e, &r);
    if (s.st.code != CUZK_OK) {
        mem_fail_nth(0);
        if (s.st.code != CUZK_E_NOMEM && s.st.code != CUZK_E_IMPOSSIBLE)
            fail_msg("allocation %llu: %s: %s", (unsigned long long)n, cuzk_code_name(s.st.code),
                     s.st.msg);
        return;
    }
    job_view v = {.state = JOB_QUEUED};
    for (int i = 0; i < 10000 && !job_state_is_final(v.state); i++) {
        sleep_ms(1);
        if (engine_get_job(f->e, s.view.job_id, &v).code != CUZK_OK)
            v.state = JOB_QUEUED;
    }
    mem_fail_nth(0);
    if (!job_state_is_final(v.state))
        fail_msg("allocation %llu: the job stays %s, %u of %u partitions done",
                 (unsigned long long)n, JOB_STATE_NAMES[v.state], v.n_partitions_done,
                 v.n_partitions);
    count[v.state]++;
}

static void test_any_allocation_may_fail(void **state)
{
    (void)state;
    fixture f;
    unsigned count[JOB_N_STATES] = {0};
    fixture_init(&f, 1);
    fixture_start(&f);
    submit_post(&f, PROOF_WINDOW, 100000, 2);
    wait_end(f.e, "window-100000");
    sleep_ms(100);
    uint64_t baseline = memory_used(f.e), allocs = mem_get_stats().n_allocs;
    submit_post(&f, PROOF_WINDOW, 100001, 2);
    wait_end(f.e, "window-100001");
    allocs = mem_get_stats().n_allocs - allocs;
    uint64_t step = 1 + allocs / 150;
    for (uint64_t n = 1; n < allocs; n += step)
        one_trial(&f, n, count);
    assert_true(count[JOB_DONE] > 0);
    assert_int_equal(count[JOB_CANCELLED], 0);
    for (int i = 0; i < 2000 && memory_used(f.e) != baseline; i++)
        sleep_ms(1);
    assert_int_equal(memory_used(f.e), baseline);
    /* And it still works. */
    submit_post(&f, PROOF_WINDOW, 100002, 2);
    assert_int_equal(wait_end(f.e, "window-100002").state, JOB_DONE);
    fixture_fini(&f);
}

static void test_creation_reports_want_of_memory(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 2);
    for (uint64_t n = 1; n < 40; n++) {
        mem_fail_nth(n);
        cuzk_status st = engine_create(&f.e, &f.cfg);
        mem_fail_nth(0);
        if (st.code == CUZK_OK)
            engine_destroy(f.e);
        else if (st.code != CUZK_E_NOMEM)
            fail_msg("allocation %llu: %s: %s", (unsigned long long)n, cuzk_code_name(st.code),
                     st.msg);
        f.e = NULL;
    }
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_allocation_may_fail),
        cmocka_unit_test(test_creation_reports_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
