/* PoRep vanilla proofs: the typed form of a C1 output, fully checked. */
#ifndef FIL_POREP_H
#define FIL_POREP_H
#include "base/arena.h"
#include "base/run_ctx.h"
#include "fil/graph.h"
#include "fil/merkle.h"
#include "fil/sector.h"

#define FIL_MAX_LAYERS 11u

/* path: inclusion in TreeC; node: the stored column.index. */
typedef struct fil_column {
    uint32_t n_rows;
    fr rows[FIL_MAX_LAYERS];
    fil_path path;
    uint64_t node;
} fil_column;

/* A stored labelling or encoding proof. */
typedef struct fil_labeling {
    uint32_t n_parents; /* FIL_LABEL_PARENTS */
    uint32_t layer_idx;
    uint64_t node;
    const fr *parents;
} fil_labeling;

/* One challenge. All values canonical and, after fil_porep_check, consistent with each other and
 * with the commitments. */
typedef struct fil_porep_challenge {
    uint64_t challenge;           /* node index */
    fil_path comm_d, comm_r_last; /* leaf of comm_d = data */
    fil_column c_x, drg[FIL_DRG_DEGREE], exp[FIL_EXP_DEGREE];
    /* Kept for checking only. */
    uint32_t n_labeling;
    fil_labeling labeling[FIL_MAX_LAYERS], encoding;
} fil_porep_challenge;

/* Invariant after decode: partition, challenge, row, level and sibling counts fit the sector and
 * the seal version, every index is below its arity; lives in the arena given to decode. */
typedef struct fil_porep {
    /* NULL for development sizes, whose names are not registered */
    const fil_seal_proof *registered;
    const fil_sector *sector;
    /* From the name, and for development sizes a guess: the id of the smallest registered size of
     * the version, or of the 32 GiB one when there are 11 layers. fil_porep_context overrides
     * it. */
    fil_seal_version version;
    uint8_t porep_id[32];
    /* sector->layers; 2 or 11 as found for development sizes */
    uint32_t layers;
    uint32_t n_partitions, n_challenges; /* per partition */
    fil_porep_challenge **partitions;    /* [n_partitions][n_challenges] */
    fr comm_r, comm_d, replica_id;
    fr comm_c, comm_r_last; /* stored roots of the first challenge */
    uint8_t seed[32], ticket[32];
    /* came in the {SectorNum, Phase1Out, SectorSize} wrapper, whose numbers are informative only */
    bool wrapped;
    uint64_t sector_num, wrapper_sector_size;
} fil_porep;

/* Decode C1 JSON, bare or wrapped (base64), as circuits.md E.7 and the parsing facts of G say.
 * Memory: everything in *a; *out is zeroed on failure.
 * Errors: CUZK_E_INPUT naming the field by path, what was expected and found; CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status fil_porep_decode(fil_porep *out, arena *a, const void *json,
                                             size_t len);

/* Optional request context that a C1 alone cannot prove. The replica id is recomputed when miner
 * and sector are both given. porep_id and version override what the name says. */
typedef struct fil_porep_context {
    bool has_miner, has_sector, has_porep_id, has_version;
    uint64_t miner, sector;
    uint8_t porep_id[32];
    fil_seal_version version;
} fil_porep_context;

/* Full vanilla check of every partition: challenges, parents, paths, columns, labels, encoding,
 * commitments (and replica id when the context gives miner and sector). Challenges are spread over
 * rc->pool. ctx and rc may be NULL.
 * Errors: CUZK_E_INPUT naming the first field that contradicts the rest, in document order;
 * CUZK_E_CANCELLED; CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status fil_porep_check(const fil_porep *p, const fil_porep_context *ctx,
                                            const run_ctx *rc);

/* Public inputs of a partition without ONE: 3 + 18 per challenge. */
#define FIL_POREP_INPUTS(n_challenges) (3 + 18 * (size_t)(n_challenges))
size_t fil_porep_n_public(const fil_porep *p);
/* As the circuit gets them from the proof (fil_porep_n_public values). */
void fil_porep_public_inputs(const fil_porep *p, uint32_t partition, fr *out);

/* What a verifier knows of one sector. seed may be NULL for FIL_SEAL_NI. */
typedef struct fil_porep_statement {
    const fil_sector *sector;
    fil_seal_version version;
    uint8_t porep_id[32];
    fr replica_id, comm_d, comm_r;
    const uint8_t *seed;
} fil_porep_statement;
/* The same inputs derived from the statement alone: out has FIL_POREP_INPUTS(sector->challenges)
 * values.
 * Errors: as fil_challenges. */
CUZK_MUST_CHECK cuzk_status fil_porep_statement_inputs(fr *out, const fil_porep_statement *s,
                                                       uint32_t partition);
#endif
