/* WinningPoSt and WindowPoSt vanilla proofs: typed, fully checked (circuits.md D.2, E.5, E.8). */
#ifndef FIL_POST_H
#define FIL_POST_H
#include "base/arena.h"
#include "base/run_ctx.h"
#include "fil/merkle.h"
#include "fil/sector.h"

typedef enum fil_post_kind { FIL_POST_WINNING, FIL_POST_WINDOW } fil_post_kind;
/* Registered PoSt proofs, numbers and names as golden vectors.json has them. */
typedef struct fil_post_proof {
    const char *name;
    uint32_t id;
    uint64_t sector_bytes;
    fil_post_kind kind;
    bool v1_2; /* challenge_index counts from 0 in every sector */
} fil_post_proof;
const fil_post_proof *fil_post_proof_by_name(const char *name);
const fil_post_proof *fil_post_proof_by_id(uint32_t id);
/* For sizes that no registered proof has (4, 16, 32 KiB ...): kind, size and version alone. */
#define FIL_POST_UNREGISTERED UINT32_MAX /* id; the name is NULL */
fil_post_proof fil_post_proof_unregistered(fil_post_kind kind, uint64_t sector_bytes, bool v1_2);
/* Sectors S and challenges C per partition: Winning 66 x 1; Window 2 x 10, 2349 x 10 (32 GiB), 2300
 * x 10 (64 GiB). */
void fil_post_layout(const fil_post_proof *p, uint32_t *sectors, uint32_t *challenges);
/* Key file stem "v28-proof-of-spacetime-fallback-...-<sha256>"; out >= 200 chars; "" for an unknown
 * sector size. */
void fil_post_param_stem(char *out, const fil_post_proof *p);

/* One sector's proof: inclusion proofs in TreeR, C of them (Winning: 66). Values canonical. */
typedef struct fil_post_sector {
    uint64_t sector_id;
    fr comm_r, comm_c, comm_r_last;
    uint32_t n_inclusion;
    fil_path *inclusion;
} fil_post_sector;
typedef struct fil_post {
    fil_post_proof proof;
    const fil_sector *sector;
    uint32_t sectors_per_partition, challenges, n_partitions; /* S, C of the circuit */
    uint32_t n_sectors;                                       /* as given */
    fil_post_sector *sectors;
    uint8_t randomness[32], prover_id[32];
} fil_post;

/* Decode n_files bincode FallbackPoStSectorProof byte strings, in request order (trailing bytes are
 * tolerated).
 * After it: counts, arities and indexes fit the sector size, values are canonical; everything else
 * is for fil_post_check.
 * In:     a file of length 0 may be NULL. Memory: all of it in *a; *out is zeroed on failure.
 * Errors: CUZK_E_INPUT naming file and field
 * ("vanilla_proofs[1].sectors[0].inclusion_proofs[3].leaf: ..."); CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status fil_post_decode(fil_post *out, arena *a, const fil_post_proof *proof,
                                            const uint8_t *const *files, const size_t *lens,
                                            uint32_t n_files);
/* What the request says besides the bytes. */
typedef struct fil_post_context {
    uint8_t randomness[32], prover_id[32];
    /* Optional claim per sector, request order: ids and comm_r the client names (NULL: not
     * given). */
    const uint64_t *sector_ids;
    const fr *comm_r;
    uint32_t n_claims;
} fil_post_context;
/* Full vanilla check: every leaf index equals the challenge derived from randomness, sector id and
 * position, every root is recomputed and equal, comm_r = Poseidon(comm_c, comm_r_last), ids and
 * comm_r equal to the claims, randomness and prover_id are canonical.
 * The order of sectors is not judged: verifiers of the network sort by sector id, so clients
 * should. prover_id is in no proof.
 * Out:    randomness and prover_id of *p. Paths are spread over rc->pool; rc may be NULL.
 * Errors: CUZK_E_INPUT naming the first field that contradicts the rest, whatever the thread count;
 * CUZK_E_CANCELLED; CUZK_E_NOMEM.
 * Cost:   31 us a level: 7 s on one core for 2349 sectors of 32 GiB; what costs no hashing is
 *         compared first. */
CUZK_MUST_CHECK cuzk_status fil_post_check(fil_post *p, const fil_post_context *ctx,
                                           const run_ctx *rc);
/* Slot j of partition k shows sector min(k * S + j, n - 1): short partitions repeat the last sector
 * (Winning: always sector 0). */
const fil_post_sector *fil_post_slot(const fil_post *p, uint32_t partition, uint32_t slot);
/* The inclusion path of challenge c of a slot (Winning slot i uses inclusion i of the one
 * sector). */
const fil_path *fil_post_slot_path(const fil_post *p, uint32_t partition, uint32_t slot,
                                   uint32_t c);
/* Inclusion proofs each sector carries: C, or S of them for WinningPoSt. */
uint32_t fil_post_n_inclusion(const fil_post *p);
/* Public inputs of a partition without ONE: S * (1 + C). */
#define FIL_POST_INPUTS(sectors, challenges) ((size_t)(sectors) * (1 + (size_t)(challenges)))
size_t fil_post_n_public(const fil_post *p);
void fil_post_public_inputs(const fil_post *p, uint32_t partition, fr *out);
/* What a verifier knows: n_sectors >= 1 ids and comm_r, in the order of the proof (1 for
 * WinningPoSt). The sector size is a known one. */
typedef struct fil_post_statement {
    fil_post_proof proof;
    uint8_t randomness[32];
    const uint64_t *sector_ids;
    const fr *comm_r;
    uint32_t n_sectors;
} fil_post_statement;
/* The same public inputs derived from the statement alone. */
void fil_post_statement_inputs(fr *out, const fil_post_statement *s, uint32_t partition);
/* challenge_index of an inclusion proof of the sector at sector_idx (over all partitions;
 * circuits.md E.5). */
uint64_t fil_post_challenge_index(const fil_post_proof *p, uint32_t sector_idx, uint32_t inclusion);
/* Leaf challenge: SHA256(randomness | sector_id | challenge_index) mod n_nodes, which is not 0. */
uint64_t fil_post_challenge(const uint8_t randomness[32], uint64_t sector_id,
                            uint64_t challenge_index, uint64_t n_nodes);
/* Index of the winning sector among n_sectors (at least 1) for draw n. */
uint64_t fil_winning_sector(const uint8_t prover_id[32], const uint8_t randomness[32], uint64_t n,
                            uint64_t n_sectors);
#endif
