/* Fp arithmetic in plain C, from 128-bit products. Included through fp_inline.h only. */
#ifndef FF_FP_PORTABLE_H
#define FF_FP_PORTABLE_H
#include "ff/fp.h"
#include "ff/limb.h"

#define FPP_P0 0xb9feffffffffaaabu
#define FPP_P1 0x1eabfffeb153ffffu
#define FPP_P2 0x6730d2a0f6b0f624u
#define FPP_P3 0x64774b84f38512bfu
#define FPP_P4 0x4b1ba7b6434bacd7u
#define FPP_P5 0x1a0111ea397fe69au
#define FPP_NINV 0x89f3fffcfffcfffdu /* -1/p mod 2^64 */

/* o = t or t - p, whichever is in [0, p); t < 2p < 2^382. */
static inline void fpp_reduce_once(fp *o, const uint64_t t[6])
{
    uint64_t d0, d1, d2, d3, d4, d5, borrow = 0;
    d0 = limb_sbb(t[0], FPP_P0, &borrow);
    d1 = limb_sbb(t[1], FPP_P1, &borrow);
    d2 = limb_sbb(t[2], FPP_P2, &borrow);
    d3 = limb_sbb(t[3], FPP_P3, &borrow);
    d4 = limb_sbb(t[4], FPP_P4, &borrow);
    d5 = limb_sbb(t[5], FPP_P5, &borrow);
    uint64_t keep = 0 - borrow; /* all ones when t < p */
    limb_store(&o->l[0], d0 ^ ((d0 ^ t[0]) & keep));
    limb_store(&o->l[1], d1 ^ ((d1 ^ t[1]) & keep));
    limb_store(&o->l[2], d2 ^ ((d2 ^ t[2]) & keep));
    limb_store(&o->l[3], d3 ^ ((d3 ^ t[3]) & keep));
    limb_store(&o->l[4], d4 ^ ((d4 ^ t[4]) & keep));
    limb_store(&o->l[5], d5 ^ ((d5 ^ t[5]) & keep));
}

static inline void fpp_add(fp *o, const fp *a, const fp *b)
{
    uint64_t t[6], carry = 0;
    t[0] = limb_adc(limb_load(&a->l[0]), limb_load(&b->l[0]), &carry);
    t[1] = limb_adc(limb_load(&a->l[1]), limb_load(&b->l[1]), &carry);
    t[2] = limb_adc(limb_load(&a->l[2]), limb_load(&b->l[2]), &carry);
    t[3] = limb_adc(limb_load(&a->l[3]), limb_load(&b->l[3]), &carry);
    t[4] = limb_adc(limb_load(&a->l[4]), limb_load(&b->l[4]), &carry);
    t[5] = limb_adc(limb_load(&a->l[5]), limb_load(&b->l[5]), &carry);
    fpp_reduce_once(o, t);
}

static inline void fpp_sub(fp *o, const fp *a, const fp *b)
{
    uint64_t t[6], borrow = 0;
    t[0] = limb_sbb(limb_load(&a->l[0]), limb_load(&b->l[0]), &borrow);
    t[1] = limb_sbb(limb_load(&a->l[1]), limb_load(&b->l[1]), &borrow);
    t[2] = limb_sbb(limb_load(&a->l[2]), limb_load(&b->l[2]), &borrow);
    t[3] = limb_sbb(limb_load(&a->l[3]), limb_load(&b->l[3]), &borrow);
    t[4] = limb_sbb(limb_load(&a->l[4]), limb_load(&b->l[4]), &borrow);
    t[5] = limb_sbb(limb_load(&a->l[5]), limb_load(&b->l[5]), &borrow);
    uint64_t mask = 0 - borrow, carry = 0;
    limb_store(&o->l[0], limb_adc(t[0], FPP_P0 & mask, &carry));
    limb_store(&o->l[1], limb_adc(t[1], FPP_P1 & mask, &carry));
    limb_store(&o->l[2], limb_adc(t[2], FPP_P2 & mask, &carry));
    limb_store(&o->l[3], limb_adc(t[3], FPP_P3 & mask, &carry));
    limb_store(&o->l[4], limb_adc(t[4], FPP_P4 & mask, &carry));
    limb_store(&o->l[5], limb_adc(t[5], FPP_P5 & mask, &carry));
}

static inline void fpp_neg(fp *o, const fp *a)
{
    uint64_t any = a->l[0] | a->l[1] | a->l[2] | a->l[3] | a->l[4] | a->l[5];
    uint64_t mask = 0 - (uint64_t)(any != 0), borrow = 0;
    limb_store(&o->l[0], limb_sbb(FPP_P0 & mask, a->l[0], &borrow));
    limb_store(&o->l[1], limb_sbb(FPP_P1 & mask, a->l[1], &borrow));
    limb_store(&o->l[2], limb_sbb(FPP_P2 & mask, a->l[2], &borrow));
    limb_store(&o->l[3], limb_sbb(FPP_P3 & mask, a->l[3], &borrow));
    limb_store(&o->l[4], limb_sbb(FPP_P4 & mask, a->l[4], &borrow));
    limb_store(&o->l[5], limb_sbb(FPP_P5 & mask, a->l[5], &borrow));
}

/* One row of CIOS: t = (t + a*bi + m*p) / 2^64; the top limb cannot overflow (see frp_mul_row). */
static inline void fpp_mul_row(uint64_t t[6], const fp *a, uint64_t bi)
{
    limb2 x = (limb2)a->l[0] * bi + t[0];
    uint64_t m = (uint64_t)x * FPP_NINV;
    limb2 y = (limb2)m * FPP_P0 + (uint64_t)x;
    x = (limb2)a->l[1] * bi + t[1] + (uint64_t)(x >> 64);
    y = (limb2)m * FPP_P1 + (uint64_t)x + (uint64_t)(y >> 64);
    t[0] = (uint64_t)y;
    x = (limb2)a->l[2] * bi + t[2] + (uint64_t)(x >> 64);
    y = (limb2)m * FPP_P2 + (uint64_t)x + (uint64_t)(y >> 64);
    t[1] = (uint64_t)y;
    x = (limb2)a->l[3] * bi + t[3] + (uint64_t)(x >> 64);
    y = (limb2)m * FPP_P3 + (uint64_t)x + (uint64_t)(y >> 64);
    t[2] = (uint64_t)y;
    x = (limb2)a->l[4] * bi + t[4] + (uint64_t)(x >> 64);
    y = (limb2)m * FPP_P4 + (uint64_t)x + (uint64_t)(y >> 64);
    t[3] = (uint64_t)y;
    x = (limb2)a->l[5] * bi + t[5] + (uint64_t)(x >> 64);
    y = (limb2)m * FPP_P5 + (uint64_t)x + (uint64_t)(y >> 64);
    t[4] = (uint64_t)y;
    t[5] = (uint64_t)(x >> 64) + (uint64_t)(y >> 64);
}

static inline void fpp_mul(fp *o, const fp *a, const fp *b)
{
    uint64_t t[6] = {0, 0, 0, 0, 0, 0};
    fpp_mul_row(t, a, b->l[0]);
    fpp_mul_row(t, a, b->l[1]);
    fpp_mul_row(t, a, b->l[2]);
    fpp_mul_row(t, a, b->l[3]);
    fpp_mul_row(t, a, b->l[4]);
    fpp_mul_row(t, a, b->l[5]);
    fpp_reduce_once(o, t);
}
#endif
