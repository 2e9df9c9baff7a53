/* Copying a shape into one block: the same walk first measures, then copies. */
#include "r1cs/copy.h"
#include "r1cs/shape_int.h"
#include <string.h>

/* Where the next part goes; at = NULL while measuring. */
typedef struct block {
    uint8_t *at;
    size_t used;
} block;

static void *put(block *b, const void *from, size_t bytes)
{
    void *to = b->at ? b->at + b->used : NULL;
    if (to && bytes)
        memcpy(to, from, bytes);
    b->used += (bytes + 63) & ~(size_t)63;
    return to;
}

static void put_vec(block *b, vec *v, size_t elem_bytes)
{
    v->p = put(b, v->p, v->n * elem_bytes);
    v->cap = v->n;
}

static void put_rows(block *b, row_store *r)
{
    put_vec(b, &r->off, sizeof(uint64_t));
    put_vec(b, &r->terms, sizeof(r1cs_term));
}

static void put_template(block *b, r1cs_template *t)
{
    size_t n_local = 1 + (size_t)t->n_wires + t->n_aux;
    t->key = put(b, t->key, t->key_len);
    put_rows(b, &t->rows);
    t->outs = put(b, t->outs, t->n_outs * sizeof *t->outs);
    t->dense = put(b, t->dense, t->n_dense * sizeof *t->dense);
    t->runs = t->runs ? put(b, t->runs, t->n_runs * sizeof *t->runs) : NULL;
    t->in_a = put(b, t->in_a, n_local);
    t->in_b = put(b, t->in_b, n_local);
    t->marks = put(b, t->marks, t->n_marks * sizeof *t->marks);
}

/* *s holds the source's pointers and gets those into the block. */
static void put_parts(block *b, r1cs_shape *s)
{
    const struct {
        vec *v;
        size_t elem_bytes;
    } plain[] = {{&s->coeffs, sizeof(fr)},
                 {&s->segments, sizeof(r1cs_segment)},
                 {&s->wires, sizeof(r1cs_var)},
                 {&s->dense_map, 8},
                 {&s->a_map, 8},
                 {&s->b_map, 8},
                 {&s->dense_rank, 4},
                 {&s->b_input, 1},
                 {&s->ns_nodes, sizeof(ns_node)},
                 {&s->ns_text, 1},
                 {&s->marks, sizeof(ns_mark)}};
    s->name = put(b, s->name, strlen(s->name) + 1);
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        put_vec(b, plain[i].v, plain[i].elem_bytes);
    put_rows(b, &s->loose);
    const r1cs_template *from = s->templates.p;
    put_vec(b, &s->templates, sizeof(r1cs_template));
    for (size_t i = 0; i < s->templates.n; i++) {
        r1cs_template t = from[i];
        put_template(b, b->at ? &((r1cs_template *)s->templates.p)[i] : &t);
    }
}

size_t r1cs_shape_copy_bytes(const r1cs_shape *s)
{
    block b = {0};
    r1cs_shape c = *s;
    put(&b, s, sizeof *s);
    put_parts(&b, &c);
    return b.used;
}

const r1cs_shape *r1cs_shape_copy(void *to, const r1cs_shape *s)
{
    block b = {.at = to};
    r1cs_shape *c = put(&b, s, sizeof *s);
    put_parts(&b, c);
    return c;
}
