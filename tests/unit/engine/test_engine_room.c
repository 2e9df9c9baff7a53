/* Host memory: jobs whose key is in the way of themselves, and those that fit no more. */
#include "unit/engine/inside.h"

/* A device that computes in host memory: keys have its work space in the budget. */
static void fixture_init_host(fixture *f)
{
    fixture_init(f, 1);
    f->cfg_dev[0].memory_bytes = 0;
}

static void set_budget(fixture *f, uint64_t bytes)
{
    f->cfg.memory_budget_bytes = bytes;
    assert_ok(engine_reconfigure(f->e, &f->cfg));
}

/* Two idle keys, the job's own used least recently, and room for one and the job: the other goes. */
static void test_a_job_waits_not_for_its_own_key(void **state)
{
    (void)state;
    fixture f;
    fixture_init_host(&f);
    fixture_start(&f);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_DONE);
    uint64_t window_key = idle_memory(f.e);
    submit_post(&f, PROOF_WINNING, 2, 1);
    assert_int_equal(wait_end(f.e, "winning-2").state, JOB_DONE);
    uint64_t both = idle_memory(f.e);
    assert_true(both > window_key);
    uint64_t one = key_cache_find(&f.e->keys, "wpost-2k")->witness_bytes;
    set_budget(&f, both + one / 2);
    submit_post(&f, PROOF_WINDOW, 3, 1);
    job_view v = wait_end(f.e, "window-3");
    if (v.state != JOB_DONE)
        fail_msg("%s", v.error);
    assert_non_null(key_cache_find(&f.e->keys, "wpost-2k"));
    assert_null(key_cache_find(&f.e->keys, "winning-2k"));
    fixture_fini(&f);
}

/* The budget shrinks below what an accepted job needs: it fails, those behind it go on. */
static void test_a_job_that_fits_no_more_fails(void **state)
{
    (void)state;
    fixture f;
    fixture_init_host(&f);
    f.cfg.max_active[PROOF_WINDOW] = 1;
    fixture_start(&f);
    submit_post(&f, PROOF_WINNING, 9, 1);
    assert_int_equal(wait_end(f.e, "winning-9").state, JOB_DONE);
    atomic_store(&f.dev[0].n_slices, 100000);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    job_view v = {.state = JOB_QUEUED};
    while (v.state != JOB_PROVING)
        assert_ok(engine_get_job(f.e, "window-1", &v));
    submit_post(&f, PROOF_WINDOW, 2, 1);
    set_budget(&f, 1 << 20);
    bool was_live;
    assert_ok(engine_cancel(f.e, "window-1", &was_live));
    v = wait_end(f.e, "window-2");
    assert_int_equal(v.state, JOB_FAILED);
    assert_int_equal(v.error_code, CUZK_E_IMPOSSIBLE);
    assert_non_null(strstr(v.error, "the budget is 1 MiB"));
    atomic_store(&f.dev[0].n_slices, 1);
    set_budget(&f, (uint64_t)1 << 30);
    submit_post(&f, PROOF_WINDOW, 3, 1);
    assert_int_equal(wait_end(f.e, "window-3").state, JOB_DONE);
    fixture_fini(&f);
}

static void test_a_recovered_job_that_fits_no_more_fails(void **state)
{
    (void)state;
    fixture f;
    fixture_init_host(&f);
    snprintf(f.store, sizeof f.store, "%s/journal.db", f.dir);
    f.cfg.store_path = f.store;
    fixture_start(&f);
    atomic_store(&f.dev[0].n_slices, 100000);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    fixture_stop(&f);
    f.cfg.memory_budget_bytes = 1 << 20;
    fixture_start(&f);
    job_view v = wait_end(f.e, "window-1");
    assert_int_equal(v.state, JOB_FAILED);
    assert_int_equal(v.error_code, CUZK_E_IMPOSSIBLE);
    for (int i = 0; i < 2000 && memory_used(f.e); i++)
        sleep_ms(1);
    assert_int_equal(memory_used(f.e), 0);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_job_waits_not_for_its_own_key),
        cmocka_unit_test(test_a_job_that_fits_no_more_fails),
        cmocka_unit_test(test_a_recovered_job_that_fits_no_more_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
