/* Many products of points of G1 by scalars on the device: the twin of groth16/g1_transform.c, and
 * products of chosen points. Points of the subgroup, as g1_aff records in Montgomery form; infinities,
 * equal and opposite points are allowed, and infinities as fast as others. */
#ifndef GPU_G1_TRANSFORM_H
#define GPU_G1_TRANSFORM_H
#include "gpu/gpu_run.h"
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#include "ff/fr.h"

/* Scratch in device memory, 256-byte aligned, and what the work runs on. The calls below cut their
 * work in slices of some 40 ms of device time (H200) with run->slice after each, and tell what is
 * queued. They are asynchronous but for that. Errors: CUZK_E_RANGE (scratch), CUZK_E_DEVICE,
 * those of run->slice. */
typedef struct gpu_g1_work {
    void *d_ws;
    size_t bytes;
    const gpu_run *run;
    void (*advance)(void *ctx, uint64_t n_products); /* may be NULL */
    void *ctx;
} gpu_g1_work;
/* Enough for any number of points, less when there are no more than n_max products at a time; about
 * 170 MB on an H200. 0 when no device answers. */
size_t gpu_g1_work_bytes(uint64_t n_max);

/* Of n = 2^lg_n points, lg_n <= 31:
 * d_points[rev(j)] <- sum over i < n of w^-ij d_points[i], j < n, with w = fr_root_of_unity(lg_n),
 * rev(j) the lg_n bits of j reversed. Counts lg_n n / 2 products. */
CUZK_MUST_CHECK cuzk_status gpu_g1_transform(void *d_points, uint32_t lg_n, const gpu_g1_work *w);
/* d_points[i] <- i k d_points[i], i < n. */
CUZK_MUST_CHECK cuzk_status gpu_g1_times_index(void *d_points, uint32_t lg_n, const fr *k,
                                               const gpu_g1_work *w);
/* d_points[i] <- d_points[i] + by d_k[i] d_points[n + i], i < n; the other n are used up. d_k: fr,
 * Montgomery form. */
CUZK_MUST_CHECK cuzk_status gpu_g1_add_products(void *d_points, uint32_t lg_n, const void *d_k,
                                                const fr *by, const gpu_g1_work *w);

/* Base number `base` (below 2^32) times coefficient number `coeff`, or minus that. */
#define GPU_G1_ITEM_MINUS 0x80000000u /* in coeff */
typedef struct gpu_g1_item {
    uint32_t base, coeff;
} gpu_g1_item;
typedef struct gpu_g1_products {
    void *d_bases;        /* as gpu_msm_prepare_bases_g1 leaves them */
    const void *d_coeffs; /* fr, Montgomery form */
    const gpu_g1_item *d_items;
    size_t first; /* product i becomes base number first + i; none of these is an item's */
} gpu_g1_products;
CUZK_MUST_CHECK cuzk_status gpu_g1_multiply(const gpu_g1_products *p, uint64_t n,
                                            const gpu_g1_work *w);
#ifdef __cplusplus
}
#endif
#endif
