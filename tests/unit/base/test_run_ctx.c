/* run_for: every chunk once, cancel and yield between slices, urgent slices first. */
#include "base/pool_int.h"
#include "base/run_ctx.h"
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
/* cmocka needs the headers above first */
#include <cmocka.h>
#include <time.h>

#define N 5000u

typedef struct counts {
    atomic_uint runs[N];
    atomic_uint n_all, inside; /* inside: yields seen from within a chunk */
    unsigned n_yields, cancel_after;
    uint64_t last_ns, longest_ns;
    bool sleeps;
} counts;

static void chunk(void *ctx, size_t i, unsigned thread)
{
    counts *c = ctx;
    (void)thread;
    atomic_fetch_add(&c->runs[i], 1);
    atomic_fetch_add(&c->n_all, 1);
    if (c->sleeps)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static void on_yield(void *ctx)
{
    counts *c = ctx;
    uint64_t now = clock_now_ns();
    if (c->n_yields++ && now - c->last_ns > c->longest_ns)
        c->longest_ns = now - c->last_ns;
    c->last_ns = now;
    if (pool_is_inside())
        atomic_fetch_add(&c->inside, 1);
}

static bool on_cancel(void *ctx)
{
    counts *c = ctx;
    return c->cancel_after && c->n_yields >= c->cancel_after;
}

static void test_every_chunk_runs_once(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 3; threads++) {
        static counts c;
        c = (counts){0};
        pool *p;
        assert_int_equal(pool_create(&p, threads).code, CUZK_OK);
        run_ctx rc = {.pool = p, .yield = on_yield, .yield_ctx = &c};
        assert_int_equal(run_for(&rc, N, chunk, &c).code, CUZK_OK);
        for (unsigned i = 0; i < N; i++)
            assert_int_equal(atomic_load(&c.runs[i]), 1);
        assert_true(c.n_yields > 1);
        assert_int_equal(run_for(&rc, 0, chunk, &c).code, CUZK_OK);
        pool_destroy(p);
    }
}

static void test_yield_comes_every_slice(void **state)
{
    (void)state;
    static counts c;
    c = (counts){.sleeps = true};
    run_ctx rc = {.yield = on_yield, .yield_ctx = &c};
    assert_int_equal(run_for(&rc, N / 4, chunk, &c).code, CUZK_OK);
    /* 1250 chunks of at least 0.2 ms: at least 250 ms in slices of at most about 40 */
    assert_true(c.n_yields >= 6);
    assert_true(c.longest_ns < 400000000u);
}

static void test_cancel_stops_between_slices(void **state)
{
    (void)state;
    static counts c;
    c = (counts){.cancel_after = 3};
    run_ctx rc = {.yield = on_yield, .yield_ctx = &c, .cancelled = on_cancel, .cancel_ctx = &c};
    assert_int_equal(run_for(&rc, N, chunk, &c).code, CUZK_E_CANCELLED);
    assert_int_equal(c.n_yields, 3);
    assert_true(atomic_load(&c.n_all) < N);
}

typedef struct nested {
    const run_ctx *rc;
    counts *c;
    atomic_uint failed;
} nested;

static void outer_chunk(void *ctx, size_t i, unsigned thread)
{
    nested *n = ctx;
    (void)i;
    (void)thread;
    if (run_for(n->rc, 100, chunk, n->c).code != CUZK_OK)
        atomic_fetch_add(&n->failed, 1);
}

static void test_no_yield_from_inside_a_chunk(void **state)
{
    (void)state;
    static counts c;
    c = (counts){0};
    pool *p;
    assert_int_equal(pool_create(&p, 2).code, CUZK_OK);
    run_ctx rc = {.pool = p, .yield = on_yield, .yield_ctx = &c};
    nested n = {.rc = &rc, .c = &c};
    assert_int_equal(run_for(&rc, 10, outer_chunk, &n).code, CUZK_OK);
    assert_int_equal(atomic_load(&n.failed), 0);
    assert_int_equal(atomic_load(&c.n_all), 1000);
    assert_int_equal(atomic_load(&c.inside), 0);
    pool_destroy(p);
}

#define BULK_CALLERS 4u
#define URGENT_LOOPS 100u

typedef struct crowd {
    pool *pool;
    atomic_uint n_slices; /* bulk slices begun */
    atomic_bool is_over;
    unsigned n_seen; /* n_slices in the urgent loop */
} crowd;

/* Lasts until all others wait: whoever is served next was chosen among all. */
static void bulk_chunk(void *ctx, size_t i, unsigned thread)
{
    crowd *c = ctx;
    (void)i;
    (void)thread;
    atomic_fetch_add(&c->n_slices, 1);
    while (!atomic_load(&c->is_over) && pool_n_waiting(c->pool) < BULK_CALLERS)
        sched_yield();
}

static void *bulk_caller(void *arg)
{
    crowd *c = arg;
    const run_ctx rc = {.pool = c->pool};
    while (!atomic_load(&c->is_over) && run_for(&rc, 1, bulk_chunk, c).code == CUZK_OK)
        ;
    return NULL;
}

static void urgent_chunk(void *ctx, size_t i, unsigned thread)
{
    crowd *c = ctx;
    (void)i;
    (void)thread;
    c->n_seen = atomic_load(&c->n_slices);
}

static void test_an_urgent_loop_waits_for_one_slice(void **state)
{
    (void)state;
    crowd c = {0};
    pthread_t bulk[BULK_CALLERS];
    unsigned seen[URGENT_LOOPS];
    assert_int_equal(pool_create(&c.pool, 2).code, CUZK_OK);
    const run_ctx rc = {.pool = c.pool, .is_urgent = true}, under = run_ctx_under(&rc, 1);
    for (unsigned i = 0; i < BULK_CALLERS; i++)
        assert_int_equal(pthread_create(&bulk[i], NULL, bulk_caller, &c), 0);
    while (!atomic_load(&c.n_slices))
        sched_yield();
    for (unsigned k = 0; k < URGENT_LOOPS; k++) {
        assert_int_equal(run_for(&under, 1, urgent_chunk, &c).code, CUZK_OK);
        seen[k] = c.n_seen;
    }
    atomic_store(&c.is_over, true);
    for (unsigned i = 0; i < BULK_CALLERS; i++)
        pthread_join(bulk[i], NULL);
    for (unsigned k = 0; k < URGENT_LOOPS; k++)
        if (seen[k] - (k ? seen[k - 1] : 0) > 1)
            fail_msg("urgent loop %u began after %u bulk slices, the one before after %u", k,
                     seen[k], k ? seen[k - 1] : 0);
    pool_destroy(c.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_chunk_runs_once),
        cmocka_unit_test(test_yield_comes_every_slice),
        cmocka_unit_test(test_cancel_stops_between_slices),
        cmocka_unit_test(test_no_yield_from_inside_a_chunk),
        cmocka_unit_test(test_an_urgent_loop_waits_for_one_slice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
