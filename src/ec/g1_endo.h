/* The endomorphism of G1 and scalars split by it (Gallant, Lambert and Vanstone, CRYPTO 2001): half
 * as many doublings. Only for points of the subgroup. */
#ifndef EC_G1_ENDO_H
#define EC_G1_ENDO_H
#include "ec/g1.h"

/* phi(x, y) = (beta x, y), which is -x^2 times the point, x being the curve's parameter. */
void g1_aff_phi(g1_aff *o, const g1_aff *a);

/* k P = sum of (-1)^neg[i] k[i] phi^i(P), i < 2; k[i] = lo + 2^64 hi < 2^127. */
typedef struct g1_split {
    uint64_t k[2][2];
    bool neg[2];
} g1_split;
/* In: k < r. */
void g1_split_scalar(g1_split *o, const fr_int *k);
#endif
