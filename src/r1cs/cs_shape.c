/* Shape mode: variables, coefficients, rows, namespaces. */
#include "r1cs/cs_int.h"
#include "base/mem.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cs_oom(cs *c)
{
    cs_set_failure(c, cuzk_fail(CUZK_E_NOMEM, "out of memory while building a circuit shape"));
    return false;
}

bool vec_reserve(vec *v, size_t extra, size_t elem_bytes)
{
    if (v->n + extra <= v->cap)
        return true;
    size_t cap = v->cap ? v->cap : 16;
    while (cap < v->n + extra)
        cap += cap / 2;
    void *p = mem_realloc(v->p, v->cap * elem_bytes, cap * elem_bytes);
    if (!p)
        return false;
    v->p = p;
    v->cap = cap;
    return true;
}

void vec_fini(vec *v)
{
    mem_free(v->p);
    *v = (vec){0};
}

void row_store_fini(row_store *r)
{
    vec_fini(&r->off);
    vec_fini(&r->terms);
}

static uint64_t hash_fr(const fr *a)
{
    uint64_t h = a->l[0] * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 29) ^ a->l[1]) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 31) ^ a->l[2]) * 0x94d049bb133111ebu;
    h = (h ^ (h >> 30) ^ a->l[3]) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 32);
}

static bool dict_grow(cs *c)
{
    cs_builder *b = c->b;
    size_t cap = b->dict_cap ? b->dict_cap * 2 : 1024;
    uint32_t *d = mem_zalloc(cap * sizeof *d, 64);
    if (!d)
        return cs_oom(c);
    const fr *co = b->shape->coeffs.p;
    for (size_t i = 0; i < b->shape->coeffs.n; i++) {
        size_t k = hash_fr(&co[i]) & (cap - 1);
        while (d[k])
            k = (k + 1) & (cap - 1);
        d[k] = (uint32_t)i + 1;
    }
    mem_free(b->dict);
    b->dict = d;
    b->dict_cap = cap;
    return true;
}

uint32_t cs_coeff(cs *c, const fr *coeff)
{
    cs_builder *b = c->b;
    vec *co = &b->shape->coeffs;
    if (2 * (co->n + 1) > b->dict_cap && !dict_grow(c))
        return UINT32_MAX;
    size_t k = hash_fr(coeff) & (b->dict_cap - 1);
    for (; b->dict[k]; k = (k + 1) & (b->dict_cap - 1))
        if (fr_eq(&((const fr *)co->p)[b->dict[k] - 1], coeff))
            return b->dict[k] - 1;
    if (!vec_reserve(co, 1, sizeof(fr))) {
        cs_oom(c);
        return UINT32_MAX;
    }
    ((fr *)co->p)[co->n++] = *coeff;
    b->dict[k] = (uint32_t)co->n;
    return (uint32_t)co->n - 1;
}

cuzk_status cs_init_shape(cs *c, const char *name)
{
    *c = (cs){.mode = CS_SHAPE, .n_inputs = 1};
    c->st = cuzk_ok();
    c->b = mem_zalloc(sizeof *c->b, 64);
    if (!c->b)
        return cuzk_fail(CUZK_E_NOMEM, "shape builder of %s", name);
    c->b->shape = mem_zalloc(sizeof *c->b->shape, 64);
    if (c->b->shape)
        c->b->shape->name = mem_strdup(name);
    fr minus;
    fr_neg(&minus, &FR_ONE);
    if (!c->b->shape || !c->b->shape->name || cs_coeff(c, &FR_ONE) != R1CS_COEFF_ONE ||
        cs_coeff(c, &minus) != R1CS_COEFF_MINUS ||
        !vec_reserve(&c->b->shape->ns_nodes, 1, sizeof(ns_node)) ||
        !vec_reserve(&c->b->shape->ns_text, 1, 1)) {
        cs_fini(c);
        return cuzk_fail(CUZK_E_NOMEM, "shape builder of %s", name);
    }
    ((ns_node *)c->b->shape->ns_nodes.p)[0] = (ns_node){0};
    c->b->shape->ns_nodes.n = 1;
    ((char *)c->b->shape->ns_text.p)[0] = 0;
    c->b->shape->ns_text.n = 1;
    c->b->last_mark_ns = UINT32_MAX;
    return cuzk_ok();
}

void cs_builder_destroy(cs_builder *b)
{
    if (!b)
        return;
    r1cs_shape_destroy(b->shape);
    for (int i = 0; i < 3; i++)
        vec_fini(&b->side[i]);
    mem_free(b->dict);
    row_store_fini(&b->rec.rows);
    vec_fini(&b->rec.tags);
    vec_fini(&b->rec.dense);
    vec_fini(&b->rec.marks);
    mem_free(b);
}

void cs_shape_check_input(cs *c)
{
    if (c->b->rec.active)
        cs_set_failure(c, cuzk_fail(CUZK_E_INTERNAL, "input allocated inside a template"));
    if (c->n_inputs >= R1CS_INPUT)
        cs_set_failure(c, cuzk_fail(CUZK_E_RANGE, "more than 2^31 inputs"));
}

static bool push_u32(cs *c, vec *v, uint32_t x)
{
    if (!vec_reserve(v, 1, sizeof x))
        return cs_oom(c);
    ((uint32_t *)v->p)[v->n++] = x;
    return true;
}

r1cs_var cs_shape_alloc(cs *c, bool dense, uint32_t tag)
{
    cs_builder *b = c->b;
    uint64_t j = c->n_aux;
    if (c->st.code != CUZK_OK)
        return 0;
    if (j >= R1CS_INPUT - 1) {
        cs_set_failure(c, cuzk_fail(CUZK_E_RANGE, "more than 2^31 - 1 aux variables"));
        return 0;
    }
    vec *map = &b->shape->dense_map;
    if (j / 64 >= map->n) {
        if (!vec_reserve(map, 1, sizeof(uint64_t)))
            return cs_oom(c), 0u;
        ((uint64_t *)map->p)[map->n++] = 0;
    }
    if (b->rec.active) {
        if (!push_u32(c, &b->rec.tags, tag))
            return 0;
        if (dense && !push_u32(c, &b->rec.dense, (uint32_t)(j - b->rec.aux_base)))
            return 0;
    }
    if (dense) {
        ((uint64_t *)map->p)[j / 64] |= 1ull << (j & 63);
        c->n_dense++;
    }
    c->n_aux++;
    return (r1cs_var)j;
}

void cs_term(cs *c, cs_side side, const fr *coeff, r1cs_var var)
{
    if (c->mode != CS_SHAPE || c->st.code != CUZK_OK)
        return;
    vec *v = &c->b->side[side];
    if (!vec_reserve(v, 1, sizeof(pending_term))) {
        cs_oom(c);
        return;
    }
    ((pending_term *)v->p)[v->n++] = (pending_term){var, *coeff};
}

void cs_term_one(cs *c, cs_side side, r1cs_var var)
{
    if (c->mode == CS_SHAPE)
        cs_term(c, side, &FR_ONE, var);
}

void cs_term_minus(cs *c, cs_side side, r1cs_var var)
{
    if (c->mode == CS_SHAPE)
        cs_term(c, side, &((const fr *)c->b->shape->coeffs.p)[R1CS_COEFF_MINUS], var);
}

static int cmp_pending(const void *x, const void *y)
{
    r1cs_var a = ((const pending_term *)x)->var ^ R1CS_INPUT,
             b = ((const pending_term *)y)->var ^ R1CS_INPUT;
    return (a > b) - (a < b);
}

/* Sort one side, merge equal variables, drop zero terms, append to the store. */
static bool flush_side(cs *c, row_store *rs, vec *v)
{
    pending_term *t = v->p;
    if (v->n > 1)
        qsort(t, v->n, sizeof *t, cmp_pending);
    if (!vec_reserve(&rs->terms, v->n, sizeof(r1cs_term)) ||
        !vec_reserve(&rs->off, 2, sizeof(uint64_t)))
        return cs_oom(c);
    r1cs_term *out = rs->terms.p;
    uint64_t *off = rs->off.p;
    if (rs->off.n == 0)
        off[rs->off.n++] = 0;
    for (size_t i = 0; i < v->n;) {
        fr sum = t[i].coeff;
        size_t k = i + 1;
        for (; k < v->n && t[k].var == t[i].var; k++)
            fr_add(&sum, &sum, &t[k].coeff);
        if (!fr_is_zero(&sum))
            out[rs->terms.n++] = (r1cs_term){t[i].var, cs_coeff(c, &sum)};
        i = k;
    }
    off[rs->off.n++] = rs->terms.n;
    v->n = 0;
    return true;
}

void cs_mark(cs *c, vec *marks, uint64_t row, uint32_t *last)
{
    if (*last == c->b->ns)
        return;
    if (!vec_reserve(marks, 1, sizeof(ns_mark))) {
        cs_oom(c);
        return;
    }
    ((ns_mark *)marks->p)[marks->n++] = (ns_mark){row, c->b->ns};
    *last = c->b->ns;
}

static void open_loose_segment(cs *c)
{
    cs_builder *b = c->b;
    vec *segs = &b->shape->segments;
    r1cs_segment *last = segs->n ? &((r1cs_segment *)segs->p)[segs->n - 1] : NULL;
    if (last && last->tmpl == R1CS_LOOSE) {
        last->n_rows++;
        return;
    }
    if (!vec_reserve(segs, 1, sizeof *last)) {
        cs_oom(c);
        return;
    }
    ((r1cs_segment *)segs->p)[segs->n++] =
        (r1cs_segment){.row_base = b->n_rows,
                       .n_rows = 1,
                       .tmpl = R1CS_LOOSE,
                       .wires_off = row_store_rows(&b->shape->loose)};
}

void cs_end_row(cs *c)
{
    if (c->mode != CS_SHAPE || c->st.code != CUZK_OK)
        return;
    cs_builder *b = c->b;
    row_store *rs = b->rec.active ? &b->rec.rows : &b->shape->loose;
    if (b->rec.active) {
        cs_mark(c, &b->rec.marks, row_store_rows(rs), &b->last_mark_ns);
    } else {
        cs_mark(c, &b->shape->marks, b->n_rows, &b->last_mark_ns);
        open_loose_segment(c);
        b->n_rows++;
    }
    for (int s = 0; s < 3; s++)
        if (!flush_side(c, rs, &b->side[s]))
            return;
}

void cs_ns_push(cs *c, const char *fmt, ...)
{
    if (c->mode != CS_SHAPE || c->st.code != CUZK_OK)
        return;
    r1cs_shape *s = c->b->shape;
    char text[96];
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t n = len < 0 ? 0 : (size_t)len < sizeof text ? (size_t)len : sizeof text - 1;
    if (!vec_reserve(&s->ns_nodes, 1, sizeof(ns_node)) || !vec_reserve(&s->ns_text, n + 1, 1)) {
        cs_oom(c);
        return;
    }
    ((ns_node *)s->ns_nodes.p)[s->ns_nodes.n] = (ns_node){c->b->ns, (uint32_t)s->ns_text.n};
    memcpy((char *)s->ns_text.p + s->ns_text.n, text, n);
    ((char *)s->ns_text.p)[s->ns_text.n + n] = 0;
    s->ns_text.n += n + 1;
    c->b->ns = (uint32_t)s->ns_nodes.n++;
}

void cs_ns_pop(cs *c)
{
    if (c->mode == CS_SHAPE && c->st.code == CUZK_OK)
        c->b->ns = ((const ns_node *)c->b->shape->ns_nodes.p)[c->b->ns].parent;
}
