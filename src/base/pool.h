/* Thread pool with chunked parallel loops. */
#ifndef BASE_POOL_H
#define BASE_POOL_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct pool pool;
/* fn(ctx, chunk_idx, thread_idx): thread_idx in [0, pool_threads) names the worker (scratch
 * selection), never two at once. */
typedef void pool_fn(void *ctx, size_t chunk_idx, unsigned thread_idx);

/* Start a pool. n_threads counts the caller too; 0 = CPUs this process may use (affinity mask and
 * cgroup quota).
 * Memory: gives; release with pool_destroy. Errors: CUZK_E_NOMEM, CUZK_E_RANGE (> 1024). */
CUZK_MUST_CHECK cuzk_status pool_create(pool **out, unsigned n_threads);
void pool_destroy(pool *p);
unsigned pool_threads(const pool *p); /* 1 for NULL */
/* Run fn for every chunk in [0, n_chunks) and wait. Chunks are taken in ascending order by
 * whichever thread is free. Loops of several callers take turns in the order in which they came.
 * A NULL pool, or a call from inside a chunk, runs all chunks on the calling thread: thread_idx stays
 * the caller's if it is below pool_threads(p), else it is 0. */
void pool_for(pool *p, size_t n_chunks, pool_fn *fn, void *ctx);
/* The same, before all pool_for callers that wait: only the loop under way and urgent loops that came
 * earlier are waited for. Nothing keeps a stream of urgent loops from starving the others: it is for
 * work that is little beside them. */
void pool_for_urgent(pool *p, size_t n_chunks, pool_fn *fn, void *ctx);
/* Is this thread inside a chunk of some pool_for? */
bool pool_is_inside(void);
/* CPUs usable by this process: min(affinity mask, cgroup v2/v1 quota rounded up), at least 1. */
unsigned pool_usable_cpus(void);
#endif
