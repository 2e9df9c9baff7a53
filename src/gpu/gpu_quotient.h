/* The quotient h = (a b - c) / z of satisfied rows on the device: six transforms, c being a o b on
 * the domain, or the four of them that a key in evaluation form leaves over (groth16/evkey.h). The CPU
 * twin is poly/quotient.c.
 * The coset is that of a root of unity of order 2^(lg_m + 1), whose twiddles are the second half of
 * the table for twice the domain: no factor is ever multiplied in. h does not depend on the coset. */
#ifndef GPU_QUOTIENT_H
#define GPU_QUOTIENT_H
#include "gpu/gpu_ntt.h"
#include "gpu/gpu_run.h"
#ifdef __cplusplus
extern "C" {
#endif

/* In: a, b evaluations on the domain, 2^lg_m reduced fr each (Montgomery form, bit-reversed places,
 * as gpu_shape_eval leaves them); both are used up, and d_c, as long, is scratch. The three do not
 * overlap. ntt serves 2^(lg_m + 1) points or more, so lg_m < GPU_NTT_TABLE_LG_MAX.
 * Out: d_a holds the coefficients of h as canonical integers (fr_int) in natural order, the last
 * one 0. Asynchronous; calls run->slice between transforms (26 ms each at 2^27 on an H200).
 * Errors: CUZK_E_RANGE (sizes), what run->slice returns, CUZK_E_DEVICE, CUZK_E_DEVICE_LOST. */
CUZK_MUST_CHECK cuzk_status gpu_quotient(const gpu_ntt_table *ntt, void *d_a, void *d_b, void *d_c,
                                         uint32_t lg_m, const gpu_run *run);
/* In: as gpu_quotient, without c. Out: d_a holds the values of a b on the coset g w^j as canonical
 * integers, place p that of j = p with its lg_m bits reversed, g = fr_root_of_unity(lg_m + 1). d_b is
 * used up. Asynchronous, slices and errors: as gpu_quotient. */
CUZK_MUST_CHECK cuzk_status gpu_coset_product(const gpu_ntt_table *ntt, void *d_a, void *d_b,
                                              uint32_t lg_m, const gpu_run *run);
#ifdef __cplusplus
}
#endif
#endif
