/* The CPU backend: load, unload and its table of functions. */
#include "base/mem.h"
#include "ff/fr.h"
#include "groth16/cpu_int.h"
#include <stdio.h>

/* Quotients held at once, so that a batch decodes the h section once: worth 512 MiB, since decoding
 * is 2 % of the h sum. */
#define H_GROUP_BYTES ((uint64_t)1 << 29)
/* Points per chunk at most: bounds the scratch of a sum and the wait for a cancel. A longer sum
 * would save few additions, since the window grows with the logarithm only. */
#define CHUNK_MAX ((uint64_t)1 << 22)

typedef struct cpu_backend {
    g16_backend base;
} cpu_backend;

static void wipe_free(void *p, size_t bytes)
{
    if (p)
        mem_wipe(p, bytes);
    mem_free(p);
}

static void handle_destroy(cpu_handle *h)
{
    if (!h)
        return;
    g16_evkey_close(h->ev);
    mem_free(h->boolean);
    ntt_plan_destroy(h->plan);
    for (int i = 0; i < N_QUERIES; i++)
        g16_query_fini(&h->query[i]);
    /* These held values of the last witness. */
    wipe_free(h->ab, h->ab_bytes);
    wipe_free(h->hv, h->hv_bytes);
    wipe_free(h->masks, h->masks_bytes);
    mem_free(h->src);
    mem_free(h);
}

/* The most dense entries that any chunk of any section has. */
static size_t max_dense(const cpu_handle *h)
{
    uint64_t most = 0;
    for (int i = 0; i < N_QUERIES; i++)
        for (int g2 = 0; g2 <= (i == QUERY_B); g2++) {
            const g16_query *q = &h->query[i];
            uint64_t step = cpu_chunk_points(h, q->n, g2);
            for (uint64_t first = 0; first < q->n; first += step) {
                uint64_t n = g16_query_count(q, first, q->n - first < step ? q->n - first : step);
                most = n > most ? n : most;
            }
        }
    return (size_t)most;
}

static cuzk_status alloc_work(cpu_handle *h)
{
    h->ab_bytes = (size_t)(2 * h->m * sizeof(fr));
    size_t least = 256 * sizeof(g1_aff);
    h->ab_bytes = h->ab_bytes < least ? least : h->ab_bytes;
    /* halved for G2 it is still a multiple of 64 */
    h->chunk_max = h->ab_bytes / sizeof(g1_aff) / 128 * 128;
    h->chunk_max = h->chunk_max > CHUNK_MAX ? CHUNK_MAX : h->chunk_max;
    uint64_t group = H_GROUP_BYTES / (h->m * sizeof(fr_int));
    h->h_group = group < 1 ? 1 : group > 16 ? 16 : (size_t)group;
    h->n_src = max_dense(h);
    h->ab = mem_alloc(h->ab_bytes, 64);
    h->src = mem_alloc(h->n_src * sizeof *h->src, 64);
    if (!h->ab || !h->src)
        return cuzk_fail(CUZK_E_NOMEM, "cpu backend: work space of %zu bytes for domain 2^%u",
                         h->ab_bytes + h->n_src * sizeof *h->src, h->c->lg_m);
    return cuzk_ok();
}

/* *p has at least `need` bytes; what it held is wiped. */
static bool grow(void **p, size_t *have, size_t need)
{
    if (*p && *have >= need)
        return true;
    wipe_free(*p, *have);
    *p = mem_alloc(need, 64);
    *have = *p ? need : 0;
    return *p;
}

cuzk_status cpu_reserve(cpu_handle *h, size_t n, const run_ctx *rc)
{
    size_t group = n < h->h_group ? n : h->h_group;
    size_t hv = group * (size_t)h->m * sizeof(fr_int), tail = h->n_src * sizeof(fr_int);
    size_t masks = n * cpu_masks_words(h) * sizeof *h->masks;
    span_id s = span_begin(rc->spans, rc->parent, SPAN_ALLOC);
    void *m = h->masks;
    bool ok = grow(&h->hv, &h->hv_bytes, hv > tail ? hv : tail);
    ok = grow(&m, &h->masks_bytes, masks) && ok;
    h->masks = m;
    span_note(rc->spans, s, -1, h->hv_bytes + h->masks_bytes);
    span_end(rc->spans, s);
    return ok ? cuzk_ok()
              : cuzk_fail(CUZK_E_NOMEM, "cpu backend: quotients and masks of %zu proofs", n);
}

static cuzk_status load_build(cpu_handle *h, const run_ctx *rc)
{
    CUZK_TRY(g16_key_match(h->key, h->shape));
    if (h->c->lg_m > NTT_LG_N_MAX)
        return cuzk_fail(CUZK_E_UNSUPPORTED, "domain 2^%u", h->c->lg_m);
    CUZK_TRY(g16_evkey_open_to_use(&h->ev, h->key, h->shape, rc));
    if (h->ev && !(h->boolean = g16_evkey_boolean_rows(h->shape)))
        return cuzk_fail(CUZK_E_NOMEM, "boolean rows for domain 2^%u", h->c->lg_m);
    span_id s = span_begin(rc->spans, rc->parent, SPAN_NTT_PLAN);
    run_ctx under = run_ctx_under(rc, s);
    cuzk_status st = ntt_plan_create(&h->plan, h->c->lg_m, &under);
    span_end(rc->spans, s);
    CUZK_TRY(st);
    s = span_begin(rc->spans, rc->parent, SPAN_MASK);
    for (int i = 0; i < N_QUERIES && st.code == CUZK_OK; i++)
        st = g16_query_init(&h->query[i], (g16_query_id)i, h->shape);
    span_end(rc->spans, s);
    CUZK_TRY(st);
    s = span_begin(rc->spans, rc->parent, SPAN_ALLOC);
    st = alloc_work(h);
    span_note(rc->spans, s, -1, h->ab_bytes);
    span_end(rc->spans, s);
    return st;
}

static cuzk_status op_load(g16_backend *b, const r1cs_shape *s, const g16_key *k, const run_ctx *rc,
                           void **handle)
{
    (void)b;
    *handle = NULL;
    cpu_handle *h = mem_zalloc(sizeof *h, 64);
    if (!h)
        return cuzk_fail(CUZK_E_NOMEM, "cpu backend handle");
    h->shape = s;
    h->c = r1cs_shape_counts(s);
    h->key = k;
    h->m = (uint64_t)1 << h->c->lg_m;
    atomic_flag_clear(&h->busy);
    span_id span = span_begin(rc->spans, rc->parent, SPAN_LOAD);
    run_ctx under = run_ctx_under(rc, span);
    cuzk_status st = load_build(h, &under);
    span_end(rc->spans, span);
    if (st.code != CUZK_OK) {
        handle_destroy(h);
        return st;
    }
    *handle = h;
    return cuzk_ok();
}

static void op_unload(g16_backend *b, void *handle)
{
    (void)b;
    handle_destroy(handle);
}

static cuzk_status op_prove(g16_backend *b, void *handle, const g16_batch *batch, g16_timings *t,
                            const run_ctx *rc)
{
    (void)b;
    return cpu_prove(handle, batch, t, rc);
}

static void op_describe(g16_backend *b, char *buf, size_t len)
{
    (void)b;
    snprintf(buf, len, "cpu (%s, %u usable cpus)", ff_isa(), pool_usable_cpus());
}

static void op_destroy(g16_backend *b) { mem_free(b); }

static const g16_backend_ops cpu_ops = {
    .name = "cpu",
    .load = op_load,
    .unload = op_unload,
    .prove = op_prove,
    .describe = op_describe,
    .self_test = g16_known_answer_test,
    .destroy = op_destroy,
};

cuzk_status g16_cpu_create(g16_backend **out)
{
    *out = NULL;
    cpu_backend *b = mem_alloc(sizeof *b, 64);
    if (!b)
        return cuzk_fail(CUZK_E_NOMEM, "cpu backend");
    b->base.ops = &cpu_ops;
    *out = &b->base;
    return cuzk_ok();
}
