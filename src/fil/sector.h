/* Sector sizes, tree shapes and registered seal proofs (circuits.md D, E). */
#ifndef FIL_SECTOR_H
#define FIL_SECTOR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fil_sector {
    const char *name; /* "2KiB" ... "64GiB" */
    uint64_t sector_bytes, n_nodes;
    uint32_t lg_nodes;
    uint32_t base, sub, top; /* arities of TreeC / TreeR; 0 = level absent */
    uint32_t base_levels;
    uint32_t layers;     /* PoRep layers L */
    uint32_t challenges; /* per partition */
    uint32_t partitions, partitions_ni;
} fil_sector;
#define FIL_N_SECTORS 10
extern const fil_sector FIL_SECTORS[FIL_N_SECTORS];           /* ascending size */
const fil_sector *fil_sector_by_bytes(uint64_t sector_bytes); /* NULL when unknown */
const fil_sector *fil_sector_by_name(const char *name);

typedef enum fil_seal_version {
    FIL_SEAL_V1,
    FIL_SEAL_V1_1,
    FIL_SEAL_SYNTHETIC,
    FIL_SEAL_NI
} fil_seal_version;
#define FIL_N_SEAL_VERSIONS 4
/* Suffix of the registered name: "V1", "V1_1", "V1_1_Feat_SyntheticPoRep",
 * "V1_2_Feat_NonInteractivePoRep". */
extern const char *const FIL_SEAL_SUFFIX[FIL_N_SEAL_VERSIONS];

typedef struct fil_seal_proof {
    const char *name;
    uint32_t id;
    uint64_t sector_bytes;
    fil_seal_version version;
} fil_seal_proof;
#define FIL_N_SEAL_PROOFS 20
/* "StackedDrg2KiBV1_1", "StackedDrg32GiBV1_1_Feat_SyntheticPoRep", ...: the exact spelling of the
 * API's JSON; NULL when unknown. */
const fil_seal_proof *fil_seal_proof_by_name(const char *name);
const fil_seal_proof *fil_seal_proof_by_id(uint32_t id);
/* Split "StackedDrg<size><suffix>" for any of the ten sector sizes, registered or not; n = length
 * of name. False when it is none. */
bool fil_seal_name_parse(const fil_sector **sector, fil_seal_version *version, const char *name,
                         size_t n);
uint32_t fil_seal_partitions(const fil_sector *s, fil_seal_version v);
/* Key file stem "v28-stacked-proof-of-replication-...-<sha256>" of a sector size; out >= 200
 * chars. */
void fil_porep_param_stem(char *out, const fil_sector *s);
#endif
