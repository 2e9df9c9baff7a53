/* Chunked parallel loops: one loop at a time, chunks handed out by an atomic counter, workers
 * asleep in between. */
#include "base/pool.h"
#include "base/mem.h"
#include "base/pool_int.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define POOL_THREADS_MAX 1024u

/* Callers in the order in which they came: with a mutex alone, a caller of many loops would have it
 * again before one that waits is awake. */
typedef struct queue {
    uint64_t n_came, n_begun;
} queue;

typedef struct worker {
    pool *owner;
    pthread_t thread;
    unsigned idx;
} worker;

struct pool {
    unsigned n_threads; /* the caller of pool_for is thread 0; workers are 1 .. n_threads - 1 */
    unsigned n_started;
    worker *workers;
    /* guards the queues, is_busy, generation, n_active, stopping, and publishes fn, ctx, n_chunks */
    pthread_mutex_t lock;
    pthread_cond_t wake, done, next;
    queue urgent, others;
    bool is_busy; /* a loop is under way */
    uint64_t generation;
    unsigned n_active; /* workers that have not yet finished the current loop */
    bool stopping;
    pool_fn *fn;
    void *ctx;
    size_t n_chunks;
    /* relaxed: a counter only; the mutex orders the data around the loop */
    atomic_size_t next_chunk;
};

/* Set while a thread runs chunks: a nested pool_for then stays on that thread under the same
 * index. */
static _Thread_local bool tl_inside;
static _Thread_local unsigned tl_thread_idx;

static void run_inline(size_t n_chunks, pool_fn *fn, void *ctx, unsigned thread_idx)
{
    for (size_t i = 0; i < n_chunks; i++)
        fn(ctx, i, thread_idx);
}

static void run_chunks(pool *p, unsigned thread_idx)
{
    tl_inside = true;
    tl_thread_idx = thread_idx;
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&p->next_chunk, 1, memory_order_relaxed);
        if (i >= p->n_chunks)
            break;
        p->fn(p->ctx, i, thread_idx);
    }
    tl_inside = false;
    tl_thread_idx = 0;
}

static void *worker_main(void *arg)
{
    worker *w = arg;
    pool *p = w->owner;
    uint64_t seen = 0;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (p->generation == seen && !p->stopping)
            pthread_cond_wait(&p->wake, &p->lock);
        if (p->stopping)
            break;
        seen = p->generation;
        pthread_mutex_unlock(&p->lock);
        run_chunks(p, w->idx);
        pthread_mutex_lock(&p->lock);
        if (--p->n_active == 0)
            pthread_cond_signal(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static cuzk_status start_workers(pool *p)
{
    if (p->n_threads == 1)
        return cuzk_ok();
    p->workers = mem_zalloc((p->n_threads - 1) * sizeof *p->workers, 8);
    if (!p->workers)
        return cuzk_fail(CUZK_E_NOMEM, "%u pool workers", p->n_threads - 1);
    for (unsigned i = 0; i + 1 < p->n_threads; i++) {
        worker *w = &p->workers[i];
        w->owner = p;
        w->idx = i + 1;
        int err = pthread_create(&w->thread, NULL, worker_main, w);
        if (err)
            return cuzk_fail(CUZK_E_NOMEM, "pool thread %u of %u: %s", i + 1, p->n_threads,
                             strerror(err));
        p->n_started++;
    }
    return cuzk_ok();
}

cuzk_status pool_create(pool **out, unsigned n_threads)
{
    *out = NULL;
    if (n_threads > POOL_THREADS_MAX)
        return cuzk_fail(CUZK_E_RANGE, "threads is %u, want 0 to %u", n_threads, POOL_THREADS_MAX);
    if (n_threads == 0)
        n_threads = pool_usable_cpus();
    if (n_threads > POOL_THREADS_MAX)
        n_threads = POOL_THREADS_MAX;
    pool *p = mem_zalloc(sizeof *p, 64);
    if (!p)
        return cuzk_fail(CUZK_E_NOMEM, "pool of %u threads", n_threads);
    p->n_threads = n_threads;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);
    pthread_cond_init(&p->next, NULL);
    cuzk_status st = start_workers(p);
    if (st.code != CUZK_OK)
        pool_destroy(p);
    else
        *out = p;
    return st;
}

void pool_destroy(pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->n_started; i++)
        pthread_join(p->workers[i].thread, NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->next);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    mem_free(p->workers);
    mem_free(p);
}

unsigned pool_threads(const pool *p) { return p ? p->n_threads : 1; }

bool pool_is_inside(void) { return tl_inside; }

static uint64_t queue_len(const queue *q) { return q->n_came - q->n_begun; }

uint64_t pool_n_waiting(pool *p)
{
    pthread_mutex_lock(&p->lock);
    uint64_t n = queue_len(&p->urgent) + queue_len(&p->others);
    pthread_mutex_unlock(&p->lock);
    return n;
}

/* Lock held; released meanwhile. */
static void wait_for_turn(pool *p, bool urgent)
{
    queue *q = urgent ? &p->urgent : &p->others;
    uint64_t turn = q->n_came++;
    while (p->is_busy || q->n_begun != turn || (!urgent && queue_len(&p->urgent)))
        pthread_cond_wait(&p->next, &p->lock);
    q->n_begun++;
    p->is_busy = true;
}

static void run_loop(pool *p, size_t n_chunks, pool_fn *fn, void *ctx, bool urgent)
{
    if (tl_inside || !p) {
        /* Scratch is sized by this call's pool, which need not be the one whose chunk we are in. */
        run_inline(n_chunks, fn, ctx, tl_thread_idx < pool_threads(p) ? tl_thread_idx : 0);
        return;
    }
    if (n_chunks == 0)
        return;
    pthread_mutex_lock(&p->lock);
    wait_for_turn(p, urgent);
    p->fn = fn;
    p->ctx = ctx;
    p->n_chunks = n_chunks;
    atomic_store_explicit(&p->next_chunk, 0, memory_order_relaxed);
    /* A single chunk needs nobody else: leave the workers asleep. */
    bool wake = n_chunks > 1 && p->n_threads > 1;
    if (wake) {
        p->n_active = p->n_started;
        p->generation++;
        pthread_cond_broadcast(&p->wake);
    }
    pthread_mutex_unlock(&p->lock);
    run_chunks(p, 0);
    pthread_mutex_lock(&p->lock);
    while (wake && p->n_active)
        pthread_cond_wait(&p->done, &p->lock);
    p->is_busy = false;
    pthread_cond_broadcast(&p->next);
    pthread_mutex_unlock(&p->lock);
}

void pool_for(pool *p, size_t n_chunks, pool_fn *fn, void *ctx)
{
    run_loop(p, n_chunks, fn, ctx, false);
}

void pool_for_urgent(pool *p, size_t n_chunks, pool_fn *fn, void *ctx)
{
    run_loop(p, n_chunks, fn, ctx, true);
}
