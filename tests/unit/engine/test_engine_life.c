/* Requests that repeat, restarts, draining, keys, watches. */
#include "unit/engine/engine_fixture.h"

static engine_snapshot snapshot(engine *e)
{
    engine_snapshot s;
    assert_ok(engine_get_snapshot(e, &s));
    return s;
}

static void on_disk(fixture *f)
{
    snprintf(f->store, sizeof f->store, "%s/journal.db", f->dir);
    f->cfg.store_path = f->store;
}

static void test_the_same_request_twice_is_one_job(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    job_request r[6];
    answer a[6];
    for (int i = 0; i < 6; i++)
        post_request(&r[i], PROOF_WINDOW, 1, 2);
    for (int i = 0; i < 6; i++) {
        a[i] = (answer){.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
        engine_submit(f.e, &r[i], on_answer, &a[i]);
    }
    unsigned n_new = 0;
    for (int i = 0; i < 6; i++) {
        pthread_mutex_lock(&a[i].lock);
        while (!a[i].is_there)
            pthread_cond_wait(&a[i].cond, &a[i].lock);
        pthread_mutex_unlock(&a[i].lock);
        assert_ok(a[i].r.st);
        n_new += !a[i].r.existing;
        assert_string_equal(a[i].r.view.job_id, "window-1");
    }
    assert_int_equal(n_new, 1);
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_DONE);
    /* And after it has ended. */
    job_request again;
    post_request(&again, PROOF_WINDOW, 1, 2);
    engine_submitted s = submit_and_wait(f.e, &again);
    assert_ok(s.st);
    assert_true(s.existing);
    assert_int_equal(s.view.state, JOB_DONE);
    assert_int_equal(atomic_load(&f.dev[0].n_proofs), 2);
    engine_snapshot snap = snapshot(f.e);
    assert_int_equal(snap.deduplicated, 6);
    assert_int_equal(snap.completed[PROOF_WINDOW], 1);
    engine_snapshot_fini(&snap);
    fixture_fini(&f);
}

static void test_two_requests_under_one_id_are_both_answered(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    job_view v[2];
    uint8_t *proof[2];
    for (uint64_t i = 0; i < 2; i++) {
        job_request r;
        post_request(&r, PROOF_WINDOW, 1 + i, 1);
        snprintf(r.request_id, sizeof r.request_id, "wdpost-1000-0-[1 2 3]");
        engine_submitted s = submit_and_wait(f.e, &r);
        assert_ok(s.st);
        assert_false(s.existing);
        v[i] = s.view;
    }
    assert_string_not_equal(v[0].job_id, v[1].job_id);
    for (int i = 0; i < 2; i++) {
        size_t len;
        assert_int_equal(wait_end(f.e, v[i].job_id).state, JOB_DONE);
        assert_ok(engine_get_proof(f.e, v[i].job_id, &proof[i], &len));
    }
    assert_memory_not_equal(proof[0], proof[1], 192);
    mem_free(proof[0]);
    mem_free(proof[1]);
    fixture_fini(&f);
}

static void test_a_request_without_id_gets_one(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    job_request r;
    post_request(&r, PROOF_WINNING, 1, 1);
    r.request_id[0] = 0;
    engine_submitted a = submit_and_wait(f.e, &r);
    post_request(&r, PROOF_WINNING, 1, 1);
    r.request_id[0] = 0;
    engine_submitted b = submit_and_wait(f.e, &r);
    assert_ok(a.st);
    assert_ok(b.st);
    assert_int_equal(strlen(a.view.job_id), 36);
    assert_string_not_equal(a.view.job_id, b.view.job_id);
    wait_end(f.e, a.view.job_id);
    wait_end(f.e, b.view.job_id);
    fixture_fini(&f);
}

static void test_a_failed_request_may_be_tried_again(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    atomic_store(&f.dev[0].n_wrong, 2);
    submit_post(&f, PROOF_WINNING, 1, 1);
    assert_int_equal(wait_end(f.e, "winning-1").state, JOB_FAILED);
    sleep_ms(50);
    job_request r;
    post_request(&r, PROOF_WINNING, 1, 1);
    engine_submitted s = submit_and_wait(f.e, &r);
    assert_ok(s.st);
    assert_false(s.existing);
    assert_int_equal(wait_end(f.e, s.view.job_id).state, JOB_DONE);
    fixture_fini(&f);
}

static void test_a_restart_goes_on_where_it_was(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    on_disk(&f);
    f.cfg_dev[0].batch_max = 1; /* partitions come out one by one */
    f.cfg.max_active[PROOF_WINDOW] = 1;
    fixture_start(&f);
    atomic_store(&f.dev[0].n_slices, 4);
    atomic_store(&f.dev[0].slice_ms, 5);
    submit_post(&f, PROOF_WINDOW, 1, 8);
    submit_post(&f, PROOF_WINDOW, 2, 1);
    job_view v;
    do {
        sleep_ms(1);
        assert_ok(engine_get_job(f.e, "window-1", &v));
    } while (v.n_partitions_done < 3);
    fixture_stop(&f);
    unsigned before = atomic_load(&f.dev[0].n_proofs);
    fixture_start(&f);
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_DONE);
    assert_int_equal(wait_end(f.e, "window-2").state, JOB_DONE);
    unsigned after = atomic_load(&f.dev[0].n_proofs) - before;
    if (after > 6) /* 5 left of the first, 1 of the second */
        fail_msg("%u proofs after the restart", after);
    uint8_t *proof;
    size_t len;
    assert_ok(engine_get_proof(f.e, "window-1", &proof, &len));
    assert_int_equal(len, 8 * 192);
    mem_free(proof);
    /* Idempotent over the restart, too. */
    job_request r;
    post_request(&r, PROOF_WINDOW, 1, 8);
    engine_submitted s = submit_and_wait(f.e, &r);
    assert_ok(s.st);
    assert_true(s.existing);
    fixture_fini(&f);
}

static void test_draining_lets_running_work_finish(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    on_disk(&f);
    f.cfg.max_active[PROOF_WINDOW] = 1;
    fixture_start(&f);
    atomic_store(&f.dev[0].n_slices, 10);
    atomic_store(&f.dev[0].slice_ms, 10);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    submit_post(&f, PROOF_WINDOW, 2, 1);
    unsigned before = atomic_load(&f.dev[0].n_yields);
    while (atomic_load(&f.dev[0].n_yields) == before)
        sleep_ms(1);
    engine_drain(f.e, 5000);
    job_view v;
    assert_ok(engine_get_job(f.e, "window-1", &v));
    assert_int_equal(v.state, JOB_DONE);
    assert_ok(engine_get_job(f.e, "window-2", &v));
    assert_int_equal(v.state, JOB_QUEUED);
    job_request r;
    post_request(&r, PROOF_WINDOW, 3, 1);
    assert_int_equal(submit_and_wait(f.e, &r).st.code, CUZK_E_IO); /* UNAVAILABLE to clients */
    fixture_stop(&f);
    fixture_start(&f);
    assert_int_equal(wait_end(f.e, "window-2").state, JOB_DONE);
    fixture_fini(&f);
}

static void test_stopping_does_not_wait_for_long_work(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    on_disk(&f);
    fixture_start(&f);
    atomic_store(&f.dev[0].n_slices, 100000);
    atomic_store(&f.dev[0].slice_ms, 5);
    submit_post(&f, PROOF_WINDOW, 1, 2);
    unsigned before = atomic_load(&f.dev[0].n_yields);
    while (atomic_load(&f.dev[0].n_yields) == before)
        sleep_ms(1);
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    fixture_stop(&f);
    clock_gettime(CLOCK_MONOTONIC, &b);
    assert_true(b.tv_sec - a.tv_sec < 3);
    atomic_store(&f.dev[0].n_slices, 1);
    fixture_start(&f);
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_DONE);
    fixture_fini(&f);
}

/* What a hanging device uses stays; once it has come back, all is released. */
static void test_a_hanging_device_is_not_pulled_away(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    atomic_store(&f.dev[0].n_slices, 100000);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    unsigned before = atomic_load(&f.dev[0].n_yields);
    while (atomic_load(&f.dev[0].n_yields) == before)
        sleep_ms(1);
    atomic_store(&f.dev[0].hang, true);
    assert_false(engine_destroy(f.e));
    atomic_store(&f.dev[0].hang, false);
    assert_true(engine_destroy(f.e));
    f.e = NULL;
    assert_int_equal(atomic_load(&f.dev[0].n_handles), 0);
    fixture_fini(&f);
}

/* ---- keys ---- */

typedef struct key_answer {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool is_there, was_loaded;
    cuzk_status st;
    uint64_t bytes;
} key_answer;

static void on_key(void *ctx, cuzk_status st, bool was_loaded, uint64_t load_ms, uint64_t bytes)
{
    key_answer *a = ctx;
    (void)load_ms;
    pthread_mutex_lock(&a->lock);
    a->st = st;
    a->was_loaded = was_loaded;
    a->bytes = bytes;
    a->is_there = true;
    pthread_cond_broadcast(&a->cond);
    pthread_mutex_unlock(&a->lock);
}

typedef void key_call(engine *e, const char *id, engine_key_fn *done, void *ctx);

static key_answer ask(engine *e, key_call *call, const char *id)
{
    key_answer a = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    call(e, id, on_key, &a);
    pthread_mutex_lock(&a.lock);
    while (!a.is_there)
        pthread_cond_wait(&a.cond, &a.lock);
    pthread_mutex_unlock(&a.lock);
    return a;
}

static void test_keys_are_preloaded_and_evicted(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 2);
    fixture_start(&f);
    key_answer a = ask(f.e, engine_preload, "winning-2k");
    assert_ok(a.st);
    assert_false(a.was_loaded);
    assert_true(a.bytes > 0);
    assert_int_equal(atomic_load(&f.dev[0].n_loads), 1);
    assert_int_equal(atomic_load(&f.dev[1].n_loads), 1);
    assert_true(ask(f.e, engine_preload, "winning-2k").was_loaded);
    engine_snapshot s = snapshot(f.e);
    assert_int_equal(s.n_keys, 1);
    assert_string_equal(s.keys[0].circuit_id, "winning-2k");
    assert_true(s.memory_used > 0);
    engine_snapshot_fini(&s);
    a = ask(f.e, engine_evict, "winning-2k");
    assert_ok(a.st);
    assert_true(a.was_loaded);
    assert_true(a.bytes > 0);
    assert_int_equal(atomic_load(&f.dev[0].n_unloads), 1);
    assert_false(ask(f.e, engine_evict, "winning-2k").was_loaded);
    s = snapshot(f.e);
    assert_int_equal(s.n_keys, 0);
    assert_int_equal(s.memory_used, 0);
    assert_int_equal(s.key_evictions, 1);
    engine_snapshot_fini(&s);
    assert_int_equal(ask(f.e, engine_preload, "nonsense").st.code, CUZK_E_INPUT);
    assert_int_equal(ask(f.e, engine_evict, "nonsense").st.code, CUZK_E_INPUT);
    assert_int_equal(ask(f.e, engine_preload, "porep-2k").st.code, CUZK_E_IMPOSSIBLE);
    fixture_fini(&f);
}

static void test_a_key_in_use_is_not_evicted(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    atomic_store(&f.dev[0].n_slices, 100000);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    unsigned before = atomic_load(&f.dev[0].n_yields);
    while (atomic_load(&f.dev[0].n_yields) == before)
        sleep_ms(1);
    key_answer a = ask(f.e, engine_evict, "wpost-2k");
    assert_int_equal(a.st.code, CUZK_E_BUSY);
    assert_true(a.was_loaded);
    fixture_fini(&f);
}

static void test_the_engine_is_ready_after_its_preloads(void **state)
{
    (void)state;
    static const char *const ids[] = {"winning-2k", "wpost-2k"};
    fixture f;
    fixture_init(&f, 1);
    f.cfg.preload = ids;
    f.cfg.n_preload = 2;
    fixture_start(&f);
    for (int i = 0; i < 5000 && !engine_is_ready(f.e); i++)
        sleep_ms(1);
    assert_true(engine_is_ready(f.e));
    assert_true(engine_preloads_tried(f.e));
    assert_int_equal(atomic_load(&f.dev[0].n_loads), 2);
    fixture_fini(&f);
}

/* One preload has no key file: not ready, and the status says why, until the file is there. */
static void test_a_failed_preload_is_told_and_tried_again(void **state)
{
    (void)state;
    static const char *const ids[] = {"winning-2k", "winning-4k"};
    engine_snapshot s;
    fixture f;
    fixture_init(&f, 1);
    f.cfg.preload = ids;
    f.cfg.n_preload = 2;
    f.cfg.preload_retry_ms = 20;
    fixture_start(&f);
    for (int i = 0; i < 5000 && !engine_preloads_tried(f.e); i++)
        sleep_ms(1);
    sleep_ms(100); /* some more attempts */
    assert_false(engine_is_ready(f.e));
    assert_ok(engine_get_snapshot(f.e, &s));
    assert_false(s.is_ready);
    assert_int_equal(s.n_preloads, 2);
    assert_int_equal(s.preloads[0].state, ENGINE_PRELOAD_READY);
    assert_string_equal(s.preloads[0].error, "");
    assert_string_equal(s.preloads[1].circuit_id, "winning-4k");
    assert_int_not_equal(s.preloads[1].state, ENGINE_PRELOAD_READY);
    assert_non_null(strstr(s.preloads[1].error, ".params"));
    engine_snapshot_fini(&s);
    trap_key(f.dir, "winning-4k");
    for (int i = 0; i < 10000 && !engine_is_ready(f.e); i++)
        sleep_ms(1);
    assert_true(engine_is_ready(f.e));
    assert_ok(engine_get_snapshot(f.e, &s));
    assert_int_equal(s.preloads[1].state, ENGINE_PRELOAD_READY);
    assert_string_equal(s.preloads[1].error, "");
    engine_snapshot_fini(&s);
    fixture_fini(&f);
}

static void test_an_unknown_preload_is_no_engine(void **state)
{
    (void)state;
    static const char *const ids[] = {"winning-3k"};
    fixture f;
    fixture_init(&f, 1);
    f.cfg.preload = ids;
    f.cfg.n_preload = 1;
    cuzk_status st = engine_create(&f.e, &f.cfg);
    assert_int_equal(st.code, CUZK_E_INPUT);
    assert_non_null(strstr(st.msg, "winning-3k"));
    assert_null(f.e);
    f.cfg.n_preload = 0;
    fixture_start(&f);
    fixture_fini(&f);
}

/* Many jobs of one circuit at a cold start: one load. */
static void test_a_stampede_loads_a_key_once(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    for (uint64_t i = 1; i <= 12; i++)
        submit_post(&f, PROOF_WINNING, i, 1);
    for (uint64_t i = 1; i <= 12; i++) {
        char id[32];
        snprintf(id, sizeof id, "winning-%llu", (unsigned long long)i);
        assert_int_equal(wait_end(f.e, id).state, JOB_DONE);
    }
    engine_snapshot s = snapshot(f.e);
    assert_int_equal(s.key_misses, 1);
    assert_int_equal(atomic_load(&f.dev[0].n_loads), 1);
    engine_snapshot_fini(&s);
    fixture_fini(&f);
}

/* Room for one key at a time: jobs of two circuits still all end. */
static void test_keys_make_room_for_each_other(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    f.cfg.memory_budget_bytes = (uint64_t)30 << 20;
    f.cfg.eviction_min_idle_ms = 1000000;
    fixture_start(&f);
    key_answer a = ask(f.e, engine_preload, "winning-2k");
    assert_ok(a.st);
    engine_snapshot s = snapshot(f.e);
    uint64_t key = s.memory_used;
    engine_snapshot_fini(&s);
    fixture_stop(&f);
    f.cfg.memory_budget_bytes = key + ((uint64_t)20 << 20);
    fixture_start(&f);
    for (uint64_t i = 1; i <= 6; i++)
        submit_post(&f, i % 2 ? PROOF_WINNING : PROOF_WINDOW, i, 1);
    for (uint64_t i = 1; i <= 6; i++) {
        char id[32];
        snprintf(id, sizeof id, "%s-%llu", i % 2 ? "winning" : "window", (unsigned long long)i);
        job_view v = wait_end(f.e, id);
        if (v.state != JOB_DONE)
            fail_msg("%s: %s", id, v.error);
    }
    fixture_fini(&f);
}

/* ---- watches ---- */

static void wait_calls(ended *w, unsigned n, bool final)
{
    bool there = false;
    for (int k = 0; k < 20000 && !there; k++, sleep_ms(1)) {
        pthread_mutex_lock(&w->lock);
        there = w->n_calls >= n && (w->is_final || !final);
        pthread_mutex_unlock(&w->lock);
    }
    assert_true(there);
}

static void test_a_thousand_watches_hear_the_end(void **state)
{
    (void)state;
    enum { N = 1000 };
    static ended w[N];
    static engine_watch *watch[N];
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    atomic_store(&f.dev[0].n_slices, 10);
    atomic_store(&f.dev[0].hang, true);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    for (int i = 0; i < N; i++) {
        w[i] = (ended)ENDED_INIT;
        assert_ok(engine_watch_job(f.e, "window-1", i % 2, on_view, &w[i], &watch[i]));
    }
    for (int i = 0; i < N; i += 2)
        wait_calls(&w[i], 1, false);
    atomic_store(&f.dev[0].hang, false);
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_DONE);
    for (int i = 0; i < N; i++) {
        wait_calls(&w[i], 1, true);
        assert_false(engine_unwatch(f.e, watch[i]));
        assert_true(w[i].is_final);
        if (i % 2)
            assert_int_equal(w[i].n_calls, 1);
        else
            assert_true(w[i].n_calls > 1);
    }
    /* A watch on what has ended long ago. */
    sleep_ms(50);
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_DONE);
    fixture_fini(&f);
}

static void test_unwatching_before_the_end_is_silent(void **state)
{
    (void)state;
    fixture f;
    ended w = ENDED_INIT;
    engine_watch *watch;
    fixture_init(&f, 1);
    fixture_start(&f);
    atomic_store(&f.dev[0].n_slices, 10);
    atomic_store(&f.dev[0].slice_ms, 10);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    assert_ok(engine_watch_job(f.e, "window-1", true, on_view, &w, &watch));
    assert_true(engine_unwatch(f.e, watch));
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_DONE);
    assert_int_equal(w.n_calls, 0);
    fixture_fini(&f);
}

static void test_lists_are_newest_first_and_by_state(void **state)
{
    (void)state;
    fixture f;
    job_view *v;
    uint32_t n;
    fixture_init(&f, 1);
    f.cfg.max_active[PROOF_WINDOW] = 1;
    fixture_start(&f);
    submit_post(&f, PROOF_WINNING, 1, 1);
    wait_end(f.e, "winning-1");
    atomic_store(&f.dev[0].n_slices, 100000);
    submit_post(&f, PROOF_WINDOW, 2, 1);
    job_view second;
    do {
        sleep_ms(1);
        assert_ok(engine_get_job(f.e, "window-2", &second));
    } while (second.state != JOB_PROVING);
    submit_post(&f, PROOF_WINDOW, 3, 1);
    assert_ok(engine_list_jobs(f.e, -1, 0, &v, &n));
    assert_int_equal(n, 3);
    assert_string_equal(v[0].job_id, "window-3");
    assert_string_equal(v[2].job_id, "winning-1");
    assert_int_equal(v[2].state, JOB_DONE);
    mem_free(v);
    assert_ok(engine_list_jobs(f.e, JOB_PROVING, 10, &v, &n));
    assert_int_equal(n, 1);
    assert_string_equal(v[0].job_id, "window-2");
    mem_free(v);
    assert_ok(engine_list_jobs(f.e, JOB_DONE, 10, &v, &n));
    assert_int_equal(n, 1);
    mem_free(v);
    assert_ok(engine_list_jobs(f.e, -1, 2, &v, &n));
    assert_int_equal(n, 2);
    mem_free(v);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_request_twice_is_one_job),
        cmocka_unit_test(test_two_requests_under_one_id_are_both_answered),
        cmocka_unit_test(test_a_request_without_id_gets_one),
        cmocka_unit_test(test_a_failed_request_may_be_tried_again),
        cmocka_unit_test(test_a_restart_goes_on_where_it_was),
        cmocka_unit_test(test_draining_lets_running_work_finish),
        cmocka_unit_test(test_stopping_does_not_wait_for_long_work),
        cmocka_unit_test(test_a_hanging_device_is_not_pulled_away),
        cmocka_unit_test(test_keys_are_preloaded_and_evicted),
        cmocka_unit_test(test_a_key_in_use_is_not_evicted),
        cmocka_unit_test(test_the_engine_is_ready_after_its_preloads),
        cmocka_unit_test(test_a_failed_preload_is_told_and_tried_again),
        cmocka_unit_test(test_an_unknown_preload_is_no_engine),
        cmocka_unit_test(test_a_stampede_loads_a_key_once),
        cmocka_unit_test(test_keys_make_room_for_each_other),
        cmocka_unit_test(test_a_thousand_watches_hear_the_end),
        cmocka_unit_test(test_unwatching_before_the_end_is_silent),
        cmocka_unit_test(test_lists_are_newest_first_and_by_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
