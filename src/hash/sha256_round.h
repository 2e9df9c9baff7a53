/* The word functions of FIPS 180-4, section 4.1.2. */
#ifndef HASH_SHA256_ROUND_H
#define HASH_SHA256_ROUND_H
#include <stdint.h>

static inline uint32_t sha256_rotr(uint32_t x, unsigned n) { return (x >> n) | (x << (32 - n)); }

static inline uint32_t sha256_ch(uint32_t e, uint32_t f, uint32_t g) { return g ^ (e & (f ^ g)); }

static inline uint32_t sha256_maj(uint32_t a, uint32_t b, uint32_t c)
{
    return (a & (b ^ c)) ^ (b & c);
}
#endif
