/* 64-bit limb helpers with explicit carries. */
#ifndef FF_LIMB_H
#define FF_LIMB_H
#include <stdint.h>

__extension__ typedef unsigned __int128 limb2;

/* a + b + *carry; *carry becomes the carry out (0 or 1). */
static inline uint64_t limb_adc(uint64_t a, uint64_t b, uint64_t *carry)
{
    limb2 s = (limb2)a + b + *carry;
    *carry = (uint64_t)(s >> 64);
    return (uint64_t)s;
}

/* a - b - *borrow; *borrow becomes the borrow out (0 or 1). */
static inline uint64_t limb_sbb(uint64_t a, uint64_t b, uint64_t *borrow)
{
    limb2 d = (limb2)a - b - *borrow;
    *borrow = (uint64_t)(d >> 64) & 1;
    return (uint64_t)d;
}
#endif
