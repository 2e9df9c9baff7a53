/* Products of a point of G1 by a scalar in Jacobian coordinates, and what a butterfly makes of one.
 * Compiles for host and device. Values are lazily reduced (gpu_fp_lazy.cuh).
 *
 * Points of the subgroup only: then the steps of a product below never meet equal or opposite
 * points (each part's digits so far are 0 or more than the next digit, and a relation a P + b phi(P)
 * = 0 needs |a| or |b| of M - 1 at least), so additions need no cases. From other points come points
 * as bad, no fault. */
#ifndef GPU_G1_MUL_CUH
#define GPU_G1_MUL_CUH
#include "gpu/gpu_ec.cuh"
#include "gpu/gpu_glv.cuh"

/* phi's beta (src/ec/ec_consts.h), Montgomery form. */
GPU_CONST_TABLE(uint32_t, GPU_G1_BETA, GPU_FP_WORDS, 0x798a64e8, 0x30f1361b, 0x7ece5a2a, 0xf3b8ddab,
                0xc61577f7, 0x16a8ca3a, 0x74fd029b, 0xc26a2ff8, 0x60701c6e, 0x3636b766, 0x241b6160,
                0x051ba4ab);

/* X/Z^2, Y/Z^3; infinity: Z = 0. */
typedef struct gpu_g1_jac {
    gpu_fp x, y, z;
} gpu_g1_jac;

/* o = 2a below 4p, for one factor of a product whose other one is below 2p: below (8 p / 2^384 + 1) p
 * then. */
CUZK_HD void gpu_lz_dbl_wide(gpu_fp *o, const gpu_fp *a)
{
    (void)gpu_words_add(o->l, a->l, a->l, GPU_FP_WORDS);
}

/* p <- 2p. Infinity stays. 3 products, 4 squares (curves with a = 0; Bernstein, Lange,
 * Explicit-Formulas Database, dbl-2009-l). */
CUZK_HD void gpu_g1_jac_dbl(gpu_g1_jac *p)
{
    gpu_fp b, d, t;
    gpu_lz_dbl_wide(&t, &p->y);
    gpu_lz_mul(&p->z, &t, &p->z);
    gpu_lz_sqr(&b, &p->y);
    gpu_lz_add(&b, &b, &b); /* 2 Y^2 */
    gpu_lz_dbl_wide(&t, &p->x);
    gpu_lz_mul(&d, &t, &b); /* D = 4 X Y^2 */
    gpu_lz_sqr(&b, &b);
    gpu_lz_add(&b, &b, &b); /* 8 Y^4 */
    gpu_lz_sqr(&t, &p->x);
    gpu_lz_add(&p->x, &t, &t);
    gpu_lz_add(&t, &p->x, &t); /* E = 3 X^2 */
    gpu_lz_sqr(&p->x, &t);
    gpu_lz_sub(&p->x, &p->x, &d);
    gpu_lz_sub(&p->x, &p->x, &d); /* E^2 - 2D */
    gpu_lz_sub_wide(&d, &d, &p->x);
    gpu_lz_mul(&t, &d, &t);
    gpu_lz_sub(&p->y, &t, &b);
}

/* p <- p + (x, y), h <- by what Z was multiplied. p is neither infinity nor +-(x, y). 8 products, 3
 * squares (madd of the same database). */
CUZK_HD void gpu_g1_jac_add(gpu_g1_jac *p, gpu_fp *h, const gpu_g1 *a)
{
    gpu_fp r, t, v;
    gpu_lz_sqr(&t, &p->z);
    gpu_lz_mul(h, &a->x, &t);
    gpu_lz_sub(h, h, &p->x); /* H = x Z^2 - X */
    gpu_lz_mul(&t, &t, &p->z);
    gpu_lz_mul(&r, &a->y, &t);
    gpu_lz_sub(&r, &r, &p->y); /* R = y Z^3 - Y */
    gpu_lz_mul(&p->z, &p->z, h);
    gpu_lz_sqr(&t, h);
    gpu_lz_mul(&v, &p->x, &t); /* V = X H^2 */
    gpu_lz_mul(&t, &t, h);     /* H^3 */
    gpu_lz_mul(&p->y, &p->y, &t);
    gpu_lz_sqr(&p->x, &r);
    gpu_lz_sub(&p->x, &p->x, &t);
    gpu_lz_sub(&p->x, &p->x, &v);
    gpu_lz_sub(&p->x, &p->x, &v); /* R^2 - H^3 - 2V */
    gpu_lz_sub_wide(&v, &v, &p->x);
    gpu_lz_mul(&v, &v, &r);
    gpu_lz_sub(&p->y, &v, &p->y);
}

/* Multiples of a point as affine points of an isomorphic curve: (x / z^2, y / z^3) are the real ones,
 * for one z. Formulas that do not name the curve's constant work there. */
typedef struct gpu_g1_table {
    gpu_g1 p[GPU_GLV_N_TABLE];
    gpu_fp z;
} gpu_g1_table;

/* (x, y) <- (x f^2, y f^3) */
CUZK_HD void gpu_g1_rescale(gpu_g1 *a, const gpu_fp *f)
{
    gpu_fp t;
    gpu_lz_sqr(&t, f);
    gpu_lz_mul(&a->x, &a->x, &t);
    gpu_lz_mul(&t, &t, f);
    gpu_lz_mul(&a->y, &a->y, &t);
}

/* ratio: scratch of GPU_GLV_N_TABLE elements. a is not infinity. On the curve on which 2a has z = 1,
 * each multiple is the one before plus a, or plus 2a; then all are brought to the last one's z. */
CUZK_HD void gpu_g1_table_make(gpu_g1_table *o, gpu_fp *ratio, const gpu_g1 *a, gpu_glv_way way)
{
    gpu_g1_jac acc;
    gpu_g1 step = *a, twice;
    acc.x = a->x;
    acc.y = a->y;
    gpu_fp_set_one(&acc.z);
    gpu_g1_jac_dbl(&acc);
    twice.x = acc.x;
    twice.y = acc.y;
    o->z = acc.z;
    gpu_g1_rescale(&step, &acc.z);
    o->p[0] = step;
    if (way == GPU_GLV_SPARSE) {
        acc.x = step.x;
        acc.y = step.y;
        step = twice;
    } else {
        o->p[1] = twice;
        gpu_fp_set_one(&ratio[1]);
    }
    gpu_fp_set_one(&acc.z);
#if GPU_DEVICE_CODE
#pragma unroll 1
#endif
    for (uint32_t i = way == GPU_GLV_SPARSE ? 1 : 2; i < GPU_GLV_N_TABLE; i++) {
        gpu_g1_jac_add(&acc, &ratio[i], &step);
        o->p[i].x = acc.x;
        o->p[i].y = acc.y;
    }
    gpu_lz_mul(&o->z, &o->z, &acc.z);
    gpu_fp f = ratio[GPU_GLV_N_TABLE - 1];
#if GPU_DEVICE_CODE
#pragma unroll 1
#endif
    for (uint32_t i = GPU_GLV_N_TABLE - 1; i-- > 0;) {
        gpu_g1_rescale(&o->p[i], &f);
        if (i > 0)
            gpu_lz_mul(&f, &f, &ratio[i]);
    }
}

/* One digit of a product: acc + digit phi^part(P). *empty: nothing was added yet. */
CUZK_HD void gpu_g1_add_digit(gpu_g1_jac *acc, bool *empty, const gpu_g1_table *t, int32_t digit,
                              int part, gpu_glv_way way)
{
    gpu_g1 a = t->p[gpu_glv_entry(digit, way)];
    gpu_fp beta;
    GPU_UNROLL
    for (int i = 0; i < GPU_FP_WORDS; i++)
        beta.l[i] = GPU_CONST(GPU_G1_BETA)[i];
    if (part == 1)
        gpu_lz_mul(&a.x, &a.x, &beta);
    gpu_lz_neg_if(&a.y, &a.y, digit < 0 ? ~0u : 0u);
    if (*empty) {
        acc->x = a.x;
        acc->y = a.y;
        gpu_fp_set_one(&acc->z);
        *empty = false;
    } else {
        gpu_fp h;
        gpu_g1_jac_add(acc, &h, &a);
    }
}

/* What a butterfly, x an affine point and y one in Jacobian coordinates, divides by: Z D with
 * D = X - x Z^2 is 0 where the two are equal, opposite or y is infinite. z2: Z^2. */
CUZK_HD void gpu_g1_denominator(gpu_fp *o, gpu_fp *d, gpu_fp *z2, const gpu_fp *x,
                                const gpu_g1_jac *y)
{
    gpu_lz_sqr(z2, &y->z);
    gpu_lz_mul(o, x, z2);
    gpu_lz_sub(d, &y->x, o);
    gpu_lz_mul(o, d, &y->z);
}

/* (x, y) <- (x + y, x - y) with inv = 1 / (Z D). The chords' slopes are (+-Y - y_x Z^3) inv, and
 * 1/Z = inv D. */
CUZK_HD void gpu_g1_butterfly(gpu_g1 *x, gpu_g1 *diff, const gpu_g1_jac *y, const gpu_fp *d,
                              const gpu_fp *z2, const gpu_fp *inv)
{
    gpu_fp t, bx, s;
    gpu_lz_mul(&t, z2, &y->z);
    gpu_lz_mul(&t, &t, &x->y); /* y_x Z^3 */
    gpu_lz_mul(&bx, d, inv);
    gpu_lz_sqr(&bx, &bx);
    gpu_lz_mul(&bx, &bx, &y->x); /* affine x of y */
    gpu_lz_add(&s, &t, &y->y);
    gpu_lz_mul(&s, &s, inv); /* minus the slope to -y */
    gpu_lz_neg_if(&s, &s, ~0u);
    gpu_g1_on_line(diff, x, &bx, &s);
    gpu_lz_sub_wide(&s, &y->y, &t);
    gpu_lz_mul(&s, &s, inv);
    gpu_g1_on_line(x, x, &bx, &s);
}

/* o = y with inv = 1/Z. */
CUZK_HD void gpu_g1_affine(gpu_g1 *o, const gpu_g1_jac *y, const gpu_fp *inv)
{
    o->x = y->x;
    o->y = y->y;
    gpu_g1_rescale(o, inv);
}

/* The butterfly of an infinite x and y, with inv = 1/Z, or, y NULL, of x and infinity. */
CUZK_HD void gpu_g1_butterfly_infinite(gpu_g1 *x, gpu_g1 *diff, const gpu_g1_jac *y,
                                       const gpu_fp *inv)
{
    if (y)
        gpu_g1_affine(x, y, inv);
    *diff = *x;
    if (y)
        gpu_lz_neg_if(&diff->y, &x->y, ~0u);
}

/* The same in all cases, with inversions of its own. */
CUZK_HD void gpu_g1_affine_any(gpu_g1 *o, const gpu_g1_jac *y)
{
    if (gpu_lz_is_zero(&y->z)) {
        gpu_g1_set_inf(o);
        return;
    }
    gpu_fp inv;
    gpu_lz_inv(&inv, &y->z);
    gpu_g1_affine(o, y, &inv);
}
CUZK_HD void gpu_g1_butterfly_any(gpu_g1 *x, gpu_g1 *diff, const gpu_g1_jac *y)
{
    gpu_g1 p;
    gpu_g1_affine_any(&p, y);
    *diff = p;
    gpu_lz_neg_if(&diff->y, &p.y, ~0u);
    gpu_g1_add(diff, x, diff);
    gpu_g1_add(x, x, &p);
}
#endif
