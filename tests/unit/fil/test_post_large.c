/* WindowPoSt proofs of 32 and 64 GiB, made from sectors whose nodes are all the same. */
#include "large_window.h"

/* 24,960 bytes a sector: the size of the vanilla proofs that clients send for 32 GiB. */
static void test_window_files_have_the_known_size(void **state)
{
    (void)state;
    window w = make_window("StackedDrgWindow32GiBV1_2", 1);
    assert_int_equal(w.lens[0], 24960);
    window_free(&w);
}

static void test_few_sectors(void **state)
{
    (void)state;
    check_window("StackedDrgWindow32GiBV1", 3, 1, NULL);
    check_window("StackedDrgWindow32GiBV1_2", 3, 1, NULL);
    check_window("StackedDrgWindow64GiBV1_2", 2, 1, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window_files_have_the_known_size),
        cmocka_unit_test(test_few_sectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
