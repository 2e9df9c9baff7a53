/* Four Fp elements at a time in the lanes of AVX2 registers, for kernels with independent work: a
 * CPU that multiplies one pair of 64-bit words per cycle multiplies eight pairs of 32-bit words.
 * Callers see to it that the CPU has AVX2.
 *
 * An element is 13 limbs of 30 bits in 64-bit lanes: 390 bits, 9 more than p has, so that nothing
 * need be reduced to [0, p) between products. fpv_load changes limbs only, and fpv_mul(a, b) is a b
 * 2^-390 mod p: a product of two elements in the 384-bit
 * Montgomery form carries a factor of 2^-6, which callers account for.
 * "Normal": limbs < 2^30 + 2^6 (the top one is small), value < 32 p. "Raw": any 64-bit limbs >= 0,
 * value >= 0. */
#ifndef FF_FP_X4_H
#define FF_FP_X4_H
#include <immintrin.h>
#include "ff/fp_portable.h"

#define FPV_LIMBS 13
#define FPV_FN static inline __attribute__((target("avx2"), always_inline))
#define FPV_EACH_LIMB _Pragma("GCC unroll 13")
#define FPV_LOW_MASK 0x3fffffffu
#define FPV_NINV 0x3ffcfffdu /* -1/p mod 2^30 */

typedef struct fp_x4 {
    __m256i l[FPV_LIMBS];
} fp_x4;

/* p, and multiples of p whose limbs were raised by 2^33 each and lowered by 8 for that in the next,
 * so that differences of limbs stay positive. */
static const uint64_t fpv_p[FPV_LIMBS] = {
    0x3fffaaab, 0x27fbffff, 0x153ffffb, 0x2affffac, 0x30f6241e, 0x34a83da, 0x112bf673,
    0x12e13ce1, 0x2cd76477, 0x1ed90d2e, 0x29a4b1ba, 0x3a8e5ff9, 0x1a0111,
};
static const uint64_t fpv_1p[FPV_LIMBS] = {
    0x23fffaaab, 0x227fbfff7, 0x2153ffff3, 0x22affffa4, 0x230f62416, 0x2034a83d2, 0x2112bf66b,
    0x212e13cd9, 0x22cd7646f, 0x21ed90d26, 0x229a4b1b2, 0x23a8e5ff1, 0x1a0109,
};
static const uint64_t fpv_2p[FPV_LIMBS] = {
    0x23fff5556, 0x20ff7fff7, 0x22a7fffef, 0x215ffff50, 0x221ec4835, 0x2069507ad, 0x22257ecde,
    0x225c279ba, 0x219aec8e6, 0x23db21a55, 0x21349636c, 0x2351cbfeb, 0x34021b,
};
static const uint64_t fpv_4p[FPV_LIMBS] = {
    0x23ffeaaac, 0x21feffff7, 0x214ffffe6, 0x22bfffea9, 0x203d89072, 0x20d2a0f63, 0x204afd9c4,
    0x20b84f37d, 0x2335d91d5, 0x23b6434b2, 0x22692c6e1, 0x22a397fde, 0x68043f,
};

FPV_FN __m256i fpv_all(uint64_t v) { return _mm256_set1_epi64x((long long)v); }

/* Words i and i + 1 of four elements. */
FPV_FN void fpv_load_words(__m256i *w0, __m256i *w1, const fp *const p[4], int i)
{
    __m256i even = _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)&p[0]->l[i])),
        _mm_loadu_si128((const __m128i *)&p[2]->l[i]), 1);
    __m256i odd = _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)&p[1]->l[i])),
        _mm_loadu_si128((const __m128i *)&p[3]->l[i]), 1);
    *w0 = _mm256_unpacklo_epi64(even, odd);
    *w1 = _mm256_unpackhi_epi64(even, odd);
}

/* 30 bits from `bit` of w0 on, continued in w1. */
FPV_FN __m256i fpv_cut(__m256i w0, __m256i w1, int bit)
{
    __m256i v = _mm256_srli_epi64(w0, bit);
    if (bit > 34)
        v = _mm256_or_si256(v, _mm256_slli_epi64(w1, 64 - bit));
    return _mm256_and_si256(v, fpv_all(FPV_LOW_MASK));
}

/* Lane k becomes *p[k], which is reduced; normal. */
FPV_FN void fpv_load(fp_x4 *o, const fp *const p[4])
{
    __m256i w[6];
    fpv_load_words(&w[0], &w[1], p, 0);
    fpv_load_words(&w[2], &w[3], p, 2);
    fpv_load_words(&w[4], &w[5], p, 4);
    o->l[0] = fpv_cut(w[0], w[1], 0);
    o->l[1] = fpv_cut(w[0], w[1], 30);
    o->l[2] = fpv_cut(w[0], w[1], 60);
    o->l[3] = fpv_cut(w[1], w[2], 26);
    o->l[4] = fpv_cut(w[1], w[2], 56);
    o->l[5] = fpv_cut(w[2], w[3], 22);
    o->l[6] = fpv_cut(w[2], w[3], 52);
    o->l[7] = fpv_cut(w[3], w[4], 18);
    o->l[8] = fpv_cut(w[3], w[4], 48);
    o->l[9] = fpv_cut(w[4], w[5], 14);
    o->l[10] = fpv_cut(w[4], w[5], 44);
    o->l[11] = fpv_cut(w[5], w[5], 10);
    o->l[12] = _mm256_srli_epi64(w[5], 40);
}

/* o = 2^shift t, every limb's excess moved up by one limb. Limbs of t < 2^36, shift <= 3: normal if
 * the value is. */
FPV_FN void fpv_carry_once(fp_x4 *o, const __m256i t[FPV_LIMBS], int shift)
{
    o->l[0] = _mm256_and_si256(_mm256_slli_epi64(t[0], shift), fpv_all(FPV_LOW_MASK));
    FPV_EACH_LIMB
    for (int j = 1; j < FPV_LIMBS; j++) {
        __m256i v = _mm256_slli_epi64(t[j], shift);
        if (j + 1 < FPV_LIMBS)
            v = _mm256_and_si256(v, fpv_all(FPV_LOW_MASK));
        o->l[j] = _mm256_add_epi64(v, _mm256_srli_epi64(t[j - 1], 30 - shift));
    }
}

/* Carry from limb `from` up to limb `to`, which takes the last one whole. */
FPV_FN void fpv_carry_run(__m256i t[FPV_LIMBS], int from, int to)
{
    FPV_EACH_LIMB
    for (int j = from; j < to; j++) {
        t[j + 1] = _mm256_add_epi64(t[j + 1], _mm256_srli_epi64(t[j], 30));
        t[j] = _mm256_and_si256(t[j], fpv_all(FPV_LOW_MASK));
    }
}

/* tj += a_j b_i, with b_i in ymm12 */
#define FPV_A_TERM(j, off)                         \
    "vpmuludq " off "(%[a]), %%ymm12, %%ymm14\n\t" \
    "vpaddq %%ymm14, %[t" j "], %[t" j "]\n\t"
/* ti = tj + m p_j, where i = j - 1, with m in ymm13 */
#define FPV_P_TERM(i, j, off)                      \
    "vpmuludq " off "(%[p]), %%ymm13, %%ymm15\n\t" \
    "vpaddq %%ymm15, %[t" j "], %[t" i "]\n\t"

/* One row of a product: t = (t + a b_i + m p) / 2^30, m making it divisible, in 12 limbs: the row's
 * own top limb is 0 before it.
 * In assembly because it takes all 16 registers, and compilers spill; terms of a come first to
 * cover the latency of m. */
FPV_FN void fpv_mul_row(__m256i t[FPV_LIMBS], const fp_x4 *a, const fp_x4 *p, const __m256i *b_i)
{
    static const uint64_t k[8]
        __attribute__((aligned(32))) = {FPV_NINV,     FPV_NINV,     FPV_NINV,     FPV_NINV,
                                        FPV_LOW_MASK, FPV_LOW_MASK, FPV_LOW_MASK, FPV_LOW_MASK};
    __asm__("vmovdqa %[b], %%ymm12\n\t" FPV_A_TERM(
                "0", "0") "vpmuludq 0+%[k], %[t0], %%ymm13\n\t" FPV_A_TERM("1", "32")
                FPV_A_TERM("2", "64") FPV_A_TERM("3", "96") FPV_A_TERM(
                    "4", "128") "vpand 32+%[k], %%ymm13, %%ymm13\n\t" FPV_A_TERM("5", "160")
                    FPV_A_TERM("6", "192") FPV_A_TERM("7", "224") FPV_A_TERM(
                        "8",
                        "256") "vpmuludq 0(%[p]), %%ymm13, %%ymm15\n\t"
                               "vpaddq %%ymm15, %[t0], %[t0]\n\t"
                               "vpsrlq $30, %[t0], %[t0]\n\t"
                               "vpmuludq 32(%[p]), %%ymm13, %%ymm15\n\t"
                               "vpaddq %%ymm15, %[t1], %[t1]\n\t"
                               "vpaddq %[t1], %[t0], %[t0]\n\t" FPV_A_TERM("9", "288") FPV_A_TERM(
                                   "10", "320") FPV_A_TERM("11", "352") FPV_P_TERM("1", "2", "64")
                                   FPV_P_TERM("2", "3", "96") FPV_P_TERM("3", "4", "128")
                                       FPV_P_TERM("4", "5", "160") FPV_P_TERM("5", "6", "192")
                                           FPV_P_TERM("6", "7", "224") FPV_P_TERM(
                                               "7", "8", "256") FPV_P_TERM("8", "9", "288")
                                               FPV_P_TERM("9", "10", "320") FPV_P_TERM(
                                                   "10", "11",
                                                   "352") "vpmuludq 384(%[a]), %%ymm12, %%ymm14\n\t"
                                                          "vpmuludq 384(%[p]), %%ymm13, %%ymm15\n\t"
                                                          "vpaddq %%ymm14, %%ymm15, %[t11]"
            : [t0] "+&x"(t[0]), [t1] "+&x"(t[1]), [t2] "+&x"(t[2]), [t3] "+&x"(t[3]),
              [t4] "+&x"(t[4]), [t5] "+&x"(t[5]), [t6] "+&x"(t[6]), [t7] "+&x"(t[7]),
              [t8] "+&x"(t[8]), [t9] "+&x"(t[9]), [t10] "+&x"(t[10]), [t11] "+&x"(t[11])
            : [a] "r"(a->l), [p] "r"(p->l), [b] "m"(*b_i), [k] "m"(k), "m"(*a), "m"(*p)
            : "xmm12", "xmm13", "xmm14", "xmm15");
}

/* o = a b 2^-390 mod p, not below p but below p + a b / (630 p); a, b and o normal. A limb collects
 * 7 rows of two 60-bit products, less than 2^64 together, before the carry in the middle, and 6
 * after it; limb 11 holds one row at a time and stays small. */
static __attribute__((target("avx2"), noinline, unused)) void
fpv_mul(fp_x4 *o, const fp_x4 *a, const fp_x4 *b, const fp_x4 *p)
{
    __m256i t[FPV_LIMBS];
    FPV_EACH_LIMB
    for (int j = 0; j < FPV_LIMBS; j++)
        t[j] = _mm256_setzero_si256();
    _Pragma("GCC unroll 1") for (int i = 0; i < 7; i++) fpv_mul_row(t, a, p, &b->l[i]);
    FPV_EACH_LIMB
    for (int j = 11; j > 0; j--) {
        if (j < 11)
            t[j] = _mm256_and_si256(t[j], fpv_all(FPV_LOW_MASK));
        t[j] = _mm256_add_epi64(t[j], _mm256_srli_epi64(t[j - 1], 30));
    }
    t[0] = _mm256_and_si256(t[0], fpv_all(FPV_LOW_MASK));
    _Pragma("GCC unroll 1") for (int i = 7; i < FPV_LIMBS; i++) fpv_mul_row(t, a, p, &b->l[i]);
    /* Two runs at a time, for their latency; then the lower one's carry, which is < 2^35. */
    fpv_carry_run(t, 6, 12);
    fpv_carry_run(t, 0, 6);
    fpv_carry_run(t, 6, 7);
    FPV_EACH_LIMB
    for (int j = 0; j < FPV_LIMBS; j++)
        o->l[j] = t[j];
}

FPV_FN void fpv_all_limbs(fp_x4 *o, const uint64_t limbs[FPV_LIMBS])
{
    FPV_EACH_LIMB
    for (int j = 0; j < FPV_LIMBS; j++)
        o->l[j] = fpv_all(limbs[j]);
}

/* t = a - b + k, raw; k one of fpv_1p, fpv_2p, fpv_4p; a - b + k >= 0. */
FPV_FN void fpv_sub_raw(__m256i t[FPV_LIMBS], const fp_x4 *a, const fp_x4 *b,
                        const uint64_t k[FPV_LIMBS])
{
    FPV_EACH_LIMB
    for (int j = 0; j < FPV_LIMBS; j++)
        t[j] = _mm256_add_epi64(_mm256_sub_epi64(a->l[j], b->l[j]), fpv_all(k[j]));
}

/* Reduce a raw t in [0, 4 p) to [0, p] but for a chance of 2^-18 in which p is left to subtract;
 * limbs exactly 30 bits.
 * The number of p to take away is judged by the top limb alone, and never too high. */
FPV_FN void fpv_reduce(__m256i t[FPV_LIMBS])
{
    __m256i c = _mm256_srli_epi64(_mm256_add_epi64(t[11], _mm256_srli_epi64(t[10], 30)), 30);
    __m256i top = _mm256_add_epi64(t[12], c);
    __m256i minus_q = _mm256_add_epi64(_mm256_cmpgt_epi64(top, fpv_all(0x1a0111)),
                                       _mm256_cmpgt_epi64(top, fpv_all(0x340223)));
    minus_q = _mm256_add_epi64(minus_q, _mm256_cmpgt_epi64(top, fpv_all(0x4e0335)));
    __m256i q = _mm256_sub_epi64(_mm256_setzero_si256(), minus_q);
    FPV_EACH_LIMB
    for (int j = 0; j < FPV_LIMBS; j++)
        t[j] = _mm256_sub_epi64(t[j], _mm256_mul_epu32(q, fpv_all(fpv_p[j])));
    fpv_carry_run(t, 0, 12);
}

FPV_FN void fpv_store_words(fp o[4], __m256i w0, __m256i w1, int i)
{
    __m256i even = _mm256_unpacklo_epi64(w0, w1), odd = _mm256_unpackhi_epi64(w0, w1);
    _mm_storeu_si128((__m128i *)&o[0].l[i], _mm256_castsi256_si128(even));
    _mm_storeu_si128((__m128i *)&o[1].l[i], _mm256_castsi256_si128(odd));
    _mm_storeu_si128((__m128i *)&o[2].l[i], _mm256_extracti128_si256(even, 1));
    _mm_storeu_si128((__m128i *)&o[3].l[i], _mm256_extracti128_si256(odd, 1));
}

/* One word from the top of limb a from bit `drop` on, limb b and (unless it begins above bit 63)
 * limb c. */
FPV_FN __m256i fpv_word(__m256i a, __m256i b, __m256i c, int drop)
{
    __m256i w = _mm256_or_si256(_mm256_srli_epi64(a, drop), _mm256_slli_epi64(b, 30 - drop));
    return _mm256_or_si256(w, _mm256_slli_epi64(c, 60 - drop));
}

/* The lanes of t as fpv_reduce leaves it: o[k] < p. */
FPV_FN void fpv_store(fp o[4], const __m256i t[FPV_LIMBS])
{
    fpv_store_words(o, fpv_word(t[0], t[1], t[2], 0), fpv_word(t[2], t[3], t[4], 4), 0);
    fpv_store_words(o, fpv_word(t[4], t[5], t[6], 8), fpv_word(t[6], t[7], t[8], 12), 2);
    fpv_store_words(o, fpv_word(t[8], t[9], t[10], 16), fpv_word(t[10], t[11], t[12], 20), 4);
    for (int k = 0; k < 4; k++)
        if (__builtin_expect(o[k].l[5] >= FPP_P5, 0))
            fpp_reduce_once(&o[k], o[k].l);
}
#endif
