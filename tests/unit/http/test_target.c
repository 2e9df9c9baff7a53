/* Request targets: paths and queries, decoded. */
#include "unit/base/base_test.h"
#include <stdbool.h>
#include "http/target.h"

typedef struct target_case {
    const char *raw;
    cuzk_code code;
    uint32_t n_segments, n_params;
    const char *last_segment, *first_key, *first_value;
} target_case;

static const target_case cases[] = {
    {"/", CUZK_OK, 1, 0, "", NULL, NULL},
    {"/status", CUZK_OK, 1, 0, "status", NULL, NULL},
    {"/status?", CUZK_OK, 1, 0, "status", NULL, NULL},
    {"/status?x", CUZK_OK, 1, 1, "status", "x", ""},
    {"/status?&&x=&y", CUZK_OK, 1, 2, "status", "x", ""},
    {"/a/b//", CUZK_OK, 4, 0, "", NULL, NULL},
    {"/api/jobs/a%2Fb", CUZK_OK, 3, 0, "a/b", NULL, NULL},
    {"/%c3%A9+%25", CUZK_OK, 1, 0, "\xc3\xa9+%", NULL, NULL},
    {"/a?k%3D=v%26+w", CUZK_OK, 1, 1, "a", "k=", "v& w"},
    {"/a?b=c=d?e", CUZK_OK, 1, 1, "a", "b", "c=d?e"},
    {"http://host:80/x?y=1", CUZK_OK, 1, 1, "x", "y", "1"},
    {"http://host", CUZK_OK, 1, 0, "", NULL, NULL},
    {"/../etc/passwd", CUZK_OK, 3, 0, "passwd", NULL, NULL},
    {"/1/2/3/4/5/6/7", CUZK_OK, 0, 0, NULL, NULL, NULL},
    {"", CUZK_E_INPUT, 0, 0, NULL, NULL, NULL},
    {"*", CUZK_E_INPUT, 0, 0, NULL, NULL, NULL},
    {"status", CUZK_E_INPUT, 0, 0, NULL, NULL, NULL},
    {"/a b", CUZK_E_INPUT, 0, 0, NULL, NULL, NULL},
    {"/a#b", CUZK_E_INPUT, 0, 0, NULL, NULL, NULL},
    {"/\xc3\xa9", CUZK_E_INPUT, 0, 0, NULL, NULL, NULL},
    {"/%", CUZK_E_INPUT, 0, 0, NULL, NULL, NULL},
    {"/%4", CUZK_E_INPUT, 0, 0, NULL, NULL, NULL},
    {"/%4/", CUZK_E_INPUT, 0, 0, NULL, NULL, NULL},
    {"/%zz", CUZK_E_INPUT, 0, 0, NULL, NULL, NULL},
    {"/%00", CUZK_E_INPUT, 0, 0, NULL, NULL, NULL},
    {"/%0d%0aX:1", CUZK_E_INPUT, 0, 0, NULL, NULL, NULL},
    {"/a?b=%7f", CUZK_E_INPUT, 0, 0, NULL, NULL, NULL},
    {"/a?%=1", CUZK_E_INPUT, 0, 0, NULL, NULL, NULL},
    {"/?1&2&3&4&5&6&7&8", CUZK_OK, 1, 8, "", "1", ""},
    {"/?1&2&3&4&5&6&7&8&9", CUZK_E_INPUT, 0, 0, NULL, NULL, NULL},
};

static void check_case(const target_case *c)
{
    http_target t;
    cuzk_status st = http_target_parse(&t, c->raw);
    if (st.code != c->code)
        fail_msg("%s: %s (%s)", c->raw, cuzk_code_name(st.code), st.msg);
    if (st.code != CUZK_OK)
        return;
    if (t.n_segments != c->n_segments || t.n_params != c->n_params)
        fail_msg("%s: %u segments, %u parameters", c->raw, t.n_segments, t.n_params);
    if (c->last_segment)
        assert_string_equal(t.segments[t.n_segments - 1], c->last_segment);
    if (c->first_key) {
        assert_string_equal(t.params[0].key, c->first_key);
        assert_string_equal(t.params[0].value, c->first_value);
        assert_string_equal(http_target_param(&t, c->first_key), c->first_value);
    }
    assert_null(http_target_param(&t, "not there"));
}

static void test_targets_are_split_and_decoded(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_case(&cases[i]);
}

static void test_length_is_limited(void **state)
{
    (void)state;
    static char raw[HTTP_TARGET_MAX + 2];
    memset(raw, 'a', sizeof raw - 1);
    raw[0] = '/';
    http_target t;
    assert_int_equal(http_target_parse(&t, raw).code, CUZK_E_RANGE);
    raw[HTTP_TARGET_MAX] = 0;
    assert_ok(http_target_parse(&t, raw));
    assert_int_equal(strlen(t.segments[0]), HTTP_TARGET_MAX - 1);
}

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

/* Encode any text, as a browser does, and get it back. */
static void test_decoding_undoes_encoding(void **state)
{
    (void)state;
    uint64_t seed = 0x9e3779b97f4a7c15u;
    print_message("seed %llx\n", (unsigned long long)seed);
    for (int round = 0; round < 2000; round++) {
        char text[200], raw[700];
        size_t n = 1 + next_random(&seed) % (sizeof text - 1), at = 1;
        raw[0] = '/';
        for (size_t i = 0; i < n; i++) {
            do
                text[i] = (char)next_random(&seed);
            while ((unsigned char)text[i] < 0x20 || text[i] == 0x7f);
            if (strchr("abcXYZ019-_.~", text[i]))
                raw[at++] = text[i];
            else
                at += (size_t)sprintf(raw + at, "%%%02X", (unsigned char)text[i]);
        }
        text[n - 1] = 'z';
        at -= at > 3 && raw[at - 3] == '%' ? 3 : 1;
        raw[at++] = 'z';
        raw[at] = 0;
        text[n] = 0;
        http_target t;
        assert_ok(http_target_parse(&t, raw));
        assert_int_equal(t.n_segments, 1);
        assert_string_equal(t.segments[0], text);
    }
}

static void test_no_text_gets_control_characters_through(void **state)
{
    (void)state;
    static const char alphabet[] = "/?&=%+#0127aAfFgGzZ .\x01\x80";
    uint64_t seed = 0x2545f4914f6cdd1du;
    print_message("seed %llx\n", (unsigned long long)seed);
    for (int round = 0; round < 20000; round++) {
        char raw[64] = "/";
        size_t n = 1 + next_random(&seed) % 60;
        for (size_t i = 1; i < n; i++)
            raw[i] = alphabet[next_random(&seed) % (sizeof alphabet - 1)];
        http_target t;
        if (http_target_parse(&t, raw).code != CUZK_OK)
            continue;
        for (uint32_t i = 0; i < t.n_segments; i++)
            for (const char *p = t.segments[i]; *p; p++)
                assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
        for (uint32_t i = 0; i < t.n_params; i++)
            for (const char *p = t.params[i].value; *p; p++)
                assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets_are_split_and_decoded),
        cmocka_unit_test(test_length_is_limited),
        cmocka_unit_test(test_decoding_undoes_encoding),
        cmocka_unit_test(test_no_text_gets_control_characters_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
