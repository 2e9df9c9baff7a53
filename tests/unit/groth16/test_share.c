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

/* Devices that are open and may take anything. */
static share_devices devices(const double *speed, uint32_t n)
{
    share_devices all = {.n = n};
    for (uint32_t i = 0; i < n; i++)
        all.d[i] = (share_device){.speed = speed[i], .is_open = true, .n_may = UINT32_MAX};
    return all;
}

static const struct {
    double speed[4];
    bool is_closed[4];
    uint32_t n, dev, left, max, want;
} quotas[] = {
    {{0}, {0}, 1, 0, 10, 16, 10},
    {{0}, {0}, 1, 0, 10, 4, 4},
    {{0}, {0}, 1, 0, 0, 4, 0},
    {{0, 0}, {0}, 2, 0, 10, 16, 5},
    {{0, 0}, {0}, 2, 0, 5, 16, 3}, /* of equals the lower one has more */
    {{0, 0}, {0}, 2, 1, 5, 16, 2},
    {{0, 0}, {0}, 2, 1, 1, 16, 0},
    {{0, 0}, {false, true}, 2, 0, 10, 16, 10}, /* the other is busy: it may steal later */
    {{1, 3}, {0}, 2, 0, 8, 16, 2},             /* by speed */
    {{1, 3}, {0}, 2, 1, 8, 16, 6},
    {{0, 4}, {0}, 2, 0, 8, 16, 4},    /* unknown counts as the mean */
    {{1, 1000}, {0}, 2, 0, 4, 16, 0}, /* too slow */
    {{1, 1000}, {0}, 2, 1, 4, 16, 4},
    {{1, 1000}, {false, true}, 2, 0, 4, 16, 4}, /* but better than none */
    {{1, 1, 1, 1}, {0}, 4, 1, 10, 16, 3},
    {{1, 1, 1, 1}, {0}, 4, 2, 10, 16, 2},
    {{1, 1, 1, 1}, {false, true, true, false}, 4, 1, 9, 16, 3}, /* who asks counts as open */
    /* measured: two H200, which rounding up gave 6 and 4; an H200 beside a CPU, which got 1 and took
     * 4 over */
    {{1.355, 1.308}, {0}, 2, 0, 10, 10, 5},
    {{1.355, 1.308}, {0}, 2, 1, 10, 10, 5},
    {{18, 0.58}, {0}, 2, 0, 13, 16, 13},
    {{18, 0.58}, {0}, 2, 1, 13, 16, 0},
    {{18, 0.58}, {0}, 2, 1, 32, 16, 1},
};

static void test_quota_follows_speed_and_who_is_open(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(quotas); i++) {
        share_devices all = devices(quotas[i].speed, quotas[i].n);
        for (uint32_t d = 0; d < all.n; d++)
            all.d[d].is_open = !quotas[i].is_closed[d];
        uint32_t got = share_quota(&all, quotas[i].dev, quotas[i].left, quotas[i].max);
        if (got != quotas[i].want)
            fail_msg("case %zu: %u, want %u", i, got, quotas[i].want);
    }
}

/* An H200 takes at most ten at a time: the CPU beside it leaves it the other three. */
static void test_quota_counts_what_others_still_have(void **state)
{
    (void)state;
    share_devices all = devices((const double[]){18, 0.58}, 2);
    all.d[0].backlog = 9.5;
    assert_int_equal(share_quota(&all, 1, 3, 10), 0);
    all.d[0].at_most = 2; /* it should have been done for long */
    assert_int_equal(share_quota(&all, 1, 3, 10), 3);
    all.d[0].at_most = 100; /* no news */
    assert_int_equal(share_quota(&all, 1, 3, 10), 0);
    all.d[0].backlog = 40;
    assert_int_equal(share_quota(&all, 1, 3, 10), 1);
}

/* The CPU beside an H200 gets one of 13 after 44 batches without. */
static void test_hope_brings_a_slow_device_back(void **state)
{
    (void)state;
    assert_true(share_hoped_speed(0.58, 0) == 0.58);
    assert_true(share_hoped_speed(0, 1000) == 0);
    assert_true(share_hoped_speed(1, UINT32_MAX) > 10000);
    for (uint32_t n = 0; n < 60; n++) {
        share_devices all = devices((const double[]){18, share_hoped_speed(0.58, n)}, 2);
        assert_int_equal(share_quota(&all, 1, 13, 10), n < 44 ? 0 : 1);
    }
}

/* Time until all are made, when device i makes n[i]. */
static double makespan(const share_devices *all, const uint32_t *n)
{
    double most = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        double t = n[i] ? (all->d[i].backlog + n[i]) / all->d[i].speed : 0;
        most = t > most ? t : most;
    }
    return most;
}

/* The least over all ways to give left partitions to devices from i on. */
static double least_makespan(const share_devices *all, uint32_t *n, uint32_t i, uint32_t left)
{
    n[i] = left;
    if (i + 1 == all->n)
        return makespan(all, n);
    double best = 1e9;
    for (uint32_t k = 0; k <= left; k++) {
        n[i] = k;
        double t = least_makespan(all, n, i + 1, left - k);
        best = t < best ? t : best;
    }
    return best;
}

static void test_quotas_are_the_fastest_way(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 200; seed++) {
        unsigned rnd = seed;
        uint32_t n[4] = {0}, left = (uint32_t)(rand_r(&rnd) % 14), sum = 0;
        share_devices all = {.n = 1 + (uint32_t)(rand_r(&rnd) % 4)};
        for (uint32_t i = 0; i < all.n; i++)
            all.d[i] = (share_device){.speed = (1 + rand_r(&rnd) % 40) / 4.0,
                                      .backlog = rand_r(&rnd) % 3 ? 0 : (rand_r(&rnd) % 9) / 2.0,
                                      .is_open = true,
                                      .n_may = left};
        for (uint32_t i = 0; i < all.n; i++)
            sum += n[i] = share_quota(&all, i, left, left);
        double got = makespan(&all, n), want = least_makespan(&all, n, 0, left);
        if (sum != left || got > want * (1 + 1e-12))
            fail_msg("seed %u: %u of %u in %f, could be %f", seed, sum, left, got, want);
    }
}

/* Partition 0 has failed on all but the slowest device, which has to take it. */
static void test_what_the_fast_may_not_take_goes_to_the_slow(void **state)
{
    (void)state;
    share s;
    share_devices all = devices((const double[]){10, 10, 0.1}, 3);
    assert_ok(share_init(&s, 4));
    s.parts[0].avoid = 3;
    for (uint32_t d = 0; d < 3; d++)
        all.d[d].n_may = share_count_for(&s, d, 7);
    assert_int_equal(all.d[0].n_may, 3);
    assert_int_equal(all.d[2].n_may, 4);
    /* all count as the fast ones' at first, who find only three */
    assert_int_equal(share_quota(&all, 0, 4, 4), 2);
    assert_int_equal(share_quota(&all, 1, 4, 4), 2);
    assert_int_equal(share_quota(&all, 2, 4, 4), 0);
    for (uint32_t k = 1; k < 4; k++)
        assert_true(share_take(&s, k % 2, k));
    all.d[0].n_may = share_count_for(&s, 0, 7);
    all.d[1].n_may = share_count_for(&s, 1, 7);
    assert_int_equal(all.d[0].n_may + all.d[1].n_may, 0);
    assert_int_equal(share_quota(&all, 0, 1, 4), 0);
    assert_int_equal(share_quota(&all, 2, 1, 4), 1);
    share_fini(&s);
}

/* Whatever is free, whoever failed on it: with all devices idle, one gets something. */
static void test_idle_devices_never_leave_all_to_each_other(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 2000; seed++) {
        unsigned rnd = seed;
        share s;
        share_devices all = {.n = 1 + (uint32_t)(rand_r(&rnd) % 4)};
        uint32_t left = 1 + (uint32_t)(rand_r(&rnd) % 6), usable = 0, got = 0;
        assert_ok(share_init(&s, left));
        for (uint32_t k = 0; k < left; k++)
            s.parts[k].avoid = (uint32_t)(rand_r(&rnd) % 16);
        while (!usable)
            usable = (uint32_t)rand_r(&rnd) % (1u << all.n);
        for (uint32_t i = 0; i < all.n; i++)
            all.d[i] = (share_device){.speed = rand_r(&rnd) % 3 ? rand_r(&rnd) % 100 / 7.0 : 0,
                                      .is_open = usable >> i & 1,
                                      .n_may = share_count_for(&s, i, usable)};
        for (uint32_t i = 0; i < all.n; i++)
            if (usable >> i & 1)
                got += share_quota(&all, i, left, 1 + (uint32_t)(rand_r(&rnd) % 4));
        if (got == 0)
            fail_msg("seed %u: nobody takes any of %u", seed, left);
        share_fini(&s);
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

static uint32_t steal(share *s, share_devices *all, uint32_t dev, uint32_t *idx, uint32_t max)
{
    for (uint32_t i = 0; i < all->n; i++)
        all->d[i].backlog = share_backlog(s, i);
    return share_steal(s, all, dev, idx, max);
}

static void test_steal_takes_from_the_end(void **state)
{
    (void)state;
    share s;
    uint32_t idx[10];
    share_devices all = devices((const double[]){1, 1, 1, 1}, 4);
    assert_ok(share_init(&s, 10));
    for (uint32_t k = 0; k < 10; k++)
        assert_true(share_take(&s, k < 8 ? 0 : 1, k));
    assert_true(share_claim(&s, 0, 0));
    assert_true(share_claim(&s, 0, 1));
    /* device 0 has 6 unclaimed and two halves: the third is made after 3.25, the fourth, after 4.25,
     * would be ready there after 4 */
    assert_int_equal(steal(&s, &all, 2, idx, 10), 3);
    assert_int_equal(idx[0], 5);
    assert_int_equal(idx[2], 7);
    assert_false(share_claim(&s, 0, 7));
    assert_true(share_claim(&s, 2, 7));
    assert_int_equal(steal(&s, &all, 3, idx, 1), 1); /* at most max */
    assert_int_equal(idx[0], 4);
    /* A claimed one is never taken away. */
    for (uint32_t k = 2; k < 4; k++)
        assert_true(share_claim(&s, 0, k));
    assert_true(share_claim(&s, 1, 8));
    assert_true(share_claim(&s, 1, 9));
    /* Taken over once, the rest stays with device 2, until it gives one back. */
    assert_int_equal(steal(&s, &all, 3, idx, 10), 0);
    assert_true(share_give_back(&s, 2, 5, false));
    assert_true(share_take(&s, 2, 5));
    assert_int_equal(steal(&s, &all, 3, idx, 10), 1);
    assert_int_equal(idx[0], 5);
    share_fini(&s);
}

/* Device 0 has claimed and unclaimed ones, device 1 nothing. */
static const struct {
    double speed[2], at_most;
    uint32_t n_claimed, n_unclaimed, want;
} steals[] = {
    {{1, 1}, 0, 0, 1, 0}, /* what the thief makes again makes it later */
    {{1, 1}, 0, 1, 1, 1},
    {{1, 1}, 0, 0, 2, 1},
    {{1, 1}, 0, 0, 10, 5},
    {{0, 0}, 0, 0, 10, 5},
    {{3, 1}, 0, 1, 3, 0},
    {{3, 1}, 0, 1, 4, 1},
    {{1, 3}, 0, 1, 3, 3},
    {{1, 0.1}, 0, 1, 9, 0},
    {{18, 0.58}, 0, 1, 12, 0}, /* measured: the CPU took 4 over */
    {{18, 0.58}, 4, 1, 12, 1}, /* unless the other is late */
    {{1.355, 1.308}, 0, 1, 0, 0},
    {{1.308, 1.355}, 0, 2, 0, 0}, /* measured: claimed ones are left */
};

static void test_steal_ends_sooner(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(steals); i++) {
        share s;
        share_devices all = devices(steals[i].speed, 2);
        uint32_t idx[16], n = steals[i].n_claimed + steals[i].n_unclaimed;
        all.d[0].at_most = steals[i].at_most;
        assert_ok(share_init(&s, n));
        for (uint32_t k = 0; k < n; k++) {
            assert_true(share_take(&s, 0, k));
            assert_true(k >= steals[i].n_claimed || share_claim(&s, 0, k));
        }
        uint32_t got = steal(&s, &all, 1, idx, 16);
        if (got != steals[i].want)
            fail_msg("case %zu: %u, want %u", i, got, steals[i].want);
        for (uint32_t k = 0; k < got; k++)
            assert_int_equal(idx[k], n - got + k);
        share_fini(&s);
    }
}

/* The victim is who would be busy longest, not who has most. */
static void test_steal_helps_the_slowest(void **state)
{
    (void)state;
    share s;
    uint32_t idx[8];
    share_devices all = devices((const double[]){10, 1, 10}, 3);
    assert_ok(share_init(&s, 8));
    for (uint32_t k = 0; k < 8; k++)
        assert_true(share_take(&s, k < 5 ? 0 : 1, k));
    assert_int_equal(steal(&s, &all, 2, idx, 8), 3);
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
    share_devices all = devices((const double[]){9, 1, 9}, 3);
    assert_int_equal(steal(&s, &all, 0, idx, 4), 0);
    assert_int_equal(steal(&s, &all, 2, idx, 4), 1);
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
        share_devices all = devices((const double[]){1, 2, 0, 4}, n_dev);
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
                steal(&s, &all, d, idx, n);
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
        cmocka_unit_test(test_quota_follows_speed_and_who_is_open),
        cmocka_unit_test(test_quota_counts_what_others_still_have),
        cmocka_unit_test(test_hope_brings_a_slow_device_back),
        cmocka_unit_test(test_quotas_are_the_fastest_way),
        cmocka_unit_test(test_what_the_fast_may_not_take_goes_to_the_slow),
        cmocka_unit_test(test_idle_devices_never_leave_all_to_each_other),
        cmocka_unit_test(test_only_the_owner_claims_and_finishes),
        cmocka_unit_test(test_steal_takes_from_the_end),
        cmocka_unit_test(test_steal_ends_sooner),
        cmocka_unit_test(test_steal_helps_the_slowest),
        cmocka_unit_test(test_failed_partitions_avoid_their_device_while_others_live),
        cmocka_unit_test(test_giving_back_without_blame_leaves_no_mark),
        cmocka_unit_test(test_random_runs_finish_each_partition_once),
        cmocka_unit_test(test_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
