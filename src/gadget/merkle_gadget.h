/* Merkle inclusion (circuits.md B.10). */
#ifndef GADGET_MERKLE_GADGET_H
#define GADGET_MERKLE_GADGET_H
#include "gadget/poseidon_gadget.h"
#include "gadget/sha256_gadget.h"

typedef enum merkle_hash { MERKLE_POSEIDON, MERKLE_SHA256 } merkle_hash;
#define MERKLE_MAX_LEVELS 40u
#define MERKLE_MAX_ARITY 8u
/* Tree shape, leaf up (base levels, then sub, then top). */
typedef struct merkle_shape {
    merkle_hash hash;
    uint32_t n_levels;
    uint8_t arity[MERKLE_MAX_LEVELS];
} merkle_shape;
/* Witness values: own position and arity - 1 siblings per level; NULL members in shape mode. */
typedef struct merkle_values {
    const uint8_t *idx;
    const fr *sib;
} merkle_values;

/* Levels of base^base_levels, then sub and top when nonzero. */
void merkle_shape_set(merkle_shape *s, merkle_hash hash, uint32_t base, uint32_t base_levels,
                      uint32_t sub, uint32_t top);
/* PoRCircuit over an allocated leaf and root: all path elements, then one input with the packed
 * index bits, then computed * ONE = root. root NULL: the root is allocated here, after the path
 * input. A public root is inputized at the end. */
void merkle_por(cs *c, const merkle_shape *s, const merkle_values *v, const num *leaf,
                const num *root, bool public_root);
/* por_no_challenge_input: index bits (allocated, not negated) and siblings exist already; ends with
 * cur * ONE = root. */
void merkle_por_given(cs *c, const merkle_shape *s, const boolean *bits, const num *siblings,
                      const num *leaf, const num *root);
num merkle_hash_nums(cs *c, merkle_hash hash, uint32_t arity, const num *in);
#endif
