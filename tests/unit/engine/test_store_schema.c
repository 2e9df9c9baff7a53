/* What kind of file the store opens, and how an older one is brought up to date. */
#include "store_test.h"
#include "base/utf8.h"
#include <fcntl.h>

static void run_sql(const char *db, const char *sql)
{
    sqlite3 *raw;
    char *why = NULL;
    assert_int_equal(sqlite3_open(db, &raw), SQLITE_OK);
    if (sqlite3_exec(raw, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
    assert_int_equal(sqlite3_close(raw), SQLITE_OK);
}

static void assert_refused(const scratch *t, cuzk_code code, const char *why)
{
    store *s;
    size_t before_len, after_len;
    uint8_t *before = slurp(t->db, &before_len);
    cuzk_status st = store_sqlite_open(&s, t->db);
    print_message("%s\n", st.msg);
    assert_code(st, code);
    assert_null(s);
    assert_non_null(strstr(st.msg, why));
    assert_non_null(strstr(st.msg, t->dir));
    uint8_t *after = slurp(t->db, &after_len);
    assert_int_equal(after_len, before_len);
    assert_memory_equal(after, before, before_len); /* a file that is not ours is left alone */
    free(before);
    free(after);
}

static void test_other_files_are_refused_untouched(void **state)
{
    (void)state;
    scratch t;
    scratch_make(&t);
    uint8_t junk[20000];
    memset(junk, 'j', sizeof junk);
    spill(t.db, junk, sizeof junk);
    assert_refused(&t, CUZK_E_INPUT, "not a journal");
    spill(t.db, junk, 100);
    assert_refused(&t, CUZK_E_INPUT, "not a journal");
    spill(t.db, (const uint8_t *)"", 0);
    run_sql(t.db, "CREATE TABLE notes (text)");
    assert_refused(&t, CUZK_E_INPUT, "another program");
    run_sql(t.db, "DROP TABLE notes; PRAGMA application_id = 1");
    assert_refused(&t, CUZK_E_INPUT, "another program");
    run_sql(t.db, "PRAGMA application_id = 0; PRAGMA user_version = 3");
    assert_refused(&t, CUZK_E_INPUT, "another program");
    unlink(t.db);
    scratch_remove(&t);
}

static void test_empty_file_becomes_a_journal(void **state)
{
    (void)state;
    scratch t;
    store *s;
    scratch_make(&t);
    spill(t.db, (const uint8_t *)"", 0);
    assert_ok(store_sqlite_open(&s, t.db));
    submit_new(s, 1);
    assert_ok(s->ops->close(s));
    char name[340];
    struct stat info;
    snprintf(name, sizeof name, "%s-wal", t.db);
    assert_int_not_equal(stat(name, &info), 0); /* a closed journal is one file */
    snprintf(name, sizeof name, "%s-shm", t.db);
    assert_int_not_equal(stat(name, &info), 0);
    assert_ok(store_sqlite_open(&s, t.db));
    store_job got;
    assert_ok(s->ops->get(s, "req-1", &got));
    assert_int_not_equal(stat(name, &info), 0);
    assert_ok(s->ops->close(s));
    scratch_remove(&t);
}

static void test_newer_schema_is_refused(void **state)
{
    (void)state;
    scratch t;
    store *s;
    scratch_make(&t);
    assert_ok(store_sqlite_open(&s, t.db));
    assert_ok(store_exec(store_of(s), "PRAGMA user_version = 99"));
    assert_ok(s->ops->close(s));
    assert_refused(&t, CUZK_E_INPUT, "schema 99");
    scratch_remove(&t);
}

static int version_of(store_sqlite *s)
{
    sqlite3_stmt *q;
    assert_int_equal(sqlite3_prepare_v2(s->db, "PRAGMA user_version", -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    int v = sqlite3_column_int(q, 0);
    sqlite3_finalize(q);
    return v;
}

/* Later steps are applied once, in order; one that fails leaves the file at the step before. */
static void test_older_schema_is_brought_up_to_date(void **state)
{
    (void)state;
    scratch t;
    store *s;
    scratch_make(&t);
    assert_ok(store_sqlite_open(&s, t.db));
    submit_new(s, 1);
    int now = version_of(store_of(s));
    const char *steps[16] = {0};
    assert_true(now > 0 && now < 8);
    for (int i = 0; i < now; i++)
        steps[i] = "SELECT * FROM must_not_run_again";
    steps[now] = "ALTER TABLE jobs ADD COLUMN note TEXT NOT NULL DEFAULT 'old'";
    steps[now + 1] = "UPDATE jobs SET note = 'new'; CREATE TABLE jobs (x)"; /* exists: fails */
    cuzk_status st = store_migrate(store_of(s), steps, now + 2);
    assert_true(st.code != CUZK_OK);
    print_message("%s\n", st.msg);
    assert_int_equal(version_of(store_of(s)), now + 1);
    assert_ok(store_exec(store_of(s), "CREATE TEMP TABLE found AS SELECT 1 FROM jobs WHERE note = "
                                      "'old'; INSERT INTO found SELECT 1 / count(*) FROM found"));
    steps[now + 1] = "UPDATE jobs SET note = 'new'";
    assert_ok(store_migrate(store_of(s), steps, now + 2));
    assert_ok(store_migrate(store_of(s), steps, now + 2)); /* nothing left to do */
    assert_int_equal(version_of(store_of(s)), now + 2);
    store_job got;
    assert_ok(s->ops->get(s, "req-1", &got));
    assert_ok(s->ops->close(s));
    scratch_remove(&t);
}

static void test_unusable_paths_say_why(void **state)
{
    (void)state;
    scratch t;
    store *s;
    char path[5000];
    scratch_make(&t);
    snprintf(path, sizeof path, "%s/none/jobs.db", t.dir);
    cuzk_status st = store_sqlite_open(&s, path);
    assert_code(st, CUZK_E_IO);
    assert_non_null(strstr(st.msg, "No such file"));
    assert_int_equal(mkdir(t.db, 0700), 0);
    st = store_sqlite_open(&s, t.db);
    print_message("%s\n", st.msg);
    assert_true(st.code == CUZK_E_IO || st.code == CUZK_E_INPUT);
    assert_int_equal(rmdir(t.db), 0);
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = 0;
    assert_code(store_sqlite_open(&s, path), CUZK_E_USAGE);
    scratch_remove(&t);
}

/* SQLite quotes the name of a table that it cannot read; logs and terminals want text. */
static void test_errors_of_damaged_files_are_text(void **state)
{
    (void)state;
    scratch t;
    store *s = NULL;
    scratch_make(&t);
    assert_ok(store_sqlite_open(&s, t.db));
    assert_ok(store_exec(store_of(s), "PRAGMA writable_schema = ON"));
    assert_ok(store_exec(store_of(s), "UPDATE sqlite_master SET sql = 'CREATE TABLE ' || "
                                      "CAST(x'ff1b80' AS TEXT) || ' nonsense', "
                                      "name = CAST(x'ff80' AS TEXT) WHERE name = 'results'"));
    assert_ok(s->ops->close(s));
    cuzk_status st = store_sqlite_open(&s, t.db);
    print_message("%s\n", st.msg);
    assert_code(st, CUZK_E_INPUT);
    assert_non_null(strstr(st.msg, "damaged"));
    assert_non_null(strstr(st.msg, "??"));
    assert_true(utf8_is_valid(st.msg, strlen(st.msg)));
    scratch_remove(&t);
}

/* A state that the schema does not know cannot get in, and is found when it is there. */
static void test_rows_out_of_range_are_found_when_opened(void **state)
{
    (void)state;
    static const char *const damage[] = {
        "UPDATE jobs SET state = 9",
        "UPDATE jobs SET kind = -1",
        "UPDATE jobs SET priority = 4",
        "UPDATE jobs SET digest = x'00'",
        "UPDATE jobs SET n_partitions = 100000",
    };
    for (size_t i = 0; i < ARRAY_LEN(damage); i++) {
        scratch t;
        store *s;
        scratch_make(&t);
        assert_ok(store_sqlite_open(&s, t.db));
        submit_new(s, 1);
        assert_code(store_exec(store_of(s), damage[i]), CUZK_E_INTERNAL);
        assert_ok(store_exec(store_of(s), "PRAGMA ignore_check_constraints = ON"));
        assert_ok(store_exec(store_of(s), damage[i]));
        store_job *jobs; /* read in range, whatever is there */
        uint32_t n;
        assert_ok(s->ops->list(s, -1, 10, &jobs, &n));
        assert_int_equal(n, 1);
        assert_true(jobs[0].view.state < JOB_N_STATES && jobs[0].view.kind < PROOF_N_KINDS &&
                    jobs[0].view.priority < JOB_N_PRIORITIES);
        mem_free(jobs);
        assert_ok(s->ops->close(s));
        assert_refused(&t, CUZK_E_INPUT, "damaged");
        scratch_remove(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_files_are_refused_untouched),
        cmocka_unit_test(test_empty_file_becomes_a_journal),
        cmocka_unit_test(test_newer_schema_is_refused),
        cmocka_unit_test(test_older_schema_is_brought_up_to_date),
        cmocka_unit_test(test_unusable_paths_say_why),
        cmocka_unit_test(test_errors_of_damaged_files_are_text),
        cmocka_unit_test(test_rows_out_of_range_are_found_when_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
