/* Row sums of a shape image: small coefficients of bits as integers, all else in Fr. Compiles for
 * host and device. */
#ifndef GPU_SHAPE_EVAL_CUH
#define GPU_SHAPE_EVAL_CUH
#include "gpu/gpu_shape_int.h"

/* A witness where the code runs. */
typedef struct gpu_shape_values {
    const gpu_fr *inputs;
    const uint32_t *bits;
    const gpu_fr *dense;
} gpu_shape_values;

/* ints + (has_field ? field : 0). */
typedef struct gpu_row_sum {
    int64_t ints;
    gpu_fr field;
    bool has_field;
} gpu_row_sum;

CUZK_HD void gpu_row_sum_start(gpu_row_sum *s)
{
    s->ints = 0;
    s->has_field = false;
    GPU_UNROLL
    for (int i = 0; i < GPU_FR_WORDS; i++)
        s->field.l[i] = 0;
}

CUZK_HD void gpu_row_sum_field(gpu_row_sum *s, const gpu_fr *x)
{
    gpu_fr_add(&s->field, &s->field, x);
    s->has_field = true;
}

/* Add coeff * value of one term. */
CUZK_HD void gpu_row_sum_term(gpu_row_sum *s, const gpu_shape_view *v, const gpu_shape_segment *g,
                              const gpu_shape_values *w, gpu_shape_term t)
{
    uint32_t at = gpu_shape_at(v, g, t.ref), n = gpu_ref_n(at);
    gpu_fr x;
    if (gpu_ref_kind(at) == GPU_REF_BIT || at == gpu_ref(GPU_REF_INPUT, 0)) {
        if (gpu_ref_kind(at) == GPU_REF_BIT && !(w->bits[n >> 5] >> (n & 31) & 1))
            return;
        int64_t small = t.coeff < 2 ? 1 - 2 * (int64_t)t.coeff : v->small[t.coeff];
        if (small != GPU_SHAPE_LARGE)
            s->ints += small;
        else
            gpu_row_sum_field(s, &v->coeffs[t.coeff]);
        return;
    }
    x = gpu_ref_kind(at) == GPU_REF_DENSE ? w->dense[n] : w->inputs[n];
    if (t.coeff == 1) {
        gpu_fr_sub(&s->field, &s->field, &x);
        s->has_field = true;
        return;
    }
    if (t.coeff != 0)
        gpu_fr_mul(&x, &x, &v->coeffs[t.coeff]);
    gpu_row_sum_field(s, &x);
}

/* One term of a plain row. */
CUZK_HD int64_t gpu_row_int_term(const gpu_shape_view *v, const gpu_shape_segment *g,
                                 const uint32_t *bits, gpu_shape_term t)
{
    uint32_t at = gpu_shape_at(v, g, t.ref), n = gpu_ref_n(at);
    uint32_t bit = gpu_ref_kind(at) == GPU_REF_BIT ? bits[n >> 5] >> (n & 31) & 1 : 1;
    int64_t small = t.coeff < 2 ? 1 - 2 * (int64_t)t.coeff : v->small[t.coeff];
    return bit ? small : 0;
}

/* Terms from, from + step, ... below `to`. A term is read while the one before it is summed. */
CUZK_HD void gpu_row_sum_terms(gpu_row_sum *s, const gpu_shape_view *v, const gpu_shape_segment *g,
                               const gpu_shape_values *w, uint32_t from, uint32_t to, uint32_t step)
{
    gpu_shape_term t, next = {0, 0};
    if (from < to)
        next = v->terms[from];
    for (uint32_t k = from; k < to; k += step) {
        t = next;
        if (k + step < to)
            next = v->terms[k + step];
        gpu_row_sum_term(s, v, g, w, t);
    }
}

CUZK_HD void gpu_fr_from_i64(gpu_fr *o, int64_t x)
{
    gpu_fr rr, zero = {{0}};
    uint64_t m = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    GPU_UNROLL
    for (int i = 0; i < GPU_FR_WORDS; i++)
        rr.l[i] = GPU_CONST(GPU_FR_RR)[i];
    *o = zero;
    o->l[0] = (uint32_t)m;
    o->l[1] = (uint32_t)(m >> 32);
    gpu_fr_mul(o, o, &rr);
    if (x < 0)
        gpu_fr_sub(o, &zero, o);
}

/* The sum as a reduced element in Montgomery form. */
CUZK_HD void gpu_row_sum_finish(gpu_fr *o, const gpu_row_sum *s, const gpu_shape_view *v)
{
    gpu_fr i;
    if (s->ints >= -GPU_SHAPE_INTS && s->ints <= GPU_SHAPE_INTS)
        i = v->ints[s->ints + GPU_SHAPE_INTS];
    else
        gpu_fr_from_i64(&i, s->ints);
    if (s->has_field)
        gpu_fr_add(&i, &i, &s->field);
    *o = i;
}
#endif
