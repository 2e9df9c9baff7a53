/* Fr: the scalar field of BLS12-381, r =
 * 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001.
 * Elements are in Montgomery form (R = 2^256), fully reduced (< r), limbs little-endian. Outputs
 * may alias inputs. */
#ifndef FF_FR_H
#define FF_FR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

typedef struct fr {
    uint64_t l[4];
} fr;
/* The same number in plain (non-Montgomery) form: MSM scalars, exponents. */
typedef struct fr_int {
    uint64_t l[4];
} fr_int;

#define FR_BITS 255u
#define FR_TWO_ADICITY 32u
extern const fr FR_ZERO, FR_ONE, FR_GENERATOR /* 7 */, FR_GENERATOR_INV;
extern const fr_int FR_MODULUS;

void fr_add(fr *o, const fr *a, const fr *b);
void fr_sub(fr *o, const fr *a, const fr *b);
void fr_dbl(fr *o, const fr *a);
void fr_neg(fr *o, const fr *a);
void fr_mul(fr *o, const fr *a, const fr *b);
void fr_sqr(fr *o, const fr *a);
void fr_inv(fr *o, const fr *a); /* 0 -> 0; variable time */
/* e little-endian limbs; a^0 = 1 */
void fr_pow(fr *o, const fr *a, const uint64_t *e, size_t n_limbs);
void fr_pow_u64(fr *o, const fr *a, uint64_t e);
bool fr_is_zero(const fr *a);
bool fr_is_one(const fr *a);
bool fr_eq(const fr *a, const fr *b);
void fr_from_u64(fr *o, uint64_t v);
void fr_to_int(fr_int *o, const fr *a);
void fr_from_int(fr *o, const fr_int *a); /* any 256-bit value, reduced mod r */
/* 32 bytes little-endian. from_le: false (and *o = 0) unless the value is < r. */
bool fr_from_le(fr *o, const uint8_t b[32]);
void fr_to_le(uint8_t b[32], const fr *a);
void fr_to_be(uint8_t b[32], const fr *a);
/* Value < r from 32 little-endian bytes? */
bool fr_le_is_canonical(const uint8_t b[32]);
/* 256-bit little-endian integer reduced mod r. */
void fr_from_le_reduce(fr *o, const uint8_t b[32]);
/* Invert n elements with one inversion (Montgomery's trick); zeros stay zero. scratch: n elements.
 * a and scratch do not overlap. */
void fr_batch_inv(fr *a, size_t n, fr *scratch);
/* w of order 2^lg_n, lg_n in [0, 32]: 7^((r-1)/2^lg_n). */
void fr_root_of_unity(fr *o, uint32_t lg_n);
/* Uniform, from the OS. Errors: CUZK_E_IO. Constant-time in the value drawn, but for the public
 * rejection loop. */
CUZK_MUST_CHECK cuzk_status fr_random(fr *o);
/* Constant-time a + b, a * b for secrets r, s (same results as the plain ones). */
void fr_add_ct(fr *o, const fr *a, const fr *b);
void fr_mul_ct(fr *o, const fr *a, const fr *b);
/* Vector forms, dispatched once to the best code of this machine (any aliasing of whole
 * vectors). */
void fr_vec_mul(fr *o, const fr *a, const fr *b, size_t n);
void fr_vec_to_int(fr_int *o, const fr *a, size_t n);
/* Which code path runs: "portable", "adx". */
const char *ff_isa(void);
/* Should kernels compiled twice (see fr_inline.h) run their ADX form? CPU has BMI2 and ADX, unless
 * overridden by ff_force_isa or, at start, by the environment variable CUZK_ISA=portable|adx. */
bool ff_use_adx(void);
/* Tests and benches: force a path ("portable", "adx", NULL = best). Not thread-safe; call before
 * any work. False if not available. */
bool ff_force_isa(const char *name);
#endif
