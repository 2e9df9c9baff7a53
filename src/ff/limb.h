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
/* One 64-bit move. Left alone, gcc joins neighbouring limbs to 16-byte vector moves; a vector load
 * of limbs just stored one by one cannot be forwarded from the store buffer and stalls, which
 * trebles the time of an addition. */
static inline uint64_t limb_load(const uint64_t *p)
{
#if defined(__x86_64__)
    uint64_t v;
    __asm__("movq %1, %0" : "=r"(v) : "m"(*p));
    return v;
#else
    return *p;
#endif
}

static inline void limb_store(uint64_t *p, uint64_t v)
{
#if defined(__x86_64__)
    __asm__("movq %1, %0" : "=m"(*p) : "r"(v));
#else
    *p = v;
#endif
}
#endif
