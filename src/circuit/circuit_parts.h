/* Witnesses by several threads: the equal parts that most of a circuit consists of (challenges,
 * sectors) have a known place each. */
#ifndef CIRCUIT_CIRCUIT_PARTS_H
#define CIRCUIT_CIRCUIT_PARTS_H
#include "base/run_ctx.h"
#include "r1cs/cs.h"

typedef struct circuit_parts {
    uint32_t n;
    /* Fill part k by way of c, where failures are kept. Called by several threads at once. */
    void (*fill)(void *ctx, cs *c, uint32_t k);
    void *ctx;
} circuit_parts;
/* Fill the rest of a witness, of which c (cs_init_witness) has filled what comes before the parts.
 * Ends c. rc may be NULL: then by this thread alone, to the same bytes.
 * Errors: the failure kept in c, or that of the first failing part; CUZK_E_INTERNAL (the rest is not
 * n equal parts), CUZK_E_NOMEM, CUZK_E_CANCELLED. The witness is then not to be used. */
CUZK_MUST_CHECK cuzk_status circuit_fill_parts(cs *c, const circuit_parts *p, const run_ctx *rc);
#endif
