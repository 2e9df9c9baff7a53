/* The big circuits, up to 64 GiB sectors: each digest streams up to 52 GB through BLAKE2s. */
#include "unit/circuit/digest_golden.h"

static void test_big_digests_are_golden(void **state)
{
    (void)state;
    assert_true(check_circuits(3500000, UINT64_MAX) == 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_big_digests_are_golden)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
