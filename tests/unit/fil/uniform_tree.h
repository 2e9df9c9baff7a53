/* Sectors whose every node is the same: any path in them is known without building the tree, so
 * proofs of the largest sizes can be written down. Also the bincode writer for them. */
#ifndef TESTS_FIL_UNIFORM_TREE_H
#define TESTS_FIL_UNIFORM_TREE_H
#include "fil/bincode.h"
#include "hash/poseidon.h"

/* node[k]: the value of every node of row k; row 0 are the leaves. */
typedef struct uniform_tree {
    uint32_t n_levels;
    uint8_t arity[FIL_PATH_MAX_LEVELS];
    fr node[FIL_PATH_MAX_LEVELS + 1];
} uniform_tree;

static inline uniform_tree uniform_tree_make(const fr *leaf, fil_tree t, bool poseidon)
{
    uniform_tree u = {.n_levels = 0};
    for (uint32_t k = 0; k < t.base_levels; k++)
        u.arity[u.n_levels++] = (uint8_t)t.base;
    if (t.sub)
        u.arity[u.n_levels++] = (uint8_t)t.sub;
    if (t.top)
        u.arity[u.n_levels++] = (uint8_t)t.top;
    u.node[0] = *leaf;
    for (uint32_t k = 0; k < u.n_levels; k++) {
        fr sib[8];
        fil_path p = {.n_levels = 1, .arity = {u.arity[k]}, .sib = sib};
        for (unsigned i = 0; i < u.arity[k]; i++)
            sib[i] = u.node[k];
        if (poseidon)
            fil_path_root_poseidon(&u.node[k + 1], &p, &u.node[k]);
        else
            fil_path_root_sha256(&u.node[k + 1], &p, &u.node[k]);
    }
    return u;
}

static inline uint8_t *put_u64(uint8_t *p, uint64_t v)
{
    store_le64(p, v);
    return p + 8;
}

static inline uint8_t *put_fr(uint8_t *p, const fr *v)
{
    fr_to_le(p, v);
    return p + 32;
}

static inline uint8_t *put_level(uint8_t *p, const uniform_tree *u, uint32_t k, uint64_t *node)
{
    p = put_u64(p, u->arity[k] - 1);
    for (unsigned i = 1; i < u->arity[k]; i++)
        p = put_fr(p, &u->node[k]);
    p = put_u64(p, *node % u->arity[k]);
    *node /= u->arity[k];
    return p;
}

/* The MerkleProof of a node; at most bincode_path_bytes(t) + 16 bytes. Returns the end. */
static inline uint8_t *put_path(uint8_t *p, const uniform_tree *u, fil_tree t, uint64_t node)
{
    const fr *root = &u->node[u->n_levels];
    store_le32(p, t.top ? 2 : t.sub ? 1 : 0);
    p += 4;
    if (!t.sub)
        p = put_fr(put_fr(p, root), &u->node[0]);
    p = put_u64(p, t.base_levels);
    for (uint32_t k = 0; k < t.base_levels; k++)
        p = put_level(p, u, k, &node);
    for (uint32_t k = t.base_levels; k < u->n_levels; k++)
        p = put_level(put_u64(p, 1), u, k, &node);
    if (t.sub)
        p = put_fr(put_fr(p, root), &u->node[0]);
    return p;
}
#endif
