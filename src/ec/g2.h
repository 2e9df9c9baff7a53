/* G2: y^2 = x^3 + 4(1 + u) over Fp2, prime-order subgroup of order r. All operations are complete
 * (infinity, equal, opposite points).
 * Variable time unless the name ends in _ct. Outputs may alias inputs. */
#ifndef EC_G2_H
#define EC_G2_H
#include "base/status.h"
#include "ec/g1.h"
#include "ff/fp2.h"
#include "ff/fr.h"

/* infinity: x = y = 0 (not on the curve otherwise) */
typedef struct g2_aff {
    fp2 x, y;
} g2_aff;
typedef struct g2_jac {
    fp2 x, y, z;
} g2_jac; /* X/Z^2, Y/Z^3; infinity: z = 0 */
typedef struct g2_xyzz {
    fp2 x, y, zz, zzz;
} g2_xyzz; /* X/ZZ, Y/ZZZ; infinity: zz = 0 */
extern const g2_aff G2_GENERATOR;

bool g2_aff_is_inf(const g2_aff *a);
bool g2_aff_eq(const g2_aff *a, const g2_aff *b);
bool g2_aff_is_on_curve(const g2_aff *a); /* infinity counts as on the curve */
/* Subgroup test by the endomorphism psi (Scott, ePrint 2021/1130); a must be on the curve. */
bool g2_aff_is_in_subgroup(const g2_aff *a);
void g2_aff_neg(g2_aff *o, const g2_aff *a);
void g2_jac_from_aff(g2_jac *o, const g2_aff *a);
void g2_jac_to_aff(g2_aff *o, const g2_jac *a);
/* n conversions with one inversion; scratch: n fp2. */
void g2_jac_batch_to_aff(g2_aff *o, const g2_jac *a, size_t n, fp2 *scratch);
bool g2_jac_is_inf(const g2_jac *a);
bool g2_jac_eq(const g2_jac *a, const g2_jac *b);
void g2_jac_add(g2_jac *o, const g2_jac *a, const g2_jac *b);
void g2_jac_add_aff(g2_jac *o, const g2_jac *a, const g2_aff *b);
void g2_jac_dbl(g2_jac *o, const g2_jac *a);
void g2_jac_neg(g2_jac *o, const g2_jac *a);
void g2_xyzz_add_aff(g2_xyzz *o, const g2_xyzz *a, const g2_aff *b);
void g2_xyzz_add(g2_xyzz *o, const g2_xyzz *a, const g2_xyzz *b);
void g2_xyzz_dbl(g2_xyzz *o, const g2_xyzz *a);
void g2_jac_from_xyzz(g2_jac *o, const g2_xyzz *a);
/* k * a. The _ct form is for the secrets r and s: fixed number of steps, no secret-dependent branch
 * or address. */
void g2_mul(g2_jac *o, const g2_jac *a, const fr_int *k);
void g2_mul_ct(g2_jac *o, const g2_jac *a, const fr_int *k);

/* ZCash encodings. decode errors (CUZK_E_INPUT, *o = infinity): wrong flag bits, coordinate >= p, x
 * without a y, not on the curve, nonzero bytes in an infinity, infinity when !allow_inf, outside
 * the subgroup when check_subgroup. The message says which. */
#define G2_COMPRESSED_BYTES 96
#define G2_UNCOMPRESSED_BYTES 192
CUZK_MUST_CHECK cuzk_status g2_decode_compressed(g2_aff *o, const uint8_t b[96],
                                                 ec_decode_opts opts);
/* check_curve = false skips the curve equation too (trusted key files; coordinates are still
 * range-checked). */
CUZK_MUST_CHECK cuzk_status g2_decode_uncompressed(g2_aff *o, const uint8_t b[192],
                                                   ec_decode_opts opts);
void g2_encode_compressed(uint8_t b[96], const g2_aff *a);
void g2_encode_uncompressed(uint8_t b[192], const g2_aff *a);
#endif
