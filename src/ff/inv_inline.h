/* Modular inverse by a binary GCD on approximations, for Fr and Fp; variable time. Private to this
 * folder.
 * Source: T. Pornin, "Optimized Binary GCD for Modular Inversion", IACR ePrint 2020/972. */
#ifndef FF_INV_INLINE_H
#define FF_INV_INLINE_H
#include <stdbool.h>
#include "ff/limb.h"

#define INV_LIMBS_MAX 6
/* Halvings per round: factors of up to 2^31 leave 33 exact high bits in a 64-bit approximation. */
#define INV_STEPS 31
#define INV_LOW_MASK (((uint64_t)1 << INV_STEPS) - 1)

__extension__ typedef __int128 limb2s;

/* What one round does to a pair: (a, b) -> ((f0 a + g0 b), (f1 a + g1 b)) / 2^31; |f| + |g| <= 2^31
 * per row. */
typedef struct inv_factors {
    int64_t f0, g0, f1, g1;
} inv_factors;

/* Low 31 bits and the 33 bits from the common top of a and b; all of them when both fit in 64 bits.
 * n >= 1 and limb n - 1 of a or b is not zero. */
static inline void inv_approximate(uint64_t *xa, uint64_t *xb, const uint64_t *a, const uint64_t *b,
                                   int n)
{
    if (n == 1) {
        *xa = a[0];
        *xb = b[0];
        return;
    }
    int shift = __builtin_clzll(a[n - 1] | b[n - 1]);
    uint64_t ta = (uint64_t)((((limb2)a[n - 1] << 64) | a[n - 2]) >> (64 - shift));
    uint64_t tb = (uint64_t)((((limb2)b[n - 1] << 64) | b[n - 2]) >> (64 - shift));
    *xa = (a[0] & INV_LOW_MASK) | (ta & ~INV_LOW_MASK);
    *xb = (b[0] & INV_LOW_MASK) | (tb & ~INV_LOW_MASK);
}

/* 31 halvings of xa, with xb odd; each odd xa first loses the smaller of the two. The factors of a
 * row are packed as f + 2^32 g: both stay in (-2^31, 2^31], so one subtraction or shift serves
 * both. */
static inline void inv_round(inv_factors *o, uint64_t xa, uint64_t xb)
{
    const uint64_t bias = 0x7fffffff7fffffffu;
    uint64_t row0 = 1, row1 = (uint64_t)1 << 32;
    int left = INV_STEPS;
    for (;;) {
        int zeros = __builtin_ctzll(xa | (uint64_t)1 << left);
        xa >>= zeros;
        row1 <<= zeros;
        left -= zeros;
        if (left == 0)
            break;
        uint64_t swap = 0 - (uint64_t)(xa < xb);
        uint64_t x = (xa ^ xb) & swap, r = (row0 ^ row1) & swap;
        xa ^= x;
        xb ^= x;
        row0 ^= r;
        row1 ^= r;
        xa -= xb;
        row0 -= row1;
    }
    row0 += bias;
    row1 += bias;
    o->f0 = (int64_t)(row0 & 0xffffffffu) - 0x7fffffff;
    o->g0 = (int64_t)(row0 >> 32) - 0x7fffffff;
    o->f1 = (int64_t)(row1 & 0xffffffffu) - 0x7fffffff;
    o->g1 = (int64_t)(row1 >> 32) - 0x7fffffff;
}

/* o = |f a + g b| / 2^31 (exact); true when the value was negative. o has n limbs. */
static inline bool inv_combine(uint64_t *o, const uint64_t *a, const uint64_t *b, int64_t f,
                               int64_t g, int n)
{
    limb2s acc = (limb2s)a[0] * f + (limb2s)b[0] * g;
    uint64_t low = (uint64_t)acc;
    acc >>= 64;
    for (int i = 1; i < n; i++) {
        acc += (limb2s)a[i] * f + (limb2s)b[i] * g;
        o[i - 1] = low >> INV_STEPS | (uint64_t)acc << (64 - INV_STEPS);
        low = (uint64_t)acc;
        acc >>= 64;
    }
    o[n - 1] = low >> INV_STEPS | (uint64_t)acc << (64 - INV_STEPS);
    bool neg = acc < 0;
    if (neg) {
        uint64_t borrow = 0;
        for (int i = 0; i < n; i++)
            o[i] = limb_sbb(0, o[i], &borrow);
    }
    return neg;
}

/* o = (f u + g v) / 2^31 mod m, in [0, m) as u and v are: k m makes the sum divisible, and leaves a
 * value in (-m, 2m) because |f| + |g| <= 2^31 and k < 2^31. */
static inline void inv_combine_mod(uint64_t *o, const uint64_t *u, const uint64_t *v, int64_t f,
                                   int64_t g, const uint64_t *m, uint64_t ninv, int n)
{
    uint64_t t[INV_LIMBS_MAX], d[INV_LIMBS_MAX];
    limb2s acc = (limb2s)u[0] * f + (limb2s)v[0] * g;
    uint64_t k = ((uint64_t)acc * ninv) & INV_LOW_MASK;
    acc += (limb2s)((limb2)m[0] * k);
    uint64_t low = (uint64_t)acc;
    acc >>= 64;
    for (int i = 1; i < n; i++) {
        acc += (limb2s)u[i] * f + (limb2s)v[i] * g + (limb2s)((limb2)m[i] * k);
        t[i - 1] = low >> INV_STEPS | (uint64_t)acc << (64 - INV_STEPS);
        low = (uint64_t)acc;
        acc >>= 64;
    }
    t[n - 1] = low >> INV_STEPS | (uint64_t)acc << (64 - INV_STEPS);
    uint64_t neg = 0 - (uint64_t)(acc < 0), carry = 0, borrow = 0;
    for (int i = 0; i < n; i++)
        t[i] = limb_adc(t[i], m[i] & neg, &carry);
    for (int i = 0; i < n; i++)
        d[i] = limb_sbb(t[i], m[i], &borrow);
    uint64_t keep = 0 - borrow;
    for (int i = 0; i < n; i++)
        o[i] = d[i] ^ ((d[i] ^ t[i]) & keep);
}

/* o = start / y mod m; o = 0 for y = 0. m an odd prime with a spare top bit, y < m, start < m, ninv
 * = -1/m mod 2^64, n limbs each. Keeps a = y u / start, b = y v / start (mod m) while (a, b) goes
 * from (y, m) to (0, 1). */
static inline void inv_mod(uint64_t *o, const uint64_t *y, const uint64_t *start, const uint64_t *m,
                           uint64_t ninv, int n)
{
    uint64_t a[INV_LIMBS_MAX], b[INV_LIMBS_MAX], u[INV_LIMBS_MAX], v[INV_LIMBS_MAX];
    uint64_t s[INV_LIMBS_MAX], t[INV_LIMBS_MAX];
    for (int i = 0; i < n; i++) {
        a[i] = y[i];
        b[i] = m[i];
        u[i] = start[i];
        v[i] = 0;
    }
    uint64_t a_any = 1;
    /* 2 * 64 n halvings suffice for any y (Pornin, section 3); a = 0 ends it sooner. */
    for (int round = 0; round < 128 * n / INV_STEPS + 1; round++) {
        int live = n;
        while (live > 1 && (a[live - 1] | b[live - 1]) == 0)
            live--;
        inv_factors k;
        uint64_t xa, xb;
        inv_approximate(&xa, &xb, a, b, live);
        inv_round(&k, xa, xb);
        if (inv_combine(s, a, b, k.f0, k.g0, live)) {
            k.f0 = -k.f0;
            k.g0 = -k.g0;
        }
        if (inv_combine(t, a, b, k.f1, k.g1, live)) {
            k.f1 = -k.f1;
            k.g1 = -k.g1;
        }
        a_any = 0;
        for (int i = 0; i < live; i++) {
            a[i] = s[i];
            b[i] = t[i];
            a_any |= a[i];
        }
        inv_combine_mod(t, u, v, k.f1, k.g1, m, ninv, n);
        if (a_any == 0)
            break;
        inv_combine_mod(s, u, v, k.f0, k.g0, m, ninv, n);
        for (int i = 0; i < n; i++) {
            u[i] = s[i];
            v[i] = t[i];
        }
    }
    for (int i = 0; i < n; i++)
        o[i] = t[i];
}
#endif
