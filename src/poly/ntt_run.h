/* Private: a transform cut into passes that work inside the L2 cache, and tables of powers. */
#ifndef POLY_NTT_RUN_H
#define POLY_NTT_RUN_H
#include <stdatomic.h>
#include "poly/ntt_int.h"

/* The last lg_block levels of the tree work on contiguous blocks of 2^lg_block elements. The levels
 * above are n_cols column passes, outermost first; pass i does lg_q[i] levels of nodes of
 * 2^lg_len[i] elements, in tiles of some columns gathered from all 2^lg_q[i] rows of a node. */
#define NTT_COLS_MAX 4u
typedef struct ntt_run {
    const ntt_plan *plan;
    const ntt_kernels *k;
    const run_ctx *rc;
    uint32_t lg_n, lg_block, lg_tile, n_cols;
    uint32_t lg_q[NTT_COLS_MAX], lg_len[NTT_COLS_MAX];
    unsigned n_threads;
    fr *tiles; /* NTT_TILES tiles of 2^lg_tile elements per thread */
    /* Set by the caller's thread when it sees cancel, read by all at chunk borders; relaxed, it
     * carries no data. */
    atomic_bool stop;
} ntt_run;
#define NTT_TILES 3u

/* Errors: CUZK_E_RANGE (lg_n above the plan's), CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status ntt_run_init(ntt_run *r, const ntt_plan *p, uint32_t lg_n,
                                         const run_ctx *rc);
void ntt_run_fini(ntt_run *r);

/* Powers g^e(i) for i < 2^lg_n, e(i) = i or its bit reversal, as hi[i >> lg_lo] * lo[i & mask]. */
typedef struct power_table {
    uint32_t lg_n, lg_lo;
    fr *lo, *hi;
    ntt_twiddle *lo_fixed; /* lo again, when reversed: what a block pass multiplies by */
} power_table;
CUZK_MUST_CHECK cuzk_status power_table_init(power_table *t, uint32_t lg_n, const fr *g,
                                             bool reversed);
void power_table_fini(power_table *t);

/* Multiples e step for e < 2^lg_n in bit-reversed order, as (those of the high bits, made when needed)
 * + lo[low bits]. */
typedef struct ramp_table {
    uint32_t lg_n, lg_lo;
    fr step;
    fr *lo;
} ramp_table;
/* Errors: CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status ramp_table_init(ramp_table *t, uint32_t lg_n, const fr *step);
void ramp_table_fini(ramp_table *t);

/* Column passes, all of them. Lazy out, unless reduced. Errors of all passes: CUZK_E_CANCELLED. */
CUZK_MUST_CHECK cuzk_status ntt_cols_down(ntt_run *r, fr *a, bool inverse);
/* The inverse ones, from a into o. */
CUZK_MUST_CHECK cuzk_status ntt_cols_down_to(ntt_run *r, fr *o, const fr *a);
CUZK_MUST_CHECK cuzk_status ntt_cols_up(ntt_run *r, fr *a);
/* c <- a o b, then the inverse column passes of a, b and c. */
CUZK_MUST_CHECK cuzk_status ntt_cols_open(ntt_run *r, fr *a, fr *b, fr *c);
/* Column passes up of a and b, a <- a o b, inverse column passes of a; b is destroyed. */
CUZK_MUST_CHECK cuzk_status ntt_cols_product(ntt_run *r, fr *a, fr *b);
/* Column passes up of a, then a <- a o b. */
CUZK_MUST_CHECK cuzk_status ntt_cols_multiply(ntt_run *r, fr *a, const fr *b);
/* Column passes up of a, which is destroyed, then o += a o b. */
CUZK_MUST_CHECK cuzk_status ntt_cols_muladd(ntt_run *r, fr *o, fr *a, const fr *b);

/* What the block pass does to each block, in this order. */
typedef struct block_op {
    bool down, inverse;
    const fr *factor;          /* then times factor (NULL: no scaling) ... */
    const power_table *powers; /* ... times the bit-reversed powers (NULL: ones) */
    const ramp_table *ramp;    /* times the bit-reversed multiples (NULL: ones) */
    fr *minus; /* then minus the inverse transform of minus (destroyed) times minus_factor */
    const fr *minus_factor;
    bool up;
} block_op;
/* Reduced out, unless op->up and there are column passes to follow. */
CUZK_MUST_CHECK cuzk_status ntt_blocks(ntt_run *r, fr *a, const block_op *op);
CUZK_MUST_CHECK cuzk_status ntt_bit_reverse(ntt_run *r, fr *a);
#endif
