/* Inlined Fp2 arithmetic for hot kernels, with the meaning of the fp2_* functions of fp2.h. */
#ifndef FF_FP2_INLINE_H
#define FF_FP2_INLINE_H
#include "ff/fp2.h"
#include "ff/fp_inline.h"

static inline void fp2i_add(fp2 *o, const fp2 *a, const fp2 *b)
{
    fpi_add(&o->c0, &a->c0, &b->c0);
    fpi_add(&o->c1, &a->c1, &b->c1);
}

static inline void fp2i_sub(fp2 *o, const fp2 *a, const fp2 *b)
{
    fpi_sub(&o->c0, &a->c0, &b->c0);
    fpi_sub(&o->c1, &a->c1, &b->c1);
}

static inline void fp2i_dbl(fp2 *o, const fp2 *a)
{
    fpi_dbl(&o->c0, &a->c0);
    fpi_dbl(&o->c1, &a->c1);
}

static inline void fp2i_neg(fp2 *o, const fp2 *a)
{
    fpi_neg(&o->c0, &a->c0);
    fpi_neg(&o->c1, &a->c1);
}

/* Karatsuba: (a0 + a1)(b0 + b1) - a0 b0 - a1 b1 is the u part. */
static inline void fp2i_mul(fp2 *o, const fp2 *a, const fp2 *b)
{
    fp sa, sb;
#if defined(CUZK_ISA_ADX) && defined(__x86_64__)
    /* Three wide products, two reductions. Sums below 2p fit six limbs; a0 b0 - a1 b1 > -p^2 is
     * made positive by 2^384 p, and a0 b1 + a1 b0 < 2p^2; both are then below 2^384 p. */
    fpx_wide t0, t1, t2;
    fpx_add_raw(&sa, &a->c0, &a->c1);
    fpx_add_raw(&sb, &b->c0, &b->c1);
    fpx_mul_wide(&t0, &a->c0, &b->c0);
    fpx_mul_wide(&t1, &a->c1, &b->c1);
    fpx_mul_wide(&t2, &sa, &sb);
    (void)fpx_wide_sub(&t2, &t2, &t0);
    (void)fpx_wide_sub(&t2, &t2, &t1);
    fpx_redc(&o->c1, &t2);
    uint64_t neg = fpx_wide_sub(&t0, &t0, &t1);
    fpx_wide_add_p(&t0, neg);
    fpx_redc(&o->c0, &t0);
#else
    fp t0, t1;
    fpi_add(&sa, &a->c0, &a->c1);
    fpi_add(&sb, &b->c0, &b->c1);
    fpi_mul(&t0, &a->c0, &b->c0);
    fpi_mul(&t1, &a->c1, &b->c1);
    fpi_mul(&sa, &sa, &sb);
    fpi_sub(&o->c0, &t0, &t1);
    fpi_sub(&sa, &sa, &t0);
    fpi_sub(&o->c1, &sa, &t1);
#endif
}

/* (a0 + a1 u)^2 = (a0 + a1)(a0 - a1) + 2 a0 a1 u. */
static inline void fp2i_sqr(fp2 *o, const fp2 *a)
{
    fp s, d, m;
    fpi_add(&s, &a->c0, &a->c1);
    fpi_sub(&d, &a->c0, &a->c1);
    fpi_mul(&m, &a->c0, &a->c1);
    fpi_mul(&o->c0, &s, &d);
    fpi_dbl(&o->c1, &m);
}

static inline void fp2i_mul_fp(fp2 *o, const fp2 *a, const fp *b)
{
    fp k = *b; /* b may be a coordinate of o */
    fpi_mul(&o->c0, &a->c0, &k);
    fpi_mul(&o->c1, &a->c1, &k);
}

/* Times 1 + u: (a0 - a1) + (a0 + a1) u. */
static inline void fp2i_mul_xi(fp2 *o, const fp2 *a)
{
    fp d;
    fpi_sub(&d, &a->c0, &a->c1);
    fpi_add(&o->c1, &a->c0, &a->c1);
    o->c0 = d;
}

static inline bool fp2i_is_zero(const fp2 *a) { return fpi_is_zero(&a->c0) && fpi_is_zero(&a->c1); }

static inline bool fp2i_eq(const fp2 *a, const fp2 *b)
{
    return fpi_eq(&a->c0, &b->c0) && fpi_eq(&a->c1, &b->c1);
}

static inline void fp2i_cmov(fp2 *o, const fp2 *a, bool take)
{
    fpi_cmov(&o->c0, &a->c0, take);
    fpi_cmov(&o->c1, &a->c1, take);
}
#endif
