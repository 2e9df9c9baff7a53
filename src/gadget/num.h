/* Field element gadgets (circuits.md B.2, B.3, B.7, B.8). */
#ifndef GADGET_NUM_H
#define GADGET_NUM_H
#include "gadget/boolean.h"

#define NUM_BITS 255u
#define PACK_BITS 254u /* capacity of Fr */

num num_alloc(cs *c, const fr *val);
/* Public input equal to n: alloc_input x; row x * ONE = n. */
void num_inputize(cs *c, const num *n);
/* alloc p; row a * b = p. */
num num_mul(cs *c, const num *a, const num *b);
/* alloc s; row (a + b) * ONE = s. */
num num_add(cs *c, const num *a, const num *b);
/* row a * ONE = b. */
void num_enforce_equal(cs *c, const num *a, const num *b);
/* 255 bits of the canonical value, least significant first; a template. */
void num_to_bits_le(cs *c, boolean out[NUM_BITS], const num *n);
/* 255 bits and their boolean rows only (field_into_allocated_bits_le). */
void num_alloc_bits_le(cs *c, boolean out[NUM_BITS], const fr *val);
/* Add sum 2^i bits[i] to a side of the current row. */
void num_pow2_terms(cs *c, cs_side side, const boolean *bits, uint32_t n);
/* num of the first min(n, 254) bits, LSB first. */
num num_pack_bits(cs *c, const boolean *bits, uint32_t n);
/* One public input per 254 bits. */
void num_pack_into_inputs(cs *c, const boolean *bits, uint32_t n);
/* cond ? a : b; row (b - a) * cond = b - out. */
num num_pick(cs *c, boolean cond, const num *a, const num *b);
/* from[index], n = 2^n_bits, bits LSB first; scratch: n / 2 nums. */
num num_select(cs *c, const num *from, uint32_t n_bits, const boolean *bits, num *scratch);
/* out[n] = els with el put at the position given by the bits; n = 2, 4, 8 (16 for tests), els has n
 * - 1. */
void num_insert(cs *c, num *out, uint32_t n, const num *el, const boolean *bits, const num *els);
/* Canonical value of the first n <= 254 bits. */
void num_bits_value(fr *out, const boolean *bits, uint32_t n);
#endif
