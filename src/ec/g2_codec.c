/* G2 encodings: coordinates are written with the u part first. */
#include <string.h>
#include "ec/ec_codec.h"
#include "ec/ec_consts.h"
#include "ec/g2.h"

static const char what[] = "G2 point";

static cuzk_status check_subgroup(const g2_aff *a, ec_decode_opts opts)
{
    if (opts.check_subgroup && !g2_aff_is_in_subgroup(a))
        return cuzk_bad_input(what, "a point of the subgroup of order r", "one outside it");
    return cuzk_ok();
}

static bool coordinate_from_be(fp2 *o, const uint8_t b[96])
{
    return fp_from_be(&o->c1, b) && fp_from_be(&o->c0, b + 48);
}

static void coordinate_to_be(uint8_t b[96], const fp2 *a)
{
    fp_to_be(b, &a->c1);
    fp_to_be(b + 48, &a->c0);
}

static cuzk_status decode_compressed(g2_aff *o, const uint8_t b[96], ec_decode_opts opts)
{
    static const fp2 b_coeff = {EC_FP_4, EC_FP_4};
    bool is_inf;
    CUZK_TRY(ec_check_flags(&is_inf, what, b, 96, true, opts.allow_inf));
    if (is_inf)
        return cuzk_ok();
    uint8_t x_be[96];
    memcpy(x_be, b, 96);
    x_be[0] &= (uint8_t)~EC_FLAG_MASK;
    if (!coordinate_from_be(&o->x, x_be))
        return cuzk_bad_input(what, "an x coordinate below the field modulus", "one not below it");
    fp2 t;
    fp2_sqr(&t, &o->x);
    fp2_mul(&t, &t, &o->x);
    fp2_add(&t, &t, &b_coeff);
    if (!fp2_sqrt(&o->y, &t))
        return cuzk_bad_input(what, "the x coordinate of a point on the curve", "one without a y");
    if (fp2_is_lex_larger(&o->y) != !!(b[0] & EC_FLAG_Y_LARGER))
        fp2_neg(&o->y, &o->y);
    return check_subgroup(o, opts);
}

static cuzk_status decode_uncompressed(g2_aff *o, const uint8_t b[192], ec_decode_opts opts)
{
    bool is_inf;
    CUZK_TRY(ec_check_flags(&is_inf, what, b, 192, false, opts.allow_inf));
    if (is_inf)
        return cuzk_ok();
    if (!coordinate_from_be(&o->x, b))
        return cuzk_bad_input(what, "an x coordinate below the field modulus", "one not below it");
    if (!coordinate_from_be(&o->y, b + 96))
        return cuzk_bad_input(what, "a y coordinate below the field modulus", "one not below it");
    /* (0, 0) is how infinity is kept in memory, so it is refused even where the curve equation is
     * not checked. */
    bool must_check = opts.check_curve || opts.check_subgroup || g2_aff_is_inf(o);
    if (must_check && (g2_aff_is_inf(o) || !g2_aff_is_on_curve(o)))
        return cuzk_bad_input(what, "a point on the curve", "one not on it");
    return check_subgroup(o, opts);
}

cuzk_status g2_decode_compressed(g2_aff *o, const uint8_t b[96], ec_decode_opts opts)
{
    *o = (g2_aff){0};
    cuzk_status st = decode_compressed(o, b, opts);
    if (st.code != CUZK_OK)
        *o = (g2_aff){0};
    return st;
}

cuzk_status g2_decode_uncompressed(g2_aff *o, const uint8_t b[192], ec_decode_opts opts)
{
    *o = (g2_aff){0};
    cuzk_status st = decode_uncompressed(o, b, opts);
    if (st.code != CUZK_OK)
        *o = (g2_aff){0};
    return st;
}

void g2_encode_compressed(uint8_t b[96], const g2_aff *a)
{
    coordinate_to_be(b, &a->x);
    b[0] |= EC_FLAG_COMPRESSED;
    if (g2_aff_is_inf(a))
        b[0] |= EC_FLAG_INFINITY;
    else if (fp2_is_lex_larger(&a->y))
        b[0] |= EC_FLAG_Y_LARGER;
}

void g2_encode_uncompressed(uint8_t b[192], const g2_aff *a)
{
    coordinate_to_be(b, &a->x);
    coordinate_to_be(b + 96, &a->y);
    if (g2_aff_is_inf(a))
        b[0] |= EC_FLAG_INFINITY;
}
