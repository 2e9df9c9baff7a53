/* Fp: everything but the per-instruction-set kernels. Constants are re-derived in
 * tests/unit/ff/test_fp.c. */
#include "ff/fp.h"
#include "ff/ff_kernels.h"
#include "ff/fp_inline.h"
#include "ff/inv_inline.h"

const fp FP_ZERO = {{0, 0, 0, 0, 0, 0}};
const fp FP_ONE = {{0x760900000002fffdu, 0xebf4000bc40c0002u, 0x5f48985753c758bau,
                    0x77ce585370525745u, 0x5c071a97a256ec6du, 0x15f65ec3fa80e493u}};

/* R^2 mod p, R = 2^384. */
static const fp fp_r2 = {{0xf4df1f341c341746u, 0x0a76e6a609d104f1u, 0x8de5476c4c95b6d5u,
                          0x67eb88a9939d83c0u, 0x9a793e85b519952du, 0x11988fe592cae3aau}};
static const uint64_t fp_modulus[6] = {FPP_P0, FPP_P1, FPP_P2, FPP_P3, FPP_P4, FPP_P5};

void fp_add(fp *o, const fp *a, const fp *b) { fpi_add(o, a, b); }

void fp_sub(fp *o, const fp *a, const fp *b) { fpi_sub(o, a, b); }

void fp_dbl(fp *o, const fp *a) { fpi_add(o, a, a); }

void fp_neg(fp *o, const fp *a) { fpp_neg(o, a); }

void fp_mul(fp *o, const fp *a, const fp *b) { ff_active->fp_mul(o, a, b); }

void fp_sqr(fp *o, const fp *a) { ff_active->fp_sqr(o, a); }

bool fp_is_zero(const fp *a) { return fpi_is_zero(a); }

bool fp_eq(const fp *a, const fp *b) { return fpi_eq(a, b); }

void fp_cmov(fp *o, const fp *a, bool take) { fpi_cmov(o, a, take); }

void fp_pow(fp *o, const fp *a, const uint64_t *e, size_t n_limbs)
{
    fp table[16]; /* a^0 .. a^15 */
    table[0] = FP_ONE;
    for (int i = 1; i < 16; i++)
        fp_mul(&table[i], &table[i - 1], a);
    fp acc = FP_ONE;
    size_t n_pending = 0;
    bool started = false;
    for (size_t i = n_limbs * 16; i-- > 0;) {
        unsigned digit = (unsigned)(e[i / 16] >> (4 * (i % 16))) & 15;
        n_pending += started ? 4 : 0;
        if (digit) {
            ff_active->fp_sqr_n(&acc, &acc, n_pending);
            fp_mul(&acc, &acc, &table[digit]);
            n_pending = 0;
            started = true;
        }
    }
    ff_active->fp_sqr_n(o, &acc, n_pending);
}

void fp_inv(fp *o, const fp *a)
{
    /* R^2 / (x R) = x^-1 R: the result is in Montgomery form again. */
    inv_mod(o->l, a->l, fp_r2.l, fp_modulus, FPP_NINV, 6);
}

bool fp_sqrt(fp *o, const fp *a)
{
    /* p = 3 mod 4, so a^((p+1)/4) is a root of a if there is one. */
    static const uint64_t e[6] = {0xee7fbfffffffeaabu, 0x07aaffffac54ffffu, 0xd9cc34a83dac3d89u,
                                  0xd91dd2e13ce144afu, 0x92c6e9ed90d2eb35u, 0x0680447a8e5ff9a6u};
    fp root, check;
    fp_pow(&root, a, e, 6);
    fp_sqr(&check, &root);
    bool ok = fp_eq(&check, a);
    *o = ok ? root : FP_ZERO;
    return ok;
}

void fp_from_u64(fp *o, uint64_t v)
{
    fp t = {{v, 0, 0, 0, 0, 0}};
    fp_mul(o, &t, &fp_r2);
}

bool fp_from_be(fp *o, const uint8_t b[48])
{
    fp t;
    uint64_t borrow = 0;
    for (int i = 0; i < 6; i++) {
        t.l[i] = 0;
        for (int k = 0; k < 8; k++)
            t.l[i] = t.l[i] << 8 | b[40 - 8 * i + k];
        (void)limb_sbb(t.l[i], fp_modulus[i], &borrow);
    }
    if (!borrow) {
        *o = FP_ZERO;
        return false;
    }
    fp_mul(o, &t, &fp_r2);
    return true;
}

static void to_canon(fp *o, const fp *a)
{
    static const fp raw_one = {{1, 0, 0, 0, 0, 0}};
    fp_mul(o, a, &raw_one);
}

void fp_to_be(uint8_t b[48], const fp *a)
{
    fp t;
    to_canon(&t, a);
    for (int i = 0; i < 48; i++)
        b[47 - i] = (uint8_t)(t.l[i / 8] >> (8 * (i % 8)));
}

bool fp_is_lex_larger(const fp *a)
{
    static const uint64_t half[6] = {0xdcff7fffffffd555u, 0x0f55ffff58a9ffffu, 0xb39869507b587b12u,
                                     0xb23ba5c279c2895fu, 0x258dd3db21a5d66bu, 0x0d0088f51cbff34du};
    fp t;
    uint64_t borrow = 0;
    to_canon(&t, a);
    for (int i = 0; i < 6; i++)
        (void)limb_sbb(half[i], t.l[i], &borrow);
    return borrow != 0;
}

void fp_batch_inv(fp *a, size_t n, fp *scratch)
{
    /* scratch[i] = product of the nonzero elements before i. */
    fp acc = FP_ONE;
    for (size_t i = 0; i < n; i++) {
        scratch[i] = acc;
        if (!fpi_is_zero(&a[i]))
            fp_mul(&acc, &acc, &a[i]);
    }
    fp_inv(&acc, &acc);
    for (size_t i = n; i-- > 0;) {
        if (fpi_is_zero(&a[i]))
            continue;
        fp inv;
        fp_mul(&inv, &acc, &scratch[i]);
        fp_mul(&acc, &acc, &a[i]);
        a[i] = inv;
    }
}
