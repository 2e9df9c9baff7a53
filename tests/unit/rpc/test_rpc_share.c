#include "rpc/share.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void test_one_connection_gets_half_and_all_get_the_rest(void **state)
{
    static rpc_share s = {.max = 9};
    atomic_uint *held[9];
    (void)state;
    assert_int_equal(rpc_share_per_connection(9), 5);
    for (int i = 0; i < 5; i++)
        assert_non_null(held[i] = rpc_share_enter(&s, "fd:7"));
    assert_null(rpc_share_enter(&s, "fd:7"));
    for (int i = 5; i < 9; i++)
        assert_non_null(held[i] = rpc_share_enter(&s, "fd:8"));
    assert_null(rpc_share_enter(&s, "fd:8"));
    assert_null(rpc_share_enter(&s, "fd:9"));
    rpc_share_leave(&s, NULL);
    rpc_share_leave(&s, held[0]);
    assert_non_null(held[0] = rpc_share_enter(&s, "fd:9"));
    for (int i = 0; i < 9; i++)
        rpc_share_leave(&s, held[i]);
    assert_int_equal(atomic_load(&s.n), 0);
    for (size_t i = 0; i < RPC_SHARE_SLOTS; i++)
        assert_int_equal(atomic_load(&s.by_peer[i]), 0);
}

static void test_the_smallest_limit_lets_one_in(void **state)
{
    static rpc_share s = {.max = 1};
    (void)state;
    atomic_uint *slot = rpc_share_enter(&s, "fd:7");
    assert_non_null(slot);
    assert_null(rpc_share_enter(&s, "fd:8"));
    rpc_share_leave(&s, slot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_connection_gets_half_and_all_get_the_rest),
        cmocka_unit_test(test_the_smallest_limit_lets_one_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
