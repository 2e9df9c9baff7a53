/* The configuration: every key, unknown ones, wrong types, environment, printing, reloading. */
#include "daemon/config_int.h"
#include "base/mem.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka needs the headers above first */
#include <cmocka.h>

static daemon_config c;
static config_warnings w;

static const char *write_file(const char *text, size_t len)
{
    static char path[64];
    strcpy(path, "/tmp/cuzk-config-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), len);
    close(fd);
    return path;
}

static cuzk_status load(const char *text)
{
    const char *path = write_file(text, strlen(text));
    cuzk_status st = config_load(&c, &w, path, NULL);
    unlink(path);
    return st;
}

static void assert_loads(const char *text)
{
    cuzk_status st = load(text);
    if (st.code != CUZK_OK)
        fail_msg("%s: %s", text, st.msg);
}

static bool is_told(const char *want)
{
    for (uint32_t i = 0; i < w.n; i++)
        if (strstr(w.text[i], want))
            return true;
    return false;
}

static void test_existing_file_is_accepted(void **state)
{
    (void)state;
    assert_loads("[daemon]\nlisten = \"0.0.0.0:9820\"\nstatus_listen = \"127.0.0.1:9821\"\n"
                 "[memory]\ntotal_budget = \"auto\"\nsafety_margin = \"5GiB\"\n"
                 "eviction_min_idle = \"5m\"\npinned_budget = \"50GiB\"\n"
                 "[gpus]\ndevices = [0, 1]\ngpu_threads = 32\ngpu_workers_per_device = 2\n"
                 "[scheduler]\nmax_batch_size = 2\nmax_batch_wait_ms = 500\nsort_by_type = true\n"
                 "[synthesis]\nthreads = 8\npartition_workers = 12\n"
                 "[pipeline]\nenabled = true\nsynthesis_lookahead = 1\nslot_size = 0\n"
                 "[srs]\nparam_cache = \"/data/zk/params\"\npreload = [\"porep-32g\"]\n"
                 "[logging]\nlevel = \"debug\"\nformat = \"json\"\n");
    assert_string_equal(c.listen, "0.0.0.0:9820");
    assert_int_equal(c.total_budget_bytes, 0);
    assert_int_equal(c.safety_margin_bytes, 5ull << 30);
    assert_int_equal(c.eviction_min_idle_ms, 300000);
    assert_int_equal(c.devices.n, 2);
    assert_string_equal(c.devices.items[1], "1");
    assert_int_equal(c.max_batch_size, 2);
    assert_int_equal(c.max_batch_wait_ms, 500);
    assert_int_equal(c.preload.n, 1);
    assert_int_equal(config_log_level(&c), LOG_DEBUG);
    /* pinned_budget, gpu_threads, gpu_workers, sort_by_type, partition_workers, three of pipeline */
    assert_int_equal(w.n, 8);
    assert_true(is_told("memory.pinned_budget: deprecated"));
    assert_true(is_told("pipeline.enabled: has no effect"));
}

/* What the existing daemon takes, and this one takes otherwise: it starts, and says so. */
static void test_existing_values_are_brought_near(void **state)
{
    static const struct {
        const char *text, *want;
        log_level level;
    } cases[] = {
        {"level = \"trace\"", "logging.level: expected error|warn|info|debug, found \"trace\"",
         LOG_DEBUG},
        {"level = \"info,cuzk_core=debug\"", "taken as info", LOG_INFO},
        {"level = \"cuzk_core=debug,h2=warn\"", "taken as debug", LOG_DEBUG},
        {"level = \"cuzk_core=trace,WARN\"", "taken as warn", LOG_WARN},
        {"level = \"OFF\"", "taken as error", LOG_ERROR},
        {"format = \"pretty\"", "logging.format: expected text|json, found \"pretty\"", LOG_INFO},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[128];
        snprintf(text, sizeof text, "[logging]\n%s\n", cases[i].text);
        assert_loads(text);
        if (w.n != 1 || !is_told(cases[i].want) || config_log_level(&c) != cases[i].level)
            fail_msg("%s: %s, level %d", cases[i].text, w.text[0], (int)config_log_level(&c));
        assert_string_equal(c.log_format, "text");
    }
    assert_loads("[scheduler]\nmax_batch_size = 100\nmax_batch_wait_ms = 7200000\n"
                 "[synthesis]\nthreads = 2000\n[gpus]\ndevices = [0, 1, 0]\n");
    assert_int_equal(w.n, 4);
    assert_true(is_told("scheduler.max_batch_size: 100 is taken as 64, the most there is"));
    assert_true(is_told("gpus.devices: \"0\" is there twice"));
    assert_int_equal(c.max_batch_size, 64);
    assert_int_equal(c.max_batch_wait_ms, 3600000);
    assert_int_equal(c.threads, 1024);
    assert_int_equal(c.devices.n, 2);
    assert_loads("[scheduler]\nmax_batch_size = 0\n");
    assert_int_equal(c.max_batch_size, 1);
    assert_true(is_told("0 is taken as 1, the least there is"));
}

static void test_refusals_name_key_and_line(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"[daemon]\nlitsen = \"x\"\n",
         "line 2: daemon.litsen: no such key; did you mean daemon.listen"},
        {"[memroy]\ntotal_budget = 1\n", "no such key"},
        {"[gpus]\nlisten = \"x\"\n", "did you mean daemon.listen"},
        {"[memory]\ntotal_budget = \"256G\"\n", "expected a size"},
        {"[memory]\ntotal_budget = true\n",
         "expected a size such as \"64GiB\", found true or false"},
        {"[memory]\ntotal_budget = 1000\n", "memory.total_budget: expected at least 268435456"},
        {"[memory]\neviction_min_idle = \"fast\"\n", "expected a duration"},
        {"[scheduler]\nmax_queued_jobs = 0\n",
         "scheduler.max_queued_jobs: expected 1 to 1000000, found 0"},
        {"[scheduler]\nmax_batch_size = -1\n", "no negative number"},
        {"[scheduler]\nmax_batch_size = \"2\"\n", "expected an integer, found a string"},
        {"[gpus]\ndevices = 0\n", "expected an array"},
        {"[gpus]\ndevices = [0.5]\n", "strings or integers"},
        {"[logging]\nlevel = \"loud\"\n", "error|warn|info|debug"},
        {"[logging]\nlevel = \"war\"\n", "error|warn|info|debug"},
        {"[daemon]\nsocket_mode = \"0888\"\n", "octal"},
        {"[daemon]\nsocket_mode = \"7777\"\n", "expected 0 to 511"},
        {"[daemon]\nlisten = \"\"\n", "an address"},
        {"[daemon]\ntls_listen = \":1\"\n", "tls_cert"},
        {"[daemon]\ntls_cert = \"a\"\n", "tls_listen"},
        {"[daemon\nlisten = 1\n", "line 1, column"},
        {"[daemon]\nlisten = \"a\"\nlisten = \"b\"\n", "line 3"},
        {"[daemon]\nlisten = 1979-05-27\n", "found a date"},
        {"daemon = 3\n", "no such key"},
        {"[jobs]\nretention = \"1s\"\n", "expected 60000 to"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cuzk_status st = load(cases[i].text);
        if (st.code != CUZK_E_INPUT || !strstr(st.msg, cases[i].want))
            fail_msg("%s: wanted \"%s\", got %d \"%s\"", cases[i].text, cases[i].want, st.code,
                     st.msg);
    }
}

static void test_environment_overrides(void **state)
{
    char *const env[] = {(char *)"CUZK_DAEMON_LISTEN=unix:///x",
                         (char *)"CUZK_GPUS_DEVICES=cpu,GPU-1",
                         (char *)"CUZK_MEMORY_TOTAL_BUDGET=16GiB", (char *)"OTHER=1", NULL};
    char *const bad[] = {(char *)"CUZK_SYNTHESIS_THREADS=many", NULL};
    (void)state;
    assert_int_equal(config_load(&c, &w, NULL, env).code, CUZK_OK);
    assert_string_equal(c.listen, "unix:///x");
    assert_int_equal(c.devices.n, 2);
    assert_string_equal(c.devices.items[0], "cpu");
    assert_int_equal(config_memory_budget(&c), 16ull << 30);
    cuzk_status st = config_load(&c, &w, NULL, bad);
    assert_int_equal(st.code, CUZK_E_INPUT);
    assert_non_null(strstr(st.msg, "environment CUZK_SYNTHESIS_THREADS: synthesis.threads"));
}

static void test_print_reads_back(void **state)
{
    static daemon_config again;
    char *text = NULL;
    size_t len = 0;
    (void)state;
    assert_loads("[daemon]\nlisten = \"unix:///a\\\"b\\\\c\"\nsocket_mode = \"0600\"\n"
                 "[memory]\ntotal_budget = \"1.5GiB\"\neviction_min_idle = \"90s\"\n"
                 "[gpus]\ndevices = [\"cuda:1\", 3]\n[logging]\ntimeline = true\n");
    again = c;
    FILE *f = open_memstream(&text, &len);
    config_print(&c, f);
    fclose(f);
    assert_loads(text);
    assert_int_equal(w.n, 0);
    char names[256];
    config_keep_fixed(&again, &c, names, sizeof names);
    assert_string_equal(names, "");
    assert_string_equal(again.listen, c.listen);
    assert_int_equal(c.total_budget_bytes, 3ull << 29);
    assert_true(c.timeline_lines);
    free(text);
}

/* docs/configuration.md has a row for every key: name, type, default, whether SIGHUP reloads it. */
static void test_every_key_is_documented(void **state)
{
    static const char *const types[] = {
        [KEY_TEXT] = "text",    [KEY_LIST] = "list", [KEY_U32] = "integer",
        [KEY_BOOL] = "boolean", [KEY_SIZE] = "size", [KEY_DURATION] = "duration",
        [KEY_MS] = "integer",   [KEY_MODE] = "text"};
    static char doc[1 << 16];
    char *toml = NULL, row[256];
    size_t len = 0, at = 0;
    (void)state;
    FILE *f = fopen(CUZK_GOLDEN_DIR "/../../docs/configuration.md", "r");
    assert_non_null(f);
    assert_true(fread(doc, 1, sizeof doc - 1, f) > 0);
    fclose(f);
    config_defaults(&c);
    f = open_memstream(&toml, &len);
    config_print(&c, f);
    fclose(f);
    for (size_t i = 0; i < n_config_keys; i++) {
        const config_key *k = &config_keys[i];
        const char *dot = strchr(k->path, '.');
        if (k->type == KEY_IGNORED) {
            snprintf(row, sizeof row, "| `%s` |", k->path);
        } else { /* its line of the printed configuration has the default */
            char name[64];
            int n = snprintf(name, sizeof name, "\n%s = ", dot + 1);
            const char *line = strstr(toml + at, name);
            assert_non_null(line);
            at = (size_t)(line - toml) + 1;
            const char *value = line + n;
            snprintf(row, sizeof row, "| `%s` | %s | `%.*s` | %s |", k->path, types[k->type],
                     (int)strcspn(value, "\n"), value, k->reloads ? "yes" : "no");
        }
        if (!strstr(doc, row))
            fail_msg("docs/configuration.md has no row \"%s\"", row);
    }
    free(toml);
}

static void test_reload_keeps_what_is_fixed(void **state)
{
    char names[256];
    static daemon_config next;
    (void)state;
    assert_loads("[daemon]\nlisten = \"unix:///a\"\n[scheduler]\nmax_batch_size = 1\n");
    next = c;
    strcpy(next.listen, "unix:///b");
    next.max_batch_size = 4;
    strcpy(next.devices.items[next.devices.n++], "1");
    config_keep_fixed(&next, &c, names, sizeof names);
    assert_string_equal(names, "daemon.listen, gpus.devices");
    assert_string_equal(next.listen, "unix:///a");
    assert_int_equal(next.devices.n, 0);
    assert_int_equal(next.max_batch_size, 4);
}

static void test_files_that_are_none(void **state)
{
    (void)state;
    assert_int_equal(config_load(&c, &w, "/nonexistent/cuzk.toml", NULL).code, CUZK_E_NOT_FOUND);
    assert_int_equal(config_load(&c, &w, "/tmp", NULL).code, CUZK_E_IO);
    static const char zero[] = "[daemon]\nlisten = \"a\\u0000b\"\n";
    const char *path = write_file(zero, sizeof zero - 1);
    assert_int_equal(config_load(&c, &w, path, NULL).code, CUZK_E_INPUT);
    unlink(path);
    char *deep = malloc(4001);
    memset(deep, '[', 4000);
    deep[0] = 'a';
    deep[1] = '=';
    path = write_file(deep, 4000);
    assert_int_equal(config_load(&c, &w, path, NULL).code, CUZK_E_INPUT);
    unlink(path);
    free(deep);
}

static void test_no_leak_when_allocation_fails(void **state)
{
    static const char text[] = "[gpus]\ndevices = [1, 2]\n[daemon]\nlisten = \"unix:///a\"\n";
    (void)state;
    const char *path = write_file(text, sizeof text - 1);
    uint64_t before = mem_get_stats().live_bytes;
    for (uint64_t n = 1; n < 30; n++) {
        mem_fail_nth(n);
        cuzk_status st = config_load(&c, &w, path, NULL);
        mem_fail_nth(0);
        assert_int_equal(mem_get_stats().live_bytes, before);
        if (st.code == CUZK_OK) {
            assert_true(n > 4);
            unlink(path);
            return;
        }
    }
    fail_msg("never succeeded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_existing_file_is_accepted),
        cmocka_unit_test(test_existing_values_are_brought_near),
        cmocka_unit_test(test_every_key_is_documented),
        cmocka_unit_test(test_refusals_name_key_and_line),
        cmocka_unit_test(test_environment_overrides),
        cmocka_unit_test(test_print_reads_back),
        cmocka_unit_test(test_reload_keeps_what_is_fixed),
        cmocka_unit_test(test_files_that_are_none),
        cmocka_unit_test(test_no_leak_when_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
