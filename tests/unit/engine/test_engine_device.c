/* Devices: sharing, faults, wrong proofs, hanging, urgent work in between. */
#include "unit/engine/inside.h"

static engine_snapshot snapshot(engine *e)
{
    engine_snapshot s;
    assert_ok(engine_get_snapshot(e, &s));
    return s;
}

static void slow(fake_device *d, unsigned n_slices, unsigned slice_ms)
{
    atomic_store(&d->n_slices, n_slices);
    atomic_store(&d->slice_ms, slice_ms);
}

static void test_two_devices_share_a_job(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 2);
    fixture_start(&f);
    submit_post(&f, PROOF_WINDOW, 1, 1); /* loads the key */
    wait_end(f.e, "window-1");
    slow(&f.dev[0], 2, 10);
    slow(&f.dev[1], 2, 10);
    submit_post(&f, PROOF_WINDOW, 2, 10);
    assert_int_equal(wait_end(f.e, "window-2").state, JOB_DONE);
    unsigned a = atomic_load(&f.dev[0].n_proofs), b = atomic_load(&f.dev[1].n_proofs);
    assert_int_equal(a + b, 11);
    assert_true(a >= 3 && b >= 3);
    fixture_fini(&f);
}

static void test_an_idle_device_takes_over_from_a_slow_one(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 2);
    fixture_start(&f);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    wait_end(f.e, "window-1");
    slow(&f.dev[0], 20, 10); /* 200 ms a partition against 1 ms */
    submit_post(&f, PROOF_WINDOW, 2, 10);
    assert_int_equal(wait_end(f.e, "window-2").state, JOB_DONE);
    assert_true(atomic_load(&f.dev[1].n_proofs) >= 7);
    fixture_fini(&f);
}

/* Six partitions for two devices; the second one, which could do all of them, is kept until the first
 * has had what was prepared for it. */
static void submit_to_first(fixture *f, uint64_t seed, const atomic_uint *prepared)
{
    atomic_store(&f->dev[1].hang, true);
    submit_post(f, PROOF_WINDOW, seed, 6);
    for (int ms = 0; ms < 20000 && atomic_load(prepared); ms++)
        sleep_ms(1);
    assert_int_equal(atomic_load(prepared), 0);
    atomic_store(&f->dev[1].hang, false);
}

static void test_a_wrong_proof_is_made_again_elsewhere(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 2);
    fixture_start(&f);
    atomic_store(&f.dev[0].n_wrong, 1);
    atomic_store(&f.dev[1].n_wrong, 1);
    submit_post(&f, PROOF_WINNING, 1, 1);
    job_view v = wait_end(f.e, "winning-1");
    /* Whichever device took it first was wrong, and so was the second: a loud failure. */
    assert_int_equal(v.state, JOB_FAILED);
    assert_int_equal(v.error_code, CUZK_E_VERIFY);
    assert_non_null(strstr(v.error, "winning-2k, miner 1000"));
    assert_non_null(strstr(v.error, "partition 0, stage verify"));
    submit_post(&f, PROOF_WINNING, 2, 1);
    assert_int_equal(wait_end(f.e, "winning-2").state, JOB_DONE);
    atomic_store(&f.dev[0].n_wrong, 1);
    submit_to_first(&f, 3, &f.dev[0].n_wrong);
    v = wait_end(f.e, "window-3");
    assert_int_equal(v.state, JOB_DONE);
    assert_int_equal(v.n_retries, 1);
    engine_snapshot s = snapshot(f.e);
    assert_int_equal(s.self_check_failures, 3);
    assert_int_equal(s.partition_retries, 2);
    assert_int_equal(s.failed[PROOF_WINNING], 1);
    engine_snapshot_fini(&s);
    fixture_fini(&f);
}

static void test_a_single_device_is_tested_before_it_tries_again(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    unsigned n_tests = atomic_load(&f.dev[0].n_tests);
    atomic_store(&f.dev[0].n_wrong, 1);
    submit_post(&f, PROOF_WINNING, 1, 1);
    assert_int_equal(wait_end(f.e, "winning-1").state, JOB_DONE);
    assert_int_equal(atomic_load(&f.dev[0].n_tests), n_tests + 1);
    /* Its copy of the key was in doubt: loaded anew. */
    assert_int_equal(atomic_load(&f.dev[0].n_loads), 2);
    fixture_fini(&f);
}

static void test_a_device_that_fails_its_test_gets_no_work(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 2);
    fixture_start(&f);
    atomic_store(&f.dev[0].n_wrong, 1000);
    atomic_store(&f.dev[0].n_bad_tests, 1000);
    for (uint64_t i = 1; i <= 6; i++) {
        submit_post(&f, PROOF_WINDOW, i, 2);
        char id[32];
        snprintf(id, sizeof id, "window-%llu", (unsigned long long)i);
        assert_int_equal(wait_end(f.e, id).state, JOB_DONE);
    }
    engine_snapshot s = snapshot(f.e);
    assert_false(s.devices[0].is_healthy);
    assert_true(s.devices[1].is_healthy);
    assert_true(s.devices[0].n_faults >= 1);
    engine_snapshot_fini(&s);
    fixture_fini(&f);
}

static void test_without_a_healthy_device_jobs_fail_loudly(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    f.cfg.device_retest_ms = 50;
    fixture_start(&f);
    unsigned n_tests = atomic_load(&f.dev[0].n_tests);
    atomic_store(&f.dev[0].n_wrong, 1000);
    atomic_store(&f.dev[0].n_bad_tests, 1000);
    submit_post(&f, PROOF_WINDOW, 1, 2);
    job_view v = wait_end(f.e, "window-1");
    assert_int_equal(v.state, JOB_FAILED);
    assert_non_null(strstr(v.error, "no healthy device"));
    /* It was given chances to come back. */
    assert_true(atomic_load(&f.dev[0].n_tests) >= n_tests + 2);
    fixture_fini(&f);
}

/* The only device is lost and does not answer for a while: the job waits for it. */
static void test_a_lost_device_comes_back(void **state)
{
    (void)state;
    for (unsigned n_bad = 0; n_bad <= 2; n_bad++) {
        fixture f;
        fixture_init(&f, 1);
        f.cfg.device_retest_ms = 50;
        fixture_start(&f);
        unsigned n_tests = atomic_load(&f.dev[0].n_tests);
        atomic_store(&f.dev[0].fail_code, (int)CUZK_E_DEVICE_LOST);
        atomic_store(&f.dev[0].test_code, (int)CUZK_E_DEVICE_LOST);
        atomic_store(&f.dev[0].n_bad_tests, n_bad);
        atomic_store(&f.dev[0].n_fail, 1);
        submit_post(&f, PROOF_WINDOW, 1, 3);
        submit_post(&f, PROOF_WINNING, 2, 1);
        job_view a = wait_end(f.e, "window-1"), b = wait_end(f.e, "winning-2");
        if (a.state != JOB_DONE || b.state != JOB_DONE)
            fail_msg("%u bad tests: %s %s", n_bad, a.error, b.error);
        assert_int_equal(atomic_load(&f.dev[0].n_tests), n_tests + n_bad + 1);
        engine_snapshot s = snapshot(f.e);
        assert_true(s.devices[0].is_healthy);
        assert_int_equal(s.device_faults, 1);
        engine_snapshot_fini(&s);
        fixture_fini(&f);
    }
}

/* Losing the device over and over is not the job's fault, up to a point. */
static void test_a_device_that_is_lost_often(void **state)
{
    (void)state;
    for (unsigned n = 4; n <= 5; n++) {
        fixture f;
        fixture_init(&f, 1);
        fixture_start(&f);
        atomic_store(&f.dev[0].fail_code, (int)CUZK_E_DEVICE_LOST);
        atomic_store(&f.dev[0].n_fail, n);
        submit_post(&f, PROOF_WINNING, 1, 1);
        job_view v = wait_end(f.e, "winning-1");
        assert_int_equal(v.state, n < 5 ? JOB_DONE : JOB_FAILED);
        assert_int_equal(v.n_retries, 4);
        submit_post(&f, PROOF_WINNING, 2, 1);
        assert_int_equal(wait_end(f.e, "winning-2").state, JOB_DONE);
        fixture_fini(&f);
    }
}

/* After jobs were failed for want of a device, it may still come back. */
static void test_a_device_that_was_given_up_comes_back(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    f.cfg.device_retest_ms = 50;
    fixture_start(&f);
    atomic_store(&f.dev[0].fail_code, (int)CUZK_E_DEVICE_LOST);
    atomic_store(&f.dev[0].n_bad_tests, 1000);
    atomic_store(&f.dev[0].n_fail, 1);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_FAILED);
    submit_post(&f, PROOF_WINDOW, 2, 1); /* queued */
    atomic_store(&f.dev[0].n_bad_tests, 0);
    assert_int_equal(wait_end(f.e, "window-2").state, JOB_DONE);
    fixture_fini(&f);
}

/* A self-test without memory says nothing about the device. */
static void test_a_test_without_memory_is_made_again(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    submit_post(&f, PROOF_WINNING, 1, 1); /* its key lies on the device */
    assert_int_equal(wait_end(f.e, "winning-1").state, JOB_DONE);
    sleep_ms(20);
    unsigned n_unloads = atomic_load(&f.dev[0].n_unloads);
    atomic_store(&f.dev[0].fail_code, (int)CUZK_E_DEVICE);
    atomic_store(&f.dev[0].test_code, (int)CUZK_E_NOMEM);
    atomic_store(&f.dev[0].n_bad_tests, 3); /* room is made for two, then time passes */
    atomic_store(&f.dev[0].n_fail, 1);
    submit_post(&f, PROOF_WINDOW, 2, 1);
    assert_int_equal(wait_end(f.e, "window-2").state, JOB_DONE);
    assert_true(atomic_load(&f.dev[0].n_unloads) >= n_unloads + 2);
    assert_int_equal(atomic_load(&f.dev[0].n_bad_tests), 0);
    fixture_fini(&f);
}

static const struct {
    cuzk_code code;
    bool is_fault;
} failures[] = {{CUZK_E_DEVICE, true},
                {CUZK_E_NOMEM, false},
                {CUZK_E_INTERNAL, false},
                {CUZK_E_DEVICE_LOST, true}};

static void test_a_failed_batch_is_proven_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        fixture f;
        fixture_init(&f, 2);
        fixture_start(&f);
        for (int d = 0; d < 2; d++)
            atomic_store(&f.dev[d].fail_code, (int)failures[i].code);
        atomic_store(&f.dev[0].n_fail, 1);
        submit_to_first(&f, 1, &f.dev[0].n_fail);
        job_view v = wait_end(f.e, "window-1");
        if (v.state != JOB_DONE)
            fail_msg("%s: %s", cuzk_code_name(failures[i].code), v.error);
        engine_snapshot s = snapshot(f.e);
        assert_int_equal(s.device_faults, failures[i].is_fault);
        assert_true(s.devices[0].is_healthy);
        engine_snapshot_fini(&s);
        fixture_fini(&f);
    }
}

static void test_one_bad_job_does_not_fail_its_companions(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    f.cfg.max_batch_size = 3;
    f.cfg.max_batch_wait_ms = 60000; /* until all three are there */
    fixture_start(&f);
    atomic_store(&f.dev[0].fail_code, (int)CUZK_E_INTERNAL);
    job_request r[3];
    /* The device is kept until all have their witness: a failure says nothing of those without. */
    atomic_store(&f.dev[0].hang, true);
    job_view first = submit_post(&f, PROOF_WINNING, 9, 1);
    for (int i = 0; i < 20000 && !atomic_load(&f.dev[0].n_inside); i++)
        sleep_ms(1);
    assert_int_equal(atomic_load(&f.dev[0].n_inside), 1);
    atomic_store(&f.dev[0].n_fail, 2); /* the batch, then the first job alone */
    job_view v[3];
    for (uint64_t i = 0; i < 3; i++)
        post_request(&r[i], PROOF_WINDOW, 1 + i, 1);
    for (int i = 0; i < 3; i++) {
        engine_submitted s = submit_and_wait(f.e, &r[i]);
        assert_ok(s.st);
        v[i] = s.view;
    }
    for (int i = 0; i < 3; i++)
        until_witnesses(f.e, v[i].job_id);
    atomic_store(&f.dev[0].hang, false);
    assert_int_equal(wait_end(f.e, first.job_id).state, JOB_DONE);
    unsigned n_failed = 0;
    for (int i = 0; i < 3; i++) {
        v[i] = wait_end(f.e, v[i].job_id);
        n_failed += v[i].state == JOB_FAILED;
    }
    assert_int_equal(n_failed, 1);
    fixture_fini(&f);
}

static void test_a_hanging_device_is_given_up(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 2);
    f.cfg.device_timeout_ms = 200;
    fixture_start(&f);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    wait_end(f.e, "window-1");
    atomic_store(&f.dev[0].hang, true);
    submit_post(&f, PROOF_WINDOW, 2, 6);
    job_view v = wait_end(f.e, "window-2");
    assert_int_equal(v.state, JOB_DONE);
    engine_snapshot s = snapshot(f.e);
    assert_false(s.devices[0].is_healthy);
    assert_int_equal(s.device_faults, 1);
    engine_snapshot_fini(&s);
    /* When it comes back, its late results are ignored, it is tested and used again. */
    atomic_store(&f.dev[0].hang, false);
    for (int i = 0; i < 2000; i++) {
        s = snapshot(f.e);
        bool healthy = s.devices[0].is_healthy;
        engine_snapshot_fini(&s);
        if (healthy)
            break;
        sleep_ms(1);
    }
    s = snapshot(f.e);
    assert_true(s.devices[0].is_healthy);
    engine_snapshot_fini(&s);
    fixture_fini(&f);
}

static void test_the_only_device_hanging_fails_the_job(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    f.cfg.device_timeout_ms = 200;
    f.cfg.device_retest_ms = 50;
    fixture_start(&f);
    atomic_store(&f.dev[0].hang, true);
    submit_post(&f, PROOF_WINNING, 1, 1);
    job_view v = wait_end(f.e, "winning-1");
    assert_int_equal(v.state, JOB_FAILED);
    assert_int_equal(v.error_code, CUZK_E_DEVICE);
    atomic_store(&f.dev[0].hang, false);
    fixture_fini(&f);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* From submit to the end, while bulk work holds the device for minutes in slices of 20 ms. */
static void test_urgent_work_takes_the_device_at_the_next_slice(void **state)
{
    (void)state;
    enum { N = 30 };
    uint64_t took[N];
    job_view bulk;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    submit_post(&f, PROOF_WINNING, 1, 1); /* keeps the circuit warm */
    wait_end(f.e, "winning-1");
    atomic_store(&f.dev[0].winning_is_short, true);
    slow(&f.dev[0], 100000, 20);
    submit_post(&f, PROOF_WINDOW, 2, 4);
    unsigned before = atomic_load(&f.dev[0].n_yields);
    while (atomic_load(&f.dev[0].n_yields) < before + 2)
        sleep_ms(1);
    for (uint64_t i = 0; i < N; i++) {
        job_request r;
        post_request(&r, PROOF_WINNING, 3 + i, 1);
        uint64_t t0 = now_ms();
        engine_submitted s = submit_and_wait(f.e, &r);
        assert_ok(s.st);
        assert_int_equal(wait_end(f.e, s.view.job_id).state, JOB_DONE);
        took[i] = now_ms() - t0;
    }
    assert_ok(engine_get_job(f.e, "window-2", &bulk));
    assert_int_equal(bulk.state, JOB_PROVING);
    assert_int_equal(bulk.n_partitions_done, 0);
    qsort(took, N, sizeof *took, by_value);
    printf("urgent: median %llu ms, worst %llu ms\n", (unsigned long long)took[N / 2],
           (unsigned long long)took[N - 1]);
    if (took[N / 2] >
        200) /* one slice, witness and checks; a busy machine may take longer at times */
        fail_msg("median %llu ms", (unsigned long long)took[N / 2]);
    fixture_fini(&f);
}

static void test_the_interrupted_batch_goes_on(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    slow(&f.dev[0], 40, 10);
    job_request r;
    post_request(&r, PROOF_WINDOW, 1, 1);
    r.priority = JOB_LOW;
    assert_ok(submit_and_wait(f.e, &r).st);
    unsigned before = atomic_load(&f.dev[0].n_yields);
    while (atomic_load(&f.dev[0].n_yields) < before + 2)
        sleep_ms(1);
    post_request(&r, PROOF_WINNING, 2, 1);
    assert_ok(submit_and_wait(f.e, &r).st);
    job_view urgent = wait_end(f.e, "winning-2"), low = wait_end(f.e, "window-1");
    assert_int_equal(urgent.state, JOB_DONE);
    assert_int_equal(low.state, JOB_DONE);
    assert_true(urgent.finished_unix_ms <= low.finished_unix_ms);
    assert_int_equal(low.n_retries, 0);
    fixture_fini(&f);
}

static void test_work_of_the_same_class_does_not_interrupt(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    submit_post(&f, PROOF_WINNING, 1, 1);
    wait_end(f.e, "winning-1");
    slow(&f.dev[0], 20, 10);
    submit_post(&f, PROOF_WINDOW, 2, 1);
    unsigned before = atomic_load(&f.dev[0].n_yields);
    while (atomic_load(&f.dev[0].n_yields) < before + 2)
        sleep_ms(1);
    job_request r;
    post_request(&r, PROOF_WINNING, 3, 1);
    r.priority = JOB_NORMAL;
    assert_ok(submit_and_wait(f.e, &r).st);
    job_view a = wait_end(f.e, "window-2"), b = wait_end(f.e, "winning-3");
    assert_int_equal(a.state, JOB_DONE);
    assert_int_equal(b.state, JOB_DONE);
    assert_true(a.finished_unix_ms <= b.finished_unix_ms);
    fixture_fini(&f);
}

static void test_a_full_device_drops_the_oldest_key(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    atomic_store(&f.dev[0].max_handles, 1);
    fixture_start(&f);
    for (uint64_t i = 1; i <= 4; i++) {
        char id[32];
        proof_kind kind = i % 2 ? PROOF_WINNING : PROOF_WINDOW;
        submit_post(&f, kind, i, 1);
        snprintf(id, sizeof id, "%s-%llu", PROOF_KIND_NAMES[kind], (unsigned long long)i);
        job_view v = wait_end(f.e, id);
        if (v.state != JOB_DONE)
            fail_msg("%s", v.error);
        sleep_ms(20); /* the job lets go of the key when it is cleaned up */
    }
    assert_int_equal(atomic_load(&f.dev[0].n_loads), 4);
    fixture_fini(&f);
}

/* Two circuits at work, room for one key: they take turns. */
static void test_active_jobs_take_turns_on_a_full_device(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    atomic_store(&f.dev[0].max_handles, 1);
    fixture_start(&f);
    slow(&f.dev[0], 3, 10);
    for (uint64_t i = 1; i <= 8; i++) {
        job_request r;
        post_request(&r, i % 2 ? PROOF_WINNING : PROOF_WINDOW, i, 1);
        r.priority = JOB_NORMAL;
        assert_ok(submit_and_wait(f.e, &r).st);
    }
    for (uint64_t i = 1; i <= 8; i++) {
        char id[32];
        snprintf(id, sizeof id, "%s-%llu", i % 2 ? "winning" : "window", (unsigned long long)i);
        job_view v = wait_end(f.e, id);
        if (v.state != JOB_DONE)
            fail_msg("%s: %s", id, v.error);
    }
    fixture_fini(&f);
}

/* Urgent work whose key has no room beside the one in use waits for the batch to end. */
static void test_urgent_work_without_room_waits(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    atomic_store(&f.dev[0].max_handles, 1);
    fixture_start(&f);
    slow(&f.dev[0], 20, 10);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    unsigned before = atomic_load(&f.dev[0].n_yields);
    while (atomic_load(&f.dev[0].n_yields) < before + 2)
        sleep_ms(1);
    submit_post(&f, PROOF_WINNING, 2, 1);
    job_view a = wait_end(f.e, "window-1"), b = wait_end(f.e, "winning-2");
    assert_int_equal(a.state, JOB_DONE);
    if (b.state != JOB_DONE)
        fail_msg("%s", b.error);
    assert_int_equal(b.n_retries, 0);
    fixture_fini(&f);
}

static const struct {
    cuzk_code load, prove;
} refusals[] = {{CUZK_E_USAGE, CUZK_OK},
                {CUZK_E_DEVICE_LOST, CUZK_OK},
                {CUZK_OK, CUZK_E_USAGE},
                {CUZK_OK, CUZK_E_NOMEM},
                {CUZK_OK, CUZK_E_DEVICE_LOST}};

/* Urgent work that the device cannot take beside what it is at waits, for the end of that batch only,
 * and is neither blamed for it nor tried over and over. */
static void test_a_device_that_does_not_nest(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        fixture f;
        fixture_init(&f, 1);
        f.cfg_dev[0].batch_max = 1;
        fixture_start(&f);
        slow(&f.dev[0], 80, 10);
        atomic_store(&f.dev[0].winning_is_short, true);
        atomic_store(&f.dev[0].nested_load, (int)refusals[i].load);
        atomic_store(&f.dev[0].nested_prove, (int)refusals[i].prove);
        submit_post(&f, PROOF_WINDOW, 1, 2);
        unsigned before = atomic_load(&f.dev[0].n_yields);
        while (atomic_load(&f.dev[0].n_yields) < before + 2)
            sleep_ms(1);
        submit_post(&f, PROOF_WINNING, 2, 1);
        job_view b = wait_end(f.e, "winning-2"), a = wait_end(f.e, "window-1");
        if (a.state != JOB_DONE || b.state != JOB_DONE)
            fail_msg("refusal %zu: %s %s", i, a.error, b.error);
        assert_int_equal(a.n_retries + b.n_retries, 0);
        assert_true(b.finished_unix_ms < a.finished_unix_ms);
        assert_int_equal(atomic_load(&f.dev[0].n_refused), 1);
        engine_snapshot s = snapshot(f.e);
        assert_int_equal(s.device_faults, 0);
        engine_snapshot_fini(&s);
        /* Nothing is left of it: where nesting works, it is used. */
        atomic_store(&f.dev[0].nested_load, 0);
        atomic_store(&f.dev[0].nested_prove, 0);
        atomic_store(&f.dev[0].n_slices, 60);
        submit_post(&f, PROOF_WINDOW, 3, 1);
        before = atomic_load(&f.dev[0].n_yields);
        while (atomic_load(&f.dev[0].n_yields) < before + 2)
            sleep_ms(1);
        submit_post(&f, PROOF_WINNING, 4, 1);
        b = wait_end(f.e, "winning-4");
        a = wait_end(f.e, "window-3");
        assert_int_equal(a.state, JOB_DONE);
        assert_int_equal(b.state, JOB_DONE);
        assert_true(b.finished_unix_ms < a.finished_unix_ms);
        fixture_fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_devices_share_a_job),
        cmocka_unit_test(test_an_idle_device_takes_over_from_a_slow_one),
        cmocka_unit_test(test_a_wrong_proof_is_made_again_elsewhere),
        cmocka_unit_test(test_a_single_device_is_tested_before_it_tries_again),
        cmocka_unit_test(test_a_device_that_fails_its_test_gets_no_work),
        cmocka_unit_test(test_without_a_healthy_device_jobs_fail_loudly),
        cmocka_unit_test(test_a_lost_device_comes_back),
        cmocka_unit_test(test_a_device_that_is_lost_often),
        cmocka_unit_test(test_a_device_that_was_given_up_comes_back),
        cmocka_unit_test(test_a_test_without_memory_is_made_again),
        cmocka_unit_test(test_a_failed_batch_is_proven_again),
        cmocka_unit_test(test_one_bad_job_does_not_fail_its_companions),
        cmocka_unit_test(test_a_hanging_device_is_given_up),
        cmocka_unit_test(test_the_only_device_hanging_fails_the_job),
        cmocka_unit_test(test_urgent_work_takes_the_device_at_the_next_slice),
        cmocka_unit_test(test_the_interrupted_batch_goes_on),
        cmocka_unit_test(test_work_of_the_same_class_does_not_interrupt),
        cmocka_unit_test(test_a_full_device_drops_the_oldest_key),
        cmocka_unit_test(test_active_jobs_take_turns_on_a_full_device),
        cmocka_unit_test(test_urgent_work_without_room_waits),
        cmocka_unit_test(test_a_device_that_does_not_nest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
