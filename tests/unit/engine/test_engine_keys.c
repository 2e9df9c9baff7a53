/* Keys on request: preloads beside work, through faults and at the end; checks of key files. */
#include "unit/engine/told.h"

/* The files are there; what is missing is the device. */
static void until_in_memory(fixture *f, const char *circuit)
{
    for (int i = 0; i < 20000; i++) {
        engine_snapshot s;
        bool is_there = false;
        assert_ok(engine_get_snapshot(f->e, &s));
        for (uint32_t k = 0; k < s.n_keys; k++)
            is_there =
                is_there || (strcmp(s.keys[k].circuit_id, circuit) == 0 && !s.keys[k].is_loading);
        engine_snapshot_fini(&s);
        if (is_there)
            return;
        sleep_ms(1);
    }
    fail_msg("%s is not loaded", circuit);
}

static void until_busy(fake_device *d)
{
    unsigned before = atomic_load(&d->n_yields);
    for (int i = 0; i < 20000 && atomic_load(&d->n_yields) < before + 2; i++)
        sleep_ms(1);
}

static void make_slow(fixture *f, unsigned n_slices)
{
    f->cfg_dev[0].batch_max = 1;
    atomic_store(&f->dev[0].slice_ms, 10);
    atomic_store(&f->dev[0].n_slices, n_slices);
}

static void test_a_preload_comes_before_bulk_work(void **state)
{
    (void)state;
    fixture f;
    job_view v;
    fixture_init(&f, 1);
    make_slow(&f, 40);
    fixture_start(&f);
    submit_post(&f, PROOF_WINDOW, 1, 20); /* 8 s */
    until_busy(&f.dev[0]);
    assert_ok(preload_now(&f, "winning-2k"));
    assert_ok(engine_get_job(f.e, "window-1", &v));
    assert_int_equal(v.state, JOB_PROVING);
    assert_true(v.n_partitions_done < 10);
    fixture_fini(&f);
}

static void test_a_preload_of_what_is_there(void **state)
{
    (void)state;
    fixture f;
    told t = {0};
    fixture_init(&f, 2);
    fixture_start(&f);
    assert_ok(preload_now(&f, "winning-2k"));
    assert_int_equal(atomic_load(&f.dev[0].n_loads), 1);
    assert_int_equal(atomic_load(&f.dev[1].n_loads), 1);
    engine_preload(f.e, "winning-2k", on_told, &t);
    until(&t.n, 1);
    assert_ok(t.st);
    assert_true(t.was_loaded);
    assert_int_equal(atomic_load(&f.dev[0].n_loads), 1);
    assert_int_equal(preload_now(&f, "winning-3k").code != CUZK_OK, true);
    fixture_fini(&f);
}

static void test_a_preload_is_refused_at_the_end(void **state)
{
    (void)state;
    fixture f;
    told t = {0};
    fixture_init(&f, 1);
    make_slow(&f, 10000);
    fixture_start(&f);
    submit_post(&f, PROOF_WINDOW, 1, 2);
    until_busy(&f.dev[0]);
    engine_preload(f.e, "winning-2k", on_told, &t);
    until_in_memory(&f, "winning-2k");
    assert_int_equal(atomic_load(&t.n), 0);
    engine_drain(f.e, 50);
    until(&t.n, 1);
    assert_int_equal(t.st.code, CUZK_E_IO);
    assert_int_equal(preload_now(&f, "winning-2k").code, CUZK_E_IO);
    fixture_fini(&f);
    assert_int_equal(atomic_load(&t.n), 1);
}

static void test_a_preload_does_not_wait_for_a_sick_device(void **state)
{
    (void)state;
    for (uint32_t n_devices = 1; n_devices <= 2; n_devices++) {
        fixture f;
        told t = {0};
        fixture_init(&f, n_devices);
        f.cfg.device_timeout_ms = 300;
        fixture_start(&f);
        atomic_store(&f.dev[0].hang, true);
        submit_post(&f, PROOF_WINDOW, 1, 8);
        for (int i = 0; i < 20000 && !atomic_load(&f.dev[0].n_inside); i++)
            sleep_ms(1);
        engine_preload(f.e, "winning-2k", on_told, &t);
        until(&t.n, 1);
        if (n_devices == 1)
            assert_int_equal(t.st.code, CUZK_E_BUSY);
        else
            assert_ok(t.st);
        assert_int_equal(preload_now(&f, "winning-2k").code, t.st.code);
        atomic_store(&f.dev[0].hang, false);
        assert_int_equal(wait_end(f.e, "window-1").state, JOB_DONE);
        fixture_fini(&f);
    }
}

static void test_a_failed_load_is_not_remembered(void **state)
{
    (void)state;
    static const cuzk_code codes[] = {CUZK_E_DEVICE, CUZK_E_DEVICE_LOST, CUZK_E_INTERNAL,
                                      CUZK_E_NOMEM};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        fixture f;
        fixture_init(&f, 1);
        fixture_start(&f);
        unsigned n_tests = atomic_load(&f.dev[0].n_tests);
        atomic_store(&f.dev[0].fail_code, (int)codes[i]);
        atomic_store(&f.dev[0].n_bad_loads, 1);
        assert_int_equal(preload_now(&f, "winning-2k").code, codes[i]);
        assert_ok(preload_now(&f, "winning-2k"));
        bool is_fault = codes[i] == CUZK_E_DEVICE || codes[i] == CUZK_E_DEVICE_LOST;
        assert_int_equal(atomic_load(&f.dev[0].n_tests), n_tests + is_fault);
        fixture_fini(&f);
    }
}

/* A preload joins the load of a job, which is cancelled: the load goes on for the preload. */
static void test_a_cancelled_load_is_made_again(void **state)
{
    (void)state;
    fixture f;
    told t = {0};
    bool was_live;
    fixture_init(&f, 1);
    fixture_start(&f);
    atomic_store(&f.dev[0].batch_load_waits, true);
    atomic_store(&f.dev[0].fail_code, (int)CUZK_E_NOMEM);
    atomic_store(&f.dev[0].n_bad_loads, 1); /* of the one ahead of the batch */
    submit_post(&f, PROOF_WINNING, 1, 1);
    for (int i = 0; i < 20000 && !atomic_load(&f.dev[0].n_waiting_loads); i++)
        sleep_ms(1);
    assert_int_equal(atomic_load(&f.dev[0].n_waiting_loads), 1);
    engine_preload(f.e, "winning-2k", on_told, &t);
    sleep_ms(50);
    assert_int_equal(atomic_load(&t.n), 0);
    assert_ok(engine_cancel(f.e, "winning-1", &was_live));
    until(&t.n, 1);
    assert_ok(t.st);
    assert_int_equal(wait_end(f.e, "winning-1").state, JOB_CANCELLED);
    assert_int_equal(atomic_load(&f.dev[0].n_loads), 1);
    fixture_fini(&f);
}

/* A load inside a proof of bulk work finds no place for what is urgent, which says nothing to a
 * preload that waits for its own turn. */
static void test_a_load_refused_inside_a_proof_is_not_told(void **state)
{
    (void)state;
    static const cuzk_code codes[] = {CUZK_E_NOMEM, CUZK_E_USAGE, CUZK_E_DEVICE_LOST};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        fixture f;
        told t = {0};
        bool was_live;
        fixture_init(&f, 1);
        make_slow(&f, 10000);
        atomic_store(&f.dev[0].nested_load, (int)codes[i]);
        fixture_start(&f);
        submit_post(&f, PROOF_WINDOW, 1, 1);
        until_busy(&f.dev[0]);
        engine_preload(f.e, "winning-2k", on_told, &t);
        until_in_memory(&f, "winning-2k");
        submit_post(&f, PROOF_WINNING, 1, 1);
        until(&f.dev[0].n_refused, 1);
        sleep_ms(50);
        if (atomic_load(&t.n))
            fail_msg("%s", t.st.msg);
        atomic_store(&f.dev[0].n_slices, 1);
        assert_ok(engine_cancel(f.e, "window-1", &was_live));
        assert_int_equal(wait_end(f.e, "winning-1").state, JOB_DONE);
        until(&t.n, 1);
        assert_ok(t.st);
        fixture_fini(&f);
    }
}

static engine_preload_state preload_state(fixture *f)
{
    engine_snapshot s;
    assert_ok(engine_get_snapshot(f->e, &s));
    assert_int_equal(s.n_preloads, 1);
    engine_preload_state state = s.preloads[0].state;
    engine_snapshot_fini(&s);
    return state;
}

/* Both devices load the key of a preload. */
static void start_loading(fixture *f)
{
    static const char *const circuits[] = {"wpost-2k"};
    fixture_init(f, 2);
    f->cfg.preload = circuits;
    f->cfg.n_preload = 1;
    f->cfg.preload_retry_ms = 20;
    for (int i = 0; i < 2; i++)
        atomic_store(&f->dev[i].slow_load_ms, 60000);
    fixture_start(f);
    for (int i = 0; i < 2; i++)
        until(&f->dev[i].n_slow_begun, 1);
    assert_int_equal(preload_state(f), ENGINE_PRELOAD_LOADING);
}

static void until_ready(fixture *f)
{
    for (int i = 0; i < 10000 && preload_state(f) != ENGINE_PRELOAD_READY; i++)
        sleep_ms(1);
    assert_int_equal(preload_state(f), ENGINE_PRELOAD_READY);
}

/* It comes back to the device that gave it up for another key. */
static void test_a_preload_that_lost_its_place_ends(void **state)
{
    (void)state;
    fixture f;
    start_loading(&f);
    atomic_store(&f.dev[0].max_handles, 1);
    atomic_store(&f.dev[0].slow_load_ms, 1);
    until(&f.dev[0].n_loads, 1);
    submit_post(&f, PROOF_WINNING, 1, 1);
    until(&f.dev[0].n_unloads, 1);
    assert_int_equal(wait_end(f.e, "winning-1").state, JOB_DONE);
    atomic_store(&f.dev[1].slow_load_ms, 1);
    until_ready(&f);
    fixture_fini(&f);
}

/* The same when the copy is in doubt after a wrong proof. */
static void test_a_preload_whose_copy_was_wrong_ends(void **state)
{
    (void)state;
    fixture f;
    job_view v = {0};
    start_loading(&f);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    /* The job asks for the load first; then nobody asks for another one. */
    for (; v.state != JOB_PROVING; sleep_ms(1))
        assert_ok(engine_get_job(f.e, "window-1", &v));
    atomic_store(&f.dev[0].n_wrong, 1);
    atomic_store(&f.dev[0].slow_load_ms, 1);
    until(&f.dev[0].n_unloads, 1);
    atomic_store(&f.dev[1].slow_load_ms, 1);
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_DONE);
    until_ready(&f);
    fixture_fini(&f);
}

static bool has_line(const char *path, const char *event, const char *circuit)
{
    char line[1000];
    bool has = false;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        has = has || (strstr(line, event) && strstr(line, circuit));
    fclose(f);
    return has;
}

/* Files are read one after the other, and each gets its turn. */
static void test_all_files_are_checked(void **state)
{
    (void)state;
    fixture f;
    char path[128];
    fixture_init(&f, 1);
    snprintf(path, sizeof path, "%s/log", f.dir);
    fflush(stderr);
    int old = dup(2);
    assert_non_null(freopen(path, "w", stderr));
    log_set(LOG_WARN, 0);
    fixture_start(&f);
    cuzk_status a = preload_now(&f, "winning-2k"), b = preload_now(&f, "wpost-2k");
    bool all = false;
    for (int i = 0; i < 2000 && !all; i++) {
        sleep_ms(10);
        all = has_line(path, "key_not_published", "circuit=winning-2k") &&
              has_line(path, "key_not_published", "circuit=wpost-2k");
    }
    fixture_stop(&f);
    log_set((log_level)-1, 0);
    fflush(stderr);
    dup2(old, 2);
    close(old);
    assert_ok(a);
    assert_ok(b);
    assert_true(all);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_preload_comes_before_bulk_work),
        cmocka_unit_test(test_a_preload_of_what_is_there),
        cmocka_unit_test(test_a_preload_is_refused_at_the_end),
        cmocka_unit_test(test_a_preload_does_not_wait_for_a_sick_device),
        cmocka_unit_test(test_a_failed_load_is_not_remembered),
        cmocka_unit_test(test_a_cancelled_load_is_made_again),
        cmocka_unit_test(test_a_load_refused_inside_a_proof_is_not_told),
        cmocka_unit_test(test_a_preload_that_lost_its_place_ends),
        cmocka_unit_test(test_a_preload_whose_copy_was_wrong_ends),
        cmocka_unit_test(test_all_files_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
