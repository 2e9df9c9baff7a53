/* Batched affine additions, one at a time. A template like msm_group_tmpl.h, included before it.
 *
 * Parameters: MSM_T(t)  a point type, e.g. g1_##t    MSM_FE      the field type        MSM_FE_ONE
 * its one
 *             MSM_FN(f) inline field function, e.g. fpi_##f       MSM_FE_INV  out-of-line inversion
 *             MSM_LOW(e) a word that is 0 when the element e is */
#include <assert.h>
#include "msm/msm_int.h"

typedef MSM_T(aff) aff;
typedef MSM_FE fe;

enum { KIND_ADD, KIND_DBL, KIND_COPY_A, KIND_COPY_B, KIND_INF };

static inline bool is_inf(const aff *p) { return MSM_FN(is_zero)(&p->x) && MSM_FN(is_zero)(&p->y); }

/* Do the two points enter with different signs? */
static inline bool is_flipped(const msm_op *op) { return (op->neg ^ op->neg >> 1) & 1; }

/* An op whose denominator may be zero: find out what it really is. *d becomes the denominator if
 * there is one. */
static __attribute__((noinline)) uint8_t classify(const msm_op *op, fe *d)
{
    const aff *a = op->a, *b = op->b;
    fe yb = b->y;
    if (is_inf(a))
        return KIND_COPY_B;
    if (is_inf(b))
        return KIND_COPY_A;
    if (!MSM_FN(is_zero)(d))
        return KIND_ADD;
    if (is_flipped(op))
        MSM_FN(neg)(&yb, &yb);
    if (!MSM_FN(eq)(&a->y, &yb) || MSM_FN(is_zero)(&a->y))
        return KIND_INF;
    MSM_FN(dbl)(d, &a->y);
    return KIND_DBL;
}

static inline void fetch(const void *p)
{
    static_assert(sizeof(aff) % 96 == 0,
                  "a point aligned to 32 bytes covers sizeof / 64 lines, rounded up");
    for (size_t i = 0; i < sizeof(aff); i += 64)
        __builtin_prefetch((const char *)p + i);
}

/* Denominators d[i] and products of those after i, so that the second pass can write in order.
 * Returns the number of them. */
static inline size_t pass_products(msm_op *ops, size_t n, fe *d, fe *after, fe *prod)
{
    size_t n_dens = 0;
    *prod = MSM_FE_ONE;
    for (size_t i = n; i-- > 0;) {
        msm_op *op = &ops[i];
        if (!op->b) {
            op->kind = KIND_COPY_A;
            continue;
        }
        const aff *a = op->a, *b = op->b;
        MSM_FN(sub)(&d[i], &b->x, &a->x);
        op->kind = KIND_ADD;
        if (__builtin_expect(!MSM_LOW(d[i]) | !MSM_LOW(a->x) | !MSM_LOW(b->x), 0)) {
            op->kind = classify(op, &d[i]);
            if (op->kind > KIND_DBL)
                continue;
        }
        after[i] = *prod;
        MSM_FN(mul)(prod, prod, &d[i]);
        n_dens++;
    }
    return n_dens;
}

static inline void copy_point(aff *o, const aff *p, bool negate)
{
    aff t = *p;
    if (negate)
        MSM_FN(neg)(&t.y, &t.y);
    *o = t;
}

/* A chord or a tangent. sa a + sb b = sa (a + s b) with s = sa sb. The slope of a + s b is (s yb -
 * ya) / d = s m, where m = (yb - s ya) / d, so x3 = m^2 - xa - xb and y3 = s m (xa - x3) - ya:
 * signs only choose and swap operands of subtractions.
 * They are random, so operands are chosen by address and not by a branch. A tangent has s = 1. */
static inline __attribute__((always_inline)) void add_finite(const msm_op *op, bool with_signs,
                                                             const fe *d_inv)
{
    static const fe zero;
    const aff *a = op->a, *b = op->b;
    aff *o = op->out;
    unsigned flip = with_signs && op->kind == KIND_ADD && is_flipped(op),
             neg_a = with_signs && (op->neg & MSM_NEG_A);
    fe m, x3, t, minus_ya;
    if (__builtin_expect(op->kind == KIND_DBL, 0)) {
        MSM_FN(sqr)(&t, &a->x);
        MSM_FN(dbl)(&m, &t);
        MSM_FN(add)(&m, &m, &t);
    } else {
        if (with_signs)
            MSM_FN(sub)(&minus_ya, &zero, &a->y);
        const fe *ya[2] = {&a->y, &minus_ya};
        MSM_FN(sub)(&m, &b->y, ya[flip]);
    }
    MSM_FN(mul)(&m, &m, d_inv);
    MSM_FN(sqr)(&x3, &m);
    MSM_FN(sub)(&x3, &x3, &a->x);
    MSM_FN(sub)(&x3, &x3, &b->x);
    const fe *x[2] = {&a->x, &x3};
    MSM_FN(sub)(&t, x[flip], x[!flip]);
    MSM_FN(mul)(&t, &t, &m);
    const fe *y[2] = {&t, &a->y};
    MSM_FN(sub)(&o->y, y[neg_a], y[!neg_a]);
    o->x = x3;
}

/* An op that is no addition after all. */
static void copy_or_inf(const msm_op *op)
{
    if (op->kind == KIND_COPY_A)
        copy_point(op->out, op->a, op->neg & MSM_NEG_A);
    else if (op->kind == KIND_COPY_B)
        copy_point(op->out, op->b, (op->neg & MSM_NEG_B) != 0);
    else
        *(aff *)op->out = (aff){0};
}

static inline void pass_add(const msm_batch *in, bool with_signs, const fe *d, const fe *after,
                            fe *inv)
{
    msm_op *ops = in->ops;
    for (size_t i = 0; i < in->n; i++) {
        if (i < in->n_next) {
            fetch(in->next[i].a);
            if (in->next[i].b)
                fetch(in->next[i].b);
        }
        if (__builtin_expect(ops[i].kind > KIND_DBL, 0)) {
            copy_or_inf(&ops[i]);
            continue;
        }
        fe d_inv;
        MSM_FN(mul)(&d_inv, inv, &after[i]);
        MSM_FN(mul)(inv, inv, &d[i]);
        add_finite(&ops[i], with_signs, &d_inv);
    }
}

/* 5 multiplications and 1 square per addition, and 1/n of an inversion (Montgomery's trick). */
static void batch_add(const msm_batch *in, void *scratch)
{
    fe *d = scratch, *after = d + MSM_BATCH, prod, inv;
    size_t n_dens = pass_products(in->ops, in->n, d, after, &prod);
    inv = prod;
    if (n_dens > 0)
        MSM_FE_INV(&inv, &prod);
    if (in->with_signs)
        pass_add(in, true, d, after, &inv);
    else
        pass_add(in, false, d, after, &inv);
}
