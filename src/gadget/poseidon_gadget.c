#include "gadget/poseidon_gadget.h"
#include "base/mem.h"
#include <string.h>

#define MAX_T (POSEIDON_MAX_ARITY + 1)
#define MAX_BASIS \
    (MAX_T +      \
     64) /* ONE, one s-box output per element of the last full round, one per partial round */

/* State element as a linear combination over the basis variables, and its value. */
typedef struct element {
    fr coef[MAX_BASIS];
    fr val;
} element;

typedef struct hash_state {
    cs *c;
    const poseidon_constants *k;
    r1cs_var basis[MAX_BASIS]; /* basis[0] = ONE */
    uint32_t n_basis;
    const fr *next_key;
    element e[MAX_T], t[MAX_T];
} hash_state;

typedef struct hash_args {
    const poseidon_constants *k;
    const fr *tag;
    const num *in;
    num out;
    r1cs_var outs[1];
} hash_args;

/* The s-box on variable l (plus pre_key when given): l2, l4, l5 + post, each with its row (post
 * NULL = 0). */
static num sbox(hash_state *h, const num *l, const fr *pre_key, const fr *post)
{
    cs *c = h->c;
    fr x = l->val, v2 = FR_ZERO, v4 = FR_ZERO, v5 = FR_ZERO, neg;
    if (!cs_is_shape(c)) {
        if (pre_key)
            fr_add(&x, &x, pre_key);
        fr_sqr(&v2, &x);
        fr_sqr(&v4, &v2);
        fr_mul(&v5, &v4, &x);
        if (post)
            fr_add(&v5, &v5, post);
    }
    num l2 = num_alloc(c, &v2);
    for (int side = CS_A; side <= CS_B; side++) {
        cs_term_one(c, (cs_side)side, l->var);
        if (pre_key)
            cs_term(c, (cs_side)side, pre_key, R1CS_ONE);
    }
    cs_term_one(c, CS_C, l2.var);
    cs_end_row(c);
    num l4 = num_alloc(c, &v4);
    cs_term_one(c, CS_A, l2.var);
    cs_term_one(c, CS_B, l2.var);
    cs_term_one(c, CS_C, l4.var);
    cs_end_row(c);
    num l5 = num_alloc(c, &v5);
    cs_term_one(c, CS_A, l->var);
    if (pre_key)
        cs_term(c, CS_A, pre_key, R1CS_ONE);
    cs_term_one(c, CS_B, l4.var);
    cs_term_one(c, CS_C, l5.var);
    if (post) {
        fr_neg(&neg, post);
        cs_term(c, CS_C, &neg, R1CS_ONE);
    }
    cs_end_row(c);
    return l5;
}

/* Turn an element's linear combination into a variable. */
static num allocate(hash_state *h, const element *e)
{
    num l = num_alloc(h->c, &e->val);
    if (cs_is_shape(h->c)) {
        for (uint32_t b = 0; b < h->n_basis; b++)
            cs_term(h->c, CS_A, &e->coef[b], h->basis[b]);
        cs_term_one(h->c, CS_B, R1CS_ONE);
        cs_term_one(h->c, CS_C, l.var);
        cs_end_row(h->c);
    }
    return l;
}

/* new_j = sum_i state_i M[i][j]. */
static void mix(hash_state *h, const fr *m)
{
    uint32_t t = h->k->t;
    bool shape = cs_is_shape(h->c);
    fr p;
    for (uint32_t j = 0; j < t; j++) {
        element *o = &h->t[j];
        o->val = FR_ZERO;
        memset(o->coef, 0, h->n_basis * sizeof(fr));
        for (uint32_t i = 0; i < t; i++) {
            const fr *w = &m[i * t + j];
            if (!shape) {
                fr_mul(&p, &h->e[i].val, w);
                fr_add(&o->val, &o->val, &p);
            }
            for (uint32_t b = 0; shape && b < h->n_basis; b++) {
                fr_mul(&p, &h->e[i].coef[b], w);
                fr_add(&o->coef[b], &o->coef[b], &p);
            }
        }
    }
    memcpy(h->e, h->t, t * sizeof *h->e);
}

/* new_0 = sum_i state_i w_i; new_j = state_j + state_0 v_(j-1). */
static void mix_sparse(hash_state *h, const fr *sparse)
{
    uint32_t t = h->k->t;
    const fr *w = sparse, *v = sparse + t;
    bool shape = cs_is_shape(h->c);
    element *first = &h->t[0];
    fr p;
    first->val = FR_ZERO;
    memset(first->coef, 0, h->n_basis * sizeof(fr));
    for (uint32_t i = 0; i < t; i++) {
        if (!shape) {
            fr_mul(&p, &h->e[i].val, &w[i]);
            fr_add(&first->val, &first->val, &p);
        }
        for (uint32_t b = 0; shape && b < h->n_basis; b++) {
            fr_mul(&p, &h->e[i].coef[b], &w[i]);
            fr_add(&first->coef[b], &first->coef[b], &p);
        }
    }
    for (uint32_t j = 1; j < t; j++) {
        fr_mul(&p, &h->e[0].val, &v[j - 1]);
        fr_add(&h->e[j].val, &h->e[j].val, &p);
        for (uint32_t b = 0; shape && b < h->n_basis; b++) {
            fr_mul(&p, &h->e[0].coef[b], &v[j - 1]);
            fr_add(&h->e[j].coef[b], &h->e[j].coef[b], &p);
        }
    }
    h->e[0] = *first;
}

/* After a full round every element is one fresh variable (element 0 of round 0: a constant). */
static void set_basis(hash_state *h, const num *vars)
{
    uint32_t t = h->k->t;
    h->n_basis = 1 + t;
    for (uint32_t i = 0; i < t; i++) {
        h->basis[1 + i] = vars[i].var;
        memset(h->e[i].coef, 0, sizeof h->e[i].coef);
        h->e[i].coef[1 + i] = FR_ONE;
        h->e[i].val = vars[i].val;
    }
}

static void first_round(hash_state *h, const hash_args *a)
{
    uint32_t t = h->k->t;
    const fr *pre = h->next_key, *post = h->next_key + t;
    num out[MAX_T];
    fr x, c0;
    fr_add(&x, a->tag, &pre[0]);
    fr_sqr(&c0, &x);
    fr_sqr(&c0, &c0);
    fr_mul(&c0, &c0, &x);
    fr_add(&c0, &c0, &post[0]);
    out[0] = (num){R1CS_ONE, c0};
    for (uint32_t i = 1; i < t; i++) {
        cs_ns_push(h->c, "first round/element %u", i);
        out[i] = sbox(h, &a->in[i - 1], &pre[i], &post[i]);
        cs_ns_pop(h->c);
    }
    set_basis(h, out);
    /* Element 0 is c0 * ONE. */
    h->e[0].coef[1] = FR_ZERO;
    h->e[0].coef[0] = c0;
    h->next_key = post + t;
}

static void full_round(hash_state *h, bool last)
{
    uint32_t t = h->k->t;
    num out[MAX_T];
    for (uint32_t i = 0; i < t; i++) {
        num l = allocate(h, &h->e[i]);
        out[i] = sbox(h, &l, NULL, last ? NULL : &h->next_key[i]);
    }
    if (!last)
        h->next_key += t;
    set_basis(h, out);
}

static void partial_round(hash_state *h, const fr *sparse)
{
    num l = allocate(h, &h->e[0]);
    num s = sbox(h, &l, NULL, h->next_key++);
    uint32_t b = h->n_basis++;
    h->basis[b] = s.var;
    for (uint32_t i = 0; i < h->k->t; i++)
        h->e[i].coef[b] = FR_ZERO;
    memset(h->e[0].coef, 0, h->n_basis * sizeof(fr));
    h->e[0].coef[b] = FR_ONE;
    h->e[0].val = s.val;
    mix_sparse(h, sparse);
}

static void run_rounds(hash_state *h, hash_args *a)
{
    const poseidon_constants *k = h->k;
    uint32_t half = k->r_f / 2;
    first_round(h, a);
    mix(h, k->mds);
    for (uint32_t r = 1; r < half; r++) {
        cs_ns_push(h->c, "initial full round %u", r);
        full_round(h, false);
        mix(h, r == half - 1 ? k->pre_sparse : k->mds);
        cs_ns_pop(h->c);
    }
    for (uint32_t r = 0; r < k->r_p; r++) {
        cs_ns_push(h->c, "partial round %u", r);
        partial_round(h, k->sparse + (size_t)r * (2 * k->t - 1));
        cs_ns_pop(h->c);
    }
    for (uint32_t r = 1; r <= half; r++) {
        cs_ns_push(h->c, "final full round %u", r);
        full_round(h, r == half);
        mix(h, k->mds);
        cs_ns_pop(h->c);
    }
    a->out = allocate(h, &h->e[1]);
    a->outs[0] = a->out.var;
}

static void hash_body(cs *c, void *p)
{
    hash_args *a = p;
    if (cs_is_fast(c)) {
        fr in[POSEIDON_MAX_ARITY];
        uint32_t n = (uint32_t)poseidon_trace_len(a->k);
        fr *trace = cs_take_nums(c, n);
        for (uint32_t i = 0; i < a->k->arity; i++)
            in[i] = a->in[i].val;
        a->out = (num){R1CS_ONE, FR_ZERO};
        if (!trace)
            return;
        poseidon_hash_trace(trace, a->k, a->tag, in);
        a->out = (num){(r1cs_var)(c->n_aux - 1), trace[n - 1]};
        return;
    }
    hash_state *h = mem_zalloc(sizeof *h, 64);
    if (!h) {
        cs_set_failure(c, cuzk_fail(CUZK_E_NOMEM, "poseidon gadget"));
        return;
    }
    h->c = c;
    h->k = a->k;
    h->basis[0] = R1CS_ONE;
    h->next_key = a->k->compressed_keys;
    run_rounds(h, a);
    mem_free(h);
}

num poseidon_gadget(cs *c, uint32_t arity, const fr *tag, const num *in)
{
    hash_args a = {.k = poseidon_constants_get(arity), .tag = tag, .in = in};
    if (!a.k) {
        cs_set_failure(c, cuzk_fail(CUZK_E_INTERNAL, "no Poseidon constants for arity %u", arity));
        return (num){R1CS_ONE, FR_ZERO};
    }
    struct {
        char name[8];
        uint64_t arity;
        fr tag;
    } key = {"poseidn", arity, *tag};
    r1cs_var wires[POSEIDON_MAX_ARITY];
    for (uint32_t i = 0; i < arity; i++)
        wires[i] = in[i].var;
    cs_template_call call = {&key, sizeof key, wires, arity, hash_body, &a, a.outs, 1};
    cs_template(c, &call);
    return cs_is_shape(c) ? (num){a.outs[0], FR_ZERO} : a.out;
}

num poseidon_gadget_merkle(cs *c, uint32_t arity, const num *in)
{
    const poseidon_constants *k = poseidon_constants_get(arity);
    return poseidon_gadget(c, arity, k ? &k->tag_merkle : &FR_ZERO, in);
}
