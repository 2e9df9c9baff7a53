/* Number-theoretic transforms over Fr and the Groth16 quotient. */
#ifndef POLY_NTT_H
#define POLY_NTT_H
#include "base/run_ctx.h"
#include "ff/fr.h"
#define NTT_LG_N_MAX 32u

/* Twiddles for domains up to 2^lg_n points (a plan serves every smaller size too). Immutable once
 * built. */
typedef struct ntt_plan ntt_plan;
/* Memory: gives; 2^(lg_n+5) bytes of twiddles (64 for lg_n = 0), each with what makes products by
 * it cheap. Transforms take 384 KiB per thread while they run, quotients tables of
 * 2^max(lg_n/2, lg_n-10) powers. Errors: CUZK_E_RANGE (lg_n > 32), CUZK_E_NOMEM,
 * CUZK_E_CANCELLED. */
CUZK_MUST_CHECK cuzk_status ntt_plan_create(ntt_plan **out, uint32_t lg_n, const run_ctx *rc);
void ntt_plan_destroy(ntt_plan *p);

/* In place, natural order in and out: a_k <- sum_i a_i w^(ik), w = fr_root_of_unity(lg_n). lg_n may
 * be 0 and is at most the plan's. */
CUZK_MUST_CHECK cuzk_status ntt_forward(const ntt_plan *p, fr *a, uint32_t lg_n, const run_ctx *rc);
/* The inverse, 1/n included. */
CUZK_MUST_CHECK cuzk_status ntt_inverse(const ntt_plan *p, fr *a, uint32_t lg_n, const run_ctx *rc);
/* With theta = X d/dX, which takes a coefficient i times: from a polynomial A of degree < n, given by
 * its values, a_j <- k (theta A)(w^j). Two transforms. */
CUZK_MUST_CHECK cuzk_status ntt_derivative(const ntt_plan *p, fr *a, const fr *k, uint32_t lg_n,
                                           const run_ctx *rc);

/* Groth16 quotient h = (A*B - C) / (X^m - 1) of row evaluations a, b (m = 2^lg_m values each, zero
 * padded) with c = a*b on every row (satisfied rows; input rows have b = 0). In six transforms:
 * with A*B = lo + X^m hi, C = lo + hi, and on the coset 7*<w>, which a domain of any size has, the
 * interpolation of a*b is D = lo + 7^m hi, so h = hi = (D - C)/(7^m - 1).
 * In/Out: a becomes the m coefficients of h (the last is 0), b is destroyed; scratch: m
 * elements. */
CUZK_MUST_CHECK cuzk_status ntt_quotient(const ntt_plan *p, fr *a, fr *b, fr *scratch,
                                         uint32_t lg_m, const run_ctx *rc);
/* out[j] = (1/m^2) (a_j (theta B)(w^j) + b_j (theta A)(w^j)), j < m = 2^lg_m, where A and B
 * interpolate a and b, as plain integers: the scalars of a key in evaluation form (groth16/evkey.h),
 * zero where a_j and b_j are. In four transforms; needs no memory but out, one side at a time.
 * In/Out: a is destroyed, b is not; out overlaps neither. */
CUZK_MUST_CHECK cuzk_status ntt_derivative_product(const ntt_plan *p, fr_int *out, fr *a,
                                                   const fr *b, uint32_t lg_m, const run_ctx *rc);
/* lag[k] = L_k(tau), k < 2^lg_m, the Lagrange basis of <w> at tau (also when tau is in the
 * domain). */
CUZK_MUST_CHECK cuzk_status ntt_lagrange_at(fr *lag, const fr *tau, uint32_t lg_m,
                                            const run_ctx *rc);
#endif
