/* Transforms and products of vectors of points. A transform is the tree of poly/ntt_int.h going down,
 * with the inverse root. A butterfly takes 40 us, so memory does not matter: one level after the
 * other. */
#include "base/mem.h"
#include "groth16/evkey_int.h"
#include "msm/msm_each.h"

#define CHUNK ((uint64_t)MSM_EACH_MAX)
/* Chunks between two reports, for each thread: some 0.2 s. */
#define REPORT_CHUNKS 16u

void g16_ev_advance(g16_ev_progress *p, uint64_t n_products, const run_ctx *rc)
{
    p->done += n_products;
    run_progress(rc, "evkey", p->total ? (double)p->done / (double)p->total : 1.0);
}

/* What a thread needs for a chunk. */
typedef struct chunk_scratch {
    union {
        msm_butterfly pairs[MSM_EACH_MAX];
        msm_product products[MSM_EACH_MAX];
    };
    msm_factor factors[MSM_EACH_MAX];
    fr powers[MSM_EACH_MAX];
} chunk_scratch;

/* One level, or one product of vectors. */
typedef struct points_job {
    msm_each *each;
    chunk_scratch *scratch; /* n_threads */
    unsigned n_threads;
    g1_aff *a, *b;
    uint64_t first; /* chunk */
    uint64_t n;     /* butterflies, or points */
    const fr *k;
    uint32_t lg_n, lg_half;
    const fr *root_pow; /* w^-(2^k), k < lg_n */
} points_job;

/* All chunks, with reports. */
static cuzk_status run_points(points_job *j, pool_fn *fn, g16_ev_progress *p, const run_ctx *rc)
{
    uint64_t n_chunks = (j->n + CHUNK - 1) / CHUNK;
    uint64_t step = (uint64_t)REPORT_CHUNKS * j->n_threads;
    for (uint64_t first = 0; first < n_chunks; first += step) {
        uint64_t n = n_chunks - first < step ? n_chunks - first : step;
        j->first = first;
        CUZK_TRY(run_for(rc, (size_t)n, fn, j));
        uint64_t left = j->n - first * CHUNK;
        g16_ev_advance(p, n * CHUNK < left ? n * CHUNK : left, rc);
    }
    return cuzk_ok();
}

static uint64_t chunk_points(const points_job *j, size_t chunk, uint64_t *lo)
{
    *lo = (j->first + chunk) * CHUNK;
    return j->n - *lo < CHUNK ? j->n - *lo : CHUNK;
}

static void set_factor(msm_factor *f, const fr *k)
{
    fr_int ki;
    fr_to_int(&ki, k);
    msm_factor_set(f, &ki);
}

static void times_index_chunk(void *ctx, size_t chunk, unsigned thread)
{
    const points_job *j = ctx;
    unsigned t = thread % j->n_threads;
    chunk_scratch *s = &j->scratch[t];
    uint64_t lo, n = chunk_points(j, chunk, &lo);
    for (uint64_t i = 0; i < n; i++) {
        fr k;
        fr_from_u64(&k, lo + i);
        fr_mul(&k, &k, j->k);
        set_factor(&s->factors[i], &k);
        s->products[i] = (msm_product){&j->a[lo + i], &s->factors[i]};
    }
    msm_each_mul(j->each, t, j->a + lo, s->products, (size_t)n);
}

static void add_products_chunk(void *ctx, size_t chunk, unsigned thread)
{
    const points_job *j = ctx;
    unsigned t = thread % j->n_threads;
    chunk_scratch *s = &j->scratch[t];
    uint64_t lo, n = chunk_points(j, chunk, &lo);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = g16_reverse_bits(lo + i, j->lg_n);
        set_factor(&s->factors[i], &j->k[lo + i]);
        s->pairs[i] = (msm_butterfly){&j->a[at], &j->b[at], &s->factors[i]};
    }
    msm_each_butterfly(j->each, t, s->pairs, (size_t)n);
}

static void reverse_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const points_job *j = ctx;
    uint64_t lo, n = chunk_points(j, chunk, &lo);
    for (uint64_t i = lo; i < lo + n; i++) {
        uint64_t at = g16_reverse_bits(i, j->lg_n);
        if (i < at) {
            g1_aff t = j->a[i];
            j->a[i] = j->a[at];
            j->a[at] = t;
        }
    }
}

/* Factors of the nodes [node, node + 2^lg_nodes), node a multiple of 2^lg_nodes:
 * w^-rev(node), rev over lg_n - 1 bits; bit b of the node weighs 2^(lg_n - 2 - b). */
static void node_factors(chunk_scratch *s, const points_job *j, uint64_t node, uint32_t lg_nodes)
{
    fr *t = s->powers;
    t[0] = FR_ONE;
    for (uint32_t b = 0; b + 1 < j->lg_n; b++)
        if (node >> b & 1)
            fr_mul(&t[0], &t[0], &j->root_pow[j->lg_n - 2 - b]);
    for (uint32_t b = 0; b < lg_nodes; b++)
        for (size_t i = 0; i < (size_t)1 << b; i++)
            fr_mul(&t[((size_t)1 << b) + i], &t[i], &j->root_pow[j->lg_n - 2 - b]);
    for (size_t i = 0; i < (size_t)1 << lg_nodes; i++)
        set_factor(&s->factors[i], &t[i]);
}

static void level_chunk(void *ctx, size_t chunk, unsigned thread)
{
    const points_job *j = ctx;
    unsigned t = thread % j->n_threads;
    chunk_scratch *s = &j->scratch[t];
    uint64_t lo, n = chunk_points(j, chunk, &lo), half = (uint64_t)1 << j->lg_half;
    uint64_t first = lo >> j->lg_half;
    uint32_t lg_nodes = 0; /* a chunk has a power of two of butterflies */
    while (half << lg_nodes < n)
        lg_nodes++;
    bool is_plain = lo + n <= half; /* node 0 has the factor 1 */
    if (!is_plain)
        node_factors(s, j, first, lg_nodes);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t node = (lo + i) >> j->lg_half;
        g1_aff *x = &j->a[(node << (j->lg_half + 1)) + ((lo + i) & (half - 1))];
        s->pairs[i] = (msm_butterfly){x, x + half, is_plain ? NULL : &s->factors[node - first]};
    }
    msm_each_butterfly(j->each, t, s->pairs, (size_t)n);
}

static cuzk_status all_levels(points_job *j, g16_ev_progress *p, const run_ctx *rc)
{
    for (uint32_t l = j->lg_n; l-- > 0;) {
        j->lg_half = l;
        CUZK_TRY(run_points(j, level_chunk, p, rc));
    }
    return cuzk_ok();
}

static cuzk_status job_init(points_job *j, g1_aff *a, uint64_t n, const run_ctx *rc)
{
    *j = (points_job){.n_threads = pool_threads(rc->pool), .a = a, .n = n};
    j->each = msm_each_create(j->n_threads);
    j->scratch = mem_alloc(j->n_threads * sizeof *j->scratch, 64);
    return j->each && j->scratch
               ? cuzk_ok()
               : cuzk_fail(CUZK_E_NOMEM, "products of points for %u threads", j->n_threads);
}

static void job_fini(points_job *j)
{
    msm_each_destroy(j->each);
    mem_free(j->scratch);
}

cuzk_status g16_g1_transform(g1_aff *a, uint32_t lg_n, g16_ev_progress *p, const run_ctx *rc)
{
    fr root_pow[64];
    points_job j;
    CUZK_ASSERT(lg_n <= G16_EVKEY_LG_M_MAX);
    fr_root_of_unity(&root_pow[0], lg_n);
    fr_inv(&root_pow[0], &root_pow[0]);
    for (uint32_t k = 1; k < lg_n; k++)
        fr_sqr(&root_pow[k], &root_pow[k - 1]);
    cuzk_status st = job_init(&j, a, ((uint64_t)1 << lg_n) / 2, rc);
    j.lg_n = lg_n;
    j.root_pow = root_pow;
    if (st.code == CUZK_OK)
        st = all_levels(&j, p, rc);
    job_fini(&j);
    return st;
}

cuzk_status g16_g1_times_index(g1_aff *a, uint32_t lg_n, const fr *k, g16_ev_progress *p,
                               const run_ctx *rc)
{
    points_job j;
    cuzk_status st = job_init(&j, a, (uint64_t)1 << lg_n, rc);
    j.k = k;
    if (st.code == CUZK_OK)
        st = run_points(&j, times_index_chunk, p, rc);
    job_fini(&j);
    return st;
}

cuzk_status g16_g1_add_products(g1_aff *a, g1_aff *b, const fr *k, uint32_t lg_n,
                                g16_ev_progress *p, const run_ctx *rc)
{
    points_job j;
    cuzk_status st = job_init(&j, a, (uint64_t)1 << lg_n, rc);
    j.b = b;
    j.k = k;
    j.lg_n = lg_n;
    if (st.code == CUZK_OK)
        st = run_points(&j, add_products_chunk, p, rc);
    job_fini(&j);
    return st;
}

cuzk_status g16_g1_reverse(g1_aff *a, uint32_t lg_n, const run_ctx *rc)
{
    points_job j = {.a = a, .n = (uint64_t)1 << lg_n, .lg_n = lg_n};
    return run_for(rc, (size_t)((j.n + CHUNK - 1) / CHUNK), reverse_chunk, &j);
}
