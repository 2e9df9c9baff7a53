/* Row evaluations, satisfiability and digests of a shape. */
#ifndef R1CS_EVAL_H
#define R1CS_EVAL_H
#include "r1cs/witness.h"

/* a[k] = <A_k, w>, b[k] = <B_k, w>, optionally c (NULL to skip) for every row k < n_rows, then the
 * n_inputs input rows (a = inputs[i], b = c = 0), then zeros up to m. */
CUZK_MUST_CHECK cuzk_status r1cs_eval(const r1cs_shape *s, const witness *w, fr *a, fr *b, fr *c,
                                      uint64_t m, const run_ctx *rc);
/* Does every row hold? On failure CUZK_E_VERIFY: first failing row, its namespace path, A, B, C
 * values in hex. *n_bad (may be NULL) counts all failing rows. */
CUZK_MUST_CHECK cuzk_status r1cs_satisfied(const r1cs_shape *s, const witness *w, uint64_t *n_bad,
                                           const run_ctx *rc);
/* BLAKE2s-256 digest of the shape as in circuits.md F.4; chunk_out (may be NULL) is called for each
 * chunk of chunk_rows rows with the BLAKE2s of its serialised rows. */
typedef void r1cs_chunk_fn(void *ctx, uint64_t first_row, const char *path,
                           const uint8_t digest[32]);
CUZK_MUST_CHECK cuzk_status r1cs_digest(const r1cs_shape *s, uint8_t out[32], uint64_t chunk_rows,
                                        r1cs_chunk_fn *chunk_out, void *ctx, const run_ctx *rc);
/* BLAKE2s-256 over all inputs (ONE first), then all aux, 32 bytes little-endian canonical each. */
CUZK_MUST_CHECK cuzk_status witness_digest(const witness *w, uint8_t out[32]);
#endif
