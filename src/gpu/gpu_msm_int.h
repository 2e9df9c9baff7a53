/* Between the host side (gpu_msm_host.c: plans, joining) and the device side (gpu_msm.cu) of the
 * MSM. */
#ifndef GPU_MSM_INT_H
#define GPU_MSM_INT_H
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define GPU_MSM_SCALAR_BITS 255u
/* Points the host gets: windows x (row, column) x bits. */
#define GPU_MSM_FINAL_MAX 288u

/* Window w covers bits [w 255/W, (w+1) 255/W). Digits are signed, so n_buckets is half of the
 * widest window's range; bucket b, of weight b + 1 = (row << lg_cols) + column + 1. */
typedef struct gpu_msm_plan {
    uint32_t n_windows, per_group, n_buckets, lg_cols, n_cols, n_rows, n_bits;
    uint32_t n_lines;                  /* rows and columns of all windows */
    uint32_t first_lines, first_final; /* where in the dense part of the pool */
    size_t n_list, n_segments, n_dense;
} gpu_msm_plan;

static inline uint32_t gpu_msm_window_start(uint32_t w, uint32_t n_windows)
{
    return w * GPU_MSM_SCALAR_BITS / n_windows;
}

/* The points of gpu_msm_host.c's join, or of the masks' sums, as g1_aff records in host memory.
 * Blocks until they are there. */
CUZK_MUST_CHECK cuzk_status gpu_msm_run(void *points, const gpu_msm_plan *p, const void *d_bases,
                                        const void *d_scalars, size_t n, void *d_ws, void *stream);
CUZK_MUST_CHECK cuzk_status gpu_msm_sums_run(void *points, size_t n_list, uint32_t n_masks,
                                             const void *d_bases, const uint64_t *d_masks, size_t n,
                                             void *d_ws, void *stream);
#ifdef __cplusplus
}
#endif
#endif
