/* Fp2 = Fp[u]/(u^2 + 1). */
#include "ff/fp2.h"
#include "ff/ff_kernels.h"
#include "ff/fp2_inline.h"

const fp2 FP2_ZERO = {{{0, 0, 0, 0, 0, 0}}, {{0, 0, 0, 0, 0, 0}}};
const fp2 FP2_ONE = {{{0x760900000002fffdu, 0xebf4000bc40c0002u, 0x5f48985753c758bau,
                       0x77ce585370525745u, 0x5c071a97a256ec6du, 0x15f65ec3fa80e493u}},
                     {{0, 0, 0, 0, 0, 0}}};

void fp2_add(fp2 *o, const fp2 *a, const fp2 *b) { fp2i_add(o, a, b); }

void fp2_sub(fp2 *o, const fp2 *a, const fp2 *b) { fp2i_sub(o, a, b); }

void fp2_dbl(fp2 *o, const fp2 *a) { fp2i_dbl(o, a); }

void fp2_neg(fp2 *o, const fp2 *a) { fp2i_neg(o, a); }

void fp2_conj(fp2 *o, const fp2 *a)
{
    o->c0 = a->c0;
    fpi_neg(&o->c1, &a->c1);
}

void fp2_mul(fp2 *o, const fp2 *a, const fp2 *b) { ff_active->fp2_mul(o, a, b); }

void fp2_sqr(fp2 *o, const fp2 *a) { ff_active->fp2_sqr(o, a); }

void fp2_mul_fp(fp2 *o, const fp2 *a, const fp *b)
{
    fp k = *b; /* b may be a coordinate of o */
    fp_mul(&o->c0, &a->c0, &k);
    fp_mul(&o->c1, &a->c1, &k);
}

void fp2_mul_xi(fp2 *o, const fp2 *a) { fp2i_mul_xi(o, a); }

/* a0^2 + a1^2, the norm to Fp. */
static void norm(fp *o, const fp2 *a)
{
    fp t;
    fp_sqr(&t, &a->c0);
    fp_sqr(o, &a->c1);
    fp_add(o, o, &t);
}

void fp2_inv(fp2 *o, const fp2 *a)
{
    fp n;
    norm(&n, a);
    fp_inv(&n, &n);
    fp_mul(&o->c0, &a->c0, &n);
    fp_mul(&o->c1, &a->c1, &n);
    fp_neg(&o->c1, &o->c1);
}

/* With s^2 = N(a) and t = (a0 + s)/2, a root is x0 + a1/(2 x0) u where x0^2 = t. If t is no square
 * then w = t^((p-3)/4) gives x0 = w t with x0^2 = -t, and t (a0 - s)/2 = -a1^2/4 makes a1/(2 x0) +
 * x0 u a root.
 * Either way x0 w = t^((p-1)/2) = +-1, so 1/x0 = +-w and no inversion is needed. */
bool fp2_sqrt(fp2 *o, const fp2 *a)
{
    static const uint64_t e[6] = {0xee7fbfffffffeaaau, 0x07aaffffac54ffffu, 0xd9cc34a83dac3d89u,
                                  0xd91dd2e13ce144afu, 0x92c6e9ed90d2eb35u, 0x0680447a8e5ff9a6u};
    static const fp half = {{0x1804000000015554u, 0x855000053ab00001u, 0x633cb57c253c276fu,
                             0x6e22d1ec31ebb502u, 0xd3916126f2d14ca2u, 0x17fbb8571a006596u}};
    fp t, w, x0, x1, check;
    if (fpi_is_zero(&a->c1)) {
        t = a->c0;
    } else {
        norm(&t, a);
        if (!fp_sqrt(&t, &t)) {
            *o = FP2_ZERO;
            return false;
        }
        fp_add(&t, &t, &a->c0);
        fp_mul(&t, &t, &half);
    }
    fp_pow(&w, &t, e, 6);
    fp_mul(&x0, &w, &t);
    fp_mul(&x1, &w, &a->c1);
    fp_mul(&x1, &x1, &half);
    fp_sqr(&check, &x0);
    if (fp_eq(&check, &t)) {
        o->c0 = x0;
        o->c1 = x1;
    } else {
        fp_neg(&o->c0, &x1);
        o->c1 = x0;
    }
    return true;
}

bool fp2_is_zero(const fp2 *a) { return fp2i_is_zero(a); }

bool fp2_eq(const fp2 *a, const fp2 *b) { return fp2i_eq(a, b); }

void fp2_cmov(fp2 *o, const fp2 *a, bool take) { fp2i_cmov(o, a, take); }

bool fp2_is_lex_larger(const fp2 *a)
{
    return fp_is_lex_larger(fpi_is_zero(&a->c1) ? &a->c0 : &a->c1);
}

void fp2_batch_inv(fp2 *a, size_t n, fp2 *scratch)
{
    /* scratch[i] = product of the nonzero elements before i. */
    fp2 acc = FP2_ONE;
    for (size_t i = 0; i < n; i++) {
        scratch[i] = acc;
        if (!fp2i_is_zero(&a[i]))
            fp2_mul(&acc, &acc, &a[i]);
    }
    fp2_inv(&acc, &acc);
    for (size_t i = n; i-- > 0;) {
        if (fp2i_is_zero(&a[i]))
            continue;
        fp2 inv;
        fp2_mul(&inv, &acc, &scratch[i]);
        fp2_mul(&acc, &acc, &a[i]);
        a[i] = inv;
    }
}
