/* Fp: the base field of BLS12-381 (381 bits). Montgomery form (R = 2^384), fully reduced, limbs
 * little-endian. Outputs may alias inputs. */
#ifndef FF_FP_H
#define FF_FP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fp {
    uint64_t l[6];
} fp;
extern const fp FP_ZERO, FP_ONE;

void fp_add(fp *o, const fp *a, const fp *b);
void fp_sub(fp *o, const fp *a, const fp *b);
void fp_dbl(fp *o, const fp *a);
void fp_neg(fp *o, const fp *a);
void fp_mul(fp *o, const fp *a, const fp *b);
void fp_sqr(fp *o, const fp *a);
void fp_inv(fp *o, const fp *a); /* 0 -> 0 */
void fp_pow(fp *o, const fp *a, const uint64_t *e, size_t n_limbs);
bool fp_sqrt(fp *o, const fp *a); /* false (o = 0) when a is no square; either root */
bool fp_is_zero(const fp *a);
bool fp_eq(const fp *a, const fp *b);
void fp_cmov(fp *o, const fp *a, bool take); /* o = take ? a : o, constant time */
void fp_from_u64(fp *o, uint64_t v);
/* 48 bytes big-endian; false (o = 0) unless < p. */
bool fp_from_be(fp *o, const uint8_t b[48]);
void fp_to_be(uint8_t b[48], const fp *a);
bool fp_is_lex_larger(const fp *a);              /* a > -a as integers, i.e. a > (p-1)/2 */
void fp_batch_inv(fp *a, size_t n, fp *scratch); /* zeros stay zero */
#endif
