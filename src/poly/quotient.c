/* The Groth16 quotient in six transforms, Lagrange bases, and tables of powers. */
#include "base/mem.h"
#include "base/span_names.h"
#include "poly/ntt_run.h"
#include <string.h>

cuzk_status power_table_init(power_table *t, uint32_t lg_n, const fr *g, bool reversed)
{
    *t = (power_table){.lg_n = lg_n, .lg_lo = lg_n / 2};
    uint32_t lg_hi = lg_n - t->lg_lo;
    t->lo = mem_alloc(sizeof(fr) << t->lg_lo, 64);
    t->hi = mem_alloc(sizeof(fr) << lg_hi, 64);
    if (!t->lo || !t->hi) {
        power_table_fini(t);
        return cuzk_fail(CUZK_E_NOMEM, "tables of powers for 2^%u", lg_n);
    }
    /* Bit b of i adds weight 2^b, or 2^(lg_n - 1 - b) when reversed: each table doubles once per
     * bit. */
    t->lo[0] = t->hi[0] = FR_ONE;
    for (uint32_t b = 0; b < lg_n; b++) {
        fr *tab = b < t->lg_lo ? t->lo : t->hi;
        size_t half = (size_t)1 << (b < t->lg_lo ? b : b - t->lg_lo);
        fr step = *g;
        for (uint32_t i = 0; i < (reversed ? lg_n - 1 - b : b); i++)
            fr_sqr(&step, &step);
        for (size_t i = 0; i < half; i++)
            fr_mul(&tab[half + i], &tab[i], &step);
    }
    return cuzk_ok();
}

void power_table_fini(power_table *t)
{
    mem_free(t->lo);
    mem_free(t->hi);
    *t = (power_table){0};
}

typedef struct scale_job {
    const ntt_kernels *k;
    const power_table *t;
    fr *a;
    const fr *cc, *c, *factor;
} scale_job;

static void scale_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const scale_job *j = ctx;
    size_t n = (size_t)1 << j->t->lg_lo;
    fr c;
    fr_mul(&c, &j->t->hi[chunk], j->c);
    if (j->cc)
        j->k->combine(j->a + chunk * n, j->cc + chunk * n, n, &c, j->t->lo, n - 1, j->factor);
    else
        j->k->scale(j->a + chunk * n, n, &c, j->t->lo, n - 1);
}

void power_table_scale(const power_table *t, fr *a, const fr *c, const run_ctx *rc)
{
    scale_job j = {.k = ntt_kernels_get(), .t = t, .a = a, .c = c};
    pool_for(rc->pool, (size_t)1 << (t->lg_n - t->lg_lo), scale_chunk, &j);
}

void power_table_combine(const power_table *t, fr *d, const fr *cc, const fr *c, const fr *k,
                         const run_ctx *rc)
{
    scale_job j = {.k = ntt_kernels_get(), .t = t, .a = d, .cc = cc, .c = c, .factor = k};
    pool_for(rc->pool, (size_t)1 << (t->lg_n - t->lg_lo), scale_chunk, &j);
}

#define MUL_CHUNK ((size_t)1 << 13)
typedef struct mul_job {
    fr *o;
    const fr *a, *b;
    size_t n;
} mul_job;

static void mul_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const mul_job *j = ctx;
    size_t lo = chunk * MUL_CHUNK, n = j->n - lo < MUL_CHUNK ? j->n - lo : MUL_CHUNK;
    ntt_kernels_get()->mul(j->o + lo, j->a + lo, j->b + lo, n);
}

static void mul_span(fr *o, const fr *a, const fr *b, size_t n, const run_ctx *rc)
{
    mul_job j = {o, a, b, n};
    span_id s = span_begin(rc->spans, rc->parent, SPAN_POINTWISE);
    pool_for(rc->pool, (n + MUL_CHUNK - 1) / MUL_CHUNK, mul_chunk, &j);
    span_end(rc->spans, s);
}

/* Constants of one quotient. */
typedef struct quotient_consts {
    fr m_inv;         /* 1/m */
    fr z_inv, zm_inv; /* 1/(7^m - 1), and that over m */
} quotient_consts;

static void quotient_consts_set(quotient_consts *q, uint32_t lg_m)
{
    fr z = FR_GENERATOR, m;
    for (uint32_t i = 0; i < lg_m; i++)
        fr_sqr(&z, &z);
    fr_sub(&z, &z, &FR_ONE);
    fr_inv(&q->z_inv, &z);
    fr_from_u64(&m, (uint64_t)1 << lg_m);
    fr_inv(&q->m_inv, &m);
    fr_mul(&q->zm_inv, &q->z_inv, &q->m_inv);
}

/* Evaluations on the domain to evaluations on the coset 7 * domain, natural order both. */
static cuzk_status to_coset(const ntt_plan *p, fr *a, uint32_t lg_m, const power_table *up,
                            const fr *m_inv, const run_ctx *rc)
{
    span_id s = span_begin(rc->spans, rc->parent, SPAN_NTT);
    cuzk_status st = ntt_down(p, a, lg_m, true, rc);
    if (st.code == CUZK_OK) {
        power_table_scale(up, a, m_inv, rc);
        st = ntt_up(p, a, lg_m, rc);
    }
    span_end(rc->spans, s);
    return st;
}

static cuzk_status down_span(const ntt_plan *p, fr *a, uint32_t lg_m, const run_ctx *rc)
{
    span_id s = span_begin(rc->spans, rc->parent, SPAN_NTT);
    cuzk_status st = ntt_down(p, a, lg_m, true, rc);
    span_end(rc->spans, s);
    return st;
}

/* Intermediate coefficients stay in bit-reversed order; only the result is put in natural order. */
static cuzk_status quotient(const ntt_plan *p, fr *a, fr *b, fr *c, uint32_t lg_m,
                            const power_table *up, const power_table *down, const run_ctx *rc)
{
    size_t m = (size_t)1 << lg_m;
    quotient_consts q;
    quotient_consts_set(&q, lg_m);
    mul_span(c, a, b, m, rc);
    CUZK_TRY(to_coset(p, a, lg_m, up, &q.m_inv, rc));
    run_progress(rc, "quotient", 0.33);
    CUZK_TRY(to_coset(p, b, lg_m, up, &q.m_inv, rc));
    run_progress(rc, "quotient", 0.66);
    mul_span(a, a, b, m, rc);
    CUZK_TRY(down_span(p, a, lg_m, rc));
    CUZK_TRY(down_span(p, c, lg_m, rc));
    span_id s = span_begin(rc->spans, rc->parent, SPAN_POINTWISE);
    power_table_combine(down, a, c, &q.zm_inv, &q.zm_inv, rc);
    ntt_bit_reverse(a, lg_m, rc);
    span_end(rc->spans, s);
    run_progress(rc, "quotient", 1);
    return cuzk_ok();
}

cuzk_status ntt_quotient(const ntt_plan *p, fr *a, fr *b, fr *scratch, uint32_t lg_m,
                         const run_ctx *rc)
{
    power_table up = {0}, down = {0};
    if (lg_m > p->lg_n)
        return cuzk_fail(CUZK_E_RANGE, "quotient of 2^%u points with a plan for 2^%u", lg_m,
                         p->lg_n);
    cuzk_status st = power_table_init(&up, lg_m, &FR_GENERATOR, true);
    if (st.code == CUZK_OK)
        st = power_table_init(&down, lg_m, &FR_GENERATOR_INV, true);
    if (st.code == CUZK_OK)
        st = quotient(p, a, b, scratch, lg_m, &up, &down, rc);
    power_table_fini(&up);
    power_table_fini(&down);
    return st;
}

/* L_k(tau) = w^k (tau^m - 1) / (m (tau - w^k)). */
#define LAG_CHUNK ((size_t)1 << 12)
typedef struct lagrange_job {
    fr *lag;
    const power_table *w;
    const fr *tau, *c; /* c = (tau^m - 1)/m */
    size_t n;
    fr *scratch; /* n elements, a slice per chunk */
} lagrange_job;

static void lagrange_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const lagrange_job *j = ctx;
    size_t lo = chunk * LAG_CHUNK, n = j->n - lo < LAG_CHUNK ? j->n - lo : LAG_CHUNK;
    fr *lag = j->lag + lo, *scratch = j->scratch + lo, x;
    size_t mask = ((size_t)1 << j->w->lg_lo) - 1;
    for (size_t i = 0; i < n; i++) {
        fr_mul(&x, &j->w->hi[(lo + i) >> j->w->lg_lo], &j->w->lo[(lo + i) & mask]);
        fr_sub(&lag[i], j->tau, &x);
    }
    fr_batch_inv(lag, n, scratch);
    for (size_t i = 0; i < n; i++) {
        fr_mul(&x, &j->w->hi[(lo + i) >> j->w->lg_lo], &j->w->lo[(lo + i) & mask]);
        fr_mul(&x, &x, j->c);
        fr_mul(&lag[i], &lag[i], &x);
    }
}

/* tau = w^k: the basis is 1 at k and 0 elsewhere. */
static void lagrange_in_domain(fr *lag, const power_table *w, const fr *tau, size_t m)
{
    size_t mask = ((size_t)1 << w->lg_lo) - 1;
    for (size_t k = 0; k < m; k++) {
        fr x;
        fr_mul(&x, &w->hi[k >> w->lg_lo], &w->lo[k & mask]);
        lag[k] = fr_eq(&x, tau) ? FR_ONE : FR_ZERO;
    }
}

cuzk_status ntt_lagrange_at(fr *lag, const fr *tau, uint32_t lg_m, const run_ctx *rc)
{
    fr w, z = *tau, m_inv;
    power_table t;
    size_t m = (size_t)1 << lg_m;
    if (lg_m > NTT_LG_N_MAX)
        return cuzk_fail(CUZK_E_RANGE, "lg_m: expected 0 to %u, found %u", NTT_LG_N_MAX, lg_m);
    fr_root_of_unity(&w, lg_m);
    CUZK_TRY(power_table_init(&t, lg_m, &w, false));
    for (uint32_t i = 0; i < lg_m; i++)
        fr_sqr(&z, &z);
    fr_sub(&z, &z, &FR_ONE);
    if (fr_is_zero(&z)) {
        lagrange_in_domain(lag, &t, tau, m);
        power_table_fini(&t);
        return cuzk_ok();
    }
    fr *scratch = mem_alloc(m * sizeof *scratch, 64);
    if (!scratch) {
        power_table_fini(&t);
        return cuzk_fail(CUZK_E_NOMEM, "Lagrange basis of 2^%u points", lg_m);
    }
    fr_from_u64(&m_inv, m);
    fr_inv(&m_inv, &m_inv);
    fr_mul(&z, &z, &m_inv);
    lagrange_job j = {.lag = lag, .w = &t, .tau = tau, .c = &z, .n = m, .scratch = scratch};
    pool_for(rc->pool, (m + LAG_CHUNK - 1) / LAG_CHUNK, lagrange_chunk, &j);
    mem_free(scratch);
    power_table_fini(&t);
    return cuzk_ok();
}
