/* Vectors of points of G1 in other places of device memory: 96-byte records that no one looks into.
 * rev(j) is the lg_n <= 31 bits of j reversed, n = 2^lg_n. Asynchronous. Errors: CUZK_E_DEVICE. */
#ifndef GPU_G1_ORDER_H
#define GPU_G1_ORDER_H
#include "gpu/gpu_run.h"
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
/* d_out[i] = d_points[rev(first + i)], i < n_out. Not in place. */
CUZK_MUST_CHECK cuzk_status gpu_g1_reversed(void *d_out, const void *d_points, uint64_t first,
                                            uint64_t n_out, uint32_t lg_n, const gpu_run *run);
/* d_points[j] and d_points[rev(j)] change places. */
CUZK_MUST_CHECK cuzk_status gpu_g1_reverse(void *d_points, uint32_t lg_n, const gpu_run *run);
/* d_out[-j mod n] = d_points[rev(j)] where bit j % 64 of d_bits[j / 64] is set, else infinity (zeros).
 * Not in place. */
CUZK_MUST_CHECK cuzk_status gpu_g1_mask(void *d_out, const void *d_points, const uint64_t *d_bits,
                                        uint32_t lg_n, const gpu_run *run);
#ifdef __cplusplus
}
#endif
#endif
