#include "fil/post.h"
#include "base/bytes.h"
#include "hash/sha256.h"
#include <stdio.h>
#include <string.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define N_PROOFS 15

static const fil_post_proof proofs[N_PROOFS] = {
    {"StackedDrgWinning2KiBV1", 0, 2 * KIB, FIL_POST_WINNING, false},
    {"StackedDrgWinning8MiBV1", 1, 8 * MIB, FIL_POST_WINNING, false},
    {"StackedDrgWinning512MiBV1", 2, 512 * MIB, FIL_POST_WINNING, false},
    {"StackedDrgWinning32GiBV1", 3, 32 * GIB, FIL_POST_WINNING, false},
    {"StackedDrgWinning64GiBV1", 4, 64 * GIB, FIL_POST_WINNING, false},
    {"StackedDrgWindow2KiBV1", 5, 2 * KIB, FIL_POST_WINDOW, false},
    {"StackedDrgWindow8MiBV1", 6, 8 * MIB, FIL_POST_WINDOW, false},
    {"StackedDrgWindow512MiBV1", 7, 512 * MIB, FIL_POST_WINDOW, false},
    {"StackedDrgWindow32GiBV1", 8, 32 * GIB, FIL_POST_WINDOW, false},
    {"StackedDrgWindow64GiBV1", 9, 64 * GIB, FIL_POST_WINDOW, false},
    {"StackedDrgWindow2KiBV1_2", 10, 2 * KIB, FIL_POST_WINDOW, true},
    {"StackedDrgWindow8MiBV1_2", 11, 8 * MIB, FIL_POST_WINDOW, true},
    {"StackedDrgWindow512MiBV1_2", 12, 512 * MIB, FIL_POST_WINDOW, true},
    {"StackedDrgWindow32GiBV1_2", 13, 32 * GIB, FIL_POST_WINDOW, true},
    {"StackedDrgWindow64GiBV1_2", 14, 64 * GIB, FIL_POST_WINDOW, true},
};

const fil_post_proof *fil_post_proof_by_name(const char *name)
{
    for (size_t i = 0; i < N_PROOFS; i++)
        if (strcmp(proofs[i].name, name) == 0)
            return &proofs[i];
    return NULL;
}

const fil_post_proof *fil_post_proof_by_id(uint32_t id)
{
    return id < N_PROOFS ? &proofs[id] : NULL;
}

fil_post_proof fil_post_proof_unregistered(fil_post_kind kind, uint64_t sector_bytes, bool v1_2)
{
    return (fil_post_proof){NULL, FIL_POST_UNREGISTERED, sector_bytes, kind, v1_2};
}

/* circuits.md D.2: the window sizes are the most sectors whose circuit stays below 2^27 rows. */
void fil_post_layout(const fil_post_proof *p, uint32_t *sectors, uint32_t *challenges)
{
    if (p->kind == FIL_POST_WINNING) {
        *sectors = 66;
        *challenges = 1;
        return;
    }
    *sectors = p->sector_bytes == 32 * GIB ? 2349 : p->sector_bytes == 64 * GIB ? 2300 : 2;
    *challenges = 10;
}

void fil_post_param_stem(char *out, const fil_post_proof *p)
{
    char tree[64], ident[160], hex[65];
    uint8_t digest[32];
    uint32_t sectors, challenges;
    const fil_sector *s = fil_sector_by_bytes(p->sector_bytes);
    out[0] = 0;
    if (!s)
        return;
    fil_post_layout(p, &sectors, &challenges);
    int n = snprintf(
        ident, sizeof ident,
        "FallbackPoSt::PublicParams{sector_size: %llu, challenge_count: %u, sector_count: %u}",
        (unsigned long long)p->sector_bytes, challenges, sectors);
    sha256(digest, ident, (size_t)n);
    hex_encode(hex, digest, sizeof digest);
    snprintf(tree, sizeof tree, "merkletree-poseidon_hasher-%u-%u-%u", s->base, s->sub, s->top);
    snprintf(out, 200, "v28-proof-of-spacetime-fallback-%s-%s", tree, hex);
}

uint64_t fil_post_challenge(const uint8_t randomness[32], uint64_t sector_id,
                            uint64_t challenge_index, uint64_t n_nodes)
{
    uint8_t in[48], digest[32];
    memcpy(in, randomness, 32);
    store_le64(in + 32, sector_id);
    store_le64(in + 40, challenge_index);
    sha256(digest, in, sizeof in);
    return load_le64(digest) % n_nodes;
}

uint64_t fil_winning_sector(const uint8_t prover_id[32], const uint8_t randomness[32], uint64_t n,
                            uint64_t n_sectors)
{
    uint8_t in[72], digest[32];
    memcpy(in, prover_id, 32);
    memcpy(in + 32, randomness, 32);
    store_le64(in + 64, n);
    sha256(digest, in, sizeof in);
    return load_le64(digest) % n_sectors;
}

uint64_t fil_post_challenge_index(const fil_post_proof *p, uint32_t sector_idx, uint32_t inclusion)
{
    uint32_t sectors, challenges;
    fil_post_layout(p, &sectors, &challenges);
    /* every inclusion is a circuit sector of its own, with one challenge */
    if (p->kind == FIL_POST_WINNING)
        return p->v1_2 ? 0 : inclusion;
    return p->v1_2 ? inclusion : (uint64_t)sector_idx * challenges + inclusion;
}

uint32_t fil_post_n_inclusion(const fil_post *p)
{
    return p->proof.kind == FIL_POST_WINNING ? p->sectors_per_partition * p->challenges
                                             : p->challenges;
}

/* Index among the given sectors of what a slot shows. */
static uint32_t slot_sector(const fil_post_proof *p, uint32_t n_sectors, uint32_t partition,
                            uint32_t slot)
{
    uint32_t sectors, challenges;
    fil_post_layout(p, &sectors, &challenges);
    uint64_t i = (uint64_t)partition * sectors + slot;
    return p->kind == FIL_POST_WINNING ? 0 : i < n_sectors ? (uint32_t)i : n_sectors - 1;
}

const fil_post_sector *fil_post_slot(const fil_post *p, uint32_t partition, uint32_t slot)
{
    return &p->sectors[slot_sector(&p->proof, p->n_sectors, partition, slot)];
}

const fil_path *fil_post_slot_path(const fil_post *p, uint32_t partition, uint32_t slot, uint32_t c)
{
    uint32_t inclusion = p->proof.kind == FIL_POST_WINNING ? slot * p->challenges + c : c;
    return &fil_post_slot(p, partition, slot)->inclusion[inclusion];
}

size_t fil_post_n_public(const fil_post *p)
{
    return FIL_POST_INPUTS(p->sectors_per_partition, p->challenges);
}

void fil_post_public_inputs(const fil_post *p, uint32_t partition, fr *out)
{
    for (uint32_t j = 0; j < p->sectors_per_partition; j++) {
        *out++ = fil_post_slot(p, partition, j)->comm_r;
        for (uint32_t c = 0; c < p->challenges; c++)
            fr_from_u64(out++, fil_path_index(fil_post_slot_path(p, partition, j, c)));
    }
}

void fil_post_statement_inputs(fr *out, const fil_post_statement *s, uint32_t partition)
{
    const fil_post_proof *p = &s->proof;
    uint64_t n_nodes = p->sector_bytes / 32;
    uint32_t sectors, challenges;
    fil_post_layout(p, &sectors, &challenges);
    for (uint32_t j = 0; j < sectors; j++) {
        uint32_t i = slot_sector(p, s->n_sectors, partition, j);
        *out++ = s->comm_r[i];
        for (uint32_t c = 0; c < challenges; c++) {
            uint32_t inclusion = p->kind == FIL_POST_WINNING ? j : c;
            uint64_t index = fil_post_challenge_index(p, i, inclusion);
            fr_from_u64(out++, fil_post_challenge(s->randomness, s->sector_ids[i], index, n_nodes));
        }
    }
}
