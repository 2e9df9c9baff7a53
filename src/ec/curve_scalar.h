/* Scalar multiplication and tests shared by G1 and G2. A template like curve_inline.h (same
 * parameters, plus EC_C(mul_b3): times 3b); include it after the inline header of the curve, in a
 * .c file of one instruction set only. */

/* Homogeneous point x = X/Z, y = Y/Z, infinity (0 : 1 : 0): the form for which Renes, Costello and
 * Batina (ePrint 2015/1060) have addition without exceptional cases, given an odd group order. Used
 * by the constant-time multiplication only. */
typedef struct EC_C(hom) {
    EC_F x, y, z;
} EC_C(hom);

/* Algorithm 7 of ePrint 2015/1060 (a = 0). */
static void EC_C(hom_add)(EC_C(hom) * o, const EC_C(hom) * p, const EC_C(hom) * q)
{
    EC_F t0, t1, t2, t3, t4, x3, y3, z3;
    EC_FN(mul)(&t0, &p->x, &q->x);
    EC_FN(mul)(&t1, &p->y, &q->y);
    EC_FN(mul)(&t2, &p->z, &q->z);
    EC_FN(add)(&t3, &p->x, &p->y);
    EC_FN(add)(&t4, &q->x, &q->y);
    EC_FN(mul)(&t3, &t3, &t4);
    EC_FN(add)(&t4, &t0, &t1);
    EC_FN(sub)(&t3, &t3, &t4);
    EC_FN(add)(&t4, &p->y, &p->z);
    EC_FN(add)(&x3, &q->y, &q->z);
    EC_FN(mul)(&t4, &t4, &x3);
    EC_FN(add)(&x3, &t1, &t2);
    EC_FN(sub)(&t4, &t4, &x3);
    EC_FN(add)(&x3, &p->x, &p->z);
    EC_FN(add)(&y3, &q->x, &q->z);
    EC_FN(mul)(&x3, &x3, &y3);
    EC_FN(add)(&y3, &t0, &t2);
    EC_FN(sub)(&y3, &x3, &y3);
    EC_FN(dbl)(&x3, &t0);
    EC_FN(add)(&t0, &x3, &t0);
    EC_C(mul_b3)(&t2, &t2);
    EC_FN(add)(&z3, &t1, &t2);
    EC_FN(sub)(&t1, &t1, &t2);
    EC_C(mul_b3)(&y3, &y3);
    EC_FN(mul)(&x3, &t4, &y3);
    EC_FN(mul)(&t2, &t3, &t1);
    EC_FN(sub)(&o->x, &t2, &x3);
    EC_FN(mul)(&y3, &y3, &t0);
    EC_FN(mul)(&t1, &t1, &z3);
    EC_FN(add)(&o->y, &t1, &y3);
    EC_FN(mul)(&t0, &t0, &t3);
    EC_FN(mul)(&z3, &z3, &t4);
    EC_FN(add)(&o->z, &z3, &t0);
}

/* Algorithm 9 of ePrint 2015/1060 (a = 0). */
static void EC_C(hom_dbl)(EC_C(hom) * o, const EC_C(hom) * p)
{
    EC_F t0, t1, t2, x3, y3, z3;
    EC_FN(sqr)(&t0, &p->y);
    EC_FN(dbl)(&z3, &t0);
    EC_FN(dbl)(&z3, &z3);
    EC_FN(dbl)(&z3, &z3);
    EC_FN(mul)(&t1, &p->y, &p->z);
    EC_FN(sqr)(&t2, &p->z);
    EC_C(mul_b3)(&t2, &t2);
    EC_FN(mul)(&x3, &t2, &z3);
    EC_FN(add)(&y3, &t0, &t2);
    EC_FN(mul)(&z3, &t1, &z3);
    EC_FN(dbl)(&t1, &t2);
    EC_FN(add)(&t2, &t1, &t2);
    EC_FN(sub)(&t0, &t0, &t2);
    EC_FN(mul)(&y3, &t0, &y3);
    EC_FN(mul)(&t1, &p->x, &p->y);
    EC_FN(add)(&o->y, &x3, &y3);
    EC_FN(mul)(&x3, &t0, &t1);
    EC_FN(dbl)(&o->x, &x3);
    o->z = z3;
}

/* Constant time in k: 64 windows of 4 bits, each 4 doublings, one scan of the whole table and one
 * complete addition. */
static void EC_C(mul_ct)(EC_T(jac) * o, const EC_T(jac) * a, const fr_int *k)
{
    EC_C(hom) table[16], acc, pick;
    EC_F one = EC_F_ONE, zz;
    table[0] = (EC_C(hom)){0};
    table[0].y = one;
    EC_FN(sqr)(&zz, &a->z);
    EC_FN(mul)(&table[1].x, &a->x, &a->z);
    table[1].y = a->y;
    EC_FN(mul)(&table[1].z, &zz, &a->z);
    if (EC_FN(is_zero)(&a->z)) /* the base point is public */
        table[1] = table[0];
    for (int i = 2; i < 16; i++)
        EC_C(hom_add)(&table[i], &table[i - 1], &table[1]);
    acc = table[0];
    for (int w = 63; w >= 0; w--) {
        for (int i = 0; i < 4; i++)
            EC_C(hom_dbl)(&acc, &acc);
        uint64_t digit = (k->l[w / 16] >> (4 * (w % 16))) & 15;
        pick = table[0];
        for (uint64_t i = 1; i < 16; i++) {
            /* diff - 1 borrows into the top bit only when diff = 0; the barrier keeps the compiler
             * from making it a branch. */
            uint64_t diff = i ^ digit;
            __asm__("" : "+r"(diff));
            bool take = (bool)((diff - 1) >> 63);
            EC_FN(cmov)(&pick.x, &table[i].x, take);
            EC_FN(cmov)(&pick.y, &table[i].y, take);
            EC_FN(cmov)(&pick.z, &table[i].z, take);
        }
        EC_C(hom_add)(&acc, &acc, &pick);
    }
    EC_FN(sqr)(&zz, &acc.z);
    EC_FN(mul)(&o->x, &acc.x, &acc.z);
    EC_FN(mul)(&o->y, &acc.y, &zz);
    o->z = acc.z;
    /* The window values and partial sums tell k. */
    mem_wipe(&acc, sizeof acc);
    mem_wipe(&pick, sizeof pick);
}

/* Width-5 signed digits (odd, |d| < 16, or 0), little end first; returns their number, at most
 * 257. */
static size_t EC_C(wnaf)(int8_t d[257], const fr_int *k)
{
    uint64_t v[5] = {k->l[0], k->l[1], k->l[2], k->l[3], 0};
    size_t n = 0;
    while (v[0] | v[1] | v[2] | v[3] | v[4]) {
        int64_t digit = 0;
        if (v[0] & 1) {
            digit = (int64_t)(v[0] & 31);
            if (digit > 15)
                digit -= 32;
            /* v -= digit clears the low 5 bits, then carries 32 up for a negative digit */
            uint64_t carry = 0;
            v[0] &= ~(uint64_t)31;
            if (digit < 0)
                carry = __builtin_add_overflow(v[0], 32, &v[0]);
            for (int i = 1; i < 5 && carry; i++)
                carry = __builtin_add_overflow(v[i], carry, &v[i]);
        }
        d[n++] = (int8_t)digit;
        for (int i = 0; i < 4; i++)
            v[i] = v[i] >> 1 | v[i + 1] << 63;
        v[4] >>= 1;
    }
    return n;
}

/* Plain wNAF rather than an endomorphism split: it must be right for points outside the subgroup as
 * well. */
static void EC_C(mul)(EC_T(jac) * o, const EC_T(jac) * a, const fr_int *k)
{
    EC_T(jac) odd[8], acc, t; /* odd[i] = (2i + 1) a */
    int8_t digits[257];
    size_t n = EC_C(wnaf)(digits, k);
    odd[0] = *a;
    EC_C(jac_dbl)(&t, a);
    for (int i = 1; i < 8; i++)
        EC_C(jac_add)(&odd[i], &odd[i - 1], &t);
    EC_C(jac_set_inf)(&acc);
    while (n-- > 0) {
        EC_C(jac_dbl)(&acc, &acc);
        int d = digits[n];
        if (d > 0) {
            EC_C(jac_add)(&acc, &acc, &odd[d / 2]);
        } else if (d < 0) {
            t = odd[-d / 2];
            EC_FN(neg)(&t.y, &t.y);
            EC_C(jac_add)(&acc, &acc, &t);
        }
    }
    *o = acc;
}

/* o = |x| a, with |x| = 0xd201000000010000 the curve parameter (6 bits set). */
static void EC_C(mul_x_abs)(EC_T(jac) * o, const EC_T(jac) * a)
{
    EC_T(jac) acc = *a;
    for (int i = 62; i >= 0; i--) {
        EC_C(jac_dbl)(&acc, &acc);
        if (EC_X_ABS >> i & 1)
            EC_C(jac_add)(&acc, &acc, a);
    }
    *o = acc;
}

/* Is the Jacobian t equal to the affine (x, y), neither infinity? */
static bool EC_C(jac_eq_xy)(const EC_T(jac) * t, const EC_F *x, const EC_F *y)
{
    EC_F zz, u;
    if (EC_FN(is_zero)(&t->z))
        return false;
    EC_FN(sqr)(&zz, &t->z);
    EC_FN(mul)(&u, x, &zz);
    if (!EC_FN(eq)(&u, &t->x))
        return false;
    EC_FN(mul)(&zz, &zz, &t->z);
    EC_FN(mul)(&u, y, &zz);
    return EC_FN(eq)(&u, &t->y);
}
