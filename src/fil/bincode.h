/* bincode 1 with its default options (fixed-width little-endian integers, u64 lengths, u32 enum
 * tags), as vanilla proofs of PoSt and SnapDeals are sent (circuits.md E.8, E.9). Every count is
 * known from the sector size, so nothing is ever allocated from a length that was read. Errors name
 * the field by its path: "vanilla_proofs[3].inclusion_proofs[2].path[1].index: expected ...". */
#ifndef FIL_BINCODE_H
#define FIL_BINCODE_H
#include "fil/merkle.h"
#include <stdint.h>

#define BINCODE_MAX_DEPTH 6u
#define BINCODE_NO_IDX SIZE_MAX

/* Reads forward through [p, p + len); at[] is the path of the struct being read. Names are string
 * literals. */
typedef struct bincode {
    const uint8_t *p;
    size_t len, pos;
    uint32_t depth;
    struct bincode_level {
        const char *name;
        size_t idx;
    } at[BINCODE_MAX_DEPTH];
} bincode;

/* Borrows p. name[idx] is the path of the document itself. */
bincode bincode_make(const uint8_t *p, size_t len, const char *name, size_t idx);
/* Go into field name, or name[idx]; leave is its end. After an error the reader is of no more use
 * and need not be left. */
void bincode_enter(bincode *r, const char *name, size_t idx);
void bincode_leave(bincode *r);

/* Each reads one value. Errors: CUZK_E_INPUT (cut short, too large, not below r). */
CUZK_MUST_CHECK cuzk_status bincode_u32(uint32_t *out, bincode *r, const char *field);
CUZK_MUST_CHECK cuzk_status bincode_u64(uint64_t *out, bincode *r, const char *field, uint64_t max);
CUZK_MUST_CHECK cuzk_status bincode_fr(fr *out, bincode *r, const char *field);
CUZK_MUST_CHECK cuzk_status bincode_frs(fr *out, bincode *r, const char *field, size_t n);
/* The length in front of a list; must be n, and n elements of at least min_bytes must follow. */
CUZK_MUST_CHECK cuzk_status bincode_count(bincode *r, const char *field, uint64_t n,
                                          size_t min_bytes);
/* A bad-input status for a field of the struct being read. */
cuzk_status bincode_bad(const bincode *r, const char *field, const char *expected,
                        const char *found_fmt, ...) CUZK_PRINTF(4, 5);

/* Levels of a tree: base_levels of arity base, then one each of arity sub and top unless those are
 * 0. */
typedef struct fil_tree {
    uint32_t base, base_levels, sub, top;
} fil_tree;
size_t fil_tree_siblings(fil_tree t);
/* Least encoded size of a MerkleProof of that shape. */
size_t bincode_path_bytes(fil_tree t);
/* A MerkleProof of exactly that shape; sib has room for fil_tree_siblings(t). Which variant is used
 * does not matter as long as the levels are those of the tree: the reference also reads a Sub with
 * an empty sub_proof where it writes a Single. */
CUZK_MUST_CHECK cuzk_status bincode_path(fil_path *out, fr *sib, bincode *r, fil_tree t);
#endif
