/* Inlined Fr arithmetic for hot kernels, with the meaning of the fr_* functions of fr.h.
 *
 * A kernel is a template header included by two small files: x_portable.c as it is, and x_adx.c,
 * which defines CUZK_ISA_ADX before any include. Each exports a table of functions; ff_use_adx()
 * (fr.h) says which to take. The ADX forms are inline assembly, so no compiler flag is needed; they
 * must not run where ff_use_adx() is false. A third form (AVX-512 IFMA, eight elements at a time)
 * would add
 * CUZK_ISA_IFMA here, a table ff_kernels_ifma in ff_kernels.h and a probe in ff_isa.c. */
#ifndef FF_FR_INLINE_H
#define FF_FR_INLINE_H
#include <assert.h>
#include "ff/fr_portable.h"
#if defined(__x86_64__)
#include "ff/fr_x64.h"
#endif
#if defined(CUZK_ISA_ADX) && defined(__x86_64__)
#include "ff/fr_adx.h"
#endif

static_assert(FRP_R3 < 0x7fffffffffffffffu,
              "no-carry Montgomery needs a spare bit and not all ones");

static inline void fri_add(fr *o, const fr *a, const fr *b)
{
#if defined(__x86_64__)
    frx_add(o, a, b);
#else
    frp_add(o, a, b);
#endif
}

static inline void fri_sub(fr *o, const fr *a, const fr *b)
{
#if defined(__x86_64__)
    frx_sub(o, a, b);
#else
    frp_sub(o, a, b);
#endif
}

static inline void fri_dbl(fr *o, const fr *a) { fri_add(o, a, a); }

static inline void fri_neg(fr *o, const fr *a) { frp_neg(o, a); }

static inline void fri_mul(fr *o, const fr *a, const fr *b)
{
#if defined(CUZK_ISA_ADX) && defined(__x86_64__)
    frx_mul(o, a, b);
#else
    frp_mul(o, a, b);
#endif
}

static inline void fri_sqr(fr *o, const fr *a) { fri_mul(o, a, a); }

static inline bool fri_is_zero(const fr *a) { return (a->l[0] | a->l[1] | a->l[2] | a->l[3]) == 0; }

static inline bool fri_eq(const fr *a, const fr *b)
{
    return ((a->l[0] ^ b->l[0]) | (a->l[1] ^ b->l[1]) | (a->l[2] ^ b->l[2]) |
            (a->l[3] ^ b->l[3])) == 0;
}
#endif
