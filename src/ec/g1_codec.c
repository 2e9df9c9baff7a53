/* G1 encodings. */
#include <string.h>
#include "ec/ec_codec.h"
#include "ec/ec_consts.h"
#include "ec/g1.h"

static const char what[] = "G1 point";

static cuzk_status check_subgroup(const g1_aff *a, ec_decode_opts opts)
{
    if (opts.check_subgroup && !g1_aff_is_in_subgroup(a))
        return cuzk_bad_input(what, "a point of the subgroup of order r", "one outside it");
    return cuzk_ok();
}

static cuzk_status decode_compressed(g1_aff *o, const uint8_t b[48], ec_decode_opts opts)
{
    static const fp b_coeff = EC_FP_4;
    bool is_inf;
    CUZK_TRY(ec_check_flags(&is_inf, what, b, 48, true, opts.allow_inf));
    if (is_inf)
        return cuzk_ok();
    uint8_t x_be[48];
    memcpy(x_be, b, 48);
    x_be[0] &= (uint8_t)~EC_FLAG_MASK;
    if (!fp_from_be(&o->x, x_be))
        return cuzk_bad_input(what, "an x coordinate below the field modulus", "one not below it");
    fp t;
    fp_sqr(&t, &o->x);
    fp_mul(&t, &t, &o->x);
    fp_add(&t, &t, &b_coeff);
    if (!fp_sqrt(&o->y, &t))
        return cuzk_bad_input(what, "the x coordinate of a point on the curve", "one without a y");
    if (fp_is_lex_larger(&o->y) != !!(b[0] & EC_FLAG_Y_LARGER))
        fp_neg(&o->y, &o->y);
    return check_subgroup(o, opts);
}

static cuzk_status decode_uncompressed(g1_aff *o, const uint8_t b[96], ec_decode_opts opts)
{
    bool is_inf;
    CUZK_TRY(ec_check_flags(&is_inf, what, b, 96, false, opts.allow_inf));
    if (is_inf)
        return cuzk_ok();
    if (!fp_from_be(&o->x, b))
        return cuzk_bad_input(what, "an x coordinate below the field modulus", "one not below it");
    if (!fp_from_be(&o->y, b + 48))
        return cuzk_bad_input(what, "a y coordinate below the field modulus", "one not below it");
    /* (0, 0) is how infinity is kept in memory, so it is refused even where the curve equation is
     * not checked. */
    bool must_check = opts.check_curve || opts.check_subgroup || g1_aff_is_inf(o);
    if (must_check && (g1_aff_is_inf(o) || !g1_aff_is_on_curve(o)))
        return cuzk_bad_input(what, "a point on the curve", "one not on it");
    return check_subgroup(o, opts);
}

cuzk_status g1_decode_compressed(g1_aff *o, const uint8_t b[48], ec_decode_opts opts)
{
    *o = (g1_aff){0};
    cuzk_status st = decode_compressed(o, b, opts);
    if (st.code != CUZK_OK)
        *o = (g1_aff){0};
    return st;
}

cuzk_status g1_decode_uncompressed(g1_aff *o, const uint8_t b[96], ec_decode_opts opts)
{
    *o = (g1_aff){0};
    cuzk_status st = decode_uncompressed(o, b, opts);
    if (st.code != CUZK_OK)
        *o = (g1_aff){0};
    return st;
}

void g1_encode_compressed(uint8_t b[48], const g1_aff *a)
{
    fp_to_be(b, &a->x);
    b[0] |= EC_FLAG_COMPRESSED;
    if (g1_aff_is_inf(a))
        b[0] |= EC_FLAG_INFINITY;
    else if (fp_is_lex_larger(&a->y))
        b[0] |= EC_FLAG_Y_LARGER;
}

void g1_encode_uncompressed(uint8_t b[96], const g1_aff *a)
{
    fp_to_be(b, &a->x);
    fp_to_be(b + 48, &a->y);
    if (g1_aff_is_inf(a))
        b[0] |= EC_FLAG_INFINITY;
}
