/* Fp addition and subtraction with add/adc and cmov, which every x86-64 has (compilers of today
 * lose the carry chain of the portable form). Included through fp_inline.h only. */
#ifndef FF_FP_X64_H
#define FF_FP_X64_H
#include "ff/fp_portable.h"

static const uint64_t fpx_p[6] = {FPP_P0, FPP_P1, FPP_P2, FPP_P3, FPP_P4, FPP_P5};
#define FPX_P_MEM [m] "m"(*(const uint64_t(*)[6])fpx_p)
/* Six limbs held in registers. */
#define FPX_T_INOUT                                                                           \
    [t0] "+&r"(t[0]), [t1] "+&r"(t[1]), [t2] "+&r"(t[2]), [t3] "+&r"(t[3]), [t4] "+&r"(t[4]), \
        [t5] "+&r"(t[5])

/* o = t or t - p, whichever is in [0, p); t < 2p. Destroys t. */
static inline void fpx_reduce_once(fp *o, uint64_t t[6])
{
    uint64_t s0 = t[0], s1 = t[1], s2 = t[2], s3 = t[3], s4 = t[4], s5 = t[5];
    __asm__(
        "subq 0+%[m], %[t0]\n\t"
        "sbbq 8+%[m], %[t1]\n\t"
        "sbbq 16+%[m], %[t2]\n\t"
        "sbbq 24+%[m], %[t3]\n\t"
        "sbbq 32+%[m], %[t4]\n\t"
        "sbbq 40+%[m], %[t5]\n\t"
        "cmovcq %[s0], %[t0]\n\t"
        "cmovcq %[s1], %[t1]\n\t"
        "cmovcq %[s2], %[t2]\n\t"
        "cmovcq %[s3], %[t3]\n\t"
        "cmovcq %[s4], %[t4]\n\t"
        "cmovcq %[s5], %[t5]"
        : FPX_T_INOUT
        : [s0] "rm"(s0), [s1] "rm"(s1), [s2] "rm"(s2), [s3] "rm"(s3), [s4] "rm"(s4), [s5] "rm"(s5),
          FPX_P_MEM
        : "cc");
    limb_store(&o->l[0], t[0]);
    limb_store(&o->l[1], t[1]);
    limb_store(&o->l[2], t[2]);
    limb_store(&o->l[3], t[3]);
    limb_store(&o->l[4], t[4]);
    limb_store(&o->l[5], t[5]);
}

static inline void fpx_add(fp *o, const fp *a, const fp *b)
{
    uint64_t t[6] = {limb_load(&a->l[0]), limb_load(&a->l[1]), limb_load(&a->l[2]),
                     limb_load(&a->l[3]), limb_load(&a->l[4]), limb_load(&a->l[5])};
    __asm__("addq %[b0], %[t0]\n\t"
            "adcq %[b1], %[t1]\n\t"
            "adcq %[b2], %[t2]\n\t"
            "adcq %[b3], %[t3]\n\t"
            "adcq %[b4], %[t4]\n\t"
            "adcq %[b5], %[t5]"
            : FPX_T_INOUT
            : [b0] "rm"(b->l[0]), [b1] "rm"(b->l[1]), [b2] "rm"(b->l[2]), [b3] "rm"(b->l[3]),
              [b4] "rm"(b->l[4]), [b5] "rm"(b->l[5])
            : "cc");
    fpx_reduce_once(o, t);
}

static inline void fpx_sub(fp *o, const fp *a, const fp *b)
{
    uint64_t t[6] = {limb_load(&a->l[0]), limb_load(&a->l[1]), limb_load(&a->l[2]),
                     limb_load(&a->l[3]), limb_load(&a->l[4]), limb_load(&a->l[5])},
             mask;
    __asm__("subq %[b0], %[t0]\n\t"
            "sbbq %[b1], %[t1]\n\t"
            "sbbq %[b2], %[t2]\n\t"
            "sbbq %[b3], %[t3]\n\t"
            "sbbq %[b4], %[t4]\n\t"
            "sbbq %[b5], %[t5]\n\t"
            "sbbq %[mask], %[mask]"
            : FPX_T_INOUT, [mask] "=&r"(mask)
            : [b0] "rm"(b->l[0]), [b1] "rm"(b->l[1]), [b2] "rm"(b->l[2]), [b3] "rm"(b->l[3]),
              [b4] "rm"(b->l[4]), [b5] "rm"(b->l[5])
            : "cc");
    __asm__("addq %[m0], %[t0]\n\t"
            "adcq %[m1], %[t1]\n\t"
            "adcq %[m2], %[t2]\n\t"
            "adcq %[m3], %[t3]\n\t"
            "adcq %[m4], %[t4]\n\t"
            "adcq %[m5], %[t5]"
            : FPX_T_INOUT
            : [m0] "r"(mask & FPP_P0), [m1] "r"(mask & FPP_P1), [m2] "r"(mask & FPP_P2),
              [m3] "r"(mask & FPP_P3), [m4] "r"(mask & FPP_P4), [m5] "r"(mask & FPP_P5)
            : "cc");
    limb_store(&o->l[0], t[0]);
    limb_store(&o->l[1], t[1]);
    limb_store(&o->l[2], t[2]);
    limb_store(&o->l[3], t[3]);
    limb_store(&o->l[4], t[4]);
    limb_store(&o->l[5], t[5]);
}
#endif
