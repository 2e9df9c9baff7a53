/* The Poseidon permutation in its optimised form. Included once by poseidon_portable.c and once by
 * poseidon_adx.c, which define CUZK_ISA_ADX (or not) and POSEIDON_FN(name) before.
 *
 * With a trace, every s-box also stores what the circuit allocates. A trace costs only those stores, since
 * the values the circuit needs (each s-box's input and powers) are the ones computed anyway. */
#include <string.h>

#include "ff/fr_inline.h"
#include "hash/poseidon_dot.h"
#include "hash/poseidon_int.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* *e = e^5 + post (post may be NULL). trace: NULL, or the place of (e if with_input), e^2, e^4, result.
 * Returns the place behind. */
ALWAYS_INLINE fr *sbox(fr *e, const fr *post, fr *trace, bool with_input)
{
    fr x = *e, x2, x4, x5;
    fri_sqr(&x2, &x);
    fri_sqr(&x4, &x2);
    fri_mul(&x5, &x4, &x);
    if (post)
        fri_add(&x5, &x5, post);
    if (trace) {
        if (with_input)
            *trace++ = x;
        *trace++ = x2;
        *trace++ = x4;
        *trace++ = x5;
    }
    *e = x5;
    return trace;
}

ALWAYS_INLINE void mix(fr *s, const fr *cols, size_t t)
{
    fr o[POSEIDON_MAX_T];
    for (size_t j = 0; j < t; j++)
        dot(&o[j], s, cols + j * t, t);
    memcpy(s, o, t * sizeof *s);
}

/* s-box with post-keys on every element, then the matrix with the given columns. */
ALWAYS_INLINE fr *full_round(fr *s, const fr *post, const fr *cols, size_t t, fr *trace)
{
    for (size_t j = 0; j < t; j++)
        trace = sbox(&s[j], &post[j], trace, true);
    mix(s, cols, t);
    return trace;
}

/* See poseidon_fast for the form. z: the block's u_1..u_(t-1), then its s-box outputs. */
ALWAYS_INLINE fr *partial_rounds(fr *s, const fr *keys, const poseidon_constants *c, size_t t, fr *trace)
{
    fr z[POSEIDON_MAX_T - 1 + POSEIDON_BLOCK_MAX], x = s[0], add;
    const fr *tab = c->fast->partial;
    const size_t block_len = c->fast->block_len, r_p = c->r_p;
    memcpy(z, s + 1, (t - 1) * sizeof *z);
    for (size_t r = 0; r < r_p;) {
        const size_t len = r_p - r < block_len ? r_p - r : block_len;
        for (size_t q = 0; q < len; q++, r++) {
            trace = sbox(&x, &keys[r], trace, true);
            z[t - 1 + q] = x;
            dot(&x, z, tab, t + q);
            tab += t + q;
        }
        for (size_t j = 0; j < t - 1; j++, tab += len) {
            dot_short(&add, z + t - 1, tab, len);
            fri_add(&z[j], &z[j], &add);
        }
    }
    s[0] = x;
    memcpy(s + 1, z, (t - 1) * sizeof *z);
    return trace;
}

/* out: the hash. trace: NULL, or poseidon_trace_len values, the last of which is the hash too. */
ALWAYS_INLINE void permute(fr *out, const poseidon_constants *c, const fr *tag, const fr *in, fr *trace,
                           size_t t)
{
    fr s[POSEIDON_MAX_T];
    const fr *key = c->compressed_keys, *post = key + t;
    const size_t half = POSEIDON_FULL_ROUNDS / 2;
    fri_add(&s[0], tag, &key[0]);
    sbox(&s[0], &post[0], NULL, false);
    for (size_t j = 1; j < t; j++) {
        fri_add(&s[j], &in[j - 1], &key[j]);
        trace = sbox(&s[j], &post[j], trace, false);
    }
    mix(s, c->fast->mds_cols, t);
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
        trace = sbox(&s[j], NULL, trace, true);
    dot(out, s, c->fast->mds_cols + t, t); /* element 1 is the hash; the others are not needed */
    if (trace)
        *trace = *out;
}

void POSEIDON_FN(poseidon_hash)(fr *out, const poseidon_constants *c, const fr *tag, const fr *in)
{
    fr h;
    permute(&h, c, tag, in, NULL, c->t);
    *out = h;
}

void POSEIDON_FN(poseidon_trace)(fr *trace, const poseidon_constants *c, const fr *tag, const fr *in)
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
