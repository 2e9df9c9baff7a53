/* Boolean gadgets (circuits.md B.1). A boolean is a constant, an allocated bit, or the negation of
 * one; NOT is free. */
#ifndef GADGET_BOOLEAN_H
#define GADGET_BOOLEAN_H
#include "r1cs/cs.h"

typedef enum bool_kind { BOOL_CONST, BOOL_IS, BOOL_NOT } bool_kind;
/* val is the logical value (constants: always; others: in witness modes). */
typedef struct boolean {
    r1cs_var var;
    uint8_t kind, val;
} boolean;

static inline boolean boolean_const(bool v) { return (boolean){0, BOOL_CONST, v}; }
static inline boolean boolean_is(r1cs_var var, bool v) { return (boolean){var, BOOL_IS, v}; }
static inline boolean boolean_not(boolean b)
{
    if (b.kind == BOOL_CONST)
        return boolean_const(!b.val);
    return (boolean){b.var, b.kind == BOOL_IS ? BOOL_NOT : BOOL_IS, !b.val};
}

/* Allocate a bit with its booleanity row (1 - a) * a = 0. */
boolean boolean_alloc(cs *c, bool val);
boolean boolean_alloc_tagged(cs *c, bool val, uint32_t tag);
/* Add coeff * b to a side of the current row. */
void boolean_term(cs *c, cs_side side, const fr *coeff, boolean b);
/* tag: bit address of the result's logical value in the native trace (cs.h), or BOOL_NO_TAG. */
#define BOOL_NO_TAG UINT32_MAX
boolean boolean_xor(cs *c, boolean x, boolean y, uint32_t bit);
boolean boolean_and(cs *c, boolean x, boolean y, uint32_t bit);
/* (a and b) xor (not a and c); majority of a, b, c with `bit_bc` the address of b and c. */
boolean boolean_ch(cs *c, boolean x, boolean y, boolean z, uint32_t bit);
boolean boolean_maj(cs *c, boolean x, boolean y, boolean z, uint32_t bit, uint32_t bit_bc);
/* n bits of v, least significant first, each with its booleanity row. */
void boolean_alloc_u64(cs *c, boolean *out, uint32_t n, uint64_t v);
#endif
