/* Fr on the device and its host twin, in the layout of ff/fr.h: Montgomery arithmetic (R = 2^256),
 * and products by a fixed operand with the lazy sums that transforms use. Outputs may alias
 * inputs. */
#ifndef GPU_FR_CUH
#define GPU_FR_CUH
#include "gpu/gpu_chain.cuh"
#include <stdbool.h>
#define GPU_FR_WORDS 8

typedef struct gpu_fr {
    uint32_t l[GPU_FR_WORDS];
} __attribute__((aligned(16))) gpu_fr;

/* A fixed operand w < r in plain form with v = floor(w 2^256 / r) (Harvey, "Faster arithmetic for
 * number-theoretic transforms", J. Symb. Comp. 60, 2014, section 2). */
typedef struct gpu_fr_fixed {
    gpu_fr w, v;
} gpu_fr_fixed;

GPU_CONST_TABLE(uint32_t, GPU_FR_R, GPU_FR_WORDS, 0x00000001, 0xffffffff, 0xfffe5bfe, 0x53bda402,
                0x09a1d805, 0x3339d808, 0x299d7d48, 0x73eda753);
GPU_CONST_TABLE(uint32_t, GPU_FR_2R, GPU_FR_WORDS, 0x00000002, 0xfffffffe, 0xfffcb7fd, 0xa77b4805,
                0x1343b00a, 0x6673b010, 0x533afa90, 0xe7db4ea6);
/* 2^256 - r. Word 0 is 2^32 - 1 and word 1 is 0: gpu_fr_mul_fixed relies on both. */
GPU_CONST_TABLE(uint32_t, GPU_FR_NEG_R, GPU_FR_WORDS, 0xffffffff, 0x00000000, 0x0001a401,
                0xac425bfd, 0xf65e27fa, 0xccc627f7, 0xd66282b7, 0x8c1258ac);
/* 2^512 mod r. */
GPU_CONST_TABLE(uint32_t, GPU_FR_RR, GPU_FR_WORDS, 0xf3f29c6d, 0xc999e990, 0x87925c23, 0x2b6cedcb,
                0x7254398f, 0x05d31496, 0x9f59ff11, 0x0748d9d9);
/* -1/r mod 2^256; the first word serves Montgomery products (from memory: a literal 2^32 - 1 makes
 * ptxas split wide products). */
GPU_CONST_TABLE(uint32_t, GPU_FR_NINV, GPU_FR_WORDS, 0xffffffff, 0xfffffffe, 0xfffe5bfd, 0x53ba5bff,
                0x0004ec06, 0x181b2c17, 0xd7bf2839, 0x3d443ab0);

CUZK_HD void gpu_fr_mul(gpu_fr *o, const gpu_fr *a, const gpu_fr *b)
{
    gpu_mont_mul(o->l, a->l, b->l, GPU_CONST(GPU_FR_R), GPU_CONST(GPU_FR_NINV)[0], GPU_FR_WORDS);
    gpu_words_reduce_once(o->l, o->l, GPU_CONST(GPU_FR_R), GPU_FR_WORDS);
}

CUZK_HD void gpu_fr_add(gpu_fr *o, const gpu_fr *a, const gpu_fr *b)
{
    uint32_t t[GPU_FR_WORDS]; /* < 2r < 2^256 */
    (void)gpu_words_add(t, a->l, b->l, GPU_FR_WORDS);
    gpu_words_reduce_once(o->l, t, GPU_CONST(GPU_FR_R), GPU_FR_WORDS);
}

CUZK_HD void gpu_fr_sub(gpu_fr *o, const gpu_fr *a, const gpu_fr *b)
{
    uint32_t below = gpu_words_sub(o->l, a->l, b->l, GPU_FR_WORDS);
    gpu_words_add_masked(o->l, GPU_CONST(GPU_FR_R), below, GPU_FR_WORDS);
}

/* o += a b mod 2^256 from row `from` of b on, in accumulators for products that start on even words
 * (even) and on odd words (odd[0] is word 1). Low halves need no carry out. */
CUZK_HD void gpu_fr_mac_low(uint32_t *even, uint32_t *odd, const uint32_t *a, const uint32_t *b,
                            int from)
{
    GPU_UNROLL
    for (int i = from; i < GPU_FR_WORDS; i++) {
        int j = i & 1; /* the first word of a whose product with b[i] starts on an even word */
        if (i + j < GPU_FR_WORDS)
            gpu_row_mad_low(even + i + j, a + j, b[i], GPU_FR_WORDS - i - j);
        j ^= 1;
        if (i + j < GPU_FR_WORDS)
            gpu_row_mad_low(odd + i + j - 1, a + j, b[i], GPU_FR_WORDS - i - j);
    }
}

/* q = floor(v x / 2^256), or one less: columns 0 to 5 are not summed, and what they would carry is
 * below 7 * 2^-32. 43 wide products. */
CUZK_HD void gpu_fr_quotient(uint32_t *q, const uint32_t *v, const uint32_t *x)
{
    /* even[0] is word 6, odd[0] is word 7. A chain that ends on words not touched before cannot
     * carry out; the other one of its row carries into a word not touched before. */
    uint32_t even[10] = {0}, odd[10] = {0}, t[9];
    gpu_row_mul(even, x + 6, v[0], 2);
    gpu_row_mul(odd, x + 7, v[0], 2);
    GPU_UNROLL
    for (int i = 1; i < GPU_FR_WORDS; i++) {
        int j7 = i >= 5 ? 1 : (6 - i) | 1;  /* chain up to x[7] */
        int j6 = i >= 6 ? 0 : (7 - i) & ~1; /* chain up to x[6] */
        uint32_t *with7 = i & 1 ? even + i - 6 + j7 : odd + i - 7 + j7;
        uint32_t *with6 = i & 1 ? odd + i - 7 + j6 : even + i - 6 + j6;
        gpu_row_mad(with7, x + j7, v[i], 9 - j7, (uint32_t *)0);
        gpu_row_mad(with6, x + j6, v[i], 8 - j6, with6 + 8 - j6);
    }
    (void)gpu_words_add(t, even + 1, odd, 9);
    GPU_UNROLL
    for (int i = 0; i < GPU_FR_WORDS; i++)
        q[i] = t[i + 1];
}

/* o = f x mod r, lazily: o < r (1 + x / 2^256 + 7 * 2^-32), for any 256-bit x; hence o < 2r for
 * x < 0xf0000000 * 2^224. x may be in plain or Montgomery form, o is in the same. w x - q r is taken
 * mod 2^256 as w x + q (2^256 - r); the lowest word of 2^256 - r is 2^32 - 1, so its products are
 * (q << 32) - q, and q << 32 starts the accumulators. 86 wide products and 14 low ones. */
CUZK_HD void gpu_fr_mul_fixed(gpu_fr *o, const gpu_fr *x, const gpu_fr_fixed *f)
{
    uint32_t q[GPU_FR_WORDS], even[GPU_FR_WORDS] = {0}, odd[GPU_FR_WORDS];
    gpu_fr_quotient(q, f->v.l, x->l);
    GPU_UNROLL
    for (int i = 0; i + 1 < GPU_FR_WORDS; i++)
        odd[i] = q[i];
    gpu_fr_mac_low(even, odd, x->l, f->w.l, 0);
    gpu_fr_mac_low(even, odd, q, GPU_CONST(GPU_FR_NEG_R), 2);
    (void)gpu_words_add(even + 1, even + 1, odd, GPU_FR_WORDS - 1);
    (void)gpu_words_sub(o->l, even, q, GPU_FR_WORDS);
}

/* o -= 2r when take is not 0. */
CUZK_HD void gpu_fr_sub_2r_if(gpu_fr *o, uint32_t take)
{
    const uint32_t *m = GPU_CONST(GPU_FR_2R);
#if GPU_DEVICE_CODE
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "setp.ne.u32 p, %8, 0;\n\t"
                 "@p sub.cc.u32 %0, %0, %9;\n\t"
                 "@p subc.cc.u32 %1, %1, %10;\n\t"
                 "@p subc.cc.u32 %2, %2, %11;\n\t"
                 "@p subc.cc.u32 %3, %3, %12;\n\t"
                 "@p subc.cc.u32 %4, %4, %13;\n\t"
                 "@p subc.cc.u32 %5, %5, %14;\n\t"
                 "@p subc.cc.u32 %6, %6, %15;\n\t"
                 "@p subc.u32 %7, %7, %16;\n\t}"
                 : "+r"(o->l[0]), "+r"(o->l[1]), "+r"(o->l[2]), "+r"(o->l[3]), "+r"(o->l[4]),
                   "+r"(o->l[5]), "+r"(o->l[6]), "+r"(o->l[7])
                 : "r"(take), "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(m[4]), "r"(m[5]),
                   "r"(m[6]), "r"(m[7]));
#else
    uint32_t t[GPU_FR_WORDS];
    for (int i = 0; i < GPU_FR_WORDS; i++)
        t[i] = take ? m[i] : 0;
    (void)gpu_words_sub(o->l, o->l, t, GPU_FR_WORDS);
#endif
}

/* o += 2r when take is not 0. */
CUZK_HD void gpu_fr_add_2r_if(gpu_fr *o, uint32_t take)
{
    const uint32_t *m = GPU_CONST(GPU_FR_2R);
#if GPU_DEVICE_CODE
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "setp.ne.u32 p, %8, 0;\n\t"
                 "@p add.cc.u32 %0, %0, %9;\n\t"
                 "@p addc.cc.u32 %1, %1, %10;\n\t"
                 "@p addc.cc.u32 %2, %2, %11;\n\t"
                 "@p addc.cc.u32 %3, %3, %12;\n\t"
                 "@p addc.cc.u32 %4, %4, %13;\n\t"
                 "@p addc.cc.u32 %5, %5, %14;\n\t"
                 "@p addc.cc.u32 %6, %6, %15;\n\t"
                 "@p addc.u32 %7, %7, %16;\n\t}"
                 : "+r"(o->l[0]), "+r"(o->l[1]), "+r"(o->l[2]), "+r"(o->l[3]), "+r"(o->l[4]),
                   "+r"(o->l[5]), "+r"(o->l[6]), "+r"(o->l[7])
                 : "r"(take), "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(m[4]), "r"(m[5]),
                   "r"(m[6]), "r"(m[7]));
#else
    gpu_words_add_masked(o->l, m, take ? ~0u : 0u, GPU_FR_WORDS);
#endif
}

/* Lazy values of forward transforms are below this times 2^224 (about 2.07 r). */
#define GPU_FR_LAZY_TOP 0xf0000000u

/* (x, y) <- (x + t, x - t) mod r. In: x lazy, t < 2r. Out: lazy: x + t < 2r + bound loses 2r when it
 * reaches the bound, x - t gains 2r when it is negative. No comparison with r or 2r is needed. */
CUZK_HD void gpu_fr_butterfly(gpu_fr *x, gpu_fr *y, const gpu_fr *t)
{
    gpu_fr s;
    uint32_t carry = gpu_words_add(s.l, x->l, t->l, GPU_FR_WORDS);
    uint32_t below = gpu_words_sub(y->l, x->l, t->l, GPU_FR_WORDS);
    gpu_fr_sub_2r_if(&s, carry | (s.l[7] >= GPU_FR_LAZY_TOP));
    gpu_fr_add_2r_if(y, below);
    *x = s;
}

/* [0, 2^256) to [0, 2r). */
CUZK_HD void gpu_fr_reduce_2r(gpu_fr *o, const gpu_fr *a)
{
    gpu_words_reduce_once(o->l, a->l, GPU_CONST(GPU_FR_2R), GPU_FR_WORDS);
}

/* [0, 2^256) to [0, r); 2^256 < 3r. */
CUZK_HD void gpu_fr_reduce(gpu_fr *o, const gpu_fr *a)
{
    gpu_fr t;
    gpu_words_reduce_once(t.l, a->l, GPU_CONST(GPU_FR_R), GPU_FR_WORDS);
    gpu_words_reduce_once(o->l, t.l, GPU_CONST(GPU_FR_R), GPU_FR_WORDS);
}

/* o = k x / 2^32 mod r, reduced; x is any number below 2^256, k < 2^30. One step of Montgomery's
 * reduction, r being 1 mod 2^32: less than x / 4 + r < 2r comes out. */
CUZK_HD void gpu_fr_mul_word(gpu_fr *o, const gpu_fr *x, uint32_t k)
{
    uint32_t t[GPU_FR_WORDS];
    uint64_t carry = (uint64_t)x->l[0] * k;
    uint32_t q = 0 - (uint32_t)carry; /* q r + carry = 0 mod 2^32 */
    carry = (carry >> 32) + (q != 0);
    uint64_t red = 0;
    GPU_UNROLL
    for (int i = 1; i < GPU_FR_WORDS; i++) {
        carry += (uint64_t)x->l[i] * k;
        red += (uint64_t)GPU_CONST(GPU_FR_R)[i] * q;
        uint64_t low = (carry & 0xffffffffu) + (red & 0xffffffffu);
        t[i - 1] = (uint32_t)low;
        carry = (carry >> 32) + (low >> 32);
        red >>= 32;
    }
    t[GPU_FR_WORDS - 1] = (uint32_t)(carry + red);
    gpu_words_reduce_once(o->l, t, GPU_CONST(GPU_FR_R), GPU_FR_WORDS);
}

/* (x, y) <- (x + y, x - y) mod r, without a comparison with 2r: a sum that carries or whose top word
 * is above that of 2r loses 2r. So the k-th sum in a row of values below 2r is below
 * 2r + 2^(223 + k), and differences lie above -2^(223 + k) after 2r was added: for k <= 28 the top
 * word tells these from all other values, and 2r is added again. Hence for values that went through
 * at most 28 sums since they were below 2r, x is below GPU_FR_LAZY_TOP * 2^224 and y as well. */
CUZK_HD void gpu_fr_sum_diff(gpu_fr *x, gpu_fr *y)
{
    gpu_fr s;
    uint32_t carry = gpu_words_add(s.l, x->l, y->l, GPU_FR_WORDS);
    uint32_t below = gpu_words_sub(y->l, x->l, y->l, GPU_FR_WORDS);
    gpu_fr_sub_2r_if(&s, carry | (s.l[7] > GPU_CONST(GPU_FR_2R)[7]));
    gpu_fr_add_2r_if(y, below);
    if (y->l[7] >= 0xf8000000u)
        gpu_fr_add_2r_if(y, 1);
    *x = s;
}

/* The fixed operand for w < r in plain form: w 2^256 = v r + (w 2^256 mod r), and this remainder is
 * w's Montgomery form, so v is it times -1/r mod 2^256. */
CUZK_HD void gpu_fr_fixed_set(gpu_fr_fixed *f, const gpu_fr *w)
{
    gpu_fr rr, rem;
    uint32_t even[GPU_FR_WORDS] = {0}, odd[GPU_FR_WORDS] = {0};
    GPU_UNROLL
    for (int i = 0; i < GPU_FR_WORDS; i++)
        rr.l[i] = GPU_CONST(GPU_FR_RR)[i];
    gpu_fr_mul(&rem, w, &rr);
    gpu_fr_mac_low(even, odd, rem.l, GPU_CONST(GPU_FR_NINV), 0);
    (void)gpu_words_add(even + 1, even + 1, odd, GPU_FR_WORDS - 1);
    f->w = *w;
    GPU_UNROLL
    for (int i = 0; i < GPU_FR_WORDS; i++)
        f->v.l[i] = even[i];
}
#endif
