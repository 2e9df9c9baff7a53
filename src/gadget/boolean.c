#include "gadget/boolean.h"

boolean boolean_alloc_tagged(cs *c, bool val, uint32_t tag)
{
    r1cs_var v = cs_alloc_bit_tagged(c, val, tag);
    if (cs_is_shape(c)) {
        cs_term_one(c, CS_A, R1CS_ONE);
        cs_term_minus(c, CS_A, v);
        cs_term_one(c, CS_B, v);
        cs_end_row(c);
    }
    return boolean_is(v, val);
}

boolean boolean_alloc(cs *c, bool val) { return boolean_alloc_tagged(c, val, UINT32_MAX); }

void boolean_alloc_u64(cs *c, boolean *out, uint32_t n, uint64_t v)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = boolean_alloc(c, v >> i & 1);
}

void boolean_term(cs *c, cs_side side, const fr *coeff, boolean b)
{
    if (!cs_is_shape(c))
        return;
    if (b.kind == BOOL_CONST) {
        if (b.val)
            cs_term(c, side, coeff, R1CS_ONE);
    } else if (b.kind == BOOL_IS) {
        cs_term(c, side, coeff, b.var);
    } else {
        fr neg;
        fr_neg(&neg, coeff);
        cs_term(c, side, coeff, R1CS_ONE);
        cs_term(c, side, &neg, b.var);
    }
}

static uint32_t tag_of(uint32_t bit, bool inverted)
{
    return bit == BOOL_NO_TAG ? UINT32_MAX : bit << 1 | (uint32_t)inverted;
}

/* Row (k_x x)(k_y y) = C over raw variables, result variable r: xor has C = x + y - r with A
 * doubled. */
static r1cs_var xor_vars(cs *c, r1cs_var x, r1cs_var y, bool val, uint32_t tag)
{
    r1cs_var r = cs_alloc_bit_tagged(c, val, tag);
    if (cs_is_shape(c)) {
        cs_term_one(c, CS_A, x);
        cs_term_one(c, CS_A, x);
        cs_term_one(c, CS_B, y);
        cs_term_one(c, CS_C, x);
        cs_term_one(c, CS_C, y);
        cs_term_minus(c, CS_C, r);
        cs_end_row(c);
    }
    return r;
}

boolean boolean_xor(cs *c, boolean x, boolean y, uint32_t bit)
{
    if (x.kind == BOOL_CONST)
        return x.val ? boolean_not(y) : y;
    if (y.kind == BOOL_CONST)
        return y.val ? boolean_not(x) : x;
    bool val = x.val ^ y.val;
    if (x.kind == y.kind)
        return boolean_is(xor_vars(c, x.var, y.var, val, tag_of(bit, false)), val);
    /* One negation: the allocated bit is the xor of the raw variables, the Is operand first. */
    boolean is = x.kind == BOOL_IS ? x : y, not = x.kind == BOOL_IS ? y : x;
    return boolean_not(boolean_is(xor_vars(c, is.var, not .var, !val, tag_of(bit, true)), !val));
}

static void raw_side(cs *c, cs_side side, boolean b)
{
    if (b.kind == BOOL_NOT) {
        cs_term_one(c, side, R1CS_ONE);
        cs_term_minus(c, side, b.var);
    } else {
        cs_term_one(c, side, b.var);
    }
}

/* and, and-not and nor are one row lc(x) * lc(y) = r; the Is operand of a mixed pair comes
 * first. */
static boolean and_tagged(cs *c, boolean x, boolean y, uint32_t tag)
{
    if (x.kind == BOOL_CONST)
        return x.val ? y : x;
    if (y.kind == BOOL_CONST)
        return y.val ? x : y;
    if (x.kind == BOOL_NOT && y.kind == BOOL_IS) {
        boolean t = x;
        x = y;
        y = t;
    }
    bool val = x.val & y.val;
    r1cs_var r = cs_alloc_bit_tagged(c, val, tag);
    if (cs_is_shape(c)) {
        raw_side(c, CS_A, x);
        raw_side(c, CS_B, y);
        cs_term_one(c, CS_C, r);
        cs_end_row(c);
    }
    return boolean_is(r, val);
}

boolean boolean_and(cs *c, boolean x, boolean y, uint32_t bit)
{
    return and_tagged(c, x, y, tag_of(bit, false));
}

/* not (x and y), where `bit` addresses the negated (logical) result. */
static boolean nand(cs *c, boolean x, boolean y, uint32_t bit)
{
    return boolean_not(and_tagged(c, x, y, tag_of(bit, true)));
}

static bool is_const(boolean b, bool v) { return b.kind == BOOL_CONST && b.val == v; }

boolean boolean_ch(cs *c, boolean x, boolean y, boolean z, uint32_t bit)
{
    bool val = x.val ? y.val : z.val;
    if (x.kind == BOOL_CONST && y.kind == BOOL_CONST && z.kind == BOOL_CONST)
        return boolean_const(val);
    if (is_const(x, false))
        return z;
    if (is_const(y, false))
        return boolean_and(c, boolean_not(x), z, bit);
    if (is_const(z, false))
        return boolean_and(c, x, y, bit);
    if (is_const(z, true))
        return nand(c, x, boolean_not(y), bit);
    if (is_const(y, true))
        return nand(c, boolean_not(x), boolean_not(z), bit);
    r1cs_var r = cs_alloc_bit_tagged(c, val, tag_of(bit, false));
    if (cs_is_shape(c)) {
        boolean_term(c, CS_A, &FR_ONE, y);
        fr minus;
        fr_neg(&minus, &FR_ONE);
        boolean_term(c, CS_A, &minus, z);
        boolean_term(c, CS_B, &FR_ONE, x);
        cs_term_one(c, CS_C, r);
        boolean_term(c, CS_C, &minus, z);
        cs_end_row(c);
    }
    return boolean_is(r, val);
}

boolean boolean_maj(cs *c, boolean x, boolean y, boolean z, uint32_t bit, uint32_t bit_bc)
{
    bool val = (x.val & y.val) ^ (x.val & z.val) ^ (y.val & z.val);
    if (x.kind == BOOL_CONST && y.kind == BOOL_CONST && z.kind == BOOL_CONST)
        return boolean_const(val);
    if (is_const(x, false))
        return boolean_and(c, y, z, bit);
    if (is_const(y, false))
        return boolean_and(c, x, z, bit);
    if (is_const(z, false))
        return boolean_and(c, x, y, bit);
    if (is_const(z, true))
        return nand(c, boolean_not(x), boolean_not(y), bit);
    if (is_const(y, true))
        return nand(c, boolean_not(x), boolean_not(z), bit);
    if (is_const(x, true))
        return nand(c, boolean_not(y), boolean_not(z), bit);
    r1cs_var r = cs_alloc_bit_tagged(c, val, tag_of(bit, false));
    boolean bc = boolean_and(c, y, z, bit_bc);
    if (cs_is_shape(c)) {
        fr minus;
        fr_neg(&minus, &FR_ONE);
        boolean_term(c, CS_A, &FR_ONE, bc);
        boolean_term(c, CS_A, &FR_ONE, bc);
        boolean_term(c, CS_A, &minus, y);
        boolean_term(c, CS_A, &minus, z);
        boolean_term(c, CS_B, &FR_ONE, x);
        boolean_term(c, CS_C, &FR_ONE, bc);
        cs_term_minus(c, CS_C, r);
        cs_end_row(c);
    }
    return boolean_is(r, val);
}
