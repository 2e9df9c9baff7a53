/* Sorting and scanning in device memory. All calls are asynchronous on their stream. */
#ifndef GPU_SORT_H
#define GPU_SORT_H
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* (key, value) pairs with a second buffer for each; sorting may leave the result in either, and
 * swaps the pointers so that keys and vals hold it. */
typedef struct gpu_pairs {
    uint32_t *keys, *keys_alt, *vals, *vals_alt;
} gpu_pairs;

/* Scratch for both functions below. */
size_t gpu_sort_temp_bytes(size_t n_pairs, size_t n_scan);
/* Stable, by the low key_bits bits. n < 2^31. */
CUZK_MUST_CHECK cuzk_status gpu_sort_pairs(gpu_pairs *p, size_t n, unsigned key_bits, void *d_temp,
                                           size_t temp_bytes, void *stream);
/* d_out[i] = sum over k < i of gpu_tree_pairs_at(d_len[k], level), i < n. */
CUZK_MUST_CHECK cuzk_status gpu_scan_pairs(uint32_t *d_out, const uint32_t *d_len, size_t n,
                                           unsigned level, void *d_temp, size_t temp_bytes,
                                           void *stream);
#ifdef __cplusplus
}
#endif
#endif
