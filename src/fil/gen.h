/* Vanilla inputs made up without sealing: what a client would send, satisfying every check and
 * every circuit, deterministic from a seed. For development, benches and tests: no sector stands
 * behind them, but a proof of one verifies like any other.
 *
 * What is real and what is made up:
 * PoRep V1, V1_1   Challenges, parents, the labels of challenged nodes, encodings, hashes and paths
 * are real. Columns of nodes that
 * are parents only, and all leaves that no proof opens, are drawn from the seed. Any size.
 * PoRep Synthetic, The challenges depend on comm_r, so nothing can be chosen after them: the sector
 * is really sealed. Up to 8 MiB.
 *   NI
 * WinningPoSt,     Challenged leaves and comm_c are drawn from the seed; every sector has a tree of
 * its own. Any size, any number.
 *   WindowPoSt
 * SnapDeals        The challenges depend on comm_r_new, so trees are used of which every leaf is
 * known: 2^h blocks, each with
 *                    eight leaves repeating. Any size.
 * Every value is a function of seed, kind, size, miner and sector number alone, whatever the thread
 * count. */
#ifndef FIL_GEN_H
#define FIL_GEN_H
#include "fil/porep.h"
#include "fil/post.h"
#include "fil/update.h"

typedef struct fil_gen_id {
    uint64_t seed, miner;
    uint64_t sector; /* sector number; the first one of several */
} fil_gen_id;

/* Largest sector that is sealed, for challenges that depend on comm_r. */
#define FIL_GEN_SEAL_MAX_BYTES ((uint64_t)8 << 20)

/* Out:    as fil_porep_decode leaves it, and accepted by fil_porep_check, also with id's miner and
 *         sector as context.
 * Memory: the result in *a. rc may be NULL. On failure *out is zeroed.
 * Errors: CUZK_E_INPUT (Synthetic and NI above FIL_GEN_SEAL_MAX_BYTES), CUZK_E_NOMEM,
 * CUZK_E_CANCELLED.
 * Cost:   CPU time, with encoding: 1.8 s for 32 GiB, 13 s to seal 8 MiB. */
CUZK_MUST_CHECK cuzk_status fil_gen_porep(fil_porep *out, arena *a, const fil_gen_id *id,
                                          const fil_sector *s, fil_seal_version v,
                                          const run_ctx *rc);
/* n_sectors >= 1 (exactly 1 for WinningPoSt), numbered on from id->sector. Randomness and prover id
 * are set.
 * Errors: CUZK_E_INPUT (count, numbers beyond 2^64), CUZK_E_NOMEM, CUZK_E_CANCELLED. Cost: 3.7 ms a
 * sector of 32 GiB. */
CUZK_MUST_CHECK cuzk_status fil_gen_post(fil_post *out, arena *a, const fil_gen_id *id,
                                         const fil_post_proof *proof, uint32_t n_sectors,
                                         const run_ctx *rc);
/* All partitions, with the default h; commitments are set. Errors: CUZK_E_NOMEM, CUZK_E_CANCELLED.
 * Cost: 0.6 s for 32 GiB. */
CUZK_MUST_CHECK cuzk_status fil_gen_update(fil_update *out, arena *a, const fil_gen_id *id,
                                           const fil_update_config *c, const run_ctx *rc);

/* The bytes a client sends, exactly as the reference writes them; decoding them gives the same
 * value again.
 * Memory: *out gives; release with mem_free (*len bytes; JSON has a NUL after them). On failure
 * *out is NULL.
 * Errors: CUZK_E_NOMEM. */
/* C1 JSON; inside the {SectorNum, Phase1Out, SectorSize} wrapper when p->wrapped. */
CUZK_MUST_CHECK cuzk_status fil_porep_encode(uint8_t **out, size_t *len, const fil_porep *p);
/* bincode FallbackPoStSectorProof of one sector; i < p->n_sectors. */
CUZK_MUST_CHECK cuzk_status fil_post_encode(uint8_t **out, size_t *len, const fil_post *p,
                                            uint32_t i);
/* bincode PartitionProof; k < p->n_partitions. */
CUZK_MUST_CHECK cuzk_status fil_update_encode(uint8_t **out, size_t *len, const fil_update *p,
                                              uint32_t k);
#endif
