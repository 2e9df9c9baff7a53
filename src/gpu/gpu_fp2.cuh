/* Fp2 = Fp[u]/(u^2 + 1) with lazy reduction: both coordinates in [0, 2p], as gpu_fp_lazy.cuh; the
 * layout of ff/fp2.h. Outputs may alias inputs. */
#ifndef GPU_FP2_CUH
#define GPU_FP2_CUH
#include "gpu/gpu_fp_lazy.cuh"

typedef struct gpu_fp2 {
    gpu_fp c0, c1;
} gpu_fp2;

/* o = a b + c d, for values up to 2p: at most (8 p / 2^384 + 1) p < 2p. One reduction for both
 * products: three row passes where two products take four. */
CUZK_HD void gpu_lz_mul_add(gpu_fp *o, const gpu_fp *a, const gpu_fp *b, const gpu_fp *c,
                            const gpu_fp *d)
{
    enum { N = GPU_FP_WORDS };
    const uint32_t *m = GPU_CONST(GPU_FP_P);
    const uint32_t ninv = GPU_CONST(GPU_LZ_NINV)[0];
    uint32_t even[N], odd[N];
    GPU_UNROLL
    for (int i = 0; i < N; i++) {
        uint32_t *main = i % 2 ? odd : even, *other = i % 2 ? even : odd;
        if (i == 0) {
            gpu_row_mul(main, a->l, b->l[0], N);
            gpu_row_mul(other, a->l + 1, b->l[0], N);
        } else {
            gpu_row_mad_shift(other, &main[0], a->l + 1, b->l[i], N);
            gpu_row_mad(main, a->l, b->l[i], N, &other[N - 1]);
        }
        gpu_row_mad(other, c->l + 1, d->l[i], N, (uint32_t *)0);
        gpu_row_mad(main, c->l, d->l[i], N, &other[N - 1]);
        uint32_t k = main[0] * ninv;
        gpu_row_mad(other, m + 1, k, N, (uint32_t *)0);
        gpu_row_mad(main, m, k, N, &other[N - 1]);
    }
    /* odd[0] is 0; the value is even + (odd >> 32). */
    GPU_UNROLL
    for (int i = 0; i < N; i++)
        odd[i] = i + 1 < N ? odd[i + 1] : 0;
    (void)gpu_words_add(o->l, even, odd, N);
}

CUZK_HD void gpu_lz2_set_zero(gpu_fp2 *o)
{
    gpu_fp_set_zero(&o->c0);
    gpu_fp_set_zero(&o->c1);
}

CUZK_HD void gpu_lz2_set_one(gpu_fp2 *o)
{
    gpu_fp_set_one(&o->c0);
    gpu_fp_set_zero(&o->c1);
}

CUZK_HD void gpu_lz2_add(gpu_fp2 *o, const gpu_fp2 *a, const gpu_fp2 *b)
{
    gpu_lz_add(&o->c0, &a->c0, &b->c0);
    gpu_lz_add(&o->c1, &a->c1, &b->c1);
}

CUZK_HD void gpu_lz2_sub(gpu_fp2 *o, const gpu_fp2 *a, const gpu_fp2 *b)
{
    gpu_lz_sub(&o->c0, &a->c0, &b->c0);
    gpu_lz_sub(&o->c1, &a->c1, &b->c1);
}

CUZK_HD void gpu_lz2_neg_if(gpu_fp2 *o, const gpu_fp2 *a, uint32_t neg)
{
    gpu_lz_neg_if(&o->c0, &a->c0, neg);
    gpu_lz_neg_if(&o->c1, &a->c1, neg);
}

CUZK_HD void gpu_lz2_mul(gpu_fp2 *o, const gpu_fp2 *a, const gpu_fp2 *b)
{
    gpu_fp t, minus;
    gpu_lz_neg_if(&minus, &b->c1, ~0u);
    gpu_lz_mul_add(&t, &a->c0, &b->c0, &a->c1, &minus);
    gpu_lz_mul_add(&o->c1, &a->c0, &b->c1, &a->c1, &b->c0);
    o->c0 = t;
}

/* (a0 + a1)(a0 - a1), 2 a0 a1: the sums go in unreduced, 4p times 2p being as much as a product
 * takes. */
CUZK_HD void gpu_lz2_sqr(gpu_fp2 *o, const gpu_fp2 *a)
{
    gpu_fp sum, diff;
    (void)gpu_words_add(sum.l, a->c0.l, a->c1.l, GPU_FP_WORDS);
    gpu_lz_sub(&diff, &a->c0, &a->c1);
    gpu_lz_mul(&diff, &sum, &diff);
    (void)gpu_words_add(sum.l, a->c0.l, a->c0.l, GPU_FP_WORDS);
    gpu_lz_mul(&o->c1, &sum, &a->c1);
    o->c0 = diff;
}

/* o = 1/a; 0 -> 0. */
CUZK_HD void gpu_lz2_inv(gpu_fp2 *o, const gpu_fp2 *a)
{
    gpu_fp norm;
    gpu_lz_mul_add(&norm, &a->c0, &a->c0, &a->c1, &a->c1);
    gpu_lz_inv(&norm, &norm);
    gpu_lz_mul(&o->c0, &a->c0, &norm);
    gpu_lz_neg_if(&norm, &norm, ~0u);
    gpu_lz_mul(&o->c1, &a->c1, &norm);
}

CUZK_HD bool gpu_lz2_is_zero(const gpu_fp2 *a)
{
    return gpu_lz_is_zero(&a->c0) && gpu_lz_is_zero(&a->c1);
}

CUZK_HD void gpu_lz2_canon(gpu_fp2 *o, const gpu_fp2 *a)
{
    gpu_lz_canon(&o->c0, &a->c0);
    gpu_lz_canon(&o->c1, &a->c1);
}
#endif
