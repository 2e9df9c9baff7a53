/* Entry points: sift the scalars, sum the points of the ones, give the rest to the window
 * method. */
#include "msm/msm.h"
#include <string.h>
#include "base/mem.h"
#include "msm/msm_int.h"

#define SIFT_CHUNK 16384u /* a multiple of 64: chunks share no word of the mask */
#define NAIVE_MAX 4u      /* scalars multiplied one by one: cheaper than the windows' fixed cost */
#define N_MAX ((size_t)1 << 31) /* references have 31 bits */

/* ---- sums ---- */

typedef struct sum_job {
    const msm_group *g;
    const void *bases;
    const uint64_t *mask;
    size_t n;
    msm_scratch *scratch;
    void *partial; /* one affine point per chunk of g->piece bits */
} sum_job;

static void sum_chunk(void *ctx, size_t chunk_idx, unsigned thread_idx)
{
    const sum_job *j = ctx;
    msm_scratch *s = &j->scratch[thread_idx];
    size_t i0 = chunk_idx * j->g->piece, i1 = j->n - i0 < j->g->piece ? j->n : i0 + j->g->piece;
    uint32_t n_refs = 0;
    for (size_t i = i0; i < i1; i += 64) {
        uint64_t word = j->mask[i / 64];
        if (i1 - i < 64)
            word &= ((uint64_t)1 << (i1 - i)) - 1;
        for (; word != 0; word &= word - 1)
            s->refs[n_refs++] = (uint32_t)(i + (unsigned)__builtin_ctzll(word));
    }
    void *out = msm_at(j->partial, chunk_idx, j->g);
    if (n_refs == 0) {
        msm_set_inf(out, j->g);
        return;
    }
    s->seg_len[0] = n_refs;
    msm_tree_sum(j->g, s, j->bases, s->refs, 1);
    msm_copy(out, s->pts, j->g);
}

/* The partial sums are few (2^27 bits: 32768), so they are added on this thread. */
static void sum_partials(const sum_job *j, void *out_jac, size_t n)
{
    msm_scratch *s = &j->scratch[0];
    for (size_t i0 = 0; i0 < n; i0 += j->g->piece) {
        uint32_t len = (uint32_t)(n - i0 < j->g->piece ? n - i0 : j->g->piece);
        for (uint32_t k = 0; k < len; k++)
            s->refs[k] = (uint32_t)i0 + k;
        s->seg_len[0] = len;
        msm_tree_sum(j->g, s, j->partial, s->refs, 1);
        j->g->add_aff(out_jac, s->pts);
    }
}

/* *out_jac += the subset sum. */
static cuzk_status sum_into(const msm_group *g, void *out_jac, const void *bases,
                            const uint64_t *mask, size_t n, const run_ctx *rc)
{
    size_t n_chunks = (n + g->piece - 1) / g->piece;
    sum_job j = {.g = g, .bases = bases, .mask = mask, .n = n};
    j.scratch = msm_scratch_create(g, pool_threads(rc->pool));
    j.partial = mem_alloc(n_chunks * g->aff_bytes, 64);
    cuzk_status st = j.scratch && j.partial ? msm_run(rc, n_chunks, sum_chunk, &j)
                                            : cuzk_fail(CUZK_E_NOMEM, "msm: sum of %zu points", n);
    if (st.code == CUZK_OK)
        sum_partials(&j, out_jac, n_chunks);
    mem_free(j.partial);
    mem_free(j.scratch);
    return st;
}

static cuzk_status check_count(size_t n)
{
    return n < N_MAX ? cuzk_ok()
                     : cuzk_fail(CUZK_E_RANGE, "msm: %zu points, want less than %zu", n, N_MAX);
}

static cuzk_status any_sum(const msm_group *g, void *out_jac, const void *bases,
                           const uint64_t *mask, size_t n, const run_ctx *rc)
{
    memset(out_jac, 0, g->jac_bytes);
    CUZK_TRY(check_count(n));
    if (n == 0)
        return cuzk_ok();
    cuzk_status st = sum_into(g, out_jac, bases, mask, n, rc);
    if (st.code != CUZK_OK)
        memset(out_jac, 0, g->jac_bytes);
    return st;
}

/* ---- multi-scalar multiplication ---- */

typedef struct sift_job {
    const fr_int *scalars;
    size_t n, n_chunks;
    uint64_t *ones;
    uint32_t *n_ones, *n_rest; /* by chunk; n_rest then becomes where the chunk writes in list */
    uint8_t *is_bad;
    uint32_t *list;
} sift_job;

static inline bool is_small(const fr_int *s)
{
    return (s->l[1] | s->l[2] | s->l[3]) == 0 && s->l[0] <= 1;
}

static void sift_count(void *ctx, size_t chunk_idx, unsigned thread_idx)
{
    (void)thread_idx;
    const sift_job *j = ctx;
    size_t i0 = chunk_idx * SIFT_CHUNK, i1 = j->n - i0 < SIFT_CHUNK ? j->n : i0 + SIFT_CHUNK;
    uint32_t n_ones = 0, n_rest = 0;
    uint64_t top = 0;
    for (size_t w = i0 / 64; w * 64 < i1; w++) {
        uint64_t word = 0;
        for (size_t i = w * 64; i < i1 && i < w * 64 + 64; i++) {
            bool small = is_small(&j->scalars[i]);
            word |= (uint64_t)(small && j->scalars[i].l[0] == 1) << (i & 63);
            n_rest += !small;
            top |= j->scalars[i].l[3];
        }
        j->ones[w] = word;
        n_ones += (uint32_t)__builtin_popcountll(word);
    }
    j->n_ones[chunk_idx] = n_ones;
    j->n_rest[chunk_idx] = n_rest;
    j->is_bad[chunk_idx] = (uint8_t)(top >> 63);
}

static void sift_list(void *ctx, size_t chunk_idx, unsigned thread_idx)
{
    (void)thread_idx;
    const sift_job *j = ctx;
    size_t i0 = chunk_idx * SIFT_CHUNK, i1 = j->n - i0 < SIFT_CHUNK ? j->n : i0 + SIFT_CHUNK;
    uint32_t *out = j->list + j->n_rest[chunk_idx];
    for (size_t i = i0; i < i1; i++)
        if (!is_small(&j->scalars[i]))
            *out++ = (uint32_t)i;
}

static void naive_into(const msm_group *g, void *out_jac, const void *bases, msm_scalars in)
{
    for (size_t k = 0; k < in.m; k++) {
        size_t i = in.list ? in.list[k] : k;
        g->mul_add(out_jac, msm_at_c(bases, i, g), &in.scalars[i]);
    }
}

static cuzk_status sift_and_run(const msm_group *g, sift_job *j, void *out_jac, const void *bases,
                                const run_ctx *rc)
{
    CUZK_TRY(msm_run(rc, j->n_chunks, sift_count, j));
    size_t n_ones = 0, n_rest = 0;
    for (size_t c = 0; c < j->n_chunks; c++) {
        size_t rest = j->n_rest[c];
        if (j->is_bad[c])
            return cuzk_fail(CUZK_E_RANGE, "msm: a scalar in [%zu, %zu) is 2^255 or more",
                             c * SIFT_CHUNK, (c + 1) * SIFT_CHUNK);
        j->n_rest[c] = (uint32_t)n_rest;
        n_ones += j->n_ones[c];
        n_rest += rest;
    }
    msm_scalars in = {.scalars = j->scalars, .m = n_rest};
    if (n_rest > 0 && n_rest < j->n) {
        j->list = mem_alloc(n_rest * sizeof *j->list, 64);
        if (!j->list)
            return cuzk_fail(CUZK_E_NOMEM, "msm: list of %zu scalars", n_rest);
        CUZK_TRY(msm_run(rc, j->n_chunks, sift_list, j));
        in.list = j->list;
    }
    if (n_rest > NAIVE_MAX)
        CUZK_TRY(msm_windows(g, out_jac, bases, in, rc));
    else
        naive_into(g, out_jac, bases, in);
    return n_ones > 0 ? sum_into(g, out_jac, bases, j->ones, j->n, rc) : cuzk_ok();
}

static cuzk_status any_msm(const msm_group *g, void *out_jac, const void *bases,
                           const fr_int *scalars, size_t n, const run_ctx *rc)
{
    memset(out_jac, 0, g->jac_bytes);
    CUZK_TRY(check_count(n));
    if (n == 0)
        return cuzk_ok();
    sift_job j = {.scalars = scalars, .n = n, .n_chunks = (n + SIFT_CHUNK - 1) / SIFT_CHUNK};
    j.ones = mem_alloc((n + 63) / 64 * sizeof *j.ones, 64);
    j.n_ones = mem_alloc(j.n_chunks * sizeof *j.n_ones, 64);
    j.n_rest = mem_alloc(j.n_chunks * sizeof *j.n_rest, 64);
    j.is_bad = mem_alloc(j.n_chunks, 64);
    cuzk_status st = j.ones && j.n_ones && j.n_rest && j.is_bad
                         ? sift_and_run(g, &j, out_jac, bases, rc)
                         : cuzk_fail(CUZK_E_NOMEM, "msm: sifting %zu scalars", n);
    mem_free(j.list);
    mem_free(j.is_bad);
    mem_free(j.n_rest);
    mem_free(j.n_ones);
    mem_free(j.ones);
    if (st.code != CUZK_OK)
        memset(out_jac, 0, g->jac_bytes);
    return st;
}

cuzk_status msm_g1(g1_jac *out, const g1_aff *bases, const fr_int *scalars, size_t n,
                   const run_ctx *rc)
{
    return any_msm(msm_group_g1(), out, bases, scalars, n, rc);
}

cuzk_status msm_g2(g2_jac *out, const g2_aff *bases, const fr_int *scalars, size_t n,
                   const run_ctx *rc)
{
    return any_msm(msm_group_g2(), out, bases, scalars, n, rc);
}

cuzk_status msm_g1_sum(g1_jac *out, const g1_aff *bases, const uint64_t *mask, size_t n,
                       const run_ctx *rc)
{
    return any_sum(msm_group_g1(), out, bases, mask, n, rc);
}

cuzk_status msm_g2_sum(g2_jac *out, const g2_aff *bases, const uint64_t *mask, size_t n,
                       const run_ctx *rc)
{
    return any_sum(msm_group_g2(), out, bases, mask, n, rc);
}
