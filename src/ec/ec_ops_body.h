/* Body of ec_portable.c and ec_adx.c, which define EC_OPS_TABLE and the instruction set. Everything
 * but the table is internal, so the two compilations cannot be mixed up by the linker. */
#include "base/mem.h"
#include "ec/ec_consts.h"
#include "ec/ec_ops.h"
#include "ec/g1_inline.h"
#include "ec/g2_inline.h"

/* 3 b = 12. */
static inline void g1i_mul_b3(fp *o, const fp *a)
{
    fp t;
    fpi_dbl(&t, a);
    fpi_add(&t, &t, a);
    fpi_dbl(&t, &t);
    fpi_dbl(o, &t);
}

/* 3 b = 12 (1 + u). */
static inline void g2i_mul_b3(fp2 *o, const fp2 *a)
{
    fp2 t;
    fp2i_mul_xi(&t, a);
    g1i_mul_b3(&o->c0, &t.c0);
    g1i_mul_b3(&o->c1, &t.c1);
}

#define EC_F fp
#define EC_F_ONE FP_ONE
#define EC_FN(f) fpi_##f
#define EC_T(t) g1_##t
#define EC_C(f) g1i_##f
#include "ec/curve_scalar.h"
#undef EC_F
#undef EC_F_ONE
#undef EC_FN
#undef EC_T
#undef EC_C

#define EC_F fp2
#define EC_F_ONE FP2_ONE
#define EC_FN(f) fp2i_##f
#define EC_T(t) g2_##t
#define EC_C(f) g2i_##f
#include "ec/curve_scalar.h"
#undef EC_F
#undef EC_F_ONE
#undef EC_FN
#undef EC_T
#undef EC_C

static bool g1i_is_on_curve(const g1_aff *a)
{
    static const fp b = EC_FP_4;
    fp l, t;
    fpi_sqr(&l, &a->y);
    fpi_sqr(&t, &a->x);
    fpi_mul(&t, &t, &a->x);
    fpi_add(&t, &t, &b);
    return fpi_eq(&l, &t);
}

static bool g2i_is_on_curve(const g2_aff *a)
{
    static const fp2 b = {EC_FP_4, EC_FP_4};
    fp2 l, t;
    fp2i_sqr(&l, &a->y);
    fp2i_sqr(&t, &a->x);
    fp2i_mul(&t, &t, &a->x);
    fp2i_add(&t, &t, &b);
    return fp2i_eq(&l, &t);
}

/* phi(a) = -x^2 a. On every point phi^2 + phi + 1 = 0, so the equation gives (x^4 - x^2 + 1) a = r
 * a = 0; the converse is the choice of beta (Scott, ePrint 2021/1130, section 3). */
static bool g1i_is_in_subgroup(const g1_aff *a)
{
    static const fp beta = EC_PHI_BETA;
    g1_jac t;
    fp x, y;
    g1_jac_from_aff(&t, a);
    g1i_mul_x_abs(&t, &t);
    g1i_mul_x_abs(&t, &t);
    fpi_mul(&x, &a->x, &beta);
    fpi_neg(&y, &a->y);
    return g1i_jac_eq_xy(&t, &x, &y);
}

/* psi(a) = x a. With psi^2 - (x + 1) psi + p = 0 it gives (p - x) a = 0, and gcd(p - x, order of
 * the curve) = r (Scott, ePrint 2021/1130, section 4). */
static bool g2i_is_in_subgroup(const g2_aff *a)
{
    static const fp cx_c1 = EC_PSI_CX_C1;
    static const fp2 cy = {EC_PSI_CY_C0, EC_PSI_CY_C1};
    g2_jac t;
    fp2 x, y;
    g2_jac_from_aff(&t, a);
    g2i_mul_x_abs(&t, &t);
    /* conj(x) c u = (x0 - x1 u) c u = x1 c + x0 c u */
    fpi_mul(&x.c0, &a->x.c1, &cx_c1);
    fpi_mul(&x.c1, &a->x.c0, &cx_c1);
    fp2_conj(&y, &a->y);
    fp2i_mul(&y, &y, &cy);
    fp2i_neg(&y, &y); /* t is |x| a = -x a */
    return g2i_jac_eq_xy(&t, &x, &y);
}

const ec_ops EC_OPS_TABLE = {
    .g1 = {g1i_jac_add, g1i_jac_add_aff, g1i_jac_dbl, g1i_xyzz_add_aff, g1i_xyzz_add, g1i_xyzz_dbl,
           g1i_jac_from_xyzz, g1i_mul, g1i_mul_ct, g1i_is_on_curve, g1i_is_in_subgroup},
    .g2 = {g2i_jac_add, g2i_jac_add_aff, g2i_jac_dbl, g2i_xyzz_add_aff, g2i_xyzz_add, g2i_xyzz_dbl,
           g2i_jac_from_xyzz, g2i_mul, g2i_mul_ct, g2i_is_on_curve, g2i_is_in_subgroup},
};
