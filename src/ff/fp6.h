/* Fp6 = Fp2[v]/(v^3 - (1 + u)); c0 + c1 v + c2 v^2. Outputs may alias inputs. */
#ifndef FF_FP6_H
#define FF_FP6_H
#include "ff/fp2.h"
typedef struct fp6 {
    fp2 c0, c1, c2;
} fp6;
extern const fp6 FP6_ZERO, FP6_ONE;

void fp6_add(fp6 *o, const fp6 *a, const fp6 *b);
void fp6_sub(fp6 *o, const fp6 *a, const fp6 *b);
void fp6_dbl(fp6 *o, const fp6 *a);
void fp6_neg(fp6 *o, const fp6 *a);
void fp6_mul(fp6 *o, const fp6 *a, const fp6 *b);
void fp6_sqr(fp6 *o, const fp6 *a);
void fp6_inv(fp6 *o, const fp6 *a);   /* 0 -> 0 */
void fp6_mul_v(fp6 *o, const fp6 *a); /* times v */
void fp6_mul_fp2(fp6 *o, const fp6 *a, const fp2 *b);
/* Times b0 + b1 v; times b1 v. b0, b1 may be parts of o. */
void fp6_mul_by_01(fp6 *o, const fp6 *a, const fp2 *b0, const fp2 *b1);
void fp6_mul_by_1(fp6 *o, const fp6 *a, const fp2 *b1);
bool fp6_is_zero(const fp6 *a);
bool fp6_eq(const fp6 *a, const fp6 *b);
#endif
