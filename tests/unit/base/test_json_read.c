#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/mem.h"

static void assert_ok(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s: %s", cuzk_code_name(st.code), st.msg);
}

/* Parses an exact heap copy (so a sanitizer sees reads past the end); *copy is to be freed. */
static cuzk_status parse(json_doc *doc, char **copy, const char *text, size_t n)
{
    *copy = malloc(n ? n : 1);
    assert_non_null(*copy);
    memcpy(*copy, text, n);
    return json_parse(doc, *copy, n);
}

static json_doc parse_ok(char **copy, const char *text)
{
    json_doc doc;
    assert_ok(parse(&doc, copy, text, strlen(text)));
    return doc;
}

static void done(json_doc *doc, char *copy)
{
    json_fini(doc);
    free(copy);
}

static void test_malformed_texts_are_refused(void **state)
{
    (void)state;
#define T(s)             \
    {                    \
        s, sizeof(s) - 1 \
    }
    static const struct {
        const char *s;
        size_t n;
    } cases[] = {
        T(""),
        T(" "),
        T("x"),
        T("[1,]"),
        T("[1 2]"),
        T("{\"a\":1,}"),
        T("{\"a\"}"),
        T("{1:2}"),
        T("[01]"),
        T("[1.]"),
        T("[.5]"),
        T("[+1]"),
        T("[1e]"),
        T("[NaN]"),
        T("[Infinity]"),
        T("'a'"),
        T("1 2"),
        T("{}x"),
        T("{}\0"),
        T("\0"),
        T("\xef\xbb\xbf{}"),
        T("\"\xff\""),
        T("\"\xc0\xaf\""),
        T("\"\xed\xa0\x80\""),
        T("\"\xf4\x90\x80\x80\""),
        T("\"\xf0\x80\x80\x80\""),
        T("\"\xc3\""),
        T("\"a"),
        T("\"\\x\""),
        T("\"\n\""),
        T("// c\n1"),
        T("/* c */1"),
        T("["),
        T("]"),
        T("[}"),
        T("tru"),
        T("nulll"),
        T("[1]]"),
    };
#undef T
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_doc doc;
        char *copy;
        cuzk_status st = parse(&doc, &copy, cases[i].s, cases[i].n);
        if (st.code != CUZK_E_INPUT)
            fail_msg("case %zu \"%s\": %s", i, cases[i].s, cuzk_code_name(st.code));
        assert_null(doc.tape);
        done(&doc, copy);
    }
}

static void test_integers_keep_their_full_range(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t max;
        bool ok;
        uint64_t v;
    } cases[] = {
        {"0", 255, true, 0},
        {"255", 255, true, 255},
        {"256", 255, false, 0},
        {"-1", UINT64_MAX, false, 0},
        {"-0", UINT64_MAX, false, 0},
        {"1.0", UINT64_MAX, false, 0},
        {"1e1", UINT64_MAX, false, 0},
        {"1E0", UINT64_MAX, false, 0},
        {"null", UINT64_MAX, false, 0},
        {"\"1\"", UINT64_MAX, false, 0},
        {"[1]", UINT64_MAX, false, 0},
        {"true", 1, false, 0},
        {"1152921504606846975", UINT64_MAX, true, 1152921504606846975u},
        {"1152921504606846976", UINT64_MAX, true, 1152921504606846976u},
        {"9223372036854775808", UINT64_MAX, true, 9223372036854775808u},
        {"18446744073709551615", UINT64_MAX, true, UINT64_MAX},
        {"18446744073709551616", UINT64_MAX, false, 0},
        {"100000000000000000000000000000000", UINT64_MAX, false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (unsigned form = 0; form < 2; form++) { /* alone (ends the text) and inside an array */
            char text[80], *copy;
            uint64_t v = 1;
            snprintf(text, sizeof text, form ? "[null,%s]" : "%s", cases[i].text);
            json_doc doc = parse_ok(&copy, text);
            json_val val = json_root(&doc);
            json_iter it;
            if (form) {
                assert_ok(json_array(&it, val));
                assert_true(json_next(&it, &val) && json_next(&it, &val));
            }
            cuzk_status st = json_get_u64(&v, val, cases[i].max);
            if ((st.code == CUZK_OK) != cases[i].ok || v != cases[i].v)
                fail_msg("%s: %s (%lu)", text, st.msg, v);
            done(&doc, copy);
        }
    }
}

/* Byte arrays are packed; one that is not quite one must read the same through the iterator. */
static void test_byte_arrays_of_every_length(void **state)
{
    (void)state;
    for (unsigned n = 0; n <= 40; n++) {
        for (unsigned odd = 0; odd < 2; odd++) {
            char text[400], *copy;
            int at = snprintf(text, sizeof text, "{\"a\":[");
            for (unsigned i = 0; i < n; i++)
                at += snprintf(text + at, sizeof text - (size_t)at, "%s%u", i ? ", " : "",
                               (i * 37 + (odd && i == n - 1 ? 256 : 0)) % 512 % (odd ? 512 : 256));
            snprintf(text + at, sizeof text - (size_t)at, "],\"b\":7}");
            json_doc doc = parse_ok(&copy, text);
            json_val a, b, e;
            json_iter it;
            uint64_t v;
            assert_true(json_member(&a, json_root(&doc), "a") &&
                        json_member(&b, json_root(&doc), "b"));
            assert_ok(json_get_u64(&v, b, 7));
            assert_ok(json_array_n(&it, a, n));
            assert_int_equal(json_array_n(&it, a, n + 1).code, CUZK_E_INPUT);
            assert_ok(json_array(&it, a));
            const uint8_t *bytes;
            bool packed = json_get_bytes(&bytes, a, n).code == CUZK_OK;
            bool all_bytes = true;
            unsigned i = 0;
            for (; json_next(&it, &e); i++) {
                assert_int_equal(json_val_kind(e), JSON_NUMBER);
                assert_ok(json_get_u64(&v, e, 511));
                all_bytes = all_bytes && v < 256;
                if (packed)
                    assert_int_equal(bytes[i], v);
            }
            assert_int_equal(i, n);
            assert_int_equal(packed, all_bytes);
            done(&doc, copy);
        }
    }
}

static void test_struct_takes_any_order_arrays_and_unknown_fields(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"{\"x\":1,\"y\":2}", NULL},
        {"{\"y\":2,\"x\":1}", NULL},
        {"{\"\\u0078\":1,\"y\":2}", NULL},
        {"{\"z\":{\"x\":[5,{}]},\"x\":1,\"zz\":0,\"y\":2,\"z\":null}", NULL},
        {"[1,2]", NULL},
        {"[1,2,3]", "(document): expected an array of 2 elements, found 3 elements"},
        {"[1]", "expected an array of 2 elements"},
        {"{\"x\":1}", "(document): expected field \"y\""},
        {"{\"X\":1,\"y\":2}", "expected field \"x\""},
        {"{\"x\":1,\"y\":2,\"x\":1}", "x: expected the field once, found it twice"},
        {"{\"x\":1,\"y\\u0000\":2}", "expected field \"y\""},
        {"null", "expected an object, found null"},
        {"\"xy\"", "expected an object, found \"xy\""},
    };
    static const char *const names[] = {"x", "y"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *copy;
        json_doc doc = parse_ok(&copy, cases[i].text);
        json_val v[2];
        uint64_t x, y;
        cuzk_status st = json_struct(v, json_root(&doc), names, 2);
        if (cases[i].error) {
            if (st.code != CUZK_E_INPUT || !strstr(st.msg, cases[i].error))
                fail_msg("%s: %s", cases[i].text, st.msg);
        } else {
            assert_ok(st);
            assert_ok(json_get_u64(&x, v[0], 9));
            assert_ok(json_get_u64(&y, v[1], 9));
            assert_true(x == 1 && y == 2);
        }
        done(&doc, copy);
    }
}

static void test_errors_carry_the_path(void **state)
{
    (void)state;
    char *copy;
    json_doc doc = parse_ok(&copy, "{\"k\":[[1],{\"a\\tb\":0,\"p\":[[7,300],[1,2,3]]}]}");
    json_val k, e, p, list;
    json_iter it;
    char path[64];
    uint64_t v;
    assert_true(json_member(&k, json_root(&doc), "k"));
    assert_ok(json_array(&it, k));
    assert_true(json_next(&it, &list) && json_next(&it, &e));
    json_path(path, sizeof path, json_root(&doc));
    assert_string_equal(path, "(document)");
    json_path(path, sizeof path, list);
    assert_string_equal(path, "k[0]");
    assert_true(json_member(&p, e, "a\tb"));
    json_path(path, sizeof path, p);
    assert_string_equal(path, "k[1].a?b");
    json_path(path, 5, p);
    assert_string_equal(path, "k[1]");
    assert_true(json_member(&p, e, "p"));
    assert_ok(json_array(&it, p));
    assert_true(json_next(&it, &list));
    const uint8_t *bytes;
    assert_string_equal(json_get_bytes(&bytes, list, 2).msg,
                        "k[1].p[0][1]: expected integer 0..255, found 300");
    assert_true(json_next(&it, &list));
    assert_ok(json_array(&it, list));
    assert_true(json_next(&it, &e) && json_next(&it, &e));
    assert_string_equal(json_get_u64(&v, e, 1).msg, "k[1].p[1][1]: expected integer 0..1, found 2");
    done(&doc, copy);
}

static void test_strings_unescape(void **state)
{
    (void)state;
    char *copy;
    const char *s;
    size_t n;
    json_doc doc = parse_ok(
        &copy,
        "[\"\",\"plain\",\"a\\/b\\n\\u00e9\\ud83d\\ude00\",\"\xc3\xa9\",-0.5e1,true,false,null]");
    json_iter it;
    json_val v;
    double f;
    bool b;
    assert_ok(json_array_n(&it, json_root(&doc), 8));
    assert_true(json_next(&it, &v) && json_string_is(v, ""));
    assert_true(json_next(&it, &v) && json_string_is(v, "plain") && !json_string_is(v, "plai"));
    assert_true(json_next(&it, &v));
    assert_ok(json_get_string(&s, &n, v));
    assert_int_equal(n, 10);
    assert_memory_equal(s, "a/b\n\xc3\xa9\xf0\x9f\x98\x80", n);
    assert_true(json_next(&it, &v) && json_string_is(v, "\xc3\xa9"));
    assert_true(json_next(&it, &v));
    assert_ok(json_get_double(&f, v));
    assert_true(f == -5.0);
    assert_int_equal(json_get_string(&s, &n, v).code, CUZK_E_INPUT);
    assert_true(json_next(&it, &v));
    assert_ok(json_get_bool(&b, v));
    assert_true(b);
    assert_true(json_next(&it, &v));
    assert_ok(json_get_bool(&b, v));
    assert_false(b);
    assert_int_equal(json_get_null(v).code, CUZK_E_INPUT);
    assert_true(json_next(&it, &v));
    assert_ok(json_get_null(v));
    assert_false(json_next(&it, &v));
    done(&doc, copy);
}

static void test_depth_is_limited_without_recursion(void **state)
{
    (void)state;
    static const struct {
        size_t depth;
        cuzk_code code;
    } cases[] = {
        {200, CUZK_OK},
        {JSON_MAX_DEPTH, CUZK_OK},
        {JSON_MAX_DEPTH + 1, CUZK_E_INPUT},
        {1000000, CUZK_E_INPUT},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n = cases[i].depth;
        char *text = malloc(2 * n), *copy;
        assert_non_null(text);
        memset(text, '[', n);
        memset(text + n, ']', n);
        json_doc doc;
        assert_int_equal(parse(&doc, &copy, text, 2 * n).code, cases[i].code);
        done(&doc, copy);
        free(text);
    }
}

/* Tokens the parser must copy: its memory is sized beforehand from them. */
static void test_long_tokens_are_copied(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    char *text = malloc(N), *copy;
    assert_non_null(text);
    for (unsigned form = 0; form < 6; form++) {
        json_doc doc;
        const char *s;
        size_t n, body = N - 4;
        memset(text, form == 4 ? '1' : 'a', N);
        memcpy(text, "[\"", 2);
        memcpy(text + N - 2, "\"]", 2);
        if (form == 1)
            memcpy(text + N - 4, "\\n", 2); /* one escape at the end */
        if (form == 2)
            for (size_t i = 2; i + 2 < N; i += 2)
                memcpy(text + i, "\\/", 2); /* nothing but escapes */
        if (form == 3)
            memcpy(text + N - 3, "\\\"}", 3); /* never closed */
        if (form == 4)
            memcpy(text, "11", 2), memcpy(text + N - 2, "11", 2); /* a number ended by the text */
        if (form == 5)
            text[N - 1] = '\\', text[N - 2] = 'a'; /* cut inside an escape */
        cuzk_status st = parse(&doc, &copy, text, N);
        if (form == 3 || form == 5) {
            assert_int_equal(st.code, CUZK_E_INPUT);
        } else {
            assert_ok(st);
            json_iter it;
            json_val v;
            uint64_t u;
            if (form == 4) {
                assert_int_equal(json_get_u64(&u, json_root(&doc), UINT64_MAX).code, CUZK_E_INPUT);
            } else {
                assert_ok(json_array_n(&it, json_root(&doc), 1));
                assert_true(json_next(&it, &v));
                assert_ok(json_get_string(&s, &n, v));
                assert_int_equal(n, form == 0 ? body : form == 1 ? body - 1 : body / 2);
            }
        }
        done(&doc, copy);
    }
    free(text);
}

static void test_every_failed_allocation_is_reported(void **state)
{
    (void)state;
    static const char text[] = "{\"a\\u0062\":[[1,2],\"x\\n\",{\"b\":[1,2,3,4,5,6,7,8,9,1e3,1,1,1,"
                               "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                               "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                               "1,1,1,1,1,1,1,1,1,1,1]}]}";
    uint64_t live = mem_get_stats().live_bytes;
    unsigned n = 0;
    for (;;) {
        json_doc doc;
        mem_fail_nth(++n);
        cuzk_status st = json_parse(&doc, text, sizeof text - 1);
        mem_fail_nth(0);
        json_fini(&doc);
        assert_int_equal(mem_get_stats().live_bytes, live);
        if (st.code == CUZK_OK)
            break;
        if (st.code != CUZK_E_NOMEM)
            fail_msg("allocation %u: %s %s", n, cuzk_code_name(st.code), st.msg);
        assert_true(n < 100);
    }
    assert_true(n > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed_texts_are_refused),
        cmocka_unit_test(test_integers_keep_their_full_range),
        cmocka_unit_test(test_byte_arrays_of_every_length),
        cmocka_unit_test(test_struct_takes_any_order_arrays_and_unknown_fields),
        cmocka_unit_test(test_errors_carry_the_path),
        cmocka_unit_test(test_strings_unescape),
        cmocka_unit_test(test_depth_is_limited_without_recursion),
        cmocka_unit_test(test_long_tokens_are_copied),
        cmocka_unit_test(test_every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
