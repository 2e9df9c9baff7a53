/* Fp multiplication with MULX, ADCX and ADOX, as in fr_adx.h. Included through fp_inline.h only. */
#ifndef FF_FP_ADX_H
#define FF_FP_ADX_H
#include "ff/fp_x64.h"

/* (r0 .. r5, hi) = a * rdx, from nothing. */
#define FPX_FIRST(r0, r1, r2, r3, r4, r5)                                                          \
    "mulx 0(%[a]), " r0 ", " r1 "\n\t"                                                             \
    "mulx 8(%[a]), %[lo], " r2 "\n\t"                                                              \
    "addq %[lo], " r1 "\n\t"                                                                       \
    "mulx 16(%[a]), %[lo], " r3 "\n\t"                                                             \
    "adcq %[lo], " r2 "\n\t"                                                                       \
    "mulx 24(%[a]), %[lo], " r4 "\n\t"                                                             \
    "adcq %[lo], " r3 "\n\t"                                                                       \
    "mulx 32(%[a]), %[lo], " r5 "\n\t"                                                             \
    "adcq %[lo], " r4 "\n\t"                                                                       \
    "mulx 40(%[a]), %[lo], %[hi]\n\t"                                                              \
    "adcq %[lo], " r5 "\n\t"                                                                       \
    "adcq $0, %[hi]\n\t"

/* (r0 .. r5, hi) += a * rdx. */
#define FPX_ROW(r0, r1, r2, r3, r4, r5)                                                            \
    "xorl %k[lo], %k[lo]\n\t"                                                                      \
    "mulx 0(%[a]), %[lo], %[x]\n\t"                                                                \
    "adox %[lo], " r0 "\n\t"                                                                       \
    "mulx 8(%[a]), %[lo], %[hi]\n\t"                                                               \
    "adcx %[x], " r1 "\n\t"                                                                        \
    "adox %[lo], " r1 "\n\t"                                                                       \
    "mulx 16(%[a]), %[lo], %[x]\n\t"                                                               \
    "adcx %[hi], " r2 "\n\t"                                                                       \
    "adox %[lo], " r2 "\n\t"                                                                       \
    "mulx 24(%[a]), %[lo], %[hi]\n\t"                                                              \
    "adcx %[x], " r3 "\n\t"                                                                        \
    "adox %[lo], " r3 "\n\t"                                                                       \
    "mulx 32(%[a]), %[lo], %[x]\n\t"                                                               \
    "adcx %[hi], " r4 "\n\t"                                                                       \
    "adox %[lo], " r4 "\n\t"                                                                       \
    "mulx 40(%[a]), %[lo], %[hi]\n\t"                                                              \
    "adcx %[x], " r5 "\n\t"                                                                        \
    "adox %[lo], " r5 "\n\t"                                                                       \
    "movl $0, %k[lo]\n\t"                                                                          \
    "adcx %[lo], %[hi]\n\t"                                                                        \
    "adox %[lo], %[hi]\n\t"

/* (r1 .. r5, r0) = ((r0 .. r5, hi) + m p) / 2^64. The top cannot overflow: the no-carry bound. */
#define FPX_REDUCE(r0, r1, r2, r3, r4, r5)                                                         \
    "movq %[ninv], %%rdx\n\t"                                                                      \
    "imulq " r0 ", %%rdx\n\t"                                                                      \
    "xorl %k[lo], %k[lo]\n\t"                                                                      \
    "mulx 0+%[m], %[lo], %[x]\n\t"                                                                 \
    "adcx " r0 ", %[lo]\n\t"                                                                       \
    "mulx 8+%[m], %[lo], " r0 "\n\t"                                                               \
    "adcx %[x], " r1 "\n\t"                                                                        \
    "adox %[lo], " r1 "\n\t"                                                                       \
    "mulx 16+%[m], %[lo], %[x]\n\t"                                                                \
    "adcx " r0 ", " r2 "\n\t"                                                                      \
    "adox %[lo], " r2 "\n\t"                                                                       \
    "mulx 24+%[m], %[lo], " r0 "\n\t"                                                              \
    "adcx %[x], " r3 "\n\t"                                                                        \
    "adox %[lo], " r3 "\n\t"                                                                       \
    "mulx 32+%[m], %[lo], %[x]\n\t"                                                                \
    "adcx " r0 ", " r4 "\n\t"                                                                      \
    "adox %[lo], " r4 "\n\t"                                                                       \
    "mulx 40+%[m], %[lo], " r0 "\n\t"                                                              \
    "adcx %[x], " r5 "\n\t"                                                                        \
    "adox %[lo], " r5 "\n\t"                                                                       \
    "movl $0, %k[lo]\n\t"                                                                          \
    "adcx %[lo], " r0 "\n\t"                                                                       \
    "adox %[hi], " r0 "\n\t"

static inline void fpx_mul(fp *o, const fp *a, const fp *b)
{
    static const uint64_t ninv = FPP_NINV;
    uint64_t t[6], x, hi, lo;
    __asm__("movq 0(%[b]), %%rdx\n\t" FPX_FIRST("%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t5]")
                FPX_REDUCE("%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t5]")
            "movq 8(%[b]), %%rdx\n\t" FPX_ROW("%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t5]", "%[t0]")
                FPX_REDUCE("%[t1]", "%[t2]", "%[t3]", "%[t4]", "%[t5]", "%[t0]")
            "movq 16(%[b]), %%rdx\n\t" FPX_ROW("%[t2]", "%[t3]", "%[t4]", "%[t5]", "%[t0]", "%[t1]")
                FPX_REDUCE("%[t2]", "%[t3]", "%[t4]", "%[t5]", "%[t0]", "%[t1]")
            "movq 24(%[b]), %%rdx\n\t" FPX_ROW("%[t3]", "%[t4]", "%[t5]", "%[t0]", "%[t1]", "%[t2]")
                FPX_REDUCE("%[t3]", "%[t4]", "%[t5]", "%[t0]", "%[t1]", "%[t2]")
            "movq 32(%[b]), %%rdx\n\t" FPX_ROW("%[t4]", "%[t5]", "%[t0]", "%[t1]", "%[t2]", "%[t3]")
                FPX_REDUCE("%[t4]", "%[t5]", "%[t0]", "%[t1]", "%[t2]", "%[t3]")
            "movq 40(%[b]), %%rdx\n\t" FPX_ROW("%[t5]", "%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]")
                FPX_REDUCE("%[t5]", "%[t0]", "%[t1]", "%[t2]", "%[t3]", "%[t4]")
            : [t0] "=&r"(t[0]), [t1] "=&r"(t[1]), [t2] "=&r"(t[2]), [t3] "=&r"(t[3]),
              [t4] "=&r"(t[4]), [t5] "=&r"(t[5]), [x] "=&r"(x), [hi] "=&r"(hi), [lo] "=&r"(lo)
            : [a] "r"(a->l), [b] "r"(b->l), "m"(*a), "m"(*b), FPX_P_MEM, [ninv] "m"(ninv)
            : "rdx", "cc");
    fpx_reduce_once(o, t);
}
#endif
