#include "fil/graph.h"
#include "base/bytes.h"
#include "hash/blake2.h"
#include "hash/chacha.h"
#include "hash/sha256.h"
#include <string.h>

void fil_porep_id(uint8_t out[32], const fil_seal_proof *p)
{
    memset(out, 0, 32);
    store_le64(out, p->id);
}

static void tagged_sha256(uint8_t out[32], const char *tag, const uint8_t porep_id[32])
{
    sha256_ctx c;
    sha256_init(&c);
    sha256_update(&c, tag, strlen(tag));
    sha256_update(&c, porep_id, 32);
    sha256_final(&c, out);
}

void fil_graph_init(fil_graph *g, uint64_t n_nodes, const uint8_t porep_id[32], bool legacy)
{
    uint8_t h[32];
    *g = (fil_graph){.n_nodes = n_nodes, .legacy = legacy, .half_bits = 1};
    tagged_sha256(h, "Filecoin_DRSample", porep_id);
    memcpy(g->drg_seed, h, sizeof g->drg_seed);
    tagged_sha256(h, "Filecoin_Feistel", porep_id);
    for (unsigned i = 0; i < 3; i++)
        g->feistel[i] = load_le64(h + 8 * i);
    while ((uint64_t)1 << 2 * g->half_bits < n_nodes * FIL_EXP_DEGREE)
        g->half_bits++;
}

/* circuits.md E.2: bucket sampling over 5 meta-nodes per node. */
void fil_graph_drg_parents(const fil_graph *g, uint32_t parents[6], uint64_t node)
{
    if (node <= 1) {
        memset(parents, 0, FIL_DRG_DEGREE * sizeof *parents);
        return;
    }
    uint8_t key[32];
    memcpy(key, g->drg_seed, sizeof g->drg_seed);
    store_le32(key + 28, (uint32_t)node);
    chacha rng;
    chacha_init_rand(&rng, key, 0, 8);
    uint64_t meta = 5 * node;
    unsigned n_buckets = 64 - (unsigned)__builtin_clzll(meta);
    uint32_t *drawn = g->legacy ? parents : parents + 1;
    for (unsigned i = 0; i < 5; i++) {
        uint64_t k = chacha_next_u64(&rng) % n_buckets + 1;
        uint64_t largest = (uint64_t)1 << k;
        if (largest > meta)
            largest = meta;
        uint64_t smallest = largest / 2 > 2 ? largest / 2 : 2;
        uint64_t back = smallest + chacha_next_u64(&rng) % (largest - smallest + 1);
        uint64_t p = (meta - back) / 5;
        drawn[i] = (uint32_t)(p == node ? node - 1 : p);
    }
    parents[g->legacy ? 5 : 0] = (uint32_t)(node - 1);
}

static uint64_t feistel_round(uint64_t right, uint64_t key)
{
    uint8_t in[16], digest[64];
    store_be64(in, right);
    store_be64(in + 8, key);
    blake2b_512(digest, in, sizeof in);
    return load_be64(digest);
}

/* circuits.md E.3: a three-round Feistel permutation of [0, 4^half), walked until it stays in [0, 8
 * n). */
void fil_graph_exp_parents(const fil_graph *g, uint32_t parents[8], uint64_t node)
{
    uint64_t n = g->n_nodes * FIL_EXP_DEGREE, mask = ((uint64_t)1 << g->half_bits) - 1;
    for (unsigned i = 0; i < FIL_EXP_DEGREE; i++) {
        uint64_t x = node * FIL_EXP_DEGREE + i;
        do {
            uint64_t left = x >> g->half_bits, right = x & mask;
            for (unsigned r = 0; r < 3; r++) {
                uint64_t next = left ^ (feistel_round(right, g->feistel[r]) & mask);
                left = right;
                right = next;
            }
            x = left << g->half_bits | right;
        } while (x >= n);
        /* V1_0_0 cut the value to 32 bits before dividing; it shows only above 2^29 nodes. */
        parents[i] = g->legacy ? (uint32_t)x / FIL_EXP_DEGREE : (uint32_t)(x / FIL_EXP_DEGREE);
    }
}

/* 32 bytes as a little-endian integer mod m (m < 2^64). */
static uint64_t mod_le256(const uint8_t b[32], uint64_t m)
{
    unsigned __int128 acc = 0;
    for (int i = 3; i >= 0; i--)
        acc = ((acc << 64) | load_le64(b + 8 * i)) % m;
    return (uint64_t)acc;
}

static void hashed_challenges(uint64_t *out, uint32_t n, uint32_t k, uint64_t n_nodes,
                              const sha256_ctx *prefix)
{
    for (uint32_t i = 0; i < n; i++) {
        uint8_t j[4], h[32];
        store_le32(j, n * k + i);
        sha256_ctx c = *prefix;
        sha256_update(&c, j, sizeof j);
        sha256_final(&c, h);
        out[i] = mod_le256(h, n_nodes - 1) + 1;
    }
}

static cuzk_status keyed_blake2b(uint8_t out[32], const char *key, const uint8_t a[32],
                                 const uint8_t b[32])
{
    blake2 *h;
    CUZK_TRY(blake2_create(&h, BLAKE2B_256_KEYED, key, strlen(key)));
    blake2_update(h, a, 32);
    blake2_update(h, b, 32);
    cuzk_status st = blake2_final(h, out);
    blake2_destroy(h);
    return st;
}

/* circuits.md E.5, synthetic: 2^18 candidate challenges, of which the seed selects the real
 * ones. */
static cuzk_status synthetic_challenges(uint64_t *out, uint32_t n, uint32_t k, uint64_t n_nodes,
                                        const uint8_t replica_id[32], const uint8_t comm_r[32],
                                        const uint8_t seed[32])
{
    static const uint8_t nonce[12] = "synth-porep";
    uint64_t count = n_nodes < (uint64_t)1 << 18 ? n_nodes : (uint64_t)1 << 18;
    uint8_t gen_key[32], sel_key[32];
    CUZK_TRY(
        keyed_blake2b(gen_key, "filecoin.io|PoRep|1|Synthetic|1|Generation", replica_id, comm_r));
    CUZK_TRY(keyed_blake2b(sel_key, "filecoin.io|PoRep|1|Synthetic|1|Selection", replica_id, seed));
    chacha gen, sel;
    chacha_init_ietf(&gen, gen_key, 0, nonce, 20);
    chacha_init_ietf(&sel, sel_key, 0, nonce, 20);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t j = (uint64_t)n * k + i;
        uint8_t block[64];
        chacha_seek_block(&sel, j / 16);
        chacha_keystream(&sel, block, sizeof block);
        uint64_t index = load_le32(block + 4 * (j % 16)) % count;
        chacha_seek_block(&gen, index / 2);
        chacha_keystream(&gen, block, sizeof block);
        out[i] = mod_le256(block + 32 * (index % 2), n_nodes - 1) + 1;
    }
    return cuzk_ok();
}

cuzk_status fil_challenges(uint64_t *out, uint32_t n, uint32_t k, fil_seal_version v,
                           uint64_t n_nodes, const fr *replica_id, const fr *comm_r,
                           const uint8_t seed[32])
{
    static const char ni_tag[] = "filecoin.io|PoRep|1|NonInteractive|1";
    uint8_t id[32], cr[32];
    sha256_ctx prefix;
    fr_to_le(id, replica_id);
    memset(out, 0, n * sizeof *out);
    sha256_init(&prefix);
    switch (v) {
    case FIL_SEAL_SYNTHETIC:
        fr_to_le(cr, comm_r);
        return synthetic_challenges(out, n, k, n_nodes, id, cr, seed);
    case FIL_SEAL_NI:
        fr_to_le(cr, comm_r);
        sha256_update(&prefix, ni_tag, sizeof ni_tag - 1);
        sha256_update(&prefix, id, sizeof id);
        sha256_update(&prefix, cr, sizeof cr);
        break;
    default:
        sha256_update(&prefix, id, sizeof id);
        sha256_update(&prefix, seed, 32);
        break;
    }
    hashed_challenges(out, n, k, n_nodes, &prefix);
    return cuzk_ok();
}

/* The digest as a field element below 2^254. */
static void final_fr32(fr *out, sha256_ctx *c)
{
    uint8_t h[32];
    sha256_final(c, h);
    h[31] &= 0x3f;
    fr_from_le_reduce(out, h);
}

void fil_replica_id(fr *out, const uint8_t prover_id[32], uint64_t sector, const uint8_t ticket[32],
                    const fr *comm_d, const uint8_t porep_id[32])
{
    uint8_t be[8], d[32];
    sha256_ctx c;
    store_be64(be, sector);
    fr_to_le(d, comm_d);
    sha256_init(&c);
    sha256_update(&c, prover_id, 32);
    sha256_update(&c, be, sizeof be);
    sha256_update(&c, ticket, 32);
    sha256_update(&c, d, sizeof d);
    sha256_update(&c, porep_id, 32);
    final_fr32(out, &c);
}

void fil_prover_id(uint8_t out[32], uint64_t miner)
{
    memset(out, 0, 32);
    do {
        *out = (uint8_t)((miner & 0x7f) | (miner > 0x7f ? 0x80 : 0));
        out++;
        miner >>= 7;
    } while (miner);
}

void fil_label(fr *out, const fr *replica_id, uint32_t layer, uint64_t node, const fr *parents,
               uint32_t n_parents)
{
    uint8_t head[64] = {0}, b[32];
    sha256_ctx c;
    fr_to_le(head, replica_id);
    store_be32(head + 32, layer);
    store_be64(head + 36, node);
    sha256_init(&c);
    sha256_update(&c, head, sizeof head);
    for (uint32_t i = 0; i < n_parents; i++) {
        fr_to_le(b, &parents[i]);
        sha256_update(&c, b, sizeof b);
    }
    final_fr32(out, &c);
}

uint32_t fil_label_parent(uint32_t layer, uint32_t k)
{
    return k % (layer == 1 ? FIL_DRG_DEGREE : FIL_DRG_DEGREE + FIL_EXP_DEGREE);
}
