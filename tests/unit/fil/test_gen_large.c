/* Generated inputs from 8 MiB to 64 GiB, timed. */
#include "gen_test.h"

static const run_ctx alone;

static void test_interactive_porep_of_every_large_size_is_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIL_N_SECTORS; i++)
        if (FIL_SECTORS[i].sector_bytes > 32 << 10)
            check_gen_porep(&GEN_ID, &FIL_SECTORS[i], i % 2 ? FIL_SEAL_V1 : FIL_SEAL_V1_1, i % 2,
                            &alone);
}

static void test_post_of_every_large_size_is_right(void **state)
{
    (void)state;
    static const char *const names[] = {
        "StackedDrgWinning8MiBV1",   "StackedDrgWinning512MiBV1",  "StackedDrgWinning32GiBV1",
        "StackedDrgWinning64GiBV1",  "StackedDrgWindow8MiBV1",     "StackedDrgWindow8MiBV1_2",
        "StackedDrgWindow512MiBV1",  "StackedDrgWindow512MiBV1_2", "StackedDrgWindow32GiBV1",
        "StackedDrgWindow32GiBV1_2", "StackedDrgWindow64GiBV1_2"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        check_gen_post(&GEN_ID, fil_post_proof_by_name(names[i]), i < 4 ? 1 : 3, &alone);
}

static void test_update_of_every_large_size_is_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIL_N_UPDATE_CONFIGS; i++)
        if (FIL_UPDATE_CONFIGS[i].sector_bytes > 32 << 10)
            check_gen_update(&GEN_ID, &FIL_UPDATE_CONFIGS[i], &alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interactive_porep_of_every_large_size_is_right),
        cmocka_unit_test(test_post_of_every_large_size_is_right),
        cmocka_unit_test(test_update_of_every_large_size_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
