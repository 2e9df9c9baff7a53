/* Multi-scalar multiplication and 0/1 sums in G1 and G2 on the device, on the segmented affine
 * tree sum of gpu_tree.h. All results are exact group elements (only a Jacobian Z may differ from
 * the CPU's). All device memory is the caller's: bases, scalars and masks are read, one workspace
 * is written.
 *
 * Method: Pippenger with W signed windows; points are summed by (window, digit), then the
 * digits' sums by row and by column of the digit (a square array), then by the bits of row and
 * column numbers: three tree sums, and some hundred points for the host to join by doubling. No
 * step depends on how the scalars are distributed.
 *
 * No call opens a kernel group of its run, as the caller knows what the sum is for; but parts of one. */
#ifndef GPU_MSM_H
#define GPU_MSM_H
#include "base/status.h"
#include "gpu/gpu_run.h"
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
typedef struct g1_jac g1_jac; /* ff/fp.h and nvcc's math.h both define FP_ZERO */
typedef struct g2_jac g2_jac;
extern "C" {
#else
#include "ec/g1.h"
#include "ec/g2.h"
#endif

/* Fewer than this many bases per call. */
#define GPU_MSM_N_MAX ((size_t)1 << 29)
/* Partitions that share one call. */
#define GPU_MSM_MASKS_MAX 10u
#define GPU_MSM_BATCH_MAX 16u
/* Page-locked host memory the results come through. */
#define GPU_MSM_PIN_BYTES ((size_t)288 * 192 * GPU_MSM_BATCH_MAX + 256)

typedef enum gpu_msm_group { GPU_MSM_G1, GPU_MSM_G2, GPU_MSM_N_GROUPS } gpu_msm_group;

/* Scratch in device memory, 256-byte aligned; page-locked memory of GPU_MSM_PIN_BYTES, 16-byte
 * aligned; and what the work runs on. run->slice is called at least every 50 ms of queued device
 * time, and the workspace must stay untouched meanwhile; if it fails, so does the call, with that
 * status. */
typedef struct gpu_msm_ws {
    void *d_ws;
    size_t bytes;
    void *pin;
    const gpu_run *run;
} gpu_msm_ws;

/* Turn n g1_aff (g2_aff) records (Montgomery form, < p, infinity all zero) in device memory into
 * the form the calls below read, in place: infinity marked by a bit and, in G1, x and y swapped in
 * odd records. first_index: the number of the first record in its array, to tell odd ones. Once
 * per key. Asynchronous. d_bases: 16-byte aligned. */
CUZK_MUST_CHECK cuzk_status gpu_msm_prepare_bases_g1(void *d_bases, size_t first_index, size_t n,
                                                     const gpu_run *run);
CUZK_MUST_CHECK cuzk_status gpu_msm_prepare_bases_g2(void *d_bases, size_t first_index, size_t n,
                                                     const gpu_run *run);

/* Dense tails of n_batch partitions: the scalars at positions that the circuit fixes. Partition k
 * has scalars d_scalars[k][j] (fr_int, < 2^255) for bases d_idx[j], j < n_idx. The array d_scalars
 * lies in host memory, what it names and d_idx in device memory. d_idx NULL: base j. */
typedef struct gpu_msm_tails {
    const uint32_t *d_idx;
    size_t n_idx;
    const void *const *d_scalars;
    unsigned n_batch; /* 1 to GPU_MSM_BATCH_MAX */
} gpu_msm_tails;

/* The workspace for the fastest plan within max_bytes; 0 if none fits or no device answers. About
 * 118 (214 in G2) bytes per scalar and window of a group of windows, one window being the least,
 * and 32 per scalar.
 * n_batch: 1 for the calls without a batch. */
size_t gpu_msm_workspace_bytes(gpu_msm_group g, size_t n, unsigned n_batch, size_t max_bytes);
/* *out = sum scalars[i] bases[i], i < n. d_scalars: n fr_int, < 2^255. n = 0 gives infinity.
 * Blocks: until the result is there. After a failure *out is infinity.
 * Errors: CUZK_E_RANGE (n, or a workspace too small), CUZK_E_DEVICE, CUZK_E_DEVICE_LOST, those of
 * run->slice. */
CUZK_MUST_CHECK cuzk_status gpu_msm_g1_sync(g1_jac *out, const void *d_bases, const void *d_scalars,
                                            size_t n, const gpu_msm_ws *ws);
CUZK_MUST_CHECK cuzk_status gpu_msm_g2_sync(g2_jac *out, const void *d_bases, const void *d_scalars,
                                            size_t n, const gpu_msm_ws *ws);
/* out[k] = sum over j of scalars[k][j] bases[idx[j]]: all partitions' windows in common launches.
 * Blocks, errors: as gpu_msm_g1_sync. */
CUZK_MUST_CHECK cuzk_status gpu_msm_g1_tails_sync(g1_jac *out, const void *d_bases,
                                                  const gpu_msm_tails *t, const gpu_msm_ws *ws);
CUZK_MUST_CHECK cuzk_status gpu_msm_g2_tails_sync(g2_jac *out, const void *d_bases,
                                                  const gpu_msm_tails *t, const gpu_msm_ws *ws);

size_t gpu_msm_sums_workspace_bytes(gpu_msm_group g, size_t n, unsigned n_masks);
/* out[j] = sum of bases[i] over the set bits i < n of mask j, j < n_masks <= GPU_MSM_MASKS_MAX.
 * d_masks: one mask after the other, ceil(n/64) 64-bit words each, bit i in word i/64. Every
 * base is added once for all masks together, under the key of its bits in them, so ten masks
 * cost little more than two. Blocks, errors: as gpu_msm_g1_sync. */
CUZK_MUST_CHECK cuzk_status gpu_msm_g1_sums_sync(g1_jac *out, const void *d_bases,
                                                 const uint64_t *d_masks, size_t n,
                                                 unsigned n_masks, const gpu_msm_ws *ws);
CUZK_MUST_CHECK cuzk_status gpu_msm_g2_sums_sync(g2_jac *out, const void *d_bases,
                                                 const uint64_t *d_masks, size_t n,
                                                 unsigned n_masks, const gpu_msm_ws *ws);

/* d_out[i] = the canonical integer (fr_int) of d_in[i] (fr, Montgomery form), i < n; in place is
 * allowed. Asynchronous. 16-byte aligned. */
CUZK_MUST_CHECK cuzk_status gpu_scalars_canonical(void *d_out, const void *d_in, size_t n,
                                                  const gpu_run *run);
/* d_out[j] = the canonical integer of d_in[d_src[j]], j < n; not in place. Asynchronous. */
CUZK_MUST_CHECK cuzk_status gpu_scalars_gather(void *d_out, const void *d_in, const uint32_t *d_src,
                                               size_t n, const gpu_run *run);
#ifdef __cplusplus
}
#endif
#endif
