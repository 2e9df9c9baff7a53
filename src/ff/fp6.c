/* Fp6 = Fp2[v]/(v^3 - xi), xi = 1 + u. */
#include "ff/fp6.h"

#define ONE_MONT                                                                                \
    {                                                                                           \
        {                                                                                       \
            0x760900000002fffdu, 0xebf4000bc40c0002u, 0x5f48985753c758bau, 0x77ce585370525745u, \
                0x5c071a97a256ec6du, 0x15f65ec3fa80e493u                                        \
        }                                                                                       \
    }

const fp6 FP6_ZERO = {0};
const fp6 FP6_ONE = {.c0 = {.c0 = ONE_MONT}};

void fp6_add(fp6 *o, const fp6 *a, const fp6 *b)
{
    fp2_add(&o->c0, &a->c0, &b->c0);
    fp2_add(&o->c1, &a->c1, &b->c1);
    fp2_add(&o->c2, &a->c2, &b->c2);
}

void fp6_sub(fp6 *o, const fp6 *a, const fp6 *b)
{
    fp2_sub(&o->c0, &a->c0, &b->c0);
    fp2_sub(&o->c1, &a->c1, &b->c1);
    fp2_sub(&o->c2, &a->c2, &b->c2);
}

void fp6_dbl(fp6 *o, const fp6 *a) { fp6_add(o, a, a); }

void fp6_neg(fp6 *o, const fp6 *a)
{
    fp2_neg(&o->c0, &a->c0);
    fp2_neg(&o->c1, &a->c1);
    fp2_neg(&o->c2, &a->c2);
}

/* o = (x + y)(s + t) - m - n, with m = x s and n = y t: the cross term x t + y s. */
static void cross(fp2 *o, const fp2 *x, const fp2 *y, const fp2 *s, const fp2 *t, const fp2 *m,
                  const fp2 *n)
{
    fp2 p, q;
    fp2_add(&p, x, y);
    fp2_add(&q, s, t);
    fp2_mul(&p, &p, &q);
    fp2_sub(&p, &p, m);
    fp2_sub(o, &p, n);
}

void fp6_mul(fp6 *o, const fp6 *a, const fp6 *b)
{
    fp2 v0, v1, v2, x01, x02, x12;
    fp2_mul(&v0, &a->c0, &b->c0);
    fp2_mul(&v1, &a->c1, &b->c1);
    fp2_mul(&v2, &a->c2, &b->c2);
    cross(&x01, &a->c0, &a->c1, &b->c0, &b->c1, &v0, &v1);
    cross(&x02, &a->c0, &a->c2, &b->c0, &b->c2, &v0, &v2);
    cross(&x12, &a->c1, &a->c2, &b->c1, &b->c2, &v1, &v2);
    fp2_mul_xi(&x12, &x12);
    fp2_add(&o->c0, &v0, &x12);
    fp2_add(&o->c2, &x02, &v1);
    fp2_mul_xi(&v2, &v2);
    fp2_add(&o->c1, &x01, &v2);
}

/* Chung and Hasan's SQR2: with s1 = 2 a0 a1, s3 = 2 a1 a2 and s2 = (a0 - a1 + a2)^2, the v^2
 * coefficient a1^2 + 2 a0 a2 is s1 + s2 + s3 - a0^2 - a2^2. */
void fp6_sqr(fp6 *o, const fp6 *a)
{
    fp2 s0, s1, s2, s3, s4;
    fp2_sqr(&s0, &a->c0);
    fp2_mul(&s1, &a->c0, &a->c1);
    fp2_dbl(&s1, &s1);
    fp2_sub(&s2, &a->c0, &a->c1);
    fp2_add(&s2, &s2, &a->c2);
    fp2_sqr(&s2, &s2);
    fp2_mul(&s3, &a->c1, &a->c2);
    fp2_dbl(&s3, &s3);
    fp2_sqr(&s4, &a->c2);
    fp2_add(&s2, &s2, &s1);
    fp2_add(&s2, &s2, &s3);
    fp2_sub(&s2, &s2, &s0);
    fp2_sub(&o->c2, &s2, &s4);
    fp2_mul_xi(&s3, &s3);
    fp2_add(&o->c0, &s0, &s3);
    fp2_mul_xi(&s4, &s4);
    fp2_add(&o->c1, &s1, &s4);
}

/* The adjugate (d0, d1, d2) of multiplication by a, over the norm a0 d0 + xi (a2 d1 + a1 d2). */
void fp6_inv(fp6 *o, const fp6 *a)
{
    fp2 d0, d1, d2, t, n;
    fp2_mul(&t, &a->c1, &a->c2);
    fp2_mul_xi(&t, &t);
    fp2_sqr(&d0, &a->c0);
    fp2_sub(&d0, &d0, &t);
    fp2_sqr(&d1, &a->c2);
    fp2_mul_xi(&d1, &d1);
    fp2_mul(&t, &a->c0, &a->c1);
    fp2_sub(&d1, &d1, &t);
    fp2_sqr(&d2, &a->c1);
    fp2_mul(&t, &a->c0, &a->c2);
    fp2_sub(&d2, &d2, &t);
    fp2_mul(&n, &a->c2, &d1);
    fp2_mul(&t, &a->c1, &d2);
    fp2_add(&n, &n, &t);
    fp2_mul_xi(&n, &n);
    fp2_mul(&t, &a->c0, &d0);
    fp2_add(&n, &n, &t);
    fp2_inv(&n, &n);
    fp2_mul(&o->c0, &d0, &n);
    fp2_mul(&o->c1, &d1, &n);
    fp2_mul(&o->c2, &d2, &n);
}

void fp6_mul_v(fp6 *o, const fp6 *a)
{
    fp2 top = a->c2;
    o->c2 = a->c1;
    o->c1 = a->c0;
    fp2_mul_xi(&o->c0, &top);
}

void fp6_mul_fp2(fp6 *o, const fp6 *a, const fp2 *b)
{
    fp2 k = *b; /* b may be a part of o */
    fp2_mul(&o->c0, &a->c0, &k);
    fp2_mul(&o->c1, &a->c1, &k);
    fp2_mul(&o->c2, &a->c2, &k);
}

void fp6_mul_by_01(fp6 *o, const fp6 *a, const fp2 *b0, const fp2 *b1)
{
    fp2 v0, v1, x01, t, s;
    fp2_mul(&v0, &a->c0, b0);
    fp2_mul(&v1, &a->c1, b1);
    cross(&x01, &a->c0, &a->c1, b0, b1, &v0, &v1);
    fp2_mul(&t, &a->c2, b1);
    fp2_mul(&s, &a->c2, b0);
    fp2_mul_xi(&t, &t);
    fp2_add(&o->c0, &v0, &t);
    o->c1 = x01;
    fp2_add(&o->c2, &v1, &s);
}

void fp6_mul_by_1(fp6 *o, const fp6 *a, const fp2 *b1)
{
    fp2 t0, t1, t2;
    fp2_mul(&t0, &a->c2, b1);
    fp2_mul(&t1, &a->c0, b1);
    fp2_mul(&t2, &a->c1, b1);
    fp2_mul_xi(&o->c0, &t0);
    o->c1 = t1;
    o->c2 = t2;
}

bool fp6_is_zero(const fp6 *a)
{
    return fp2_is_zero(&a->c0) && fp2_is_zero(&a->c1) && fp2_is_zero(&a->c2);
}

bool fp6_eq(const fp6 *a, const fp6 *b)
{
    return fp2_eq(&a->c0, &b->c0) && fp2_eq(&a->c1, &b->c1) && fp2_eq(&a->c2, &b->c2);
}
