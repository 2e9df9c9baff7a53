/* B and C folded into section l: every variable's sum is made from points of the rows in which it has
 * a term. Coefficients other than 1 and -1 take a product each. */
#include "base/mem.h"
#include "base/span_names.h"
#include "groth16/evkey_columns.h"
#include "groth16/evkey_int.h"
#include "msm/msm_sums.h"

#define FOLD_VARS 256u

typedef struct fold_side {
    g16_ev_columns cols;
    const g1_aff *points;
    bool subtract;
    msm_factor *factors; /* with that sign, by coefficient */
} fold_side;

struct g16_ev_fold {
    fold_side side[2];
    msm_sums **sums; /* n_threads */
    unsigned n_threads;
    /* of one run: */
    uint64_t first, n;
    g1_aff *out;
    const g1_aff *l;
};

static cuzk_status side_build(fold_side *d, const r1cs_shape *s, g16_ev_side side,
                              const run_ctx *rc)
{
    size_t n_coeffs;
    const fr *coeffs = r1cs_shape_coeffs(s, &n_coeffs);
    d->subtract = side == G16_EV_C;
    d->factors = mem_alloc(n_coeffs * sizeof *d->factors, 64);
    if (!d->factors)
        return cuzk_fail(CUZK_E_NOMEM, "%zu coefficients to fold", n_coeffs);
    for (size_t i = 0; i < n_coeffs; i++) {
        fr t = coeffs[i];
        fr_int k;
        if (d->subtract)
            fr_neg(&t, &t);
        fr_to_int(&k, &t);
        msm_factor_set(&d->factors[i], &k);
    }
    return g16_ev_columns_init(&d->cols, s, side, rc);
}

static cuzk_status fold_build(g16_ev_fold *f, const r1cs_shape *s, const run_ctx *rc)
{
    f->sums = mem_zalloc(f->n_threads * sizeof(msm_sums *), 64);
    bool ok = f->sums;
    for (unsigned t = 0; ok && t < f->n_threads; t++)
        ok = (f->sums[t] = msm_sums_create()) != NULL;
    if (!ok)
        return cuzk_fail(CUZK_E_NOMEM, "folding of B and C by %u threads", f->n_threads);
    CUZK_TRY(side_build(&f->side[0], s, G16_EV_B, rc));
    return side_build(&f->side[1], s, G16_EV_C, rc);
}

cuzk_status g16_ev_fold_create(g16_ev_fold **out, const r1cs_shape *s, const g1_aff *d,
                               const g1_aff *g, const run_ctx *rc)
{
    *out = NULL;
    g16_ev_fold *f = mem_zalloc(sizeof *f, 64);
    if (!f)
        return cuzk_fail(CUZK_E_NOMEM, "folding of B and C");
    f->side[0].points = d;
    f->side[1].points = g;
    f->n_threads = pool_threads(rc->pool);
    span_id span = span_begin(rc->spans, rc->parent, SPAN_GATHER);
    run_ctx under = run_ctx_under(rc, span);
    cuzk_status st = fold_build(f, s, &under);
    span_end(rc->spans, span);
    if (st.code != CUZK_OK) {
        g16_ev_fold_destroy(f);
        return st;
    }
    *out = f;
    return cuzk_ok();
}

void g16_ev_fold_destroy(g16_ev_fold *f)
{
    if (!f)
        return;
    for (unsigned t = 0; f->sums && t < f->n_threads; t++)
        msm_sums_destroy(f->sums[t]);
    mem_free(f->sums);
    for (int i = 0; i < 2; i++) {
        mem_free(f->side[i].factors);
        g16_ev_columns_fini(&f->side[i].cols);
    }
    mem_free(f);
}

static void add_column(const fold_side *d, msm_sums *s, uint64_t var)
{
    uint64_t end = g16_ev_columns_start(&d->cols, var + 1);
    for (uint64_t at = g16_ev_columns_start(&d->cols, var); at < end; at++) {
        const g16_ev_term *t = &d->cols.terms[at];
        uint8_t kind = d->cols.kinds[t->coeff];
        if (kind == G16_EV_OTHER)
            msm_sums_add_product(s, &d->points[t->at], &d->factors[t->coeff]);
        else
            msm_sums_add(s, &d->points[t->at], d->subtract == (kind == G16_EV_ONE));
    }
}

static void fold_var(const g16_ev_fold *f, msm_sums *s, uint64_t var)
{
    if (f->l)
        msm_sums_add(s, &f->l[var - f->first], false);
    add_column(&f->side[0], s, var);
    add_column(&f->side[1], s, var);
    msm_sums_close(s);
}

static void fold_chunk(void *ctx, size_t chunk, unsigned thread)
{
    const g16_ev_fold *f = ctx;
    msm_sums *s = f->sums[thread % f->n_threads];
    uint64_t lo = (uint64_t)chunk * FOLD_VARS, hi = lo + FOLD_VARS;
    msm_sums_begin(s, f->out + lo);
    for (uint64_t i = lo; i < hi && i < f->n; i++)
        fold_var(f, s, f->first + i);
    msm_sums_finish(s);
}

cuzk_status g16_ev_fold_run(g16_ev_fold *f, g1_aff *out, const g1_aff *l, uint64_t first,
                            uint64_t n, const run_ctx *rc)
{
    CUZK_ASSERT(first + n <= f->side[0].cols.n_vars);
    f->first = first;
    f->n = n;
    f->out = out;
    f->l = l;
    return run_for(rc, (size_t)((n + FOLD_VARS - 1) / FOLD_VARS), fold_chunk, f);
}
