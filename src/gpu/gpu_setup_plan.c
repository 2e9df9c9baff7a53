/* The transposed shape: sizes and image. */
#include "base/mem.h"
#include "ff/fr.h"
#include "gpu/gpu_setup_int.h"
#include <string.h>

static uint32_t n_pieces_of(uint32_t len) { return (len + GPU_SETUP_PIECE - 1) / GPU_SETUP_PIECE; }

/* A column goes to the list when others may add to the same variable, or when it is long. */
static bool is_listed(const r1cs_template_view *t, uint32_t column, uint32_t len)
{
    return column <= t->n_wires ? len > 0 : len > GPU_SETUP_PIECE;
}

static size_t n_columns(const r1cs_template_view *t) { return (size_t)1 + t->n_wires + t->n_aux; }

/* first[c] = entries of one side in columns before c, c <= n_columns. */
static void count_columns(uint32_t *first, const r1cs_template_view *t, int side)
{
    size_t n = n_columns(t);
    memset(first, 0, (n + 1) * sizeof *first);
    for (uint64_t r = 0; r < t->rows.n_rows; r++)
        for (uint64_t k = t->rows.off[3 * r + side]; k < t->rows.off[3 * r + side + 1]; k++)
            first[t->rows.terms[k].var + 1]++;
    for (size_t c = 0; c < n; c++)
        first[c + 1] += first[c];
}

static size_t round_up(size_t n) { return (n + 255) / 256 * 256; }

static void place_parts(gpu_setup_image *im)
{
    struct {
        size_t *at, bytes;
    } parts[] = {
        {&im->at_coeffs, im->n_coeffs * sizeof(gpu_fr)},
        {&im->at_tmpls, im->n_tmpls * sizeof(gpu_setup_tmpl)},
        {&im->at_insts, (im->n_insts + 1) * sizeof(gpu_setup_inst)},
        {&im->at_wires, im->n_wires * sizeof(uint32_t)},
        {&im->at_cols, im->n_cols * sizeof(uint32_t)},
        {&im->at_entries, im->n_entries * sizeof(gpu_setup_entry)},
        {&im->at_pieces, im->n_pieces * sizeof(gpu_setup_piece)},
        {&im->at_loose[0], im->n_loose[0] * sizeof(gpu_setup_loose)},
        {&im->at_loose[1], im->n_loose[1] * sizeof(gpu_setup_loose)},
        {&im->at_loose[2], im->n_loose[2] * sizeof(gpu_setup_loose)},
    };
    im->bytes = 0;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        *parts[i].at = im->bytes;
        im->bytes += round_up(parts[i].bytes);
    }
}

/* Counts of the templates; pieces[3 i + side] of template i. */
static void measure_templates(gpu_setup_image *im, uint32_t *pieces, uint32_t *first,
                              const r1cs_shape *s)
{
    for (size_t i = 0; i < im->n_tmpls; i++) {
        r1cs_template_view t = r1cs_shape_template(s, i);
        for (int side = 0; side < 3; side++) {
            uint32_t n = 0;
            count_columns(first, &t, side);
            for (uint32_t c = 0; c < n_columns(&t); c++) {
                uint32_t len = first[c + 1] - first[c];
                n += is_listed(&t, c, len) ? n_pieces_of(len) : 0;
            }
            pieces[3 * i + side] = n;
            im->n_pieces += n;
            im->n_entries += first[n_columns(&t)];
            im->n_cols += (size_t)t.n_aux + 1;
        }
    }
}

static void measure_segments(gpu_setup_image *im, const uint32_t *pieces, const r1cs_shape *s)
{
    r1cs_rows loose = r1cs_shape_loose(s);
    for (size_t i = 0; i < r1cs_shape_n_segments(s); i++) {
        r1cs_segment_view g = r1cs_shape_segment(s, i);
        if (g.tmpl == R1CS_SEGMENT_LOOSE)
            continue;
        im->n_insts++;
        im->n_own += r1cs_shape_template(s, g.tmpl).n_aux;
        for (int side = 0; side < 3; side++)
            im->n_slots[side] += pieces[3 * g.tmpl + side];
    }
    for (uint64_t k = 0; k < 3 * loose.n_rows; k++)
        im->n_loose[k % 3] += loose.off[k + 1] - loose.off[k];
}

static size_t longest_template(const r1cs_shape *s)
{
    size_t max = 0;
    for (size_t i = 0; i < r1cs_shape_n_templates(s); i++) {
        r1cs_template_view t = r1cs_shape_template(s, i);
        max = n_columns(&t) > max ? n_columns(&t) : max;
    }
    return max;
}

static cuzk_status check_limits(const gpu_setup_image *im, const r1cs_shape *s)
{
    const r1cs_counts *c = r1cs_shape_counts(s);
    const size_t max = (size_t)1 << 31;
    bool fits = c->n_inputs + c->n_aux < max && c->n_rows + c->n_inputs < max &&
                im->n_wires < max && im->n_entries < max && im->n_pieces < max && im->n_cols < max;
    for (int side = 0; side < 3; side++)
        fits = fits && gpu_setup_n_list(im, side) < max;
    return fits ? cuzk_ok()
                : cuzk_fail(CUZK_E_UNSUPPORTED, "circuit %s is too long for a set-up on the device",
                            r1cs_shape_name(s));
}

static cuzk_status measure_with(gpu_setup_image *im, uint32_t *pieces, const r1cs_shape *s)
{
    memset(im, 0, sizeof *im);
    im->n_inputs = (uint32_t)r1cs_shape_counts(s)->n_inputs;
    im->n_tmpls = r1cs_shape_n_templates(s);
    (void)r1cs_shape_coeffs(s, &im->n_coeffs);
    (void)r1cs_shape_wires(s, &im->n_wires);
    uint32_t *first = mem_alloc((longest_template(s) + 1) * sizeof *first, 64);
    if (!first)
        return cuzk_fail(CUZK_E_NOMEM, "columns of the templates of %s", r1cs_shape_name(s));
    measure_templates(im, pieces, first, s);
    mem_free(first);
    measure_segments(im, pieces, s);
    place_parts(im);
    return check_limits(im, s);
}

/* One for each template and side. */
static uint32_t *new_piece_counts(const r1cs_shape *s)
{
    return mem_alloc((3 * r1cs_shape_n_templates(s) + 1) * sizeof(uint32_t), 64);
}

cuzk_status gpu_setup_measure(gpu_setup_image *im, const r1cs_shape *s)
{
    memset(im, 0, sizeof *im);
    uint32_t *pieces = new_piece_counts(s);
    if (!pieces)
        return cuzk_fail(CUZK_E_NOMEM, "templates of %s", r1cs_shape_name(s));
    cuzk_status st = measure_with(im, pieces, s);
    mem_free(pieces);
    return st;
}

/* Where the next parts go while the image is filled. */
typedef struct filler {
    gpu_setup_image *im;
    uint32_t *first; /* entries before each column; then where the next one goes */
    uint32_t *cols;
    gpu_setup_entry *entries;
    gpu_setup_piece *pieces;
    uint32_t n_cols, n_entries, n_pieces;
} filler;

static void fill_side(filler *f, gpu_setup_tmpl *o, const r1cs_template_view *t, int side)
{
    uint32_t n = (uint32_t)n_columns(t), base = f->n_entries, own = 1 + t->n_wires;
    count_columns(f->first, t, side);
    o->own_first[side] = f->n_cols;
    o->piece_first[side] = f->n_pieces;
    for (uint32_t c = 0; c < n; c++) {
        uint32_t from = f->first[c], to = f->first[c + 1];
        if (!is_listed(t, c, to - from))
            continue;
        for (uint32_t at = from; at < to; at += GPU_SETUP_PIECE)
            f->pieces[f->n_pieces++] = (gpu_setup_piece){
                c, base + at, to - at < GPU_SETUP_PIECE ? to - at : GPU_SETUP_PIECE};
    }
    for (uint32_t c = own; c <= n; c++)
        f->cols[f->n_cols++] = base + f->first[c];
    f->n_entries += f->first[n];
    for (uint64_t r = 0; r < t->rows.n_rows; r++)
        for (uint64_t k = t->rows.off[3 * r + side]; k < t->rows.off[3 * r + side + 1]; k++) {
            r1cs_term x = t->rows.terms[k];
            f->entries[base + f->first[x.var]++] = (gpu_setup_entry){(uint32_t)r, x.coeff};
        }
}

static void fill_templates(filler *f, const r1cs_shape *s)
{
    gpu_setup_tmpl *o = (gpu_setup_tmpl *)((char *)f->im->p + f->im->at_tmpls);
    for (size_t i = 0; i < f->im->n_tmpls; i++) {
        r1cs_template_view t = r1cs_shape_template(s, i);
        o[i].n_wires = t.n_wires;
        for (int side = 0; side < 3; side++)
            fill_side(f, &o[i], &t, side);
    }
}

/* Loose terms of a segment. */
static void fill_loose(gpu_setup_loose *o[3], const r1cs_rows *loose, const r1cs_segment_view *g)
{
    for (uint64_t r = 0; r < g->n_rows; r++)
        for (int side = 0; side < 3; side++) {
            const uint64_t *off = loose->off + 3 * (g->first + r) + side;
            for (uint64_t k = off[0]; k < off[1]; k++)
                *o[side]++ = (gpu_setup_loose){(uint32_t)(g->row_base + r), loose->terms[k].var,
                                               loose->terms[k].coeff};
        }
}

static void fill_segments(gpu_setup_image *im, const uint32_t *pieces, const r1cs_shape *s)
{
    char *p = im->p;
    gpu_setup_inst *o = (gpu_setup_inst *)(p + im->at_insts), at = {0};
    r1cs_rows loose = r1cs_shape_loose(s);
    gpu_setup_loose *l[3];
    for (int side = 0; side < 3; side++)
        l[side] = (gpu_setup_loose *)(p + im->at_loose[side]);
    for (size_t i = 0; i < r1cs_shape_n_segments(s); i++) {
        r1cs_segment_view g = r1cs_shape_segment(s, i);
        if (g.tmpl == R1CS_SEGMENT_LOOSE) {
            fill_loose(l, &loose, &g);
            continue;
        }
        at.tmpl = g.tmpl;
        at.row = (uint32_t)g.row_base;
        at.aux = g.aux_base;
        at.wires = (uint32_t)g.first;
        *o++ = at;
        at.own_at += r1cs_shape_template(s, g.tmpl).n_aux;
        for (int side = 0; side < 3; side++)
            at.slot_at[side] += pieces[3 * g.tmpl + side];
    }
    *o = at;
}

static cuzk_status fill_image(gpu_setup_image *im, const uint32_t *pieces, const r1cs_shape *s)
{
    char *p = im->p;
    filler f = {.im = im,
                .first = mem_alloc((longest_template(s) + 1) * sizeof(uint32_t), 64),
                .cols = (uint32_t *)(p + im->at_cols),
                .entries = (gpu_setup_entry *)(p + im->at_entries),
                .pieces = (gpu_setup_piece *)(p + im->at_pieces)};
    if (!f.first)
        return cuzk_fail(CUZK_E_NOMEM, "columns of the templates of %s", r1cs_shape_name(s));
    size_t n;
    memcpy(p + im->at_coeffs, r1cs_shape_coeffs(s, &n), im->n_coeffs * sizeof(fr));
    if (im->n_wires)
        memcpy(p + im->at_wires, r1cs_shape_wires(s, &n), im->n_wires * sizeof(uint32_t));
    fill_templates(&f, s);
    mem_free(f.first);
    fill_segments(im, pieces, s);
    CUZK_VERIFY(f.n_cols == im->n_cols && f.n_entries == im->n_entries &&
                f.n_pieces == im->n_pieces);
    const fr *coeffs = r1cs_shape_coeffs(s, &n);
    fr minus;
    fr_neg(&minus, &FR_ONE);
    CUZK_VERIFY(n > GPU_SETUP_MINUS && fr_is_one(&coeffs[GPU_SETUP_ONE]) &&
                fr_eq(&coeffs[GPU_SETUP_MINUS], &minus));
    return cuzk_ok();
}

static cuzk_status build_with(gpu_setup_image *im, uint32_t *pieces, const r1cs_shape *s)
{
    CUZK_TRY(measure_with(im, pieces, s));
    im->p = mem_alloc(im->bytes, 256);
    if (!im->p)
        return cuzk_fail(CUZK_E_NOMEM, "%zu bytes for the transposed shape of %s", im->bytes,
                         r1cs_shape_name(s));
    return fill_image(im, pieces, s);
}

cuzk_status gpu_setup_build(gpu_setup_image *im, const r1cs_shape *s)
{
    memset(im, 0, sizeof *im);
    uint32_t *pieces = new_piece_counts(s);
    if (!pieces)
        return cuzk_fail(CUZK_E_NOMEM, "templates of %s", r1cs_shape_name(s));
    cuzk_status st = build_with(im, pieces, s);
    mem_free(pieces);
    if (st.code != CUZK_OK)
        gpu_setup_image_fini(im);
    return st;
}

void gpu_setup_image_fini(gpu_setup_image *im)
{
    mem_free(im->p);
    memset(im, 0, sizeof *im);
}

gpu_setup_view gpu_setup_view_at(const gpu_setup_image *im, const void *base)
{
    const char *p = base;
    gpu_setup_view v = {
        .coeffs = (const gpu_fr *)(p + im->at_coeffs),
        .tmpls = (const gpu_setup_tmpl *)(p + im->at_tmpls),
        .insts = (const gpu_setup_inst *)(p + im->at_insts),
        .wires = (const uint32_t *)(p + im->at_wires),
        .cols = (const uint32_t *)(p + im->at_cols),
        .entries = (const gpu_setup_entry *)(p + im->at_entries),
        .pieces = (const gpu_setup_piece *)(p + im->at_pieces),
        .n_insts = (uint32_t)im->n_insts,
        .n_inputs = im->n_inputs,
    };
    for (int side = 0; side < 3; side++)
        v.loose[side] = (const gpu_setup_loose *)(p + im->at_loose[side]);
    return v;
}
