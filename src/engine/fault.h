/* Faults on purpose, for tests of what must never get out. Only in builds with CUZK_TEST_HOOKS; in
 * others the calls are empty. */
#ifndef ENGINE_FAULT_H
#define ENGINE_FAULT_H
#include "groth16/vk.h"
#include <stdint.h>

typedef struct fault_plan {
    uint32_t proof_percent; /* proofs that come out of a device with a bit flipped */
    uint32_t ghost_ms;      /* slept once per verified partition, outside of any span */
} fault_plan;

#ifdef CUZK_TEST_HOOKS
/* From now on; {0} is none. The environment's CUZK_FAULT ("proof=10,ghost=200") is read at the first
 * use when nothing was set. */
void fault_set(const fault_plan *p);
uint64_t fault_hits(void);     /* proofs changed so far */
uint64_t fault_slept_ns(void); /* how long ghosts really took so far */
void fault_hit_proof(g16_proof *p);
void fault_ghost(void);
#else
static inline void fault_hit_proof(g16_proof *p) { (void)p; }
static inline void fault_ghost(void) {}
#endif
#endif
