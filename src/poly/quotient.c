/* The Groth16 quotient in six transforms and seven passes over memory, and what a key in evaluation
 * form leaves of it. */
#include "base/span_names.h"
#include "poly/ntt_run.h"

/* Constants of one quotient. */
typedef struct quotient_consts {
    power_table up, down; /* 7^i and 7^-i in bit-reversed order */
    fr m_inv;             /* 1/m */
    fr zm_inv;            /* 1/(m (7^m - 1)) */
} quotient_consts;

static void size_inverse(fr *o, uint32_t lg_m)
{
    fr m;
    fr_from_u64(&m, (uint64_t)1 << lg_m);
    fr_inv(o, &m);
}

static cuzk_status consts_init(quotient_consts *q, uint32_t lg_m)
{
    fr z = FR_GENERATOR;
    *q = (quotient_consts){0};
    for (uint32_t i = 0; i < lg_m; i++)
        fr_sqr(&z, &z);
    fr_sub(&z, &z, &FR_ONE);
    fr_inv(&z, &z);
    size_inverse(&q->m_inv, lg_m);
    fr_mul(&q->zm_inv, &z, &q->m_inv);
    CUZK_TRY(power_table_init(&q->up, lg_m, &FR_GENERATOR, true));
    return power_table_init(&q->down, lg_m, &FR_GENERATOR_INV, true);
}

static void consts_fini(quotient_consts *q)
{
    power_table_fini(&q->up);
    power_table_fini(&q->down);
}

/* A span with the bytes of n_vecs vectors. */
static void end_span(ntt_run *r, span_id s, uint64_t n_vecs)
{
    span_note(r->rc->spans, s, -1, n_vecs * sizeof(fr) << r->lg_n);
    span_end(r->rc->spans, s);
}

/* a and b: evaluations on the domain; after it, a: evaluations of a b on the coset, through the
 * inverse column passes already, and c: a o b on the domain, through them too. */
static cuzk_status to_coset(ntt_run *r, fr *a, fr *b, fr *c, const quotient_consts *q)
{
    const block_op turn = {
        .down = true, .inverse = true, .factor = &q->m_inv, .powers = &q->up, .up = true};
    CUZK_TRY(ntt_cols_open(r, a, b, c));
    run_progress(r->rc, "quotient", 0.3);
    CUZK_TRY(ntt_blocks(r, a, &turn));
    CUZK_TRY(ntt_blocks(r, b, &turn));
    run_progress(r->rc, "quotient", 0.55);
    return ntt_cols_product(r, a, b);
}

/* Intermediate coefficients stay in bit-reversed order; only the result is put in natural order. */
static cuzk_status quotient(ntt_run *r, fr *a, fr *b, fr *c, const quotient_consts *q)
{
    const block_op last = {.down = true,
                           .inverse = true,
                           .factor = &q->zm_inv,
                           .powers = &q->down,
                           .minus = c,
                           .minus_factor = &q->zm_inv};
    span_id s = span_begin(r->rc->spans, r->rc->parent, SPAN_NTT);
    cuzk_status st = to_coset(r, a, b, c, q);
    end_span(r, s, 3);
    CUZK_TRY(st);
    run_progress(r->rc, "quotient", 0.8);
    s = span_begin(r->rc->spans, r->rc->parent, SPAN_NTT);
    st = ntt_blocks(r, a, &last);
    if (st.code == CUZK_OK)
        st = ntt_bit_reverse(r, a);
    end_span(r, s, 2);
    CUZK_TRY(st);
    run_progress(r->rc, "quotient", 1);
    return cuzk_ok();
}

cuzk_status ntt_quotient(const ntt_plan *p, fr *a, fr *b, fr *scratch, uint32_t lg_m,
                         const run_ctx *rc)
{
    quotient_consts q = {0};
    ntt_run r;
    cuzk_status st = ntt_run_init(&r, p, lg_m, rc);
    if (st.code == CUZK_OK)
        st = consts_init(&q, lg_m);
    if (st.code == CUZK_OK)
        st = quotient(&r, a, b, scratch, &q);
    consts_fini(&q);
    ntt_run_fini(&r);
    return st;
}

/* One side after the other, so that nothing but out is needed beside a and b. */
static cuzk_status derivative_product(ntt_run *r, fr *out, fr *a, const fr *b,
                                      const ramp_table *ramp)
{
    const block_op turn = {.down = true, .inverse = true, .ramp = ramp, .up = true};
    CUZK_TRY(ntt_cols_down_to(r, out, b));
    CUZK_TRY(ntt_blocks(r, out, &turn));
    CUZK_TRY(ntt_cols_multiply(r, out, a));
    run_progress(r->rc, "quotient", 0.5);
    CUZK_TRY(ntt_cols_down(r, a, true));
    CUZK_TRY(ntt_blocks(r, a, &turn));
    return ntt_cols_muladd(r, out, a, b);
}

/* 1/m^2, the 1/m of an inverse transform, and out of Montgomery form, all in the multiples. */
static void plain_step(fr *step, uint32_t lg_m)
{
    static const fr plain = {{1, 0, 0, 0}}; /* Montgomery form of 2^-256 */
    fr m_inv;
    size_inverse(&m_inv, lg_m);
    fr_sqr(step, &m_inv);
    fr_mul(step, step, &m_inv);
    fr_mul(step, step, &plain);
}

cuzk_status ntt_derivative_product(const ntt_plan *p, fr_int *out, fr *a, const fr *b,
                                   uint32_t lg_m, const run_ctx *rc)
{
    ramp_table ramp = {0};
    ntt_run r;
    fr step;
    span_id s = span_begin(rc->spans, rc->parent, SPAN_NTT);
    cuzk_status st = ntt_run_init(&r, p, lg_m, rc);
    if (st.code == CUZK_OK) {
        plain_step(&step, lg_m);
        st = ramp_table_init(&ramp, lg_m, &step);
    }
    if (st.code == CUZK_OK)
        st = derivative_product(&r, (fr *)(void *)out, a, b, &ramp);
    ramp_table_fini(&ramp);
    end_span(&r, s, 3);
    ntt_run_fini(&r);
    CUZK_TRY(st);
    run_progress(rc, "quotient", 1);
    return cuzk_ok();
}
