#include "fil/sector.h"
#include "base/bytes.h"
#include "hash/sha256.h"
#include <stdio.h>
#include <string.h>

/* circuits.md D (table of shapes) and D.1 (parameters). base_levels = log8(nodes / (sub * top)). */
#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
const fil_sector FIL_SECTORS[FIL_N_SECTORS] = {
    /* name, bytes, nodes, lg, base-sub-top, base levels, layers, challenges, partitions, NI
     * partitions */
    {"2KiB", 2 * KIB, (uint64_t)1 << 6, 6, 8, 0, 0, 2, 2, 2, 1, 13},
    {"4KiB", 4 * KIB, (uint64_t)1 << 7, 7, 8, 2, 0, 2, 2, 2, 1, 13},
    {"16KiB", 16 * KIB, (uint64_t)1 << 9, 9, 8, 8, 0, 2, 2, 2, 1, 13},
    {"32KiB", 32 * KIB, (uint64_t)1 << 10, 10, 8, 8, 2, 2, 2, 2, 1, 13},
    {"8MiB", 8 * MIB, (uint64_t)1 << 18, 18, 8, 0, 0, 6, 2, 2, 1, 13},
    {"16MiB", 16 * MIB, (uint64_t)1 << 19, 19, 8, 2, 0, 6, 2, 2, 1, 13},
    {"512MiB", 512 * MIB, (uint64_t)1 << 24, 24, 8, 0, 0, 8, 2, 2, 1, 13},
    {"1GiB", GIB, (uint64_t)1 << 25, 25, 8, 2, 0, 8, 2, 2, 1, 13},
    {"32GiB", 32 * GIB, (uint64_t)1 << 30, 30, 8, 8, 0, 9, 11, 18, 10, 126},
    {"64GiB", 64 * GIB, (uint64_t)1 << 31, 31, 8, 8, 2, 9, 11, 18, 10, 126},
};

const char *const FIL_SEAL_SUFFIX[FIL_N_SEAL_VERSIONS] = {
    [FIL_SEAL_V1] = "V1",
    [FIL_SEAL_V1_1] = "V1_1",
    [FIL_SEAL_SYNTHETIC] = "V1_1_Feat_SyntheticPoRep",
    [FIL_SEAL_NI] = "V1_2_Feat_NonInteractivePoRep",
};

static const fil_seal_proof seal_proofs[FIL_N_SEAL_PROOFS] = {
    {"StackedDrg2KiBV1", 0, 2 * KIB, FIL_SEAL_V1},
    {"StackedDrg8MiBV1", 1, 8 * MIB, FIL_SEAL_V1},
    {"StackedDrg512MiBV1", 2, 512 * MIB, FIL_SEAL_V1},
    {"StackedDrg32GiBV1", 3, 32 * GIB, FIL_SEAL_V1},
    {"StackedDrg64GiBV1", 4, 64 * GIB, FIL_SEAL_V1},
    {"StackedDrg2KiBV1_1", 5, 2 * KIB, FIL_SEAL_V1_1},
    {"StackedDrg8MiBV1_1", 6, 8 * MIB, FIL_SEAL_V1_1},
    {"StackedDrg512MiBV1_1", 7, 512 * MIB, FIL_SEAL_V1_1},
    {"StackedDrg32GiBV1_1", 8, 32 * GIB, FIL_SEAL_V1_1},
    {"StackedDrg64GiBV1_1", 9, 64 * GIB, FIL_SEAL_V1_1},
    {"StackedDrg2KiBV1_1_Feat_SyntheticPoRep", 10, 2 * KIB, FIL_SEAL_SYNTHETIC},
    {"StackedDrg8MiBV1_1_Feat_SyntheticPoRep", 11, 8 * MIB, FIL_SEAL_SYNTHETIC},
    {"StackedDrg512MiBV1_1_Feat_SyntheticPoRep", 12, 512 * MIB, FIL_SEAL_SYNTHETIC},
    {"StackedDrg32GiBV1_1_Feat_SyntheticPoRep", 13, 32 * GIB, FIL_SEAL_SYNTHETIC},
    {"StackedDrg64GiBV1_1_Feat_SyntheticPoRep", 14, 64 * GIB, FIL_SEAL_SYNTHETIC},
    {"StackedDrg2KiBV1_2_Feat_NonInteractivePoRep", 15, 2 * KIB, FIL_SEAL_NI},
    {"StackedDrg8MiBV1_2_Feat_NonInteractivePoRep", 16, 8 * MIB, FIL_SEAL_NI},
    {"StackedDrg512MiBV1_2_Feat_NonInteractivePoRep", 17, 512 * MIB, FIL_SEAL_NI},
    {"StackedDrg32GiBV1_2_Feat_NonInteractivePoRep", 18, 32 * GIB, FIL_SEAL_NI},
    {"StackedDrg64GiBV1_2_Feat_NonInteractivePoRep", 19, 64 * GIB, FIL_SEAL_NI},
};

const fil_sector *fil_sector_by_bytes(uint64_t sector_bytes)
{
    for (size_t i = 0; i < FIL_N_SECTORS; i++)
        if (FIL_SECTORS[i].sector_bytes == sector_bytes)
            return &FIL_SECTORS[i];
    return NULL;
}

const fil_sector *fil_sector_by_name(const char *name)
{
    for (size_t i = 0; i < FIL_N_SECTORS; i++)
        if (strcmp(FIL_SECTORS[i].name, name) == 0)
            return &FIL_SECTORS[i];
    return NULL;
}

const fil_seal_proof *fil_seal_proof_by_name(const char *name)
{
    for (size_t i = 0; i < FIL_N_SEAL_PROOFS; i++)
        if (strcmp(seal_proofs[i].name, name) == 0)
            return &seal_proofs[i];
    return NULL;
}

const fil_seal_proof *fil_seal_proof_by_id(uint32_t id)
{
    return id < FIL_N_SEAL_PROOFS ? &seal_proofs[id] : NULL;
}

static bool take(const char **p, size_t *n, const char *prefix)
{
    size_t k = strlen(prefix);
    if (*n < k || memcmp(*p, prefix, k) != 0)
        return false;
    *p += k;
    *n -= k;
    return true;
}

bool fil_seal_name_parse(const fil_sector **sector, fil_seal_version *version, const char *name,
                         size_t n)
{
    if (!take(&name, &n, "StackedDrg"))
        return false;
    for (size_t i = 0; i < FIL_N_SECTORS; i++) {
        const char *p = name;
        size_t left = n;
        if (!take(&p, &left, FIL_SECTORS[i].name)) /* no name is a prefix of another */
            continue;
        for (unsigned v = 0; v < FIL_N_SEAL_VERSIONS; v++)
            if (strlen(FIL_SEAL_SUFFIX[v]) == left && memcmp(FIL_SEAL_SUFFIX[v], p, left) == 0) {
                *sector = &FIL_SECTORS[i];
                *version = (fil_seal_version)v;
                return true;
            }
    }
    return false;
}

uint32_t fil_seal_partitions(const fil_sector *s, fil_seal_version v)
{
    return v == FIL_SEAL_NI ? s->partitions_ni : s->partitions;
}

/* circuits.md A.10: the version of the API, the porep id and the kind of challenges are not in the
 * identifier. */
void fil_porep_param_stem(char *out, const fil_sector *s)
{
    char tree[64], ident[400], hex[65];
    uint8_t digest[32];
    snprintf(tree, sizeof tree, "merkletree-poseidon_hasher-%u-%u-%u", s->base, s->sub, s->top);
    int n = snprintf(ident, sizeof ident,
                     "layered_drgporep::PublicParams{ graph: "
                     "stacked_graph::StackedGraph{expansion_degree: 8 base_graph: "
                     "drgraph::BucketGraph{size: %llu; degree: 6; hasher: poseidon_hasher} }, "
                     "challenges: LayerChallenges "
                     "{ layers: %u, max_count: %u }, tree: %s }",
                     (unsigned long long)s->n_nodes, s->layers, s->challenges, tree);
    sha256(digest, ident, (size_t)n);
    hex_encode(hex, digest, sizeof digest);
    snprintf(out, 200, "v28-stacked-proof-of-replication-%s-sha256_hasher-%s", tree, hex);
}
