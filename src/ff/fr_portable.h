/* Fr arithmetic in plain C, from 128-bit products. Included through fr_inline.h only.
 * No branch and no address depends on a value, so these also serve as the _ct forms. */
#ifndef FF_FR_PORTABLE_H
#define FF_FR_PORTABLE_H
#include "ff/fr.h"
#include "ff/limb.h"

#define FRP_R0 0xffffffff00000001u
#define FRP_R1 0x53bda402fffe5bfeu
#define FRP_R2 0x3339d80809a1d805u
#define FRP_R3 0x73eda753299d7d48u
#define FRP_NINV 0xfffffffeffffffffu /* -1/r mod 2^64 */

/* o = t or t - r, whichever is in [0, r); t < 2r < 2^256. */
static inline void frp_reduce_once(fr *o, const uint64_t t[4])
{
    uint64_t d0, d1, d2, d3, borrow = 0;
    d0 = limb_sbb(t[0], FRP_R0, &borrow);
    d1 = limb_sbb(t[1], FRP_R1, &borrow);
    d2 = limb_sbb(t[2], FRP_R2, &borrow);
    d3 = limb_sbb(t[3], FRP_R3, &borrow);
    uint64_t keep = 0 - borrow; /* all ones when t < r */
    limb_store(&o->l[0], d0 ^ ((d0 ^ t[0]) & keep));
    limb_store(&o->l[1], d1 ^ ((d1 ^ t[1]) & keep));
    limb_store(&o->l[2], d2 ^ ((d2 ^ t[2]) & keep));
    limb_store(&o->l[3], d3 ^ ((d3 ^ t[3]) & keep));
}

static inline void frp_add(fr *o, const fr *a, const fr *b)
{
    uint64_t t[4], carry = 0;
    t[0] = limb_adc(limb_load(&a->l[0]), limb_load(&b->l[0]), &carry);
    t[1] = limb_adc(limb_load(&a->l[1]), limb_load(&b->l[1]), &carry);
    t[2] = limb_adc(limb_load(&a->l[2]), limb_load(&b->l[2]), &carry);
    t[3] = limb_adc(limb_load(&a->l[3]), limb_load(&b->l[3]), &carry);
    frp_reduce_once(o, t);
}

static inline void frp_sub(fr *o, const fr *a, const fr *b)
{
    uint64_t t[4], borrow = 0;
    t[0] = limb_sbb(limb_load(&a->l[0]), limb_load(&b->l[0]), &borrow);
    t[1] = limb_sbb(limb_load(&a->l[1]), limb_load(&b->l[1]), &borrow);
    t[2] = limb_sbb(limb_load(&a->l[2]), limb_load(&b->l[2]), &borrow);
    t[3] = limb_sbb(limb_load(&a->l[3]), limb_load(&b->l[3]), &borrow);
    uint64_t mask = 0 - borrow, carry = 0;
    limb_store(&o->l[0], limb_adc(t[0], FRP_R0 & mask, &carry));
    limb_store(&o->l[1], limb_adc(t[1], FRP_R1 & mask, &carry));
    limb_store(&o->l[2], limb_adc(t[2], FRP_R2 & mask, &carry));
    limb_store(&o->l[3], limb_adc(t[3], FRP_R3 & mask, &carry));
}

static inline void frp_neg(fr *o, const fr *a)
{
    uint64_t any = a->l[0] | a->l[1] | a->l[2] | a->l[3];
    uint64_t mask = 0 - (uint64_t)(any != 0), borrow = 0;
    limb_store(&o->l[0], limb_sbb(FRP_R0 & mask, a->l[0], &borrow));
    limb_store(&o->l[1], limb_sbb(FRP_R1 & mask, a->l[1], &borrow));
    limb_store(&o->l[2], limb_sbb(FRP_R2 & mask, a->l[2], &borrow));
    limb_store(&o->l[3], limb_sbb(FRP_R3 & mask, a->l[3], &borrow));
}

/* One row of CIOS: t = (t + a*bi + m*r) / 2^64. The two carries can be added into the top limb
 * without overflow because r's top limb is below 2^63 - 1 (the "no-carry" bound; checked in
 * fr_inline.h). */
static inline void frp_mul_row(uint64_t t[4], const fr *a, uint64_t bi)
{
    limb2 x = (limb2)a->l[0] * bi + t[0];
    uint64_t m = (uint64_t)x * FRP_NINV;
    limb2 y = (limb2)m * FRP_R0 + (uint64_t)x;
    x = (limb2)a->l[1] * bi + t[1] + (uint64_t)(x >> 64);
    y = (limb2)m * FRP_R1 + (uint64_t)x + (uint64_t)(y >> 64);
    t[0] = (uint64_t)y;
    x = (limb2)a->l[2] * bi + t[2] + (uint64_t)(x >> 64);
    y = (limb2)m * FRP_R2 + (uint64_t)x + (uint64_t)(y >> 64);
    t[1] = (uint64_t)y;
    x = (limb2)a->l[3] * bi + t[3] + (uint64_t)(x >> 64);
    y = (limb2)m * FRP_R3 + (uint64_t)x + (uint64_t)(y >> 64);
    t[2] = (uint64_t)y;
    t[3] = (uint64_t)(x >> 64) + (uint64_t)(y >> 64);
}

static inline void frp_mul(fr *o, const fr *a, const fr *b)
{
    uint64_t t[4] = {0, 0, 0, 0};
    frp_mul_row(t, a, b->l[0]);
    frp_mul_row(t, a, b->l[1]);
    frp_mul_row(t, a, b->l[2]);
    frp_mul_row(t, a, b->l[3]);
    frp_reduce_once(o, t);
}
#endif
