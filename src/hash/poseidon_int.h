/* Private parts of Poseidon: tables laid out for the permutation, its two builds, and the
 * generators. */
#ifndef HASH_POSEIDON_INT_H
#define HASH_POSEIDON_INT_H
#include "hash/poseidon.h"

#define POSEIDON_MAX_T (POSEIDON_MAX_ARITY + 1)
#define POSEIDON_BLOCK_MAX 8u

/* Tables for the partial rounds in blocks. Within a block, the elements 1..t-1 are left as they
 * were at its start (u), and element 0 of round q, whose s-box outputs so far are s_0..s_q, becomes
 *     sum_j u_j w_qj + sum_{i<q} s_i c_qi + s_q w_q0,   c_qi = sum_j w_qj v_ij,
 * one dot product; at the end of the block u_j += sum_i s_i v_ij. That trades t - 1 Montgomery
 * reductions per round for (t - 1) / block_len, at (block_len - 1) / 2 more products. partial: per
 * block, per round q the row (w_q1 .. w_q(t-1), c_q0 .. c_q(q-1), w_q0), then per j = 1..t-1 the
 * column (v_0j .. v_(len-1)j). mds_cols, pre_sparse_cols: transposed, so that a column is
 * contiguous. */
typedef struct poseidon_fast {
    uint32_t block_len; /* the last block may be shorter */
    const fr *partial, *mds_cols, *pre_sparse_cols;
} poseidon_fast;

void poseidon_hash_portable(fr *out, const poseidon_constants *c, const fr *tag, const fr *in);
void poseidon_trace_portable(fr *trace, const poseidon_constants *c, const fr *tag, const fr *in);
void poseidon_hash_adx(fr *out, const poseidon_constants *c, const fr *tag, const fr *in);
void poseidon_trace_adx(fr *trace, const poseidon_constants *c, const fr *tag, const fr *in);
/* out = sum_k a_k b_k for n <= 64; the lazy dot products, for the tests. */
void poseidon_dot_portable(fr *out, const fr *a, const fr *b, size_t n);
void poseidon_dot_adx(fr *out, const fr *a, const fr *b, size_t n);

/* (r_f + r_p) * t round constants. */
void poseidon_round_constants(fr *rk, uint32_t t, uint32_t r_f, uint32_t r_p);
/* Row-major n*n matrices over Fr. Singular input: false. */
bool poseidon_mat_inv(fr *inv, const fr *m, size_t n, fr *scratch /* n*n */);
/* x m = y for the row vector x. */
bool poseidon_mat_solve_left(fr *x, const fr *m, const fr *y, size_t n, fr *scratch /* n*(n+1) */);
/* o = v m; no overlap. */
void poseidon_mat_row_mul(fr *o, const fr *v, const fr *m, size_t n);
#endif
