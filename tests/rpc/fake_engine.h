/* An engine that only pretends, for tests of the transport. What a job does is written in its
 * vanilla_proof (or the first of its vanilla_proofs):
 *   "sleep:MS"      proves for so long, with progress
 *   "hang"          until it is cancelled
 *   "fail:TEXT"     ends FAILED with that text
 *   "invalid:TEXT"  refused, CUZK_E_INPUT      "impossible:TEXT"  CUZK_E_IMPOSSIBLE
 *   "busy:MS"       CUZK_E_BUSY with that hint
 * anything else is done at once. The proof is 192 bytes: BLAKE2b-512 of all proof bytes, then 0. */
#ifndef TESTS_FAKE_ENGINE_H
#define TESTS_FAKE_ENGINE_H
#include "engine/engine.h"

#define FAKE_RESERVE_RETRY_MS 4144u /* the hint when max_request_bytes are reserved */

typedef struct fake_options {
    uint64_t max_request_bytes; /* 0: no limit */
    bool device_is_silent;      /* and then not healthy */
} fake_options;
engine *fake_engine_create(const fake_options *o);
void fake_engine_destroy(engine *e); /* asserts that nothing was leaked to it */

typedef struct fake_view {
    uint64_t reserved, n_submissions; /* bytes; calls of engine_submit */
    uint32_t n_watches;
    job_request last; /* the last request: scalar fields and lengths; what it pointed to is gone */
} fake_view;
fake_view fake_engine_look(engine *e);
#endif
