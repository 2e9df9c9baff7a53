/* Sizes and durations: what is read, what is refused, what is printed. */
#include "daemon/units.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
/* cmocka needs the headers above first */
#include <cmocka.h>

static void test_sizes(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},
                {"512", 512},
                {"1B", 1},
                {"64GiB", 64ull << 30},
                {"64 GiB", 64ull << 30},
                {"1TiB", 1ull << 40},
                {"0.5GiB", 1ull << 29},
                {"1.1KiB", 1126},
                {"256MB", 256000000},
                {"1.5 TB", 1500000000000},
                {"18446744073709551615", UINT64_MAX}};
    static const char *const bad[] = {"",
                                      "GiB",
                                      "256G",
                                      "1gib",
                                      "-1",
                                      "1e9",
                                      "1.GiB",
                                      ".5GiB",
                                      "1..5",
                                      "0x10",
                                      "1 GiB ",
                                      "0.5B",
                                      "1.5",
                                      "18446744073709551616",
                                      "17179869184GiB",
                                      "1  GiB",
                                      "1.0000000001GiB"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        uint64_t v = 1;
        cuzk_status st = parse_size(&v, "key", good[i].text);
        if (st.code != CUZK_OK || v != good[i].bytes)
            fail_msg("\"%s\": %s, %llu", good[i].text, st.msg, (unsigned long long)v);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        uint64_t v;
        cuzk_status st = parse_size(&v, "key", bad[i]);
        if (st.code != CUZK_E_INPUT)
            fail_msg("\"%s\" gave %d, %llu", bad[i], st.code, (unsigned long long)v);
        assert_non_null(strstr(st.msg, "key: expected a size"));
    }
}

static void test_durations(void **state)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } good[] = {{"0", 0},          {"90", 90000},     {"90s", 90000},
                {"500ms", 500},    {"5m", 300000},    {"1h", 3600000},
                {"1.5h", 5400000}, {"7d", 604800000}, {"0.25s", 250}};
    static const char *const bad[] = {"", "s", "5min", "1H", "-5s", "1.5ms", "10 minutes", "5m30s"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        uint64_t v = 1;
        cuzk_status st = parse_duration_ms(&v, "key", good[i].text);
        if (st.code != CUZK_OK || v != good[i].ms)
            fail_msg("\"%s\": %s, %llu", good[i].text, st.msg, (unsigned long long)v);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        uint64_t v;
        if (parse_duration_ms(&v, "key", bad[i]).code != CUZK_E_INPUT)
            fail_msg("\"%s\" gave %llu", bad[i], (unsigned long long)v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_durations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
