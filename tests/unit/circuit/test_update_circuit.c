/* SnapDeals proofs of many partitions; test_witness_golden looks at first and last partitions
 * only. */
#include "unit/circuit/partition_golden.h"

static void test_all_partitions_of_8_mib(void **state)
{
    (void)state;
    check_partitions("update-8MiB-snap", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_partitions_of_8_mib)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
