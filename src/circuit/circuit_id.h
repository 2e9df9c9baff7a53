/* Short names of proof circuits, as operators and clients use them: "porep-32g", "wpost-2k",
 * "winning-8m", "snap-64g". */
#ifndef CIRCUIT_CIRCUIT_ID_H
#define CIRCUIT_CIRCUIT_ID_H
#include "circuit/proof_task.h"

#define CIRCUIT_ID_MAX 32u

/* A PoRep of a development size can have another number of layers than its size has by default; its
 * circuit then is another one: "porep-2k-11l". */
typedef struct circuit_id {
    proof_kind kind;
    uint64_t sector_bytes;
    uint32_t layers; /* porep only */
} circuit_id;

/* Errors: CUZK_E_INPUT naming the text, for unknown kinds and sizes that have no such circuit. */
CUZK_MUST_CHECK cuzk_status circuit_id_parse(circuit_id *out, const char *text);
void circuit_id_format(char out[CIRCUIT_ID_MAX], const circuit_id *id);
/* The circuit of a decoded task. */
circuit_id proof_task_circuit_id(const proof_task *t);
/* Key file stem; out has PROOF_STEM_MAX chars. */
void circuit_id_param_stem(char *out, const circuit_id *id);
CUZK_MUST_CHECK cuzk_status circuit_id_shape(r1cs_shape **out, const circuit_id *id);
#endif
