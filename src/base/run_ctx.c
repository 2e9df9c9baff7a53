/* Parallel loops in short slices, so that cancel and urgent work need not wait for a long one. */
#include "base/run_ctx.h"

#define SLICE_NS 20000000u
#define FIRST_CHUNKS_PER_THREAD 4u

typedef struct slice {
    pool_fn *fn;
    void *ctx;
    size_t first;
} slice;

static void slice_chunk(void *ctx, size_t chunk, unsigned thread_idx)
{
    const slice *s = ctx;
    s->fn(s->ctx, s->first + chunk, thread_idx);
}

static cuzk_status run_sliced(const run_ctx *rc, size_t n_chunks, pool_fn *fn, void *ctx)
{
    size_t step = (size_t)pool_threads(rc->pool) * FIRST_CHUNKS_PER_THREAD, n;
    for (size_t first = 0; first < n_chunks; first += n) {
        if (run_cancelled(rc))
            return cuzk_fail(CUZK_E_CANCELLED, "cancelled");
        run_yield(rc);
        slice s = {fn, ctx, first};
        uint64_t start_ns = clock_now_ns();
        n = n_chunks - first < step ? n_chunks - first : step;
        if (rc->is_urgent)
            pool_for_urgent(rc->pool, n, slice_chunk, &s);
        else
            pool_for(rc->pool, n, slice_chunk, &s);
        uint64_t took_ns = clock_now_ns() - start_ns;
        /* Chunk sizes differ a thousandfold between callers: find the step by the clock. */
        if (took_ns < SLICE_NS / 2)
            step *= 2;
        else if (took_ns > SLICE_NS * 2 && step > pool_threads(rc->pool))
            step /= 2;
    }
    return cuzk_ok();
}

cuzk_status run_for(const run_ctx *rc, size_t n_chunks, pool_fn *fn, void *ctx)
{
    if (!pool_is_inside())
        return run_sliced(rc, n_chunks, fn, ctx);
    if (run_cancelled(rc))
        return cuzk_fail(CUZK_E_CANCELLED, "cancelled");
    pool_for(rc->pool, n_chunks, fn, ctx);
    return cuzk_ok();
}
