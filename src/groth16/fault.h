/* Wrong values on purpose inside the CPU prover, for tests of what catches them. Only in builds with
 * CUZK_TEST_HOOKS; in others the call is a constant. */
#ifndef GROTH16_FAULT_H
#define GROTH16_FAULT_H
#include <stdbool.h>

typedef enum g16_fault { G16_FAULT_QUOTIENT, G16_FAULT_BUCKET, G16_FAULT_POINT } g16_fault;

#ifdef CUZK_TEST_HOOKS
/* True as often as the environment's CUZK_PROVER_FAULT says, e.g. "quotient=1,bucket=5%": the first
 * time this is asked for a quotient, and 5 % of the times for a bucket (each chunk of section h; a
 * point: each chunk that is decoded). Threads: safe. */
bool g16_fault_hits(g16_fault f);
#else
static inline bool g16_fault_hits(g16_fault f)
{
    (void)f;
    return false;
}
#endif
#endif
