/* Recording and replaying templates. */
#include "r1cs/cs_int.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

uint64_t shape_key_hash(const void *key, size_t len)
{
    /* FNV-1a: only a filter in front of memcmp. */
    const uint8_t *p = key;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

const r1cs_template *shape_find_template(const r1cs_shape *s, const void *key, size_t len)
{
    uint64_t h = shape_key_hash(key, len);
    const r1cs_template *t = s->templates.p;
    for (size_t i = 0; i < s->templates.n; i++)
        if (t[i].key_hash == h && t[i].key_len == len && memcmp(t[i].key, key, len) == 0)
            return &t[i];
    return NULL;
}

bool r1cs_shape_template_runs(const r1cs_shape *s, const void *key, size_t key_len,
                              r1cs_template_runs *out)
{
    const r1cs_template *t = shape_find_template(s, key, key_len);
    if (!t || !t->runs)
        return false;
    *out = (r1cs_template_runs){t->runs, t->n_runs, t->n_aux, t->outs, t->n_outs};
    return true;
}

/* Wires sorted by global id, to translate a recording. */
typedef struct wire_ref {
    r1cs_var var;
    uint32_t local;
} wire_ref;

static int cmp_wire(const void *x, const void *y)
{
    r1cs_var a = ((const wire_ref *)x)->var, b = ((const wire_ref *)y)->var;
    return (a > b) - (a < b);
}

static bool to_local(uint32_t *out, r1cs_var v, const recording *rec, uint32_t n_wires,
                     const wire_ref *wires)
{
    if (v == R1CS_ONE) {
        *out = 0;
        return true;
    }
    if (!(v & R1CS_INPUT) && v >= rec->aux_base) {
        *out = 1 + n_wires + (uint32_t)(v - rec->aux_base);
        return true;
    }
    wire_ref key = {v, 0};
    const wire_ref *w = bsearch(&key, wires, n_wires, sizeof *wires, cmp_wire);
    if (!w)
        return false;
    *out = w->local;
    return true;
}

static cuzk_status sorted_wires(wire_ref **out, const cs_template_call *call)
{
    *out = mem_alloc((call->n_wires + 1) * sizeof **out, 64);
    if (!*out)
        return cuzk_fail(CUZK_E_NOMEM, "%u template wires", call->n_wires);
    for (uint32_t i = 0; i < call->n_wires; i++)
        (*out)[i] = (wire_ref){call->wires[i], i + 1};
    qsort(*out, call->n_wires, sizeof **out, cmp_wire);
    for (uint32_t i = 1; i < call->n_wires; i++)
        if ((*out)[i].var == (*out)[i - 1].var)
            return cuzk_fail(CUZK_E_INTERNAL, "template wire given twice");
    return cuzk_ok();
}

/* Tags to runs of consecutive bits; none when some aux is untagged. */
static cuzk_status make_runs(r1cs_template *t, const uint32_t *tags)
{
    for (uint32_t i = 0; i < t->n_aux; i++)
        if (tags[i] == UINT32_MAX)
            return cuzk_ok();
    t->runs = mem_alloc((t->n_aux + 1) * sizeof *t->runs, 64);
    if (!t->runs)
        return cuzk_fail(CUZK_E_NOMEM, "template runs");
    for (uint32_t i = 0; i < t->n_aux; i++) {
        uint32_t bit = tags[i] >> 1;
        uint16_t inv = tags[i] & 1;
        r1cs_run *last = t->n_runs ? &t->runs[t->n_runs - 1] : NULL;
        if (last && last->invert == inv && last->bit + last->len == bit && last->len < 36)
            last->len++;
        else
            t->runs[t->n_runs++] = (r1cs_run){bit, 1, inv};
    }
    return cuzk_ok();
}

static cuzk_status localise_rows(r1cs_template *t, const recording *rec, const wire_ref *wires)
{
    r1cs_term *terms = t->rows.terms.p;
    const uint64_t *off = t->rows.off.p;
    for (uint32_t k = 0; k < 3 * t->n_rows; k++) {
        for (uint64_t i = off[k]; i < off[k + 1]; i++) {
            uint32_t local;
            if (!to_local(&local, terms[i].var, rec, t->n_wires, wires))
                return cuzk_fail(CUZK_E_INTERNAL,
                                 "template row %u uses variable %08x, which is no wire of it",
                                 k / 3, terms[i].var);
            terms[i].var = local;
            if (k % 3 == 0)
                t->in_a[local] = 1;
            else if (k % 3 == 1)
                t->in_b[local] = 1;
        }
        t->nnz[k % 3] += off[k + 1] - off[k];
    }
    return cuzk_ok();
}

static cuzk_status build_template(r1cs_template *t, cs *c, const cs_template_call *call,
                                  const wire_ref *wires)
{
    recording *rec = &c->b->rec;
    t->n_wires = call->n_wires;
    t->n_outs = call->n_outs;
    t->n_aux = (uint32_t)(c->n_aux - rec->aux_base);
    t->n_rows = (uint32_t)row_store_rows(&t->rows);
    size_t n_local = 1 + (size_t)t->n_wires + t->n_aux;
    t->key = mem_alloc(call->key_len + 1, 8);
    t->outs = mem_alloc((t->n_outs + 1) * sizeof *t->outs, 8);
    t->in_a = mem_zalloc(n_local, 64);
    t->in_b = mem_zalloc(n_local, 64);
    if (!t->key || !t->outs || !t->in_a || !t->in_b)
        return cuzk_fail(CUZK_E_NOMEM, "template of %u rows", t->n_rows);
    memcpy(t->key, call->key, call->key_len);
    t->key_len = call->key_len;
    t->key_hash = shape_key_hash(call->key, call->key_len);
    for (uint32_t i = 0; i < t->n_outs; i++) {
        CUZK_VERIFY(!(call->outs[i] & R1CS_INPUT) && call->outs[i] >= rec->aux_base &&
                    call->outs[i] < c->n_aux);
        t->outs[i] = (uint32_t)(call->outs[i] - rec->aux_base);
    }
    CUZK_TRY(localise_rows(t, rec, wires));
    return make_runs(t, rec->tags.p);
}

static void template_fini(r1cs_template *t)
{
    mem_free(t->key);
    mem_free(t->outs);
    mem_free(t->dense);
    mem_free(t->runs);
    mem_free(t->in_a);
    mem_free(t->in_b);
    mem_free(t->marks);
    row_store_fini(&t->rows);
    *t = (r1cs_template){0};
}

void r1cs_templates_fini(vec *v)
{
    r1cs_template *t = v->p;
    for (size_t i = 0; i < v->n; i++)
        template_fini(&t[i]);
    vec_fini(v);
}

/* Run the body once and keep its rows; the aux it allocated stay allocated, as the first
 * instance. */
static cuzk_status record(cs *c, const cs_template_call *call, uint32_t *idx)
{
    cs_builder *b = c->b;
    recording *rec = &b->rec;
    uint32_t outer_mark = b->last_mark_ns;
    *rec = (recording){.active = true, .aux_base = c->n_aux};
    b->last_mark_ns = UINT32_MAX;
    call->body(c, call->args);
    rec->active = false;
    b->last_mark_ns = outer_mark;
    if (c->st.code != CUZK_OK)
        return c->st;
    if (!vec_reserve(&b->shape->templates, 1, sizeof(r1cs_template)))
        return cuzk_fail(CUZK_E_NOMEM, "template table");
    r1cs_template *t = &((r1cs_template *)b->shape->templates.p)[b->shape->templates.n];
    /* The template takes the recorded arrays. */
    *t = (r1cs_template){.rows = rec->rows,
                         .dense = rec->dense.p,
                         .n_dense = (uint32_t)rec->dense.n,
                         .marks = rec->marks.p,
                         .n_marks = (uint32_t)rec->marks.n,
                         .ns_base = b->ns};
    rec->rows = (row_store){0};
    rec->dense = rec->marks = (vec){0};
    wire_ref *wires = NULL;
    cuzk_status st = sorted_wires(&wires, call);
    if (st.code == CUZK_OK)
        st = build_template(t, c, call, wires);
    mem_free(wires);
    vec_fini(&rec->tags);
    if (st.code != CUZK_OK) {
        template_fini(t);
        return st;
    }
    *idx = (uint32_t)b->shape->templates.n++;
    return st;
}

static bool replay_aux(cs *c, const r1cs_template *t)
{
    uint64_t base = c->n_aux, end = base + t->n_aux;
    vec *map = &c->b->shape->dense_map;
    if (end >= R1CS_INPUT) {
        cs_set_failure(c, cuzk_fail(CUZK_E_RANGE, "more than 2^31 - 1 aux variables"));
        return false;
    }
    size_t words = (end + 63) / 64;
    if (words > map->n) {
        if (!vec_reserve(map, words - map->n, sizeof(uint64_t)))
            return cs_oom(c);
        memset((uint64_t *)map->p + map->n, 0, (words - map->n) * sizeof(uint64_t));
        map->n = words;
    }
    uint64_t *bits = map->p;
    for (uint32_t i = 0; i < t->n_dense; i++)
        bits[(base + t->dense[i]) >> 6] |= 1ull << ((base + t->dense[i]) & 63);
    c->n_dense += t->n_dense;
    c->n_aux = end;
    return true;
}

static void add_instance(cs *c, const cs_template_call *call, uint32_t idx, uint64_t aux_base)
{
    cs_builder *b = c->b;
    r1cs_shape *s = b->shape;
    const r1cs_template *t = &((const r1cs_template *)s->templates.p)[idx];
    if (!vec_reserve(&s->segments, 1, sizeof(r1cs_segment)) ||
        !vec_reserve(&s->wires, call->n_wires, sizeof(r1cs_var))) {
        cs_oom(c);
        return;
    }
    cs_mark(c, &s->marks, b->n_rows, &b->last_mark_ns);
    memcpy((r1cs_var *)s->wires.p + s->wires.n, call->wires, call->n_wires * sizeof(r1cs_var));
    ((r1cs_segment *)s->segments.p)[s->segments.n++] =
        (r1cs_segment){.row_base = b->n_rows,
                       .n_rows = t->n_rows,
                       .tmpl = idx,
                       .aux_base = (uint32_t)aux_base,
                       .wires_off = s->wires.n};
    s->wires.n += call->n_wires;
    b->n_rows += t->n_rows;
}

void cs_template(cs *c, const cs_template_call *call)
{
    if (c->mode != CS_SHAPE || c->b->rec.active) {
        call->body(c, call->args);
        return;
    }
    if (c->st.code != CUZK_OK)
        return;
    uint64_t aux_base = c->n_aux;
    const r1cs_template *t = shape_find_template(c->b->shape, call->key, call->key_len);
    uint32_t idx = 0;
    if (t) {
        if (t->n_wires != call->n_wires || t->n_outs != call->n_outs) {
            cs_set_failure(c, cuzk_fail(CUZK_E_INTERNAL,
                                        "template replayed with %u wires, recorded with %u",
                                        call->n_wires, t->n_wires));
            return;
        }
        idx = (uint32_t)(t - (const r1cs_template *)c->b->shape->templates.p);
        if (!replay_aux(c, t))
            return;
        for (uint32_t i = 0; i < call->n_outs; i++)
            call->outs[i] = (r1cs_var)(aux_base + t->outs[i]);
    } else {
        cuzk_status st = record(c, call, &idx);
        if (st.code != CUZK_OK) {
            cs_set_failure(c, st);
            return;
        }
    }
    add_instance(c, call, idx, aux_base);
}
