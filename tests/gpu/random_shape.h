/* Random constraint systems and (unsatisfying) witnesses: templates and loose rows with bits, field
 * elements, inputs, all sorts of coefficients, short and long rows. */
#ifndef RANDOM_SHAPE_H
#define RANDOM_SHAPE_H
#include "r1cs/cs.h"
#include <string.h>

#define RANDOM_SHAPE_KINDS 4u

typedef struct random_shape_pool {
    r1cs_var v[4096];
    uint32_t n;
    bool plain; /* bits and small coefficients only */
} random_shape_pool;

static inline uint64_t
random_shape_u64(uint64_t *s) /* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline fr random_shape_fr(uint64_t *s)
{
    fr x;
    for (int i = 0; i < 4; i++)
        x.l[i] = random_shape_u64(s);
    x.l[3] >>= 2; /* below r */
    return x;
}

static inline fr random_shape_coeff(uint64_t *s, bool plain)
{
    uint64_t r = random_shape_u64(s);
    fr x;
    fr_from_u64(&x, plain ? (uint64_t)1 << (r >> 8) % 4 * 13 : 1);
    switch (plain ? 0 : r % 8) {
    case 0:
    case 1:
        break;
    case 2:
    case 3:
        for (uint64_t k = (r >> 8) % (r >> 20 & 1 ? 12 : 253); k > 0; k--)
            fr_dbl(&x, &x);
        break;
    case 4:
        fr_from_u64(&x, ((uint64_t)1 << 46) + (r >> 8) % 3 - 1); /* around the bound of integers */
        break;
    case 5:
        fr_from_u64(&x, 1 + (r >> 8) % 100);
        break;
    default:
        return random_shape_fr(s);
    }
    if (r >> 40 & 1)
        fr_neg(&x, &x);
    return x;
}

static inline void random_shape_row(cs *c, uint64_t *s, const random_shape_pool *p)
{
    for (int side = 0; side < 3; side++) {
        uint64_t r = random_shape_u64(s), n = r % 4;
        if (r >> 8 & 1)
            n = r >> 9 & 15 ? (r >> 16) % 9 : (r >> 16) % 400;
        for (uint64_t i = 0; i < n; i++) {
            fr k = random_shape_coeff(s, p->plain);
            uint64_t at = random_shape_u64(s) % (p->n + 1);
            cs_term(c, (cs_side)side, &k, at == p->n ? R1CS_ONE : p->v[at]);
        }
    }
    cs_end_row(c);
}

static inline void random_shape_alloc(cs *c, uint64_t *s, random_shape_pool *p, uint32_t n)
{
    for (uint32_t i = 0; i < n && p->n < 4096; i++)
        p->v[p->n++] = random_shape_u64(s) % 3 ? cs_alloc_bit(c, false) : cs_alloc_num(c, &FR_ZERO);
}

typedef struct random_shape_args {
    uint64_t kind;
    const r1cs_var *wires;
    uint32_t n_wires;
    r1cs_var *out;
} random_shape_args;

static inline void random_shape_body(cs *c, void *args)
{
    random_shape_args *a = args;
    uint64_t s = 77 + a->kind;
    random_shape_pool p;
    memcpy(p.v, a->wires, a->n_wires * sizeof *p.v);
    p.n = a->n_wires;
    p.plain = a->kind == 0;
    if (p.plain)
        for (int i = 0; i < 300; i++)
            p.v[p.n++] = cs_alloc_bit(c, false);
    else
        random_shape_alloc(c, &s, &p, 20 + 30 * (uint32_t)a->kind);
    *a->out = p.v[p.n - 1];
    for (uint32_t k = 0; k < (p.plain ? 500 : 15 + 200 * a->kind); k++)
        random_shape_row(c, &s, &p);
}

/* An instance of a template: its wires are the first distinct variables found. */
static inline void random_shape_instance(cs *c, uint64_t *s, random_shape_pool *p)
{
    r1cs_var wires[6], out = 0;
    uint64_t kind = random_shape_u64(s) % RANDOM_SHAPE_KINDS;
    random_shape_args a = {p->plain ? 0 : kind, wires, 0, &out};
    uint32_t first = (uint32_t)(random_shape_u64(s) % (p->n - 6));
    for (; a.n_wires < 6; a.n_wires++)
        wires[a.n_wires] = p->v[first + a.n_wires];
    cs_template_call call = {.key = &a.kind,
                             .key_len = sizeof a.kind,
                             .wires = wires,
                             .n_wires = 6,
                             .body = random_shape_body,
                             .args = &a,
                             .outs = &out,
                             .n_outs = 1};
    cs_template(c, &call);
    if (p->n < 4096)
        p->v[p->n++] = out;
}

/* n_parts stretches, each a template instance or some loose rows; for every fourth seed instances of
 * bits, with no field element but the inputs. */
static inline cuzk_status random_shape_make(r1cs_shape **out, uint64_t seed, uint32_t n_parts)
{
    static random_shape_pool p; /* tests run on one thread */
    cs c;
    p.n = 0;
    p.plain = seed % 4 == 0;
    *out = NULL;
    CUZK_TRY(cs_init_shape(&c, "random"));
    for (int i = 0; i < 7; i++) {
        r1cs_var v = cs_alloc_input(&c, &FR_ZERO);
        if (!p.plain)
            p.v[p.n++] = v;
    }
    for (int i = 0; i < 20 && p.plain; i++)
        p.v[p.n++] = cs_alloc_bit(&c, false);
    if (!p.plain)
        random_shape_alloc(&c, &seed, &p, 40);
    for (uint32_t i = 0; i < n_parts; i++) {
        uint64_t r = random_shape_u64(&seed);
        if (p.plain || r % 3) {
            random_shape_instance(&c, &seed, &p);
            continue;
        }
        random_shape_alloc(&c, &seed, &p, (uint32_t)(r >> 8) % 8);
        for (uint64_t k = 0; k < 1 + (r >> 16) % 5; k++)
            random_shape_row(&c, &seed, &p);
    }
    cuzk_status st = cs_finish_shape(&c, out);
    cs_fini(&c);
    return st;
}

/* Any values of the right types. */
static inline cuzk_status random_shape_witness(witness *w, const r1cs_shape *s, uint64_t seed)
{
    CUZK_TRY(witness_init(w, s));
    for (uint64_t i = 1; i < w->n_inputs; i++)
        w->inputs[i] = random_shape_fr(&seed);
    for (uint64_t k = 0; k < (w->n_aux + 63) / 64; k++) {
        w->bits[k] = random_shape_u64(&seed) & ~w->dense_map[k];
        if (k == w->n_aux / 64)
            w->bits[k] &= ((uint64_t)1 << (w->n_aux & 63)) - 1;
    }
    for (uint64_t i = 0; i < w->n_dense; i++)
        w->dense[i] = random_shape_u64(&seed) % 5 ? random_shape_fr(&seed) : FR_ZERO;
    return cuzk_ok();
}
#endif
