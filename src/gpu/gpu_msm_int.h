/* Between the host side (gpu_msm_host.c: plans, joining) and the device side (gpu_msm.cu) of the
 * MSM. */
#ifndef GPU_MSM_INT_H
#define GPU_MSM_INT_H
#include "gpu/gpu_msm.h"
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define GPU_MSM_SCALAR_BITS 255u
/* Points the host gets for one partition: windows x (row, column) x bits. */
#define GPU_MSM_FINAL_MAX 288u

/* Window w covers bits [w 255/W, (w+1) 255/W). Digits are signed, so n_buckets is half of the
 * widest window's range; bucket b, of weight b + 1 = (row << lg_cols) + column + 1. Unit u is
 * window u mod W of partition u / W. */
typedef struct gpu_msm_plan {
    uint32_t n_windows, n_units, per_group, n_buckets, lg_cols, n_cols, n_rows, n_bits;
    uint32_t n_lines, n_final;         /* rows and columns of all units; their bits */
    uint32_t first_lines, first_final; /* where in the dense part of the pool */
    size_t n_list, n_segments, n_dense;
} gpu_msm_plan;

static inline uint32_t gpu_msm_window_start(uint32_t w, uint32_t n_windows)
{
    return w * GPU_MSM_SCALAR_BITS / n_windows;
}

/* What is summed: by scalars, or by masks. */
typedef struct gpu_msm_input {
    gpu_msm_group group;
    const void *d_bases;
    size_t n;
    const gpu_msm_tails *tails; /* of an MSM */
    const uint64_t *d_masks;    /* of 0/1 sums */
    unsigned n_masks;
} gpu_msm_input;

/* The points of gpu_msm_host.c's join, n_final g1_aff (g2_aff) records, to ws->pin. Blocks until
 * they are there. */
CUZK_MUST_CHECK cuzk_status gpu_msm_run(const gpu_msm_input *in, const gpu_msm_plan *p,
                                        const gpu_msm_ws *ws);
/* The masks' sums, likewise. n_list bounds the lists. */
CUZK_MUST_CHECK cuzk_status gpu_msm_sums_run(const gpu_msm_input *in, size_t n_list,
                                             const gpu_msm_ws *ws);
#ifdef __cplusplus
}
#endif
#endif
