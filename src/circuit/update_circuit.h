/* EmptySectorUpdate (SnapDeals), SHA-256 and Poseidon variants: one partition (circuits.md D.3,
 * D.4). */
#ifndef CIRCUIT_UPDATE_CIRCUIT_H
#define CIRCUIT_UPDATE_CIRCUIT_H
#include "fil/update.h"
#include "gadget/merkle_gadget.h"

/* Shape under its golden name ("EmptySectorUpdate 32GiB", "EmptySectorUpdate-Poseidon 32GiB"). */
CUZK_MUST_CHECK cuzk_status update_circuit_shape(r1cs_shape **out, const fil_update_config *config,
                                                 bool poseidon);
/* Fill w (initialised from the SHA-256 variant's shape) for one partition of a checked proof; the
 * Poseidon variant has no vanilla proofs.
 * Errors: as porep_circuit_witness. */
CUZK_MUST_CHECK cuzk_status update_circuit_witness(witness *w, const r1cs_shape *shape,
                                                   const fil_update *proof, uint32_t partition,
                                                   cs_mode mode, const run_ctx *rc);
#endif
