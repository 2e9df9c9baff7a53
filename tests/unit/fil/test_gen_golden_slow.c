/* Sealing 8 MiB gives the TreeC of the reference. */
#include "gen_seal.h"

static void test_sealed_columns_of_8mib_have_the_golden_root(void **state)
{
    (void)state;
    check_sealed_root("8MiB-V1", 2);
    check_sealed_root("8MiB-V1_1", 2);
    check_sealed_root("8MiB-Synthetic", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sealed_columns_of_8mib_have_the_golden_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
