/* Key loads of bulk work and what is urgent. */
#include "unit/engine/inside.h"
#include "unit/engine/told.h"

#define PER_POINT 100u

static void winning(fixture *f, uint64_t seed)
{
    job_view v = submit_post(f, PROOF_WINNING, seed, 1);
    assert_int_equal(wait_end(f->e, v.job_id).state, JOB_DONE);
}

/* Loads that were given up count as nothing, and are made again. */
static void check_no_failure(fixture *f, const char *job_id)
{
    engine_snapshot s;
    job_view v = wait_end(f->e, job_id);
    assert_int_equal(v.state, JOB_DONE);
    assert_int_equal(v.n_retries, 0);
    assert_ok(engine_get_snapshot(f->e, &s));
    assert_int_equal(s.devices[0].n_faults, 0);
    assert_int_equal(s.partition_retries, 0);
    engine_snapshot_fini(&s);
}

/* First the load that a job asks for in advance, then those of its batch; the fourth is finished. */
static void test_a_bulk_load_gives_way_a_few_times(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    f.cfg.n_threads = 2;
    fixture_start(&f);
    fake_device *d = &f.dev[0];
    atomic_store(&d->slow_load_ms, 60000);
    job_view bulk = submit_post(&f, PROOF_WINDOW, 1, 1);
    for (unsigned i = 1; i <= 3; i++) {
        until(&d->n_slow_begun, i);
        winning(&f, i);
        assert_int_equal(atomic_load(&d->n_slow_cancelled), i);
    }
    until(&d->n_slow_begun, 4);
    job_view urgent = submit_post(&f, PROOF_WINNING, 4, 1);
    sleep_ms(200);
    assert_int_equal(atomic_load(&d->n_slow_cancelled), 3);
    atomic_store(&d->slow_load_ms, 1);
    assert_int_equal(wait_end(f.e, urgent.job_id).state, JOB_DONE);
    check_no_failure(&f, bulk.job_id);
    assert_int_equal(atomic_load(&d->n_slow_begun), 4);
    fixture_fini(&f);
}

static void test_a_preload_gives_way_and_ends(void **state)
{
    (void)state;
    fixture f;
    told t = {0};
    fixture_init(&f, 1);
    fixture_start(&f);
    fake_device *d = &f.dev[0];
    atomic_store(&d->slow_load_ms, 60000);
    engine_preload(f.e, "wpost-2k", on_told, &t);
    until(&d->n_slow_begun, 1);
    winning(&f, 1);
    assert_int_equal(atomic_load(&d->n_slow_cancelled), 1);
    assert_int_equal(atomic_load(&t.n), 0);
    atomic_store(&d->slow_load_ms, 1);
    until(&t.n, 1);
    assert_ok(t.st);
    fixture_fini(&f);
}

/* A load of urgent work is no bulk load. */
static void test_a_load_of_urgent_work_is_finished(void **state)
{
    (void)state;
    fixture f;
    job_request r;
    fixture_init(&f, 1);
    fixture_start(&f);
    fake_device *d = &f.dev[0];
    atomic_store(&d->slow_load_ms, 60000);
    post_request(&r, PROOF_WINDOW, 1, 1);
    r.priority = JOB_CRITICAL;
    job_view first = submit_and_wait(f.e, &r).view;
    until(&d->n_slow_begun, 1);
    job_view v = submit_post(&f, PROOF_WINNING, 1, 1);
    sleep_ms(200);
    assert_int_equal(atomic_load(&d->n_slow_cancelled), 0);
    atomic_store(&d->slow_load_ms, 1);
    assert_int_equal(wait_end(f.e, v.job_id).state, JOB_DONE);
    check_no_failure(&f, first.job_id);
    fixture_fini(&f);
}

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

/* The second device is too small for the bulk work. */
static void test_an_idle_device_takes_the_urgent_work(void **state)
{
    (void)state;
    fixture f;
    job_request r;
    fixture_init(&f, 2);
    uint64_t large = n_h("winning-2k");
    assert_true(n_h("wpost-2k") < large);
    atomic_store(&f.dev[1].bytes_per_point, PER_POINT);
    atomic_store(&f.dev[1].bytes_available, (large - 1) * PER_POINT);
    atomic_store(&f.dev[0].winning_is_slow, true);
    atomic_store(&f.dev[0].slow_load_ms, 60000);
    fixture_start(&f);
    post_request(&r, PROOF_WINNING, 1, 1);
    r.priority = JOB_NORMAL;
    job_view bulk = submit_and_wait(f.e, &r).view;
    until(&f.dev[0].n_slow_begun, 1);
    for (uint64_t i = 2; i < 6; i++) {
        until_idle(f.e, 1);
        post_request(&r, PROOF_WINDOW, i, 1);
        r.priority = JOB_CRITICAL;
        job_view v = submit_and_wait(f.e, &r).view;
        assert_int_equal(wait_end(f.e, v.job_id).state, JOB_DONE);
    }
    assert_int_equal(atomic_load(&f.dev[0].n_slow_cancelled), 0);
    atomic_store(&f.dev[0].slow_load_ms, 1);
    check_no_failure(&f, bulk.job_id);
    fixture_fini(&f);
}

/* Of two that load, one gives way, also while it has not ended its load yet. */
static void test_one_load_ends_for_one_urgent_job(void **state)
{
    (void)state;
    fixture f;
    told t = {0};
    fixture_init(&f, 2);
    for (int i = 0; i < 2; i++) {
        atomic_store(&f.dev[i].slow_load_ms, 60000);
        atomic_store(&f.dev[i].give_up_ms, 200);
    }
    fixture_start(&f);
    engine_preload(f.e, "wpost-2k", on_told, &t);
    until(&f.dev[0].n_slow_begun, 1);
    until(&f.dev[1].n_slow_begun, 1);
    winning(&f, 1);
    assert_int_equal(
        atomic_load(&f.dev[0].n_slow_cancelled) + atomic_load(&f.dev[1].n_slow_cancelled), 1);
    /* What one of them did before says nothing of the next time. */
    until(&f.dev[0].n_slow_begun, 1 + atomic_load(&f.dev[0].n_slow_cancelled));
    until(&f.dev[1].n_slow_begun, 1 + atomic_load(&f.dev[1].n_slow_cancelled));
    winning(&f, 2);
    assert_int_equal(
        atomic_load(&f.dev[0].n_slow_cancelled) + atomic_load(&f.dev[1].n_slow_cancelled), 2);
    for (int i = 0; i < 2; i++)
        atomic_store(&f.dev[i].slow_load_ms, 1);
    until(&t.n, 1);
    assert_ok(t.st);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bulk_load_gives_way_a_few_times),
        cmocka_unit_test(test_a_preload_gives_way_and_ends),
        cmocka_unit_test(test_a_load_of_urgent_work_is_finished),
        cmocka_unit_test(test_an_idle_device_takes_the_urgent_work),
        cmocka_unit_test(test_one_load_ends_for_one_urgent_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
