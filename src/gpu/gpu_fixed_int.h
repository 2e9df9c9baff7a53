/* Digits of the scalars of gpu_fixed.h; compiles for host and device. */
#ifndef GPU_FIXED_INT_H
#define GPU_FIXED_INT_H
#include "gpu/gpu_fr.cuh"
#include "gpu/gpu_msm.h"

/* Digits of a scalar: field w of lg_digit bits, less 2^(lg_digit - 1) in all windows but the last. */
typedef struct gpu_fixed_digits {
    uint32_t fields[GPU_FR_WORDS];
    uint32_t neg; /* all ones: they are the negative scalar's */
} gpu_fixed_digits;

CUZK_HD uint32_t gpu_fixed_windows(uint32_t lg_digit) { return (255 + lg_digit - 1) / lg_digit; }

/* The bits of half a digit in every window but the last. */
CUZK_HD void gpu_fixed_halves(uint32_t o[GPU_FR_WORDS], uint32_t lg_digit)
{
    for (int i = 0; i < GPU_FR_WORDS; i++)
        o[i] = 0;
    for (uint32_t w = 1; w < gpu_fixed_windows(lg_digit); w++) {
        uint32_t bit = w * lg_digit - 1;
        o[bit / 32] |= 1u << (bit % 32);
    }
}

/* a: plain form, below r. The scalar or its negative lies below r/2 < 2^254, so the last window,
 * unsigned, holds at most 2^(lg_digit - 1) for every lg_digit of 2 to 32. */
CUZK_HD void gpu_fixed_recode(gpu_fixed_digits *o, const gpu_fr *a, const uint32_t *halves)
{
    uint32_t n[GPU_FR_WORDS];
    (void)gpu_words_sub(n, GPU_CONST(GPU_FR_R), a->l, GPU_FR_WORDS);
    o->neg = gpu_words_sub(o->fields, n, a->l, GPU_FR_WORDS); /* r - a < a */
    GPU_UNROLL
    for (int i = 0; i < GPU_FR_WORDS; i++)
        n[i] = o->neg ? n[i] : a->l[i];
    (void)gpu_words_add(o->fields, n, halves, GPU_FR_WORDS);
}

/* The next digit, lowest first; w: its window. */
CUZK_HD int32_t gpu_fixed_next(gpu_fixed_digits *d, uint32_t lg_digit, uint32_t w)
{
    uint32_t field = d->fields[0] & ((1u << lg_digit) - 1);
    GPU_UNROLL
    for (int k = 0; k < GPU_FR_WORDS; k++) {
        uint32_t above = k + 1 < GPU_FR_WORDS ? d->fields[k + 1] : 0;
        d->fields[k] = d->fields[k] >> lg_digit | above << (32 - lg_digit);
    }
    return (int32_t)field -
           (w + 1 < gpu_fixed_windows(lg_digit) ? (int32_t)(1u << (lg_digit - 1)) : 0);
}

#ifdef __cplusplus
extern "C" {
#endif
/* The first multiple of every window: g1_aff (g2_aff) records of 2^(w lg_digit) times the group's
 * generator. */
void gpu_fixed_window_bases(void *out, gpu_msm_group group, uint32_t lg_digit);
#ifdef __cplusplus
}
#endif
#endif
