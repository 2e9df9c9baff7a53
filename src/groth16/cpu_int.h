/* The CPU backend's loaded state, shared by cpu_backend.c (load, unload) and cpu_prove.c. */
#ifndef GROTH16_CPU_INT_H
#define GROTH16_CPU_INT_H
#include "base/span_names.h"
#include "groth16/backend.h"
#include "groth16/evkey.h"
#include "groth16/groth16_int.h"
#include "poly/ntt.h"
#include <stdatomic.h>

/* Threads: confined to one prove at a time (checked). */
typedef struct cpu_handle {
    const r1cs_shape *shape;
    const r1cs_counts *c;
    const g16_key *key;
    g16_evkey *ev;     /* the key's evaluation form; NULL: none lies beside it */
    uint64_t *boolean; /* with ev: u of evkey.h, as bits */
    ntt_plan *plan;
    uint64_t m;
    g16_query query[N_QUERIES];
    /* Work space, kept between proofs: unmapping touched memory costs more than keeping it. `ab`
     * holds the row evaluations, and once the quotients are made the decoded points of one chunk;
     * `hv` holds h_group quotients, then a chunk's dense scalars. */
    fr *ab;
    void *hv; /* grows to the largest batch seen */
    size_t ab_bytes, hv_bytes;
    size_t h_group;     /* most quotients held at once */
    uint64_t chunk_max; /* G1 points per chunk; half as many G2 */
    uint32_t *src;      /* dense value of each gathered entry */
    size_t n_src;
    uint64_t *masks; /* per proof: query masks of A, then of B */
    size_t masks_bytes;
    atomic_flag busy;
} cpu_handle;

/* Below: cpu_prove.c. */
/* Words of the two masks of one proof; one spare word each, since the writer may touch the word
 * after the last bit. */
static inline size_t cpu_masks_words(const cpu_handle *h)
{
    return words_of(h->query[QUERY_A].n) + words_of(h->query[QUERY_B].n) + 2;
}
/* Points per chunk of n points, a multiple of 64, chunks about equal. */
uint64_t cpu_chunk_points(const cpu_handle *h, uint64_t n, bool g2);

/* Below: cpu_backend.c. Make room for the quotients and masks of n proofs. Errors: CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status cpu_reserve(cpu_handle *h, size_t n, const run_ctx *rc);
/* Below: cpu_prove.c. */
CUZK_MUST_CHECK cuzk_status cpu_prove(cpu_handle *h, const g16_batch *batch, g16_timings *t,
                                      const run_ctx *rc);
#endif
