/* One-shot BLAKE2b-512 (RFC 7693) of short input: the expander graph hashes 16 bytes three times
 * per parent and has no failure path, which EVP (it allocates) does not give. */
#include <string.h>

#include "base/bytes.h"
#include "hash/blake2.h"

/* RFC 7693, 2.6: the IV of SHA-512. */
static const uint64_t IV[8] = {
    0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u,
};

/* RFC 7693, 2.7. Rounds 10 and 11 use rows 0 and 1 again. */
static const uint8_t SIGMA[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static inline uint64_t rotr64(uint64_t x, unsigned n) { return (x >> n) | (x << (64 - n)); }

static inline void mix(uint64_t v[16], unsigned col, unsigned a, unsigned b, unsigned c, unsigned d,
                       const uint64_t m[16], const uint8_t s[16])
{
    v[a] += v[b] + m[s[2 * col]];
    v[d] = rotr64(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = rotr64(v[b] ^ v[c], 24);
    v[a] += v[b] + m[s[2 * col + 1]];
    v[d] = rotr64(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = rotr64(v[b] ^ v[c], 63);
}

static void compress(uint64_t h[8], const uint8_t block[128], uint64_t n_bytes_so_far, bool is_last)
{
    uint64_t m[16], v[16];
    for (unsigned i = 0; i < 16; i++)
        m[i] = load_le64(block + 8 * i);
    memcpy(v, h, 64);
    memcpy(v + 8, IV, 64);
    v[12] ^= n_bytes_so_far; /* the high half of the counter stays 0 below 2^64 bytes */
    v[14] ^= is_last ? ~(uint64_t)0 : 0;
    for (unsigned r = 0; r < 12; r++) {
        const uint8_t *s = SIGMA[r % 10];
        mix(v, 0, 0, 4, 8, 12, m, s);
        mix(v, 1, 1, 5, 9, 13, m, s);
        mix(v, 2, 2, 6, 10, 14, m, s);
        mix(v, 3, 3, 7, 11, 15, m, s);
        mix(v, 4, 0, 5, 10, 15, m, s);
        mix(v, 5, 1, 6, 11, 12, m, s);
        mix(v, 6, 2, 7, 8, 13, m, s);
        mix(v, 7, 3, 4, 9, 14, m, s);
    }
    for (unsigned i = 0; i < 8; i++)
        h[i] ^= v[i] ^ v[i + 8];
}

void blake2b_512(uint8_t out[64], const void *p, size_t n)
{
    const uint8_t *src = p;
    uint64_t h[8];
    memcpy(h, IV, sizeof h);
    h[0] ^= 0x01010000u ^ 64u; /* depth 1, fanout 1, no key, 64 bytes out (RFC 7693, 2.5) */
    size_t pos = 0;
    for (; n - pos > 128; pos += 128)
        compress(h, src + pos, pos + 128, false);
    uint8_t last[128] = {0};
    if (n > pos)
        memcpy(last, src + pos, n - pos);
    compress(h, last, n, true);
    for (unsigned i = 0; i < 8; i++)
        store_le64(out + 8 * i, h[i]);
}
