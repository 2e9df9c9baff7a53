/* Fp12 = Fp6[w]/(w^2 - v). */
#include "ff/fp12.h"
#include "ff/fp12_frob.h"

#define ONE_MONT                                                                                \
    {                                                                                           \
        {                                                                                       \
            0x760900000002fffdu, 0xebf4000bc40c0002u, 0x5f48985753c758bau, 0x77ce585370525745u, \
                0x5c071a97a256ec6du, 0x15f65ec3fa80e493u                                        \
        }                                                                                       \
    }

const fp12 FP12_ZERO = {0};
const fp12 FP12_ONE = {.c0 = {.c0 = {.c0 = ONE_MONT}}};

void fp12_add(fp12 *o, const fp12 *a, const fp12 *b)
{
    fp6_add(&o->c0, &a->c0, &b->c0);
    fp6_add(&o->c1, &a->c1, &b->c1);
}

void fp12_sub(fp12 *o, const fp12 *a, const fp12 *b)
{
    fp6_sub(&o->c0, &a->c0, &b->c0);
    fp6_sub(&o->c1, &a->c1, &b->c1);
}

void fp12_neg(fp12 *o, const fp12 *a)
{
    fp6_neg(&o->c0, &a->c0);
    fp6_neg(&o->c1, &a->c1);
}

void fp12_mul(fp12 *o, const fp12 *a, const fp12 *b)
{
    fp6 t0, t1, s, t;
    fp6_mul(&t0, &a->c0, &b->c0);
    fp6_mul(&t1, &a->c1, &b->c1);
    fp6_add(&s, &a->c0, &a->c1);
    fp6_add(&t, &b->c0, &b->c1);
    fp6_mul(&s, &s, &t);
    fp6_sub(&s, &s, &t0);
    fp6_sub(&o->c1, &s, &t1);
    fp6_mul_v(&t1, &t1);
    fp6_add(&o->c0, &t0, &t1);
}

/* Complex squaring: (a0 + a1)(a0 + v a1) = a0^2 + v a1^2 + (1 + v) a0 a1. */
void fp12_sqr(fp12 *o, const fp12 *a)
{
    fp6 m, s, t;
    fp6_mul(&m, &a->c0, &a->c1);
    fp6_add(&s, &a->c0, &a->c1);
    fp6_mul_v(&t, &a->c1);
    fp6_add(&t, &t, &a->c0);
    fp6_mul(&s, &s, &t);
    fp6_sub(&s, &s, &m);
    fp6_dbl(&o->c1, &m);
    fp6_mul_v(&m, &m);
    fp6_sub(&o->c0, &s, &m);
}

void fp12_inv(fp12 *o, const fp12 *a)
{
    fp6 n, t;
    fp6_sqr(&t, &a->c1);
    fp6_mul_v(&t, &t);
    fp6_sqr(&n, &a->c0);
    fp6_sub(&n, &n, &t);
    fp6_inv(&n, &n);
    fp6_mul(&o->c0, &a->c0, &n);
    fp6_mul(&t, &a->c1, &n);
    fp6_neg(&o->c1, &t);
}

void fp12_conj(fp12 *o, const fp12 *a)
{
    o->c0 = a->c0;
    fp6_neg(&o->c1, &a->c1);
}

/* One coefficient of w^i: conjugated k times, then times xi^(i (p^k - 1)/6). */
static void frob_coeff(fp2 *o, const fp2 *a, unsigned k, unsigned i)
{
    fp2 t = *a;
    if (k & 1)
        fp2_conj(&t, &t);
    if (i == 0)
        *o = t;
    else
        fp2_mul(o, &t, &fp12_frob_table[k - 1][i - 1]);
}

void fp12_frobenius(fp12 *o, const fp12 *a, unsigned k)
{
    frob_coeff(&o->c0.c0, &a->c0.c0, k, 0);
    frob_coeff(&o->c1.c0, &a->c1.c0, k, 1);
    frob_coeff(&o->c0.c1, &a->c0.c1, k, 2);
    frob_coeff(&o->c1.c1, &a->c1.c1, k, 3);
    frob_coeff(&o->c0.c2, &a->c0.c2, k, 4);
    frob_coeff(&o->c1.c2, &a->c1.c2, k, 5);
}

/* (x + y s)^2 in Fp4 = Fp2[s]/(s^2 - xi). */
static void fp4_sqr(fp2 *o0, fp2 *o1, const fp2 *x, const fp2 *y)
{
    fp2 xx, yy, s;
    fp2_sqr(&xx, x);
    fp2_sqr(&yy, y);
    fp2_add(&s, x, y);
    fp2_sqr(&s, &s);
    fp2_sub(&s, &s, &xx);
    fp2_sub(o1, &s, &yy);
    fp2_mul_xi(&yy, &yy);
    fp2_add(o0, &xx, &yy);
}

/* o = 3t - 2z and o = 3t + 2z. */
static void three_minus_two(fp2 *o, const fp2 *t, const fp2 *z)
{
    fp2 d;
    fp2_sub(&d, t, z);
    fp2_dbl(&d, &d);
    fp2_add(o, &d, t);
}

static void three_plus_two(fp2 *o, const fp2 *t, const fp2 *z)
{
    fp2 d;
    fp2_add(&d, t, z);
    fp2_dbl(&d, &d);
    fp2_add(o, &d, t);
}

/* Seen over Fp4 (s = w^3), a = A + B w + C w^2 with A = (w^0, w^3), B = (w^1, w^4), C = (w^2, w^5);
 * in the subgroup a^2 = (3A^2 - 2A') + (3 s C^2 + 2B') w + (3B^2 - 2C') w^2, ' being conjugation in
 * Fp4. */
void fp12_cyc_sqr(fp12 *o, const fp12 *a)
{
    fp2 t0, t1, t2, t3, t4, t5;
    fp4_sqr(&t0, &t1, &a->c0.c0, &a->c1.c1);
    fp4_sqr(&t2, &t3, &a->c1.c0, &a->c0.c2);
    fp4_sqr(&t4, &t5, &a->c0.c1, &a->c1.c2);
    three_minus_two(&o->c0.c0, &t0, &a->c0.c0);
    three_plus_two(&o->c1.c1, &t1, &a->c1.c1);
    three_minus_two(&o->c0.c1, &t2, &a->c0.c1);
    three_plus_two(&o->c1.c2, &t3, &a->c1.c2);
    fp2_mul_xi(&t5, &t5);
    three_plus_two(&o->c1.c0, &t5, &a->c1.c0);
    three_minus_two(&o->c0.c2, &t4, &a->c0.c2);
}

void fp12_mul_line(fp12 *o, const fp12 *a, const fp2 *l0, const fp2 *l1, const fp2 *l4)
{
    fp6 t0, t1, s;
    fp2 l14;
    fp6_mul_by_01(&t0, &a->c0, l0, l1);
    fp6_mul_by_1(&t1, &a->c1, l4);
    fp2_add(&l14, l1, l4);
    fp6_add(&s, &a->c0, &a->c1);
    fp6_mul_by_01(&s, &s, l0, &l14);
    fp6_sub(&s, &s, &t0);
    fp6_sub(&o->c1, &s, &t1);
    fp6_mul_v(&t1, &t1);
    fp6_add(&o->c0, &t0, &t1);
}

void fp12_pow(fp12 *o, const fp12 *a, const uint64_t *e, size_t n_limbs)
{
    fp12 base = *a, acc = FP12_ONE;
    for (size_t i = n_limbs * 64; i-- > 0;) {
        fp12_sqr(&acc, &acc);
        if (e[i / 64] >> (i % 64) & 1)
            fp12_mul(&acc, &acc, &base);
    }
    *o = acc;
}

bool fp12_is_one(const fp12 *a) { return fp12_eq(a, &FP12_ONE); }

bool fp12_eq(const fp12 *a, const fp12 *b)
{
    return fp6_eq(&a->c0, &b->c0) && fp6_eq(&a->c1, &b->c1);
}
