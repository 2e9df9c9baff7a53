#include "gadget/num.h"
#include <string.h>

num num_alloc(cs *c, const fr *val) { return (num){cs_alloc_num(c, val), *val}; }

void num_inputize(cs *c, const num *n)
{
    r1cs_var x = cs_alloc_input(c, &n->val);
    cs_term_one(c, CS_A, x);
    cs_term_one(c, CS_B, R1CS_ONE);
    cs_term_one(c, CS_C, n->var);
    cs_end_row(c);
}

num num_mul(cs *c, const num *a, const num *b)
{
    fr v = FR_ZERO;
    if (!cs_is_shape(c))
        fr_mul(&v, &a->val, &b->val);
    num p = num_alloc(c, &v);
    cs_term_one(c, CS_A, a->var);
    cs_term_one(c, CS_B, b->var);
    cs_term_one(c, CS_C, p.var);
    cs_end_row(c);
    return p;
}

num num_add(cs *c, const num *a, const num *b)
{
    fr v = FR_ZERO;
    if (!cs_is_shape(c))
        fr_add(&v, &a->val, &b->val);
    num s = num_alloc(c, &v);
    cs_term_one(c, CS_A, a->var);
    cs_term_one(c, CS_A, b->var);
    cs_term_one(c, CS_B, R1CS_ONE);
    cs_term_one(c, CS_C, s.var);
    cs_end_row(c);
    return s;
}

void num_enforce_equal(cs *c, const num *a, const num *b)
{
    cs_term_one(c, CS_A, a->var);
    cs_term_one(c, CS_B, R1CS_ONE);
    cs_term_one(c, CS_C, b->var);
    cs_end_row(c);
}

void num_alloc_bits_le(cs *c, boolean out[NUM_BITS], const fr *val)
{
    fr_int v = {{0}};
    if (!cs_is_shape(c))
        fr_to_int(&v, val);
    if (cs_is_fast(c)) {
        r1cs_var base = (r1cs_var)c->n_aux;
        cs_write_bits(c, v.l, NUM_BITS);
        for (uint32_t i = 0; i < NUM_BITS; i++)
            out[i] = boolean_is(base + i, v.l[i / 64] >> (i & 63) & 1);
        return;
    }
    for (uint32_t i = 0; i < NUM_BITS; i++)
        out[i] = boolean_alloc(c, v.l[i / 64] >> (i & 63) & 1);
}

void num_pow2_terms(cs *c, cs_side side, const boolean *bits, uint32_t n)
{
    if (!cs_is_shape(c))
        return;
    fr k = FR_ONE;
    for (uint32_t i = 0; i < n; i++) {
        boolean_term(c, side, &k, bits[i]);
        fr_dbl(&k, &k);
    }
}

typedef struct to_bits_args {
    boolean *out;
    const num *n;
    r1cs_var outs[NUM_BITS];
} to_bits_args;

static void to_bits_body(cs *c, void *p)
{
    to_bits_args *a = p;
    num_alloc_bits_le(c, a->out, &a->n->val);
    num_pow2_terms(c, CS_C, a->out, NUM_BITS);
    cs_term_minus(c, CS_C, a->n->var);
    cs_end_row(c);
    for (uint32_t i = 0; i < NUM_BITS; i++)
        a->outs[i] = a->out[i].var;
}

void num_to_bits_le(cs *c, boolean out[NUM_BITS], const num *n)
{
    to_bits_args a = {.out = out, .n = n};
    cs_template_call call = {"to_bits_le", 10, &n->var, 1, to_bits_body, &a, a.outs, NUM_BITS};
    cs_ns_push(c, "bits");
    cs_template(c, &call);
    cs_ns_pop(c);
    if (cs_is_shape(c))
        for (uint32_t i = 0; i < NUM_BITS; i++)
            out[i] = boolean_is(a.outs[i], false);
}

void num_bits_value(fr *out, const boolean *bits, uint32_t n)
{
    fr_int v = {{0}};
    for (uint32_t i = 0; i < n; i++)
        v.l[i / 64] |= (uint64_t)bits[i].val << (i & 63);
    fr_from_int(out, &v);
}

num num_pack_bits(cs *c, const boolean *bits, uint32_t n)
{
    if (n > PACK_BITS)
        n = PACK_BITS;
    fr v = FR_ZERO;
    if (!cs_is_shape(c))
        num_bits_value(&v, bits, n);
    num p = num_alloc(c, &v);
    num_pow2_terms(c, CS_A, bits, n);
    cs_term_one(c, CS_B, R1CS_ONE);
    cs_term_one(c, CS_C, p.var);
    cs_end_row(c);
    return p;
}

void num_pack_into_inputs(cs *c, const boolean *bits, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += PACK_BITS) {
        uint32_t len = n - i < PACK_BITS ? n - i : PACK_BITS;
        fr v = FR_ZERO;
        if (!cs_is_shape(c))
            num_bits_value(&v, bits + i, len);
        r1cs_var x = cs_alloc_input(c, &v);
        num_pow2_terms(c, CS_A, bits + i, len);
        cs_term_one(c, CS_B, R1CS_ONE);
        cs_term_one(c, CS_C, x);
        cs_end_row(c);
    }
}

num num_pick(cs *c, boolean cond, const num *a, const num *b)
{
    num o = num_alloc(c, cond.val ? &a->val : &b->val);
    if (cs_is_shape(c)) {
        cs_term_one(c, CS_A, b->var);
        cs_term_minus(c, CS_A, a->var);
        boolean_term(c, CS_B, &FR_ONE, cond);
        cs_term_one(c, CS_C, b->var);
        cs_term_minus(c, CS_C, o.var);
        cs_end_row(c);
    }
    return o;
}

num num_select(cs *c, const num *from, uint32_t n_bits, const boolean *bits, num *scratch)
{
    const num *state = from;
    for (uint32_t k = n_bits; k-- > 0;) {
        uint32_t half = 1u << k;
        for (uint32_t j = 0; j < half; j++)
            scratch[j] = num_pick(c, bits[k], &state[half + j], &state[j]);
        state = scratch;
    }
    return state[0];
}

static void insert2(cs *c, num *o, const num *a, const boolean *b, const num *e)
{
    o[0] = num_pick(c, b[0], &e[0], a);
    o[1] = num_pick(c, b[0], a, &e[0]);
}

static void insert4(cs *c, num *o, const num *a, const boolean *b, const num *e)
{
    num t = num_pick(c, b[0], &e[0], a);
    o[0] = num_pick(c, b[1], &e[0], &t);
    t = num_pick(c, b[0], a, &e[0]);
    o[1] = num_pick(c, b[1], &e[1], &t);
    t = num_pick(c, b[0], &e[2], a);
    o[2] = num_pick(c, b[1], &t, &e[1]);
    t = num_pick(c, b[0], a, &e[2]);
    o[3] = num_pick(c, b[1], &t, &e[2]);
}

static void insert8(cs *c, num *o, const num *a, const boolean *b, const num *e)
{
    /* nor and and of the low two bits: they pick the corner positions in one step. */
    boolean nor = boolean_and(c, boolean_not(b[0]), boolean_not(b[1]), BOOL_NO_TAG);
    boolean both = boolean_and(c, b[0], b[1], BOOL_NO_TAG);
    num t = num_pick(c, nor, a, &e[0]);
    o[0] = num_pick(c, b[2], &e[0], &t);
    t = num_pick(c, b[0], a, &e[0]);
    t = num_pick(c, b[1], &e[1], &t);
    o[1] = num_pick(c, b[2], &e[1], &t);
    t = num_pick(c, b[0], &e[2], a);
    t = num_pick(c, b[1], &t, &e[1]);
    o[2] = num_pick(c, b[2], &e[2], &t);
    t = num_pick(c, both, a, &e[2]);
    o[3] = num_pick(c, b[2], &e[3], &t);
    t = num_pick(c, nor, a, &e[4]);
    o[4] = num_pick(c, b[2], &t, &e[3]);
    t = num_pick(c, b[0], a, &e[4]);
    t = num_pick(c, b[1], &e[5], &t);
    o[5] = num_pick(c, b[2], &t, &e[4]);
    t = num_pick(c, b[0], &e[6], a);
    t = num_pick(c, b[1], &t, &e[5]);
    o[6] = num_pick(c, b[2], &t, &e[5]);
    t = num_pick(c, both, a, &e[6]);
    o[7] = num_pick(c, b[2], &t, &e[6]);
}

/* Any other power of two: out[pos] selects column pos of the n candidate rows (el inserted at row
 * r). */
static void insert_generic(cs *c, num *o, uint32_t n, const num *a, const boolean *b, const num *e)
{
    num col[64] = {0}, scratch[32];
    CUZK_ASSERT(n >= 16 && n <= ARRAY_LEN(col));
    uint32_t n_bits = (uint32_t)__builtin_ctz(n);
    for (uint32_t pos = 0; pos < n; pos++) {
        for (uint32_t row = 0; row < n; row++)
            col[row] = pos == row ? *a : e[pos < row ? pos : pos - 1];
        o[pos] = num_select(c, col, n_bits, b, scratch);
    }
}

void num_insert(cs *c, num *out, uint32_t n, const num *el, const boolean *bits, const num *els)
{
    if (n == 2)
        insert2(c, out, el, bits, els);
    else if (n == 4)
        insert4(c, out, el, bits, els);
    else if (n == 8)
        insert8(c, out, el, bits, els);
    else
        insert_generic(c, out, n, el, bits, els);
}
