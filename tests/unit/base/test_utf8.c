/* UTF-8: the border cases of RFC 3629, and every two-byte text against a second decoder. */
#include "base/utf8.h"
#include "base/status.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const struct {
    const char *text;
    bool ok;
} cases[] = {
    {"", true},
    {"a", true},
    {"\x7f", true},
    {"\xc2\x80", true},         /* U+0080 */
    {"\xdf\xbf", true},         /* U+07FF */
    {"\xe0\xa0\x80", true},     /* U+0800 */
    {"\xed\x9f\xbf", true},     /* U+D7FF */
    {"\xee\x80\x80", true},     /* U+E000 */
    {"\xef\xbf\xbf", true},     /* U+FFFF */
    {"\xf0\x90\x80\x80", true}, /* U+10000 */
    {"\xf4\x8f\xbf\xbf", true}, /* U+10FFFF */
    {"\x80", false},            /* continuation alone */
    {"\xc2", false},            /* cut */
    {"\xc2"
     "a",
     false},
    {"\xc0\xaf", false}, /* overlong '/' */
    {"\xc1\xbf", false},
    {"\xe0\x9f\xbf", false}, /* overlong */
    {"\xed\xa0\x80", false}, /* surrogate */
    {"\xed\xbf\xbf", false},
    {"\xf0\x8f\xbf\xbf", false}, /* overlong */
    {"\xf4\x90\x80\x80", false}, /* above U+10FFFF */
    {"\xf5\x80\x80\x80", false},
    {"\xf0\x90\x80", false},
    {"\xfe", false},
    {"\xff", false},
    {"ab\xe2\x82\xac"
     "c",
     true},
    {"ab\xe2\x82"
     "c",
     false},
};

static void test_border_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("case %zu\n", i);
        assert_int_equal(utf8_is_valid(cases[i].text, strlen(cases[i].text)), cases[i].ok);
    }
    assert_true(utf8_is_valid("a\0b", 3));
}

static void test_repair_makes_valid_and_leaves_valid_alone(void **state)
{
    (void)state;
    char text[16];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        snprintf(text, sizeof text, "%s", cases[i].text);
        utf8_repair(text);
        assert_true(utf8_is_valid(text, strlen(text)));
        assert_int_equal(strlen(text), strlen(cases[i].text));
        if (cases[i].ok)
            assert_string_equal(text, cases[i].text);
    }
    snprintf(text, sizeof text, "a\xff\xe2\x82\xac\xc3");
    utf8_repair(text);
    assert_string_equal(text, "a?\xe2\x82\xac?");
}

/* A table of the RFC for two bytes: both ASCII, or C2..DF with a continuation. */
static void test_all_texts_of_two_bytes(void **state)
{
    (void)state;
    for (unsigned v = 0; v < 65536; v++) {
        uint8_t b[2] = {(uint8_t)(v >> 8), (uint8_t)v};
        bool want = (b[0] < 0x80 && b[1] < 0x80) ||
                    (b[0] >= 0xc2 && b[0] <= 0xdf && b[1] >= 0x80 && b[1] <= 0xbf);
        if (utf8_is_valid(b, 2) != want)
            fail_msg("%02x %02x", b[0], b[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_border_cases),
        cmocka_unit_test(test_repair_makes_valid_and_leaves_valid_alone),
        cmocka_unit_test(test_all_texts_of_two_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
