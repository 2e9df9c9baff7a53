/* Gadgets and circuits of up to 3.5 million rows; test_digest_golden_slow has the others. */
#include "unit/circuit/digest_golden.h"

static void test_digests_are_golden(void **state)
{
    (void)state;
    assert_int_equal(check_circuits(0, 3500000), 78);
}

static void test_unknown_name_is_refused_with_a_known_one(void **state)
{
    (void)state;
    r1cs_shape *s;
    cuzk_status st = circuit_shape(&s, "WindowPoSt 3GiB");
    assert_int_equal(st.code, CUZK_E_NOT_FOUND);
    assert_non_null(strstr(st.msg, "WindowPoSt 32"));
    assert_null(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digests_are_golden),
        cmocka_unit_test(test_unknown_name_is_refused_with_a_known_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
