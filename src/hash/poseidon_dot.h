/* Dot products over Fr with one Montgomery reduction. Included by the permutation template; needs
 * ff/fr_inline.h before it, whose CUZK_ISA_ADX also chooses the form here.
 *
 * For each limb i of the left factors: w += sum_k a_k[i] * b_k, then one row of Montgomery
 * reduction (w = (w + m r) / 2^64). The window w stays below 2^320 plus a carry limb, whatever n
 * is, so nothing is carried across it. The result is below (n r / 2^256 + 1) r < (0.4527 n + 1)
 * r. */
#ifndef HASH_POSEIDON_DOT_H
#define HASH_POSEIDON_DOT_H
#include <stddef.h>
#include "ff/fr_inline.h"

/* With n <= 19 the quotient estimate by 2^255 below is at most one too small. */
#define POSEIDON_DOT_MAX 19u

#if defined(CUZK_ISA_ADX) && defined(__x86_64__)
/* w[0..5] += ai * b. b < r < 2^255, so the top product's high limb takes a carry without
 * overflow. */
#define DOT_ROW(ai, bp)                                                                      \
    do {                                                                                     \
        uint64_t lo_, hi_, zero_;                                                            \
        __asm__("xorl %k[z], %k[z]\n\t"                                                      \
                "mulxq %[b0], %[lo], %[hi]\n\t"                                              \
                "adcxq %[lo], %[w0]\n\t"                                                     \
                "adoxq %[hi], %[w1]\n\t"                                                     \
                "mulxq %[b1], %[lo], %[hi]\n\t"                                              \
                "adcxq %[lo], %[w1]\n\t"                                                     \
                "adoxq %[hi], %[w2]\n\t"                                                     \
                "mulxq %[b2], %[lo], %[hi]\n\t"                                              \
                "adcxq %[lo], %[w2]\n\t"                                                     \
                "adoxq %[hi], %[w3]\n\t"                                                     \
                "mulxq %[b3], %[lo], %[hi]\n\t"                                              \
                "adcxq %[lo], %[w3]\n\t"                                                     \
                "adcxq %[z], %[hi]\n\t"                                                      \
                "adoxq %[hi], %[w4]\n\t"                                                     \
                "adoxq %[z], %[w5]\n\t"                                                      \
                : [w0] "+r"(w0), [w1] "+r"(w1), [w2] "+r"(w2), [w3] "+r"(w3), [w4] "+r"(w4), \
                  [w5] "+r"(w5), [lo] "=&r"(lo_), [hi] "=&r"(hi_), [z] "=&r"(zero_)          \
                : "d"(ai), [b0] "m"((bp)->l[0]), [b1] "m"((bp)->l[1]), [b2] "m"((bp)->l[2]), \
                  [b3] "m"((bp)->l[3])                                                       \
                : "cc");                                                                     \
    } while (0)
#else
#define DOT_ROW(ai, bp)                                           \
    do {                                                          \
        const uint64_t ai_ = (ai);                                \
        limb2 x_ = (limb2)ai_ * (bp)->l[0] + w0;                  \
        w0 = (uint64_t)x_;                                        \
        x_ = (limb2)ai_ * (bp)->l[1] + w1 + (uint64_t)(x_ >> 64); \
        w1 = (uint64_t)x_;                                        \
        x_ = (limb2)ai_ * (bp)->l[2] + w2 + (uint64_t)(x_ >> 64); \
        w2 = (uint64_t)x_;                                        \
        x_ = (limb2)ai_ * (bp)->l[3] + w3 + (uint64_t)(x_ >> 64); \
        w3 = (uint64_t)x_;                                        \
        x_ = (limb2)w4 + (uint64_t)(x_ >> 64);                    \
        w4 = (uint64_t)x_;                                        \
        w5 += (uint64_t)(x_ >> 64);                               \
    } while (0)
#endif

/* o = w - floor-ish(w / r) r for w = (w0..w4) < 9.7 r. With h = floor(w / 2^255): h r <= w, and
 * w - h r < 2^255 + h (2^255 - r) < 2r for h <= 8; so one more conditional subtraction does. */
static inline void dot_finish(fr *o, uint64_t w0, uint64_t w1, uint64_t w2, uint64_t w3,
                              uint64_t w4)
{
    const uint64_t h = (w4 << 1) | (w3 >> 63);
    limb2 x = (limb2)h * FRP_R0;
    uint64_t t[4], borrow = 0;
    t[0] = limb_sbb(w0, (uint64_t)x, &borrow);
    x = (limb2)h * FRP_R1 + (uint64_t)(x >> 64);
    t[1] = limb_sbb(w1, (uint64_t)x, &borrow);
    x = (limb2)h * FRP_R2 + (uint64_t)(x >> 64);
    t[2] = limb_sbb(w2, (uint64_t)x, &borrow);
    t[3] = w3 - (h * FRP_R3 + (uint64_t)(x >> 64)) - borrow;
#if defined(__x86_64__)
    frx_reduce_once(o, t[0], t[1], t[2], t[3]);
#else
    frp_reduce_once(o, t);
#endif
}

/* o = sum_{k<n} a_k b_k, 1 <= n <= POSEIDON_DOT_MAX. o may be one of a or b. */
static inline __attribute__((always_inline)) void dot_short(fr *o, const fr *a, const fr *b,
                                                            size_t n)
{
    static const fr modulus = {{FRP_R0, FRP_R1, FRP_R2, FRP_R3}};
    uint64_t w0 = 0, w1 = 0, w2 = 0, w3 = 0, w4 = 0, w5 = 0;
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
        for (size_t k = 0; k < n; k++)
            DOT_ROW(a[k].l[i], &b[k]);
        const uint64_t m = w0 * FRP_NINV;
        DOT_ROW(m, &modulus);
        w0 = w1;
        w1 = w2;
        w2 = w3;
        w3 = w4;
        w4 = w5;
        w5 = 0;
    }
    dot_finish(o, w0, w1, w2, w3, w4);
}

/* The same for any n >= 1. o must not overlap a or b when n > POSEIDON_DOT_MAX. */
static inline __attribute__((always_inline)) void dot(fr *o, const fr *a, const fr *b, size_t n)
{
    if (n <= POSEIDON_DOT_MAX) {
        dot_short(o, a, b, n);
        return;
    }
    fr sum, part;
    dot_short(&sum, a, b, POSEIDON_DOT_MAX);
    for (size_t k = POSEIDON_DOT_MAX; k < n; k += POSEIDON_DOT_MAX) {
        dot_short(&part, a + k, b + k, n - k < POSEIDON_DOT_MAX ? n - k : POSEIDON_DOT_MAX);
        fri_add(&sum, &sum, &part);
    }
    *o = sum;
}
#endif
