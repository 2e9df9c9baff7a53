/* Point formulas shared by G1 and G2, as static inline functions. A template: no include guard,
 * included once per curve by g1_inline.h and g2_inline.h. The two curves differ only in the field
 * and in b, and C has no generics; one text for both keeps the edge cases in one place and lets the
 * compiler inline the field code of the chosen instruction set.
 *
 * Parameters (macros, undefined again by the includer):
 *   EC_F     the field type             EC_FN(f)  an inline field function, e.g. fpi_##f
 *   EC_T(t)  a point type, e.g. g1_##t  EC_C(f)   the name given to a function, e.g. g1i_##f
 *
 * All curves here are y^2 = x^3 + b of odd order, so no point has y = 0. Except where said, every
 * function handles infinity, equal and opposite inputs, and outputs may alias inputs. Variable
 * time.
 * Formulas: Explicit-Formulas Database, short Weierstrass a = 0 (names given below). */

static inline bool EC_C(aff_is_inf)(const EC_T(aff) * a)
{
    return EC_FN(is_zero)(&a->x) && EC_FN(is_zero)(&a->y);
}

static inline void EC_C(jac_set_inf)(EC_T(jac) * o) { *o = (EC_T(jac)){0}; }

static inline void EC_C(xyzz_set_inf)(EC_T(xyzz) * o) { *o = (EC_T(xyzz)){0}; }

/* dbl-2009-l. Infinity goes to infinity by itself: z3 = 2 y z. */
static inline void EC_C(jac_dbl)(EC_T(jac) * o, const EC_T(jac) * p)
{
    EC_F a, b, c, d, e, t;
    EC_FN(sqr)(&a, &p->x);
    EC_FN(sqr)(&b, &p->y);
    EC_FN(sqr)(&c, &b);
    EC_FN(add)(&d, &p->x, &b);
    EC_FN(sqr)(&d, &d);
    EC_FN(sub)(&d, &d, &a);
    EC_FN(sub)(&d, &d, &c);
    EC_FN(dbl)(&d, &d);
    EC_FN(dbl)(&e, &a);
    EC_FN(add)(&e, &e, &a);
    EC_FN(mul)(&t, &p->y, &p->z);
    EC_FN(dbl)(&o->z, &t);
    EC_FN(sqr)(&t, &e);
    EC_FN(sub)(&t, &t, &d);
    EC_FN(sub)(&o->x, &t, &d);
    EC_FN(sub)(&d, &d, &o->x);
    EC_FN(mul)(&d, &d, &e);
    EC_FN(dbl)(&c, &c);
    EC_FN(dbl)(&c, &c);
    EC_FN(dbl)(&c, &c);
    EC_FN(sub)(&o->y, &d, &c);
}

/* The common tail of both Jacobian additions: o = sum, given u1 = x1 z2^2, s1 = y1 z2^3, h = u2 -
 * u1 != 0, r = s2 - s1 and zz = z1 z2 (add-1998-cmo-2). */
static inline void EC_C(jac_add_tail)(EC_T(jac) * o, const EC_F *u1, const EC_F *s1, const EC_F *h,
                                      const EC_F *r, const EC_F *zz)
{
    EC_F hh, hhh, v, t;
    EC_FN(sqr)(&hh, h);
    EC_FN(mul)(&hhh, &hh, h);
    EC_FN(mul)(&v, u1, &hh);
    EC_FN(mul)(&o->z, zz, h);
    EC_FN(sqr)(&t, r);
    EC_FN(sub)(&t, &t, &hhh);
    EC_FN(sub)(&t, &t, &v);
    EC_FN(sub)(&o->x, &t, &v);
    EC_FN(sub)(&v, &v, &o->x);
    EC_FN(mul)(&v, &v, r);
    EC_FN(mul)(&t, s1, &hhh);
    EC_FN(sub)(&o->y, &v, &t);
}

static inline void EC_C(jac_add)(EC_T(jac) * o, const EC_T(jac) * p, const EC_T(jac) * q)
{
    if (EC_FN(is_zero)(&p->z)) {
        *o = *q;
        return;
    }
    if (EC_FN(is_zero)(&q->z)) {
        *o = *p;
        return;
    }
    EC_F z1z1, z2z2, u1, h, s1, r, zz;
    EC_FN(sqr)(&z1z1, &p->z);
    EC_FN(sqr)(&z2z2, &q->z);
    EC_FN(mul)(&u1, &p->x, &z2z2);
    EC_FN(mul)(&h, &q->x, &z1z1);
    EC_FN(sub)(&h, &h, &u1);
    EC_FN(mul)(&s1, &p->y, &z2z2);
    EC_FN(mul)(&s1, &s1, &q->z);
    EC_FN(mul)(&r, &q->y, &z1z1);
    EC_FN(mul)(&r, &r, &p->z);
    EC_FN(sub)(&r, &r, &s1);
    if (EC_FN(is_zero)(&h)) {
        if (EC_FN(is_zero)(&r))
            EC_C(jac_dbl)(o, p);
        else
            EC_C(jac_set_inf)(o);
        return;
    }
    EC_FN(mul)(&zz, &p->z, &q->z);
    EC_C(jac_add_tail)(o, &u1, &s1, &h, &r, &zz);
}

static inline void EC_C(jac_add_aff)(EC_T(jac) * o, const EC_T(jac) * p, const EC_T(aff) * q)
{
    if (EC_C(aff_is_inf)(q)) {
        *o = *p;
        return;
    }
    if (EC_FN(is_zero)(&p->z)) {
        EC_F one = EC_F_ONE;
        o->x = q->x;
        o->y = q->y;
        o->z = one;
        return;
    }
    EC_F z1z1, h, r, x1 = p->x, y1 = p->y, z1 = p->z;
    EC_FN(sqr)(&z1z1, &z1);
    EC_FN(mul)(&h, &q->x, &z1z1);
    EC_FN(sub)(&h, &h, &x1);
    EC_FN(mul)(&r, &q->y, &z1z1);
    EC_FN(mul)(&r, &r, &z1);
    EC_FN(sub)(&r, &r, &y1);
    if (EC_FN(is_zero)(&h)) {
        if (EC_FN(is_zero)(&r))
            EC_C(jac_dbl)(o, p);
        else
            EC_C(jac_set_inf)(o);
        return;
    }
    EC_C(jac_add_tail)(o, &x1, &y1, &h, &r, &z1);
}

/* dbl-2008-s-1 on x, y; zz and zzz are those of the input point (zz = zzz = 1 for an affine
 * one). */
static inline void EC_C(xyzz_dbl)(EC_T(xyzz) * o, const EC_T(xyzz) * p)
{
    EC_F u, v, w, s, m, t;
    EC_FN(dbl)(&u, &p->y);
    EC_FN(sqr)(&v, &u);
    EC_FN(mul)(&w, &u, &v);
    EC_FN(mul)(&s, &p->x, &v);
    EC_FN(sqr)(&t, &p->x);
    EC_FN(dbl)(&m, &t);
    EC_FN(add)(&m, &m, &t);
    EC_FN(mul)(&o->zz, &v, &p->zz);
    EC_FN(mul)(&o->zzz, &w, &p->zzz);
    EC_FN(mul)(&w, &w, &p->y);
    EC_FN(sqr)(&t, &m);
    EC_FN(sub)(&t, &t, &s);
    EC_FN(sub)(&o->x, &t, &s);
    EC_FN(sub)(&s, &s, &o->x);
    EC_FN(mul)(&s, &s, &m);
    EC_FN(sub)(&o->y, &s, &w);
}

static inline void EC_C(xyzz_from_aff)(EC_T(xyzz) * o, const EC_T(aff) * q)
{
    if (EC_C(aff_is_inf)(q)) {
        EC_C(xyzz_set_inf)(o);
        return;
    }
    EC_F one = EC_F_ONE;
    o->x = q->x;
    o->y = q->y;
    o->zz = one;
    o->zzz = one;
}

/* Doubling of an affine point (not infinity) into XYZZ. */
static inline void EC_C(xyzz_dbl_aff)(EC_T(xyzz) * o, const EC_T(aff) * q)
{
    EC_F u, v, w, s, m, t;
    EC_FN(dbl)(&u, &q->y);
    EC_FN(sqr)(&v, &u);
    EC_FN(mul)(&w, &u, &v);
    EC_FN(mul)(&s, &q->x, &v);
    EC_FN(sqr)(&t, &q->x);
    EC_FN(dbl)(&m, &t);
    EC_FN(add)(&m, &m, &t);
    EC_FN(mul)(&u, &w, &q->y);
    o->zz = v;
    o->zzz = w;
    EC_FN(sqr)(&t, &m);
    EC_FN(sub)(&t, &t, &s);
    EC_FN(sub)(&o->x, &t, &s);
    EC_FN(sub)(&s, &s, &o->x);
    EC_FN(mul)(&s, &s, &m);
    EC_FN(sub)(&o->y, &s, &u);
}

/* *o += (x, y), the hot step of a bucket MSM (madd-2008-s, 8 M + 2 S). (x, y) is a point of the
 * curve, NOT infinity; pass the negated y to subtract. */
static inline void EC_C(xyzz_acc_xy)(EC_T(xyzz) * o, const EC_F *x, const EC_F *y)
{
    EC_F h, r, hh, hhh, v;
    EC_FN(mul)(&h, x, &o->zz);
    EC_FN(mul)(&r, y, &o->zzz);
    if (__builtin_expect(EC_FN(is_zero)(&o->zz), 0)) {
        EC_F one = EC_F_ONE;
        o->x = *x;
        o->y = *y;
        o->zz = one;
        o->zzz = one;
        return;
    }
    EC_FN(sub)(&h, &h, &o->x);
    EC_FN(sub)(&r, &r, &o->y);
    if (__builtin_expect(EC_FN(is_zero)(&h), 0)) {
        if (EC_FN(is_zero)(&r)) {
            EC_T(aff) q = {*x, *y};
            EC_C(xyzz_dbl_aff)(o, &q);
        } else {
            EC_C(xyzz_set_inf)(o);
        }
        return;
    }
    EC_FN(sqr)(&hh, &h);
    EC_FN(mul)(&hhh, &hh, &h);
    EC_FN(mul)(&v, &o->x, &hh);
    EC_FN(mul)(&o->zz, &o->zz, &hh);
    EC_FN(mul)(&o->zzz, &o->zzz, &hhh);
    EC_FN(mul)(&hh, &o->y, &hhh);
    EC_FN(sqr)(&h, &r);
    EC_FN(sub)(&h, &h, &hhh);
    EC_FN(sub)(&h, &h, &v);
    EC_FN(sub)(&o->x, &h, &v);
    EC_FN(sub)(&v, &v, &o->x);
    EC_FN(mul)(&v, &v, &r);
    EC_FN(sub)(&o->y, &v, &hh);
}

static inline void EC_C(xyzz_add_aff)(EC_T(xyzz) * o, const EC_T(xyzz) * p, const EC_T(aff) * q)
{
    if (o != p)
        *o = *p;
    if (!EC_C(aff_is_inf)(q))
        EC_C(xyzz_acc_xy)(o, &q->x, &q->y);
}

/* o = p - q. */
static inline void EC_C(xyzz_sub_aff)(EC_T(xyzz) * o, const EC_T(xyzz) * p, const EC_T(aff) * q)
{
    EC_F y;
    if (o != p)
        *o = *p;
    if (EC_C(aff_is_inf)(q))
        return;
    EC_FN(neg)(&y, &q->y);
    EC_C(xyzz_acc_xy)(o, &q->x, &y);
}

/* add-2008-s, 12 M + 2 S. */
static inline void EC_C(xyzz_add)(EC_T(xyzz) * o, const EC_T(xyzz) * p, const EC_T(xyzz) * q)
{
    if (EC_FN(is_zero)(&p->zz)) {
        *o = *q;
        return;
    }
    if (EC_FN(is_zero)(&q->zz)) {
        *o = *p;
        return;
    }
    EC_F u1, s1, h, r, hh, hhh;
    EC_FN(mul)(&u1, &p->x, &q->zz);
    EC_FN(mul)(&h, &q->x, &p->zz);
    EC_FN(mul)(&s1, &p->y, &q->zzz);
    EC_FN(mul)(&r, &q->y, &p->zzz);
    EC_FN(sub)(&h, &h, &u1);
    EC_FN(sub)(&r, &r, &s1);
    if (__builtin_expect(EC_FN(is_zero)(&h), 0)) {
        if (EC_FN(is_zero)(&r))
            EC_C(xyzz_dbl)(o, p);
        else
            EC_C(xyzz_set_inf)(o);
        return;
    }
    EC_FN(sqr)(&hh, &h);
    EC_FN(mul)(&hhh, &hh, &h);
    EC_FN(mul)(&u1, &u1, &hh);
    EC_FN(mul)(&hh, &hh, &p->zz);
    EC_FN(mul)(&o->zz, &hh, &q->zz);
    EC_FN(mul)(&s1, &s1, &hhh);
    EC_FN(mul)(&hh, &hhh, &p->zzz);
    EC_FN(mul)(&o->zzz, &hh, &q->zzz);
    EC_FN(sqr)(&h, &r);
    EC_FN(sub)(&h, &h, &hhh);
    EC_FN(sub)(&h, &h, &u1);
    EC_FN(sub)(&o->x, &h, &u1);
    EC_FN(sub)(&u1, &u1, &o->x);
    EC_FN(mul)(&u1, &u1, &r);
    EC_FN(sub)(&o->y, &u1, &s1);
}

/* (x zz, y zzz, zz): with zz = Z^2, zzz = Z^3 this is the same point in Jacobian form with z =
 * zz. */
static inline void EC_C(jac_from_xyzz)(EC_T(jac) * o, const EC_T(xyzz) * p)
{
    EC_F zz = p->zz;
    EC_FN(mul)(&o->x, &p->x, &zz);
    EC_FN(mul)(&o->y, &p->y, &p->zzz);
    o->z = zz;
}

/* Batched affine addition, in two passes around one batch inversion (EC_F elements, Montgomery's
 * trick): first aff_add_prepare for every pair, invert all denominators, then aff_add_finish. The
 * kind tells finish what the pair was; infinite and opposite pairs get denominator 1, so that the
 * product of denominators is never zero. */
#ifndef EC_AFF_KIND_DEFINED
#define EC_AFF_KIND_DEFINED
typedef enum ec_aff_kind {
    EC_AFF_CHORD,
    EC_AFF_TANGENT,
    EC_AFF_TAKE_P,
    EC_AFF_TAKE_Q,
    EC_AFF_INF
} ec_aff_kind;
#endif

static inline ec_aff_kind EC_C(aff_add_prepare)(EC_F *den, const EC_T(aff) * p, const EC_T(aff) * q)
{
    EC_FN(sub)(den, &q->x, &p->x);
    /* x = 0 is a point of both curves, so a zero x alone does not mean infinity; both tests are
     * rare. */
    bool p_inf = EC_FN(is_zero)(&p->x) && EC_FN(is_zero)(&p->y);
    bool q_inf = EC_FN(is_zero)(&q->x) && EC_FN(is_zero)(&q->y);
    if (__builtin_expect(!p_inf && !q_inf && !EC_FN(is_zero)(den), 1))
        return EC_AFF_CHORD;
    EC_F one = EC_F_ONE;
    if (p_inf || q_inf) {
        *den = one;
        return p_inf ? EC_AFF_TAKE_Q : EC_AFF_TAKE_P;
    }
    /* y = 0 cannot be on the curve, but keys may be read unchecked; a zero denominator would spoil
     * the whole batch. */
    if (EC_FN(eq)(&p->y, &q->y) && !EC_FN(is_zero)(&p->y)) {
        EC_FN(dbl)(den, &p->y);
        return EC_AFF_TANGENT;
    }
    *den = one;
    return EC_AFF_INF;
}

/* o = p + q for a pair of kind EC_AFF_CHORD; inv = 1 / (q.x - p.x). 2 M + 1 S. */
static inline void EC_C(aff_add_chord)(EC_T(aff) * o, const EC_T(aff) * p, const EC_T(aff) * q,
                                       const EC_F *inv)
{
    EC_F m, x, t;
    EC_FN(sub)(&m, &q->y, &p->y);
    EC_FN(mul)(&m, &m, inv);
    EC_FN(sqr)(&x, &m);
    EC_FN(sub)(&x, &x, &p->x);
    EC_FN(sub)(&x, &x, &q->x);
    EC_FN(sub)(&t, &p->x, &x);
    EC_FN(mul)(&t, &t, &m);
    EC_FN(sub)(&o->y, &t, &p->y);
    o->x = x;
}

/* o = p + q, any kind, with the kind and the inverted denominator of aff_add_prepare. */
static inline void EC_C(aff_add_finish)(EC_T(aff) * o, const EC_T(aff) * p, const EC_T(aff) * q,
                                        const EC_F *inv, ec_aff_kind kind)
{
    EC_F m, x, t;
    switch (kind) {
    case EC_AFF_CHORD:
        EC_C(aff_add_chord)(o, p, q, inv);
        return;
    case EC_AFF_TANGENT:
        EC_FN(sqr)(&t, &p->x);
        EC_FN(dbl)(&m, &t);
        EC_FN(add)(&m, &m, &t);
        EC_FN(mul)(&m, &m, inv);
        EC_FN(sqr)(&x, &m);
        EC_FN(dbl)(&t, &p->x);
        EC_FN(sub)(&x, &x, &t);
        EC_FN(sub)(&t, &p->x, &x);
        EC_FN(mul)(&t, &t, &m);
        EC_FN(sub)(&o->y, &t, &p->y);
        o->x = x;
        return;
    case EC_AFF_TAKE_P:
        *o = *p;
        return;
    case EC_AFF_TAKE_Q:
        *o = *q;
        return;
    case EC_AFF_INF:
        break;
    }
    *o = (EC_T(aff)){0};
}
