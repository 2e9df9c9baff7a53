/* How jobs end: cancelled in every phase, failed, and what is left behind. */
#include "unit/engine/inside.h"

/* Memory goes back shortly after the end is visible. */
static void wait_memory(engine *e, uint64_t want)
{
    for (int i = 0; i < 2000 && memory_used(e) != want; i++)
        sleep_ms(1);
    assert_int_equal(memory_used(e), want);
}

/* Both keys resident, nothing else. */
static uint64_t warm_up(fixture *f)
{
    job_view a = submit_post(f, PROOF_WINNING, 900, 1), b = submit_post(f, PROOF_WINDOW, 901, 1);
    assert_int_equal(wait_end(f->e, a.job_id).state, JOB_DONE);
    assert_int_equal(wait_end(f->e, b.job_id).state, JOB_DONE);
    return idle_memory(f->e);
}

static void cancel_and_check(fixture *f, const char *job_id, uint64_t baseline)
{
    bool was_live;
    uint64_t t0 = now_ms();
    assert_ok(engine_cancel(f->e, job_id, &was_live));
    assert_true(was_live);
    job_view end = wait_end(f->e, job_id);
    assert_int_equal(end.state, JOB_CANCELLED);
    assert_int_equal(end.error_code, CUZK_E_CANCELLED);
    if (now_ms() - t0 > 500) /* 100 ms is meant; the machine may be busy */
        fail_msg("cancel took %llu ms", (unsigned long long)(now_ms() - t0));
    assert_ok(engine_cancel(f->e, job_id, &was_live));
    assert_false(was_live);
    wait_memory(f->e, baseline);
}

static void wait_state(engine *e, const char *job_id, job_state st)
{
    job_view v = {.state = JOB_QUEUED};
    for (int i = 0; i < 5000; i++) {
        assert_ok(engine_get_job(e, job_id, &v));
        if (v.state == st)
            return;
        sleep_ms(1);
    }
    fail_msg("job %s is %s, want %s", job_id, JOB_STATE_NAMES[v.state], JOB_STATE_NAMES[st]);
}

static void test_cancel_on_the_device(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    uint64_t baseline = warm_up(&f);
    atomic_store(&f.dev[0].n_slices, 1000);
    atomic_store(&f.dev[0].slice_ms, 10);
    job_view v = submit_post(&f, PROOF_WINDOW, 1, 3);
    unsigned before = atomic_load(&f.dev[0].n_yields);
    while (atomic_load(&f.dev[0].n_yields) == before)
        sleep_ms(1);
    cancel_and_check(&f, v.job_id, baseline);
    fixture_fini(&f);
}

static void test_cancel_in_the_queue(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    f.cfg.max_active[PROOF_WINDOW] = 1;
    fixture_start(&f);
    uint64_t baseline = warm_up(&f);
    atomic_store(&f.dev[0].n_slices, 1000);
    atomic_store(&f.dev[0].slice_ms, 10);
    job_view busy = submit_post(&f, PROOF_WINDOW, 1, 1);
    wait_state(f.e, busy.job_id, JOB_PROVING);
    job_view a = submit_post(&f, PROOF_WINDOW, 2, 1), b = submit_post(&f, PROOF_WINDOW, 3, 1), v;
    assert_ok(engine_get_job(f.e, b.job_id, &v));
    assert_int_equal(v.state, JOB_QUEUED);
    assert_int_equal(v.queue_position, 1);
    bool was_live;
    assert_ok(engine_cancel(f.e, a.job_id, &was_live));
    assert_int_equal(wait_end(f.e, a.job_id).state, JOB_CANCELLED);
    assert_ok(engine_get_job(f.e, b.job_id, &v));
    assert_int_equal(v.queue_position, 0);
    assert_ok(engine_cancel(f.e, b.job_id, &was_live));
    assert_int_equal(wait_end(f.e, b.job_id).state, JOB_CANCELLED);
    cancel_and_check(&f, busy.job_id, baseline);
    fixture_fini(&f);
}

/* At any moment after the submit: whatever phase it hits, the job ends once and leaves nothing. */
static void test_cancel_at_any_moment_leaves_nothing(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 2);
    fixture_start(&f);
    uint64_t baseline = warm_up(&f);
    unsigned seed = 7, n_cancelled = 0;
    for (uint64_t i = 0; i < 40; i++) {
        job_view v = submit_post(&f, PROOF_WINDOW, 10 + i, 3);
        struct timespec ts = {.tv_nsec = rand_r(&seed) % 20000000};
        nanosleep(&ts, NULL);
        bool was_live;
        assert_ok(engine_cancel(f.e, v.job_id, &was_live));
        job_view end = wait_end(f.e, v.job_id);
        if (end.state != (was_live ? JOB_CANCELLED : JOB_DONE))
            fail_msg("trial %llu (live %d): %s: %s", (unsigned long long)i, was_live,
                     JOB_STATE_NAMES[end.state], end.error);
        n_cancelled += was_live;
    }
    wait_memory(f.e, baseline);
    engine_snapshot s;
    assert_ok(engine_get_snapshot(f.e, &s));
    assert_int_equal(s.cancelled[PROOF_WINDOW], n_cancelled);
    assert_int_equal(s.failed[PROOF_WINDOW], 0);
    assert_int_equal(s.running[PROOF_WINDOW], 0);
    engine_snapshot_fini(&s);
    fixture_fini(&f);
}

static void test_unknown_jobs_are_not_found(void **state)
{
    (void)state;
    fixture f;
    job_view v;
    bool was_live;
    engine_watch *w;
    char *json;
    fixture_init(&f, 1);
    fixture_start(&f);
    assert_int_equal(engine_get_job(f.e, "nobody", &v).code, CUZK_E_NOT_FOUND);
    assert_int_equal(engine_cancel(f.e, "nobody", &was_live).code, CUZK_E_NOT_FOUND);
    assert_int_equal(engine_watch_job(f.e, "nobody", true, on_view, NULL, &w).code,
                     CUZK_E_NOT_FOUND);
    assert_int_equal(engine_get_timeline(f.e, "nobody", &json).code, CUZK_E_NOT_FOUND);
    fixture_fini(&f);
}

typedef struct bad_request {
    const char *what, *field;
    cuzk_code code;
    void (*spoil)(job_request *r);
} bad_request;

static void spoil_registered(job_request *r) { r->registered_proof = 10; } /* a window proof */
static void spoil_unknown(job_request *r) { r->registered_proof = 99; }
static void spoil_randomness(job_request *r) { r->randomness.len = 31; }
static void spoil_empty(job_request *r) { r->n_vanilla_proofs = 0; }
static void spoil_miner(job_request *r) { r->kind = PROOF_SNAP; }
static void spoil_size(job_request *r) { r->registered_proof = 3; }
static void spoil_bytes(job_request *r)
{
    ((uint8_t *)(uintptr_t)r->vanilla_proofs[0].p)[100] ^= 1;
}

static void test_bad_requests_are_refused_by_field(void **state)
{
    (void)state;
    static const bad_request cases[] = {
        {"kind of proof", "registered_proof", CUZK_E_INPUT, spoil_registered},
        {"unknown proof", "registered_proof", CUZK_E_INPUT, spoil_unknown},
        {"randomness", "randomness", CUZK_E_INPUT, spoil_randomness},
        {"no proofs", "vanilla_proofs", CUZK_E_INPUT, spoil_empty},
        {"commitments", "comm_r_old", CUZK_E_INPUT, spoil_miner},
        {"sector size", "vanilla_proofs[0]", CUZK_E_INPUT, spoil_size},
        {"a flipped bit", "vanilla_proofs[0]", CUZK_E_INPUT, spoil_bytes},
    };
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        job_request r;
        job_view v;
        post_request(&r, PROOF_WINNING, 50, 1);
        cases[i].spoil(&r);
        engine_submitted s = submit_and_wait(f.e, &r);
        if (s.st.code != cases[i].code || !strstr(s.st.msg, cases[i].field))
            fail_msg("%s: %s: %s", cases[i].what, cuzk_code_name(s.st.code), s.st.msg);
        assert_int_equal(engine_get_job(f.e, "winning-50", &v).code, CUZK_E_NOT_FOUND);
    }
    engine_snapshot s;
    assert_ok(engine_get_snapshot(f.e, &s));
    assert_int_equal(s.rejected_invalid, ARRAY_LEN(cases));
    assert_int_equal(s.memory_used, 0);
    engine_snapshot_fini(&s);
    fixture_fini(&f);
}

static void test_what_can_never_fit_is_refused_with_numbers(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    f.cfg.memory_budget_bytes = 1 << 20;
    fixture_start(&f);
    job_request r;
    post_request(&r, PROOF_WINNING, 1, 1);
    engine_submitted s = submit_and_wait(f.e, &r);
    assert_int_equal(s.st.code, CUZK_E_IMPOSSIBLE);
    assert_non_null(strstr(s.st.msg, "the budget is 1 MiB"));
    fixture_fini(&f);
}

static void test_a_missing_key_is_refused_at_submit(void **state)
{
    (void)state;
    fixture f;
    char path[400], stem[PROOF_STEM_MAX];
    circuit_id id;
    fixture_init(&f, 1);
    assert_ok(circuit_id_parse(&id, "winning-2k"));
    circuit_id_param_stem(stem, &id);
    snprintf(path, sizeof path, "%s/%s.params", f.dir, stem);
    assert_int_equal(unlink(path), 0);
    fixture_start(&f);
    job_request r;
    post_request(&r, PROOF_WINNING, 1, 1);
    engine_submitted s = submit_and_wait(f.e, &r);
    assert_int_equal(s.st.code, CUZK_E_IMPOSSIBLE);
    assert_non_null(strstr(s.st.msg, "winning-2k"));
    fixture_fini(&f);
}

static void test_a_full_queue_says_when_to_come_back(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    f.cfg.max_queued_jobs = 2;
    f.cfg.max_active[PROOF_WINDOW] = 1;
    fixture_start(&f);
    atomic_store(&f.dev[0].n_slices, 100000);
    job_view v = submit_post(&f, PROOF_WINDOW, 1, 1);
    wait_state(f.e, v.job_id, JOB_PROVING);
    submit_post(&f, PROOF_WINDOW, 2, 1);
    submit_post(&f, PROOF_WINDOW, 3, 1);
    job_request r;
    post_request(&r, PROOF_WINDOW, 4, 1);
    engine_submitted s = submit_and_wait(f.e, &r);
    assert_int_equal(s.st.code, CUZK_E_BUSY);
    assert_true(s.retry_after_ms >= 1000);
    fixture_fini(&f);
}

static void test_another_sector_size_than_the_proofs_is_refused(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    job_request r;
    post_request(&r, PROOF_WINNING, 1, 1);
    r.sector_size = 34359738368u;
    engine_submitted s = submit_and_wait(f.e, &r);
    assert_int_equal(s.st.code, CUZK_E_INPUT);
    assert_string_equal(s.st.msg,
                        "sector_size: expected 2048, as the proof has it, or 0, found 34359738368");
    for (uint64_t size = 0; size <= 2048; size += 2048) {
        post_request(&r, PROOF_WINNING, 1, 1);
        r.sector_size = size;
        s = submit_and_wait(f.e, &r);
        assert_ok(s.st);
        wait_end(f.e, s.view.job_id);
    }
    fixture_fini(&f);
}

static void test_request_bytes_are_counted_and_given_back(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    f.cfg.max_queued_bytes = 1 << 20;
    fixture_start(&f);
    uint64_t retry_ms;
    assert_ok(engine_reserve_request(f.e, 1 << 20, &retry_ms));
    assert_true(retry_ms == 0);
    cuzk_status full = engine_reserve_request(f.e, 1, &retry_ms);
    assert_int_equal(full.code, CUZK_E_BUSY);
    assert_true(retry_ms >= 1000);
    assert_null(strstr(full.msg, " ms")); /* the transport says it, once */
    assert_int_equal(engine_reserve_request(f.e, (1 << 20) + 1, &retry_ms).code, CUZK_E_IMPOSSIBLE);
    engine_release_request(f.e, 1 << 20);
    job_request r;
    post_request(&r, PROOF_WINNING, 1, 1);
    uint64_t bytes = r.vanilla_proofs[0].len + 32;
    assert_ok(engine_reserve_request(f.e, bytes, &retry_ms));
    engine_submitted s = submit_and_wait(f.e, &r);
    assert_ok(s.st);
    engine_snapshot snap;
    assert_ok(engine_get_snapshot(f.e, &snap));
    assert_int_equal(snap.request_bytes, 0);
    engine_snapshot_fini(&snap);
    wait_end(f.e, s.view.job_id);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancel_on_the_device),
        cmocka_unit_test(test_cancel_in_the_queue),
        cmocka_unit_test(test_cancel_at_any_moment_leaves_nothing),
        cmocka_unit_test(test_unknown_jobs_are_not_found),
        cmocka_unit_test(test_bad_requests_are_refused_by_field),
        cmocka_unit_test(test_what_can_never_fit_is_refused_with_numbers),
        cmocka_unit_test(test_a_missing_key_is_refused_at_submit),
        cmocka_unit_test(test_a_full_queue_says_when_to_come_back),
        cmocka_unit_test(test_request_bytes_are_counted_and_given_back),
        cmocka_unit_test(test_another_sector_size_than_the_proofs_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
