/* Fr multiplication with MULX, ADCX and ADOX. Included through fr_inline.h only.
 * Operand scanning with two carry chains at once: CF carries the high halves, OF the low halves
 * (Intel white paper "New Instructions Supporting Large Integer Arithmetic", 2012). */
#ifndef FF_FR_ADX_H
#define FF_FR_ADX_H
#include "ff/fr_x64.h"

/* (r0 .. r3, hi) = a * rdx, from nothing. */
#define FRX_FIRST(r0, r1, r2, r3)      \
    "mulx 0(%[a]), " r0 ", " r1 "\n\t" \
    "mulx 8(%[a]), %[lo], " r2 "\n\t"  \
    "addq %[lo], " r1 "\n\t"           \
    "mulx 16(%[a]), %[lo], " r3 "\n\t" \
    "adcq %[lo], " r2 "\n\t"           \
    "mulx 24(%[a]), %[lo], %[hi]\n\t"  \
    "adcq %[lo], " r3 "\n\t"           \
    "adcq $0, %[hi]\n\t"

/* (r0 .. r3, hi) += a * rdx. */
#define FRX_ROW(r0, r1, r2, r3)       \
    "xorl %k[lo], %k[lo]\n\t"         \
    "mulx 0(%[a]), %[lo], %[x]\n\t"   \
    "adox %[lo], " r0 "\n\t"          \
    "mulx 8(%[a]), %[lo], %[hi]\n\t"  \
    "adcx %[x], " r1 "\n\t"           \
    "adox %[lo], " r1 "\n\t"          \
    "mulx 16(%[a]), %[lo], %[x]\n\t"  \
    "adcx %[hi], " r2 "\n\t"          \
    "adox %[lo], " r2 "\n\t"          \
    "mulx 24(%[a]), %[lo], %[hi]\n\t" \
    "adcx %[x], " r3 "\n\t"           \
    "adox %[lo], " r3 "\n\t"          \
    "movl $0, %k[lo]\n\t"             \
    "adcx %[lo], %[hi]\n\t"           \
    "adox %[lo], %[hi]\n\t"

/* (r1, r2, r3, r0) = ((r0 .. r3, hi) + m r) / 2^64. The top cannot overflow: the no-carry bound. */
#define FRX_REDUCE(r0, r1, r2, r3)    \
    "movq %[ninv], %%rdx\n\t"         \
    "imulq " r0 ", %%rdx\n\t"         \
    "xorl %k[lo], %k[lo]\n\t"         \
    "mulx 0+%[m], %[lo], %[x]\n\t"    \
    "adcx " r0 ", %[lo]\n\t"          \
    "mulx 8+%[m], %[lo], " r0 "\n\t"  \
    "adcx %[x], " r1 "\n\t"           \
    "adox %[lo], " r1 "\n\t"          \
    "mulx 16+%[m], %[lo], %[x]\n\t"   \
    "adcx " r0 ", " r2 "\n\t"         \
    "adox %[lo], " r2 "\n\t"          \
    "mulx 24+%[m], %[lo], " r0 "\n\t" \
    "adcx %[x], " r3 "\n\t"           \
    "adox %[lo], " r3 "\n\t"          \
    "movl $0, %k[lo]\n\t"             \
    "adcx %[lo], " r0 "\n\t"          \
    "adox %[hi], " r0 "\n\t"

static inline void frx_mul(fr *o, const fr *a, const fr *b)
{
    static const uint64_t ninv = FRP_NINV;
    uint64_t t0, t1, t2, t3, x, hi, lo;
    __asm__("movq 0(%[b]), %%rdx\n\t" FRX_FIRST("%[t0]", "%[t1]", "%[t2]", "%[t3]") FRX_REDUCE(
                "%[t0]", "%[t1]", "%[t2]",
                "%[t3]") "movq 8(%[b]), %%rdx\n\t" FRX_ROW("%[t1]", "%[t2]", "%[t3]", "%[t0]")
                FRX_REDUCE("%[t1]", "%[t2]", "%[t3]", "%[t0]") "movq 16(%[b]), %%rdx\n\t" FRX_ROW(
                    "%[t2]", "%[t3]", "%[t0]", "%[t1]")
                    FRX_REDUCE("%[t2]", "%[t3]", "%[t0]",
                               "%[t1]") "movq 24(%[b]), %%rdx\n\t" FRX_ROW("%[t3]", "%[t0]",
                                                                           "%[t1]", "%[t2]")
                        FRX_REDUCE("%[t3]", "%[t0]", "%[t1]", "%[t2]")
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [x] "=&r"(x),
              [hi] "=&r"(hi), [lo] "=&r"(lo)
            : [a] "r"(a->l), [b] "r"(b->l), "m"(*a), "m"(*b), FRX_R_MEM, [ninv] "m"(ninv)
            : "rdx", "cc");
    frx_reduce_once(o, t0, t1, t2, t3);
}
#endif
