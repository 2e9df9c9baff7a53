/* Private layout of r1cs_shape. */
#ifndef R1CS_SHAPE_INT_H
#define R1CS_SHAPE_INT_H
#include "r1cs/cs.h"
#include "r1cs/layout.h"

#define R1CS_LOOSE UINT32_MAX
#define R1CS_NS_ROOT 0u

/* Growing array; cap in elements. */
typedef struct vec {
    void *p;
    size_t n, cap;
} vec;

/* Rows in CSR form: row k's side s is terms[off[3k + s] .. off[3k + s + 1]). */
typedef struct row_store {
    vec off;   /* uint64_t, 3 * rows + 1 */
    vec terms; /* r1cs_term */
} row_store;

/* Namespace tree node; names are interned in `ns_text`. */
typedef struct ns_node {
    uint32_t parent;
    uint32_t text_off;
} ns_node;
/* Rows from `row` on lie in namespace `node`. */
typedef struct ns_mark {
    uint64_t row;
    uint32_t node;
} ns_mark;

/* Local columns: 0 = ONE, 1..n_wires = wires, then own aux. Terms hold local columns in .var. */
typedef struct r1cs_template {
    uint8_t *key;
    size_t key_len;
    uint64_t key_hash;
    uint32_t n_wires, n_aux, n_rows, n_outs, n_dense, n_runs;
    row_store rows;
    uint32_t *outs;       /* own-aux offsets */
    uint32_t *dense;      /* own-aux offsets of field type, ascending */
    r1cs_run *runs;       /* NULL when some aux has no tag */
    uint8_t *in_a, *in_b; /* per local column: has a nonzero A (B) coefficient */
    uint64_t nnz[3];
    /* rows relative to the template; nodes in the shape's tree, paths relative to ns_base */
    ns_mark *marks;
    uint32_t n_marks, ns_base;
} r1cs_template;

typedef struct r1cs_segment {
    uint64_t row_base, n_rows;
    uint32_t tmpl; /* index, or R1CS_LOOSE */
    uint32_t aux_base;
    uint64_t wires_off; /* into wires; for loose: first loose row */
} r1cs_segment;

struct r1cs_shape {
    char *name;
    r1cs_counts counts;
    vec coeffs;    /* fr */
    vec templates; /* r1cs_template */
    vec segments;  /* r1cs_segment */
    vec wires;     /* r1cs_var */
    row_store loose;
    vec dense_map, a_map, b_map; /* uint64_t */
    vec dense_rank;              /* uint32_t */
    vec b_input;                 /* uint8_t per input */
    vec ns_nodes, ns_text, marks;
};

bool vec_reserve(vec *v, size_t extra, size_t elem_bytes);
void vec_fini(vec *v);
void row_store_fini(row_store *r);
static inline size_t row_store_rows(const row_store *r)
{
    return r->off.n ? (r->off.n - 1) / 3 : 0;
}
/* Index of the segment that holds a row. */
size_t shape_find_segment(const r1cs_shape *s, uint64_t row_idx);
uint64_t shape_key_hash(const void *key, size_t len);
const r1cs_template *shape_find_template(const r1cs_shape *s, const void *key, size_t len);
static inline r1cs_var shape_local_to_global(const r1cs_template *t, const r1cs_segment *seg,
                                             const r1cs_var *wires, uint32_t local)
{
    if (local == 0)
        return R1CS_ONE;
    return local <= t->n_wires ? wires[local - 1] : seg->aux_base + (local - 1 - t->n_wires);
}
static inline int shape_var_less(r1cs_var a, r1cs_var b)
{
    /* Inputs (high bit) come before aux. */
    return (a ^ R1CS_INPUT) < (b ^ R1CS_INPUT);
}
#endif
