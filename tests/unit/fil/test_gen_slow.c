/* Sealing 8 MiB, and whole WindowPoSt partitions of 32 GiB and beyond. */
#include "gen_test.h"

static void test_sealed_8mib_is_right(void **state)
{
    (void)state;
    const fil_sector *s = fil_sector_by_name("8MiB");
    const run_ctx alone = {0};
    check_gen_porep(&GEN_ID, s, FIL_SEAL_SYNTHETIC, false, &alone);
    check_gen_porep(&GEN_ID, s, FIL_SEAL_NI, true, &alone);
}

static void test_full_windows_are_right(void **state)
{
    (void)state;
    run_ctx rc = {0};
    assert_ok(pool_create(&rc.pool, 0));
    check_gen_post(&GEN_ID, fil_post_proof_by_name("StackedDrgWindow32GiBV1_2"), 2349, &rc);
    check_gen_post(&GEN_ID, fil_post_proof_by_name("StackedDrgWindow64GiBV1"), 2301, &rc);
    pool_destroy(rc.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sealed_8mib_is_right),
        cmocka_unit_test(test_full_windows_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
