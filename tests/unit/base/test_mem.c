#include "base_test.h"
#include "base/arena.h"
#include "base/mem.h"

#define HUGE_BYTES ((size_t)2 << 20)

static void test_blocks_are_aligned(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 7, 64, 4097, HUGE_BYTES - 1, HUGE_BYTES, HUGE_BYTES + 1};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        for (size_t align = 8; align <= 4096; align *= 2) {
            uint8_t *p = mem_alloc(sizes[i], align);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % align, 0);
            if (sizes[i] >= HUGE_BYTES)
                assert_int_equal((uintptr_t)p % HUGE_BYTES, 0);
            if (sizes[i]) {
                p[0] = 1;
                p[sizes[i] - 1] = 2;
            }
            mem_free(p);
        }
    }
}

static void test_zalloc_zeroes_reused_memory(void **state)
{
    (void)state;
    uint8_t *p = mem_alloc(1000, 8);
    assert_non_null(p);
    memset(p, 0xee, 1000);
    mem_free(p);
    p = mem_zalloc(1000, 8);
    assert_non_null(p);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(p[i], 0);
    mem_free(p);
}

static void test_impossible_sizes_fail(void **state)
{
    (void)state;
    assert_null(mem_alloc(SIZE_MAX, 8));
    assert_null(mem_alloc(SIZE_MAX - 63, 64));
    assert_null(mem_alloc((size_t)PTRDIFF_MAX, 4096));
    assert_null(mem_zalloc(SIZE_MAX, 64));
}

static void test_realloc_keeps_contents(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 10, 5, 100, 4096, 100, HUGE_BYTES + 5, 3, 2, 1};
    uint8_t *p = NULL;
    size_t old = 0;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        uint8_t *q = mem_realloc(p, old, sizes[i]);
        assert_non_null(q);
        assert_int_equal((uintptr_t)q % 16, 0);
        for (size_t k = 0; k < old && k < sizes[i]; k++)
            assert_int_equal(q[k], (uint8_t)(k * 7));
        for (size_t k = 0; k < sizes[i]; k++)
            q[k] = (uint8_t)(k * 7);
        p = q;
        old = sizes[i];
    }
    /* A failed grow leaves the old block valid. */
    mem_fail_nth(1);
    assert_null(mem_realloc(p, old, 1 << 16));
    assert_int_equal(p[0], 0);
    mem_free(p);
}

static void test_statistics_follow_live_memory(void **state)
{
    (void)state;
    mem_stats before = mem_get_stats();
    void *a = mem_alloc(1 << 20, 64), *b = mem_alloc(3 << 20, 64);
    assert_non_null(a);
    assert_non_null(b);
    mem_stats during = mem_get_stats();
    /* The allocator's slack is counted too: up to the alignment for a large block. */
    assert_in_range(during.live_bytes - before.live_bytes, 4u << 20, (6u << 20) + 65536);
    assert_true(during.peak_bytes >= during.live_bytes);
    assert_int_equal(during.n_allocs - before.n_allocs, 2);
    mem_free(a);
    mem_free(b);
    mem_free(NULL);
    mem_stats after = mem_get_stats();
    assert_int_equal(after.live_bytes, before.live_bytes);
    assert_true(after.peak_bytes >= during.peak_bytes);
}

static void test_only_the_nth_allocation_fails(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 6; n++) {
        mem_fail_nth(n);
        for (uint64_t i = 1; i <= 8; i++) {
            void *p = mem_alloc(16, 16);
            assert_int_equal(p == NULL, i == n);
            mem_free(p);
        }
        mem_fail_nth(0);
    }
}

static void test_mul_reports_overflow(void **state)
{
    (void)state;
    size_t out = 1;
    assert_true(mem_mul(&out, SIZE_MAX / 2, 2));
    assert_int_equal(out, SIZE_MAX - 1);
    assert_false(mem_mul(&out, SIZE_MAX / 2 + 1, 2));
    assert_int_equal(out, 0);
    assert_true(mem_mul(&out, 0, SIZE_MAX));
    assert_int_equal(out, 0);
}

static void test_wipe_and_strdup(void **state)
{
    (void)state;
    char *s = mem_strdup("secret");
    assert_non_null(s);
    assert_string_equal(s, "secret");
    mem_wipe(s, 6);
    static const char zeros[7];
    assert_memory_equal(s, zeros, 7);
    mem_wipe(s, 0);
    mem_free(s);
    mem_fail_nth(1);
    assert_null(mem_strdup("x"));
}

static void test_arena_hands_out_disjoint_zeroed_pieces(void **state)
{
    (void)state;
    arena a = {0};
    enum { N = 400 };
    uint8_t *p[N];
    size_t len[N];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < N; i++) {
            size_t align = (size_t)1 << (i % 7);
            len[i] = i * 37 % 900;
            p[i] = arena_alloc(&a, len[i], align);
            assert_non_null(p[i]);
            assert_int_equal((uintptr_t)p[i] % align, 0);
            for (size_t k = 0; k < len[i]; k++)
                assert_int_equal(p[i][k], 0);
            memset(p[i], (int)(i % 255 + 1), len[i]);
        }
        for (size_t i = 0; i < N; i++) {
            for (size_t k = 0; k < len[i]; k++)
                assert_int_equal(p[i][k], i % 255 + 1);
        }
        assert_true(a.used_bytes <= a.total_bytes);
        arena_reset(&a);
        assert_int_equal(a.used_bytes, 0);
    }
    arena_fini(&a);
}

static void test_arena_reset_keeps_the_largest_block(void **state)
{
    (void)state;
    arena a = {0};
    assert_non_null(arena_alloc(&a, 100, 8));
    assert_non_null(arena_alloc(&a, 5u << 20, 64));
    assert_non_null(arena_alloc(&a, 2u << 20, 8)); /* the largest is in the middle of the list */
    arena_reset(&a);
    assert_true(a.total_bytes >= 5u << 20 && a.total_bytes < 7u << 20);
    uint64_t n_allocs = mem_get_stats().n_allocs;
    assert_non_null(arena_alloc(&a, 5u << 20, 64));
    assert_int_equal(mem_get_stats().n_allocs, n_allocs);
    arena_fini(&a);
}

static void test_arena_fini_returns_all_and_may_repeat(void **state)
{
    (void)state;
    uint64_t live = mem_get_stats().live_bytes;
    arena a = {0};
    arena_fini(&a);
    arena_reset(&a);
    for (int i = 0; i < 100; i++)
        assert_non_null(arena_alloc(&a, 10000, 8));
    assert_true(mem_get_stats().live_bytes > live + 1000000 - 1);
    arena_fini(&a);
    arena_fini(&a);
    assert_int_equal(mem_get_stats().live_bytes, live);
    assert_null(a.head);
}

static void test_arena_survives_failed_allocations(void **state)
{
    (void)state;
    arena a = {0};
    mem_fail_nth(1);
    assert_null(arena_alloc(&a, 8, 8));
    uint8_t *p = arena_alloc(&a, 8, 8);
    assert_non_null(p);
    memset(p, 9, 8);
    assert_null(arena_alloc(&a, SIZE_MAX, 64));
    assert_null(arena_alloc(&a, SIZE_MAX - 64, 1));
    mem_fail_nth(1);
    assert_null(arena_alloc(&a, 1 << 20, 8));
    assert_non_null(arena_alloc(&a, 8, 8));
    assert_int_equal(p[7], 9);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_aligned),
        cmocka_unit_test(test_zalloc_zeroes_reused_memory),
        cmocka_unit_test(test_impossible_sizes_fail),
        cmocka_unit_test(test_realloc_keeps_contents),
        cmocka_unit_test(test_statistics_follow_live_memory),
        cmocka_unit_test(test_only_the_nth_allocation_fails),
        cmocka_unit_test(test_mul_reports_overflow),
        cmocka_unit_test(test_wipe_and_strdup),
        cmocka_unit_test(test_arena_hands_out_disjoint_zeroed_pieces),
        cmocka_unit_test(test_arena_reset_keeps_the_largest_block),
        cmocka_unit_test(test_arena_fini_returns_all_and_may_repeat),
        cmocka_unit_test(test_arena_survives_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
