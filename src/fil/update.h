/* SnapDeals (EmptySectorUpdate) vanilla proofs: typed, fully checked (circuits.md D.3, E.5,
 * E.9). */
#ifndef FIL_UPDATE_H
#define FIL_UPDATE_H
#include "base/arena.h"
#include "base/run_ctx.h"
#include "fil/merkle.h"
#include "fil/sector.h"

/* What a sector size (1, 2, 4, 8, 16, 32 KiB, 8, 16, 512 MiB, 32, 64 GiB; 1 and 8 KiB exist for
 * this circuit only) fixes. */
typedef struct fil_update_config {
    const char *name;
    uint64_t sector_bytes, n_nodes;
    uint32_t lg_nodes, base, sub, top, base_levels;
    uint32_t lg_partitions, challenges; /* pbits; per partition */
    uint32_t lg_apex;                   /* abits */
    uint8_t hs[6];
    uint32_t h_default; /* hs[3] */
} fil_update_config;
#define FIL_N_UPDATE_CONFIGS 11
extern const fil_update_config FIL_UPDATE_CONFIGS[FIL_N_UPDATE_CONFIGS];
const fil_update_config *fil_update_config_by_bytes(uint64_t sector_bytes);
/* Registered update proofs, numbers and names as golden vectors.json has them. */
typedef struct fil_update_proof {
    const char *name;
    uint32_t id;
    uint64_t sector_bytes;
} fil_update_proof;
const fil_update_proof *fil_update_proof_by_name(const char *name);
const fil_update_proof *fil_update_proof_by_id(uint32_t id);
/* One-hot selector of h: 1 << (first index in hs with that value); 0 when h does not occur in
 * hs. */
uint32_t fil_update_h_select(const fil_update_config *c, uint32_t h);
/* Key file stems "v28-empty-sector-update-...", and of the Poseidon variant; out >= 200 chars. */
void fil_update_param_stem(char *out, const fil_update_config *c, bool poseidon);

/* Paths have exactly the levels of their trees (r: base-sub-top; d: lg_nodes binary ones). */
typedef struct fil_update_challenge {
    fil_path r_old, d_new, r_new;
} fil_update_challenge;
typedef struct fil_update_partition {
    fr comm_c;
    uint32_t n_apex;
    fr *apex;
    fil_update_challenge *challenges; /* config->challenges */
} fil_update_partition;
typedef struct fil_update {
    const fil_update_config *config;
    uint32_t n_partitions, h;
    fil_update_partition *partitions;
    fr comm_r_old, comm_d_new, comm_r_new; /* from the context, set by fil_update_check */
} fil_update;

/* Decode one bincode PartitionProof per partition, k in order (trailing bytes tolerated).
 * After it: counts, arities and indexes fit the sector size, values are canonical; everything else
 * is for fil_update_check.
 * Memory: all of it in *a; *out is zeroed on failure.
 * Errors: CUZK_E_INPUT naming partition and field
 * ("partition_proofs[0].challenge_proofs[3].proof_d_new.leaf: ..."); CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status fil_update_decode(fil_update *out, arena *a,
                                              const fil_update_config *config,
                                              const uint8_t *const *files, const size_t *lens,
                                              uint32_t n_files);
typedef struct fil_update_context {
    fr comm_r_old, comm_d_new, comm_r_new;
    uint32_t h; /* 0 = default */
} fil_update_context;
/* Full vanilla check: challenges from comm_r_new, every path index and root (apex tree, partition
 * path up to comm_d_new, R trees with comm_c), new leaf = old leaf + data * rho.
 * Out:    commitments and h of *p. Challenges are spread over rc->pool; rc may be NULL.
 * Errors: CUZK_E_INPUT naming the first field that contradicts the rest, whatever the thread count;
 * CUZK_E_CANCELLED; CUZK_E_NOMEM.
 * Cost:   31 us a level of two R paths: 0.9 s on one core for 32 GiB; what costs no hashing is
 *         compared first. */
CUZK_MUST_CHECK cuzk_status fil_update_check(fil_update *p, const fil_update_context *ctx,
                                             const run_ctx *rc);
/* Challenges of partition k: config->challenges node indexes. */
CUZK_MUST_CHECK cuzk_status fil_update_challenges(uint64_t *out, const fil_update_config *c,
                                                  uint32_t partition, const fr *comm_r_new);
/* Out is 0 only when there is no memory for the Poseidon constants on first use (as
 * poseidon_hash_merkle). phi = H_{2^40}(comm_d_new, comm_r_old); rho(high) = H_{2^40}(phi,
 * high). */
void fil_update_phi(fr *out, const fr *comm_d_new, const fr *comm_r_old);
void fil_update_rho(fr *out, const fr *phi, uint64_t high);
/* Public inputs of partition k: [k | h_select << pbits, comm_r_old, comm_d_new, comm_r_new]. */
#define FIL_UPDATE_N_PUBLIC 4
void fil_update_public_inputs(const fil_update *p, uint32_t partition, fr out[FIL_UPDATE_N_PUBLIC]);
/* The same from what a verifier knows. */
void fil_update_statement_inputs(fr out[FIL_UPDATE_N_PUBLIC], const fil_update_config *c,
                                 const fil_update_context *s, uint32_t partition);
#endif
