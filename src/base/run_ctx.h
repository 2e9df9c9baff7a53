/* What a long computation borrows from its caller: threads, spans, progress and cancel. */
#ifndef BASE_RUN_CTX_H
#define BASE_RUN_CTX_H
#include "base/pool.h"
#include "base/span.h"
#include <stdbool.h>

/* All members may be NULL/0. Borrowed: outlives the call it is passed to. */
typedef struct run_ctx {
    pool *pool;
    span_rec *spans;
    /* spans of the callee hang below this one */
    span_id parent;
    /* Called from the caller's thread; the fraction is that of the whole call, and only rises. */
    void (*progress)(void *ctx, const char *stage, double fraction);
    void *progress_ctx;
    /* polled at chunk borders; true -> CUZK_E_CANCELLED */
    bool (*cancelled)(void *ctx);
    void *cancel_ctx;
    /* Called by a prover from the caller's thread between slices of at most about 100 ms, when the
     * device is free: it may run other proofs on the same backend (another handle) before it
     * returns. */
    void (*yield)(void *ctx);
    void *yield_ctx;
    /* run_for's slices go before those of all that is not urgent and waits for the pool
     * (pool_for_urgent) */
    bool is_urgent;
} run_ctx;

/* A copy of rc whose spans hang below s. */
static inline run_ctx run_ctx_under(const run_ctx *rc, span_id s)
{
    run_ctx c = *rc;
    c.parent = s;
    return c;
}
static inline void run_progress(const run_ctx *rc, const char *stage, double f)
{
    if (rc->progress)
        rc->progress(rc->progress_ctx, stage, f);
}
static inline void run_yield(const run_ctx *rc)
{
    if (rc->yield)
        rc->yield(rc->yield_ctx);
}
static inline bool run_cancelled(const run_ctx *rc)
{
    return rc->cancelled && rc->cancelled(rc->cancel_ctx);
}

/* pool_for in slices of about 20 ms; before each, on the caller's thread, cancel is polled and
 * yield called (not from inside another loop's chunk). Between slices other callers of the pool have
 * their turn, the urgent ones first. Chunks should take less than about 20 ms.
 * Errors: CUZK_E_CANCELLED, some chunks were then not run. */
CUZK_MUST_CHECK cuzk_status run_for(const run_ctx *rc, size_t n_chunks, pool_fn *fn, void *ctx);
#endif
