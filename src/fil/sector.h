/* Sector sizes, tree shapes and registered seal proofs (circuits.md D, E). */
#ifndef FIL_SECTOR_H
#define FIL_SECTOR_H
#include <stdbool.h>
#include <stdint.h>

typedef struct fil_sector {
    const char *name;                 /* "2KiB" ... "64GiB" */
    uint64_t sector_bytes, n_nodes;
    uint32_t lg_nodes;
    uint32_t base, sub, top;          /* arities of TreeC / TreeR; 0 = level absent */
    uint32_t base_levels;
    uint32_t layers;                  /* PoRep layers L */
    uint32_t challenges;              /* per partition */
    uint32_t partitions, partitions_ni;
} fil_sector;
#define FIL_N_SECTORS 10
extern const fil_sector FIL_SECTORS[FIL_N_SECTORS];
const fil_sector *fil_sector_by_bytes(uint64_t sector_bytes); /* NULL when unknown */
const fil_sector *fil_sector_by_name(const char *name);

typedef enum fil_seal_version { FIL_SEAL_V1, FIL_SEAL_V1_1, FIL_SEAL_SYNTHETIC, FIL_SEAL_NI } fil_seal_version;
typedef struct fil_seal_proof { const char *name; uint32_t id; uint64_t sector_bytes; fil_seal_version version; } fil_seal_proof;
const fil_seal_proof *fil_seal_proof_by_name(const char *name);  /* "StackedDrg2KiBV1_1", "StackedDrg32GiBV1_1_Feat_SyntheticPoRep", ...; the spelling of golden/vectors.json */
const fil_seal_proof *fil_seal_proof_by_id(uint32_t id);
/* Key file stem "v28-stacked-proof-of-replication-...-<sha256>" of a sector size; out >= 200 chars. */
void fil_porep_param_stem(char *out, const fil_sector *s);
#endif
