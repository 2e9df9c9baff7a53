/* Poseidon over Fr as in neptune 11: standard strength, x^5, legacy constants.
 * Source: Grassi, Khovratovich, Rechberger, Roy, Schofnegger, "Poseidon", 2019/458, with the
 * published
 * Grain LFSR and Cauchy matrix procedures and its appendix B (sparse matrices for partial
 * rounds). */
#ifndef HASH_POSEIDON_H
#define HASH_POSEIDON_H
#include "ff/fr.h"
#define POSEIDON_MAX_ARITY 36u
#define POSEIDON_FULL_ROUNDS 8u

struct poseidon_fast;

/* Immutable constants for one arity (t = arity + 1).
 * compressed_keys: n_keys = t*r_f + r_p values: pre-keys of round 0 (t), post-keys of rounds 0..3
 * (t each), r_p scalars, post-keys of the last full rounds but one (t each). mds, pre_sparse: t*t
 * row-major, applied to row vectors from the left. sparse: r_p * (2t - 1), each w_hat (t) then
 * v_rest (t - 1): new_0 = sum_i state_i w_hat_i, new_j = state_j + state_0 v_rest[j - 1]. */
typedef struct poseidon_constants {
    uint32_t arity, t, r_f, r_p, n_keys;
    const fr *compressed_keys, *mds, *pre_sparse, *sparse;
    fr tag_merkle;                    /* 2^arity - 1 */
    const struct poseidon_fast *fast; /* private to src/hash */
} poseidon_constants;
/* Constants for arity 1, 2, 4, 8, 11, 16, 24 or 36; built on first use and kept for the life of the
 * process.
 * NULL: other arity or out of memory (a later call tries again).
 * Threads: locked. Cost: once, about 4 ms (arity 2), 25 ms (arity 11), 0.2 s (arity 36). */
const poseidon_constants *poseidon_constants_get(uint32_t arity);
/* Domain tags besides tag_merkle. */
extern const fr POSEIDON_TAG_UPDATE; /* 2^40 */
/* out = H(tag, in[0..arity-1]). out may be one of in. */
void poseidon_hash(fr *out, const poseidon_constants *c, const fr *tag, const fr *in);
/* MerkleTree tag. Unknown arity or no memory for the constants on first use: *out = 0, which is no
 * error report; callers get the constants once, with poseidon_constants_get, before they rely on
 * it. */
void poseidon_hash_merkle(fr *out, uint32_t arity, const fr *in);
/* The 36-ary Merkle-Damgard form over n >= 2 elements: first element is the accumulator, then
 * groups of 35, zero padded. Constants as for poseidon_hash_merkle. */
void poseidon_hash_md(fr *out, const fr *in, size_t n);

/* All values the circuit allocates for one hash, in allocation order: per s-box l (not in the first
 * round), l^2, l^4, l^5 + post-key; element 0 of the first round is a constant and allocates
 * nothing; last the result. 3(t r_f + r_p - 1) + (t r_f + r_p - arity) values =
 * poseidon_trace_len. */
size_t poseidon_trace_len(const poseidon_constants *c);
void poseidon_hash_trace(fr *trace, const poseidon_constants *c, const fr *tag, const fr *in);
#endif
