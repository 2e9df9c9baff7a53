/* The store's calls, one by one, on disk and in memory. */
#include "store_test.h"

typedef struct fixture {
    scratch dir;
    store *s;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    scratch_make(&f->dir);
    assert_ok(store_sqlite_open(&f->s, f->dir.db));
    *state = f;
    return 0;
}

static void reopen(fixture *f)
{
    assert_ok(f->s->ops->close(f->s));
    assert_ok(store_sqlite_open(&f->s, f->dir.db));
}

static int tear_down(void **state)
{
    fixture *f = *state;
    assert_ok(f->s->ops->close(f->s));
    scratch_remove(&f->dir);
    free(f);
    return 0;
}

static void assert_same_view(const job_view *a, const job_view *b)
{
    assert_string_equal(a->job_id, b->job_id);
    assert_string_equal(a->request_id, b->request_id);
    assert_string_equal(a->circuit_id, b->circuit_id);
    assert_string_equal(a->device, b->device);
    assert_string_equal(a->error, b->error);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->priority, b->priority);
    assert_int_equal(a->state, b->state);
    assert_true(a->sector_size == b->sector_size && a->sector_number == b->sector_number &&
                a->miner_id == b->miner_id);
    assert_int_equal(a->n_partitions, b->n_partitions);
    assert_int_equal(a->n_partitions_done, b->n_partitions_done);
    assert_int_equal(a->n_retries, b->n_retries);
    assert_true(a->progress == b->progress);
    assert_true(
        a->created_unix_ms == b->created_unix_ms && a->started_unix_ms == b->started_unix_ms &&
        a->finished_unix_ms == b->finished_unix_ms && a->deadline_unix_ms == b->deadline_unix_ms);
    assert_memory_equal(&a->times, &b->times, sizeof a->times);
    assert_int_equal(a->proof_bytes, b->proof_bytes);
    assert_int_equal(a->error_code, b->error_code);
}

static void test_every_field_survives_moves_and_reopening(void **state)
{
    fixture *f = *state;
    store_job j = submit_new(f->s, 4), got;
    assert_string_equal(j.view.job_id, "req-4");
    assert_int_equal(j.view.state, JOB_QUEUED);
    j.view.priority = JOB_CRITICAL;
    j.view.sector_size = 8u << 20;
    j.view.sector_number = 1ull << 63;
    j.view.miner_id = 77;
    j.view.n_partitions = 126;
    j.view.n_partitions_done = 5;
    j.view.n_retries = 2;
    j.view.progress = 0.3125;
    j.view.started_unix_ms = UINT64_MAX;
    j.view.finished_unix_ms = 3;
    j.view.times = (job_times){1, 2, 3, 4, 5, UINT64_MAX};
    j.view.error_code = CUZK_E_DEVICE;
    memset(j.view.device, 'd', sizeof j.view.device - 1);
    memset(j.view.error, 'e', sizeof j.view.error - 1);
    memset(j.view.circuit_id, 'c', sizeof j.view.circuit_id - 1);
    assert_ok(move_to(f->s, &j, JOB_PROVING));
    for (int round = 0; round < 2; round++) {
        assert_ok(f->s->ops->get(f->s, "req-4", &got));
        assert_same_view(&got.view, &j.view);
        assert_memory_equal(got.digest, j.digest, 32);
        reopen(f);
    }
}

static void test_requests_of_all_sizes_come_back(void **state)
{
    fixture *f = *state;
    static const size_t sizes[] = {0,
                                   1,
                                   1000,
                                   STORE_PART_BYTES - 100,
                                   STORE_PART_BYTES + 1,
                                   STORE_STAGE_BYTES - 4096,
                                   STORE_STAGE_BYTES + 1,
                                   3 * STORE_STAGE_BYTES + 12345};
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
            store_job j = make_job(i);
            bool existing;
            uint8_t *got, *want = make_blob(i, sizes[i]);
            size_t len;
            assert_ok(submit_blob(f->s, &j, i, sizes[i], &existing));
            assert_int_equal(existing, round);
            assert_ok(f->s->ops->get_request(f->s, j.view.job_id, &got, &len));
            assert_int_equal(len, sizes[i]);
            assert_memory_equal(got, want, len);
            mem_free(got);
            free(want);
        }
        reopen(f);
    }
}

static void test_same_request_is_one_job_until_it_fails(void **state)
{
    fixture *f = *state;
    static const struct {
        job_state end;
        bool is_joined;
    } cases[] = {{JOB_QUEUED, true},  {JOB_PROVING, true}, {JOB_VERIFYING, true},
                 {JOB_DONE, true},    {JOB_FAILED, false}, {JOB_CANCELLED, false},
                 {JOB_DECODING, true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        store_job j = submit_new(f->s, i), again = make_job(i);
        bool existing;
        if (cases[i].end == JOB_VERIFYING || cases[i].end == JOB_DONE)
            assert_ok(move_to(f->s, &j, JOB_PROVING));
        if (cases[i].end == JOB_DONE)
            assert_ok(finish_job_of(f->s, &j, i));
        else
            assert_ok(move_to(f->s, &j, cases[i].end));
        again.view.priority = JOB_LOW;
        again.view.created_unix_ms = 5; /* the stored job answers, not the new request */
        assert_ok(submit_blob(f->s, &again, i, 1000, &existing));
        print_message("after %s: %s\n", JOB_STATE_NAMES[cases[i].end], again.view.job_id);
        assert_int_equal(existing, cases[i].is_joined);
        if (existing) {
            assert_string_equal(again.view.job_id, j.view.job_id);
            assert_int_equal(again.view.state, cases[i].end);
            assert_true(again.view.created_unix_ms == j.view.created_unix_ms);
        } else {
            char want[64];
            snprintf(want, sizeof want, "req-%zu~%02x%02x%02x%02x", i, j.digest[0], j.digest[1],
                     j.digest[2], j.digest[3]);
            assert_string_equal(again.view.job_id, want);
            assert_int_equal(again.view.state, JOB_QUEUED);
            store_job third = make_job(i);
            assert_ok(submit_blob(f->s, &third, i, 1000, &existing));
            assert_true(existing);
            assert_string_equal(third.view.job_id, want);
            assert_ok(move_to(f->s, &third, JOB_FAILED));
            third = make_job(i);
            assert_ok(submit_blob(f->s, &third, i, 1000, &existing));
            assert_false(existing);
            strcat(want, "~2");
            assert_string_equal(third.view.job_id, want);
        }
    }
}

static void test_other_digest_is_another_job(void **state)
{
    fixture *f = *state;
    store_job a = submit_new(f->s, 1), b = make_job(1), c = make_job(1), got;
    bool existing;
    memset(b.digest, 0xab, 32);
    assert_ok(submit_blob(f->s, &b, 2, 500, &existing));
    assert_false(existing);
    assert_string_equal(b.view.job_id, "req-1~abababab");
    assert_string_equal(b.view.request_id, "req-1");
    /* the same first four bytes, and an id that a client already uses for itself */
    memset(c.digest, 0xab, 32);
    c.digest[31] = 0;
    assert_ok(submit_blob(f->s, &c, 3, 500, &existing));
    assert_false(existing);
    assert_string_equal(c.view.job_id, "req-1~abababab~2");
    store_job d = make_job(9);
    snprintf(d.view.request_id, sizeof d.view.request_id, "req-1~abababab");
    assert_ok(submit_blob(f->s, &d, 4, 500, &existing));
    assert_false(existing);
    assert_string_not_equal(d.view.job_id, b.view.job_id);
    assert_ok(f->s->ops->get(f->s, b.view.job_id, &got));
    assert_memory_equal(got.digest, b.digest, 32);
    assert_ok(f->s->ops->get(f->s, a.view.job_id, &got));
    assert_memory_equal(got.digest, a.digest, 32);
}

static void test_requests_without_id_never_join(void **state)
{
    fixture *f = *state;
    store_job a = make_job(1), b = make_job(1), c = make_job(1);
    bool existing;
    a.view.request_id[0] = b.view.request_id[0] = c.view.request_id[0] = 0;
    snprintf(c.view.job_id, sizeof c.view.job_id, "chosen");
    assert_ok(submit_blob(f->s, &a, 1, 10, &existing));
    assert_false(existing);
    assert_ok(submit_blob(f->s, &b, 1, 10, &existing));
    assert_false(existing);
    assert_ok(submit_blob(f->s, &c, 1, 10, &existing));
    assert_false(existing);
    assert_string_not_equal(a.view.job_id, b.view.job_id);
    assert_string_equal(c.view.job_id, "chosen");
}

static void test_longest_ids_fit(void **state)
{
    fixture *f = *state;
    store_job a = make_job(1), got;
    memset(a.view.request_id, 'x', JOB_REQUEST_ID_MAX - 1);
    for (int i = 0; i < 4; i++) {
        store_job j = a;
        bool existing;
        memset(j.digest, 0x11, 32);
        j.digest[20] = (uint8_t)i;
        assert_ok(submit_blob(f->s, &j, 1, 10, &existing));
        assert_false(existing);
        assert_ok(f->s->ops->get(f->s, j.view.job_id, &got));
        assert_int_equal(got.digest[20], i);
    }
}

static void test_moves_follow_the_table(void **state)
{
    fixture *f = *state;
    uint64_t i = 0;
    for (int from = 0; from < JOB_N_STATES; from++) {
        for (int to = 0; to < JOB_N_STATES; to++) {
            store_job j = submit_new(f->s, ++i), got;
            if (from >= JOB_VERIFYING && from <= JOB_DONE)
                assert_ok(move_to(f->s, &j, JOB_PROVING));
            if (from == JOB_DONE)
                assert_ok(finish_job_of(f->s, &j, i));
            else if (from != JOB_QUEUED)
                assert_ok(move_to(f->s, &j, (job_state)from));
            bool may = job_state_may_move((job_state)from, (job_state)to);
            cuzk_status st =
                to == JOB_DONE ? finish_job_of(f->s, &j, i) : move_to(f->s, &j, (job_state)to);
            if (st.code != (may ? CUZK_OK : CUZK_E_INTERNAL))
                fail_msg("%s to %s: %s", JOB_STATE_NAMES[from], JOB_STATE_NAMES[to], st.msg);
            assert_ok(f->s->ops->get(f->s, j.view.job_id, &got));
            assert_int_equal(got.view.state, may ? to : from);
        }
    }
    store_job j = submit_new(f->s, 1000);
    assert_ok(move_to(f->s, &j, JOB_PROVING));
    assert_code(move_to(f->s, &j, JOB_DONE), CUZK_E_INTERNAL); /* only finish brings a proof */
    j.view.state = JOB_N_STATES;
    assert_code(f->s->ops->move(f->s, &j.view), CUZK_E_INTERNAL);
    assert_code(f->s->ops->finish(f->s, &j.view, j.digest, 31), CUZK_E_INTERNAL);
    assert_code(f->s->ops->finish(f->s, &j.view, j.digest, 0), CUZK_E_INTERNAL);
}

static void test_unknown_jobs_are_not_found(void **state)
{
    fixture *f = *state;
    store_job j = make_job(1), got;
    uint8_t proof[1][192] = {{0}}, *p;
    bool have[1];
    size_t len;
    char *json;
    snprintf(j.view.job_id, sizeof j.view.job_id, "nobody");
    const store_ops *ops = f->s->ops;
    assert_code(ops->get(f->s, "nobody", &got), CUZK_E_NOT_FOUND);
    assert_code(ops->move(f->s, &j.view), CUZK_E_NOT_FOUND);
    assert_code(ops->finish(f->s, &j.view, proof[0], 192), CUZK_E_NOT_FOUND);
    assert_code(ops->put_partition(f->s, "nobody", 0, proof[0]), CUZK_E_NOT_FOUND);
    assert_code(ops->get_partitions(f->s, "nobody", proof, have, 1), CUZK_E_NOT_FOUND);
    assert_code(ops->get_request(f->s, "nobody", &p, &len), CUZK_E_NOT_FOUND);
    assert_code(ops->get_proof(f->s, "nobody", &p, &len), CUZK_E_NOT_FOUND);
    assert_code(ops->put_timeline(f->s, "nobody", "{}", 3), CUZK_E_NOT_FOUND);
    assert_code(ops->get_timeline(f->s, "nobody", &json), CUZK_E_NOT_FOUND);
    submit_new(f->s, 1);
    assert_code(ops->get_proof(f->s, "req-1", &p, &len), CUZK_E_NOT_FOUND);
    assert_code(ops->get_timeline(f->s, "req-1", &json), CUZK_E_NOT_FOUND);
    /* ids are bytes: no wildcard, no case folding, no quoting */
    assert_code(ops->get(f->s, "REQ-1", &got), CUZK_E_NOT_FOUND);
    assert_code(ops->get(f->s, "%", &got), CUZK_E_NOT_FOUND);
    assert_code(ops->get(f->s, "' OR 1=1 --", &got), CUZK_E_NOT_FOUND);
}

static void test_partitions_stay_until_the_job_ends(void **state)
{
    fixture *f = *state;
    store_job j = submit_new(f->s, 1);
    uint8_t got[10][192], want[192], *proof;
    bool have[10];
    size_t len;
    assert_ok(move_to(f->s, &j, JOB_PROVING));
    for (uint32_t k = 0; k < 10; k += 3) {
        make_proof(want, 50, k); /* replaced below */
        assert_ok(f->s->ops->put_partition(f->s, "req-1", k, want));
        make_proof(want, 1, k);
        assert_ok(f->s->ops->put_partition(f->s, "req-1", k, want));
    }
    assert_code(f->s->ops->put_partition(f->s, "req-1", JOB_PARTITIONS_MAX, want), CUZK_E_INTERNAL);
    reopen(f);
    assert_ok(f->s->ops->get_partitions(f->s, "req-1", got, have, 10));
    for (uint32_t k = 0; k < 10; k++) {
        make_proof(want, 1, k);
        assert_int_equal(have[k], k % 3 == 0);
        if (have[k])
            assert_memory_equal(got[k], want, 192);
    }
    assert_ok(f->s->ops->get_partitions(f->s, "req-1", got, have, 2)); /* others are left out */
    assert_true(have[0] && !have[1]);
    uint8_t whole[10 * 192];
    for (uint32_t k = 0; k < 10; k++)
        make_proof(whole + 192 * k, 1, k);
    j.view.times.total_ms = 1234;
    j.view.finished_unix_ms = 99;
    assert_ok(f->s->ops->finish(f->s, &j.view, whole, sizeof whole));
    reopen(f);
    assert_ok(f->s->ops->get_proof(f->s, "req-1", &proof, &len));
    assert_int_equal(len, sizeof whole);
    assert_memory_equal(proof, whole, len);
    mem_free(proof);
    store_job done;
    assert_ok(f->s->ops->get(f->s, "req-1", &done));
    assert_int_equal(done.view.state, JOB_DONE);
    assert_int_equal(done.view.proof_bytes, sizeof whole);
    assert_true(done.view.times.total_ms == 1234);
    assert_ok(f->s->ops->get_partitions(f->s, "req-1", got, have, 10));
    assert_false(have[0]);
    assert_code(f->s->ops->get_request(f->s, "req-1", &proof, &len), CUZK_E_NOT_FOUND);
    assert_code(f->s->ops->put_partition(f->s, "req-1", 0, want), CUZK_E_INTERNAL);
}

static void test_damaged_blobs_name_the_job_and_never_come_out(void **state)
{
    fixture *f = *state;
    store_job a = submit_new(f->s, 1), b = submit_new(f->s, 2), c = submit_new(f->s, 3);
    uint8_t want[192], got[1][192], *p;
    bool have[1];
    size_t len;
    char *json;
    make_proof(want, 3, 0);
    assert_ok(f->s->ops->put_partition(f->s, "req-3", 0, want));
    assert_ok(move_to(f->s, &b, JOB_PROVING));
    assert_ok(finish_job_of(f->s, &b, 2));
    assert_ok(f->s->ops->put_timeline(f->s, "req-2", "{\"spans\": [1, 2, 3]}", 5));
    static const char *const request_damage[] = {
        "UPDATE request_parts SET data = substr(data, 1, 100) WHERE id >> 16 = 1",
        "DELETE FROM request_parts WHERE id >> 16 = 1",
        "INSERT INTO request_parts VALUES (1 << 16 | 9, x'00')",
        "UPDATE requests SET raw_bytes = raw_bytes + 1 WHERE seq = 1",
        "UPDATE requests SET raw_bytes = -1 WHERE seq = 1",
        "UPDATE requests SET packed_bytes = -1 WHERE seq = 1",
        "UPDATE requests SET packed_bytes = 0 WHERE seq = 1",
        "UPDATE request_parts SET data = CAST(substr(data, 1, 500) || x'5a' || substr(data, 502) "
        "AS BLOB) WHERE id >> 16 = 1",
    };
    store_sqlite *in = store_of(f->s);
    for (size_t i = 0; i < ARRAY_LEN(request_damage); i++) {
        assert_ok(store_exec(in, "SAVEPOINT clean"));
        assert_ok(store_exec(in, request_damage[i]));
        cuzk_status st = f->s->ops->get_request(f->s, "req-1", &p, &len);
        print_message("%s\n", st.msg);
        assert_code(st, CUZK_E_INPUT);
        assert_non_null(strstr(st.msg, "req-1"));
        assert_null(p);
        assert_ok(store_exec(in, "ROLLBACK TO clean; RELEASE clean"));
    }
    assert_ok(f->s->ops->get_request(f->s, "req-1", &p, &len));
    mem_free(p);
    assert_ok(store_exec(in, "UPDATE results SET proof = zeroblob(192)"));
    assert_code(f->s->ops->get_proof(f->s, "req-2", &p, &len), CUZK_E_INPUT);
    assert_ok(store_exec(in, "DELETE FROM results")); /* done without a proof: said, not hidden */
    assert_code(f->s->ops->get_proof(f->s, "req-2", &p, &len), CUZK_E_INPUT);
    assert_ok(store_exec(in, "UPDATE timelines SET data = zeroblob(30)"));
    assert_code(f->s->ops->get_timeline(f->s, "req-2", &json), CUZK_E_INPUT);
    assert_ok(store_exec(in, "UPDATE partitions SET proof = zeroblob(192)"));
    assert_ok(f->s->ops->get_partitions(f->s, "req-3", got, have, 1));
    assert_false(have[0]); /* proven again */
    (void)a;
    (void)c;
}

static void test_list_is_newest_first_and_limited(void **state)
{
    fixture *f = *state;
    store_job *jobs;
    uint32_t n;
    assert_ok(f->s->ops->list(f->s, -1, 10, &jobs, &n));
    assert_int_equal(n, 0);
    assert_null(jobs);
    for (uint64_t i = 0; i < 40; i++) {
        store_job j = submit_new(f->s, i);
        if (i % 4 == 0)
            assert_ok(move_to(f->s, &j, JOB_FAILED));
    }
    static const struct {
        int state;
        uint32_t limit, n, first, step;
    } cases[] = {{-1, 0, 0, 0, 0},
                 {-1, 1, 1, 39, 0},
                 {-1, 7, 7, 39, 1},
                 {-1, UINT32_MAX, 40, 39, 1},
                 {JOB_FAILED, 100, 10, 36, 4},
                 {JOB_FAILED, 3, 3, 36, 4},
                 {JOB_DONE, 100, 0, 0, 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_ok(f->s->ops->list(f->s, cases[i].state, cases[i].limit, &jobs, &n));
        assert_int_equal(n, cases[i].n);
        for (uint32_t k = 0; k < n; k++)
            assert_int_equal(jobs[k].view.sector_number, cases[i].first - k * cases[i].step);
        mem_free(jobs);
    }
}

static void test_recover_requeues_live_jobs_oldest_first(void **state)
{
    fixture *f = *state;
    static const job_state states[] = {JOB_QUEUED, JOB_DECODING, JOB_PROVING,  JOB_VERIFYING,
                                       JOB_DONE,   JOB_FAILED,   JOB_CANCELLED};
    store_job *jobs, got;
    uint32_t n;
    uint8_t proof[192] = {1};
    for (uint64_t i = 0; i < ARRAY_LEN(states); i++) {
        store_job j = submit_new(f->s, i);
        if (states[i] == JOB_VERIFYING || states[i] == JOB_DONE)
            assert_ok(move_to(f->s, &j, JOB_PROVING));
        j.view.started_unix_ms = 5;
        j.view.n_partitions_done = 9;
        if (states[i] == JOB_PROVING)
            assert_ok(f->s->ops->put_partition(f->s, j.view.job_id, 3, proof));
        if (states[i] == JOB_DONE)
            assert_ok(finish_job_of(f->s, &j, i));
        else
            assert_ok(move_to(f->s, &j, states[i]));
    }
    reopen(f);
    assert_ok(f->s->ops->recover(f->s, &jobs, &n));
    assert_int_equal(n, 4);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(jobs[i].view.sector_number, i);
        assert_int_equal(jobs[i].view.state, JOB_QUEUED);
        assert_int_equal(jobs[i].view.started_unix_ms, 0);
        assert_int_equal(jobs[i].view.n_partitions_done, states[i] == JOB_PROVING);
        assert_ok(f->s->ops->get(f->s, jobs[i].view.job_id, &got));
        assert_same_view(&got.view, &jobs[i].view);
    }
    mem_free(jobs);
    assert_ok(f->s->ops->get(f->s, "req-4", &got));
    assert_int_equal(got.view.state, JOB_DONE);
}

static void test_newest_timelines_are_kept(void **state)
{
    fixture *f = *state;
    char json[64], *got;
    for (uint64_t i = 0; i < 8; i++) {
        store_job j = submit_new(f->s, i);
        snprintf(json, sizeof json, "{\"n\":%d}", (int)i);
        assert_ok(f->s->ops->put_timeline(f->s, j.view.job_id, json, 3));
    }
    assert_ok(f->s->ops->put_timeline(f->s, "req-5", "{\"again\":5}", 3)); /* now the newest */
    assert_ok(f->s->ops->put_timeline(f->s, "req-0", "{\"n\":0}", 3));
    reopen(f);
    static const char *const want[8] = {"{\"n\":0}",     NULL, NULL,       NULL, NULL,
                                        "{\"again\":5}", NULL, "{\"n\":7}"};
    for (int i = 0; i < 8; i++) {
        char id[16];
        snprintf(id, sizeof id, "req-%d", i);
        cuzk_status st = f->s->ops->get_timeline(f->s, id, &got);
        assert_code(st, want[i] ? CUZK_OK : CUZK_E_NOT_FOUND);
        if (want[i])
            assert_string_equal(got, want[i]);
        mem_free(got);
    }
    assert_ok(f->s->ops->put_timeline(f->s, "req-1", "{}", 0));
    assert_code(f->s->ops->get_timeline(f->s, "req-1", &got), CUZK_E_NOT_FOUND);
    assert_code(f->s->ops->get_timeline(f->s, "req-7", &got), CUZK_E_NOT_FOUND);
}

static uint32_t n_jobs(store *s)
{
    store_job *jobs;
    uint32_t n;
    assert_ok(s->ops->list(s, -1, UINT32_MAX, &jobs, &n));
    mem_free(jobs);
    return n;
}

static void test_prune_by_age_and_number_spares_live_jobs(void **state)
{
    fixture *f = *state;
    uint32_t n;
    store_job got;
    for (uint64_t i = 0; i < 200; i++) { /* more than one transaction's worth */
        store_job j = submit_new(f->s, i);
        if (i % 10 == 9)
            continue; /* live */
        j.view.finished_unix_ms = 2000000 + i * 1000;
        assert_ok(move_to(f->s, &j, i % 2 ? JOB_FAILED : JOB_CANCELLED));
        assert_ok(f->s->ops->put_timeline(f->s, j.view.job_id, "{}", 1000));
    }
    assert_ok(f->s->ops->prune(f->s, 9000000, 0, 0, &n)); /* no limits */
    assert_int_equal(n, 0);
    assert_ok(f->s->ops->prune(f->s, 1000, 2000, 500, &n)); /* nothing can be that old */
    assert_int_equal(n, 0);
    assert_ok(f->s->ops->prune(f->s, 2200000, 100000, 0, &n)); /* ended before 2,100,000 */
    assert_int_equal(n, 90);
    assert_int_equal(n_jobs(f->s), 110);
    assert_code(f->s->ops->get(f->s, "req-98", &got), CUZK_E_NOT_FOUND);
    assert_ok(f->s->ops->get(f->s, "req-99", &got));
    assert_ok(f->s->ops->get(f->s, "req-100", &got));
    assert_ok(f->s->ops->prune(f->s, 2200000, 0, 4, &n));
    assert_int_equal(n, 86);
    assert_int_equal(n_jobs(f->s), 24);
    assert_ok(f->s->ops->get(f->s, "req-195", &got));
    assert_code(f->s->ops->get(f->s, "req-194", &got), CUZK_E_NOT_FOUND);
    assert_ok(f->s->ops->get(f->s, "req-9", &got));
    /* a removed request may come again */
    bool existing;
    store_job j = make_job(2);
    assert_ok(submit_blob(f->s, &j, 2, 10, &existing));
    assert_false(existing);
    assert_string_equal(j.view.job_id, "req-2");
}

static void test_space_is_given_back_and_the_wal_stays_small(void **state)
{
    fixture *f = *state;
    const size_t len = 6u << 20;
    uint64_t peak_wal = 0, full = 0;
    uint32_t n;
    char wal[340];
    struct stat info;
    snprintf(wal, sizeof wal, "%s-wal", f->dir.db);
    for (uint64_t i = 0; i < 8; i++) {
        store_job j = make_job(i);
        bool existing;
        assert_ok(submit_blob(f->s, &j, i, len, &existing));
        if (stat(wal, &info) == 0 && (uint64_t)info.st_size > peak_wal)
            peak_wal = (uint64_t)info.st_size;
    }
    full = f->s->ops->bytes(f->s);
    for (uint64_t i = 0; i < 8; i++) {
        store_job j = make_job(i);
        snprintf(j.view.job_id, sizeof j.view.job_id, "req-%d", (int)i);
        assert_ok(move_to(f->s, &j, JOB_CANCELLED));
    }
    assert_ok(f->s->ops->prune(f->s, 9000000, 1, 0, &n));
    assert_int_equal(n, 8);
    uint64_t after = f->s->ops->bytes(f->s);
    print_message("WAL at most %llu KiB; %llu KiB full, %llu KiB pruned\n",
                  (unsigned long long)peak_wal >> 10, (unsigned long long)full >> 10,
                  (unsigned long long)after >> 10);
    assert_true(full > 8 * len);
    assert_true(peak_wal < 4u * STORE_WAL_BYTES);
    assert_true(after < STORE_FREE_BYTES + 4u * STORE_WAL_BYTES);
}

static void test_in_memory_behaves_alike(void **state)
{
    (void)state;
    store *s, *other;
    assert_ok(store_sqlite_open(&s, ""));
    assert_ok(store_sqlite_open(&other, "")); /* no lock, nothing shared */
    store_job j = submit_new(s, 1), got;
    assert_code(other->ops->get(other, "req-1", &got), CUZK_E_NOT_FOUND);
    assert_ok(move_to(s, &j, JOB_PROVING));
    assert_code(move_to(s, &j, JOB_DONE), CUZK_E_INTERNAL);
    assert_ok(finish_job_of(s, &j, 1));
    assert_ok(s->ops->get(s, "req-1", &got));
    assert_int_equal(got.view.state, JOB_DONE);
    uint32_t n;
    assert_ok(s->ops->prune(s, 9000000, 1, 0, &n));
    assert_int_equal(n, 1);
    assert_int_equal(s->ops->bytes(s), 0);
    assert_ok(other->ops->close(other));
    assert_ok(s->ops->close(s));
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(test_every_field_survives_moves_and_reopening),
        WITH_STORE(test_requests_of_all_sizes_come_back),
        WITH_STORE(test_same_request_is_one_job_until_it_fails),
        WITH_STORE(test_other_digest_is_another_job),
        WITH_STORE(test_requests_without_id_never_join),
        WITH_STORE(test_longest_ids_fit),
        WITH_STORE(test_moves_follow_the_table),
        WITH_STORE(test_unknown_jobs_are_not_found),
        WITH_STORE(test_partitions_stay_until_the_job_ends),
        WITH_STORE(test_damaged_blobs_name_the_job_and_never_come_out),
        WITH_STORE(test_list_is_newest_first_and_limited),
        WITH_STORE(test_recover_requeues_live_jobs_oldest_first),
        WITH_STORE(test_newest_timelines_are_kept),
        WITH_STORE(test_prune_by_age_and_number_spares_live_jobs),
        WITH_STORE(test_space_is_given_back_and_the_wal_stays_small),
        cmocka_unit_test(test_in_memory_behaves_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
