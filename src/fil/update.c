#include "fil/update.h"
#include "base/bytes.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"
#include <stdio.h>
#include <string.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define NODES(lg) (uint64_t)1 << (lg), (lg)
#define SMALL_HS {1, 1, 1, 1, 1, 1}, 1
#define HS {7, 8, 9, 10, 11, 12}, 10

/* circuits.md D.3. base_levels = log8(nodes / (sub * top)). */
const fil_update_config FIL_UPDATE_CONFIGS[FIL_N_UPDATE_CONFIGS] = {
    /* name, bytes, nodes, lg, base-sub-top, base levels, lg partitions, challenges, lg apex, hs,
     * default h */
    {"1KiB", KIB, NODES(5), 8, 4, 0, 1, 0, 10, 3, SMALL_HS},
    {"2KiB", 2 * KIB, NODES(6), 8, 0, 0, 2, 0, 10, 3, SMALL_HS},
    {"4KiB", 4 * KIB, NODES(7), 8, 2, 0, 2, 0, 10, 3, SMALL_HS},
    {"8KiB", 8 * KIB, NODES(8), 8, 4, 0, 2, 0, 10, 3, SMALL_HS},
    {"16KiB", 16 * KIB, NODES(9), 8, 8, 0, 2, 1, 10, 7, SMALL_HS},
    {"32KiB", 32 * KIB, NODES(10), 8, 8, 2, 2, 1, 10, 7, SMALL_HS},
    {"8MiB", 8 * MIB, NODES(18), 8, 0, 0, 6, 2, 10, 7, HS},
    {"16MiB", 16 * MIB, NODES(19), 8, 2, 0, 6, 2, 10, 7, HS},
    {"512MiB", 512 * MIB, NODES(24), 8, 0, 0, 8, 4, 86, 7, HS},
    {"32GiB", 32 * GIB, NODES(30), 8, 8, 0, 9, 4, 86, 7, HS},
    {"64GiB", 64 * GIB, NODES(31), 8, 8, 2, 9, 4, 86, 7, HS},
};

#define N_PROOFS 5
static const fil_update_proof proofs[N_PROOFS] = {
    {"StackedDrg2KiBV1", 0, 2 * KIB},     {"StackedDrg8MiBV1", 1, 8 * MIB},
    {"StackedDrg512MiBV1", 2, 512 * MIB}, {"StackedDrg32GiBV1", 3, 32 * GIB},
    {"StackedDrg64GiBV1", 4, 64 * GIB},
};

const fil_update_config *fil_update_config_by_bytes(uint64_t sector_bytes)
{
    for (size_t i = 0; i < FIL_N_UPDATE_CONFIGS; i++)
        if (FIL_UPDATE_CONFIGS[i].sector_bytes == sector_bytes)
            return &FIL_UPDATE_CONFIGS[i];
    return NULL;
}

const fil_update_proof *fil_update_proof_by_name(const char *name)
{
    for (size_t i = 0; i < N_PROOFS; i++)
        if (strcmp(proofs[i].name, name) == 0)
            return &proofs[i];
    return NULL;
}

const fil_update_proof *fil_update_proof_by_id(uint32_t id)
{
    return id < N_PROOFS ? &proofs[id] : NULL;
}

uint32_t fil_update_h_select(const fil_update_config *c, uint32_t h)
{
    for (uint32_t i = 0; i < ARRAY_LEN(c->hs); i++)
        if (c->hs[i] == h)
            return 1u << i;
    return 0;
}

void fil_update_param_stem(char *out, const fil_update_config *c, bool poseidon)
{
    char ident[96], hex[65];
    uint8_t digest[32];
    int n = snprintf(ident, sizeof ident, "empty_sector_update::PublicParams{ sector_nodes: %llu }",
                     (unsigned long long)c->n_nodes);
    sha256(digest, ident, (size_t)n);
    hex_encode(hex, digest, sizeof digest);
    snprintf(out, 200, "v28-empty-sector-update-%smerkletree-poseidon_hasher-%u-%u-%u-%s",
             poseidon ? "poseidon-" : "", c->base, c->sub, c->top, hex);
}

static void hash_tagged(fr *out, const fr *a, const fr *b)
{
    const poseidon_constants *c = poseidon_constants_get(2);
    const fr in[2] = {*a, *b};
    *out = FR_ZERO;
    if (c)
        poseidon_hash(out, c, &POSEIDON_TAG_UPDATE, in);
}

void fil_update_phi(fr *out, const fr *comm_d_new, const fr *comm_r_old)
{
    hash_tagged(out, comm_d_new, comm_r_old);
}

void fil_update_rho(fr *out, const fr *phi, uint64_t high)
{
    fr x;
    fr_from_u64(&x, high);
    hash_tagged(out, phi, &x);
}

/* n bits (1 to 32) of a little-endian number, from bit pos on; pos + n <= 256. */
static uint64_t bits_of(const uint8_t le[32], uint32_t pos, uint32_t n)
{
    uint64_t v = 0;
    for (uint32_t i = 0; i < n; i++)
        v |= (uint64_t)(le[(pos + i) / 8] >> (pos + i) % 8 & 1) << i;
    return v;
}

/* A digest has 254 bits that are surely uniform enough; as many whole challenges as fit are cut out
 * of it (circuits.md E.5). */
cuzk_status fil_update_challenges(uint64_t *out, const fil_update_config *c, uint32_t partition,
                                  const fr *comm_r_new)
{
    uint32_t w = c->lg_nodes - c->lg_partitions, per = 254 / w,
             n_digests = (c->challenges + per - 1) / per;
    if (!poseidon_constants_get(2))
        return cuzk_fail(CUZK_E_NOMEM, "Poseidon constants");
    for (uint32_t j = 0; j < n_digests; j++) {
        fr idx, digest;
        uint8_t le[32];
        fr_from_u64(&idx, (uint64_t)partition * n_digests + j);
        hash_tagged(&digest, comm_r_new, &idx);
        fr_to_le(le, &digest);
        for (uint32_t i = 0; i < per && j * per + i < c->challenges; i++)
            out[j * per + i] = bits_of(le, i * w, w) | (uint64_t)partition << w;
    }
    return cuzk_ok();
}

void fil_update_statement_inputs(fr out[FIL_UPDATE_N_PUBLIC], const fil_update_config *c,
                                 const fil_update_context *s, uint32_t partition)
{
    uint32_t h_select = fil_update_h_select(c, s->h ? s->h : c->h_default);
    fr_from_u64(&out[0], partition | (uint64_t)h_select << c->lg_partitions);
    out[1] = s->comm_r_old;
    out[2] = s->comm_d_new;
    out[3] = s->comm_r_new;
}

void fil_update_public_inputs(const fil_update *p, uint32_t partition, fr out[FIL_UPDATE_N_PUBLIC])
{
    const fil_update_context s = {p->comm_r_old, p->comm_d_new, p->comm_r_new, p->h};
    fil_update_statement_inputs(out, p->config, &s, partition);
}
