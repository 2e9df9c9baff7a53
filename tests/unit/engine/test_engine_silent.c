/* Devices that give no sign of life from a key load or a self-test. */
#include "unit/engine/told.h"

static void until_hung(fake_device *d)
{
    for (int i = 0; i < 20000 && !atomic_load(&d->n_hung); i++)
        sleep_ms(1);
    assert_int_equal(atomic_load(&d->n_hung), 1);
}

typedef struct health {
    bool is_healthy, is_silent;
} health;

static health health_of(fixture *f, uint32_t dev)
{
    engine_snapshot s;
    assert_ok(engine_get_snapshot(f->e, &s));
    health h = {s.devices[dev].is_healthy, s.devices[dev].is_silent};
    engine_snapshot_fini(&s);
    return h;
}

static void until_silent(fixture *f, uint32_t dev)
{
    for (int i = 0; i < 20000 && !health_of(f, dev).is_silent; i++)
        sleep_ms(1);
    assert_true(health_of(f, dev).is_silent);
    assert_false(health_of(f, dev).is_healthy);
}

static void until_healthy(fixture *f, uint32_t dev)
{
    for (int i = 0; i < 20000 && !health_of(f, dev).is_healthy; i++)
        sleep_ms(1);
    assert_true(health_of(f, dev).is_healthy);
    assert_false(health_of(f, dev).is_silent);
}

static void silent_fixture(fixture *f, uint32_t n_devices)
{
    fixture_init(f, n_devices);
    f->cfg.device_timeout_ms = 200;
    f->cfg.device_retest_ms = 100;
    fixture_start(f);
}

static bool has_metric(fixture *f, const char *line)
{
    engine_snapshot s;
    char *text;
    size_t len;
    assert_ok(engine_get_snapshot(f->e, &s));
    assert_ok(engine_metrics_text(&s, &text, &len));
    bool has = strstr(text, line);
    mem_free(text);
    engine_snapshot_fini(&s);
    return has;
}

/* Also when another device has the key: the one that asked wants it on all. */
static void test_a_preload_of_a_silent_device_fails(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 2; n++) {
        fixture f;
        silent_fixture(&f, n);
        unsigned n_tests = atomic_load(&f.dev[0].n_tests);
        atomic_store(&f.dev[0].hang_load, true);
        cuzk_status st = preload_now(&f, "winning-2k");
        assert_int_equal(st.code, CUZK_E_DEVICE);
        assert_non_null(
            strstr(st.msg, "loading the key of winning-2k: device fake:0 gave no sign"));
        assert_non_null(strstr(st.msg, "(key load)"));
        assert_true(health_of(&f, 0).is_silent);
        assert_true(has_metric(&f, "cuzk_device_silent{device=\"fake:0\"} 1\n"));
        /* Asked again it is not waited for. */
        st = preload_now(&f, "winning-2k");
        assert_int_equal(st.code, n == 1 ? CUZK_E_BUSY : CUZK_OK);
        /* Back in use after a self-test, with the key. */
        atomic_store(&f.dev[0].hang_load, false);
        until_healthy(&f, 0);
        assert_true(has_metric(&f, "cuzk_device_silent{device=\"fake:0\"} 0\n"));
        assert_true(atomic_load(&f.dev[0].n_tests) > n_tests);
        assert_ok(preload_now(&f, "winning-2k"));
        assert_int_equal(atomic_load(&f.dev[0].n_loads), 1);
        fixture_fini(&f);
    }
}

static void test_jobs_pass_by_a_device_silent_in_a_load(void **state)
{
    (void)state;
    fixture f;
    silent_fixture(&f, 2);
    atomic_store(&f.dev[0].hang_load, true);
    submit_post(&f, PROOF_WINDOW, 1, 6);
    job_view v = wait_end(f.e, "window-1");
    if (v.state != JOB_DONE)
        fail_msg("%s", v.error);
    until_silent(&f, 0);
    assert_int_equal(atomic_load(&f.dev[0].n_proofs), 0);
    atomic_store(&f.dev[0].hang_load, false);
    until_healthy(&f, 0);
    fixture_fini(&f);
}

static void test_jobs_of_the_only_device_fail(void **state)
{
    (void)state;
    fixture f;
    silent_fixture(&f, 1);
    atomic_store(&f.dev[0].hang_load, true);
    submit_post(&f, PROOF_WINDOW, 1, 2);
    job_view v = wait_end(f.e, "window-1");
    assert_int_equal(v.state, JOB_FAILED);
    assert_int_equal(v.error_code, CUZK_E_DEVICE);
    atomic_store(&f.dev[0].hang_load, false);
    until_healthy(&f, 0);
    submit_post(&f, PROOF_WINDOW, 2, 2);
    assert_int_equal(wait_end(f.e, "window-2").state, JOB_DONE);
    fixture_fini(&f);
}

/* A fault leads to a self-test, which hangs. */
static void hang_in_test(fixture *f)
{
    atomic_store(&f->dev[0].hang_test, true);
    atomic_store(&f->dev[0].fail_code, (int)CUZK_E_DEVICE);
    atomic_store(&f->dev[0].n_bad_loads, 1);
    assert_int_equal(preload_now(f, "winning-2k").code, CUZK_E_DEVICE);
    until_hung(&f->dev[0]);
}

static void test_a_device_silent_in_its_test_is_passed_by(void **state)
{
    (void)state;
    fixture f;
    silent_fixture(&f, 2);
    hang_in_test(&f);
    submit_post(&f, PROOF_WINDOW, 1, 6);
    job_view v = wait_end(f.e, "window-1");
    if (v.state != JOB_DONE)
        fail_msg("%s", v.error);
    until_silent(&f, 0);
    /* A test that ends so late says nothing: it is made again. */
    unsigned n_tests = atomic_load(&f.dev[0].n_tests);
    atomic_store(&f.dev[0].hang_test, false);
    until_healthy(&f, 0);
    assert_int_equal(atomic_load(&f.dev[0].n_tests), n_tests + 1);
    fixture_fini(&f);
}

static void test_jobs_do_not_wait_for_ever_for_a_silent_test(void **state)
{
    (void)state;
    fixture f;
    silent_fixture(&f, 1);
    submit_post(&f, PROOF_WINNING, 1, 1);
    assert_int_equal(wait_end(f.e, "winning-1").state, JOB_DONE);
    atomic_store(&f.dev[0].hang_test, true);
    atomic_store(&f.dev[0].n_wrong, 1);
    submit_post(&f, PROOF_WINDOW, 2, 2);
    job_view v = wait_end(f.e, "window-2");
    assert_int_equal(v.state, JOB_FAILED);
    assert_non_null(strstr(v.error, "no healthy device"));
    cuzk_status st = preload_now(&f, "winning-2k");
    assert_int_equal(st.code, CUZK_E_BUSY);
    atomic_store(&f.dev[0].hang_test, false);
    until_healthy(&f, 0);
    assert_ok(preload_now(&f, "winning-2k"));
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_preload_of_a_silent_device_fails),
        cmocka_unit_test(test_jobs_pass_by_a_device_silent_in_a_load),
        cmocka_unit_test(test_jobs_of_the_only_device_fail),
        cmocka_unit_test(test_a_device_silent_in_its_test_is_passed_by),
        cmocka_unit_test(test_jobs_do_not_wait_for_ever_for_a_silent_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
