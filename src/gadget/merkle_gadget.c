#include "gadget/merkle_gadget.h"

void merkle_shape_set(merkle_shape *s, merkle_hash hash, uint32_t base, uint32_t base_levels,
                      uint32_t sub, uint32_t top)
{
    *s = (merkle_shape){.hash = hash};
    CUZK_ASSERT(base_levels + 2 <= MERKLE_MAX_LEVELS);
    for (uint32_t i = 0; i < base_levels; i++)
        s->arity[s->n_levels++] = (uint8_t)base;
    if (sub)
        s->arity[s->n_levels++] = (uint8_t)sub;
    if (top)
        s->arity[s->n_levels++] = (uint8_t)top;
}

num merkle_hash_nums(cs *c, merkle_hash hash, uint32_t arity, const num *in)
{
    if (hash == MERKLE_SHA256)
        return sha256_gadget_hash2(c, &in[0], &in[1]);
    return poseidon_gadget_merkle(c, arity, in);
}

typedef struct element_args {
    merkle_hash hash;
    uint32_t arity, n_bits, idx;
    const fr *sib; /* NULL in shape mode */
    num cur;
    boolean bits[3];
    r1cs_var outs[4]; /* bits, then the parent */
} element_args;

static void element_body(cs *c, void *p)
{
    element_args *a = p;
    num sib[MERKLE_MAX_ARITY - 1], in[MERKLE_MAX_ARITY];
    for (uint32_t i = 0; i < a->n_bits; i++)
        a->bits[i] = boolean_alloc(c, a->idx >> i & 1);
    for (uint32_t i = 0; i + 1 < a->arity; i++)
        sib[i] = num_alloc(c, a->sib ? &a->sib[i] : &FR_ZERO);
    num_insert(c, in, a->arity, &a->cur, a->bits, sib);
    a->cur = merkle_hash_nums(c, a->hash, a->arity, in);
    for (uint32_t i = 0; i < a->n_bits; i++)
        a->outs[i] = a->bits[i].var;
    a->outs[a->n_bits] = a->cur.var;
}

/* A Poseidon element is one template. A SHA-256 one is not: its compressions are templates
 * themselves, shared with the labels. */
static void path_element(cs *c, element_args *a)
{
    if (a->hash == MERKLE_SHA256) {
        element_body(c, a);
        return;
    }
    struct {
        char name[8];
        uint64_t arity;
    } key = {"pathelm", a->arity};
    r1cs_var wire = a->cur.var;
    cs_template_call call = {&key, sizeof key, &wire, 1, element_body, a, a->outs, a->n_bits + 1};
    cs_template(c, &call);
    if (cs_is_shape(c)) {
        for (uint32_t i = 0; i < a->n_bits; i++)
            a->bits[i] = boolean_is(a->outs[i], false);
        a->cur.var = a->outs[a->n_bits];
    }
}

void merkle_por(cs *c, const merkle_shape *s, const merkle_values *v, const num *leaf,
                const num *root, bool public_root)
{
    boolean bits[3 * MERKLE_MAX_LEVELS];
    uint32_t n_bits = 0, n_sib = 0;
    element_args a = {.hash = s->hash, .cur = *leaf};
    for (uint32_t k = 0; k < s->n_levels; k++) {
        a.arity = s->arity[k];
        a.n_bits = (uint32_t)__builtin_ctz(a.arity);
        a.idx = v->idx ? v->idx[k] : 0;
        a.sib = v->sib ? v->sib + n_sib : NULL;
        cs_ns_push(c, "merkle tree hash %u", k);
        path_element(c, &a);
        cs_ns_pop(c);
        for (uint32_t i = 0; i < a.n_bits; i++)
            bits[n_bits++] = a.bits[i];
        n_sib += a.arity - 1;
    }
    cs_ns_push(c, "path input");
    num_pack_into_inputs(c, bits, n_bits);
    cs_ns_pop(c);
    cs_ns_push(c, "root");
    num own_root = root ? *root : num_alloc(c, &a.cur.val);
    num_enforce_equal(c, &a.cur, &own_root);
    if (public_root)
        num_inputize(c, &own_root);
    cs_ns_pop(c);
}

typedef struct given_args {
    merkle_hash hash;
    uint32_t arity;
    const boolean *bits;
    const num *siblings;
    num cur;
    r1cs_var outs[1];
} given_args;

static void given_body(cs *c, void *p)
{
    given_args *a = p;
    num in[MERKLE_MAX_ARITY];
    num_insert(c, in, a->arity, &a->cur, a->bits, a->siblings);
    a->cur = merkle_hash_nums(c, a->hash, a->arity, in);
    a->outs[0] = a->cur.var;
}

/* As path_element, but bits and siblings are wires. */
static void given_element(cs *c, given_args *a)
{
    if (a->hash == MERKLE_SHA256) {
        given_body(c, a);
        return;
    }
    struct {
        char name[8];
        uint64_t arity;
    } key = {"givenel", a->arity};
    r1cs_var wires[3 + MERKLE_MAX_ARITY];
    uint32_t n = 0, n_bits = (uint32_t)__builtin_ctz(a->arity);
    for (uint32_t i = 0; i < n_bits; i++)
        wires[n++] = a->bits[i].var;
    for (uint32_t i = 0; i + 1 < a->arity; i++)
        wires[n++] = a->siblings[i].var;
    wires[n++] = a->cur.var;
    cs_template_call call = {&key, sizeof key, wires, n, given_body, a, a->outs, 1};
    cs_template(c, &call);
    if (cs_is_shape(c))
        a->cur.var = a->outs[0];
}

void merkle_por_given(cs *c, const merkle_shape *s, const boolean *bits, const num *siblings,
                      const num *leaf, const num *root)
{
    given_args a = {.hash = s->hash, .bits = bits, .siblings = siblings, .cur = *leaf};
    for (uint32_t k = 0; k < s->n_levels; k++) {
        a.arity = s->arity[k];
        cs_ns_push(c, "merkle proof hash (height=%u)", k);
        given_element(c, &a);
        cs_ns_pop(c);
        a.bits += __builtin_ctz(a.arity);
        a.siblings += a.arity - 1;
    }
    num_enforce_equal(c, &a.cur, root);
}
