/* What a long sequence of device work borrows from its caller: the stream, slices and spans. */
#ifndef GPU_RUN_H
#define GPU_RUN_H
#include "base/status.h"
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

/* All members but stream may be NULL. */
typedef struct gpu_run {
    void *stream; /* a cudaStream_t */
    /* Called from the host thread between slices: at most about 50 ms of device time may be queued
     * between two calls. It may wait for earlier slices, and lets urgent work use the device. Not
     * OK: stop and return that status. */
    cuzk_status (*slice)(void *ctx);
    /* A kernel group of that name (base/span_names.h) starts on the stream; NULL ends it. Groups do
     * not nest. */
    void (*group)(void *ctx, const char *name);
    /* Within a group: what is queued from here on is that part of it, until another part or the
     * group's end. */
    void (*part)(void *ctx, const char *name);
    void *ctx;
} gpu_run;

static inline cuzk_status gpu_run_slice(const gpu_run *r)
{
    return r->slice ? r->slice(r->ctx) : cuzk_ok();
}
static inline void gpu_run_group(const gpu_run *r, const char *name)
{
    if (r->group)
        r->group(r->ctx, name);
}
static inline void gpu_run_part(const gpu_run *r, const char *name)
{
    if (r->part)
        r->part(r->ctx, name);
}
#ifdef __cplusplus
}
#endif
#endif
