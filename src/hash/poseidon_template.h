/* The Poseidon permutation in its optimised form. Included once by poseidon_portable.c and once by
 * poseidon_adx.c, which define CUZK_ISA_ADX (or not) and POSEIDON_FN(name) before.
 *
 * With a trace, every s-box also stores what the circuit allocates. A trace costs only those
 * stores, since the values the circuit needs (each s-box's input and powers) are the ones computed
 * anyway. */
#include "ff/fr_inline.h"
#include "hash/poseidon_dot.h"
#include "hash/poseidon_int.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Limb by limb: a vector load of limbs just stored one by one would wait for the store buffer. */
ALWAYS_INLINE void copy(fr *o, const fr *a)
{
    for (unsigned i = 0; i < 4; i++)
        limb_store(&o->l[i], limb_load(&a->l[i]));
}

/* *o = e^5 + post (post may be NULL; o may be e). trace: NULL, or the place of (e if with_input),
 * e^2, e^4, result.
 * Returns the place behind. */
ALWAYS_INLINE fr *sbox(fr *o, const fr *e, const fr *post, fr *trace, bool with_input)
{
    fr x2, x4;
    if (trace && with_input)
        copy(trace++, e);
    fri_sqr(&x2, e);
    fri_sqr(&x4, &x2);
    fri_mul(o, &x4, e);
    if (post)
        fri_add(o, o, post);
    if (trace) {
        copy(trace++, &x2);
        copy(trace++, &x4);
        copy(trace++, o);
    }
    return trace;
}

ALWAYS_INLINE void mix(fr *o, const fr *s, const fr *cols, size_t t)
{
    for (size_t j = 0; j < t; j++)
        dot(&o[j], s, cols + j * t, t);
}

/* s-box with post-keys on every element, then the matrix with the given columns. */
ALWAYS_INLINE fr *full_round(fr *s, const fr *post, const fr *cols, size_t t, fr *trace)
{
    fr powers[POSEIDON_MAX_T];
    for (size_t j = 0; j < t; j++)
        trace = sbox(&powers[j], &s[j], &post[j], trace, true);
    mix(s, powers, cols, t);
    return trace;
}

/* See poseidon_fast for the form. z: the block's u_1..u_(t-1), then its s-box outputs. */
ALWAYS_INLINE fr *partial_rounds(fr *s, const fr *keys, const poseidon_constants *c, size_t t,
                                 fr *trace)
{
    fr z[POSEIDON_MAX_T - 1 + POSEIDON_BLOCK_MAX], add;
    const fr *tab = c->fast->partial;
    const size_t block_len = c->fast->block_len, r_p = c->r_p;
    for (size_t j = 0; j < t - 1; j++)
        copy(&z[j], &s[j + 1]);
    for (size_t r = 0; r < r_p;) {
        const size_t len = r_p - r < block_len ? r_p - r : block_len;
        for (size_t q = 0; q < len; q++, r++) {
            trace = sbox(&z[t - 1 + q], &s[0], &keys[r], trace, true);
            dot(&s[0], z, tab, t + q);
            tab += t + q;
        }
        for (size_t j = 0; j < t - 1; j++, tab += len) {
            dot_short(&add, z + t - 1, tab, len);
            fri_add(&z[j], &z[j], &add);
        }
    }
    for (size_t j = 0; j < t - 1; j++)
        copy(&s[j + 1], &z[j]);
    return trace;
}

/* out: the hash. trace: NULL, or poseidon_trace_len values, the last of which is the hash too. */
ALWAYS_INLINE void permute(fr *out, const poseidon_constants *c, const fr *tag, const fr *in,
                           fr *trace, size_t t)
{
    fr s[POSEIDON_MAX_T], powers[POSEIDON_MAX_T];
    const fr *key = c->compressed_keys, *post = key + t;
    const size_t half = POSEIDON_FULL_ROUNDS / 2;
    fri_add(&s[0], tag, &key[0]);
    sbox(&powers[0], &s[0], &post[0], NULL, false);
    for (size_t j = 1; j < t; j++) {
        fri_add(&s[j], &in[j - 1], &key[j]);
        trace = sbox(&powers[j], &s[j], &post[j], trace, false);
    }
    mix(s, powers, c->fast->mds_cols, t);
    post += t;
    for (size_t r = 1; r < half; r++, post += t) {
        const fr *cols = r == half - 1 ? c->fast->pre_sparse_cols : c->fast->mds_cols;
        trace = full_round(s, post, cols, t, trace);
    }
    trace = partial_rounds(s, post, c, t, trace);
    post += c->r_p;
    for (size_t r = 1; r < half; r++, post += t)
        trace = full_round(s, post, c->fast->mds_cols, t, trace);
    for (size_t j = 0; j < t; j++)
        trace = sbox(&powers[j], &s[j], NULL, trace, true);
    /* element 1 is the hash; the others are not needed */
    dot(out, powers, c->fast->mds_cols + t, t);
    if (trace)
        copy(trace, out);
}

void POSEIDON_FN(poseidon_hash)(fr *out, const poseidon_constants *c, const fr *tag, const fr *in)
{
    fr h;
    permute(&h, c, tag, in, NULL, c->t);
    *out = h;
}

void POSEIDON_FN(poseidon_trace)(fr *trace, const poseidon_constants *c, const fr *tag,
                                 const fr *in)
{
    fr h;
    permute(&h, c, tag, in, trace, c->t);
}

void POSEIDON_FN(poseidon_dot)(fr *out, const fr *a, const fr *b, size_t n)
{
    fr sum;
    dot(&sum, a, b, n);
    *out = sum;
}
