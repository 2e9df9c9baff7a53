/* G1: y^2 = x^3 + 4 over Fp, prime-order subgroup of order r. All operations are complete
 * (infinity, equal, opposite points).
 * Variable time unless the name ends in _ct. Outputs may alias inputs. */
#ifndef EC_G1_H
#define EC_G1_H
#include "base/status.h"
#include "ff/fp.h"
#include "ff/fr.h"

/* infinity: x = y = 0 (not on the curve otherwise) */
typedef struct g1_aff {
    fp x, y;
} g1_aff;
typedef struct g1_jac {
    fp x, y, z;
} g1_jac; /* X/Z^2, Y/Z^3; infinity: z = 0 */
typedef struct g1_xyzz {
    fp x, y, zz, zzz;
} g1_xyzz; /* X/ZZ, Y/ZZZ; infinity: zz = 0 */
extern const g1_aff G1_GENERATOR;

bool g1_aff_is_inf(const g1_aff *a);
bool g1_aff_eq(const g1_aff *a, const g1_aff *b);
bool g1_aff_is_on_curve(const g1_aff *a); /* infinity counts as on the curve */
/* Subgroup test by the endomorphism phi (Scott, ePrint 2021/1130); a must be on the curve. */
bool g1_aff_is_in_subgroup(const g1_aff *a);
void g1_aff_neg(g1_aff *o, const g1_aff *a);
void g1_jac_from_aff(g1_jac *o, const g1_aff *a);
void g1_jac_to_aff(g1_aff *o, const g1_jac *a);
/* n conversions with one inversion; scratch: n fp. */
void g1_jac_batch_to_aff(g1_aff *o, const g1_jac *a, size_t n, fp *scratch);
bool g1_jac_is_inf(const g1_jac *a);
bool g1_jac_eq(const g1_jac *a, const g1_jac *b);
void g1_jac_add(g1_jac *o, const g1_jac *a, const g1_jac *b);
void g1_jac_add_aff(g1_jac *o, const g1_jac *a, const g1_aff *b);
void g1_jac_dbl(g1_jac *o, const g1_jac *a);
void g1_jac_neg(g1_jac *o, const g1_jac *a);
void g1_xyzz_add_aff(g1_xyzz *o, const g1_xyzz *a, const g1_aff *b);
void g1_xyzz_add(g1_xyzz *o, const g1_xyzz *a, const g1_xyzz *b);
void g1_xyzz_dbl(g1_xyzz *o, const g1_xyzz *a);
void g1_jac_from_xyzz(g1_jac *o, const g1_xyzz *a);
/* k * a. The _ct form is for the secrets r and s: fixed number of steps, no secret-dependent branch
 * or address. */
void g1_mul(g1_jac *o, const g1_jac *a, const fr_int *k);
void g1_mul_ct(g1_jac *o, const g1_jac *a, const fr_int *k);

/* ZCash encodings. decode errors (CUZK_E_INPUT, *o = infinity): wrong flag bits, coordinate >= p, x
 * without a y, not on the curve, nonzero bytes in an infinity, infinity when !allow_inf, outside
 * the subgroup when check_subgroup. The message says which. */
#define G1_COMPRESSED_BYTES 48
#define G1_UNCOMPRESSED_BYTES 96
typedef struct ec_decode_opts {
    bool allow_inf, check_subgroup, check_curve;
} ec_decode_opts;
CUZK_MUST_CHECK cuzk_status g1_decode_compressed(g1_aff *o, const uint8_t b[48],
                                                 ec_decode_opts opts);
/* check_curve = false skips the curve equation too (trusted key files; coordinates are still
 * range-checked). */
CUZK_MUST_CHECK cuzk_status g1_decode_uncompressed(g1_aff *o, const uint8_t b[96],
                                                   ec_decode_opts opts);
void g1_encode_compressed(uint8_t b[48], const g1_aff *a);
void g1_encode_uncompressed(uint8_t b[96], const g1_aff *a);
#endif
