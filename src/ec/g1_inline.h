/* Inline G1 formulas g1i_* for hot loops.
 *
 * How to use: write the loop once in a body header, include that header from two .c files,
 * x_portable.c and x_adx.c; the latter defines CUZK_ISA_ADX before its first include, which makes
 * ff/fp_inline.h pick the ADX field code. Give everything in the body internal linkage except one
 * table of entry points, and choose the table with ff_use_adx() (as ec_ops.c does). Never use these
 * from a header that other folders include: both variants would be compiled under one name.
 *
 * Bucket step:   g1i_xyzz_acc_xy(&bucket, &x, &y)     (point not infinity; negate y to subtract)
 * Buckets:       g1i_xyzz_add, g1i_xyzz_dbl, g1i_jac_from_xyzz
 * Affine batch:  kind[i] = g1i_aff_add_prepare(&den[i], p, q); invert den; g1i_aff_add_finish(o, p,
 *                q, &den[i], kind[i]) */
#ifndef EC_G1_INLINE_H
#define EC_G1_INLINE_H
#include "ec/g1.h"
#include "ff/fp_inline.h"

#define EC_F fp
#define EC_F_ONE FP_ONE
#define EC_FN(f) fpi_##f
#define EC_T(t) g1_##t
#define EC_C(f) g1i_##f
#include "ec/curve_inline.h"
#undef EC_F
#undef EC_F_ONE
#undef EC_FN
#undef EC_T
#undef EC_C
#endif
