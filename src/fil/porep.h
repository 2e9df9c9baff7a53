/* PoRep vanilla proofs: the typed form of a C1 output, fully checked. */
#ifndef FIL_POREP_H
#define FIL_POREP_H
#include "base/arena.h"
#include "base/run_ctx.h"
#include "fil/merkle.h"
#include "fil/sector.h"

#define FIL_DRG_DEGREE 6u
#define FIL_EXP_DEGREE 8u
#define FIL_MAX_LAYERS 11u
#define FIL_LABEL_PARENTS 37u

typedef struct fil_column { uint32_t n_rows; fr rows[FIL_MAX_LAYERS]; fil_path path; uint64_t node; } fil_column; /* path: inclusion in TreeC */
/* One challenge. All values canonical and, after fil_porep_check, consistent with each other and with the commitments. */
typedef struct fil_porep_challenge {
    uint64_t challenge;                     /* node index */
    fil_path comm_d, comm_r_last;           /* leaf of comm_d = data */
    fil_column c_x, drg[FIL_DRG_DEGREE], exp[FIL_EXP_DEGREE];
    /* Stored labelling and encoding proofs, kept for checking only. */
    uint32_t n_labeling;
    struct fil_labeling { uint32_t n_parents; uint32_t layer_idx; uint64_t node; const fr *parents; } labeling[FIL_MAX_LAYERS], encoding;
} fil_porep_challenge;

/* Invariant after decode: lengths fit the registered proof's sector; lives in the arena given to decode. */
typedef struct fil_porep {
    const fil_seal_proof *registered;       /* NULL only for inputs without a known name */
    const fil_sector *sector;
    uint32_t n_partitions, n_challenges;    /* per partition */
    fil_porep_challenge **partitions;       /* [n_partitions][n_challenges] */
    fr comm_r, comm_d, replica_id, comm_c, comm_r_last;
    uint8_t seed[32], ticket[32];
    bool wrapped;                           /* came in the {SectorNum, Phase1Out, SectorSize} wrapper */
    uint64_t sector_num, wrapper_sector_size;
} fil_porep;

/* Decode C1 JSON, bare or wrapped (base64), as circuits.md E.7 and the parsing facts of G say. Errors: CUZK_E_INPUT naming the field by path,
 * what was expected and found. Memory: everything in *a. */
CUZK_MUST_CHECK cuzk_status fil_porep_decode(fil_porep *out, arena *a, const void *json, size_t len);
/* Optional request context that a C1 alone cannot prove. */
typedef struct fil_porep_context { bool has_miner, has_sector; uint64_t miner, sector; } fil_porep_context;
/* Full vanilla check of every partition: challenges, parents, paths, columns, labels, encoding, commitments (and replica id when the context is
 * given). First failure by name, CUZK_E_INPUT. */
CUZK_MUST_CHECK cuzk_status fil_porep_check(const fil_porep *p, const fil_porep_context *ctx, const run_ctx *rc);
/* Public inputs of partition k without ONE: 3 + 18 per challenge. n must be that. */
size_t fil_porep_n_public(const fil_porep *p);
void fil_porep_public_inputs(const fil_porep *p, uint32_t partition, fr *out);
#endif
