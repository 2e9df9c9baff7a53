/* Out-of-line functions shared by g1.c and g2.c. A template like curve_inline.h, but on the
 * out-of-line field functions and with public names: EC_C(f) is g1_##f, and EC_OPS names the
 * curve's member of ec_ops. */

bool EC_C(aff_is_inf)(const EC_T(aff) * a)
{
    return EC_FN(is_zero)(&a->x) && EC_FN(is_zero)(&a->y);
}

bool EC_C(aff_eq)(const EC_T(aff) * a, const EC_T(aff) * b)
{
    return EC_FN(eq)(&a->x, &b->x) && EC_FN(eq)(&a->y, &b->y);
}

bool EC_C(aff_is_on_curve)(const EC_T(aff) * a)
{
    return EC_C(aff_is_inf)(a) || ec_ops_active()->EC_OPS.is_on_curve(a);
}

bool EC_C(aff_is_in_subgroup)(const EC_T(aff) * a)
{
    return EC_C(aff_is_inf)(a) || ec_ops_active()->EC_OPS.is_in_subgroup(a);
}

void EC_C(aff_neg)(EC_T(aff) * o, const EC_T(aff) * a)
{
    o->x = a->x;
    EC_FN(neg)(&o->y, &a->y);
}

void EC_C(jac_from_aff)(EC_T(jac) * o, const EC_T(aff) * a)
{
    EC_T(jac) t = {.x = a->x, .y = a->y};
    if (!EC_C(aff_is_inf)(a))
        t.z = EC_F_ONE;
    *o = t;
}

/* Affine form of a, given 1/z (0 for infinity, which then comes out as x = y = 0). */
static void to_aff_with_inv(EC_T(aff) * o, const EC_T(jac) * a, const EC_F *z_inv)
{
    EC_F zz;
    EC_FN(sqr)(&zz, z_inv);
    EC_FN(mul)(&o->x, &a->x, &zz);
    EC_FN(mul)(&zz, &zz, z_inv);
    EC_FN(mul)(&o->y, &a->y, &zz);
}

void EC_C(jac_to_aff)(EC_T(aff) * o, const EC_T(jac) * a)
{
    EC_F z_inv;
    EC_FN(inv)(&z_inv, &a->z);
    to_aff_with_inv(o, a, &z_inv);
}

/* Montgomery's trick: scratch[i] = product of the nonzero z before i, then one inversion peeled off
 * from the end. */
void EC_C(jac_batch_to_aff)(EC_T(aff) * o, const EC_T(jac) * a, size_t n, EC_F *scratch)
{
    EC_F acc = EC_F_ONE, z_inv;
    for (size_t i = 0; i < n; i++) {
        scratch[i] = acc;
        if (!EC_FN(is_zero)(&a[i].z))
            EC_FN(mul)(&acc, &acc, &a[i].z);
    }
    EC_FN(inv)(&acc, &acc);
    for (size_t i = n; i-- > 0;) {
        if (EC_FN(is_zero)(&a[i].z)) {
            o[i] = (EC_T(aff)){0};
            continue;
        }
        EC_FN(mul)(&z_inv, &acc, &scratch[i]);
        EC_FN(mul)(&acc, &acc, &a[i].z);
        to_aff_with_inv(&o[i], &a[i], &z_inv);
    }
}

bool EC_C(jac_is_inf)(const EC_T(jac) * a) { return EC_FN(is_zero)(&a->z); }

/* Cross-multiplied, so that no inversion is needed. */
bool EC_C(jac_eq)(const EC_T(jac) * a, const EC_T(jac) * b)
{
    bool a_inf = EC_FN(is_zero)(&a->z), b_inf = EC_FN(is_zero)(&b->z);
    if (a_inf || b_inf)
        return a_inf && b_inf;
    EC_F za, zb, l, r;
    EC_FN(sqr)(&za, &a->z);
    EC_FN(sqr)(&zb, &b->z);
    EC_FN(mul)(&l, &a->x, &zb);
    EC_FN(mul)(&r, &b->x, &za);
    if (!EC_FN(eq)(&l, &r))
        return false;
    EC_FN(mul)(&za, &za, &a->z);
    EC_FN(mul)(&zb, &zb, &b->z);
    EC_FN(mul)(&l, &a->y, &zb);
    EC_FN(mul)(&r, &b->y, &za);
    return EC_FN(eq)(&l, &r);
}

void EC_C(jac_neg)(EC_T(jac) * o, const EC_T(jac) * a)
{
    o->x = a->x;
    EC_FN(neg)(&o->y, &a->y);
    o->z = a->z;
}

void EC_C(jac_add)(EC_T(jac) * o, const EC_T(jac) * a, const EC_T(jac) * b)
{
    ec_ops_active()->EC_OPS.jac_add(o, a, b);
}

void EC_C(jac_add_aff)(EC_T(jac) * o, const EC_T(jac) * a, const EC_T(aff) * b)
{
    ec_ops_active()->EC_OPS.jac_add_aff(o, a, b);
}

void EC_C(jac_dbl)(EC_T(jac) * o, const EC_T(jac) * a) { ec_ops_active()->EC_OPS.jac_dbl(o, a); }

void EC_C(xyzz_add_aff)(EC_T(xyzz) * o, const EC_T(xyzz) * a, const EC_T(aff) * b)
{
    ec_ops_active()->EC_OPS.xyzz_add_aff(o, a, b);
}

void EC_C(xyzz_add)(EC_T(xyzz) * o, const EC_T(xyzz) * a, const EC_T(xyzz) * b)
{
    ec_ops_active()->EC_OPS.xyzz_add(o, a, b);
}

void EC_C(xyzz_dbl)(EC_T(xyzz) * o, const EC_T(xyzz) * a)
{
    ec_ops_active()->EC_OPS.xyzz_dbl(o, a);
}

void EC_C(jac_from_xyzz)(EC_T(jac) * o, const EC_T(xyzz) * a)
{
    ec_ops_active()->EC_OPS.jac_from_xyzz(o, a);
}

void EC_C(mul)(EC_T(jac) * o, const EC_T(jac) * a, const fr_int *k)
{
    ec_ops_active()->EC_OPS.mul(o, a, k);
}

void EC_C(mul_ct)(EC_T(jac) * o, const EC_T(jac) * a, const fr_int *k)
{
    ec_ops_active()->EC_OPS.mul_ct(o, a, k);
}
