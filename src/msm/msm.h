/* Multi-scalar multiplication on the CPU. Results are exact group elements and do not depend on the thread count.
 * Bases are affine, Montgomery form; infinities among them are allowed. Source: Pippenger with signed digits and batched affine buckets. */
#ifndef MSM_MSM_H
#define MSM_MSM_H
#include "base/run_ctx.h"
#include "ec/g1.h"
#include "ec/g2.h"

/* *out = sum scalars[i] * bases[i], i < n; scalars < 2^255 in plain form; 0 and 1 take fast paths. n = 0 gives infinity.
 * Errors: CUZK_E_NOMEM, CUZK_E_CANCELLED. */
CUZK_MUST_CHECK cuzk_status msm_g1(g1_jac *out, const g1_aff *bases, const fr_int *scalars, size_t n, const run_ctx *rc);
CUZK_MUST_CHECK cuzk_status msm_g2(g2_jac *out, const g2_aff *bases, const fr_int *scalars, size_t n, const run_ctx *rc);
/* *out = sum of bases[i] over the set bits i < n of mask (bit i of word i/64). */
CUZK_MUST_CHECK cuzk_status msm_g1_sum(g1_jac *out, const g1_aff *bases, const uint64_t *mask, size_t n, const run_ctx *rc);
CUZK_MUST_CHECK cuzk_status msm_g2_sum(g2_jac *out, const g2_aff *bases, const uint64_t *mask, size_t n, const run_ctx *rc);

/* Fixed-base multiplication for key generation: out[i] = scalars[i] * base for many scalars. */
CUZK_MUST_CHECK cuzk_status msm_fixed_g1(g1_aff *out, const g1_aff *base, const fr_int *scalars, size_t n, const run_ctx *rc);
CUZK_MUST_CHECK cuzk_status msm_fixed_g2(g2_aff *out, const g2_aff *base, const fr_int *scalars, size_t n, const run_ctx *rc);
/* A reusable table for the same (so that chunks of scalars can be streamed). */
typedef struct msm_fixed msm_fixed;
CUZK_MUST_CHECK cuzk_status msm_fixed_create(msm_fixed **out, const g1_aff *base_g1 /* or NULL */, const g2_aff *base_g2 /* or NULL */, size_t n_expected, const run_ctx *rc);
void msm_fixed_destroy(msm_fixed *t);
CUZK_MUST_CHECK cuzk_status msm_fixed_mul_g1(const msm_fixed *t, g1_aff *out, const fr_int *scalars, size_t n, const run_ctx *rc);
CUZK_MUST_CHECK cuzk_status msm_fixed_mul_g2(const msm_fixed *t, g2_aff *out, const fr_int *scalars, size_t n, const run_ctx *rc);
#endif
