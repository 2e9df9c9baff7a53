/* Server and client together, around the pretending engine. */
#include "unit/rpc/rpc_fixture.h"

/* ---- proofs ---- */

static void test_submit_await_prove_agree(void **state)
{
    fixture *f = *state;
    job_request r = request("porep-1000-1", "hello");
    rpc_submitted s;
    rpc_result a, p;
    assert_code(rpc_client_submit(f->c, &r, &s), CUZK_OK);
    assert_string_equal(s.job_id, "porep-1000-1");
    assert_false(s.existing);
    assert_code(rpc_client_await(f->c, s.job_id, 0, &a), CUZK_OK);
    assert_int_equal(a.outcome, RPC_OUTCOME_COMPLETED);
    assert_int_equal(a.proof_len, 192);
    assert_int_equal(a.view.times.witness_ms, 3);
    assert_int_equal(a.view.times.verify_ms, 5);
    assert_code(rpc_client_prove(f->c, &r, 0, &p), CUZK_OK);
    assert_string_equal(p.view.job_id, "porep-1000-1");
    assert_memory_equal(a.proof, p.proof, 192);
    rpc_result_fini(&a);
    rpc_result_fini(&p);
    assert_code(rpc_client_submit(f->c, &r, &s), CUZK_OK);
    assert_true(s.existing);
    until(is_quiet, f);
}

static void test_all_fields_arrive(void **state)
{
    fixture *f = *state;
    job_request r = request("w", "");
    const uint64_t before_ns = clock_now_ns();
    const job_bytes list[] = {{(const uint8_t *)"one", 3}, {(const uint8_t *)"three", 5}};
    rpc_submitted s;
    r.kind = PROOF_WINDOW;
    r.priority = JOB_CRITICAL;
    r.sector_size = 2048;
    r.registered_proof = 5;
    r.sector_number = 7;
    r.miner_id = 1000;
    r.partition_index = 3;
    r.vanilla_proofs = list;
    r.n_vanilla_proofs = 2;
    r.randomness = (job_bytes){(const uint8_t *)"rrr", 3};
    r.comm_d_new = (job_bytes){(const uint8_t *)"dddd", 4};
    r.deadline_unix_ms = 12345;
    assert_code(rpc_client_submit(f->c, &r, &s), CUZK_OK);
    job_request got = fake_engine_look(f->e).last;
    assert_int_equal(got.kind, PROOF_WINDOW);
    assert_int_equal(got.priority, JOB_CRITICAL);
    assert_int_equal(got.sector_size, 2048);
    assert_int_equal(got.registered_proof, 5);
    assert_int_equal(got.sector_number, 7);
    assert_int_equal(got.miner_id, 1000);
    assert_int_equal(got.partition_index, 3);
    assert_int_equal(got.n_vanilla_proofs, 2);
    assert_int_equal(got.randomness.len, 3);
    assert_int_equal(got.comm_d_new.len, 4);
    assert_int_equal(got.deadline_unix_ms, 12345);
    assert_true(before_ns <= got.received_ns && got.received_ns <= got.admitted_ns &&
                got.admitted_ns <= got.body_ns && got.body_ns <= clock_now_ns());
}

static void test_ids_are_made_and_kept_apart(void **state)
{
    fixture *f = *state;
    job_request one = request("same", "one"), two = request("same", "two"), none = request("", "x");
    rpc_result a, b, c;
    assert_code(rpc_client_prove(f->c, &one, 0, &a), CUZK_OK);
    assert_code(rpc_client_prove(f->c, &two, 0, &b), CUZK_OK);
    assert_code(rpc_client_prove(f->c, &none, 0, &c), CUZK_OK);
    assert_string_not_equal(a.view.job_id, b.view.job_id);
    assert_memory_not_equal(a.proof, b.proof, 192);
    assert_true(c.view.job_id[0] != 0);
    rpc_result_fini(&a);
    rpc_result_fini(&b);
    rpc_result_fini(&c);
}

static void test_failures_are_told_whole(void **state)
{
    fixture *f = *state;
    job_request r = request("f", "fail:partition 3: proof does not verify \xff");
    rpc_result a;
    assert_code(rpc_client_prove(f->c, &r, 0, &a), CUZK_OK);
    assert_int_equal(a.outcome, RPC_OUTCOME_FAILED);
    assert_string_equal(a.view.error, "partition 3: proof does not verify ?");
    assert_int_equal(a.view.error_code, CUZK_E_VERIFY);
    assert_int_equal(a.proof_len, 0);
    rpc_result_fini(&a);
}

static void test_refusals_have_their_codes(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *script;
        cuzk_code code;
        const char *text;
        uint64_t retry_ms;
    } cases[] = {
        {"invalid:comm_r: expected 32 bytes, found 7", CUZK_E_INPUT, "comm_r: expected 32", 0},
        {"impossible:needs 44 GiB, 12 GiB are there", CUZK_E_IMPOSSIBLE, "needs 44 GiB", 0},
        {"busy:1500", CUZK_E_BUSY, "retry after 1500 ms", 1500},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        job_request r = request("", cases[i].script);
        rpc_submitted s;
        rpc_result p;
        cuzk_status st = rpc_client_submit(f->c, &r, &s);
        assert_code(st, cases[i].code);
        assert_non_null(strstr(st.msg, cases[i].text));
        assert_int_equal(s.retry_after_ms, cases[i].retry_ms);
        assert_code(rpc_client_prove(f->c, &r, 0, &p), cases[i].code);
        assert_int_equal(p.retry_after_ms, cases[i].retry_ms);
    }
    until(is_quiet, f);
}

static void test_unknown_jobs_are_not_found(void **state)
{
    fixture *f = *state;
    rpc_result a;
    job_view v;
    bool live;
    char *json;
    assert_code(rpc_client_await(f->c, "nobody", 0, &a), CUZK_E_NOT_FOUND);
    assert_code(rpc_client_cancel(f->c, "nobody", &live), CUZK_E_NOT_FOUND);
    assert_code(rpc_client_get_job(f->c, "nobody", &v), CUZK_E_NOT_FOUND);
    assert_code(rpc_client_timeline(f->c, "nobody", &json), CUZK_E_NOT_FOUND);
    until(is_quiet, f);
}

static void test_await_times_out_and_cancel_ends_it(void **state)
{
    fixture *f = *state;
    job_request r = request("h", "hang");
    rpc_submitted s;
    rpc_result a;
    bool live = false;
    assert_code(rpc_client_submit(f->c, &r, &s), CUZK_OK);
    uint64_t t0 = clock_now_ns();
    assert_code(rpc_client_await(f->c, "h", 100, &a), CUZK_OK);
    assert_true(clock_now_ns() - t0 >= 100000000u);
    assert_int_equal(a.outcome, RPC_OUTCOME_TIMEOUT);
    assert_non_null(strstr(a.view.error, "not done after 100 ms"));
    rpc_result_fini(&a);
    assert_code(rpc_client_cancel(f->c, "h", &live), CUZK_OK);
    assert_true(live);
    assert_code(rpc_client_await(f->c, "h", 0, &a), CUZK_OK);
    assert_int_equal(a.outcome, RPC_OUTCOME_CANCELLED);
    rpc_result_fini(&a);
    assert_code(rpc_client_cancel(f->c, "h", &live), CUZK_OK);
    assert_false(live);
}

static void test_passed_deadline_keeps_the_job(void **state)
{
    fixture *f = *state;
    job_request r = request("late", "sleep:300");
    rpc_result a;
    cuzk_status st = rpc_client_prove(f->c, &r, 50, &a);
    assert_code(st, CUZK_E_IO);
    assert_code(rpc_client_prove(f->c, &r, 0, &a), CUZK_OK);
    assert_int_equal(a.outcome, RPC_OUTCOME_COMPLETED);
    assert_string_equal(a.view.job_id, "late");
    rpc_result_fini(&a);
    until(is_quiet, f);
}

/* ---- the rest of the service ---- */

typedef struct seen {
    uint32_t n;
    job_state last;
    double progress;
    bool backwards, stop;
} seen;

static bool look(void *ctx, const job_view *v)
{
    seen *s = ctx;
    s->backwards |= s->n && (v->state < s->last || v->progress < s->progress);
    s->last = v->state;
    s->progress = v->progress;
    s->n++;
    return !s->stop;
}

static void test_watch_follows_to_the_end(void **state)
{
    fixture *f = *state;
    job_request r = request("w", "sleep:400");
    rpc_submitted s;
    seen k = {.n = 0};
    assert_code(rpc_client_submit(f->c, &r, &s), CUZK_OK);
    assert_code(rpc_client_watch(f->c, "w", look, &k), CUZK_OK);
    assert_true(k.n >= 3);
    assert_true(k.n <= 20); /* progress comes at most ten times a second */
    assert_int_equal(k.last, JOB_DONE);
    assert_false(k.backwards);
    k = (seen){.n = 0};
    assert_code(rpc_client_watch(f->c, "w", look, &k), CUZK_OK); /* of a finished job: once */
    assert_int_equal(k.n, 1);
    assert_code(rpc_client_watch(f->c, "nobody", look, &k), CUZK_E_NOT_FOUND);
    until(is_quiet, f);
}

static void test_watch_can_be_left(void **state)
{
    fixture *f = *state;
    job_request r = request("w", "hang");
    rpc_submitted s;
    seen k = {.stop = true};
    bool live;
    assert_code(rpc_client_submit(f->c, &r, &s), CUZK_OK);
    assert_code(rpc_client_watch(f->c, "w", look, &k), CUZK_OK);
    assert_int_equal(k.n, 1);
    assert_code(rpc_client_cancel(f->c, "w", &live), CUZK_OK);
    until(is_quiet, f);
}

static void test_lists_and_status(void **state)
{
    fixture *f = *state;
    job_request done = request("d", "x"), hang = request("h", "hang");
    rpc_result a;
    rpc_submitted s;
    rpc_status st;
    job_view *list, v;
    uint32_t n;
    bool live;
    char *text;
    assert_code(rpc_client_prove(f->c, &done, 0, &a), CUZK_OK);
    rpc_result_fini(&a);
    assert_code(rpc_client_submit(f->c, &hang, &s), CUZK_OK);
    assert_code(rpc_client_list(f->c, -1, 0, &list, &n), CUZK_OK);
    assert_int_equal(n, 2);
    assert_string_equal(list[0].job_id, "h");
    mem_free(list);
    assert_code(rpc_client_list(f->c, JOB_DONE, 10, &list, &n), CUZK_OK);
    assert_int_equal(n, 1);
    mem_free(list);
    assert_code(rpc_client_get_job(f->c, "d", &v), CUZK_OK);
    assert_int_equal(v.state, JOB_DONE);
    assert_int_equal(v.proof_bytes, 192);
    assert_code(rpc_client_status(f->c, true, &st), CUZK_OK);
    assert_int_equal(st.snap.n_devices, 1);
    assert_string_equal(st.snap.devices[0].name, "fake:3");
    assert_string_equal(st.snap.devices[0].model, "A model");
    assert_int_equal(st.snap.n_keys, 1);
    assert_int_equal(st.snap.keys[0].device_bytes, 7);
    assert_int_equal(st.snap.running[PROOF_POREP], 1);
    assert_int_equal(st.snap.completed[PROOF_POREP], 1);
    assert_int_equal(st.n_jobs, 1);
    assert_int_equal(st.json[0], '{');
    rpc_status_fini(&st);
    assert_code(rpc_client_metrics(f->c, &text), CUZK_OK);
    assert_non_null(strstr(text, "cuzk_proofs_completed_total 1"));
    mem_free(text);
    assert_code(rpc_client_timeline(f->c, "d", &text), CUZK_OK);
    assert_non_null(strstr(text, "\"spans\""));
    mem_free(text);
    assert_code(rpc_client_cancel(f->c, "h", &live), CUZK_OK);
}

static void test_keys_are_loaded_and_freed(void **state)
{
    fixture *f = *state;
    rpc_key_result r;
    assert_code(rpc_client_preload(f->c, "porep-2k", &r), CUZK_OK);
    assert_false(r.was_loaded);
    assert_int_equal(r.load_ms, 7);
    assert_code(rpc_client_preload(f->c, "porep-2k", &r), CUZK_OK);
    assert_true(r.was_loaded);
    assert_code(rpc_client_evict(f->c, "porep-2k", &r), CUZK_OK);
    assert_true(r.was_loaded);
    assert_int_equal(r.bytes, 1000);
    assert_code(rpc_client_preload(f->c, "porep-3k", &r), CUZK_E_INPUT);
}

/* ---- load and end ---- */

static bool has_40_watches(fixture *f) { return fake_engine_look(f->e).n_watches == 40; }

typedef struct waiter {
    pthread_t thread;
    rpc_client *c;
    cuzk_code code;
    rpc_outcome outcome;
} waiter;

static void *wait_for_h(void *arg)
{
    waiter *w = arg;
    rpc_result a;
    w->code = rpc_client_await(w->c, "h", 0, &a).code;
    w->outcome = a.outcome;
    rpc_result_fini(&a);
    return NULL;
}

static void start_waiters(fixture *f, waiter w[40])
{
    job_request r = request("h", "hang");
    rpc_submitted s;
    assert_code(rpc_client_submit(f->c, &r, &s), CUZK_OK);
    for (int i = 0; i < 40; i++) {
        w[i] = (waiter){.c = f->c};
        assert_int_equal(pthread_create(&w[i].thread, NULL, wait_for_h, &w[i]), 0);
    }
    until(has_40_watches, f);
}

static void test_all_waiters_of_a_job_are_told(void **state)
{
    fixture *f = *state;
    waiter w[40];
    bool live;
    start_waiters(f, w);
    assert_code(rpc_client_cancel(f->c, "h", &live), CUZK_OK);
    for (int i = 0; i < 40; i++) {
        pthread_join(w[i].thread, NULL);
        assert_int_equal(w[i].code, CUZK_OK);
        assert_int_equal(w[i].outcome, RPC_OUTCOME_CANCELLED);
    }
    until(is_quiet, f);
}

static void test_drain_ends_waits_as_unavailable(void **state)
{
    fixture *f = *state;
    waiter w[40];
    bool live;
    start_waiters(f, w);
    rpc_server_set_serving(f->s, false);
    job_request r = request("new", "x");
    rpc_submitted s;
    cuzk_status st = rpc_client_submit(f->c, &r, &s);
    assert_code(st, CUZK_E_IO); /* UNAVAILABLE */
    assert_non_null(strstr(st.msg, "takes no new jobs"));
    rpc_server_drain(f->s, 100);
    for (int i = 0; i < 40; i++) {
        pthread_join(w[i].thread, NULL);
        assert_int_equal(w[i].code, CUZK_E_IO);
    }
    assert_code(engine_cancel(f->e, "h", &live), CUZK_OK);
    until(is_quiet, f);
}

static void test_full_engine_refuses_before_the_body(void **state)
{
    fixture f = {.e = NULL};
    (void)state;
    start(&f, (rpc_server_config){.max_bodies = 2}, &(fake_options){.max_request_bytes = 100000});
    job_request hang = request("h", "hang");
    rpc_submitted s;
    rpc_result a;
    bool live;
    char *big = mem_zalloc(90001, 16);
    memset(big, 'x', 90000);
    job_request r = request("big", big);
    assert_code(rpc_client_prove(f.c, &r, 0, &a), CUZK_OK); /* fits alone */
    rpc_result_fini(&a);
    memcpy(big, "sleep:500", 10);
    r.vanilla_proof.len = 90000;
    memset(big + 10, 'y', 89990);
    snprintf(r.request_id, sizeof r.request_id, "big2");
    assert_code(rpc_client_submit(f.c, &r, &s), CUZK_OK);
    cuzk_status st = rpc_client_submit(f.c, &hang, &s);
    assert_code(st, CUZK_E_BUSY);
    assert_true(s.retry_after_ms == FAKE_RESERVE_RETRY_MS); /* the engine's word, and no other */
    assert_non_null(strstr(st.msg, "retry after 4144 ms"));
    assert_code(rpc_client_await(f.c, "big2", 0, &a), CUZK_OK);
    rpc_result_fini(&a);
    assert_code(rpc_client_submit(f.c, &hang, &s), CUZK_OK);
    assert_code(rpc_client_cancel(f.c, "h", &live), CUZK_OK);
    until(is_quiet, &f);
    mem_free(big);
    fixture *keep = mem_alloc(sizeof f, 16);
    *keep = f;
    void *p = keep;
    assert_int_equal(tear_down(&p), 0);
}

static void test_a_silent_device_is_told_of(void **state)
{
    (void)state;
    for (int silent = 0; silent <= 1; silent++) {
        fixture *f = mem_zalloc(sizeof *f, 16);
        rpc_status st;
        assert_non_null(f);
        start(f, (rpc_server_config){0}, &(fake_options){.device_is_silent = silent});
        assert_code(rpc_client_status(f->c, true, &st), CUZK_OK);
        assert_true(st.snap.devices[0].is_silent == silent);
        assert_true(st.snap.devices[0].is_healthy == !silent);
        assert_non_null(strstr(st.json, silent ? "\"silent\":true" : "\"silent\":false"));
        rpc_status_fini(&st);
        void *p = f;
        assert_int_equal(tear_down(&p), 0);
    }
}

/* Whatever was reserved before the body came: a second try must not be asked for. */
static void test_what_never_fits_is_impossible_by_any_excess(void **state)
{
    static const size_t sizes[] = {100001, 120000, 165000, 166000, 400000};
    fixture f = {.e = NULL};
    (void)state;
    start(&f, (rpc_server_config){.max_bodies = 2}, &(fake_options){.max_request_bytes = 100000});
    char *big = mem_zalloc(400001, 16);
    memset(big, 'x', 400000);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        rpc_submitted s;
        rpc_result a;
        char found[32];
        job_request r = request("big", big);
        r.vanilla_proof.len = sizes[i];
        cuzk_status st = rpc_client_submit(f.c, &r, &s);
        assert_code(st, CUZK_E_IMPOSSIBLE);
        assert_int_equal(s.retry_after_ms, 0);
        snprintf(found, sizeof found, "request of %zu", sizes[i] / 1000);
        assert_non_null(strstr(st.msg, found)); /* all of it, with some bytes of fields more */
        assert_non_null(strstr(st.msg, "at most 100000"));
        st = rpc_client_prove(f.c, &r, 0, &a);
        assert_code(st, CUZK_E_IMPOSSIBLE);
        until(is_quiet, &f);
    }
    mem_free(big);
    fixture *keep = mem_alloc(sizeof f, 16);
    *keep = f;
    void *p = keep;
    assert_int_equal(tear_down(&p), 0);
}

static bool cancel_now(void *ctx)
{
    (void)ctx;
    return true;
}

static void test_client_side(void **state)
{
    fixture *f = *state;
    rpc_client *c;
    char *text;
    assert_code(rpc_client_open(&c, &(rpc_client_config){.address = "nonsense"}), CUZK_E_INPUT);
    assert_code(rpc_client_open(&c, &(rpc_client_config){.address = "unix:///nonexistent/x"}),
                CUZK_OK);
    cuzk_status st = rpc_client_metrics(c, &text);
    assert_code(st, CUZK_E_IO);
    assert_non_null(strstr(st.msg, "daemon at unix:///nonexistent/x"));
    rpc_client_close(c);
    job_request r = request("h", "hang");
    rpc_submitted s;
    rpc_result a;
    bool live;
    assert_code(rpc_client_submit(f->c, &r, &s), CUZK_OK);
    assert_code(
        rpc_client_open(&c, &(rpc_client_config){.address = f->address, .cancelled = cancel_now}),
        CUZK_OK);
    assert_code(rpc_client_await(c, "h", 0, &a), CUZK_E_CANCELLED);
    rpc_client_close(c);
    assert_code(rpc_client_cancel(f->c, "h", &live), CUZK_OK);
    until(is_quiet, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_submit_await_prove_agree),
        WITH_SERVER(test_all_fields_arrive),
        WITH_SERVER(test_ids_are_made_and_kept_apart),
        WITH_SERVER(test_failures_are_told_whole),
        WITH_SERVER(test_refusals_have_their_codes),
        WITH_SERVER(test_unknown_jobs_are_not_found),
        WITH_SERVER(test_await_times_out_and_cancel_ends_it),
        WITH_SERVER(test_passed_deadline_keeps_the_job),
        WITH_SERVER(test_watch_follows_to_the_end),
        WITH_SERVER(test_watch_can_be_left),
        WITH_SERVER(test_lists_and_status),
        cmocka_unit_test(test_a_silent_device_is_told_of),
        WITH_SERVER(test_keys_are_loaded_and_freed),
        WITH_SERVER(test_all_waiters_of_a_job_are_told),
        WITH_SERVER(test_drain_ends_waits_as_unavailable),
        cmocka_unit_test(test_full_engine_refuses_before_the_body),
        cmocka_unit_test(test_what_never_fits_is_impossible_by_any_excess),
        WITH_SERVER(test_client_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
