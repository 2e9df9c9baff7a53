/* Fp2 = Fp[u]/(u^2 + 1). Outputs may alias inputs. */
#ifndef FF_FP2_H
#define FF_FP2_H
#include "ff/fp.h"
typedef struct fp2 {
    fp c0, c1;
} fp2;
extern const fp2 FP2_ZERO, FP2_ONE;
void fp2_add(fp2 *o, const fp2 *a, const fp2 *b);
void fp2_sub(fp2 *o, const fp2 *a, const fp2 *b);
void fp2_dbl(fp2 *o, const fp2 *a);
void fp2_neg(fp2 *o, const fp2 *a);
void fp2_conj(fp2 *o, const fp2 *a);
void fp2_mul(fp2 *o, const fp2 *a, const fp2 *b);
void fp2_sqr(fp2 *o, const fp2 *a);
void fp2_mul_fp(fp2 *o, const fp2 *a, const fp *b);
void fp2_mul_xi(fp2 *o, const fp2 *a); /* times the sextic non-residue 1 + u */
void fp2_inv(fp2 *o, const fp2 *a);
bool fp2_sqrt(fp2 *o, const fp2 *a);
bool fp2_is_zero(const fp2 *a);
bool fp2_eq(const fp2 *a, const fp2 *b);
void fp2_cmov(fp2 *o, const fp2 *a, bool take);
bool fp2_is_lex_larger(const fp2 *a); /* ZCash order: c1 decides unless zero, then c0 */
void fp2_batch_inv(fp2 *a, size_t n, fp2 *scratch);
#endif
