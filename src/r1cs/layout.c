/* Read-only views of a shape's parts. */
#include "r1cs/layout.h"
#include "r1cs/shape_int.h"

static r1cs_rows rows_view(const row_store *r)
{
    return (r1cs_rows){r->off.p, r->terms.p, row_store_rows(r)};
}

size_t r1cs_shape_n_templates(const r1cs_shape *s) { return s->templates.n; }

r1cs_template_view r1cs_shape_template(const r1cs_shape *s, size_t i)
{
    const r1cs_template *t = &((const r1cs_template *)s->templates.p)[i];
    return (r1cs_template_view){t->n_wires, t->n_aux, t->n_dense, t->dense, rows_view(&t->rows)};
}

size_t r1cs_shape_n_segments(const r1cs_shape *s) { return s->segments.n; }

r1cs_segment_view r1cs_shape_segment(const r1cs_shape *s, size_t i)
{
    const r1cs_segment *g = &((const r1cs_segment *)s->segments.p)[i];
    return (r1cs_segment_view){g->row_base, g->n_rows, g->wires_off, g->tmpl, g->aux_base};
}

r1cs_rows r1cs_shape_loose(const r1cs_shape *s) { return rows_view(&s->loose); }

const r1cs_var *r1cs_shape_wires(const r1cs_shape *s, size_t *n)
{
    *n = s->wires.n;
    return s->wires.p;
}
