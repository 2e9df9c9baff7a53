/* The quotient h = (a b - c) / z of satisfied rows on the device: six transforms, c being a o b on
 * the domain, or what a key in evaluation form wants instead (groth16/evkey.h), in four. The CPU twin is
 * poly/quotient.c.
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
/* The scalars of section h in evaluation form. In: as gpu_quotient, but a less u (groth16/evkey.h), and
 * ntt serves 2^lg_m points. Out: d_a holds (1/m^2) (a theta b + b theta a)(w^j) as canonical integers,
 * place p that of j = p with its lg_m bits reversed; theta multiplies coefficient i by i. 0 where a and
 * b are. d_b is kept, d_c scratch. Asynchronous, slices and errors: as gpu_quotient. */
CUZK_MUST_CHECK cuzk_status gpu_derivative_product(const gpu_ntt_table *ntt, void *d_a, void *d_b,
                                                   void *d_c, uint32_t lg_m, const gpu_run *run);
/* Coefficient i times i / 2^32 mod r (reversed: (m - i) mod m in i's place), in place; lazy in, reduced
 * out. For the set-up: gpu_derivative_product does it in a pass of its transforms. */
CUZK_MUST_CHECK cuzk_status gpu_theta(void *d_a, uint32_t lg_m, bool reversed, const gpu_run *run);
#ifdef __cplusplus
}
#endif
#endif
