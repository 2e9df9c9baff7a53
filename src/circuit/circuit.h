/* Every circuit by name: the proof circuits at all sector sizes and the single gadgets that golden
 * data covers. */
#ifndef CIRCUIT_CIRCUIT_H
#define CIRCUIT_CIRCUIT_H
#include "r1cs/shape.h"

typedef enum circuit_group { CIRCUIT_PROOF, CIRCUIT_GADGET } circuit_group;
typedef struct circuit_info {
    const char *name; /* spelled as in golden/r1cs.json */
    circuit_group group;
    const char *kind;      /* "porep", "gadget", ... */
    uint64_t sector_bytes; /* 0 for gadgets */
} circuit_info;

size_t circuit_count(void);
circuit_info circuit_get(size_t i); /* i < circuit_count() */
/* Errors: CUZK_E_NOT_FOUND with the nearest known name, CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status circuit_shape(r1cs_shape **out, const char *name);
#endif
