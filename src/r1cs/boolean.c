/* Rows that make bits of variables. In half of them the variable is 0, which a key in evaluation form
 * makes use of (groth16/evkey.h). */
#include "r1cs/layout.h"
#include <string.h>

bool r1cs_row_is_boolean(const r1cs_rows *rows, uint64_t r, r1cs_var one)
{
    const uint64_t *off = rows->off + 3 * r;
    const r1cs_term *a = rows->terms + off[0], *b = rows->terms + off[1];
    if (off[1] - off[0] != 2 || off[2] - off[1] != 1)
        return false;
    if (b->coeff != R1CS_COEFF_ONE || b->var == one)
        return false;
    const r1cs_term *x = a[0].var == one ? &a[1] : &a[0], *i = a[0].var == one ? &a[0] : &a[1];
    return i->var == one && i->coeff == R1CS_COEFF_ONE && x->var == b->var &&
           x->coeff == R1CS_COEFF_MINUS;
}

void r1cs_shape_boolean_rows(uint64_t *bits, const r1cs_shape *s)
{
    r1cs_rows loose = r1cs_shape_loose(s);
    memset(bits, 0, (r1cs_shape_counts(s)->n_rows + 63) / 64 * sizeof *bits);
    for (size_t i = 0; i < r1cs_shape_n_segments(s); i++) {
        r1cs_segment_view g = r1cs_shape_segment(s, i);
        bool is_loose = g.tmpl == R1CS_SEGMENT_LOOSE;
        r1cs_rows rows = is_loose ? loose : r1cs_shape_template(s, g.tmpl).rows;
        uint64_t first = is_loose ? g.first : 0;
        for (uint64_t r = 0; r < g.n_rows; r++)
            if (r1cs_row_is_boolean(&rows, first + r, is_loose ? R1CS_ONE : 0))
                bits[(g.row_base + r) / 64] |= (uint64_t)1 << ((g.row_base + r) % 64);
    }
}
