/* The arithmetic of ntt_fixed_portable.h with MULX, ADCX and ADOX: inline assembly because
 * compilers of today lose the two carry chains. Included through ntt_kernel_tmpl.h only. */
#ifndef POLY_NTT_FIXED_ADX_H
#define POLY_NTT_FIXED_ADX_H
#include "poly/ntt_fixed_portable.h"

/* One product of a row by rdx: OF carries the low halves, CF the high halves. */
#define NFA_STEP(src, r_lo, r_hi)    \
    "mulx " src ", %[lo], %[hi]\n\t" \
    "adox %[lo], " r_lo "\n\t"       \
    "adcx %[hi], " r_hi "\n\t"
/* The first product of a row, of which only the high half counts. */
#define NFA_HIGH(src, r_hi)          \
    "mulx " src ", %[lo], %[hi]\n\t" \
    "adcx %[hi], " r_hi "\n\t"
/* The last product of a row, into top = 0; it cannot overflow. */
#define NFA_TOP(src, r_lo, top)      \
    "mulx " src ", %[lo], %[hi]\n\t" \
    "adox %[lo], " r_lo "\n\t"       \
    "adcx " top ", %[hi]\n\t"        \
    "adox %[hi], " top "\n\t"

/* (c, q0 .. q3) = v x from column 3 on, as in nfx_quotient. */
#define NFA_QUOTIENT                                                                              \
    "movq 32(%[f]), %%rdx\n\t"                                                                    \
    "mulx 16(%[x]), %[lo], %[c]\n\t"                                                              \
    "mulx 24(%[x]), %[lo], %[q0]\n\t"                                                             \
    "addq %[lo], %[c]\n\t"                                                                        \
    "adcq $0, %[q0]\n\t"                                                                          \
    "movq 40(%[f]), %%rdx\n\t"                                                                    \
    "xorl %k[q1], %k[q1]\n\t" NFA_HIGH("8(%[x])", "%[c]") NFA_STEP("16(%[x])", "%[c]", "%[q0]")   \
        NFA_TOP("24(%[x])", "%[q0]",                                                              \
                "%[q1]") "movq 48(%[f]), %%rdx\n\t"                                               \
                         "xorl %k[q2], %k[q2]\n\t" NFA_HIGH("0(%[x])", "%[c]") NFA_STEP(          \
                             "8(%[x])", "%[c]", "%[q0]") NFA_STEP("16(%[x])", "%[q0]", "%[q1]")   \
                             NFA_TOP("24(%[x])", "%[q1]",                                         \
                                     "%[q2]") "movq 56(%[f]), %%rdx\n\t"                          \
                                              "xorl %k[q3], %k[q3]\n\t" NFA_STEP("0(%[x])",       \
                                                                                 "%[c]", "%[q0]") \
                                                  NFA_STEP("8(%[x])", "%[q0]", "%[q1]")           \
                                                      NFA_STEP("16(%[x])", "%[q1]", "%[q2]")      \
                                                          NFA_TOP("24(%[x])", "%[q2]", "%[q3]")

/* (t0 .. t3) = w x mod 2^256; c is free by now. IMUL destroys both flags, so it comes before the
 * chains. */
#define NFA_LOW                                                                \
    "movq 0(%[f]), %%rdx\n\t"                                                  \
    "mulx 0(%[x]), %[t0], %[t1]\n\t"                                           \
    "mulx 8(%[x]), %[lo], %[t2]\n\t"                                           \
    "mulx 16(%[x]), %[hi], %[t3]\n\t"                                          \
    "imulq 24(%[x]), %%rdx\n\t"                                                \
    "addq %[lo], %[t1]\n\t"                                                    \
    "adcq %[hi], %[t2]\n\t"                                                    \
    "adcq %%rdx, %[t3]\n\t"                                                    \
    "movq 8(%[f]), %%rdx\n\t"                                                  \
    "movq 16(%[x]), %[c]\n\t"                                                  \
    "imulq %%rdx, %[c]\n\t"                                                    \
    "xorl %k[lo], %k[lo]\n\t" NFA_STEP("0(%[x])", "%[t1]", "%[t2]")            \
        NFA_STEP("8(%[x])", "%[t2]", "%[t3]") "adox %[c], %[t3]\n\t"           \
                                              "movq 16(%[f]), %%rdx\n\t"       \
                                              "mulx 0(%[x]), %[lo], %[hi]\n\t" \
                                              "imulq 8(%[x]), %%rdx\n\t"       \
                                              "movq 24(%[f]), %[c]\n\t"        \
                                              "imulq 0(%[x]), %[c]\n\t"        \
                                              "addq %[c], %%rdx\n\t"           \
                                              "addq %[lo], %[t2]\n\t"          \
                                              "adcq %[hi], %[t3]\n\t"          \
                                              "addq %%rdx, %[t3]\n\t"

/* (t0 .. t3) += q (2^256 - r) mod 2^256. */
#define NFA_REDUCE                                                                                 \
    "movq %[q0], %%rdx\n\t"                                                                        \
    "imulq 24+%[n], %[q0]\n\t"                                                                     \
    "xorl %k[lo], %k[lo]\n\t" NFA_STEP("0+%[n]", "%[t0]", "%[t1]") NFA_STEP("8+%[n]", "%[t1]",     \
                                                                            "%[t2]")               \
        NFA_STEP("16+%[n]", "%[t2]",                                                               \
                 "%[t3]") "adox %[q0], %[t3]\n\t"                                                  \
                          "movq %[q1], %%rdx\n\t"                                                  \
                          "imulq 16+%[n], %[q1]\n\t"                                               \
                          "xorl %k[lo], %k[lo]\n\t" NFA_STEP("0+%[n]", "%[t1]", "%[t2]")           \
                              NFA_STEP("8+%[n]", "%[t2]", "%[t3]") "adox %[q1], %[t3]\n\t"         \
                                                                   "movq %[q2], %%rdx\n\t"         \
                                                                   "imulq 8+%[n], %[q2]\n\t"       \
                                                                   "mulx 0+%[n], %[lo], %[hi]\n\t" \
                                                                   "imulq 0+%[n], %[q3]\n\t"       \
                                                                   "addq %[q3], %[q2]\n\t"         \
                                                                   "addq %[lo], %[t2]\n\t"         \
                                                                   "adcq %[hi], %[t3]\n\t"         \
                                                                   "addq %[q2], %[t3]"

/* As nfx_mul. The memory clobber stands for *x and *f as operands: their addresses would take two
 * more registers in builds without optimization, and there are none left. */
static inline __attribute__((always_inline)) void nfa_mul(fr *o, const fr *x, const ntt_twiddle *f)
{
    uint64_t t0, t1, t2, t3, q0, q1, q2, q3, lo, hi, c;
    __asm__(NFA_QUOTIENT NFA_LOW NFA_REDUCE
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [q0] "=&r"(q0),
              [q1] "=&r"(q1), [q2] "=&r"(q2), [q3] "=&r"(q3), [lo] "=&r"(lo), [hi] "=&r"(hi),
              [c] "=&r"(c)
            : [x] "r"(x->l), [f] "r"(f), [n] "m"(*(const uint64_t(*)[4])nfx_neg_r)
            : "rdx", "cc", "memory");
    o->l[0] = t0;
    o->l[1] = t1;
    o->l[2] = t2;
    o->l[3] = t3;
}

static inline __attribute__((always_inline)) void nfa_add(fr *o, const fr *a, const fr *b)
{
    uint64_t s0 = a->l[0], s1 = a->l[1], s2 = a->l[2], s3 = a->l[3], d0, d1, d2, d3, m;
    __asm__("addq %[b0], %[s0]\n\t"
            "adcq %[b1], %[s1]\n\t"
            "adcq %[b2], %[s2]\n\t"
            "adcq %[b3], %[s3]\n\t"
            "sbbq %[m], %[m]\n\t" /* minus the carry */
            "movq %[s0], %[d0]\n\t"
            "movq %[s1], %[d1]\n\t"
            "movq %[s2], %[d2]\n\t"
            "movq %[s3], %[d3]\n\t"
            "subq 0+%[r2], %[d0]\n\t"
            "sbbq 8+%[r2], %[d1]\n\t"
            "sbbq 16+%[r2], %[d2]\n\t"
            "sbbq 24+%[r2], %[d3]\n\t"
            "sbbq $0, %[m]\n\t" /* borrows when the sum is below 2r */
            "cmovncq %[d0], %[s0]\n\t"
            "cmovncq %[d1], %[s1]\n\t"
            "cmovncq %[d2], %[s2]\n\t"
            "cmovncq %[d3], %[s3]"
            : [s0] "+&r"(s0), [s1] "+&r"(s1), [s2] "+&r"(s2), [s3] "+&r"(s3), [d0] "=&r"(d0),
              [d1] "=&r"(d1), [d2] "=&r"(d2), [d3] "=&r"(d3), [m] "=&r"(m)
            : [b0] "rm"(b->l[0]), [b1] "rm"(b->l[1]), [b2] "rm"(b->l[2]), [b3] "rm"(b->l[3]),
              [r2] "m"(*(const uint64_t(*)[4])nfx_2r)
            : "cc");
    o->l[0] = s0;
    o->l[1] = s1;
    o->l[2] = s2;
    o->l[3] = s3;
}

static inline __attribute__((always_inline)) void nfa_sub(fr *o, const fr *a, const fr *b)
{
    uint64_t d0 = a->l[0], d1 = a->l[1], d2 = a->l[2], d3 = a->l[3], mask;
    __asm__("subq %[b0], %[d0]\n\t"
            "sbbq %[b1], %[d1]\n\t"
            "sbbq %[b2], %[d2]\n\t"
            "sbbq %[b3], %[d3]\n\t"
            "sbbq %[mask], %[mask]"
            : [d0] "+&r"(d0), [d1] "+&r"(d1), [d2] "+&r"(d2), [d3] "+&r"(d3), [mask] "=&r"(mask)
            : [b0] "rm"(b->l[0]), [b1] "rm"(b->l[1]), [b2] "rm"(b->l[2]), [b3] "rm"(b->l[3])
            : "cc");
    __asm__("addq %[m0], %[d0]\n\t"
            "adcq %[m1], %[d1]\n\t"
            "adcq %[m2], %[d2]\n\t"
            "adcq %[m3], %[d3]"
            : [d0] "+&r"(d0), [d1] "+&r"(d1), [d2] "+&r"(d2), [d3] "+&r"(d3)
            : [m0] "r"(mask & nfx_2r[0]), [m1] "r"(mask & nfx_2r[1]), [m2] "r"(mask & nfx_2r[2]),
              [m3] "r"(mask & nfx_2r[3])
            : "cc");
    o->l[0] = d0;
    o->l[1] = d1;
    o->l[2] = d2;
    o->l[3] = d3;
}

static inline __attribute__((always_inline)) void nfa_reduce(fr *o, const fr *a)
{
    uint64_t d0 = a->l[0], d1 = a->l[1], d2 = a->l[2], d3 = a->l[3];
    uint64_t s0 = d0, s1 = d1, s2 = d2, s3 = d3;
    __asm__("subq %[r0], %[d0]\n\t"
            "sbbq %[r1], %[d1]\n\t"
            "sbbq %[r2], %[d2]\n\t"
            "sbbq %[r3], %[d3]\n\t"
            "cmovcq %[s0], %[d0]\n\t"
            "cmovcq %[s1], %[d1]\n\t"
            "cmovcq %[s2], %[d2]\n\t"
            "cmovcq %[s3], %[d3]"
            : [d0] "+&r"(d0), [d1] "+&r"(d1), [d2] "+&r"(d2), [d3] "+&r"(d3)
            : [s0] "r"(s0), [s1] "r"(s1), [s2] "r"(s2), [s3] "r"(s3), [r0] "m"(FR_MODULUS.l[0]),
              [r1] "m"(FR_MODULUS.l[1]), [r2] "m"(FR_MODULUS.l[2]), [r3] "m"(FR_MODULUS.l[3])
            : "cc");
    o->l[0] = d0;
    o->l[1] = d1;
    o->l[2] = d2;
    o->l[3] = d3;
}
#endif
