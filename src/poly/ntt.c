/* The public transforms. */
#include "poly/ntt.h"
#include "base/span_names.h"
#include "poly/ntt_run.h"

static void size_inverse(fr *o, uint32_t lg_n)
{
    fr n;
    fr_from_u64(&n, (uint64_t)1 << (lg_n & 63)); /* a size out of range is refused later */
    fr_inv(o, &n);
}

/* Natural order to bit-reversed, op at the end of the blocks, and back to natural order. */
static cuzk_status down_run(ntt_run *r, fr *a, const block_op *op)
{
    CUZK_TRY(ntt_cols_down(r, a, op->inverse));
    CUZK_TRY(ntt_blocks(r, a, op));
    return ntt_bit_reverse(r, a);
}

static cuzk_status transform(const ntt_plan *p, fr *a, uint32_t lg_n, const block_op *op,
                             const run_ctx *rc)
{
    ntt_run r;
    span_id s = span_begin(rc->spans, rc->parent, SPAN_NTT);
    cuzk_status st = ntt_run_init(&r, p, lg_n, rc);
    if (st.code == CUZK_OK)
        st = down_run(&r, a, op);
    ntt_run_fini(&r);
    span_note(rc->spans, s, -1, st.code == CUZK_OK ? sizeof(fr) << lg_n : 0);
    span_end(rc->spans, s);
    return st;
}

cuzk_status ntt_forward(const ntt_plan *p, fr *a, uint32_t lg_n, const run_ctx *rc)
{
    return transform(p, a, lg_n, &(block_op){.down = true}, rc);
}

cuzk_status ntt_inverse(const ntt_plan *p, fr *a, uint32_t lg_n, const run_ctx *rc)
{
    fr n_inv;
    size_inverse(&n_inv, lg_n);
    return transform(p, a, lg_n, &(block_op){.down = true, .inverse = true, .factor = &n_inv}, rc);
}

/* To coefficients in bit-reversed order and back: nothing to reorder. */
static cuzk_status derivative_run(ntt_run *r, fr *a, const ramp_table *ramp)
{
    const block_op turn = {.down = true, .inverse = true, .ramp = ramp, .up = true};
    CUZK_TRY(ntt_cols_down(r, a, true));
    CUZK_TRY(ntt_blocks(r, a, &turn));
    return ntt_cols_up(r, a);
}

cuzk_status ntt_derivative(const ntt_plan *p, fr *a, const fr *k, uint32_t lg_n, const run_ctx *rc)
{
    ntt_run r;
    ramp_table ramp = {0};
    fr step;
    span_id s = span_begin(rc->spans, rc->parent, SPAN_NTT);
    cuzk_status st = ntt_run_init(&r, p, lg_n, rc);
    if (st.code == CUZK_OK) {
        size_inverse(&step, lg_n);
        fr_mul(&step, &step, k);
        st = ramp_table_init(&ramp, lg_n, &step);
    }
    if (st.code == CUZK_OK)
        st = derivative_run(&r, a, &ramp);
    ramp_table_fini(&ramp);
    ntt_run_fini(&r);
    span_note(rc->spans, s, -1, st.code == CUZK_OK ? sizeof(fr) << lg_n : 0);
    span_end(rc->spans, s);
    return st;
}
