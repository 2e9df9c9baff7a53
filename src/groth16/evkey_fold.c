/* C folded into section l: the matrix is transposed once, then every variable's sum is made from
 * the points of the rows in which it has a C term. Nearly all coefficients are 1 and -1; the others
 * take a product each. */
#include "base/mem.h"
#include "base/span_names.h"
#include "groth16/evkey_int.h"
#include "msm/msm_sums.h"
#include <stdatomic.h>

#define VISIT_ROWS 32768u
#define FOLD_VARS 256u

typedef struct c_term {
    uint32_t at; /* the row's place in the transformed section */
    uint32_t coeff;
} c_term;

enum { COEFF_ONE, COEFF_MINUS_ONE, COEFF_OTHER };

struct g16_ev_fold {
    const r1cs_shape *s;
    const r1cs_counts *c;
    const g1_aff *h;
    uint64_t n_vars; /* inputs, then aux */
    /* Terms of variable v, counted, then where its next one goes, then where they end. */
    _Atomic uint64_t *ends;
    c_term *terms;
    uint8_t *kinds;      /* of coefficients */
    msm_factor *factors; /* minus the coefficient, where it is another */
    msm_sums **sums;     /* n_threads */
    unsigned n_threads;
    cuzk_status *visit_st; /* n_threads: first failure */
    bool counting;
    /* of one run: */
    uint64_t first, n;
    g1_aff *out;
    const g1_aff *l;
};

static void visit_row(void *ctx, uint64_t row_idx, const r1cs_row *row)
{
    const g16_ev_fold *f = ctx;
    uint32_t at = (uint32_t)g16_reverse_bits(row_idx, f->c->lg_m);
    for (uint32_t i = 0; i < row->n[2]; i++) {
        r1cs_var v = row->t[2][i].var;
        uint64_t var = v & R1CS_INPUT ? v & ~R1CS_INPUT : f->c->n_inputs + v;
        /* relaxed: pool_for's return orders them before the reads */
        uint64_t to = atomic_fetch_add_explicit(&f->ends[var], 1, memory_order_relaxed);
        if (!f->counting)
            f->terms[to] = (c_term){at, row->t[2][i].coeff};
    }
}

static void visit_chunk(void *ctx, size_t chunk, unsigned thread)
{
    g16_ev_fold *f = ctx;
    cuzk_status *st = &f->visit_st[thread % f->n_threads];
    uint64_t lo = (uint64_t)chunk * VISIT_ROWS, hi = lo + VISIT_ROWS;
    if (st->code == CUZK_OK)
        *st =
            r1cs_shape_visit(f->s, lo, hi < f->c->n_rows ? hi : f->c->n_rows, false, visit_row, f);
}

static cuzk_status visit_all(g16_ev_fold *f, const run_ctx *rc)
{
    for (unsigned t = 0; t < f->n_threads; t++)
        f->visit_st[t] = cuzk_ok();
    CUZK_TRY(run_for(rc, (size_t)((f->c->n_rows + VISIT_ROWS - 1) / VISIT_ROWS), visit_chunk, f));
    for (unsigned t = 0; t < f->n_threads; t++)
        CUZK_TRY(f->visit_st[t]);
    return cuzk_ok();
}

static cuzk_status transpose(g16_ev_fold *f, const run_ctx *rc)
{
    uint64_t n_terms = 0;
    f->counting = true;
    CUZK_TRY(visit_all(f, rc));
    for (uint64_t v = 0; v < f->n_vars; v++) {
        uint64_t n = atomic_load_explicit(&f->ends[v], memory_order_relaxed);
        atomic_store_explicit(&f->ends[v], n_terms, memory_order_relaxed);
        n_terms += n;
    }
    f->terms = mem_alloc(n_terms * sizeof *f->terms, 64);
    if (!f->terms)
        return cuzk_fail(CUZK_E_NOMEM, "%llu terms of C", (unsigned long long)n_terms);
    f->counting = false;
    return visit_all(f, rc);
}

static void set_coefficients(g16_ev_fold *f, const fr *coeffs, size_t n)
{
    fr minus_one, t;
    fr_int k;
    fr_neg(&minus_one, &FR_ONE);
    for (size_t i = 0; i < n; i++) {
        f->kinds[i] = fr_is_one(&coeffs[i])           ? COEFF_ONE
                      : fr_eq(&coeffs[i], &minus_one) ? COEFF_MINUS_ONE
                                                      : COEFF_OTHER;
        fr_neg(&t, &coeffs[i]);
        fr_to_int(&k, &t);
        msm_factor_set(&f->factors[i], &k);
    }
}

static cuzk_status fold_build(g16_ev_fold *f, const run_ctx *rc)
{
    size_t n_coeffs;
    const fr *coeffs = r1cs_shape_coeffs(f->s, &n_coeffs);
    f->ends = mem_zalloc(f->n_vars * sizeof *f->ends, 64);
    f->kinds = mem_alloc(n_coeffs, 64);
    f->factors = mem_alloc(n_coeffs * sizeof *f->factors, 64);
    f->sums = mem_zalloc(f->n_threads * sizeof(msm_sums *), 64);
    f->visit_st = mem_alloc(f->n_threads * sizeof *f->visit_st, 64);
    bool ok = f->ends && f->kinds && f->factors && f->sums && f->visit_st;
    for (unsigned t = 0; ok && t < f->n_threads; t++)
        ok = (f->sums[t] = msm_sums_create()) != NULL;
    if (!ok)
        return cuzk_fail(CUZK_E_NOMEM, "folding of %llu variables", (unsigned long long)f->n_vars);
    set_coefficients(f, coeffs, n_coeffs);
    return transpose(f, rc);
}

cuzk_status g16_ev_fold_create(g16_ev_fold **out, const r1cs_shape *s, const g1_aff *h,
                               const run_ctx *rc)
{
    *out = NULL;
    g16_ev_fold *f = mem_zalloc(sizeof *f, 64);
    if (!f)
        return cuzk_fail(CUZK_E_NOMEM, "folding of C");
    f->s = s;
    f->c = r1cs_shape_counts(s);
    f->h = h;
    f->n_vars = f->c->n_inputs + f->c->n_aux;
    f->n_threads = pool_threads(rc->pool);
    span_id span = span_begin(rc->spans, rc->parent, SPAN_GATHER);
    run_ctx under = run_ctx_under(rc, span);
    cuzk_status st = fold_build(f, &under);
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
    mem_free((void *)f->ends);
    mem_free(f->terms);
    mem_free(f->kinds);
    mem_free(f->factors);
    mem_free(f->visit_st);
    mem_free(f);
}

static void fold_var(const g16_ev_fold *f, msm_sums *s, uint64_t var)
{
    uint64_t at = var ? atomic_load_explicit(&f->ends[var - 1], memory_order_relaxed) : 0;
    uint64_t end = atomic_load_explicit(&f->ends[var], memory_order_relaxed);
    if (f->l)
        msm_sums_add(s, &f->l[var - f->first], false);
    for (; at < end; at++) {
        const c_term *t = &f->terms[at];
        if (f->kinds[t->coeff] == COEFF_OTHER)
            msm_sums_add_product(s, &f->h[t->at], &f->factors[t->coeff]);
        else
            msm_sums_add(s, &f->h[t->at], f->kinds[t->coeff] == COEFF_ONE);
    }
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
    CUZK_ASSERT(first + n <= f->n_vars);
    f->first = first;
    f->n = n;
    f->out = out;
    f->l = l;
    return run_for(rc, (size_t)((n + FOLD_VARS - 1) / FOLD_VARS), fold_chunk, f);
}
