/* A lane: the stream one proof runs on, cut in slices, its kernel groups timed by device events and
 * recorded as spans below the host's. Created once, used for proof after proof: nothing is made on
 * the way.
 * Threads: confined. */
#ifndef GPU_SPAN_H
#define GPU_SPAN_H
#include "base/run_ctx.h"
#include "gpu/gpu_device.h"
#include "gpu/gpu_run.h"

typedef struct gpu_lane gpu_lane;

/* On the entered device, whose number is ordinal. lost: raised by whoever finds the context dead; a lane that sees it stops (may be NULL).
 * Errors: CUZK_E_NOMEM, CUZK_E_DEVICE. */
CUZK_MUST_CHECK cuzk_status gpu_lane_create(gpu_lane **out, int ordinal, const volatile bool *lost);
/* Tests: hook is called at every slice, before cancel is polled. */
void gpu_lane_set_hook(gpu_lane *l, void (*hook)(void *ctx), void *ctx);
/* What the host may do at every slice, while the device has work (NULL: nothing). What it returns, if
 * not OK, ends the job. */
void gpu_lane_set_background(gpu_lane *l, cuzk_status (*work)(void *ctx), void *ctx);
void gpu_lane_destroy(gpu_lane *l);

gpu_stream *gpu_lane_stream(const gpu_lane *l);
/* For the calls of src/gpu; lives as long as the lane. */
const gpu_run *gpu_lane_run(const gpu_lane *l);

/* A job starts: rc (borrowed until gpu_lane_close) says whom to ask about cancel and yield. Blocks
 * until the stream is empty. */
CUZK_MUST_CHECK cuzk_status gpu_lane_open(gpu_lane *l, const run_ctx *rc);
/* Kernel groups from here on hang below this span. */
void gpu_lane_under(gpu_lane *l, span_id parent, int32_t partition);
/* Wait until all work is done, and record its groups. Errors: what went wrong since the last
 * wait. */
CUZK_MUST_CHECK cuzk_status gpu_lane_wait_sync(gpu_lane *l);
/* The job is over, well or not. Blocks until the stream is empty. */
void gpu_lane_close(gpu_lane *l);
#endif
