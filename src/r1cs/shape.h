/* The fixed constraint system of a circuit: coefficient dictionary, templates, instances, loose
 * rows.
 * A template is a sub-circuit recorded once (local columns: ONE, external wires, own aux); an
 * instance places it at a row and an aux base with the global ids of its wires. 99 % of a PoRep is
 * about twenty templates, so a 130-million-row shape takes megabytes. */
#ifndef R1CS_SHAPE_H
#define R1CS_SHAPE_H
#include "base/run_ctx.h"
#include "ff/fr.h"

/* A variable: Aux(j) is j; Input(i) is R1CS_INPUT | i. Input(0) is ONE. */
typedef uint32_t r1cs_var;
#define R1CS_INPUT 0x80000000u
#define R1CS_ONE R1CS_INPUT

typedef struct r1cs_shape r1cs_shape; /* immutable once built (r1cs/cs.h builds it): share freely */

typedef struct r1cs_counts {
    uint64_t n_inputs, n_aux, n_rows; /* ONE counted; appended input rows not */
    uint64_t nnz_a, nnz_b, nnz_c;     /* nonzero terms, input rows not counted */
    /* densities as the prover sees them (input rows appended) */
    uint64_t a_aux, b_inputs, b_aux;
    uint64_t n_dense;     /* aux variables of field type; the others are bits */
    uint32_t lg_m;        /* domain: smallest 2^lg_m >= n_rows + n_inputs */
    uint64_t shape_bytes; /* memory held by the shape */
} r1cs_counts;

const r1cs_counts *r1cs_shape_counts(const r1cs_shape *s);
const char *r1cs_shape_name(const r1cs_shape *s);
void r1cs_shape_destroy(r1cs_shape *s);

/* Bitmaps of n_aux bits (bit j of word j/64): aux variables with a nonzero A (B) coefficient; aux
 * variables of field type. */
const uint64_t *r1cs_shape_a_density(const r1cs_shape *s);
const uint64_t *r1cs_shape_b_density(const r1cs_shape *s);
const uint64_t *r1cs_shape_dense_map(const r1cs_shape *s);
/* Number of dense aux before word k, k in [0, n_words]. */
const uint32_t *r1cs_shape_dense_rank(const r1cs_shape *s);
/* Input(i) has a nonzero B coefficient */
bool r1cs_shape_b_input(const r1cs_shape *s, uint32_t input_idx);

/* coeff indexes r1cs_shape_coeffs */
typedef struct r1cs_term {
    r1cs_var var;
    uint32_t coeff;
} r1cs_term;
const fr *r1cs_shape_coeffs(const r1cs_shape *s, size_t *n);
typedef struct r1cs_row {
    const r1cs_term *t[3];
    uint32_t n[3];
} r1cs_row; /* A, B, C */
/* Visit rows [lo, hi) in order (input rows are not stored; the caller appends Input(i)*0 = 0).
 * Terms are merged, nonzero, sorted: inputs ascending, then aux ascending when `sorted`, else in
 * any order and possibly with one variable twice (cheaper; same linear combination).
 * The row's arrays live until visit returns. */
typedef void r1cs_visit_fn(void *ctx, uint64_t row_idx, const r1cs_row *row);
CUZK_MUST_CHECK cuzk_status r1cs_shape_visit(const r1cs_shape *s, uint64_t lo, uint64_t hi,
                                             bool sorted, r1cs_visit_fn *visit, void *ctx);
/* Namespace path of a row into buf. */
void r1cs_shape_row_path(const r1cs_shape *s, uint64_t row_idx, char *buf, size_t buf_len);
#endif
