/* Optimal ate pairing e: G1 x G2 -> Fp12 for BLS12-381. The value is the cube of the usual one (the
 * hard part of the final exponentiation is taken times 3, which is prime to r), so products compare
 * as usual but single values differ from other libraries'. Variable time. */
#ifndef EC_PAIRING_H
#define EC_PAIRING_H
#include "ec/g1.h"
#include "ec/g2.h"
#include "ff/fp12.h"

/* Line coefficients of a fixed G2 argument: 63 doublings and 5 additions. Immutable once prepared;
 * about 20 KiB. */
typedef struct g2_prepared {
    fp2 coeffs[68][3];
    bool is_inf;
} g2_prepared;
/* q must lie in the subgroup. */
void g2_prepare(g2_prepared *o, const g2_aff *q);
/* Product of Miller loops over n pairs (a pair with an infinity contributes 1); not
 * final-exponentiated. */
void pairing_miller_product(fp12 *o, const g1_aff *const *p, const g2_prepared *const *q, size_t n);
void pairing_final_exp(fp12 *o, const fp12 *f);
/* prod e(p_i, q_i) == 1 ? */
bool pairing_product_is_one(const g1_aff *const *p, const g2_prepared *const *q, size_t n);
void pairing(fp12 *o, const g1_aff *p, const g2_aff *q);
#endif
