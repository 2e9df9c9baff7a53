/* A finished shape: counts, densities, row access. */
#include "r1cs/shape.h"
#include "base/mem.h"
#include "r1cs/cs_int.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const r1cs_counts *r1cs_shape_counts(const r1cs_shape *s) { return &s->counts; }
const char *r1cs_shape_name(const r1cs_shape *s) { return s->name; }
const uint64_t *r1cs_shape_a_density(const r1cs_shape *s) { return s->a_map.p; }
const uint64_t *r1cs_shape_b_density(const r1cs_shape *s) { return s->b_map.p; }
const uint64_t *r1cs_shape_dense_map(const r1cs_shape *s) { return s->dense_map.p; }
const uint32_t *r1cs_shape_dense_rank(const r1cs_shape *s) { return s->dense_rank.p; }
bool r1cs_shape_b_input(const r1cs_shape *s, uint32_t i)
{
    return ((const uint8_t *)s->b_input.p)[i];
}
const fr *r1cs_shape_coeffs(const r1cs_shape *s, size_t *n)
{
    *n = s->coeffs.n;
    return s->coeffs.p;
}

void r1cs_shape_destroy(r1cs_shape *s)
{
    if (!s)
        return;
    vec *plain[] = {&s->coeffs,     &s->segments, &s->wires,    &s->dense_map, &s->a_map, &s->b_map,
                    &s->dense_rank, &s->b_input,  &s->ns_nodes, &s->ns_text,   &s->marks};
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        vec_fini(plain[i]);
    r1cs_templates_fini(&s->templates);
    row_store_fini(&s->loose);
    mem_free(s->name);
    mem_free(s);
}

static void mark_var(r1cs_shape *s, r1cs_var v, cs_side side)
{
    if (v & R1CS_INPUT) {
        if (side == CS_B)
            ((uint8_t *)s->b_input.p)[v & ~R1CS_INPUT] = 1;
        return;
    }
    vec *map = side == CS_A ? &s->a_map : &s->b_map;
    ((uint64_t *)map->p)[v >> 6] |= 1ull << (v & 63);
}

static void mark_segment(r1cs_shape *s, const r1cs_segment *seg)
{
    if (seg->tmpl == R1CS_LOOSE) {
        const uint64_t *off = s->loose.off.p;
        const r1cs_term *t = s->loose.terms.p;
        for (uint64_t k = 3 * seg->wires_off; k < 3 * (seg->wires_off + seg->n_rows); k++) {
            uint64_t *nnz[3] = {&s->counts.nnz_a, &s->counts.nnz_b, &s->counts.nnz_c};
            *nnz[k % 3] += off[k + 1] - off[k];
            for (uint64_t i = off[k]; i < off[k + 1] && k % 3 != CS_C; i++)
                mark_var(s, t[i].var, (cs_side)(k % 3));
        }
        return;
    }
    const r1cs_template *t = &((const r1cs_template *)s->templates.p)[seg->tmpl];
    const r1cs_var *wires = (const r1cs_var *)s->wires.p + seg->wires_off;
    uint32_t n_local = 1 + t->n_wires + t->n_aux;
    for (uint32_t k = 0; k < n_local; k++) {
        r1cs_var v = shape_local_to_global(t, seg, wires, k);
        if (t->in_a[k])
            mark_var(s, v, CS_A);
        if (t->in_b[k])
            mark_var(s, v, CS_B);
    }
    s->counts.nnz_a += t->nnz[0];
    s->counts.nnz_b += t->nnz[1];
    s->counts.nnz_c += t->nnz[2];
}

static bool zero_map(vec *v, size_t n, size_t elem)
{
    if (!vec_reserve(v, n + 1, elem))
        return false;
    memset(v->p, 0, v->cap * elem);
    v->n = n;
    return true;
}

static uint64_t popcount_map(const vec *v)
{
    uint64_t n = 0;
    for (size_t i = 0; i < v->n; i++)
        n += (uint64_t)__builtin_popcountll(((const uint64_t *)v->p)[i]);
    return n;
}

static uint64_t shape_memory(const r1cs_shape *s)
{
    uint64_t n = sizeof *s + s->coeffs.cap * sizeof(fr) + s->segments.cap * sizeof(r1cs_segment) +
                 s->wires.cap * sizeof(r1cs_var) +
                 (s->dense_map.cap + s->a_map.cap + s->b_map.cap) * 8 + s->dense_rank.cap * 4 +
                 s->loose.off.cap * 8 + s->loose.terms.cap * sizeof(r1cs_term) + s->ns_text.cap +
                 s->ns_nodes.cap * sizeof(ns_node) + s->marks.cap * sizeof(ns_mark);
    const r1cs_template *t = s->templates.p;
    for (size_t i = 0; i < s->templates.n; i++)
        n += t[i].rows.off.cap * 8 + t[i].rows.terms.cap * sizeof(r1cs_term) + t[i].n_aux * 2 +
             t[i].n_dense * 4 + t[i].n_runs * sizeof(r1cs_run);
    return n;
}

static cuzk_status fill_shape(cs *c, r1cs_shape *s)
{
    size_t words = (c->n_aux + 63) / 64;
    r1cs_counts *n = &s->counts;
    *n = (r1cs_counts){
        .n_inputs = c->n_inputs, .n_aux = c->n_aux, .n_rows = c->b->n_rows, .n_dense = c->n_dense};
    if (!zero_map(&s->a_map, words, 8) || !zero_map(&s->b_map, words, 8) ||
        !zero_map(&s->b_input, c->n_inputs, 1) || !vec_reserve(&s->dense_map, 1, 8) ||
        !zero_map(&s->dense_rank, words + 1, 4))
        return cuzk_fail(CUZK_E_NOMEM, "bitmaps of %zu words", words);
    uint32_t rank = 0;
    for (size_t i = 0; i < words; i++) {
        ((uint32_t *)s->dense_rank.p)[i] = rank;
        rank += (uint32_t)__builtin_popcountll(((const uint64_t *)s->dense_map.p)[i]);
    }
    ((uint32_t *)s->dense_rank.p)[words] = rank;
    CUZK_VERIFY(rank == c->n_dense);
    const r1cs_segment *seg = s->segments.p;
    for (size_t i = 0; i < s->segments.n; i++)
        mark_segment(s, &seg[i]);
    n->a_aux = popcount_map(&s->a_map);
    n->b_aux = popcount_map(&s->b_map);
    for (size_t i = 0; i < c->n_inputs; i++)
        n->b_inputs += ((const uint8_t *)s->b_input.p)[i];
    while ((1ull << n->lg_m) < n->n_rows + n->n_inputs)
        n->lg_m++;
    n->shape_bytes = shape_memory(s);
    return cuzk_ok();
}

cuzk_status cs_finish_shape(cs *c, r1cs_shape **out)
{
    *out = NULL;
    CUZK_TRY(c->st);
    CUZK_VERIFY(c->b && !c->b->rec.active);
    CUZK_TRY(fill_shape(c, c->b->shape));
    *out = c->b->shape;
    c->b->shape = NULL;
    return cuzk_ok();
}

size_t shape_find_segment(const r1cs_shape *s, uint64_t row_idx)
{
    const r1cs_segment *seg = s->segments.p;
    size_t lo = 0, hi = s->segments.n;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        if (seg[mid].row_base <= row_idx)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static int cmp_term(const void *x, const void *y)
{
    r1cs_var a = ((const r1cs_term *)x)->var ^ R1CS_INPUT,
             b = ((const r1cs_term *)y)->var ^ R1CS_INPUT;
    return (a > b) - (a < b);
}

/* Map one template row to global ids in buf. With `sorted`, order it by insertion: rows are nearly
 * sorted already, except where wires and own aux interleave. Distinct wires keep the terms
 * distinct. */
static void globalise(r1cs_term *buf, const r1cs_term *t, uint32_t n, const r1cs_template *tp,
                      const r1cs_segment *seg, const r1cs_var *wires, bool sorted)
{
    bool in_order = true;
    for (uint32_t i = 0; i < n; i++) {
        buf[i] = (r1cs_term){shape_local_to_global(tp, seg, wires, t[i].var), t[i].coeff};
        if (i && !shape_var_less(buf[i - 1].var, buf[i].var))
            in_order = false;
    }
    if (sorted && !in_order)
        qsort(buf, n, sizeof *buf, cmp_term);
}

typedef struct visit_buf {
    r1cs_term *p;
    size_t cap;
} visit_buf;

static cuzk_status visit_instance(const r1cs_shape *s, const r1cs_segment *seg, uint64_t lo,
                                  uint64_t hi, bool sorted, visit_buf *buf, r1cs_visit_fn *visit,
                                  void *ctx)
{
    const r1cs_template *t = &((const r1cs_template *)s->templates.p)[seg->tmpl];
    const r1cs_var *wires = (const r1cs_var *)s->wires.p + seg->wires_off;
    const uint64_t *off = t->rows.off.p;
    const r1cs_term *terms = t->rows.terms.p;
    for (uint64_t k = lo - seg->row_base; k < hi - seg->row_base; k++) {
        size_t need = off[3 * k + 3] - off[3 * k];
        if (!buf->p || need > buf->cap) {
            size_t cap = 2 * need + 64;
            r1cs_term *p = mem_realloc(buf->p, buf->cap * sizeof *p, cap * sizeof *p);
            if (!p)
                return cuzk_fail(CUZK_E_NOMEM, "row of %zu terms", need);
            buf->p = p;
            buf->cap = cap;
        }
        r1cs_row row;
        r1cs_term *at = buf->p;
        for (int side = 0; side < 3; side++) {
            uint64_t first = off[3 * k + side];
            row.n[side] = (uint32_t)(off[3 * k + side + 1] - first);
            row.t[side] = at;
            globalise(at, terms + first, row.n[side], t, seg, wires, sorted);
            at += row.n[side];
        }
        visit(ctx, seg->row_base + k, &row);
    }
    return cuzk_ok();
}

static void visit_loose(const r1cs_shape *s, const r1cs_segment *seg, uint64_t lo, uint64_t hi,
                        r1cs_visit_fn *visit, void *ctx)
{
    const uint64_t *off = s->loose.off.p;
    const r1cs_term *terms = s->loose.terms.p;
    for (uint64_t r = lo; r < hi; r++) {
        uint64_t k = 3 * (seg->wires_off + (r - seg->row_base));
        r1cs_row row;
        for (int side = 0; side < 3; side++) {
            row.t[side] = terms + off[k + side];
            row.n[side] = (uint32_t)(off[k + side + 1] - off[k + side]);
        }
        visit(ctx, r, &row);
    }
}

cuzk_status r1cs_shape_visit(const r1cs_shape *s, uint64_t lo, uint64_t hi, bool sorted,
                             r1cs_visit_fn *visit, void *ctx)
{
    if (hi > s->counts.n_rows || lo > hi)
        return cuzk_fail(CUZK_E_RANGE, "rows %llu to %llu of %llu", (unsigned long long)lo,
                         (unsigned long long)hi, (unsigned long long)s->counts.n_rows);
    visit_buf buf = {0};
    const r1cs_segment *segs = s->segments.p;
    cuzk_status st = cuzk_ok();
    for (size_t i = shape_find_segment(s, lo); lo < hi && st.code == CUZK_OK; i++) {
        const r1cs_segment *seg = &segs[i];
        uint64_t end = seg->row_base + seg->n_rows < hi ? seg->row_base + seg->n_rows : hi;
        if (seg->tmpl == R1CS_LOOSE)
            visit_loose(s, seg, lo, end, visit, ctx);
        else
            st = visit_instance(s, seg, lo, end, sorted, &buf, visit, ctx);
        lo = end;
    }
    mem_free(buf.p);
    return st;
}

/* Names of node and its parents up to (not including) stop, outermost first. */
static size_t append_path(const r1cs_shape *s, uint32_t node, uint32_t stop, char *buf, size_t len,
                          size_t at)
{
    const ns_node *nodes = s->ns_nodes.p;
    if (node == stop || node == R1CS_NS_ROOT)
        return at;
    at = append_path(s, nodes[node].parent, stop, buf, len, at);
    int n = snprintf(buf + at, len - at, "%s%s", at ? "/" : "",
                     (const char *)s->ns_text.p + nodes[node].text_off);
    size_t room = len - at - 1;
    return at + (n < 0 ? 0 : (size_t)n < room ? (size_t)n : room);
}

static uint32_t mark_at(const ns_mark *m, size_t n, uint64_t row)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (m[mid].row <= row)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? m[lo - 1].node : R1CS_NS_ROOT;
}

void r1cs_shape_row_path(const r1cs_shape *s, uint64_t row_idx, char *buf, size_t buf_len)
{
    buf[0] = 0;
    if (row_idx >= s->counts.n_rows)
        return;
    size_t at =
        append_path(s, mark_at(s->marks.p, s->marks.n, row_idx), R1CS_NS_ROOT, buf, buf_len, 0);
    const r1cs_segment *seg =
        &((const r1cs_segment *)s->segments.p)[shape_find_segment(s, row_idx)];
    if (seg->tmpl == R1CS_LOOSE)
        return;
    const r1cs_template *t = &((const r1cs_template *)s->templates.p)[seg->tmpl];
    append_path(s, mark_at(t->marks, t->n_marks, row_idx - seg->row_base), t->ns_base, buf, buf_len,
                at);
}
