/* How a shape is stored, read-only: for provers that lay it out anew (a device image) instead of
 * visiting rows. All pointers live as long as the shape. */
#ifndef R1CS_LAYOUT_H
#define R1CS_LAYOUT_H
#include "r1cs/shape.h"

/* Rows in CSR form: row k's side s (A, B, C) is terms[off[3k + s] .. off[3k + s + 1]). */
typedef struct r1cs_rows {
    const uint64_t *off;
    const r1cs_term *terms;
    uint64_t n_rows;
} r1cs_rows;

/* Columns of a template's terms: 0 is ONE, 1 to n_wires its wires, then its own aux variables.
 * dense: those of field type among the latter, ascending. */
typedef struct r1cs_template_view {
    uint32_t n_wires, n_aux, n_dense;
    const uint32_t *dense;
    r1cs_rows rows;
} r1cs_template_view;

#define R1CS_SEGMENT_LOOSE UINT32_MAX
/* Rows [row_base, row_base + n_rows): all rows of template `tmpl`, its own aux from aux_base on and
 * its wires from r1cs_shape_wires()[first] on; or, with tmpl R1CS_SEGMENT_LOOSE, loose rows from
 * row `first` on, whose terms hold global variables. */
typedef struct r1cs_segment_view {
    uint64_t row_base, n_rows, first;
    uint32_t tmpl, aux_base;
} r1cs_segment_view;

size_t r1cs_shape_n_templates(const r1cs_shape *s);
r1cs_template_view r1cs_shape_template(const r1cs_shape *s, size_t i);
/* Segments follow each other without gaps, from row 0 on. */
size_t r1cs_shape_n_segments(const r1cs_shape *s);
r1cs_segment_view r1cs_shape_segment(const r1cs_shape *s, size_t i);
r1cs_rows r1cs_shape_loose(const r1cs_shape *s);
const r1cs_var *r1cs_shape_wires(const r1cs_shape *s, size_t *n);

/* Coefficients 1 and -1 are the first of every dictionary. */
#define R1CS_COEFF_ONE 0u
#define R1CS_COEFF_MINUS 1u
/* Is row r (1 - x) x, with x alone in B: the row that makes a bit of x? one: what stands for ONE in
 * the terms, 0 in a template, R1CS_ONE in loose rows. */
bool r1cs_row_is_boolean(const r1cs_rows *rows, uint64_t r, r1cs_var one);
/* Bit k of word k/64: is row k one; ceil(n_rows/64) words. Cost: a pass over the templates, and a bit
 * copied for each row. */
void r1cs_shape_boolean_rows(uint64_t *bits, const r1cs_shape *s);
#endif
