/* The store when the disk fills up, the process dies or the power goes at any write, and on files that
 * were cut or changed. */
#include "fault_vfs.h"
#include "store_script.h"

static void remove_files(const scratch *t)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    char name[340];
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        snprintf(name, sizeof name, "%s%s", t->db, suffixes[i]);
        unlink(name);
    }
}

/* Run the script with a process that is gone after n_writes. Returns the acknowledged steps. */
static size_t run_until_crash(const char *db, int64_t n_writes, bool power_cut)
{
    store *s;
    size_t n = 0;
    fault_forget();
    fault.writes_left = n_writes;
    fault.is_crash = true;
    fault.follows_syncs = power_cut;
    if (store_sqlite_open(&s, db).code != CUZK_OK)
        return 0;
    while (n < SCRIPT_STEPS && script_run_step(s, n).code == CUZK_OK)
        n++;
    if (n == SCRIPT_STEPS && !fault.crashed)
        fault_stop(); /* it never closes */
    cuzk_status ignored = s->ops->close(s);
    (void)ignored;
    return n;
}

static void crash_everywhere(const char *what, unsigned survive, bool power_cut)
{
    uint64_t seed = test_seed();
    scratch t;
    scratch_make(&t);
    size_t acked = 0;
    int64_t w = 0, n_points = 0;
    /* About every third write at random; CUZK_FAULT_STRIDE=1 takes them all. */
    const char *given = getenv("CUZK_FAULT_STRIDE");
    uint64_t stride = given ? strtoull(given, NULL, 0) : 3;
    for (; acked < SCRIPT_STEPS; w += 1 + (int64_t)(next_random(&seed) % (2 * stride - 1))) {
        n_points++;
        acked = run_until_crash(t.db, w, power_cut);
        if (power_cut)
            fault_power_cut(&seed, survive);
        fault_forget();
        store *s;
        assert_ok(store_sqlite_open(&s, t.db));
        /* The step under way was done or was not; nothing in between, nothing earlier lost. */
        if (!script_matches(s, acked) && !(acked < SCRIPT_STEPS && script_matches(s, acked + 1)))
            fail_msg("%s after %lld writes, %zu steps acknowledged", what, (long long)w, acked);
        /* and it goes on from there */
        size_t at = script_matches(s, acked) ? acked : acked + 1;
        for (; at < SCRIPT_STEPS; at++)
            assert_ok(script_run_step(s, at));
        assert_true(script_matches(s, SCRIPT_STEPS));
        assert_ok(s->ops->close(s));
        remove_files(&t);
    }
    print_message("%s: %lld points\n", what, (long long)n_points);
    assert_true(n_points > 20);
    scratch_remove(&t);
}

static void test_kill_at_every_write_keeps_what_was_acknowledged(void **state)
{
    (void)state;
    crash_everywhere("kill", 256, false);
}

static void test_power_cut_at_every_write_keeps_what_was_acknowledged(void **state)
{
    (void)state;
    crash_everywhere("power cut, nothing unsynced survives", 0, true);
    crash_everywhere("power cut, some of it survives", 128, true);
    crash_everywhere("power cut, most of it survives", 240, true);
}

static void test_full_disk_is_reported_and_survived(void **state)
{
    (void)state;
    scratch t;
    scratch_make(&t);
    unsigned n_refused = 0;
    bool hit = true;
    for (int64_t w = 0; hit; w += 3) {
        store *s;
        hit = false;
        fault_forget();
        fault.writes_left = w;
        cuzk_status st = store_sqlite_open(&s, t.db);
        if (st.code != CUZK_OK) {
            assert_code(st, CUZK_E_IO);
            assert_non_null(strstr(st.msg, "full"));
            hit = true;
            fault.writes_left = -1; /* room again */
            assert_ok(store_sqlite_open(&s, t.db));
        }
        for (size_t i = 0; i < SCRIPT_STEPS; i++) {
            st = script_run_step(s, i);
            if (st.code == CUZK_OK)
                continue;
            assert_code(st, CUZK_E_IO);
            assert_non_null(strstr(st.msg, "the disk is full"));
            assert_non_null(strstr(st.msg, t.db));
            hit = true;
            n_refused++;
            assert_true(script_matches(s, i)); /* nothing half done */
            assert_code(script_run_step(s, i), CUZK_E_IO);
            fault.writes_left = -1;
            assert_ok(script_run_step(s, i));
        }
        fault.writes_left = -1;
        assert_true(script_matches(s, SCRIPT_STEPS));
        assert_ok(s->ops->close(s));
        assert_ok(store_sqlite_open(&s, t.db));
        assert_true(script_matches(s, SCRIPT_STEPS));
        assert_ok(s->ops->close(s));
        remove_files(&t);
    }
    print_message("%u steps refused\n", n_refused);
    assert_true(n_refused > 20);
    scratch_remove(&t);
}

/* A request that is written ahead in parts: whatever happens, no part stays without a job. */
static void test_parts_of_a_failed_upload_are_removed(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    scratch t;
    scratch_make(&t);
    const size_t len = 2 * STORE_STAGE_BYTES + 1000;
    int64_t n_all = 0;
    for (int round = 0; round < 12; round++) {
        bool is_crash = round % 2, existing;
        store *s;
        store_job j = make_job(1), *jobs;
        uint32_t n;
        fault_forget();
        fault.follows_syncs = is_crash;
        assert_ok(store_sqlite_open(&s, t.db));
        uint64_t before = fault.n_writes;
        fault.is_crash = is_crash;
        fault.writes_left = round ? (int64_t)(next_random(&seed) % (uint64_t)n_all) : -1;
        cuzk_status st = submit_blob(s, &j, 1, len, &existing);
        if (round == 0)
            n_all = (int64_t)(fault.n_writes - before);
        bool refused = st.code != CUZK_OK;
        if (is_crash) {
            if (round % 4 == 1)
                fault_power_cut(&seed, 128); /* before the close: it must not tidy up */
            fault_stop();
            cuzk_status ignored = s->ops->close(s);
            (void)ignored;
            fault_forget();
            assert_ok(store_sqlite_open(&s, t.db));
        }
        fault.writes_left = -1;
        assert_ok(s->ops->list(s, -1, 10, &jobs, &n));
        assert_true(n == !refused || (n == 1 && is_crash));
        mem_free(jobs);
        if (n == 1) {
            uint8_t *got, *want = make_blob(1, len);
            size_t got_len;
            assert_ok(s->ops->get_request(s, "req-1", &got, &got_len));
            assert_int_equal(got_len, len);
            assert_memory_equal(got, want, len);
            mem_free(got);
            free(want);
            snprintf(j.view.job_id, sizeof j.view.job_id, "req-1");
            assert_ok(move_to(s, &j, JOB_CANCELLED));
        }
        assert_ok(s->ops->prune(s, 1u << 30, 1, 0, &n));
        sqlite3_stmt *q;
        assert_int_equal(
            sqlite3_prepare_v2(store_of(s)->db, "SELECT count(*) FROM request_parts", -1, &q, NULL),
            SQLITE_OK);
        assert_int_equal(sqlite3_step(q), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(q, 0), 0);
        sqlite3_finalize(q);
        assert_ok(s->ops->close(s));
        remove_files(&t);
    }
    scratch_remove(&t);
}

/* The files of a journal that was not closed. */
typedef struct files {
    uint8_t *db, *wal;
    size_t db_len, wal_len;
} files;

static files take_files(const scratch *t, bool closed)
{
    store *s;
    char wal[340];
    files f;
    fault_forget();
    assert_ok(store_sqlite_open(&s, t->db));
    for (size_t i = 0; i < SCRIPT_STEPS; i++)
        assert_ok(script_run_step(s, i));
    if (closed)
        assert_ok(s->ops->close(s));
    snprintf(wal, sizeof wal, "%s-wal", t->db);
    f.db = slurp(t->db, &f.db_len);
    f.wal = slurp(wal, &f.wal_len);
    if (!closed)
        assert_ok(s->ops->close(s));
    remove_files(t);
    return f;
}

static void put_files(const scratch *t, const files *f)
{
    char wal[340];
    snprintf(wal, sizeof wal, "%s-wal", t->db);
    remove_files(t);
    spill(t->db, f->db, f->db_len);
    if (f->wal_len)
        spill(wal, f->wal, f->wal_len);
}

/* The most steps that the store's content is the result of; -1: it is a mixture. */
static int steps_in(store *s)
{
    for (int n = (int)SCRIPT_STEPS; n >= 0; n--)
        if (script_matches(s, (size_t)n))
            return n;
    return -1;
}

static void test_cut_wal_gives_an_earlier_state(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    scratch t;
    scratch_make(&t);
    files f = take_files(&t, false);
    assert_true(f.wal_len > 100000);
    int best = 0;
    for (size_t len = 0; len <= f.wal_len;) {
        files cut = f;
        store *s;
        cut.wal_len = len;
        put_files(&t, &cut);
        assert_ok(store_sqlite_open(&s, t.db));
        int n = steps_in(s);
        if (n < best)
            fail_msg("cut to %zu bytes: %d steps, fewer bytes had %d", len, n, best);
        best = n;
        assert_ok(s->ops->close(s));
        size_t step = 1 + next_random(&seed) % 4000;
        len = len < f.wal_len && len + step > f.wal_len ? f.wal_len : len + step;
    }
    assert_int_equal(best, SCRIPT_STEPS);
    free(f.db);
    free(f.wal);
    scratch_remove(&t);
}

static void test_changed_wal_gives_an_earlier_state(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    scratch t;
    scratch_make(&t);
    files f = take_files(&t, false);
    for (int round = 0; round < 60; round++) {
        store *s;
        size_t at = next_random(&seed) % f.wal_len;
        uint8_t old = f.wal[at];
        f.wal[at] ^= (uint8_t)(1u << next_random(&seed) % 8);
        put_files(&t, &f);
        assert_ok(store_sqlite_open(&s, t.db));
        int n = steps_in(s);
        if (n < 0)
            fail_msg("byte %zu of the WAL changed", at);
        assert_ok(s->ops->close(s));
        f.wal[at] = old;
    }
    free(f.db);
    free(f.wal);
    scratch_remove(&t);
}

static void test_cut_database_is_refused(void **state)
{
    (void)state;
    scratch t;
    scratch_make(&t);
    files f = take_files(&t, true);
    for (size_t len = 1; len < f.db_len; len += len < 200 ? 1 : 3000) {
        files cut = f;
        store *s;
        cut.db_len = len;
        put_files(&t, &cut);
        cuzk_status st = store_sqlite_open(&s, t.db);
        if (st.code != CUZK_E_INPUT)
            fail_msg("cut to %zu of %zu: %s %s", len, f.db_len, cuzk_code_name(st.code), st.msg);
        assert_non_null(strstr(st.msg, t.db));
    }
    free(f.db);
    free(f.wal);
    remove_files(&t);
    scratch_remove(&t);
}

/* Pages without a checksum can hide a changed bit, but never crash the reader, and no wrong proof or
 * request comes out. */
static void test_changed_database_never_gives_wrong_bytes(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    scratch t;
    scratch_make(&t);
    files f = take_files(&t, true);
    unsigned n_refused = 0, n_rounds = 150;
    uint8_t *good = malloc(f.db_len), want[192];
    memcpy(good, f.db, f.db_len);
    for (unsigned round = 0; round < n_rounds; round++) {
        store *s;
        size_t at = next_random(&seed) % f.db_len,
               n = 1 + next_random(&seed) % (round % 2 ? 64 : 8192);
        for (size_t k = at; k < at + n && k < f.db_len; k++)
            f.db[k] = round % 3 ? (uint8_t)next_random(&seed) : 0;
        put_files(&t, &f);
        cuzk_status st = store_sqlite_open(&s, t.db);
        n_refused += st.code != CUZK_OK;
        if (st.code == CUZK_OK) {
            store_job *jobs;
            uint32_t n_jobs = 0;
            st = s->ops->recover(s, &jobs, &n_jobs);
            mem_free(jobs);
            for (uint32_t j = 0; j < SCRIPT_JOBS; j++) {
                char id[32];
                uint8_t *p, *blob = make_blob(j, 3000);
                size_t len;
                snprintf(id, sizeof id, "req-%u", j);
                make_proof(want, j, 99);
                if (s->ops->get_proof(s, id, &p, &len).code == CUZK_OK)
                    assert_memory_equal(p, want, 192);
                mem_free(p);
                if (s->ops->get_request(s, id, &p, &len).code == CUZK_OK)
                    assert_memory_equal(p, blob, len);
                mem_free(p);
                free(blob);
            }
            st = s->ops->close(s);
        } else {
            assert_true(st.code == CUZK_E_INPUT || st.code == CUZK_E_IO);
        }
        memcpy(f.db, good, f.db_len);
    }
    print_message("%u of %u damaged files refused when opened\n", n_refused, n_rounds);
    assert_true(n_refused > 0);
    free(good);
    free(f.db);
    free(f.wal);
    remove_files(&t);
    scratch_remove(&t);
}

static int set_up(void **state)
{
    (void)state;
    fault_install();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kill_at_every_write_keeps_what_was_acknowledged),
        cmocka_unit_test(test_power_cut_at_every_write_keeps_what_was_acknowledged),
        cmocka_unit_test(test_full_disk_is_reported_and_survived),
        cmocka_unit_test(test_parts_of_a_failed_upload_are_removed),
        cmocka_unit_test(test_cut_wal_gives_an_earlier_state),
        cmocka_unit_test(test_changed_wal_gives_an_earlier_state),
        cmocka_unit_test(test_cut_database_is_refused),
        cmocka_unit_test(test_changed_database_never_gives_wrong_bytes),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
