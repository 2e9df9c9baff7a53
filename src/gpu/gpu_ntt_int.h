/* Private to src/gpu: transforms with operations merged into their first and last passes. */
#ifndef GPU_NTT_INT_H
#define GPU_NTT_INT_H
#include <stdbool.h>
#include "gpu/gpu_common.h"
#include "gpu/gpu_fr.cuh"
#include "gpu/gpu_ntt.h"

#if defined(__CUDACC__)
/* Sizes up to this run in one block. */
#define GPU_NTT_LG_SMALL_MAX 11u

typedef struct gpu_ntt_pass {
    gpu_fr *a;              /* where data are read and written, except as below */
    const gpu_fr *in, *mul; /* first inverse pass: in o mul, mul may be NULL */
    const gpu_fr *add;      /* last inverse pass, with scale: NULL or an addend below r */
    const gpu_fr_fixed *tw; /* tw[-1] is -1, tw[0] is 1 */
    uint32_t lg_n, level, skip, coset;
    bool lazy;             /* last forward pass: do not reduce */
    bool theta;            /* last inverse pass on the domain, without scale */
    gpu_fr_fixed scale[8]; /* of rows j << 6 of the last inverse pass */
} gpu_ntt_pass;

/* What an inverse transform does at its ends. */
typedef struct gpu_ntt_ends {
    const void *d_in;          /* read instead of d_a, left as it is; NULL: d_a */
    const void *d_mul;         /* NULL or multiplied in first (Montgomery products); may be lazy */
    const gpu_fr_fixed *scale; /* NULL: no factor, output not reduced (below 2r or so) */
    const void *d_add;         /* NULL or added last; needs a scale; output is reduced */
    bool theta;                /* coefficient i times i / 2^32, reduced; on the domain, no scale */
} gpu_ntt_ends;

/* Which forward transform: on the domain (coset 0) or on the coset of a root of unity of order
 * 2^(lg_n + 1) (coset 1; the table must serve that size); lazy: outputs below GPU_FR_LAZY_TOP 2^224,
 * not reduced. */
typedef struct gpu_ntt_kind {
    uint32_t coset;
    bool lazy;
} gpu_ntt_kind;

/* Forward from natural order to reversed places. In: lazy values on the coset, reduced ones on the
 * domain. */
cuzk_status gpu_ntt_down(const gpu_ntt_table *t, void *d_a, uint32_t lg_n, gpu_ntt_kind kind,
                         cudaStream_t stream);
/* The inverse without 1/n. */
cuzk_status gpu_ntt_up(const gpu_ntt_table *t, void *d_a, uint32_t lg_n, uint32_t coset,
                       const gpu_ntt_ends *ends, cudaStream_t stream);

/* For gpu_ntt_{down,up,small}.cu: first levels of the passes of a size, nine levels, then the rest in
 * equal parts; the last entry is lg_n. Returns the number of passes. */
uint32_t gpu_ntt_plan(uint32_t lg_n, uint32_t first[5]);
/* The pass of levels [first[0], first[1]). */
gpu_ntt_pass gpu_ntt_pass_get(const gpu_ntt_table *t, void *d_a, uint32_t lg_n, uint32_t coset,
                              const uint32_t *first);
cuzk_status gpu_ntt_allow_tile(const void *kernel, size_t bytes);
/* scale: p->scale and p->add serve. Output is reduced in any case. */
cuzk_status gpu_ntt_small(const gpu_ntt_pass *p, bool inverse, bool scale, cudaStream_t stream);
cuzk_status gpu_ntt_check(const gpu_ntt_table *t, uint32_t lg_n, uint32_t coset);
#endif
#endif
