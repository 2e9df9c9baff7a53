/* Many G1 points times a scalar each, and butterflies of them: batches of affine additions in step,
 * with the endomorphism. Points are affine, in the subgroup; infinities, equal and opposite points
 * are allowed, and results are exact. */
#ifndef MSM_MSM_EACH_H
#define MSM_MSM_EACH_H
#include "ec/g1.h"

/* A scalar as signed digits, |digit| <= 8: k P = sum of 16^w (d[0][w] P + d[1][w] phi(P)). */
typedef struct msm_factor {
    int8_t d[2][32];
} msm_factor;
/* In: k < r. */
void msm_factor_set(msm_factor *f, const fr_int *k);

/* Scratch of n_threads threads. Memory: gives about 0.5 MiB per thread; release with
 * msm_each_destroy. NULL when out of memory. */
typedef struct msm_each msm_each;
msm_each *msm_each_create(unsigned n_threads);
void msm_each_destroy(msm_each *e); /* NULL is allowed */

#define MSM_EACH_MAX 256u /* points per call; fewer make an inversion dearer */
typedef struct msm_product {
    const g1_aff *p;
    const msm_factor *f;
} msm_product;
/* out[i] = f p of in[i], i < n <= MSM_EACH_MAX; out may hold the points. thread < n_threads names
 * the scratch.
 * Cost: 124 doublings and about 67 additions each, on affine points. */
void msm_each_mul(msm_each *e, unsigned thread, g1_aff *out, const msm_product *in, size_t n);

/* (x, y) <- (x + f y, x - f y); f is NULL, for 1, in all butterflies of a call or in none. */
typedef struct msm_butterfly {
    g1_aff *x, *y;
    const msm_factor *f;
} msm_butterfly;
/* n <= MSM_EACH_MAX, all points distinct in memory. */
void msm_each_butterfly(msm_each *e, unsigned thread, const msm_butterfly *b, size_t n);
#endif
