#define _GNU_SOURCE
#include "base_test.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/pool_int.h"
#include "base/span.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#define MAX_CHUNKS 3000u
#define MAX_THREADS 8u

static const unsigned thread_counts[] = {1, 2, 7};

typedef struct tally {
    pool *pool;
    atomic_uint hits[MAX_CHUNKS];
    atomic_uint busy[MAX_THREADS]; /* threads inside a chunk under this index */
    atomic_uint clashes, bad_idx;
    unsigned n_threads;
    size_t n_inner;
} tally;

/* Worker threads may not use cmocka asserts: they only count, the test's own thread checks. */
static void count_chunk(void *ctx, size_t chunk_idx, unsigned thread_idx)
{
    tally *t = ctx;
    if (thread_idx >= t->n_threads) {
        atomic_fetch_add(&t->bad_idx, 1);
        return;
    }
    if (atomic_fetch_add(&t->busy[thread_idx], 1) != 0)
        atomic_fetch_add(&t->clashes, 1);
    atomic_fetch_add(&t->hits[chunk_idx], 1);
    if (chunk_idx % 17 == 0)
        sched_yield();
    atomic_fetch_sub(&t->busy[thread_idx], 1);
}

static void test_every_chunk_runs_exactly_once(void **state)
{
    (void)state;
    static const size_t chunk_counts[] = {0, 1, 2, 6, 7, 8, 1000, MAX_CHUNKS};
    for (size_t k = 0; k < ARRAY_LEN(thread_counts); k++) {
        pool *p;
        assert_ok(pool_create(&p, thread_counts[k]));
        assert_int_equal(pool_threads(p), thread_counts[k]);
        for (size_t c = 0; c < ARRAY_LEN(chunk_counts); c++) {
            static tally t;
            memset(&t, 0, sizeof t);
            t.n_threads = thread_counts[k];
            pool_for(p, chunk_counts[c], count_chunk, &t);
            for (size_t i = 0; i < MAX_CHUNKS; i++)
                assert_int_equal(atomic_load(&t.hits[i]), i < chunk_counts[c]);
            assert_int_equal(atomic_load(&t.clashes), 0);
            assert_int_equal(atomic_load(&t.bad_idx), 0);
        }
        pool_destroy(p);
    }
}

/* Many short loops in a row: the place where a lost wake-up or a late worker would show. */
static void test_short_loops_in_a_row(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(thread_counts); k++) {
        pool *p;
        static tally t;
        assert_ok(pool_create(&p, thread_counts[k]));
        memset(&t, 0, sizeof t);
        t.n_threads = thread_counts[k];
        for (unsigned round = 1; round <= 300; round++) {
            pool_for(p, 5, count_chunk, &t);
            for (size_t i = 0; i < 5; i++)
                assert_int_equal(atomic_load(&t.hits[i]), round);
        }
        assert_int_equal(atomic_load(&t.clashes), 0);
        pool_destroy(p);
    }
}

/* Writes that are not atomic must be visible after the loop, and those before it inside. */
static void double_entry(void *ctx, size_t chunk_idx, unsigned thread_idx)
{
    (void)thread_idx;
    uint64_t *v = ctx;
    v[chunk_idx] = 2 * v[chunk_idx] + 1;
}

static void test_plain_writes_cross_the_loop_borders(void **state)
{
    (void)state;
    pool *p;
    static uint64_t v[MAX_CHUNKS];
    assert_ok(pool_create(&p, 7));
    for (size_t i = 0; i < MAX_CHUNKS; i++)
        v[i] = i;
    pool_for(p, MAX_CHUNKS, double_entry, v);
    pool_for(p, MAX_CHUNKS, double_entry, v);
    for (size_t i = 0; i < MAX_CHUNKS; i++)
        assert_true(v[i] == 4 * i + 3);
    pool_destroy(p);
}

typedef struct nested {
    pool *pool;
    pthread_t outer_thread[64];
    unsigned outer_idx[64];
    atomic_uint wrong, n_inner;
} nested;
typedef struct inner {
    nested *n;
    size_t outer_chunk, next;
    unsigned want_idx;
} inner;

static void inner_chunk(void *ctx, size_t chunk_idx, unsigned thread_idx)
{
    inner *in = ctx;
    bool same = pthread_equal(pthread_self(), in->n->outer_thread[in->outer_chunk]) &&
                thread_idx == in->want_idx && chunk_idx == in->next++;
    atomic_fetch_add(&in->n->wrong, !same);
    atomic_fetch_add(&in->n->n_inner, 1);
}

static void outer_chunk(void *ctx, size_t chunk_idx, unsigned thread_idx)
{
    nested *n = ctx;
    inner in = {.n = n, .outer_chunk = chunk_idx};
    n->outer_thread[chunk_idx] = pthread_self();
    n->outer_idx[chunk_idx] = thread_idx;
    in.want_idx = thread_idx;
    pool_for(n->pool, 10, inner_chunk, &in);
    in.next = 0;
    in.want_idx = 0; /* scratch for pool_threads(NULL) threads: one */
    pool_for(NULL, 10, inner_chunk, &in);
}

static void test_nested_loops_stay_on_their_thread(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(thread_counts); k++) {
        static nested n;
        memset(&n, 0, sizeof n);
        assert_ok(pool_create(&n.pool, thread_counts[k]));
        pool_for(n.pool, 64, outer_chunk, &n);
        assert_int_equal(atomic_load(&n.wrong), 0);
        assert_int_equal(atomic_load(&n.n_inner), 64 * 20);
        pool_destroy(n.pool);
    }
}

static void count_plain(void *ctx, size_t chunk_idx, unsigned thread_idx)
{
    size_t *next = ctx;
    if (chunk_idx == *next && thread_idx == 0)
        ++*next;
}

static void test_null_pool_runs_in_order_here(void **state)
{
    (void)state;
    size_t next = 0;
    assert_int_equal(pool_threads(NULL), 1);
    pool_for(NULL, 100, count_plain, &next);
    assert_int_equal(next, 100);
    pool_destroy(NULL);
}

static void *call_loops(void *arg)
{
    tally *t = arg;
    for (int i = 0; i < 50; i++)
        pool_for(t->pool, 20, count_chunk, t);
    return NULL;
}

static void test_loops_of_two_callers_take_turns(void **state)
{
    (void)state;
    static tally t;
    pthread_t other;
    memset(&t, 0, sizeof t);
    assert_ok(pool_create(&t.pool, 3));
    t.n_threads = 3;
    assert_int_equal(pthread_create(&other, NULL, call_loops, &t), 0);
    call_loops(&t);
    pthread_join(other, NULL);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(atomic_load(&t.hits[i]), 100);
    assert_int_equal(atomic_load(&t.clashes), 0);
    pool_destroy(t.pool);
}

#define HOG_LOOPS_MAX 3000u

typedef struct hog {
    pool *pool;
    atomic_uint n_loops;
    atomic_bool stop;
} hog;

static void work_half_a_ms(void *ctx, size_t chunk_idx, unsigned thread_idx)
{
    (void)ctx;
    (void)chunk_idx;
    (void)thread_idx;
    uint64_t end = clock_now_ns() + 500000;
    while (clock_now_ns() < end)
        ;
}

static void *loop_on_and_on(void *arg)
{
    hog *h = arg;
    while (!atomic_load(&h->stop) && atomic_load(&h->n_loops) < HOG_LOOPS_MAX) {
        atomic_fetch_add(&h->n_loops, 1);
        pool_for(h->pool, 1, work_half_a_ms, h);
    }
    return NULL;
}

/* A caller of many loops in a row does not keep others out. */
static void test_a_waiting_loop_is_next(void **state)
{
    (void)state;
    enum { LOOPS = 50 };
    hog h = {0};
    pthread_t thread;
    assert_ok(pool_create(&h.pool, 2));
    assert_int_equal(pthread_create(&thread, NULL, loop_on_and_on, &h), 0);
    while (!atomic_load(&h.n_loops))
        sched_yield();
    for (int i = 0; i < LOOPS; i++)
        pool_for(h.pool, 1, work_half_a_ms, &h);
    unsigned n = atomic_load(&h.n_loops);
    atomic_store(&h.stop, true);
    pthread_join(thread, NULL);
    pool_destroy(h.pool);
    /* One each time; more only while this thread was kept from asking again. */
    if (n > 20 * LOOPS)
        fail_msg("%u loops of another caller before %d of this one", n, (int)LOOPS);
}

/* A loop under way that lasts until it is let go, and what ran after it, in order. */
typedef struct line {
    pool *pool;
    atomic_bool is_begun, may_end;
    unsigned served[8], n_served; /* one loop at a time writes */
} line;
typedef struct line_caller {
    line *l;
    unsigned no;
    bool urgent;
} line_caller;

static void hold_the_pool(void *ctx, size_t chunk_idx, unsigned thread_idx)
{
    line *l = ctx;
    (void)chunk_idx;
    (void)thread_idx;
    atomic_store(&l->is_begun, true);
    while (!atomic_load(&l->may_end))
        sched_yield();
}

static void *call_holding_loop(void *arg)
{
    line *l = arg;
    pool_for(l->pool, 1, hold_the_pool, l);
    return NULL;
}

static void note_served(void *ctx, size_t chunk_idx, unsigned thread_idx)
{
    line_caller *c = ctx;
    (void)chunk_idx;
    (void)thread_idx;
    c->l->served[c->l->n_served++] = c->no;
}

static void *call_in_line(void *arg)
{
    line_caller *c = arg;
    if (c->urgent)
        pool_for_urgent(c->l->pool, 1, note_served, c);
    else
        pool_for(c->l->pool, 1, note_served, c);
    return NULL;
}

static void test_urgent_callers_are_served_first(void **state)
{
    (void)state;
    enum { N = 6 };
    static const bool urgent[N] = {false, false, true, false, true, false};
    static const unsigned want[N] = {2, 4, 0, 1, 3, 5};
    line l = {0};
    line_caller c[N];
    pthread_t holder, thread[N];
    assert_ok(pool_create(&l.pool, 2));
    assert_int_equal(pthread_create(&holder, NULL, call_holding_loop, &l), 0);
    while (!atomic_load(&l.is_begun))
        sched_yield();
    for (unsigned i = 0; i < N; i++) {
        c[i] = (line_caller){&l, i, urgent[i]};
        assert_int_equal(pthread_create(&thread[i], NULL, call_in_line, &c[i]), 0);
        while (pool_n_waiting(l.pool) != i + 1)
            sched_yield();
    }
    atomic_store(&l.may_end, true);
    pthread_join(holder, NULL);
    for (unsigned i = 0; i < N; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(l.n_served, N);
    assert_memory_equal(l.served, want, sizeof want);
    assert_int_equal(pool_n_waiting(l.pool), 0);
    pool_destroy(l.pool);
}

static void test_create_fails_cleanly(void **state)
{
    (void)state;
    uint64_t live = mem_get_stats().live_bytes;
    pool *p = (pool *)&live;
    assert_int_equal(pool_create(&p, 1025).code, CUZK_E_RANGE);
    assert_null(p);
    for (uint64_t n = 1; n <= 2; n++) {
        mem_fail_nth(n);
        assert_int_equal(pool_create(&p, 4).code, CUZK_E_NOMEM);
        assert_null(p);
    }
    mem_fail_nth(0);
    assert_int_equal(mem_get_stats().live_bytes, live);
}

static void test_zero_threads_means_usable_cpus(void **state)
{
    (void)state;
    pool *p;
    unsigned cpus = pool_usable_cpus();
    assert_true(cpus >= 1);
    assert_ok(pool_create(&p, 0));
    assert_int_equal(pool_threads(p), cpus);
    pool_destroy(p);

    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int c = 0; c < CPU_SETSIZE; c++) {
        if (CPU_ISSET(c, &all)) {
            CPU_SET(c, &one);
            break;
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(pool_usable_cpus(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(pool_usable_cpus(), cpus);
}

static void test_quotas_round_up(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned cpus;
    } cases[] = {
        {"max 100000\n", 0},
        {"100000 100000\n", 1},
        {"100001 100000", 2},
        {"50000 100000", 1},
        {"250000 100000", 3},
        {"1 100000", 1},
        {"-1 100000", 0},
        {"0 100000", 0},
        {"100000 0", 0},
        {"", 0},
        {"100000", 0},
        {"garbage", 0},
        {"9223372036854775807 1", 8192},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (pool_parse_cpu_max(cases[i].text) != cases[i].cpus)
            fail_msg("\"%s\": %u", cases[i].text, pool_parse_cpu_max(cases[i].text));
    }
    assert_int_equal(pool_quota_cpus(-1, 100000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_chunk_runs_exactly_once),
        cmocka_unit_test(test_short_loops_in_a_row),
        cmocka_unit_test(test_plain_writes_cross_the_loop_borders),
        cmocka_unit_test(test_nested_loops_stay_on_their_thread),
        cmocka_unit_test(test_null_pool_runs_in_order_here),
        cmocka_unit_test(test_loops_of_two_callers_take_turns),
        cmocka_unit_test(test_a_waiting_loop_is_next),
        cmocka_unit_test(test_urgent_callers_are_served_first),
        cmocka_unit_test(test_create_fails_cleanly),
        cmocka_unit_test(test_zero_threads_means_usable_cpus),
        cmocka_unit_test(test_quotas_round_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
