/* What a snapshot says about partitions, while they are proven and just after. */
#include "unit/engine/engine_fixture.h"

/* Those of a job; NULL when the snapshot has none. Release the snapshot. */
static const engine_part_view *parts_of(engine *e, engine_snapshot *s, const char *job_id,
                                        uint32_t *n)
{
    assert_ok(engine_get_snapshot(e, s));
    for (uint32_t i = 0; i < s->n_job_parts; i++)
        if (strcmp(s->job_parts[i].job_id, job_id) == 0) {
            *n = s->job_parts[i].n;
            return &s->parts[s->job_parts[i].first];
        }
    return NULL;
}

static void slow_device(fixture *f, unsigned slices, unsigned slice_ms)
{
    atomic_store(&f->dev[0].n_slices, slices);
    atomic_store(&f->dev[0].slice_ms, slice_ms);
}

/* Wait for partition k, or any, to be on a device; its time must grow there. */
#define ANY UINT32_MAX
static void wait_on_device(engine *e, const char *job_id, uint32_t k, uint64_t least_ms)
{
    for (unsigned i = 0; i < 5000; i++) {
        engine_snapshot s;
        uint32_t n = 0;
        const engine_part_view *p = parts_of(e, &s, job_id, &n);
        bool is_there = false;
        for (uint32_t m = 0; p && m < n && !is_there; m++) {
            is_there = (k == ANY || k == m) && p[m].state == ENGINE_PART_DEVICE &&
                       p[m].device_ms != ENGINE_NO_TIME && p[m].device_ms >= least_ms;
            if (is_there)
                assert_true(p[m].witness_ms != ENGINE_NO_TIME);
        }
        for (uint32_t m = 0; is_there && m < n; m++)
            assert_true(p[m].state >= ENGINE_PART_DEVICE || p[m].device_ms == ENGINE_NO_TIME);
        engine_snapshot_fini(&s);
        if (is_there)
            return;
        sleep_ms(1);
    }
    fail_msg("partition %u was never seen on the device for %llu ms", k,
             (unsigned long long)least_ms);
}

static void test_times_are_those_of_the_partition(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    f.cfg_dev[0].batch_max = 1;
    fixture_start(&f);
    slow_device(&f, 4, 30);
    submit_post(&f, PROOF_WINDOW, 1, 4);
    wait_on_device(f.e, "window-1", 1, 15);
    job_view end = wait_end(f.e, "window-1");
    assert_int_equal(end.state, JOB_DONE);
    /* The job leaves memory meanwhile, the view stays. */
    for (unsigned i = 0; i < 20; i++) {
        engine_snapshot s;
        uint32_t n = 0;
        uint64_t device_ms = 0;
        const engine_part_view *p = parts_of(f.e, &s, "window-1", &n);
        assert_non_null(p);
        assert_int_equal(n, 4);
        for (uint32_t k = 0; k < n; k++) {
            assert_int_equal(p[k].state, ENGINE_PART_DONE);
            assert_in_range(p[k].device_ms, 120, end.times.device_ms);
            assert_in_range(p[k].witness_ms, 0, end.times.total_ms);
            device_ms += p[k].device_ms;
        }
        /* One after the other on one device: true times add up to less than the whole. */
        assert_in_range(device_ms, 480, end.times.device_ms);
        engine_snapshot_fini(&s);
        sleep_ms(2);
    }
    fixture_fini(&f);
}

static void test_what_was_not_done_has_failed(void **state)
{
    (void)state;
    fixture f;
    engine_snapshot s;
    bool was_live;
    uint32_t n = 0;
    fixture_init(&f, 1);
    f.cfg_dev[0].batch_max = 1;
    fixture_start(&f);
    slow_device(&f, 1000000, 1); /* neither is proven, whichever is first */
    submit_post(&f, PROOF_WINDOW, 1, 2);
    wait_on_device(f.e, "window-1", ANY, 1);
    assert_ok(engine_cancel(f.e, "window-1", &was_live));
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_CANCELLED);
    const engine_part_view *p = parts_of(f.e, &s, "window-1", &n);
    assert_int_equal(n, 2);
    for (uint32_t k = 0; k < n; k++) {
        assert_int_equal(p[k].state, ENGINE_PART_FAILED);
        assert_true(p[k].device_ms == ENGINE_NO_TIME);
    }
    engine_snapshot_fini(&s);
    fixture_fini(&f);
}

/* Without a bound, a day of WinningPoSts would stay in memory for as long as nobody asks. */
static void test_few_ended_jobs_are_remembered(void **state)
{
    (void)state;
    fixture f;
    engine_snapshot s;
    char id[32];
    fixture_init(&f, 1);
    fixture_start(&f);
    atomic_store(&f.dev[0].winning_is_short, true);
    for (unsigned i = 1; i <= 70; i++) {
        submit_post(&f, PROOF_WINNING, i, 1);
        snprintf(id, sizeof id, "winning-%u", i);
        assert_int_equal(wait_end(f.e, id).state, JOB_DONE);
    }
    for (;;) { /* the last ones are being cleaned up */
        assert_ok(engine_get_snapshot(f.e, &s));
        if (s.n_job_parts <= 64)
            break;
        engine_snapshot_fini(&s);
        sleep_ms(1);
    }
    assert_int_equal(s.n_job_parts, 64);
    engine_snapshot_fini(&s);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_are_those_of_the_partition),
        cmocka_unit_test(test_what_was_not_done_has_failed),
        cmocka_unit_test(test_few_ended_jobs_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
