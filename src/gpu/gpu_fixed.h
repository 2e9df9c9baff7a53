/* Many multiples of one point on the device, for key generation: signed windows of the scalars name
 * entries of a table, and each scalar's entries are a segment of a tree sum (gpu_tree.h). */
#ifndef GPU_FIXED_H
#define GPU_FIXED_H
#include "gpu/gpu_tree.h"
#ifdef __cplusplus
extern "C" {
#endif
#include "ff/fr.h"

/* Window w covers bits [w lg_digit, (w + 1) lg_digit). Its table has the multiples 1 to
 * 2^(lg_digit - 1) of 2^(w lg_digit) times the base. */
typedef struct gpu_fixed {
    gpu_msm_group group;
    uint32_t lg_digit, n_windows;
    size_t chunk; /* scalars in a tree sum */
    void *d_table;
    gpu_tree tree;
} gpu_fixed;

/* Scalars, fr in Montgomery form; number i is d_vals[d_idx[i]], or d_vals[i] when d_idx is NULL, or
 * first base^i when d_vals is NULL too. */
typedef struct gpu_fixed_src {
    const void *d_vals;
    const uint32_t *d_idx;
    fr first, base;
    size_t at; /* number of the next product's first scalar; moved on by it */
} gpu_fixed_src;

/* Memory for gpu_fixed_init; n_points: scalars to come in all. 0 when the device cannot be asked. */
size_t gpu_fixed_bytes(gpu_msm_group group, size_t n_points);
/* Make the table of the group's generator. Borrows ws until the last product. Blocks: shortly.
 * Errors: CUZK_E_RANGE (workspace). */
CUZK_MUST_CHECK cuzk_status gpu_fixed_init(gpu_fixed *f, gpu_msm_group group, size_t n_points,
                                           const gpu_msm_ws *ws);
/* d_out[i] = scalar src->at + i times the base, g1_aff (g2_aff) records, i < n. *d_zero: the lowest
 * number of a scalar that is 0 (its point is infinity), if lower than before. Blocks: for each
 * chunk, until its predecessor is done. */
CUZK_MUST_CHECK cuzk_status gpu_fixed_mul(void *d_out, gpu_fixed *f, gpu_fixed_src *src, size_t n,
                                          uint32_t *d_zero);
#ifdef __cplusplus
}
#endif
#endif
