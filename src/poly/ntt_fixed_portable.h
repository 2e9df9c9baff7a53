/* Lazy Fr arithmetic of the transforms in plain C: products by a fixed operand (ntt_int.h), sums
 * and differences in [0, 2r). Included through ntt_kernel_tmpl.h only. */
#ifndef POLY_NTT_FIXED_PORTABLE_H
#define POLY_NTT_FIXED_PORTABLE_H
#include "ff/fr_inline.h"
#include "ff/limb.h"
#include "poly/ntt_int.h"

/* 2^256 - r and 2r. */
static const uint64_t nfx_neg_r[4] = {0 - FRP_R0, ~FRP_R1, ~FRP_R2, ~FRP_R3};
static const uint64_t nfx_2r[4] = {FRP_R0 << 1, FRP_R1 << 1 | FRP_R0 >> 63,
                                   FRP_R2 << 1 | FRP_R1 >> 63, FRP_R3 << 1 | FRP_R2 >> 63};

static inline uint64_t nfx_mulhi(uint64_t a, uint64_t b) { return (uint64_t)((limb2)a * b >> 64); }

/* *t += a b + carry; returns the new carry. */
static inline uint64_t nfx_mac(uint64_t *t, uint64_t a, uint64_t b, uint64_t carry)
{
    limb2 s = (limb2)a * b + *t + carry;
    *t = (uint64_t)s;
    return (uint64_t)(s >> 64);
}

/* High half of v x, or one less: what columns 0 and 1 and the low halves of column 2 would carry
 * into the result is below 2^195 / 2^256. */
static inline void nfx_quotient(uint64_t q[4], const uint64_t *v, const uint64_t *x)
{
    uint64_t c3 = nfx_mulhi(v[0], x[2]), k;
    q[0] = nfx_mac(&c3, v[0], x[3], 0);
    k = nfx_mac(&c3, v[1], x[2], nfx_mulhi(v[1], x[1]));
    q[1] = nfx_mac(&q[0], v[1], x[3], k);
    k = nfx_mac(&c3, v[2], x[1], nfx_mulhi(v[2], x[0]));
    k = nfx_mac(&q[0], v[2], x[2], k);
    q[2] = nfx_mac(&q[1], v[2], x[3], k);
    k = nfx_mac(&c3, v[3], x[0], 0);
    k = nfx_mac(&q[0], v[3], x[1], k);
    k = nfx_mac(&q[1], v[3], x[2], k);
    q[3] = nfx_mac(&q[2], v[3], x[3], k);
}

/* t += a b mod 2^256. */
static inline void nfx_mac_low(uint64_t t[4], const uint64_t *a, const uint64_t *b)
{
    uint64_t k = nfx_mac(&t[0], a[0], b[0], 0);
    k = nfx_mac(&t[1], a[0], b[1], k);
    k = nfx_mac(&t[2], a[0], b[2], k);
    t[3] += a[0] * b[3] + k;
    k = nfx_mac(&t[1], a[1], b[0], 0);
    k = nfx_mac(&t[2], a[1], b[1], k);
    t[3] += a[1] * b[2] + k;
    k = nfx_mac(&t[2], a[2], b[0], 0);
    t[3] += a[2] * b[1] + a[3] * b[0] + k;
}

/* o = f x in [0, 2r), x < 2r. Bound: w x - q r < r (1 + x / 2^256 + 2^-61), and 2r / 2^256 = 0.906.
 * */
static inline void nfx_mul(fr *o, const fr *x, const ntt_twiddle *f)
{
    uint64_t q[4], t[4] = {0, 0, 0, 0};
    nfx_quotient(q, f->v.l, x->l);
    nfx_mac_low(t, f->w.l, x->l);
    nfx_mac_low(t, q, nfx_neg_r);
    for (int i = 0; i < 4; i++)
        o->l[i] = t[i];
}

static inline void nfx_add(fr *o, const fr *a, const fr *b)
{
    uint64_t s[4], d[4], carry = 0, borrow = 0;
    for (int i = 0; i < 4; i++)
        s[i] = limb_adc(a->l[i], b->l[i], &carry);
    for (int i = 0; i < 4; i++)
        d[i] = limb_sbb(s[i], nfx_2r[i], &borrow);
    uint64_t keep = 0 - (borrow & ~carry); /* all ones when a + b < 2r */
    for (int i = 0; i < 4; i++)
        o->l[i] = d[i] ^ ((d[i] ^ s[i]) & keep);
}

static inline void nfx_sub(fr *o, const fr *a, const fr *b)
{
    uint64_t d[4], carry = 0, borrow = 0;
    for (int i = 0; i < 4; i++)
        d[i] = limb_sbb(a->l[i], b->l[i], &borrow);
    for (int i = 0; i < 4; i++)
        o->l[i] = limb_adc(d[i], nfx_2r[i] & (0 - borrow), &carry);
}

/* [0, 2r) to [0, r). */
static inline void nfx_reduce(fr *o, const fr *a) { frp_reduce_once(o, a->l); }
#endif
