/* Shared by making and reading of evaluation-form keys. */
#ifndef GROTH16_EVKEY_INT_H
#define GROTH16_EVKEY_INT_H
#include "groth16/evkey.h"
#include "groth16/groth16_int.h"

#define G16_EVKEY_VERSION 2u
#define G16_EVKEY_HEAD_BYTES 256u
#define G16_EVKEY_DIGEST_BYTES 64u
#define G16_EVKEY_CHUNK_BYTES ((size_t)16 << 20)
#define G16_EVKEY_LG_M_MAX 32u
static_assert(G16_EVKEY_LG_M_MAX <= FR_TWO_ADICITY, "a domain of roots of unity");

const char *g16_ev_section_name(g16_ev_section s);
/* Counts and lengths from a shape; digests zero. */
void g16_evkey_of_shape(g16_evkey_info *info, const r1cs_shape *s);
/* The derived members from the others. */
void g16_evkey_layout(g16_evkey_info *info);
void g16_evkey_encode_head(uint8_t b[G16_EVKEY_HEAD_BYTES], const g16_evkey_info *info);
void g16_evkey_vk_digest(uint8_t out[32], const g16_key *k);

/* Products done, of all that a making takes. */
typedef struct g16_ev_progress {
    uint64_t done, total;
} g16_ev_progress;
void g16_ev_advance(g16_ev_progress *p, uint64_t n_products, const run_ctx *rc);

/* On vectors of n = 2^lg_n points of the subgroup; rev(j) is the lg_n bits of j reversed. Errors of
 * all: CUZK_E_NOMEM, CUZK_E_CANCELLED.
 * a[rev(j)] <- sum over i < n of w^-ij a[i], j < n, with w = fr_root_of_unity(lg_n). */
CUZK_MUST_CHECK cuzk_status g16_g1_transform(g1_aff *a, uint32_t lg_n, g16_ev_progress *p,
                                             const run_ctx *rc);
/* a[i] <- i k a[i]; n products. */
CUZK_MUST_CHECK cuzk_status g16_g1_times_index(g1_aff *a, uint32_t lg_n, const fr *k,
                                               g16_ev_progress *p, const run_ctx *rc);
/* a[rev(j)] += k[j] b[rev(j)], n products; b is destroyed. */
CUZK_MUST_CHECK cuzk_status g16_g1_add_products(g1_aff *a, g1_aff *b, const fr *k, uint32_t lg_n,
                                                g16_ev_progress *p, const run_ctx *rc);
/* a[j] and a[rev(j)] change places. */
CUZK_MUST_CHECK cuzk_status g16_g1_reverse(g1_aff *a, uint32_t lg_n, const run_ctx *rc);
/* Products that a transform counts. */
static inline uint64_t g16_g1_transform_products(uint32_t lg_n)
{
    return lg_n ? (uint64_t)lg_n << (lg_n - 1) : 0;
}
/* The low n_bits <= 32 bits of x in reverse. */
static inline uint64_t g16_reverse_bits(uint64_t x, uint32_t n_bits)
{
    uint32_t v = __builtin_bswap32((uint32_t)x);
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    return n_bits ? v >> (32 - n_bits) : 0;
}

/* B and C transposed, to fold D and G of evkey.h into section l. d, g: 2^lg_m points each, in
 * bit-reversed order; they and the shape outlive the object. Memory: gives 8 bytes per term of B and
 * C, 16 per variable, 2 MiB per thread. Threads: confined. Errors: CUZK_E_NOMEM, CUZK_E_CANCELLED. */
typedef struct g16_ev_fold g16_ev_fold;
CUZK_MUST_CHECK cuzk_status g16_ev_fold_create(g16_ev_fold **out, const r1cs_shape *s,
                                               const g1_aff *d, const g1_aff *g, const run_ctx *rc);
void g16_ev_fold_destroy(g16_ev_fold *f); /* NULL is allowed */
/* out[i] = l[i] + sum_j B_jv D_j - sum_j C_jv G_j for the variables v = first + i, i < n, inputs
 * counted before aux; l NULL stands for infinities. Errors: CUZK_E_CANCELLED. */
CUZK_MUST_CHECK cuzk_status g16_ev_fold_run(g16_ev_fold *f, g1_aff *out, const g1_aff *l,
                                            uint64_t first, uint64_t n, const run_ctx *rc);
#endif
