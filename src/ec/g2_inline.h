/* Inline G2 formulas g2i_* for hot loops. Use as told in g1_inline.h; the functions are the same,
 * over Fp2. */
#ifndef EC_G2_INLINE_H
#define EC_G2_INLINE_H
#include "ec/g2.h"
#include "ff/fp2_inline.h"

#define EC_F fp2
#define EC_F_ONE FP2_ONE
#define EC_FN(f) fp2i_##f
#define EC_T(t) g2_##t
#define EC_C(f) g2i_##f
#include "ec/curve_inline.h"
#undef EC_F
#undef EC_F_ONE
#undef EC_FN
#undef EC_T
#undef EC_C
#endif
