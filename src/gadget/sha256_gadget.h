/* SHA-256 as a circuit (circuits.md B.4, B.5, B.9). */
#ifndef GADGET_SHA256_GADGET_H
#define GADGET_SHA256_GADGET_H
#include "gadget/num.h"

/* 32 booleans, least significant first. */
typedef struct word32 {
    boolean b[32];
} word32;

/* One compression as a template: state and block words to out words. In fast witness mode the bits
 * come from the native compression. */
void sha256_gadget_compress(cs *c, word32 out[8], const word32 state[8], const word32 block[16]);
/* Padding, then a compression per block. bits: n (a multiple of 8) booleans in stream order, most
 * significant bit of each byte first; out: 256 booleans in the same order. */
void sha256_gadget(cs *c, boolean out[256], const boolean *bits, uint32_t n);
/* Reverse the bit order inside each byte; n (padded by constant zeros to a multiple of 8) <= 256.
 * Returns the padded length. */
uint32_t sha256_gadget_reverse_bytes(boolean *out, const boolean *bits, uint32_t n);
/* Sha256Hasher's hash of two nums (tree D): bits of both, digest packed to 254 bits. */
num sha256_gadget_hash2(cs *c, const num *a, const num *b);
/* 32 constant bits of v in stream order. */
void sha256_gadget_const_be(boolean out[32], uint32_t v);
#endif
