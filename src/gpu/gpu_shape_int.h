/* The image of a constraint system that gpu_shape uploads, and how its rows and terms are walked.
 * Private to src/gpu: row evaluation and the key set-up share it. Compiles for host and device.
 *
 * All rows of all templates, and behind them the loose rows, form one row table in CSR form; a
 * segment places a stretch of it at a row of the system. What a term names depends on the segment:
 * gpu_shape_at gives where its value lies, gpu_shape_var its variable. */
#ifndef GPU_SHAPE_INT_H
#define GPU_SHAPE_INT_H
#include <assert.h>
#include <stdint.h>
#include "gpu/gpu_common.h"
#include "gpu/gpu_fr.cuh"
#include "gpu/gpu_shape.h"

/* A reference: kind in the two high bits, a number below 2^30. */
#define GPU_REF_BIT 0u   /* bit: own aux variable (term), aux variable (wire) */
#define GPU_REF_DENSE 1u /* field element: own dense variable (term), of the witness (wire) */
#define GPU_REF_INPUT 2u /* input; 0 is ONE */
#define GPU_REF_WIRE 3u  /* terms only: wire of the instance */
#define GPU_REF_MAX (1u << 30)
CUZK_HD uint32_t gpu_ref(uint32_t kind, uint32_t n) { return kind << 30 | n; }
CUZK_HD uint32_t gpu_ref_kind(uint32_t ref) { return ref >> 30; }
CUZK_HD uint32_t gpu_ref_n(uint32_t ref) { return ref & (GPU_REF_MAX - 1); }

typedef struct gpu_shape_term {
    uint32_t ref, coeff; /* coeff: into `coeffs`; 0 is 1 and 1 is -1 */
} gpu_shape_term;

/* Rows [row_base, row_base + n_rows) are rows from `row_first` on of the row table; kinds BIT,
 * DENSE, WIRE count from aux_base, dense_base, wires_first. dense_first: see gpu_shape_var. */
typedef struct gpu_shape_segment {
    uint32_t row_base, n_rows, row_first, aux_base, dense_base, wires_first, dense_first, unused;
} gpu_shape_segment;
static_assert(sizeof(gpu_shape_segment) == 32, "read as two 16-byte words");

/* Segments of rows [k << GPU_SHAPE_LG_STEP, ..) begin with segment step[k]. */
#define GPU_SHAPE_LG_STEP 8u

/* Start of the image; offsets in bytes from its start, multiples of 256. */
typedef struct gpu_shape_head {
    uint64_t bytes;
    uint64_t segments_at, steps_at, row_off_at, terms_at, wires_at, wire_vars_at, dense_aux_at,
        coeffs_at, small_at, ints_at, plain_at, others_at;
    uint32_t n_rows, n_inputs, n_aux, n_dense;
    uint32_t n_segments, n_steps, n_table_rows, n_terms, n_wires, n_dense_aux, n_coeffs, n_others;
} gpu_shape_head;

/* The image's parts at an address. */
typedef struct gpu_shape_view {
    const gpu_shape_segment *segments; /* n_segments, by row */
    const uint32_t *steps;             /* n_steps + 1; the last is n_segments - 1 */
    const uint32_t *row_off;           /* 3 n_table_rows + 1: A, B, C of row k from 3k on */
    const gpu_shape_term *terms;
    const uint32_t *wires;     /* refs of wires, no kind WIRE */
    const uint32_t *wire_vars; /* the same as r1cs_var */
    const uint32_t
        *dense_aux;       /* own aux number of own dense variable d: dense_aux[dense_first+d] */
    const gpu_fr *coeffs; /* Montgomery form */
    const int64_t *small; /* per coefficient: its value, or GPU_SHAPE_LARGE */
    const gpu_fr *ints;   /* integers from -GPU_SHAPE_INTS to GPU_SHAPE_INTS, Montgomery form */
    /* Bit k: in rows [32k, 32k + 32) A and B have no terms but bits and ONE with small coefficients,
     * and there is no input row. n_chunks bits. */
    const uint32_t *plain;
    const uint32_t
        *others; /* the n_others numbers k without that bit, in the order of evaluation */
    uint32_t n_chunks, n_others;
    uint32_t n_rows, n_inputs, n_aux, n_dense, n_segments, n_coeffs;
} gpu_shape_view;

#define GPU_SHAPE_LG_CHUNK 5u
/* Groups of 32 rows, the input rows included. */
CUZK_HD uint32_t gpu_shape_chunks(uint32_t n_rows, uint32_t n_inputs)
{
    return (n_rows + n_inputs + (1u << GPU_SHAPE_LG_CHUNK) - 1) >> GPU_SHAPE_LG_CHUNK;
}

/* Row evaluation takes blocks of eight chunks. Those of a block differ in the leading bits of the row
 * number, so that in bit-reversed places eight rows lie next to each other. The bits between come
 * from the block's number, its lowest GPU_SHAPE_LG_RUN ones reversed and in front: 32 blocks write
 * runs of 8 KiB while each reads on where the one 32 before it ended. Domains smaller than a block
 * take one block. */
#define GPU_SHAPE_LG_HIGH 3u
#define GPU_SHAPE_LG_BLOCK (GPU_SHAPE_LG_HIGH + GPU_SHAPE_LG_CHUNK)
#define GPU_SHAPE_LG_RUN 5u
CUZK_HD uint32_t gpu_shape_reverse(uint32_t x, uint32_t lg)
{
#if GPU_DEVICE_CODE
    return lg ? __brev(x << (32 - lg)) : 0;
#else
    uint32_t o = 0;
    for (uint32_t i = 0; i < lg; i++)
        o |= (x >> i & 1) << (lg - 1 - i);
    return o;
#endif
}

/* Chunk `high` (below 8) of a block. */
CUZK_HD uint32_t gpu_shape_chunk_of(uint32_t lg_m, uint32_t block, uint32_t high)
{
    if (lg_m < GPU_SHAPE_LG_BLOCK)
        return high;
    uint32_t lg_blocks = lg_m - GPU_SHAPE_LG_BLOCK;
    uint32_t lg_run = lg_blocks < GPU_SHAPE_LG_RUN ? lg_blocks : GPU_SHAPE_LG_RUN;
    uint32_t front = gpu_shape_reverse(block, lg_run);
    return high << lg_blocks | front << (lg_blocks - lg_run) | block >> lg_run;
}

/* Coefficients of up to GPU_SHAPE_SMALL_MAX in absolute value are summed as integers: rows have at
 * most GPU_SHAPE_TERMS_MAX terms on a side, so sums stay below 2^63. */
#define GPU_SHAPE_SMALL_MAX ((int64_t)1 << 46)
#define GPU_SHAPE_TERMS_MAX (1u << 16)
#define GPU_SHAPE_LARGE INT64_MIN
/* Values of most rows lie between -1 and 2. */
#define GPU_SHAPE_INTS 64

CUZK_HD gpu_shape_view gpu_shape_view_at(const gpu_shape_head *h, const void *base)
{
    const char *p = (const char *)base;
    gpu_shape_view v;
    v.segments = (const gpu_shape_segment *)(p + h->segments_at);
    v.steps = (const uint32_t *)(p + h->steps_at);
    v.row_off = (const uint32_t *)(p + h->row_off_at);
    v.terms = (const gpu_shape_term *)(p + h->terms_at);
    v.wires = (const uint32_t *)(p + h->wires_at);
    v.wire_vars = (const uint32_t *)(p + h->wire_vars_at);
    v.dense_aux = (const uint32_t *)(p + h->dense_aux_at);
    v.coeffs = (const gpu_fr *)(p + h->coeffs_at);
    v.small = (const int64_t *)(p + h->small_at);
    v.ints = (const gpu_fr *)(p + h->ints_at);
    v.plain = (const uint32_t *)(p + h->plain_at);
    v.others = (const uint32_t *)(p + h->others_at);
    v.n_chunks = gpu_shape_chunks(h->n_rows, h->n_inputs);
    v.n_others = h->n_others;
    v.n_rows = h->n_rows;
    v.n_inputs = h->n_inputs;
    v.n_aux = h->n_aux;
    v.n_dense = h->n_dense;
    v.n_segments = h->n_segments;
    v.n_coeffs = h->n_coeffs;
    return v;
}

/* The segment of a row below n_rows. */
CUZK_HD uint32_t gpu_shape_segment_of(const gpu_shape_view *v, uint32_t row)
{
    uint32_t k = row >> GPU_SHAPE_LG_STEP, lo = v->steps[k], hi = v->steps[k + 1] + 1;
    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;
        if (v->segments[mid].row_base <= row)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Terms [*from, *to) of side 0 (A), 1 (B) or 2 (C) of a row in segment g. */
CUZK_HD void gpu_shape_terms_of(const gpu_shape_view *v, const gpu_shape_segment *g, uint32_t row,
                                uint32_t side, uint32_t *from, uint32_t *to)
{
    uint32_t k = 3 * (g->row_first + (row - g->row_base)) + side;
    *from = v->row_off[k];
    *to = v->row_off[k + 1];
}

/* Where the value of a term of segment g lies: kind BIT (bit of the witness's bitmap), DENSE (its
 * dense values) or INPUT. */
CUZK_HD uint32_t gpu_shape_at(const gpu_shape_view *v, const gpu_shape_segment *g, uint32_t ref)
{
    uint32_t n = gpu_ref_n(ref);
    switch (gpu_ref_kind(ref)) {
    case GPU_REF_BIT:
        return gpu_ref(GPU_REF_BIT, g->aux_base + n);
    case GPU_REF_DENSE:
        return gpu_ref(GPU_REF_DENSE, g->dense_base + n);
    case GPU_REF_WIRE:
        return v->wires[g->wires_first + n];
    default:
        return ref;
    }
}

/* The variable of a term of segment g. */
CUZK_HD r1cs_var gpu_shape_var(const gpu_shape_view *v, const gpu_shape_segment *g, uint32_t ref)
{
    uint32_t n = gpu_ref_n(ref);
    switch (gpu_ref_kind(ref)) {
    case GPU_REF_BIT:
        return g->aux_base + n;
    case GPU_REF_DENSE:
        return g->aux_base + v->dense_aux[g->dense_first + n];
    case GPU_REF_WIRE:
        return v->wire_vars[g->wires_first + n];
    default:
        return R1CS_INPUT | n;
    }
}

#ifdef __cplusplus
extern "C" {
#endif
/* The image in host memory. */
gpu_shape_view gpu_shape_host_view(const gpu_shape *g);
/* The image in device memory; all pointers NULL before gpu_shape_bind. */
gpu_shape_view gpu_shape_device_view(const gpu_shape *g);
#ifdef __cplusplus
}
#endif
#endif
