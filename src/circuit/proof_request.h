/* A proof request as it comes in, of any kind: vanilla bytes and the values they cannot prove. What
 * the command line and the daemon both need to get a checked proof task. */
#ifndef CIRCUIT_PROOF_REQUEST_H
#define CIRCUIT_PROOF_REQUEST_H
#include "circuit/proof_task.h"

/* Which members count depends on the kind. Borrows the bytes. */
typedef struct proof_request {
    proof_kind kind;
    const uint8_t *const *files; /* porep: one C1; PoSt: one per sector; snap: one per partition */
    const size_t *lens;
    uint32_t n_files;
    fil_porep_context porep;
    fil_post_proof post;
    fil_post_context post_context;
    const fil_update_config *update;
    fil_update_context update_context;
} proof_request;

/* Decode into *t; all memory in *a. Errors: CUZK_E_INPUT naming the field, CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status proof_task_decode(proof_task *t, arena *a, const proof_request *q);
/* The full vanilla check of a decoded task. rc may be NULL. Errors: CUZK_E_INPUT naming the field,
 * CUZK_E_CANCELLED, CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status proof_task_check(proof_task *t, const proof_request *q,
                                             const run_ctx *rc);
#endif
