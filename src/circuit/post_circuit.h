/* FallbackPoSt: one partition of a WinningPoSt or WindowPoSt (circuits.md D.2). */
#ifndef CIRCUIT_POST_CIRCUIT_H
#define CIRCUIT_POST_CIRCUIT_H
#include "fil/post.h"
#include "gadget/merkle_gadget.h"

typedef struct post_circuit {
    merkle_shape tree_r;
    uint32_t sectors, challenges;
} post_circuit;

/* Errors: CUZK_E_RANGE for an unknown sector size. */
CUZK_MUST_CHECK cuzk_status post_circuit_set(post_circuit *p, const fil_post_proof *proof);
CUZK_MUST_CHECK cuzk_status post_circuit_shape(r1cs_shape **out, const post_circuit *p,
                                               const char *name);
/* The shape of a registered proof under its golden name ("WindowPoSt 32GiB"). */
CUZK_MUST_CHECK cuzk_status post_proof_shape(r1cs_shape **out, const fil_post_proof *proof);
/* Fill w (initialised from shape) for one partition of a checked proof, slots spread over rc->pool;
 * rc may be NULL.
 * Errors: as porep_circuit_witness; CUZK_E_CANCELLED.
 * Cost:   a 32 GiB WindowPoSt is 237,000 Poseidon hashes. The result does not depend on the thread
 *         count. */
CUZK_MUST_CHECK cuzk_status post_circuit_witness(witness *w, const r1cs_shape *shape,
                                                 const fil_post *proof, uint32_t partition,
                                                 cs_mode mode, const run_ctx *rc);
#endif
