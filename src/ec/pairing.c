/* Optimal ate pairing. Points of the twist stay in Jacobian form; a line through T evaluated at P =
 * (x, y) is, up to factors of Fp2 and w^3 that the final exponentiation removes, c2 + c1 x w^2 + c0
 * y w^3.
 * Source: Vercauteren, ePrint 2008/096 (optimal ate); Beuchat et al., ePrint 2010/354 (line of the
 * tangent); Hayashida, Hayasaka, Teruya, ePrint 2020/875 (hard part of the final
 * exponentiation). */
#include "ec/pairing.h"
#include <string.h>

/* |x| of the curve family; x is negative. Top bit 63. */
#define BLS_X 0xd201000000010000u
#define N_LINES 68

typedef struct twist_point {
    fp2 x, y, z;
} twist_point;

/* T <- 2T and the tangent: c0 = 2 Z' Z^2, c1 = -6 X^2 Z^2, c2 = 6 X^3 - 4 Y^2 with Z' = 2 Y Z. */
static void line_double(fp2 c[3], twist_point *t)
{
    fp2 xx, yy, yyyy, zz, s, m, x3, y3, z3, u;
    fp2_sqr(&xx, &t->x);
    fp2_sqr(&yy, &t->y);
    fp2_sqr(&yyyy, &yy);
    fp2_sqr(&zz, &t->z);
    fp2_mul(&s, &t->x, &yy);
    fp2_dbl(&s, &s);
    fp2_dbl(&s, &s);
    fp2_dbl(&m, &xx);
    fp2_add(&m, &m, &xx);
    fp2_sqr(&x3, &m);
    fp2_dbl(&u, &s);
    fp2_sub(&x3, &x3, &u);
    fp2_mul(&z3, &t->y, &t->z);
    fp2_dbl(&z3, &z3);
    fp2_sub(&u, &s, &x3);
    fp2_mul(&y3, &m, &u);
    fp2_dbl(&u, &yyyy);
    fp2_dbl(&u, &u);
    fp2_dbl(&u, &u);
    fp2_sub(&y3, &y3, &u);

    fp2_mul(&c[0], &z3, &zz);
    fp2_dbl(&c[0], &c[0]);
    fp2_mul(&c[1], &m, &zz);
    fp2_dbl(&c[1], &c[1]);
    fp2_neg(&c[1], &c[1]);
    fp2_mul(&c[2], &m, &t->x);
    fp2_dbl(&u, &yy);
    fp2_sub(&c[2], &c[2], &u);
    fp2_dbl(&c[2], &c[2]);
    *t = (twist_point){x3, y3, z3};
}

/* T <- T + Q and the line: with H = x2 Z^2 - X, R = y2 Z^3 - Y, Z' = Z H: c0 = Z', c1 = -R, c2 = R
 * x2 - y2 Z'. */
static void line_add(fp2 c[3], twist_point *t, const g2_aff *q)
{
    fp2 zz, h, r, hh, hhh, v, u, x3, y3, z3;
    fp2_sqr(&zz, &t->z);
    fp2_mul(&h, &q->x, &zz);
    fp2_sub(&h, &h, &t->x);
    fp2_mul(&r, &zz, &t->z);
    fp2_mul(&r, &r, &q->y);
    fp2_sub(&r, &r, &t->y);
    fp2_sqr(&hh, &h);
    fp2_mul(&hhh, &hh, &h);
    fp2_mul(&v, &t->x, &hh);
    fp2_sqr(&x3, &r);
    fp2_sub(&x3, &x3, &hhh);
    fp2_dbl(&u, &v);
    fp2_sub(&x3, &x3, &u);
    fp2_sub(&u, &v, &x3);
    fp2_mul(&y3, &r, &u);
    fp2_mul(&u, &t->y, &hhh);
    fp2_sub(&y3, &y3, &u);
    fp2_mul(&z3, &t->z, &h);

    c[0] = z3;
    fp2_neg(&c[1], &r);
    fp2_mul(&c[2], &r, &q->x);
    fp2_mul(&u, &q->y, &z3);
    fp2_sub(&c[2], &c[2], &u);
    *t = (twist_point){x3, y3, z3};
}

void g2_prepare(g2_prepared *o, const g2_aff *q)
{
    memset(o, 0, sizeof *o);
    o->is_inf = g2_aff_is_inf(q);
    if (o->is_inf)
        return;
    twist_point t = {q->x, q->y, FP2_ONE};
    int n = 0;
    for (int i = 62; i >= 0; i--) {
        line_double(o->coeffs[n++], &t);
        if (BLS_X >> i & 1)
            line_add(o->coeffs[n++], &t, q);
    }
}

static void mul_line(fp12 *f, const fp2 c[3], const g1_aff *p)
{
    fp2 l1, l4;
    fp2_mul_fp(&l1, &c[1], &p->x);
    fp2_mul_fp(&l4, &c[0], &p->y);
    fp12_mul_line(f, f, &c[2], &l1, &l4);
}

static void mul_lines(fp12 *f, const g1_aff *const *p, const g2_prepared *const *q, size_t n,
                      int line)
{
    for (size_t i = 0; i < n; i++)
        if (!q[i]->is_inf && !g1_aff_is_inf(p[i]))
            mul_line(f, q[i]->coeffs[line], p[i]);
}

void pairing_miller_product(fp12 *o, const g1_aff *const *p, const g2_prepared *const *q, size_t n)
{
    fp12 f = FP12_ONE;
    int line = 0;
    for (int i = 62; i >= 0; i--) {
        if (i != 62)
            fp12_sqr(&f, &f);
        mul_lines(&f, p, q, n, line++);
        if (BLS_X >> i & 1)
            mul_lines(&f, p, q, n, line++);
    }
    /* x < 0: f^-1, which is the conjugate after the easy part. */
    fp12_conj(o, &f);
}

/* a^x for a in the cyclotomic subgroup. */
static void pow_x(fp12 *o, const fp12 *a)
{
    fp12 r = *a;
    for (int i = 62; i >= 0; i--) {
        fp12_cyc_sqr(&r, &r);
        if (BLS_X >> i & 1)
            fp12_mul(&r, &r, a);
    }
    fp12_conj(o, &r);
}

/* a^(x - 1). */
static void pow_x_minus_1(fp12 *o, const fp12 *a)
{
    fp12 inv;
    fp12_conj(&inv, a);
    pow_x(o, a);
    fp12_mul(o, o, &inv);
}

void pairing_final_exp(fp12 *o, const fp12 *f)
{
    fp12 m, t, a, b;
    /* f^((p^6 - 1)(p^2 + 1)) */
    fp12_inv(&t, f);
    fp12_conj(&m, f);
    fp12_mul(&m, &m, &t);
    fp12_frobenius(&t, &m, 2);
    fp12_mul(&m, &m, &t);
    /* 3 (p^4 - p^2 + 1)/r = (x - 1)^2 (x + p)(x^2 + p^2 - 1) + 3 */
    pow_x_minus_1(&t, &m);
    pow_x_minus_1(&a, &t);
    pow_x(&t, &a);
    fp12_frobenius(&b, &a, 1);
    fp12_mul(&a, &t, &b);
    pow_x(&t, &a);
    pow_x(&b, &t);
    fp12_frobenius(&t, &a, 2);
    fp12_mul(&b, &b, &t);
    fp12_conj(&t, &a);
    fp12_mul(&b, &b, &t);
    fp12_cyc_sqr(&t, &m);
    fp12_mul(&t, &t, &m);
    fp12_mul(o, &b, &t);
}

bool pairing_product_is_one(const g1_aff *const *p, const g2_prepared *const *q, size_t n)
{
    fp12 f;
    pairing_miller_product(&f, p, q, n);
    pairing_final_exp(&f, &f);
    return fp12_is_one(&f);
}

void pairing(fp12 *o, const g1_aff *p, const g2_aff *q)
{
    g2_prepared prep;
    const g1_aff *ps[1] = {p};
    const g2_prepared *qs[1] = {&prep};
    g2_prepare(&prep, q);
    pairing_miller_product(o, ps, qs, 1);
    pairing_final_exp(o, o);
}
