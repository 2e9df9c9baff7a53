/* PoRep proofs of many partitions; test_witness_golden looks at first and last partitions only. */
#include "unit/circuit/partition_golden.h"

static void test_all_partitions_of_a_non_interactive_proof(void **state)
{
    (void)state;
    check_partitions("porep-2KiB-NonInteractive", 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_partitions_of_a_non_interactive_proof)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
