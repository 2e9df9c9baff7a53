/* G1 multi-scalar multiplication and 0/1 sums on the device, on the segmented affine tree sum of
 * gpu_tree.h. All results are exact group elements (only a Jacobian Z may differ from the
 * CPU's). All device memory is the caller's: bases, scalars and masks are read, one workspace is
 * written.
 *
 * Method: Pippenger with W signed windows; points are summed by (window, digit), then the
 * digits' sums by row and by column of the digit (a square array), then by the bits of row and
 * column numbers: three tree sums, and some hundred points for the host to join by doubling. No
 * step depends on how the scalars are distributed. */
#ifndef GPU_MSM_H
#define GPU_MSM_H
#include "base/status.h"
#include "ec/g1.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Fewer than this many bases per call. */
#define GPU_MSM_N_MAX ((size_t)1 << 29)
#define GPU_MSM_MASKS_MAX 10u

/* Scratch in device memory, 256-byte aligned, and the stream (a cudaStream_t) all work is put
 * on. */
typedef struct gpu_msm_ws {
    void *d_ws;
    size_t bytes;
    void *stream;
} gpu_msm_ws;

/* Turn n g1_aff records (Montgomery form, < p, infinity all zero) in device memory into the form
 * the calls below read, in place: infinity marked by a bit, x and y swapped in odd records. Once
 * per key. Asynchronous. d_bases: 16-byte aligned. */
CUZK_MUST_CHECK cuzk_status gpu_msm_prepare_bases(void *d_bases, size_t n, void *stream);

/* The workspace for the fastest plan within max_bytes; 0 if none fits or no device answers.
 * About 118 bytes per scalar and window of a group; a group of one window is the least. */
size_t gpu_msm_workspace_bytes(size_t n, size_t max_bytes);
/* *out = sum scalars[i] bases[i], i < n. d_scalars: n fr_int, < 2^255. n = 0 gives infinity.
 * Blocks: until the result is there. After a failure *out is infinity.
 * Errors: CUZK_E_RANGE (n, or a workspace too small), CUZK_E_NOMEM (host), CUZK_E_DEVICE,
 * CUZK_E_DEVICE_LOST. */
CUZK_MUST_CHECK cuzk_status gpu_msm_g1_sync(g1_jac *out, const void *d_bases, const void *d_scalars,
                                            size_t n, const gpu_msm_ws *ws);

size_t gpu_msm_sums_workspace_bytes(size_t n, unsigned n_masks);
/* out[j] = sum of bases[i] over the set bits i < n of mask j, j < n_masks <= GPU_MSM_MASKS_MAX.
 * d_masks: one mask after the other, ceil(n/64) 64-bit words each, bit i in word i/64. Every
 * base is added once for all masks together, under the key of its bits in them, so ten masks
 * cost little more than two. Blocks, errors: as gpu_msm_g1_sync. */
CUZK_MUST_CHECK cuzk_status gpu_msm_g1_sums_sync(g1_jac *out, const void *d_bases,
                                                 const uint64_t *d_masks, size_t n,
                                                 unsigned n_masks, const gpu_msm_ws *ws);
#ifdef __cplusplus
}
#endif
#endif
