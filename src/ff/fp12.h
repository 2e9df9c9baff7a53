/* Fp12 = Fp6[w]/(w^2 - v); c0 + c1 w. As w^6 = 1 + u, the coefficients of w^0, w^2, w^4 are c0.c0,
 * c0.c1, c0.c2 and those of w^1, w^3, w^5 are c1.c0, c1.c1, c1.c2. Outputs may alias inputs. */
#ifndef FF_FP12_H
#define FF_FP12_H
#include "ff/fp6.h"
typedef struct fp12 {
    fp6 c0, c1;
} fp12;
extern const fp12 FP12_ZERO, FP12_ONE;

void fp12_add(fp12 *o, const fp12 *a, const fp12 *b);
void fp12_sub(fp12 *o, const fp12 *a, const fp12 *b);
void fp12_neg(fp12 *o, const fp12 *a);
void fp12_mul(fp12 *o, const fp12 *a, const fp12 *b);
void fp12_sqr(fp12 *o, const fp12 *a);
void fp12_inv(fp12 *o, const fp12 *a); /* 0 -> 0 */
/* a^(p^6); the inverse of a where a^(p^6 + 1) = 1, as after the easy part of the final
 * exponentiation. */
void fp12_conj(fp12 *o, const fp12 *a);
/* a^(p^k), k in [1, 3]. */
void fp12_frobenius(fp12 *o, const fp12 *a, unsigned k);
/* a^2 for a in the cyclotomic subgroup (a^(p^4 - p^2 + 1) = 1) only.
 * Source: Granger and Scott, "Faster squaring in the cyclotomic subgroup of sixth degree
 * extensions", PKC 2010. */
void fp12_cyc_sqr(fp12 *o, const fp12 *a);
/* a times the pairing line l0 + l1 w^2 + l4 w^3, that is (l0 + l1 v) + (l4 v) w: the shape of a
 * line through points of the twist y^2 = x^3 + 4(1 + u), untwisted by (x / w^2, y / w^3) and scaled
 * by a power of w. */
void fp12_mul_line(fp12 *o, const fp12 *a, const fp2 *l0, const fp2 *l1, const fp2 *l4);
void fp12_pow(fp12 *o, const fp12 *a, const uint64_t *e, size_t n_limbs); /* a^0 = 1 */
bool fp12_is_one(const fp12 *a);
bool fp12_eq(const fp12 *a, const fp12 *b);
#endif
