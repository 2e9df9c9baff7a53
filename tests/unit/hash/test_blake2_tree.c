/* Digests of chunks: any cut of the input and any number of threads give the same, that of the definition
 * spelled out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hash/blake2_tree.h"

#define LEN_MAX 1100u

static uint8_t bytes[LEN_MAX];
static pool *threads;

static void assert_ok(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s: %s", cuzk_code_name(st.code), st.msg);
}

/* By the one-shot hash, of one thread. */
static void by_definition(uint8_t out[64], size_t n, size_t chunk)
{
    static uint8_t digests[LEN_MAX * 64];
    size_t n_chunks = 0;
    for (size_t at = 0; at < n; at += chunk)
        blake2b_512(digests + 64 * n_chunks++, bytes + at, n - at < chunk ? n - at : chunk);
    blake2b_512(out, digests, 64 * n_chunks);
}

static const size_t chunks[] = {1, 7, 64, 128, 1000};
static const size_t lengths[] = {0,   1,   6,   7,   8,    63,   64,     65,
                                 128, 129, 700, 999, 1000, 1001, LEN_MAX};

static void test_streamed_is_the_definition(void **state)
{
    (void)state;
    static const size_t pieces[] = {1, 3, 64, 100, LEN_MAX};
    for (size_t c = 0; c < ARRAY_LEN(chunks); c++)
        for (size_t l = 0; l < ARRAY_LEN(lengths); l++)
            for (size_t k = 0; k < ARRAY_LEN(pieces); k++) {
                blake2_tree t;
                uint8_t got[64], want[64];
                size_t n = lengths[l], step = pieces[k];
                by_definition(want, n, chunks[c]);
                assert_ok(blake2_tree_init(&t, chunks[c]));
                for (size_t at = 0; at < n; at += step)
                    blake2_tree_update(&t, bytes + at, n - at < step ? n - at : step);
                assert_ok(blake2_tree_final(&t, got));
                blake2_tree_fini(&t);
                if (memcmp(got, want, 64) != 0)
                    fail_msg("%zu bytes in chunks of %zu, %zu at a time", n, chunks[c], step);
            }
}

/* The first part streamed, so that the pool starts at a border, in the middle of a chunk, or at 0. */
static void test_pool_gives_the_same(void **state)
{
    (void)state;
    static const size_t firsts[] = {0, 7, 50, 64};
    const run_ctx rcs[] = {{0}, {.pool = threads}};
    for (size_t c = 0; c < ARRAY_LEN(chunks); c++)
        for (size_t l = 0; l < ARRAY_LEN(lengths); l++)
            for (size_t k = 0; k < ARRAY_LEN(firsts) * 2; k++) {
                blake2_tree t;
                uint8_t got[64], want[64];
                size_t n = lengths[l], first = firsts[k / 2] < n ? firsts[k / 2] : n;
                by_definition(want, n, chunks[c]);
                assert_ok(blake2_tree_init(&t, chunks[c]));
                blake2_tree_update(&t, bytes, first);
                blake2_tree_update_on_pool(&t, bytes + first, n - first, &rcs[k % 2]);
                assert_ok(blake2_tree_final(&t, got));
                blake2_tree_fini(&t);
                if (memcmp(got, want, 64) != 0)
                    fail_msg("%zu bytes in chunks of %zu, pool from %zu", n, chunks[c], first);
            }
}

static bool cancel_now(void *ctx)
{
    (void)ctx;
    return true;
}

static void test_cancel_is_told_by_final(void **state)
{
    (void)state;
    const run_ctx rc = {.pool = threads, .cancelled = cancel_now};
    const uint8_t zero[64] = {0};
    uint8_t got[64];
    blake2_tree t;
    assert_ok(blake2_tree_init(&t, 64));
    blake2_tree_update_on_pool(&t, bytes, 200, &rc);
    assert_int_equal(blake2_tree_final(&t, got).code, CUZK_E_CANCELLED);
    assert_memory_equal(got, zero, 64);
    blake2_tree_fini(&t);
    blake2_tree_fini(&t);
}

static cuzk_status hash_all(uint8_t out[64])
{
    blake2_tree t;
    const run_ctx rc = {.pool = threads};
    cuzk_status st = blake2_tree_init(&t, 64);
    if (st.code == CUZK_OK) {
        blake2_tree_update(&t, bytes, 100);
        blake2_tree_update(&t, bytes + 100, 28);
        blake2_tree_update_on_pool(&t, bytes + 128, 300, &rc);
        st = blake2_tree_final(&t, out);
    }
    blake2_tree_fini(&t);
    return st;
}

static void test_failing_allocations_are_told(void **state)
{
    (void)state;
    uint64_t live = mem_get_stats().live_bytes, n = 1;
    uint8_t got[64], want[64];
    by_definition(want, 428, 64);
    for (;; n++) {
        mem_fail_nth(n);
        cuzk_status st = hash_all(got);
        mem_fail_nth(0);
        if (st.code == CUZK_OK)
            break;
        assert_int_equal(st.code, CUZK_E_NOMEM);
        assert_int_equal(mem_get_stats().live_bytes, live);
    }
    assert_true(n > 8);
    assert_memory_equal(got, want, 64);
}

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < LEN_MAX; i++)
        bytes[i] = (uint8_t)(i * i + 3 * i + (i >> 7));
    assert_ok(pool_create(&threads, 3));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pool_destroy(threads);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streamed_is_the_definition),
        cmocka_unit_test(test_pool_gives_the_same),
        cmocka_unit_test(test_cancel_is_told_by_final),
        cmocka_unit_test(test_failing_allocations_are_told),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
