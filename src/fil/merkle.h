/* Merkle inclusion paths as decoded from vanilla proofs. */
#ifndef FIL_MERKLE_H
#define FIL_MERKLE_H
#include "ff/fr.h"
#include "base/status.h"

/* One path, leaf up, base then sub then top levels. level k has arity[k] (2..16); idx[k] < arity[k]
 * is the own position; its arity-1 siblings follow each other in sib (ascending position, own left
 * out). Values are field elements (validated canonical). */
#define FIL_PATH_MAX_LEVELS 40
typedef struct fil_path {
    uint32_t n_levels;
    uint8_t arity[FIL_PATH_MAX_LEVELS], idx[FIL_PATH_MAX_LEVELS];
    uint32_t n_sib;
    const fr *sib;
    fr leaf, root;
} fil_path;
/* sum idx_k * prod of arities below. */
uint64_t fil_path_index(const fil_path *p);
/* Root recomputed from `leaf`: Poseidon (trees C, R) or SHA-256 of two nodes with the top two bits
 * cleared (tree D, all arities 2). */
void fil_path_root_poseidon(fr *out, const fil_path *p, const fr *leaf);
void fil_path_root_sha256(fr *out, const fil_path *p, const fr *leaf);
#endif
