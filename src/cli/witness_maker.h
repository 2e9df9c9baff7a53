/* The witnesses of a proof set, made one after the other beside its proofs: each by all threads of the
 * pool, so that the first is there soon. */
#ifndef CLI_WITNESS_MAKER_H
#define CLI_WITNESS_MAKER_H
#include "circuit/proof_task.h"
#include "groth16/backend.h"

typedef struct witness_maker witness_maker;
typedef struct witness_order {
    const proof_task *task;
    const r1cs_shape *shape;
    uint32_t first, n; /* partitions */
    witness *w;        /* n, empty or of an earlier run; not to be read before they are ready */
    run_ctx rc;        /* pool, spans, cancelled (from the maker's threads); copied */
} witness_order;

/* Start a thread that makes them. Keeps what o points to until witness_maker_finish. */
CUZK_MUST_CHECK cuzk_status witness_maker_start(witness_maker **out, const witness_order *o);
/* g16_batch.ready, with the maker as its ctx. After a failure nothing more becomes ready. */
g16_ready witness_maker_ready(void *maker, size_t k);
/* Wait for the end and destroy; stop: after the challenge at hand. *took_ns: from the start to the last
 * witness. Errors: the first failure, with its partition; CUZK_E_CANCELLED. */
CUZK_MUST_CHECK cuzk_status witness_maker_finish(witness_maker *m, bool stop, uint64_t *took_ns);
#endif
