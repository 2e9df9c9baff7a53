#include "gadget/sha256_gadget.h"
#include "base/mem.h"
#include "hash/sha256.h"
#include <stddef.h>
#include <string.h>

/* MultiEq: equalities of up to 36 bits packed side by side into one row while they fit in 254 bits
 * (circuits.md B.4). */
#define MEQ_MAX_LEFT 2560u
#define MEQ_MAX_RIGHT 288u
typedef struct meq_term {
    boolean b;
    uint32_t pow;
} meq_term;
typedef struct multieq {
    cs *c;
    fr pow2[PACK_BITS + 40];
    uint32_t used, n_left, n_right;
    meq_term left[MEQ_MAX_LEFT], right[MEQ_MAX_RIGHT];
} multieq;

/* The body's working set; one compression at a time, so it can live in one heap block (frames stay
 * small). */
typedef struct compress_args {
    const word32 *state, *block;
    word32 *out;
    r1cs_var outs[256];
    multieq meq;
    word32 w[64];
} compress_args;

static void meq_flush(multieq *m)
{
    if (m->used == 0)
        return;
    for (uint32_t i = 0; i < m->n_left; i++)
        boolean_term(m->c, CS_A, &m->pow2[m->left[i].pow], m->left[i].b);
    cs_term_one(m->c, CS_B, R1CS_ONE);
    for (uint32_t i = 0; i < m->n_right; i++)
        boolean_term(m->c, CS_C, &m->pow2[m->right[i].pow], m->right[i].b);
    cs_end_row(m->c);
    m->used = m->n_left = m->n_right = 0;
}

static uint32_t word_value(const word32 *w)
{
    uint32_t v = 0;
    for (uint32_t i = 0; i < 32; i++)
        v |= (uint32_t)w->b[i].val << i;
    return v;
}

static bool word_is_const(const word32 *w)
{
    for (uint32_t i = 0; i < 32; i++)
        if (w->b[i].kind != BOOL_CONST)
            return false;
    return true;
}

static word32 word_const(uint32_t v)
{
    word32 w;
    for (uint32_t i = 0; i < 32; i++)
        w.b[i] = boolean_const(v >> i & 1);
    return w;
}

/* Sum of n_ops words mod 2^32; allocates the bits of the full sum. bit: address of the 64-bit sum
 * in the trace. */
static void addmany(multieq *m, word32 *out, const word32 *const *ops, uint32_t n_ops, uint32_t bit)
{
    uint64_t sum = 0;
    bool all_const = true;
    for (uint32_t k = 0; k < n_ops; k++) {
        sum += word_value(ops[k]);
        all_const = all_const && word_is_const(ops[k]);
    }
    if (all_const) {
        *out = word_const((uint32_t)sum);
        return;
    }
    uint32_t n = 64 - (uint32_t)__builtin_clzll((uint64_t)n_ops * UINT32_MAX);
    boolean full[40];
    for (uint32_t i = 0; i < n; i++)
        full[i] = boolean_alloc_tagged(m->c, sum >> i & 1, (bit + i) << 1);
    if (m->used + n >= PACK_BITS)
        meq_flush(m);
    CUZK_ASSERT(m->n_left + 32 * n_ops <= MEQ_MAX_LEFT && m->n_right + n <= MEQ_MAX_RIGHT);
    if (cs_is_shape(m->c)) {
        for (uint32_t k = 0; k < n_ops; k++)
            for (uint32_t i = 0; i < 32; i++)
                m->left[m->n_left++] = (meq_term){ops[k]->b[i], m->used + i};
        for (uint32_t i = 0; i < n; i++)
            m->right[m->n_right++] = (meq_term){full[i], m->used + i};
    }
    m->used += n;
    memcpy(out->b, full, sizeof out->b);
}

static word32 rotr(const word32 *w, uint32_t n)
{
    word32 o;
    for (uint32_t i = 0; i < 32; i++)
        o.b[i] = w->b[(i + n) % 32];
    return o;
}

static word32 shr(const word32 *w, uint32_t n)
{
    word32 o;
    for (uint32_t i = 0; i < 32; i++)
        o.b[i] = i + n < 32 ? w->b[i + n] : boolean_const(false);
    return o;
}

static word32 xor
    (cs * c, const word32 *x, const word32 *y, uint32_t bit) {
        word32 o;
        for (uint32_t i = 0; i < 32; i++)
            o.b[i] = boolean_xor(c, x->b[i], y->b[i], bit + i);
        return o;
    }

    /* (x ^ y) ^ z with the trace addresses of both xors. */
    static word32 xor3(cs *c, word32 x, word32 y, word32 z, uint32_t bit_t, uint32_t bit)
{
    word32 t = xor(c, &x, &y, bit_t);
    return xor(c, &t, &z, bit);
}

/* Bit address of element i of a sha256_trace member. */
#define AT(member, i) \
    ((uint32_t)(8 *   \
                (offsetof(sha256_trace, member) + (i) * sizeof(((sha256_trace *)0)->member[0]))))

static void schedule(cs *c, compress_args *a)
{
    word32 *w = a->w;
    memcpy(w, a->block, 16 * sizeof *w);
    for (uint32_t i = 16; i < 64; i++) {
        cs_ns_push(c, "w extension %u", i);
        word32 s0 = xor3(c, rotr(&w[i - 15], 7), rotr(&w[i - 15], 18), shr(&w[i - 15], 3),
                         AT(s0w_t, i), AT(s0w, i));
        word32 s1 = xor3(c, rotr(&w[i - 2], 17), rotr(&w[i - 2], 19), shr(&w[i - 2], 10),
                         AT(s1w_t, i), AT(s1w, i));
        const word32 *ops[] = {&w[i - 16], &s0, &w[i - 7], &s1};
        addmany(&a->meq, &w[i], ops, 4, AT(w_sum, i));
        cs_ns_pop(c);
    }
}

/* A word that is either known or still a list of summands. */
typedef struct deferred {
    word32 parts[7];
    uint32_t n;
} deferred;

static void concrete(multieq *m, word32 *out, const deferred *d, uint32_t bit)
{
    const word32 *ops[7];
    for (uint32_t i = 0; i < d->n; i++)
        ops[i] = &d->parts[i];
    if (d->n == 1)
        *out = d->parts[0];
    else
        addmany(m, out, ops, d->n, bit);
}

/* Working variables; a and e are deferred, v[1..3] = b, c, d and v[5..7] = f, g, h. */
typedef struct rounds_state {
    deferred a, e;
    word32 v[8];
} rounds_state;

static void one_round(cs *c, compress_args *args, rounds_state *s, uint32_t i)
{
    word32 e, a, ch, maj, *v = s->v;
    cs_ns_push(c, "compression round %u", i);
    concrete(&args->meq, &e, &s->e, AT(e_sum, i));
    word32 S1 = xor3(c, rotr(&e, 6), rotr(&e, 11), rotr(&e, 25), AT(S1_t, i), AT(S1, i));
    for (uint32_t k = 0; k < 32; k++)
        ch.b[k] = boolean_ch(c, e.b[k], v[5].b[k], v[6].b[k], AT(ch, i) + k);
    deferred t1 = {.parts = {v[7], S1, ch, word_const(SHA256_K[i]), args->w[i]}, .n = 5};
    concrete(&args->meq, &a, &s->a, AT(a_sum, i));
    word32 S0 = xor3(c, rotr(&a, 2), rotr(&a, 13), rotr(&a, 22), AT(S0_t, i), AT(S0, i));
    for (uint32_t k = 0; k < 32; k++)
        maj.b[k] = boolean_maj(c, a.b[k], v[1].b[k], v[2].b[k], AT(maj, i) + k, AT(maj_bc, i) + k);
    v[7] = v[6];
    v[6] = v[5];
    v[5] = e;
    s->e = t1;
    s->e.parts[s->e.n++] = v[3];
    v[3] = v[2];
    v[2] = v[1];
    v[1] = a;
    s->a = t1;
    s->a.parts[s->a.n++] = S0;
    s->a.parts[s->a.n++] = maj;
    cs_ns_pop(c);
}

static void final_sums(cs *c, compress_args *args, const rounds_state *s)
{
    for (uint32_t k = 0; k < 8; k++) {
        const word32 *ops[8];
        uint32_t n = 0;
        const deferred *d = k == 0 ? &s->a : k == 4 ? &s->e : NULL;
        for (uint32_t i = 0; d && i < d->n; i++)
            ops[n++] = &d->parts[i];
        /* Operand order does not matter: terms of a row are a sum. */
        ops[n++] = &args->state[k];
        if (!d)
            ops[n++] = &s->v[k];
        cs_ns_push(c, "new h%u", k);
        addmany(&args->meq, &args->out[k], ops, n, AT(out_sum, k));
        cs_ns_pop(c);
    }
}

static void compress_body(cs *c, void *p)
{
    compress_args *a = p;
    a->meq.c = c;
    a->meq.used = a->meq.n_left = a->meq.n_right = 0;
    if (cs_is_shape(c)) {
        a->meq.pow2[0] = FR_ONE;
        for (uint32_t i = 1; i < ARRAY_LEN(a->meq.pow2); i++)
            fr_dbl(&a->meq.pow2[i], &a->meq.pow2[i - 1]);
    }
    schedule(c, a);
    rounds_state s;
    s.a = (deferred){.parts = {a->state[0]}, .n = 1};
    s.e = (deferred){.parts = {a->state[4]}, .n = 1};
    memcpy(s.v, a->state, sizeof s.v);
    for (uint32_t i = 0; i < 64; i++)
        one_round(c, a, &s, i);
    final_sums(c, a, &s);
    meq_flush(&a->meq);
    for (uint32_t k = 0; k < 256; k++)
        a->outs[k] = a->out[k / 32].b[k % 32].var;
}

/* Key: a name and the kinds of all 768 booleans (constants with their value); wires: the variables
 * in order. */
typedef struct compress_key {
    char name[8];
    uint8_t kinds[24 * 32];
} compress_key;

static uint32_t make_key(compress_key *key, r1cs_var *wires, const word32 *state,
                         const word32 *block)
{
    uint32_t n = 0;
    memcpy(key->name, "sha256c", 8);
    for (uint32_t k = 0; k < 24; k++) {
        const word32 *w = k < 8 ? &state[k] : &block[k - 8];
        for (uint32_t i = 0; i < 32; i++) {
            boolean b = w->b[i];
            key->kinds[32 * k + i] = (uint8_t)(b.kind == BOOL_CONST ? 4 + b.val : b.kind);
            if (b.kind != BOOL_CONST && wires)
                wires[n] = b.var;
            n += b.kind != BOOL_CONST;
        }
    }
    return n;
}

static bool compress_fast(cs *c, word32 out[8], const word32 state[8], const word32 block[16])
{
    compress_key key;
    r1cs_template_runs runs;
    if (make_key(&key, NULL, state, block) == 0 ||
        !r1cs_shape_template_runs(c->shape, &key, sizeof key, &runs))
        return false;
    struct {
        sha256_trace t;
        uint64_t spare; /* cs_write_runs reads whole 8-byte words */
    } trace;
    uint32_t h[8], w[16];
    for (uint32_t k = 0; k < 8; k++)
        h[k] = word_value(&state[k]);
    for (uint32_t k = 0; k < 16; k++)
        w[k] = word_value(&block[k]);
    sha256_compress_trace(&trace.t, h, w);
    r1cs_var base = (r1cs_var)c->n_aux;
    cs_write_runs(c, &runs, &trace);
    for (uint32_t k = 0; k < 256; k++)
        out[k / 32].b[k % 32] =
            boolean_is(base + runs.outs[k], trace.t.out[k / 32] >> (k % 32) & 1);
    return true;
}

void sha256_gadget_compress(cs *c, word32 out[8], const word32 state[8], const word32 block[16])
{
    if (cs_is_fast(c) && compress_fast(c, out, state, block))
        return;
    compress_args *a = mem_alloc(sizeof *a, 64);
    if (!a) {
        cs_set_failure(c, cuzk_fail(CUZK_E_NOMEM, "sha256 gadget"));
        memset(out, 0, 8 * sizeof *out);
        return;
    }
    compress_key key;
    r1cs_var wires[24 * 32];
    uint32_t n_wires = make_key(&key, wires, state, block);
    word32 res[8];
    memset(res, 0, sizeof res);
    a->state = state;
    a->block = block;
    a->out = res;
    if (n_wires == 0) {
        compress_body(c, a);
    } else {
        cs_template_call call = {&key, sizeof key, wires, n_wires, compress_body, a, a->outs, 256};
        cs_template(c, &call);
        if (cs_is_shape(c))
            for (uint32_t k = 0; k < 256; k++)
                res[k / 32].b[k % 32] = boolean_is(a->outs[k], false);
    }
    memcpy(out, res, sizeof res);
    mem_free(a);
}

/* 512 stream-order bits to 16 words. */
static void bits_to_words(word32 *w, const boolean *bits, uint32_t n_words)
{
    for (uint32_t k = 0; k < n_words; k++)
        for (uint32_t i = 0; i < 32; i++)
            w[k].b[i] = bits[32 * k + 31 - i];
}

/* Bit i of the padded message of n bits. */
static boolean padded_bit(const boolean *bits, uint32_t n, uint32_t total, uint32_t i)
{
    if (i < n)
        return bits[i];
    if (i == n)
        return boolean_const(true);
    return boolean_const(i >= total - 64 && ((uint64_t)n >> (total - 1 - i) & 1));
}

void sha256_gadget(cs *c, boolean out[256], const boolean *bits, uint32_t n)
{
    uint32_t total = (n + 1 + 64 + 511) / 512 * 512;
    word32 state[8], block[16];
    boolean chunk[512];
    for (uint32_t k = 0; k < 8; k++)
        state[k] = word_const(SHA256_IV[k]);
    for (uint32_t at = 0; at < total; at += 512) {
        for (uint32_t i = 0; i < 512; i++)
            chunk[i] = padded_bit(bits, n, total, at + i);
        bits_to_words(block, chunk, 16);
        cs_ns_push(c, "block %u", at / 512);
        sha256_gadget_compress(c, state, state, block);
        cs_ns_pop(c);
    }
    for (uint32_t k = 0; k < 8; k++)
        for (uint32_t i = 0; i < 32; i++)
            out[32 * k + i] = state[k].b[31 - i];
}

uint32_t sha256_gadget_reverse_bytes(boolean *out, const boolean *bits, uint32_t n)
{
    uint32_t padded = (n + 7) / 8 * 8;
    for (uint32_t i = 0; i < padded; i++) {
        uint32_t from = i / 8 * 8 + 7 - i % 8;
        out[i] = from < n ? bits[from] : boolean_const(false);
    }
    return padded;
}

num sha256_gadget_hash2(cs *c, const num *a, const num *b)
{
    boolean bits[NUM_BITS], msg[512], digest[256], le[256];
    num_to_bits_le(c, bits, a);
    sha256_gadget_reverse_bytes(msg, bits, NUM_BITS);
    num_to_bits_le(c, bits, b);
    sha256_gadget_reverse_bytes(msg + 256, bits, NUM_BITS);
    cs_ns_push(c, "hash");
    sha256_gadget(c, digest, msg, 512);
    cs_ns_pop(c);
    sha256_gadget_reverse_bytes(le, digest, 256);
    return num_pack_bits(c, le, 256);
}

void sha256_gadget_const_be(boolean out[32], uint32_t v)
{
    for (uint32_t i = 0; i < 32; i++)
        out[i] = boolean_const(v >> (31 - i) & 1);
}
