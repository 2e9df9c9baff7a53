/* Circuits that no device, or not every device, can ever hold. */
#include "unit/engine/told.h"

#define PER_POINT 1000u

static uint64_t n_h(const char *circuit)
{
    circuit_id id;
    r1cs_shape *s;
    assert_ok(circuit_id_parse(&id, circuit));
    assert_ok(circuit_id_shape(&s, &id));
    uint64_t n = ((uint64_t)1 << r1cs_shape_counts(s)->lg_m) - 1;
    r1cs_shape_destroy(s);
    return n;
}

/* A device of so many bytes that a winning-2k lacks one. */
static uint64_t make_small(fake_device *d)
{
    uint64_t need = n_h("winning-2k") * PER_POINT;
    atomic_store(&d->bytes_per_point, PER_POINT);
    atomic_store(&d->bytes_available, need - 1);
    return need;
}

static void assert_refused(const cuzk_status *st, uint64_t need)
{
    char text[160];
    assert_int_equal(st->code, CUZK_E_IMPOSSIBLE);
    snprintf(text, sizeof text,
             "winning-2k needs at least %llu bytes of device memory, fake:1 has %llu available",
             (unsigned long long)need, (unsigned long long)need - 1);
    if (!strstr(st->msg, text))
        fail_msg("%s", st->msg);
}

/* Refused before anything is journaled or loaded, with the numbers of the largest device. */
static void test_what_fits_on_no_device_is_refused(void **state)
{
    (void)state;
    fixture f;
    job_request r;
    fixture_init(&f, 2);
    uint64_t need = make_small(&f.dev[1]);
    make_small(&f.dev[0]);
    atomic_store(&f.dev[0].bytes_available, need / 2);
    fixture_start(&f);
    post_request(&r, PROOF_WINNING, 1, 1);
    engine_submitted s = submit_and_wait(f.e, &r);
    assert_refused(&s.st, need);
    cuzk_status st = preload_now(&f, "winning-2k");
    assert_refused(&st, need);
    assert_int_equal(atomic_load(&f.dev[0].n_loads) + atomic_load(&f.dev[1].n_loads), 0);
    job_view v;
    assert_int_equal(engine_get_job(f.e, "winning-1", &v).code, CUZK_E_NOT_FOUND);
    engine_snapshot snap;
    assert_ok(engine_get_snapshot(f.e, &snap));
    assert_int_equal(snap.rejected_invalid, 1);
    assert_int_equal(snap.memory_used, 0);
    assert_int_equal(snap.n_keys, 0);
    engine_snapshot_fini(&snap);
    /* The last byte makes it possible. */
    atomic_store(&f.dev[1].bytes_available, need);
    submit_post(&f, PROOF_WINNING, 1, 1);
    assert_int_equal(wait_end(f.e, "winning-1").state, JOB_DONE);
    fixture_fini(&f);
}

/* The small one is left alone, also when the large one fails a partition. */
static void test_only_devices_that_can_hold_it_are_used(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 2);
    make_small(&f.dev[0]);
    fixture_start(&f);
    assert_ok(preload_now(&f, "winning-2k"));
    atomic_store(&f.dev[1].fail_code, (int)CUZK_E_INTERNAL);
    atomic_store(&f.dev[1].n_fail, 1);
    submit_post(&f, PROOF_WINNING, 1, 1);
    job_view v = wait_end(f.e, "winning-1");
    if (v.state != JOB_DONE)
        fail_msg("%s", v.error);
    assert_true(v.n_retries > 0);
    assert_int_equal(atomic_load(&f.dev[0].n_loads), 0);
    assert_int_equal(atomic_load(&f.dev[1].n_loads), 1);
    fixture_fini(&f);
}

/* The small device is healthy, which helps the job as little as none, but has room for another. */
static void test_a_job_does_not_wait_for_a_device_that_is_too_small(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 2);
    f.cfg.device_retest_ms = 50;
    make_small(&f.dev[0]);
    fixture_start(&f);
    atomic_store(&f.dev[1].fail_code, (int)CUZK_E_DEVICE_LOST);
    atomic_store(&f.dev[1].n_bad_tests, 1000);
    atomic_store(&f.dev[1].n_fail, 1);
    submit_post(&f, PROOF_WINNING, 1, 1);
    job_view v = wait_end(f.e, "winning-1");
    assert_int_equal(v.state, JOB_FAILED);
    assert_non_null(strstr(v.error, "no healthy device is left"));
    assert_int_equal(preload_now(&f, "winning-2k").code, CUZK_E_BUSY);
    submit_post(&f, PROOF_WINDOW, 2, 1);
    v = wait_end(f.e, "window-2");
    if (v.state != JOB_DONE)
        fail_msg("%s", v.error);
    fixture_fini(&f);
}

/* Accepted when the devices were larger. */
static void test_a_recovered_job_that_fits_no_more_fails(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 2);
    snprintf(f.store, sizeof f.store, "%s/journal.db", f.dir);
    f.cfg.store_path = f.store;
    fixture_start(&f);
    atomic_store(&f.dev[0].n_slices, 100000);
    atomic_store(&f.dev[1].n_slices, 100000);
    submit_post(&f, PROOF_WINNING, 1, 1);
    fixture_stop(&f);
    make_small(&f.dev[0]);
    make_small(&f.dev[1]);
    atomic_store(&f.dev[0].bytes_available, 1);
    fixture_start(&f);
    job_view v = wait_end(f.e, "winning-1");
    assert_int_equal(v.state, JOB_FAILED);
    assert_int_equal(v.error_code, CUZK_E_IMPOSSIBLE);
    assert_non_null(strstr(v.error, "bytes of device memory"));
    for (int d = 0; d < 2; d++) {
        atomic_store(&f.dev[d].bytes_available, 0);
        atomic_store(&f.dev[d].n_slices, 1);
    }
    submit_post(&f, PROOF_WINDOW, 2, 1);
    assert_int_equal(wait_end(f.e, "window-2").state, JOB_DONE);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_fits_on_no_device_is_refused),
        cmocka_unit_test(test_only_devices_that_can_hold_it_are_used),
        cmocka_unit_test(test_a_job_does_not_wait_for_a_device_that_is_too_small),
        cmocka_unit_test(test_a_recovered_job_that_fits_no_more_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
