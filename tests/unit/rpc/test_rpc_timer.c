/* Timers: fire once, in order, never after they were killed; owners are kept while they do. */
#include "rpc/timer.h"
#include "base/mem.h"
#include "base/run_ctx.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define N_OWNERS 2000u

typedef struct owner {
    rpc_timer timer;
    atomic_int kept, fired, order;
    atomic_uint_fast64_t fired_ns;
} owner;

static owner owners[N_OWNERS];
static atomic_int n_fired, n_ticks;

static void keep(rpc_timer *tm) { ((owner *)tm)->kept++; }

static void fire(rpc_timer *tm)
{
    owner *o = (owner *)tm;
    o->fired_ns = clock_now_ns();
    o->order = n_fired++;
    o->fired++;
}

static void tick(void *ctx)
{
    (void)ctx;
    n_ticks++;
}

static int set_up(void **state)
{
    rpc_timers *t;
    for (size_t i = 0; i < N_OWNERS; i++) {
        owners[i].timer = (rpc_timer){.pos = 0};
        owners[i].kept = owners[i].fired = owners[i].order = 0;
        owners[i].fired_ns = 0;
    }
    n_fired = n_ticks = 0;
    cuzk_status st = rpc_timers_create(
        &t, &(rpc_timer_ops){.keep = keep, .fire = fire, .tick = tick, .tick_ms = 5});
    *state = t;
    return st.code == CUZK_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    for (size_t i = 0; i < N_OWNERS; i++)
        rpc_timer_kill(*state, &owners[i].timer);
    rpc_timers_destroy(*state);
    return 0;
}

static void wait_fired(int n)
{
    uint64_t end = clock_now_ns() + 20000000000u;
    while (n_fired < n && clock_now_ns() < end)
        sched_yield();
    assert_int_equal(n_fired, n);
}

static void test_each_fires_once_and_not_early(void **state)
{
    uint64_t s = 42, due_ns[N_OWNERS];
    for (size_t i = 0; i < N_OWNERS; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        uint64_t ms = (s >> 33) % 200;
        due_ns[i] = clock_now_ns() + ms * 1000000u;
        assert_true(rpc_timer_set(*state, &owners[i].timer, ms));
    }
    wait_fired((int)N_OWNERS);
    for (size_t i = 0; i < N_OWNERS; i++) {
        assert_int_equal(owners[i].fired, 1);
        assert_int_equal(owners[i].kept, 1);
        assert_true(owners[i].fired_ns >= due_ns[i]);
    }
    assert_true(n_ticks > 0);
}

static void test_order_is_that_of_the_times(void **state)
{
    static const uint64_t ms[] = {150, 50, 100, 20, 120};
    static const int want[] = {4, 1, 2, 0, 3};
    for (size_t i = 0; i < ARRAY_LEN(ms); i++)
        assert_true(rpc_timer_set(*state, &owners[i].timer, ms[i]));
    wait_fired((int)ARRAY_LEN(ms));
    for (size_t i = 0; i < ARRAY_LEN(ms); i++)
        assert_int_equal(owners[i].order, want[i]);
}

static void test_cleared_and_killed_ones_stay_silent(void **state)
{
    for (size_t i = 0; i < 100; i++)
        assert_true(rpc_timer_set(*state, &owners[i].timer, 100000 + i));
    for (size_t i = 0; i < 100; i += 2)
        rpc_timer_clear(*state, &owners[i].timer);
    for (size_t i = 0; i < 100; i += 2)
        assert_int_equal(owners[i].timer.pos, 0);
    rpc_timer_kill(*state, &owners[1].timer);
    assert_false(rpc_timer_set(*state, &owners[1].timer, 0));
    assert_true(rpc_timer_set(*state, &owners[3].timer, 0)); /* moved to the front */
    wait_fired(1);
    assert_int_equal(owners[3].fired, 1);
    assert_true(rpc_timer_set(*state, &owners[0].timer, 0)); /* cleared ones can be set again */
    wait_fired(2);
}

static void test_hasten_only_hastens(void **state)
{
    assert_true(rpc_timer_set(*state, &owners[0].timer, 30));
    uint64_t due = owners[0].timer.due_ns;
    assert_true(rpc_timer_hasten(*state, &owners[0].timer, 100000));
    assert_int_equal(owners[0].timer.due_ns, due);
    assert_true(rpc_timer_hasten(*state, &owners[1].timer, 100000)); /* not set yet: sets */
    assert_true(rpc_timer_hasten(*state, &owners[1].timer, 0));
    wait_fired(2);
}

static void test_far_times_do_not_wrap(void **state)
{
    assert_true(rpc_timer_set(*state, &owners[0].timer, UINT64_MAX));
    assert_true(rpc_timer_set(*state, &owners[1].timer, UINT64_MAX / 1000000u));
    assert_true(rpc_timer_set(*state, &owners[2].timer, 0));
    wait_fired(1);
    assert_int_equal(owners[2].fired, 1);
}

static void test_out_of_memory_is_told(void **state)
{
    for (size_t i = 0; i < 64; i++)
        assert_true(rpc_timer_set(*state, &owners[i].timer, 100000));
    mem_fail_nth(1);
    assert_false(rpc_timer_set(*state, &owners[64].timer, 100000));
    mem_fail_nth(0);
    assert_true(rpc_timer_set(*state, &owners[64].timer, 100000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_fires_once_and_not_early, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order_is_that_of_the_times, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cleared_and_killed_ones_stay_silent, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_hasten_only_hastens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_far_times_do_not_wrap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_out_of_memory_is_told, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
