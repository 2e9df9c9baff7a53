/* Several devices as one backend: the proofs of a batch are shared between them. A device takes
 * some proofs by its measured speed, none if others are so much faster, and claims each before its
 * costly part; one that has nothing left takes over what others have not claimed and it makes sooner;
 * what a failed device had is made by the rest. */
#ifndef GROTH16_MULTI_BACKEND_H
#define GROTH16_MULTI_BACKEND_H
#include "groth16/backend.h"
#include "groth16/share.h"

/* Takes the members (destroyed with *out), also on failure. names[i]: for messages; copied.
 * ops->load loads on all members at the same time.
 * The callbacks of a batch (and run_ctx's cancelled) then come from the devices' threads, one at a
 * time; run_ctx.yield is called for none of them. Progress is told when the first one moves, and at the
 * end.
 * Errors: CUZK_E_NOMEM, CUZK_E_RANGE (n is 0 or over SHARE_DEVICES_MAX). */
CUZK_MUST_CHECK cuzk_status g16_multi_create(g16_backend **out, g16_backend *const *members,
                                             const char *const *names, uint32_t n);
/* A handle for prove and unload from handles the members gave elsewhere (development keys); takes
 * them, also on failure. */
CUZK_MUST_CHECK cuzk_status g16_multi_join(g16_backend *multi_b, void *const *handles,
                                           void **handle);

typedef struct g16_multi_stats {
    char name[64];
    double busy_seconds; /* inside its prove */
    double speed;        /* proofs per second, smoothed; 0: none yet */
    uint64_t n_proofs, n_stolen, n_faults;
} g16_multi_stats;
/* Of member idx; all zero beyond the last. Threads: locked. */
g16_multi_stats g16_multi_get_stats(g16_backend *multi_b, uint32_t idx);
#endif
