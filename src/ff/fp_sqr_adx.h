/* Fp squaring with MULX, ADCX and ADOX: 21 products where multiplication has 36. Through fp_inline.h only. */
#ifndef FF_FP_SQR_ADX_H
#define FF_FP_SQR_ADX_H
#include "ff/fp_adx.h"

/* acc, next += a[off] * rdx, inside a row: low halves through OF, high halves through CF. */
#define FPX_CROSS(off, acc, next)                                                                  \
    "mulx " off "(%[a]), %[lo], %[x]\n\t"                                                          \
    "adox %[lo], " acc "\n\t"                                                                      \
    "adcx %[x], " next "\n\t"

/* The last product of a row opens the limb top. */
#define FPX_CROSS_END(acc, top)                                                                    \
    "mulx 40(%[a]), %[lo], " top "\n\t"                                                            \
    "adox %[lo], " acc "\n\t"                                                                      \
    "movl $0, %k[lo]\n\t"                                                                          \
    "adcx %[lo], " top "\n\t"                                                                      \
    "adox %[lo], " top "\n\t"

/* Limbs at words lo_off, hi_off of o: doubled (CF chain), plus the square of a[off] (OF chain). */
#define FPX_DIAGONAL(off, lo_off, hi_off)                                                          \
    "movq " off "(%[a]), %%rdx\n\t"                                                                \
    "mulx %%rdx, %[lo], %[x]\n\t"                                                                  \
    "movq " lo_off "(%[o]), %[t0]\n\t"                                                             \
    "movq " hi_off "(%[o]), %[t1]\n\t"                                                             \
    "adcx %[t0], %[t0]\n\t"                                                                        \
    "adox %[lo], %[t0]\n\t"                                                                        \
    "adcx %[t1], %[t1]\n\t"                                                                        \
    "adox %[x], %[t1]\n\t"                                                                         \
    "movq %[t0], " lo_off "(%[o])\n\t"                                                             \
    "movq %[t1], " hi_off "(%[o])\n\t"

/* o = a^2 for any six-limb a: the products a_i a_j, i < j (word k in t[k mod 6] until stored), doubled, plus
 * the squares. o and a do not overlap. */
static inline void fpx_sqr_wide(fpx_wide *o, const fp *a)
{
    uint64_t t[6], x, lo;
    __asm__("movq 0(%[a]), %%rdx\n\t"
            "mulx 8(%[a]), %[t1], %[t2]\n\t"
            "mulx 16(%[a]), %[lo], %[t3]\n\t"
            "addq %[lo], %[t2]\n\t"
            "mulx 24(%[a]), %[lo], %[t4]\n\t"
            "adcq %[lo], %[t3]\n\t"
            "mulx 32(%[a]), %[lo], %[t5]\n\t"
            "adcq %[lo], %[t4]\n\t"
            "mulx 40(%[a]), %[lo], %[t0]\n\t"
            "adcq %[lo], %[t5]\n\t"
            "adcq $0, %[t0]\n\t"
            "movq $0, 0(%[o])\n\t"
            "movq %[t1], 8(%[o])\n\t"
            "movq %[t2], 16(%[o])\n\t"
            "movq 8(%[a]), %%rdx\n\t"
            "xorl %k[lo], %k[lo]\n\t"
                FPX_CROSS("16", "%[t3]", "%[t4]") FPX_CROSS("24", "%[t4]", "%[t5]")
                FPX_CROSS("32", "%[t5]", "%[t0]") FPX_CROSS_END("%[t0]", "%[t1]")
            "movq %[t3], 24(%[o])\n\t"
            "movq %[t4], 32(%[o])\n\t"
            "movq 16(%[a]), %%rdx\n\t"
            "xorl %k[lo], %k[lo]\n\t"
                FPX_CROSS("24", "%[t5]", "%[t0]") FPX_CROSS("32", "%[t0]", "%[t1]")
                FPX_CROSS_END("%[t1]", "%[t2]")
            "movq %[t5], 40(%[o])\n\t"
            "movq %[t0], 48(%[o])\n\t"
            "movq 24(%[a]), %%rdx\n\t"
            "xorl %k[lo], %k[lo]\n\t"
                FPX_CROSS("32", "%[t1]", "%[t2]") FPX_CROSS_END("%[t2]", "%[t3]")
            "movq %[t1], 56(%[o])\n\t"
            "movq %[t2], 64(%[o])\n\t"
            "movq 32(%[a]), %%rdx\n\t"
            "xorl %k[lo], %k[lo]\n\t" FPX_CROSS_END("%[t3]", "%[t4]")
            "movq %[t3], 72(%[o])\n\t"
            "movq %[t4], 80(%[o])\n\t"
            "movq $0, 88(%[o])\n\t"
            "xorl %k[lo], %k[lo]\n\t"
                FPX_DIAGONAL("0", "0", "8") FPX_DIAGONAL("8", "16", "24")
                FPX_DIAGONAL("16", "32", "40") FPX_DIAGONAL("24", "48", "56")
                FPX_DIAGONAL("32", "64", "72") FPX_DIAGONAL("40", "80", "88")
            : [t0] "=&r"(t[0]), [t1] "=&r"(t[1]), [t2] "=&r"(t[2]), [t3] "=&r"(t[3]),
              [t4] "=&r"(t[4]), [t5] "=&r"(t[5]), [x] "=&r"(x), [lo] "=&r"(lo), "=m"(*o)
            : [a] "r"(a->l), [o] "r"(o->l), "m"(*a)
            : "rdx", "cc");
}

static inline void fpx_sqr(fp *o, const fp *a)
{
    fpx_wide w;
    fpx_sqr_wide(&w, a);
    fpx_redc(o, &w);
}
#endif
