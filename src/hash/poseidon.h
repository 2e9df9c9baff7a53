/* Poseidon over Fr as in neptune 11 (circuits.md C): standard strength, x^5, legacy constants. */
#ifndef HASH_POSEIDON_H
#define HASH_POSEIDON_H
#include "ff/fr.h"
#define POSEIDON_MAX_ARITY 36u
#define POSEIDON_FULL_ROUNDS 8u

/* Immutable constants for one arity (t = arity + 1), generated once per process by poseidon_constants().
 * compressed_keys: t*R_F + R_P values as circuits.md C.5; mds, pre_sparse: t*t row-major; sparse k: w_hat (t) then v_rest (t-1). */
typedef struct poseidon_constants {
    uint32_t arity, t, r_f, r_p, n_keys;
    const fr *compressed_keys, *mds, *pre_sparse, *sparse; /* sparse: r_p * (2t - 1) */
    fr tag_merkle;                                         /* 2^arity - 1 */
} poseidon_constants;
/* Constants for arity 1, 2, 4, 8, 11, 16, 24 or 36; built on first use and kept for the life of the process. NULL: other arity or out of memory.
 * Threads: locked. */
const poseidon_constants *poseidon_constants_get(uint32_t arity);
/* Domain tags besides tag_merkle: circuits.md C.1. */
extern const fr POSEIDON_TAG_UPDATE; /* 2^40 */
/* out = H(tag, in[0..arity-1]). */
void poseidon_hash(fr *out, const poseidon_constants *c, const fr *tag, const fr *in);
/* MerkleTree tag. */
void poseidon_hash_merkle(fr *out, uint32_t arity, const fr *in);
/* The 36-ary Merkle-Damgard form over n >= 2 elements: first element is the accumulator, then groups of 35, zero padded. */
void poseidon_hash_md(fr *out, const fr *in, size_t n);

/* All values the circuit allocates for one hash, in allocation order of circuits.md C.7 (3(t R_F + R_P - 1) + (t R_F + R_P - arity)
 * values = poseidon_trace_len), ending with the result. */
size_t poseidon_trace_len(const poseidon_constants *c);
void poseidon_hash_trace(fr *trace, const poseidon_constants *c, const fr *tag, const fr *in);
#endif
