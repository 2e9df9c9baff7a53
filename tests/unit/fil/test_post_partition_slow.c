/* More than a whole WindowPoSt partition of 32 GiB, on all threads. */
#include "large_window.h"

static void test_partition_and_one_sector(void **state)
{
    (void)state;
    pool *threads;
    assert_ok(pool_create(&threads, 0));
    print_message("%u threads\n", pool_threads(threads));
    check_window("StackedDrgWindow32GiBV1_2", 2349 + 1, 2, threads);
    pool_destroy(threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_partition_and_one_sector)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
