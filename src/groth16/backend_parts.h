/* What every backend shares: how key sections read a witness, the proof from its sums, the self-test. */
#ifndef GROTH16_BACKEND_PARTS_H
#define GROTH16_BACKEND_PARTS_H
#include "groth16/backend.h"
#include "groth16/evkey.h"

/* How the entries of a key section read the witness: n_in inputs first, then the aux variables set
 * in density, ascending.
 * An entry is either a bit (summed under a mask) or "dense" (an input or a field-typed aux,
 * multiplied). */
typedef struct g16_query {
    g16_section sec;
    uint64_t n, n_in, n_dense;
    const uint64_t *density; /* NULL: every aux */
    const uint64_t *dense;   /* n bits: dense entries; borrowed from the shape or own_dense */
    uint64_t *own_dense;
    uint64_t *member; /* bit k: the k-th dense aux is in this query; NULL: all are */
    uint32_t *inputs; /* n_in input indices */
} g16_query;

/* B stands for both B_G1 and B_G2. */
typedef enum g16_query_id { QUERY_L, QUERY_A, QUERY_B, N_QUERIES } g16_query_id;

CUZK_MUST_CHECK cuzk_status g16_query_init(g16_query *q, g16_query_id id, const r1cs_shape *s);
void g16_query_fini(g16_query *q);
/* The witness bits in query order, n bits (dense entries and inputs 0). */
void g16_query_mask(uint64_t *mask, const g16_query *q, const witness *w);
/* Number of dense entries in [first, first + n), first a multiple of 64. */
uint64_t g16_query_count(const g16_query *q, uint64_t first, uint64_t n);
/* Sources of the dense entries with ordinals [*ordinal, *ordinal + n): R1CS_INPUT | input index, or
 * an index into witness.dense.
 * The two cursors start at 0 and are moved forward. */
void g16_query_sources(uint32_t *src, const g16_query *q, uint64_t n, uint64_t *ordinal,
                       uint64_t *next_dense);
static inline size_t words_of(uint64_t n_bits) { return (size_t)((n_bits + 63) / 64); }

static inline g16_ready g16_batch_ready(const g16_batch *b, size_t k)
{
    return b->ready ? b->ready(b->ctx, k) : G16_READY;
}
/* A millisecond, between two questions for witnesses that are not there. */
void g16_batch_nap(void);
/* Ask until witness k is READY or NEVER. Errors: CUZK_E_CANCELLED. */
CUZK_MUST_CHECK cuzk_status g16_batch_wait(g16_ready *out, const g16_batch *b, size_t k,
                                           const run_ctx *rc);

/* The proof from its five sums. r and s are secret. */
typedef struct g16_sums {
    g1_jac h, l, a, b1;
    g2_jac b2;
} g16_sums;
CUZK_MUST_CHECK cuzk_status g16_assemble(g16_proof *out, const g16_vk *vk, const g16_sums *sums,
                                         const g16_blinding *rs);
/* Set-up, proof with fixed r and s against the reference's bytes, and verification, in memory; any
 * backend's self_test. */
CUZK_MUST_CHECK cuzk_status g16_known_answer_test(g16_backend *b, const run_ctx *rc);
const char *g16_section_name(g16_section s);
/* The evaluation form that lies beside k's file, if there is one that fits k and s and whose bytes are
 * whole; else *out is NULL. One that does not fit, such as one that a new key has outlived, or that is
 * damaged, must not cost proofs: it is left alone, and the log says so. Reads all of it. Errors:
 * CUZK_E_NOMEM, CUZK_E_CANCELLED. */
CUZK_MUST_CHECK cuzk_status g16_evkey_open_to_use(g16_evkey **out, const g16_key *k,
                                                  const r1cs_shape *s, const run_ctx *rc);
#endif
