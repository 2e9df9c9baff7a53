/* One proof to make, of any kind: a checked vanilla input and the circuit that belongs to it.
 * Provers and schedulers need no more than this. */
#ifndef CIRCUIT_PROOF_TASK_H
#define CIRCUIT_PROOF_TASK_H
#include "fil/porep.h"
#include "fil/post.h"
#include "fil/update.h"
#include "r1cs/cs.h"

typedef enum proof_kind {
    PROOF_POREP,
    PROOF_WINNING,
    PROOF_WINDOW,
    PROOF_SNAP,
    PROOF_N_KINDS
} proof_kind;
/* Names on the command line and in JSON: "porep", "winning", "window", "snap". */
extern const char *const PROOF_KIND_NAMES[PROOF_N_KINDS];

/* Invariant: `in` was decoded into an arena that outlives the task; witness and public inputs need
 * it checked. Immutable after the check. */
typedef struct proof_task {
    proof_kind kind;
    union {
        fil_porep porep;
        fil_post post;
        fil_update update;
    } in;
} proof_task;

uint32_t proof_task_partitions(const proof_task *t);
uint64_t proof_task_sector_bytes(const proof_task *t);
/* Registered proof's name; NULL for sizes without one. */
const char *proof_task_registered(const proof_task *t);
/* Public inputs of a partition without ONE: out has proof_task_n_public values. */
size_t proof_task_n_public(const proof_task *t);
void proof_task_public_inputs(const proof_task *t, uint32_t partition, fr *out);
/* Key file stem; out has PROOF_STEM_MAX chars. */
#define PROOF_STEM_MAX 256
void proof_task_param_stem(char *out, const proof_task *t);
/* Golden name of the circuit, e.g. "WindowPoSt 32GiB"; out has 64 chars. */
void proof_task_circuit_name(char *out, const proof_task *t);
CUZK_MUST_CHECK cuzk_status proof_task_shape(r1cs_shape **out, const proof_task *t);
/* Fill w (initialised from the shape) for one partition; its challenges or sectors are spread over
 * rc->pool. rc may be NULL. */
CUZK_MUST_CHECK cuzk_status proof_task_witness(witness *w, const r1cs_shape *shape,
                                               const proof_task *t, uint32_t partition,
                                               cs_mode mode, const run_ctx *rc);
#endif
