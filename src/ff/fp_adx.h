/* Fp multiplication with MULX, ADCX and ADOX, as in fr_adx.h. Included through fp_inline.h only. */
#ifndef FF_FP_ADX_H
#define FF_FP_ADX_H
#include "ff/fp_x64.h"

/* (r0 .. r5, hi) = a * rdx, from nothing. */
#define FPX_FIRST(r0, r1, r2, r3, r4, r5) \
    "mulx 0(%[a]), " r0 ", " r1 "\n\t"    \
    "mulx 8(%[a]), %[lo], " r2 "\n\t"     \
    "addq %[lo], " r1 "\n\t"              \
    "mulx 16(%[a]), %[lo], " r3 "\n\t"    \
    "adcq %[lo], " r2 "\n\t"              \
    "mulx 24(%[a]), %[lo], " r4 "\n\t"    \
    "adcq %[lo], " r3 "\n\t"              \
    "mulx 32(%[a]), %[lo], " r5 "\n\t"    \
    "adcq %[lo], " r4 "\n\t"              \
    "mulx 40(%[a]), %[lo], %[hi]\n\t"     \
    "adcq %[lo], " r5 "\n\t"              \
    "adcq $0, %[hi]\n\t"

/* (r0 .. r5, hi) += a * rdx. */
#define FPX_ROW(r0, r1, r2, r3, r4, r5) \
    "xorl %k[lo], %k[lo]\n\t"           \
    "mulx 0(%[a]), %[lo], %[x]\n\t"     \
    "adox %[lo], " r0 "\n\t"            \
    "mulx 8(%[a]), %[lo], %[hi]\n\t"    \
    "adcx %[x], " r1 "\n\t"             \
    "adox %[lo], " r1 "\n\t"            \
    "mulx 16(%[a]), %[lo], %[x]\n\t"    \
    "adcx %[hi], " r2 "\n\t"            \
    "adox %[lo], " r2 "\n\t"            \
    "mulx 24(%[a]), %[lo], %[hi]\n\t"   \
    "adcx %[x], " r3 "\n\t"             \
    "adox %[lo], " r3 "\n\t"            \
    "mulx 32(%[a]), %[lo], %[x]\n\t"    \
    "adcx %[hi], " r4 "\n\t"            \
    "adox %[lo], " r4 "\n\t"            \
    "mulx 40(%[a]), %[lo], %[hi]\n\t"   \
    "adcx %[x], " r5 "\n\t"             \
    "adox %[lo], " r5 "\n\t"            \
    "movl $0, %k[lo]\n\t"               \
    "adcx %[lo], %[hi]\n\t"             \
    "adox %[lo], %[hi]\n\t"

/* (r1 .. r5, r0) = ((r0 .. r5, top) + m p) / 2^64. The top cannot overflow: the no-carry bound. */
#define FPX_REDUCE_TOP(top, r0, r1, r2, r3, r4, r5) \
    "movq %[ninv], %%rdx\n\t"                       \
    "imulq " r0 ", %%rdx\n\t"                       \
    "xorl %k[lo], %k[lo]\n\t"                       \
    "mulx 0+%[m], %[lo], %[x]\n\t"                  \
    "adcx " r0 ", %[lo]\n\t"                        \
    "mulx 8+%[m], %[lo], " r0 "\n\t"                \
    "adcx %[x], " r1 "\n\t"                         \
    "adox %[lo], " r1 "\n\t"                        \
    "mulx 16+%[m], %[lo], %[x]\n\t"                 \
    "adcx " r0 ", " r2 "\n\t"                       \
    "adox %[lo], " r2 "\n\t"                        \
    "mulx 24+%[m], %[lo], " r0 "\n\t"               \
    "adcx %[x], " r3 "\n\t"                         \
    "adox %[lo], " r3 "\n\t"                        \
    "mulx 32+%[m], %[lo], %[x]\n\t"                 \
    "adcx " r0 ", " r4 "\n\t"                       \
    "adox %[lo], " r4 "\n\t"                        \
    "mulx 40+%[m], %[lo], " r0 "\n\t"               \
    "adcx %[x], " r5 "\n\t"                         \
    "adox %[lo], " r5 "\n\t"                        \
    "movl $0, %k[lo]\n\t"                           \
    "adcx %[lo], " r0 "\n\t"                        \
    "adox " top ", " r0 "\n\t"
#define FPX_REDUCE(r0, r1, r2, r3, r4, r5) FPX_REDUCE_TOP("%[hi]", r0, r1, r2, r3, r4, r5)

static inline void fpx_mul(fp *o, const fp *a, const fp *b)
{
    static const uint64_t ninv = FPP_NINV;
    uint64_t t[6], x, hi, lo;
    __asm__(
        "movq 0(%[b]), %%rdx\n\t" FPX_FIRST("%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t5]")
            FPX_REDUCE("%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]",
                       "%[t5]") "movq 8(%[b]), %%rdx\n\t" FPX_ROW("%[t1]", "%[t2]", "%[t3]",
                                                                  "%[t4]", "%[t5]", "%[t0]")
                FPX_REDUCE("%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t5]",
                           "%[t0]") "movq 16(%[b]), %%rdx\n\t" FPX_ROW("%[t2]", "%[t3]", "%[t4]",
                                                                       "%[t5]", "%[t0]", "%[t1]")
                    FPX_REDUCE("%[t2]", "%[t3]", "%[t4]", "%[t5]", "%[t0]",
                               "%[t1]") "movq 24(%[b]), %%rdx\n\t" FPX_ROW("%[t3]", "%[t4]",
                                                                           "%[t5]", "%[t0]",
                                                                           "%[t1]", "%[t2]")
                        FPX_REDUCE("%[t3]", "%[t4]", "%[t5]", "%[t0]", "%[t1]",
                                   "%[t2]") "movq 32(%[b]), %%rdx\n\t" FPX_ROW("%[t4]", "%[t5]",
                                                                               "%[t0]", "%[t1]",
                                                                               "%[t2]", "%[t3]")
                            FPX_REDUCE("%[t4]", "%[t5]", "%[t0]", "%[t1]", "%[t2]",
                                       "%[t3]") "movq 40(%[b]), %%rdx\n\t" FPX_ROW("%[t5]", "%[t0]",
                                                                                   "%[t1]", "%[t2]",
                                                                                   "%[t3]", "%[t4]")
                                FPX_REDUCE("%[t5]", "%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]")
        : [t0] "=&r"(t[0]), [t1] "=&r"(t[1]), [t2] "=&r"(t[2]), [t3] "=&r"(t[3]), [t4] "=&r"(t[4]),
          [t5] "=&r"(t[5]), [x] "=&r"(x), [hi] "=&r"(hi), [lo] "=&r"(lo)
        : [a] "r"(a->l), [b] "r"(b->l), "m"(*a), "m"(*b), FPX_P_MEM, [ninv] "m"(ninv)
        : "rdx", "cc");
    fpx_reduce_once(o, t);
}

/* Lazy reduction: products of 12 limbs, reduced after they were added up. */
typedef struct fpx_wide {
    uint64_t l[12];
} fpx_wide;

/* One row of a product, its lowest limb stored, and hi moved to where the next row has its top
 * limb. */
#define FPX_WIDE_ROW(off, r0, r1, r2, r3, r4, r5)                                       \
    "movq " off "(%[b]), %%rdx\n\t" FPX_ROW(r0, r1, r2, r3, r4, r5) "movq " r0 ", " off \
                                                                    "(%[o])\n\t"        \
                                                                    "movq %[hi], " r0 "\n\t"

/* o = a b; any six-limb a, b. A memory clobber stands for the operands: naming them would take
 * three more registers in an unoptimised build, and there are none. */
static inline void fpx_mul_wide(fpx_wide *o, const fp *a, const fp *b)
{
    uint64_t t[6], x, hi, lo;
    __asm__ volatile(
        "movq 0(%[b]), %%rdx\n\t" FPX_FIRST(
            "%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]",
            "%[t5]") "movq %[t0], 0(%[o])\n\t"
                     "movq %[hi], %[t0]\n\t" FPX_WIDE_ROW("8", "%[t1]", "%[t2]", "%[t3]", "%[t4]",
                                                          "%[t5]", "%[t0]")
                         FPX_WIDE_ROW("16", "%[t2]", "%[t3]", "%[t4]", "%[t5]", "%[t0]", "%[t1]")
                             FPX_WIDE_ROW("24", "%[t3]", "%[t4]", "%[t5]", "%[t0]", "%[t1]",
                                          "%[t2]") FPX_WIDE_ROW("32", "%[t4]", "%[t5]", "%[t0]",
                                                                "%[t1]", "%[t2]", "%[t3]")
                                 FPX_WIDE_ROW("40", "%[t5]", "%[t0]", "%[t1]", "%[t2]", "%[t3]",
                                              "%[t4]") "movq %[t0], 48(%[o])\n\t"
                                                       "movq %[t1], 56(%[o])\n\t"
                                                       "movq %[t2], 64(%[o])\n\t"
                                                       "movq %[t3], 72(%[o])\n\t"
                                                       "movq %[t4], 80(%[o])\n\t"
                                                       "movq %[t5], 88(%[o])"
        : [t0] "=&r"(t[0]), [t1] "=&r"(t[1]), [t2] "=&r"(t[2]), [t3] "=&r"(t[3]), [t4] "=&r"(t[4]),
          [t5] "=&r"(t[5]), [x] "=&r"(x), [hi] "=&r"(hi), [lo] "=&r"(lo)
        : [a] "r"(a->l), [b] "r"(b->l), [o] "r"(o->l)
        : "rdx", "cc", "memory");
}

/* o = w / 2^384 mod p, reduced; w < 2^384 p. */
static inline void fpx_redc(fp *o, const fpx_wide *w)
{
    static const uint64_t ninv = FPP_NINV;
    uint64_t t[6], x, lo;
    for (int i = 0; i < 6; i++)
        t[i] = limb_load(&w->l[i]);
    __asm__(FPX_REDUCE_TOP("%[lo]", "%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t5]")
                FPX_REDUCE_TOP("%[lo]", "%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t5]", "%[t0]")
                    FPX_REDUCE_TOP("%[lo]", "%[t2]", "%[t3]", "%[t4]", "%[t5]", "%[t0]", "%[t1]")
                        FPX_REDUCE_TOP("%[lo]", "%[t3]", "%[t4]", "%[t5]", "%[t0]", "%[t1]",
                                       "%[t2]") FPX_REDUCE_TOP("%[lo]", "%[t4]", "%[t5]", "%[t0]",
                                                               "%[t1]", "%[t2]", "%[t3]")
                            FPX_REDUCE_TOP("%[lo]", "%[t5]", "%[t0]", "%[t1]", "%[t2]", "%[t3]",
                                           "%[t4]") "addq 48(%[w]), %[t0]\n\t"
                                                    "adcq 56(%[w]), %[t1]\n\t"
                                                    "adcq 64(%[w]), %[t2]\n\t"
                                                    "adcq 72(%[w]), %[t3]\n\t"
                                                    "adcq 80(%[w]), %[t4]\n\t"
                                                    "adcq 88(%[w]), %[t5]"
            : FPX_T_INOUT, [x] "=&r"(x), [lo] "=&r"(lo)
            : [w] "r"(w->l), "m"(*w), FPX_P_MEM, [ninv] "m"(ninv)
            : "rdx", "cc");
    fpx_reduce_once(o, t);
}

#define FPX_STEP(op, off)                                        \
    "movq " off "(%[a]), %[t]\n\t" op " " off "(%[b]), %[t]\n\t" \
    "movq %[t], " off "(%[o])\n\t"

/* o = a - b mod 2^768; all ones when a < b. */
static inline uint64_t fpx_wide_sub(fpx_wide *o, const fpx_wide *a, const fpx_wide *b)
{
    uint64_t t;
    __asm__(FPX_STEP("subq", "0") FPX_STEP("sbbq", "8") FPX_STEP("sbbq", "16")
                FPX_STEP("sbbq", "24") FPX_STEP("sbbq", "32") FPX_STEP("sbbq", "40")
                    FPX_STEP("sbbq", "48") FPX_STEP("sbbq", "56") FPX_STEP("sbbq", "64")
                        FPX_STEP("sbbq", "72") FPX_STEP("sbbq", "80")
                            FPX_STEP("sbbq", "88") "sbbq %[t], %[t]"
            : [t] "=&r"(t), "=m"(*o)
            : [a] "r"(a->l), [b] "r"(b->l), [o] "r"(o->l), "m"(*a), "m"(*b)
            : "cc");
    return t;
}

/* o = a + b, not reduced. */
static inline void fpx_add_raw(fp *o, const fp *a, const fp *b)
{
    uint64_t t;
    __asm__(FPX_STEP("addq", "0") FPX_STEP("adcq", "8") FPX_STEP("adcq", "16")
                FPX_STEP("adcq", "24") FPX_STEP("adcq", "32") FPX_STEP("adcq", "40")
            : [t] "=&r"(t), "=m"(*o)
            : [a] "r"(a->l), [b] "r"(b->l), [o] "r"(o->l), "m"(*a), "m"(*b)
            : "cc");
}

/* w += 2^384 p if mask is all ones. */
static inline void fpx_wide_add_p(fpx_wide *w, uint64_t mask)
{
    __asm__(
        "addq %[m0], 48(%[w])\n\t"
        "adcq %[m1], 56(%[w])\n\t"
        "adcq %[m2], 64(%[w])\n\t"
        "adcq %[m3], 72(%[w])\n\t"
        "adcq %[m4], 80(%[w])\n\t"
        "adcq %[m5], 88(%[w])"
        : "+m"(*w)
        : [w] "r"(w->l), [m0] "r"(mask & FPP_P0), [m1] "r"(mask & FPP_P1), [m2] "r"(mask & FPP_P2),
          [m3] "r"(mask & FPP_P3), [m4] "r"(mask & FPP_P4), [m5] "r"(mask & FPP_P5)
        : "cc");
}
#endif
