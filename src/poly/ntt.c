/* Transforms over the kernels: plans, parallel passes, orders, cosets. */
#include "poly/ntt.h"
#include "base/mem.h"
#include "base/span_names.h"
#include "poly/ntt_int.h"
#include "poly/ntt_run.h"
#include <string.h>

#define PASS_CHUNK ((size_t)1 << 12)

const ntt_kernels *ntt_kernels_get(void)
{
#if defined(__x86_64__)
    if (ff_use_adx())
        return &NTT_KERNELS_ADX;
#endif
    return &NTT_KERNELS_PORTABLE;
}

typedef struct table_job {
    fr *tw;
    size_t half; /* tw[half + i] = tw[i] * step */
    fr step;
} table_job;

static void table_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    table_job *j = ctx;
    size_t lo = chunk * PASS_CHUNK, hi = lo + PASS_CHUNK < j->half ? lo + PASS_CHUNK : j->half;
    for (size_t i = lo; i < hi; i++)
        fr_mul(&j->tw[j->half + i], &j->tw[i], &j->step);
}

cuzk_status ntt_plan_create(ntt_plan **out, uint32_t lg_n, const run_ctx *rc)
{
    *out = NULL;
    if (lg_n > NTT_LG_N_MAX)
        return cuzk_fail(CUZK_E_RANGE, "lg_n: expected 0 to %u, found %u", NTT_LG_N_MAX, lg_n);
    size_t n_tw = lg_n ? (size_t)1 << (lg_n - 1) : 1;
    ntt_plan *p = mem_alloc(sizeof *p, 64);
    fr *tw = mem_alloc(n_tw * sizeof *tw, 64);
    if (!p || !tw) {
        mem_free(p);
        mem_free(tw);
        return cuzk_fail(CUZK_E_NOMEM, "%zu twiddles of %zu bytes", n_tw, sizeof *tw);
    }
    tw[0] = FR_ONE;
    table_job j = {.tw = tw, .half = 1};
    /* Bit b of k adds 1/2^(b+2) of the circle to the exponent. */
    for (uint32_t b = 0; j.half < n_tw; b++, j.half *= 2) {
        fr_root_of_unity(&j.step, b + 2);
        pool_for(rc->pool, (j.half + PASS_CHUNK - 1) / PASS_CHUNK, table_chunk, &j);
    }
    *p = (ntt_plan){.lg_n = lg_n, .tw = tw};
    *out = p;
    return cuzk_ok();
}

void ntt_plan_destroy(ntt_plan *p)
{
    if (!p)
        return;
    mem_free(p->tw);
    mem_free(p);
}

/* One parallel step of a transform: either a chunk of j of one two-level pass, or a subtree. */
typedef struct step_job {
    const ntt_kernels *k;
    const fr *tw;
    fr *a;
    size_t n, len, per_node; /* node length; chunks per node */
    bool up, inverse, trees;
    const run_ctx *rc;
} step_job;

static void step_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const step_job *s = ctx;
    if (run_cancelled(s->rc))
        return; /* the caller sees the flag too and reports it */
    if (s->trees) {
        if (s->up)
            s->k->up_tree(s->tw, s->a + chunk * s->len, s->len, chunk);
        else
            s->k->down_tree(s->tw, s->a + chunk * s->len, s->len, chunk, s->inverse);
        return;
    }
    size_t node = chunk / s->per_node, part = chunk % s->per_node, quarter = s->len / 4;
    size_t lo = part * (quarter / s->per_node), hi = lo + quarter / s->per_node;
    if (s->up)
        s->k->up_pass(s->tw, s->a + node * s->len, s->len, node, lo, hi);
    else
        s->k->down_pass(s->tw, s->a + node * s->len, s->len, node, s->inverse, lo, hi);
}

static void top_pass(step_job *s, size_t len)
{
    s->trees = false;
    s->len = len;
    s->per_node = len / 4 > PASS_CHUNK ? len / 4 / PASS_CHUNK : 1;
    pool_for(s->rc->pool, s->n / len * s->per_node, step_chunk, s);
}

static void run_trees(step_job *s, size_t len)
{
    s->trees = true;
    s->len = len;
    pool_for(s->rc->pool, s->n / len, step_chunk, s);
}

/* Length at which subtrees become tasks: enough of them for every thread, none smaller than the
 * cache block. */
static size_t tree_len(size_t n, unsigned threads)
{
    size_t len = n;
    while (len > (size_t)1 << (NTT_LG_CACHED + 1) && n / len < 8 * (size_t)threads && threads > 1)
        len /= 4;
    return len;
}

static cuzk_status transform(const ntt_plan *p, fr *a, uint32_t lg_n, bool up, bool inverse,
                             const run_ctx *rc)
{
    if (lg_n > p->lg_n)
        return cuzk_fail(CUZK_E_RANGE, "transform of 2^%u points with a plan for 2^%u", lg_n,
                         p->lg_n);
    size_t n = (size_t)1 << lg_n, leaf = tree_len(n, pool_threads(rc->pool));
    step_job s = {.k = ntt_kernels_get(),
                  .tw = p->tw,
                  .a = a,
                  .n = n,
                  .up = up,
                  .inverse = inverse,
                  .rc = rc};
    if (up)
        run_trees(&s, leaf);
    for (size_t len = n; !up && len > leaf; len /= 4)
        top_pass(&s, len);
    for (size_t len = leaf * 4; up && len <= n; len *= 4)
        top_pass(&s, len);
    if (!up)
        run_trees(&s, leaf);
    return run_cancelled(rc) ? cuzk_fail(CUZK_E_CANCELLED, "transform cancelled") : cuzk_ok();
}

cuzk_status ntt_down(const ntt_plan *p, fr *a, uint32_t lg_n, bool inverse, const run_ctx *rc)
{
    return transform(p, a, lg_n, false, inverse, rc);
}

cuzk_status ntt_up(const ntt_plan *p, fr *a, uint32_t lg_n, const run_ctx *rc)
{
    return transform(p, a, lg_n, true, false, rc);
}

/* Bit reversal by tiles of 2^T x 2^T elements, so that reads and writes stay on whole lines. */
#define REV_T 4u
typedef struct rev_job {
    fr *a;
    uint32_t lg_n;
} rev_job;

static inline size_t reverse_bits(size_t x, uint32_t n)
{
    size_t r = 0;
    for (uint32_t i = 0; i < n; i++)
        r |= (x >> i & 1) << (n - 1 - i);
    return r;
}

static inline void swap_fr(fr *x, fr *y)
{
    fr t = *x;
    *x = *y;
    *y = t;
}

/* Index = (high T bits, middle, low T bits) -> (rev low, rev middle, rev high): a middle and its
 * reverse are one task. */
static void rev_chunk(void *ctx, size_t mid, unsigned thread)
{
    (void)thread;
    const rev_job *j = ctx;
    uint32_t m = j->lg_n - 2 * REV_T;
    size_t rmid = reverse_bits(mid, m);
    if (rmid < mid)
        return;
    for (size_t hi = 0; hi < (1u << REV_T); hi++)
        for (size_t lo = 0; lo < (1u << REV_T); lo++) {
            size_t x = hi << (j->lg_n - REV_T) | mid << REV_T | lo;
            size_t y = reverse_bits(lo, REV_T) << (j->lg_n - REV_T) | rmid << REV_T |
                       reverse_bits(hi, REV_T);
            if (mid != rmid || x < y)
                swap_fr(&j->a[x], &j->a[y]);
        }
}

void ntt_bit_reverse(fr *a, uint32_t lg_n, const run_ctx *rc)
{
    size_t n = (size_t)1 << lg_n;
    if (lg_n <= 2 * REV_T) {
        for (size_t i = 0; i < n; i++) {
            size_t r = reverse_bits(i, lg_n);
            if (i < r)
                swap_fr(&a[i], &a[r]);
        }
        return;
    }
    rev_job j = {a, lg_n};
    pool_for(rc->pool, n >> (2 * REV_T), rev_chunk, &j);
}

cuzk_status ntt_forward(const ntt_plan *p, fr *a, uint32_t lg_n, const run_ctx *rc)
{
    span_id s = span_begin(rc->spans, rc->parent, SPAN_NTT);
    cuzk_status st = ntt_down(p, a, lg_n, false, rc);
    if (st.code == CUZK_OK)
        ntt_bit_reverse(a, lg_n, rc);
    span_end(rc->spans, s);
    return st;
}

/* a[i] *= c * g^i in natural order. */
static cuzk_status scale_natural(fr *a, uint32_t lg_n, const fr *g, const fr *c, const run_ctx *rc)
{
    power_table t;
    CUZK_TRY(power_table_init(&t, lg_n, g, false));
    power_table_scale(&t, a, c, rc);
    power_table_fini(&t);
    return cuzk_ok();
}

static void size_inverse(fr *o, uint32_t lg_n)
{
    fr n;
    fr_from_u64(&n, (uint64_t)1 << lg_n);
    fr_inv(o, &n);
}

static cuzk_status inverse_scaled(const ntt_plan *p, fr *a, uint32_t lg_n, const fr *g,
                                  const run_ctx *rc)
{
    fr c;
    size_inverse(&c, lg_n);
    span_id s = span_begin(rc->spans, rc->parent, SPAN_NTT);
    cuzk_status st = ntt_down(p, a, lg_n, true, rc);
    if (st.code == CUZK_OK) {
        ntt_bit_reverse(a, lg_n, rc);
        st = scale_natural(a, lg_n, g, &c, rc);
    }
    span_end(rc->spans, s);
    return st;
}

cuzk_status ntt_inverse(const ntt_plan *p, fr *a, uint32_t lg_n, const run_ctx *rc)
{
    return inverse_scaled(p, a, lg_n, &FR_ONE, rc);
}

cuzk_status ntt_coset_forward(const ntt_plan *p, fr *a, uint32_t lg_n, const run_ctx *rc)
{
    if (lg_n > p->lg_n)
        return cuzk_fail(CUZK_E_RANGE, "transform of 2^%u points with a plan for 2^%u", lg_n,
                         p->lg_n);
    CUZK_TRY(scale_natural(a, lg_n, &FR_GENERATOR, &FR_ONE, rc));
    return ntt_forward(p, a, lg_n, rc);
}

cuzk_status ntt_coset_inverse(const ntt_plan *p, fr *a, uint32_t lg_n, const run_ctx *rc)
{
    return inverse_scaled(p, a, lg_n, &FR_GENERATOR_INV, rc);
}
