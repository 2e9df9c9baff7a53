/* Multi-scalar multiplication on the CPU. Results are exact group elements and do not depend on the
 * thread count (a Jacobian result may, in its Z). Bases are affine, Montgomery form, in the
 * prime-order subgroup or not; infinities among them are allowed, as are equal and opposite points.
 * Scalars are in plain form and < 2^255 (not necessarily < r).
 *
 * Method: Pippenger with signed digits. The points of a window are sorted by bucket and every
 * bucket is summed as a tree of affine additions that share inversions (5 multiplications and 1
 * square each; on G1 four at a time where there is AVX2), and so are the rows and columns of the
 * bucket array; two short running sums per window finish. The cost does not depend on how the
 * scalars are distributed: equal digits only change the shape of the trees. An endomorphism is not
 * used: halving the scalars doubles the points, which leaves the number of additions as it is for
 * large n, and only the bucket reduction (under a tenth of the time) would gain.
 *
 * Cancel is polled on the caller's thread, about every 50 ms. Progress is reported there by group
 * of windows as stage "msm".
 * No spans are opened here: the caller's span is the leaf. After a failure *out is infinity and
 * nothing is leaked.
 * Errors of all: CUZK_E_NOMEM, CUZK_E_CANCELLED, CUZK_E_RANGE (n >= 2^31, a scalar >= 2^255). */
#ifndef MSM_MSM_H
#define MSM_MSM_H
#include "base/run_ctx.h"
#include "ec/g1.h"
#include "ec/g2.h"

/* *out = sum scalars[i] * bases[i], i < n; scalars 0 cost nothing, scalars 1 one addition. n = 0
 * gives infinity.
 * Memory: besides bases and scalars, 12 bytes per scalar (other than 0 and 1; 4 more if there are
 * any of those), at least 12 MiB from 2^12 scalars or so, buckets of at most 48 MiB (G1) or 96 MiB
 * (G2), and 0.7 MiB per thread. G1, 2^22: 113 MB measured.
 * Cost: about ceil(256 / c) * (n + 2^(c-1)) affine additions, c from 2 to 20 by n. */
CUZK_MUST_CHECK cuzk_status msm_g1(g1_jac *out, const g1_aff *bases, const fr_int *scalars,
                                   size_t n, const run_ctx *rc);
CUZK_MUST_CHECK cuzk_status msm_g2(g2_jac *out, const g2_aff *bases, const fr_int *scalars,
                                   size_t n, const run_ctx *rc);
/* *out = sum of bases[i] over the set bits i < n of mask (bit i of word i/64).
 * Memory: 0.7 MiB per thread and a point per 4096 (G1) or 2048 (G2) bases. Cost: one affine
 * addition per set bit. */
CUZK_MUST_CHECK cuzk_status msm_g1_sum(g1_jac *out, const g1_aff *bases, const uint64_t *mask,
                                       size_t n, const run_ctx *rc);
CUZK_MUST_CHECK cuzk_status msm_g2_sum(g2_jac *out, const g2_aff *bases, const uint64_t *mask,
                                       size_t n, const run_ctx *rc);

/* Fixed-base multiplication for key generation: out[i] = scalars[i] * base for many scalars. */
CUZK_MUST_CHECK cuzk_status msm_fixed_g1(g1_aff *out, const g1_aff *base, const fr_int *scalars,
                                         size_t n, const run_ctx *rc);
CUZK_MUST_CHECK cuzk_status msm_fixed_g2(g2_aff *out, const g2_aff *base, const fr_int *scalars,
                                         size_t n, const run_ctx *rc);
/* A reusable table for the same (so that chunks of scalars can be streamed). n_expected, the number
 * of scalars to come in all, chooses its size: windows of 4 to 16 bits; 16 bits (from half a
 * million scalars) are 48 MiB for G1, 96 MiB for G2, and cost 2^19 affine additions to build and 15
 * per scalar. Immutable once created. Memory: 0.2 MiB per thread during a call. */
typedef struct msm_fixed msm_fixed;
CUZK_MUST_CHECK cuzk_status msm_fixed_create(msm_fixed **out, const g1_aff *base_g1 /* or NULL */,
                                             const g2_aff *base_g2 /* or NULL */, size_t n_expected,
                                             const run_ctx *rc);
void msm_fixed_destroy(msm_fixed *t); /* NULL is allowed */
CUZK_MUST_CHECK cuzk_status msm_fixed_mul_g1(const msm_fixed *t, g1_aff *out, const fr_int *scalars,
                                             size_t n, const run_ctx *rc);
CUZK_MUST_CHECK cuzk_status msm_fixed_mul_g2(const msm_fixed *t, g2_aff *out, const fr_int *scalars,
                                             size_t n, const run_ctx *rc);
#endif
