#include "base_test.h"

static void test_ok_has_no_message(void **state)
{
    (void)state;
    cuzk_status st = cuzk_wrap(cuzk_ok(), "context %d", 1);
    assert_int_equal(st.code, CUZK_OK);
    assert_string_equal(st.msg, "");
}

static void test_wrap_puts_context_in_front(void **state)
{
    (void)state;
    cuzk_status st = cuzk_fail(CUZK_E_RANGE, "lg_n is %u, want %u", 40u, 28u);
    st = cuzk_wrap(cuzk_wrap(st, "partition %u", 3u), "sector %s", "t01000");
    assert_int_equal(st.code, CUZK_E_RANGE);
    assert_string_equal(st.msg, "sector t01000: partition 3: lg_n is 40, want 28");
}

static void test_bad_input_has_one_spelling(void **state)
{
    (void)state;
    cuzk_status st = cuzk_bad_input("proofs[2]", "192 bytes", "%zu bytes", (size_t)191);
    assert_int_equal(st.code, CUZK_E_INPUT);
    assert_string_equal(st.msg, "proofs[2]: expected 192 bytes, found 191 bytes");
}

/* Every length around the buffer size: the message is cut, terminated, and never runs over. */
static void test_long_messages_are_cut(void **state)
{
    (void)state;
    char text[600];
    size_t cap = sizeof((cuzk_status *)0)->msg;
    for (size_t n = cap - 8; n < cap + 8; n++) {
        memset(text, 'x', n);
        text[n] = 0;
        cuzk_status st = cuzk_fail(CUZK_E_IO, "%s", text);
        size_t want = n < cap ? n : cap - 1;
        assert_int_equal(strnlen(st.msg, cap), want);
        cuzk_status wrapped = cuzk_wrap(st, "ab");
        assert_int_equal(strnlen(wrapped.msg, cap), want + 4 < cap ? want + 4 : cap - 1);
        assert_memory_equal(wrapped.msg, "ab: xxx", 7);
        cuzk_status outer = cuzk_wrap(cuzk_fail(CUZK_E_IO, "in"), "%s", text);
        assert_true(strnlen(outer.msg, cap) < cap);
        cuzk_status bad = cuzk_bad_input("f", text, "%s", text);
        assert_true(strnlen(bad.msg, cap) < cap);
    }
}

static void test_codes_have_names_and_texts(void **state)
{
    (void)state;
    assert_string_equal(cuzk_code_name(CUZK_OK), "CUZK_OK");
    assert_string_equal(cuzk_code_name(CUZK_E_INPUT), "CUZK_E_INPUT");
    assert_string_equal(cuzk_code_text(CUZK_E_INPUT), "bad input");
    assert_string_equal(cuzk_code_text((cuzk_code)999), "unknown code");
    assert_string_equal(cuzk_code_name((cuzk_code)-1), "CUZK_E_UNKNOWN");
}

/* Values are part of the installed interface: they may be added to, never moved. */
static void test_code_values_are_stable(void **state)
{
    (void)state;
    assert_int_equal(CUZK_E_INTERNAL, 1);
    assert_int_equal(CUZK_E_VERIFY, 4);
    assert_int_equal(CUZK_E_USAGE, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ok_has_no_message),
        cmocka_unit_test(test_wrap_puts_context_in_front),
        cmocka_unit_test(test_bad_input_has_one_spelling),
        cmocka_unit_test(test_long_messages_are_cut),
        cmocka_unit_test(test_codes_have_names_and_texts),
        cmocka_unit_test(test_code_values_are_stable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
