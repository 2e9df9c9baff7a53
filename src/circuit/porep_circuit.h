/* StackedCircuit: one PoRep partition (circuits.md D.1). */
#ifndef CIRCUIT_POREP_CIRCUIT_H
#define CIRCUIT_POREP_CIRCUIT_H
#include "fil/porep.h"
#include "gadget/merkle_gadget.h"

/* What fixes the constraint system. */
typedef struct porep_circuit {
    merkle_shape tree_d, tree_rc; /* SHA-256 binary; Poseidon C and R */
    uint32_t layers, challenges;
} porep_circuit;

void porep_circuit_set(porep_circuit *p, const fil_sector *s);
CUZK_MUST_CHECK cuzk_status porep_circuit_shape(r1cs_shape **out, const porep_circuit *p,
                                                const char *name);
/* Shape of a sector size under its golden name ("PoRep 2KiB"). layers, challenges: 0 = the
 * sector's. */
CUZK_MUST_CHECK cuzk_status porep_sector_shape(r1cs_shape **out, const fil_sector *s,
                                               uint32_t layers, uint32_t challenges);
/* Fill w (initialised from shape) for one partition of a checked vanilla proof; threads of rc->pool
 * share its challenges. FAST and SLOW give the same bits. rc may be NULL.
 * Errors: CUZK_E_INTERNAL when proof and shape do not fit, CUZK_E_NOMEM, CUZK_E_CANCELLED. */
CUZK_MUST_CHECK cuzk_status porep_circuit_witness(witness *w, const r1cs_shape *shape,
                                                  const fil_porep *proof, uint32_t partition,
                                                  cs_mode mode, const run_ctx *rc);

/* Label of a node: SHA-256 over replica id | layer | node | parents (create_label). id: 256 bits
 * and node: 64 bits (most significant first), both in stream order; parents: 37 * 256 bits in
 * stream order; msg: scratch of POREP_LABEL_BITS. */
#define POREP_LABEL_BITS (39u * 256u)
typedef struct porep_label_args {
    const boolean *id, *node;
    const boolean *const *parents; /* FIL_LABEL_PARENTS pointers to 256 bits each */
    uint32_t layer;
    boolean *msg;
} porep_label_args;
num porep_create_label(cs *c, const porep_label_args *a);
#endif
