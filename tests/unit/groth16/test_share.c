/* Sharing partitions between devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "groth16/share.h"

static void assert_ok(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s: %s", cuzk_code_name(st.code), st.msg);
}

static const struct {
    double speed[4];
    bool is_free[4];
    uint32_t n, dev, left, max, want;
} quotas[] = {
    {{0}, {true}, 1, 0, 10, 16, 10},
    {{0}, {true}, 1, 0, 10, 4, 4},
    {{0}, {true}, 1, 0, 0, 4, 0},
    {{0, 0}, {true, true}, 2, 0, 10, 16, 5},
    {{0, 0}, {true, true}, 2, 1, 5, 16, 3},
    {{0, 0}, {true, false}, 2, 0, 10, 16, 10}, /* the other is busy: it may steal later */
    {{1, 3}, {true, true}, 2, 0, 8, 16, 2},    /* by speed */
    {{1, 3}, {true, true}, 2, 1, 8, 16, 6},
    {{0, 4}, {true, true}, 2, 0, 8, 16, 4},    /* unknown counts as the mean */
    {{1, 1000}, {true, true}, 2, 0, 4, 16, 1}, /* at least one */
    {{1, 1, 1, 1}, {true, true, true, true}, 4, 2, 10, 16, 3},
    {{1, 1, 1, 1}, {true, false, false, true}, 4, 1, 9, 16, 3}, /* its own entry counts as free */
};

static void test_quota_follows_speed_and_who_is_free(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(quotas); i++) {
        uint32_t got = share_quota(quotas[i].speed, quotas[i].is_free, quotas[i].n, quotas[i].dev,
                                   quotas[i].left, quotas[i].max);
        if (got != quotas[i].want)
            fail_msg("case %zu: %u, want %u", i, got, quotas[i].want);
    }
}

static void test_only_the_owner_claims_and_finishes(void **state)
{
    (void)state;
    share s;
    assert_ok(share_init(&s, 3));
    assert_true(share_take(&s, 1, 0));
    assert_false(share_take(&s, 2, 0));
    assert_false(share_claim(&s, 2, 0));
    assert_false(share_finish(&s, 2, 0));
    assert_true(share_claim(&s, 1, 0));
    assert_false(share_claim(&s, 1, 0)); /* once */
    assert_true(share_finish(&s, 1, 0));
    assert_false(share_finish(&s, 1, 0));
    assert_int_equal(share_count(&s, SHARE_DONE), 1);
    assert_false(share_give_back(&s, 1, 0, true)); /* done stays done */
    share_fini(&s);
    share_fini(&s);
}

static void test_steal_takes_half_of_the_unclaimed_from_the_end(void **state)
{
    (void)state;
    share s;
    uint32_t idx[10];
    assert_ok(share_init(&s, 10));
    for (uint32_t k = 0; k < 10; k++)
        assert_true(share_take(&s, k < 8 ? 0 : 1, k));
    assert_true(share_claim(&s, 0, 0));
    assert_true(share_claim(&s, 0, 1));
    assert_int_equal(share_steal(&s, 2, idx, 10), 3); /* device 0 has 6 unclaimed */
    assert_int_equal(idx[0], 5);
    assert_int_equal(idx[2], 7);
    assert_false(share_claim(&s, 0, 7));
    assert_true(share_claim(&s, 2, 7));
    assert_int_equal(share_steal(&s, 2, idx, 1), 1); /* at most max; own ones are not stolen */
    assert_int_equal(idx[0], 4);
    /* A claimed one is never taken away. */
    for (uint32_t k = 2; k < 4; k++)
        assert_true(share_claim(&s, 0, k));
    assert_true(share_claim(&s, 1, 8));
    assert_true(share_claim(&s, 1, 9));
    /* Taken over once, the rest stays with device 2, until it gives one back. */
    assert_int_equal(share_steal(&s, 3, idx, 10), 0);
    assert_true(share_give_back(&s, 2, 5, false));
    assert_true(share_take(&s, 2, 5));
    assert_int_equal(share_steal(&s, 3, idx, 10), 1);
    assert_int_equal(idx[0], 5);
    share_fini(&s);
}

static void test_failed_partitions_avoid_their_device_while_others_live(void **state)
{
    (void)state;
    share s;
    assert_ok(share_init(&s, 4));
    for (uint32_t k = 0; k < 3; k++)
        assert_true(share_take(&s, 0, k));
    assert_true(share_claim(&s, 0, 0));
    assert_true(share_finish(&s, 0, 0));
    assert_true(share_claim(&s, 0, 1));
    assert_int_equal(share_fail_device(&s, 0, true),
                     2); /* not the finished one, nor the free one */
    assert_false(share_may_take(&s, 0, 1, 3));
    assert_true(share_may_take(&s, 1, 1, 3));
    assert_true(share_may_take(&s, 0, 1, 1)); /* the only usable one */
    assert_true(share_may_take(&s, 0, 3, 3));
    share_redo(&s, 0); /* a finished one that was wrong */
    assert_false(share_may_take(&s, 0, 0, 3));
    assert_true(share_take(&s, 1, 0));
    /* Stealing respects it too. */
    uint32_t idx[4];
    assert_int_equal(share_steal(&s, 0, idx, 4), 0);
    assert_int_equal(share_steal(&s, 2, idx, 4), 1);
    share_fini(&s);
}

static void test_giving_back_without_blame_leaves_no_mark(void **state)
{
    (void)state;
    share s;
    assert_ok(share_init(&s, 2));
    assert_true(share_take(&s, 0, 1));
    assert_true(share_give_back(&s, 0, 1, false));
    assert_true(share_may_take(&s, 0, 1, 3));
    share_fini(&s);
}

/* Any order of steps leaves each partition finished by exactly one device. */
static void test_random_runs_finish_each_partition_once(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 300; seed++) {
        uint32_t n = 1 + (uint32_t)(rand_r(&seed) % 16), n_dev = 1 + (uint32_t)(rand_r(&seed) % 4);
        uint32_t finished[16] = {0}, idx[16], first_seed = seed;
        share s;
        assert_ok(share_init(&s, n));
        for (int step = 0; step < 10000 && share_count(&s, SHARE_DONE) < n; step++) {
            uint32_t d = (uint32_t)rand_r(&seed) % n_dev, k = (uint32_t)rand_r(&seed) % n;
            switch (rand_r(&seed) % 6) {
            case 0:
                if (share_may_take(&s, d, k, (1u << n_dev) - 1))
                    share_take(&s, d, k);
                break;
            case 1:
                share_steal(&s, d, idx, n);
                break;
            case 2:
            case 3:
                share_claim(&s, d, k);
                break;
            case 4:
                if (s.parts[k].state == SHARE_CLAIMED)
                    finished[k] += share_finish(&s, d, k);
                break;
            default:
                if (rand_r(&seed) % 8 == 0)
                    share_fail_device(&s, d, rand_r(&seed) % 2);
            }
        }
        for (uint32_t k = 0; k < n; k++)
            if (finished[k] != 1)
                fail_msg("seed %u: partition %u of %u finished %u times", first_seed, k, n,
                         finished[k]);
        share_fini(&s);
    }
}

static void test_out_of_memory_is_reported(void **state)
{
    (void)state;
    share s;
    mem_fail_nth(1);
    assert_int_equal(share_init(&s, 4).code, CUZK_E_NOMEM);
    mem_fail_nth(0);
    share_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quota_follows_speed_and_who_is_free),
        cmocka_unit_test(test_only_the_owner_claims_and_finishes),
        cmocka_unit_test(test_steal_takes_half_of_the_unclaimed_from_the_end),
        cmocka_unit_test(test_failed_partitions_avoid_their_device_while_others_live),
        cmocka_unit_test(test_giving_back_without_blame_leaves_no_mark),
        cmocka_unit_test(test_random_runs_finish_each_partition_once),
        cmocka_unit_test(test_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
