/* The matrix is transposed in two visits of the shape: one counts, one places. */
#include "groth16/evkey_columns.h"
#include "base/mem.h"
#include "groth16/evkey_int.h"

#define VISIT_ROWS 32768u

/* While the columns are made, ends has each variable's count, then where its next term goes. */
typedef struct maker {
    g16_ev_columns *o;
    const r1cs_shape *s;
    bool counting;
    unsigned n_threads;
    cuzk_status *visit_st; /* n_threads: first failure */
    _Atomic uint64_t n_others;
} maker;

static void visit_row(void *ctx, uint64_t row_idx, const r1cs_row *row)
{
    maker *k = ctx;
    g16_ev_columns *o = k->o;
    uint64_t n_others = 0;
    uint32_t at = (uint32_t)g16_reverse_bits(row_idx, o->c->lg_m);
    const r1cs_term *t = row->t[o->side];
    for (uint32_t i = 0; i < row->n[o->side]; i++) {
        r1cs_var v = t[i].var;
        uint64_t var = v & R1CS_INPUT ? v & ~R1CS_INPUT : o->c->n_inputs + v;
        /* relaxed: pool_for's return orders them before the reads */
        uint64_t to = atomic_fetch_add_explicit(&o->ends[var], 1, memory_order_relaxed);
        if (!k->counting)
            o->terms[to] = (g16_ev_term){at, t[i].coeff};
        n_others += o->kinds[t[i].coeff] == G16_EV_OTHER;
    }
    if (k->counting && n_others > 0)
        atomic_fetch_add_explicit(&k->n_others, n_others, memory_order_relaxed);
}

static void visit_chunk(void *ctx, size_t chunk, unsigned thread)
{
    maker *k = ctx;
    cuzk_status *st = &k->visit_st[thread % k->n_threads];
    uint64_t lo = (uint64_t)chunk * VISIT_ROWS, hi = lo + VISIT_ROWS, n = k->o->c->n_rows;
    if (st->code == CUZK_OK)
        *st = r1cs_shape_visit(k->s, lo, hi < n ? hi : n, false, visit_row, k);
}

static cuzk_status visit_all(maker *k, const run_ctx *rc)
{
    for (unsigned t = 0; t < k->n_threads; t++)
        k->visit_st[t] = cuzk_ok();
    CUZK_TRY(
        run_for(rc, (size_t)((k->o->c->n_rows + VISIT_ROWS - 1) / VISIT_ROWS), visit_chunk, k));
    for (unsigned t = 0; t < k->n_threads; t++)
        CUZK_TRY(k->visit_st[t]);
    return cuzk_ok();
}

static void set_kinds(uint8_t *kinds, const fr *coeffs, size_t n)
{
    fr minus_one;
    fr_neg(&minus_one, &FR_ONE);
    for (size_t i = 0; i < n; i++)
        kinds[i] = fr_is_one(&coeffs[i])           ? G16_EV_ONE
                   : fr_eq(&coeffs[i], &minus_one) ? G16_EV_MINUS_ONE
                                                   : G16_EV_OTHER;
}

static cuzk_status transpose(maker *k, const run_ctx *rc)
{
    g16_ev_columns *o = k->o;
    size_t n_coeffs;
    const fr *coeffs = r1cs_shape_coeffs(k->s, &n_coeffs);
    o->ends = mem_zalloc(o->n_vars * sizeof *o->ends, 64);
    o->kinds = mem_alloc(n_coeffs, 64);
    k->visit_st = mem_alloc(k->n_threads * sizeof *k->visit_st, 64);
    if (!o->ends || !o->kinds || !k->visit_st)
        return cuzk_fail(CUZK_E_NOMEM, "columns of %llu variables", (unsigned long long)o->n_vars);
    set_kinds(o->kinds, coeffs, n_coeffs);
    k->counting = true;
    CUZK_TRY(visit_all(k, rc));
    for (uint64_t v = 0; v < o->n_vars; v++) {
        uint64_t n = atomic_load_explicit(&o->ends[v], memory_order_relaxed);
        atomic_store_explicit(&o->ends[v], o->n_terms, memory_order_relaxed);
        o->n_terms += n;
    }
    o->n_others = atomic_load_explicit(&k->n_others, memory_order_relaxed);
    o->terms = mem_alloc(o->n_terms * sizeof *o->terms, 64);
    if (!o->terms)
        return cuzk_fail(CUZK_E_NOMEM, "%llu terms of %c", (unsigned long long)o->n_terms,
                         "ABC"[o->side]);
    k->counting = false;
    return visit_all(k, rc);
}

cuzk_status g16_ev_columns_init(g16_ev_columns *o, const r1cs_shape *s, g16_ev_side side,
                                const run_ctx *rc)
{
    const r1cs_counts *c = r1cs_shape_counts(s);
    *o = (g16_ev_columns){.c = c, .side = side, .n_vars = c->n_inputs + c->n_aux};
    maker k = {.o = o, .s = s, .n_threads = pool_threads(rc->pool)};
    cuzk_status st = transpose(&k, rc);
    mem_free(k.visit_st);
    if (st.code != CUZK_OK)
        g16_ev_columns_fini(o);
    return st;
}

void g16_ev_columns_fini(g16_ev_columns *o)
{
    mem_free((void *)o->ends);
    mem_free(o->terms);
    mem_free(o->kinds);
    *o = (g16_ev_columns){0};
}
