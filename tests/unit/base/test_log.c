#include "base_test.h"
#include "base/log.h"
#include <math.h>
#include <unistd.h>
#include <yajl/yajl_tree.h>

static char captured[16384];

/* Run one log call with stderr going to a file, and keep what it wrote. */
static void capture(log_level lv, const char *event, const log_field *fields, unsigned n)
{
    FILE *f = tmpfile();
    assert_non_null(f);
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    assert_true(saved >= 0 && dup2(fileno(f), STDERR_FILENO) >= 0);
    log_event(lv, event, fields, n);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(f);
    size_t got = fread(captured, 1, sizeof captured - 1, f);
    captured[got] = 0;
    fclose(f);
}

static const char *json_string(yajl_val v, const char *key)
{
    return YAJL_GET_STRING(yajl_tree_get(v, (const char *[]){key, NULL}, yajl_t_string));
}

static void test_text_line_has_typed_fields(void **state)
{
    (void)state;
    log_set(LOG_INFO, 0);
    const log_field f[] = {LOG_STR("job", "j-1"), LOG_U64("total_ms", UINT64_MAX),
                           LOG_F64("share", 0.25), LOG_STR("why", "two \"words\"\n")};
    capture(LOG_WARN, "job_done", f, 4);
    const char *tail = strchr(captured, ' ');
    assert_non_null(tail);
    assert_string_equal(tail, " warn job_done job=j-1 total_ms=18446744073709551615 share=0.25 "
                              "why=\"two \\\"words\\\"\\u000a\"\n");
}

static void test_levels_filter(void **state)
{
    (void)state;
    static const log_level all[] = {LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG};
    for (size_t min = 0; min < ARRAY_LEN(all); min++) {
        log_set(all[min], 0);
        for (size_t lv = 0; lv < ARRAY_LEN(all); lv++) {
            capture(all[lv], "e", NULL, 0);
            assert_int_equal(captured[0] != 0, lv <= min);
        }
    }
}

static void test_json_line_parses_and_escapes(void **state)
{
    (void)state;
    char err[200];
    log_set(LOG_INFO, 1);
    const log_field f[] = {LOG_STR("s", "q\" b\\ nl\n e\xc3\xa9"),
                           LOG_STR("none", NULL),
                           LOG_U64("u", 7),
                           LOG_F64("nan", NAN),
                           LOG_F64("inf", INFINITY),
                           LOG_F64("x", -1.5)};
    capture(LOG_ERROR, "ev", f, 6);
    size_t len = strlen(captured);
    assert_true(len > 0 && strchr(captured, '\n') == captured + len - 1);
    yajl_val v = yajl_tree_parse(captured, err, sizeof err);
    if (!v)
        fail_msg("%s in %s", err, captured);
    assert_string_equal(json_string(v, "event"), "ev");
    assert_string_equal(json_string(v, "level"), "error");
    assert_string_equal(json_string(v, "none"), "");
    assert_memory_equal(json_string(v, "s"), "q\" b\\ nl\n e", 11);
    assert_non_null(yajl_tree_get(v, (const char *[]){"nan", NULL}, yajl_t_null));
    assert_non_null(yajl_tree_get(v, (const char *[]){"inf", NULL}, yajl_t_null));
    assert_true(YAJL_GET_DOUBLE(yajl_tree_get(v, (const char *[]){"x", NULL}, yajl_t_number)) ==
                -1.5);
    yajl_tree_free(v);
}

/* However long the strings, a line is one well-formed line. */
static void test_long_values_are_cut_but_stay_valid(void **state)
{
    (void)state;
    static char text[9000];
    char err[200];
    static const char *const fill[] = {"x", "\"", "\n", "\xff"};
    for (size_t k = 0; k < ARRAY_LEN(fill); k++) {
        for (size_t n = 500; n < sizeof text; n += 501) {
            memset(text, fill[k][0], n);
            text[n] = 0;
            const log_field f[] = {LOG_STR("a", text),  LOG_U64("b", UINT64_MAX),
                                   LOG_STR("c", text),  LOG_STR("d", text),
                                   LOG_F64("e", 1e300), LOG_STR("f", text)};
            for (int json = 0; json < 2; json++) {
                log_set(LOG_INFO, json);
                capture(LOG_INFO, "long", f, 6);
                size_t len = strlen(captured);
                assert_true(len > 0 && len <= 4096 && strchr(captured, '\n') == captured + len - 1);
                if (!json)
                    continue;
                yajl_val v = yajl_tree_parse(captured, err, sizeof err);
                if (!v)
                    fail_msg("fill %zu n %zu: %s in %s", k, n, err, captured);
                yajl_tree_free(v);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_line_has_typed_fields),
        cmocka_unit_test(test_levels_filter),
        cmocka_unit_test(test_json_line_parses_and_escapes),
        cmocka_unit_test(test_long_values_are_cut_but_stay_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
