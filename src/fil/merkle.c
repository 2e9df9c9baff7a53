#include "fil/merkle.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"
#include <string.h>

uint64_t fil_path_index(const fil_path *p)
{
    uint64_t index = 0, weight = 1;
    for (uint32_t k = 0; k < p->n_levels; k++) {
        index += weight * p->idx[k];
        weight *= p->arity[k];
    }
    return index;
}

void fil_path_root_poseidon(fr *out, const fil_path *p, const fr *leaf)
{
    fr node = *leaf, in[16];
    const fr *sib = p->sib;
    for (uint32_t k = 0; k < p->n_levels; k++) {
        uint32_t arity = p->arity[k], own = p->idx[k];
        memcpy(in, sib, own * sizeof *in);
        in[own] = node;
        memcpy(in + own + 1, sib + own, (arity - 1 - own) * sizeof *in);
        poseidon_hash_merkle(&node, arity, in);
        sib += arity - 1;
    }
    *out = node;
}

void fil_path_root_sha256(fr *out, const fil_path *p, const fr *leaf)
{
    uint8_t node[32], block[64];
    fr_to_le(node, leaf);
    for (uint32_t k = 0; k < p->n_levels; k++) {
        memcpy(block + 32 * p->idx[k], node, 32);
        fr_to_le(block + 32 * (1 - p->idx[k]), &p->sib[k]);
        sha256(node, block, sizeof block);
        node[31] &= 0x3f;
    }
    fr_from_le_reduce(out, node); /* below 2^254, so nothing is reduced away */
}
