/* The hot loops, compiled once per instruction set: the including file defines NTT_TABLE (and
 * CUZK_ISA_ADX before any include). No include guard on purpose. */
#include "ff/fr_inline.h"
#include "poly/ntt_int.h"
#if defined(CUZK_ISA_ADX)
#include "poly/ntt_fixed_adx.h"
#define FX_MUL nfa_mul
#define FX_ADD nfa_add
#define FX_SUB nfa_sub
#define FX_REDUCE nfa_reduce
#else
#include "poly/ntt_fixed_portable.h"
#define FX_MUL nfx_mul
#define FX_ADD nfx_add
#define FX_SUB nfx_sub
#define FX_REDUCE nfx_reduce
#endif
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Nodes of at most this many elements (16 KiB) run level by level: half of the usual 32 KiB of L1.
 * */
#define LG_LEVELWISE 9u

/* (x, y) <- (x + t y, x - t y) over half elements each; y and x trade places when t is the
 * inverse's negative. */
ALWAYS_INLINE void down_node(fr *x, fr *y, size_t half, const ntt_twiddle *t, bool negated)
{
    for (size_t j = 0; j < half; j++) {
        fr p, s;
        FX_MUL(&p, &y[j], t);
        FX_ADD(&s, &x[j], &p);
        FX_SUB(negated ? &x[j] : &y[j], &x[j], &p);
        (negated ? y : x)[j] = s;
    }
}

/* Node 0: the twiddle is 1. */
ALWAYS_INLINE void plain_node(fr *x, fr *y, size_t half)
{
    for (size_t j = 0; j < half; j++) {
        fr p = y[j], s;
        FX_ADD(&s, &x[j], &p);
        FX_SUB(&y[j], &x[j], &p);
        x[j] = s;
    }
}

/* (x, y) <- (x + y, t (x - y)). */
ALWAYS_INLINE void up_node(fr *x, fr *y, size_t half, const ntt_twiddle *t)
{
    for (size_t j = 0; j < half; j++) {
        fr d;
        FX_SUB(&d, &x[j], &y[j]);
        FX_ADD(&x[j], &x[j], &y[j]);
        FX_MUL(&y[j], &d, t);
    }
}

/* Nodes k .. k + n - 1 of one level, 2^lg_len elements each. */
static void down_level(const ntt_twiddle *tw, fr *a, uint32_t lg_len, size_t k, size_t n,
                       bool inverse)
{
    size_t half = (size_t)1 << (lg_len - 1), b = 0;
    if (k == 0) {
        plain_node(a, a + half, half);
        b = 1;
    }
    if (inverse)
        for (; b < n; b++) {
            size_t node = k + b, top = (size_t)1 << (63 - __builtin_clzll(node));
            down_node(a + 2 * half * b, a + 2 * half * b + half, half, &tw[node ^ (top - 1)], true);
        }
    else
        for (; b < n; b++)
            down_node(a + 2 * half * b, a + 2 * half * b + half, half, &tw[k + b], false);
}

static void down(const ntt_twiddle *tw, fr *a, uint32_t lg_len, size_t k, uint32_t n_levels,
                 bool inverse)
{
    if (lg_len > LG_LEVELWISE && n_levels > 1) {
        down_level(tw, a, lg_len, k, 1, inverse);
        down(tw, a, lg_len - 1, 2 * k, n_levels - 1, inverse);
        down(tw, a + ((size_t)1 << (lg_len - 1)), lg_len - 1, 2 * k + 1, n_levels - 1, inverse);
        return;
    }
    for (uint32_t l = 0; l < n_levels; l++)
        down_level(tw, a, lg_len - l, k << l, (size_t)1 << l, inverse);
}

static void up_level(const ntt_twiddle *tw, fr *a, uint32_t lg_len, size_t k, size_t n)
{
    size_t half = (size_t)1 << (lg_len - 1), b = 0;
    if (k == 0) {
        plain_node(a, a + half, half);
        b = 1;
    }
    for (; b < n; b++)
        up_node(a + 2 * half * b, a + 2 * half * b + half, half, &tw[k + b]);
}

static void up(const ntt_twiddle *tw, fr *a, uint32_t lg_len, size_t k, uint32_t n_levels)
{
    if (lg_len > LG_LEVELWISE && n_levels > 1) {
        up(tw, a, lg_len - 1, 2 * k, n_levels - 1);
        up(tw, a + ((size_t)1 << (lg_len - 1)), lg_len - 1, 2 * k + 1, n_levels - 1);
        up_level(tw, a, lg_len, k, 1);
        return;
    }
    for (uint32_t l = n_levels; l-- > 0;)
        up_level(tw, a, lg_len - l, k << l, (size_t)1 << l);
}

static void scale(fr *a, size_t n, const ntt_twiddle *c, const ntt_twiddle *tab)
{
    for (size_t i = 0; i < n; i++) {
        FX_MUL(&a[i], &a[i], c);
        if (tab)
            FX_MUL(&a[i], &a[i], &tab[i]);
    }
}

static void submul(fr *a, const fr *b, size_t n, const ntt_twiddle *c)
{
    for (size_t i = 0; i < n; i++) {
        fr p;
        FX_MUL(&p, &b[i], c);
        FX_SUB(&a[i], &a[i], &p);
    }
}

static void reduce(fr *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        FX_REDUCE(&a[i], &a[i]);
}

static void mul(fr *o, const fr *a, const fr *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fr x, y;
        FX_REDUCE(&x, &a[i]);
        FX_REDUCE(&y, &b[i]);
        fri_mul(&o[i], &x, &y);
    }
}

static void muladd(fr *o, const fr *a, const fr *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fr x, y;
        FX_REDUCE(&x, &a[i]);
        FX_REDUCE(&y, &b[i]);
        fri_mul(&x, &x, &y);
        fri_add(&o[i], &o[i], &x);
    }
}

static void ramp(fr *a, size_t n, const fr *c, const fr *tab)
{
    for (size_t i = 0; i < n; i++) {
        fr x, k;
        FX_REDUCE(&x, &a[i]);
        fri_add(&k, c, &tab[i]);
        fri_mul(&a[i], &x, &k);
    }
}

const ntt_kernels NTT_TABLE = {down, up, scale, submul, reduce, mul, muladd, ramp};
