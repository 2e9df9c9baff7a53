/* The n-th allocation fails, SQLite's and the store's own, for all n: each call reports it and leaves
 * the store as it was. */
#include "store_script.h"

static sqlite3_mem_methods real_methods;
static int64_t n_until_failure; /* 0: off */

static bool should_fail(void) { return n_until_failure > 0 && --n_until_failure == 0; }

static void *failing_malloc(int n) { return should_fail() ? NULL : real_methods.xMalloc(n); }

static void *failing_realloc(void *p, int n)
{
    return should_fail() ? NULL : real_methods.xRealloc(p, n);
}

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_methods), SQLITE_OK);
    sqlite3_mem_methods failing = real_methods;
    failing.xMalloc = failing_malloc;
    failing.xRealloc = failing_realloc;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &failing), SQLITE_OK);
    /* Small allocations too must come from there. */
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK);
    return 0;
}

typedef enum source { SQLITES, OWN, N_SOURCES } source;

static void arm(source from, uint64_t n)
{
    n_until_failure = from == SQLITES ? (int64_t)n : 0;
    mem_fail_nth(from == OWN ? n : 0);
}

static void disarm(void)
{
    n_until_failure = 0;
    mem_fail_nth(0);
}

static void test_steps_report_it_and_change_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"SQLite", "the store"};
    for (int from = 0; from < N_SOURCES; from++) {
        store *s;
        unsigned n_refused = 0;
        assert_ok(store_sqlite_open(&s, ""));
        for (size_t i = 0; i < SCRIPT_STEPS; i++) {
            bool done = false;
            for (uint64_t n = 1; !done; n++) {
                uint64_t live = mem_get_stats().live_bytes;
                arm((source)from, n);
                cuzk_status st = script_run_step(s, i);
                disarm();
                done = st.code == CUZK_OK; /* also when SQLite could do without that block */
                if (!done) {
                    assert_code(st, CUZK_E_NOMEM);
                    n_refused++;
                    assert_true(script_matches(s, i));
                }
                assert_true(mem_get_stats().live_bytes == live);
                assert_true(n < 1000);
            }
            assert_true(script_matches(s, i + 1));
        }
        print_message("%s: %u steps refused\n", names[from], n_refused);
        assert_true(n_refused > 5);
        assert_ok(s->ops->close(s));
    }
}

static void test_reads_report_it(void **state)
{
    (void)state;
    store *s;
    assert_ok(store_sqlite_open(&s, ""));
    for (size_t i = 0; i < 15; i++) /* job 0 and 1 done, 3 live */
        assert_ok(script_run_step(s, i));
    for (int from = 0; from < N_SOURCES; from++) {
        for (int call = 0; call < 7; call++) {
            cuzk_status st = cuzk_fail(CUZK_E_NOMEM, "start");
            for (uint64_t n = 1; st.code != CUZK_OK; n++) {
                uint64_t live = mem_get_stats().live_bytes;
                store_job got, *jobs = NULL;
                uint8_t *p = NULL, parts[4][192];
                bool have[4];
                char *json = NULL;
                uint32_t n_jobs;
                size_t len;
                arm((source)from, n);
                st = call == 0   ? s->ops->get(s, "req-1", &got)
                     : call == 1 ? s->ops->get_request(s, "req-3", &p, &len)
                     : call == 2 ? s->ops->get_proof(s, "req-0", &p, &len)
                     : call == 3 ? s->ops->get_partitions(s, "req-3", parts, have, 4)
                     : call == 4 ? s->ops->get_timeline(s, "req-0", &json)
                     : call == 5 ? s->ops->list(s, -1, 100, &jobs, &n_jobs)
                                 : s->ops->recover(s, &jobs, &n_jobs);
                disarm();
                assert_true(st.code == CUZK_OK || st.code == CUZK_E_NOMEM);
                if (st.code != CUZK_OK)
                    assert_true(!p && !json && !jobs);
                mem_free(p);
                mem_free(json);
                mem_free(jobs);
                assert_true(mem_get_stats().live_bytes == live);
                assert_true(n < 1000);
            }
        }
    }
    assert_ok(s->ops->close(s));
}

static void test_open_reports_it(void **state)
{
    (void)state;
    scratch t;
    store *s;
    scratch_make(&t);
    assert_ok(store_sqlite_open(&s, t.db));
    assert_ok(script_run_step(s, 0));
    assert_ok(s->ops->close(s));
    for (int from = 0; from < N_SOURCES; from++) {
        cuzk_status st = cuzk_fail(CUZK_E_NOMEM, "start");
        /* SQLite makes thousands of allocations here: all of the first, then every third or so. */
        for (uint64_t n = 1; st.code != CUZK_OK; n += n < 100 ? 1 : 1 + n / 40) {
            uint64_t live = mem_get_stats().live_bytes;
            arm((source)from, n);
            st = store_sqlite_open(&s, t.db);
            disarm();
            if (st.code != CUZK_OK) {
                assert_code(st, CUZK_E_NOMEM);
                assert_null(s);
                assert_true(mem_get_stats().live_bytes == live);
            }
            assert_true(n < 1000000);
        }
        assert_true(script_matches(s, 1));
        assert_ok(s->ops->close(s));
    }
    scratch_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_report_it_and_change_nothing),
        cmocka_unit_test(test_reads_report_it),
        cmocka_unit_test(test_open_reports_it),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
