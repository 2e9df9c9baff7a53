/* Inlined Fp arithmetic for hot kernels, with the meaning of the fp_* functions of fp.h.
 * How a kernel chooses between the portable and the ADX form: see fr_inline.h. */
#ifndef FF_FP_INLINE_H
#define FF_FP_INLINE_H
#include <assert.h>
#include "ff/fp_portable.h"
#if defined(__x86_64__)
#include "ff/fp_x64.h"
#endif
#if defined(CUZK_ISA_ADX) && defined(__x86_64__)
#include "ff/fp_adx.h"
#endif

static_assert(FPP_P5 < 0x7fffffffffffffffu,
              "no-carry Montgomery needs a spare bit and not all ones");

static inline void fpi_add(fp *o, const fp *a, const fp *b)
{
#if defined(__x86_64__)
    fpx_add(o, a, b);
#else
    fpp_add(o, a, b);
#endif
}

static inline void fpi_sub(fp *o, const fp *a, const fp *b)
{
#if defined(__x86_64__)
    fpx_sub(o, a, b);
#else
    fpp_sub(o, a, b);
#endif
}

static inline void fpi_dbl(fp *o, const fp *a) { fpi_add(o, a, a); }

static inline void fpi_neg(fp *o, const fp *a) { fpp_neg(o, a); }

static inline void fpi_mul(fp *o, const fp *a, const fp *b)
{
#if defined(CUZK_ISA_ADX) && defined(__x86_64__)
    fpx_mul(o, a, b);
#else
    fpp_mul(o, a, b);
#endif
}

/* No form of its own: a wide square (21 products) and a separate reduction took 44 ns where fpx_mul
 * took 41 on an
 * AMD EPYC, as the reduction alone is one long dependency chain. */
static inline void fpi_sqr(fp *o, const fp *a) { fpi_mul(o, a, a); }

static inline bool fpi_is_zero(const fp *a)
{
    return (a->l[0] | a->l[1] | a->l[2] | a->l[3] | a->l[4] | a->l[5]) == 0;
}

static inline bool fpi_eq(const fp *a, const fp *b)
{
    return ((a->l[0] ^ b->l[0]) | (a->l[1] ^ b->l[1]) | (a->l[2] ^ b->l[2]) | (a->l[3] ^ b->l[3]) |
            (a->l[4] ^ b->l[4]) | (a->l[5] ^ b->l[5])) == 0;
}

static inline void fpi_cmov(fp *o, const fp *a, bool take)
{
    uint64_t mask = 0 - (uint64_t)take;
    for (int i = 0; i < 6; i++)
        o->l[i] ^= (o->l[i] ^ a->l[i]) & mask;
}
#endif
