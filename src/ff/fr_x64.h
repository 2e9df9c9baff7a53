/* Fr addition and subtraction with add/adc and cmov, which every x86-64 has (compilers of today
 * lose the carry chain of the portable form). Included through fr_inline.h only. */
#ifndef FF_FR_X64_H
#define FF_FR_X64_H
#include "ff/fr_portable.h"

static const uint64_t frx_r[4] = {FRP_R0, FRP_R1, FRP_R2, FRP_R3};
#define FRX_R_MEM [m] "m"(*(const uint64_t(*)[4])frx_r)

/* o = t or t - r, whichever is in [0, r); t < 2r. */
static inline void frx_reduce_once(fr *o, uint64_t t0, uint64_t t1, uint64_t t2, uint64_t t3)
{
    uint64_t s0 = t0, s1 = t1, s2 = t2, s3 = t3;
    __asm__("subq 0+%[m], %[t0]\n\t"
            "sbbq 8+%[m], %[t1]\n\t"
            "sbbq 16+%[m], %[t2]\n\t"
            "sbbq 24+%[m], %[t3]\n\t"
            "cmovcq %[s0], %[t0]\n\t"
            "cmovcq %[s1], %[t1]\n\t"
            "cmovcq %[s2], %[t2]\n\t"
            "cmovcq %[s3], %[t3]"
            : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3)
            : [s0] "r"(s0), [s1] "r"(s1), [s2] "r"(s2), [s3] "r"(s3), FRX_R_MEM
            : "cc");
    limb_store(&o->l[0], t0);
    limb_store(&o->l[1], t1);
    limb_store(&o->l[2], t2);
    limb_store(&o->l[3], t3);
}

static inline void frx_add(fr *o, const fr *a, const fr *b)
{
    uint64_t t0 = limb_load(&a->l[0]), t1 = limb_load(&a->l[1]);
    uint64_t t2 = limb_load(&a->l[2]), t3 = limb_load(&a->l[3]);
    __asm__("addq %[b0], %[t0]\n\t"
            "adcq %[b1], %[t1]\n\t"
            "adcq %[b2], %[t2]\n\t"
            "adcq %[b3], %[t3]"
            : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3)
            : [b0] "rm"(b->l[0]), [b1] "rm"(b->l[1]), [b2] "rm"(b->l[2]), [b3] "rm"(b->l[3])
            : "cc");
    frx_reduce_once(o, t0, t1, t2, t3);
}

static inline void frx_sub(fr *o, const fr *a, const fr *b)
{
    uint64_t t0 = limb_load(&a->l[0]), t1 = limb_load(&a->l[1]);
    uint64_t t2 = limb_load(&a->l[2]), t3 = limb_load(&a->l[3]), mask;
    __asm__("subq %[b0], %[t0]\n\t"
            "sbbq %[b1], %[t1]\n\t"
            "sbbq %[b2], %[t2]\n\t"
            "sbbq %[b3], %[t3]\n\t"
            "sbbq %[mask], %[mask]"
            : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [mask] "=&r"(mask)
            : [b0] "rm"(b->l[0]), [b1] "rm"(b->l[1]), [b2] "rm"(b->l[2]), [b3] "rm"(b->l[3])
            : "cc");
    __asm__("addq %[m0], %[t0]\n\t"
            "adcq %[m1], %[t1]\n\t"
            "adcq %[m2], %[t2]\n\t"
            "adcq %[m3], %[t3]"
            : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3)
            : [m0] "r"(mask & FRP_R0), [m1] "r"(mask & FRP_R1), [m2] "r"(mask & FRP_R2),
              [m3] "r"(mask & FRP_R3)
            : "cc");
    limb_store(&o->l[0], t0);
    limb_store(&o->l[1], t1);
    limb_store(&o->l[2], t2);
    limb_store(&o->l[3], t3);
}
#endif
