/* Many short sums of G1 points, each point taken as it is, negated or times a scalar: the rows of a
 * sparse matrix times a vector of points. Points are affine, in the subgroup; infinities, equal and
 * opposite points are allowed, and results are exact. */
#ifndef MSM_MSM_SUMS_H
#define MSM_MSM_SUMS_H
#include "msm/msm_each.h"

/* One per thread. Memory: gives about 2 MiB; release with msm_sums_destroy. NULL when out of
 * memory. */
typedef struct msm_sums msm_sums;
msm_sums *msm_sums_create(void);
void msm_sums_destroy(msm_sums *s); /* NULL is allowed */

/* begin; then, for each sum in order, terms (none gives infinity) and close; then finish. Sum i
 * goes to out[i] by the time of finish. Points must live until then. */
void msm_sums_begin(msm_sums *s, g1_aff *out);
void msm_sums_add(msm_sums *s, const g1_aff *p, bool negate);
void msm_sums_add_product(msm_sums *s, const g1_aff *p, const msm_factor *f);
void msm_sums_close(msm_sums *s);
void msm_sums_finish(msm_sums *s);
#endif
