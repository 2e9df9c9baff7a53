/* The CPU backend's loaded state, shared by cpu_backend.c (load, unload), cpu_query.c and
 * cpu_prove.c. */
#ifndef GROTH16_CPU_INT_H
#define GROTH16_CPU_INT_H
#include "base/span_names.h"
#include "groth16/backend.h"
#include "groth16/groth16_int.h"
#include "poly/ntt.h"
#include <stdatomic.h>

/* How the entries of a key section read the witness: n_in inputs first, then the aux variables set
 * in density, ascending.
 * An entry is either a bit (summed under a mask) or "dense" (an input or a field-typed aux,
 * multiplied). */
typedef struct cpu_query {
    g16_section sec;
    uint64_t n, n_in, n_dense;
    const uint64_t *density; /* NULL: every aux */
    const uint64_t *dense;   /* n bits: dense entries; borrowed from the shape or own_dense */
    uint64_t *own_dense;
    uint64_t *member; /* bit k: the k-th dense aux is in this query; NULL: all are */
    uint32_t *inputs; /* n_in input indices */
} cpu_query;

typedef enum cpu_query_id { QUERY_L, QUERY_A, QUERY_B, N_QUERIES } cpu_query_id;

/* Threads: confined to one prove at a time (checked). */
typedef struct cpu_handle {
    const r1cs_shape *shape;
    const r1cs_counts *c;
    const g16_key *key;
    ntt_plan *plan;
    uint64_t m;
    cpu_query query[N_QUERIES];
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

/* Below: cpu_query.c. */
CUZK_MUST_CHECK cuzk_status cpu_query_init(cpu_query *q, cpu_query_id id, const r1cs_shape *s);
void cpu_query_fini(cpu_query *q);
/* The witness bits in query order, n bits (dense entries and inputs 0). */
void cpu_query_mask(uint64_t *mask, const cpu_query *q, const witness *w);
/* Number of dense entries in [first, first + n), first a multiple of 64. */
uint64_t cpu_query_count(const cpu_query *q, uint64_t first, uint64_t n);
/* Sources of the dense entries with ordinals [*ordinal, *ordinal + n): R1CS_INPUT | input index, or
 * an index into witness.dense.
 * The two cursors start at 0 and are moved forward. */
void cpu_query_sources(uint32_t *src, const cpu_query *q, uint64_t n, uint64_t *ordinal,
                       uint64_t *next_dense);
static inline size_t words_of(uint64_t n_bits) { return (size_t)((n_bits + 63) / 64); }
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
