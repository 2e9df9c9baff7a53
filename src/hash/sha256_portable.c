/* SHA-256 compression in plain C (FIPS 180-4, 6.2.2). */
#include <string.h>

#include "base/bytes.h"
#include "hash/sha256.h"
#include "hash/sha256_int.h"
#include "hash/sha256_round.h"

static inline uint32_t sigma(uint32_t x, unsigned r1, unsigned r2, unsigned r3)
{
    return sha256_rotr(x, r1) ^ sha256_rotr(x, r2) ^ sha256_rotr(x, r3);
}

static void compress_one(uint32_t h[8], const uint8_t block[64])
{
    uint32_t w[64];
    for (unsigned i = 0; i < 16; i++)
        w[i] = load_be32(block + 4 * i);
    for (unsigned i = 16; i < 64; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + (sha256_rotr(x, 7) ^ sha256_rotr(x, 18) ^ (x >> 3)) + w[i - 7] +
               (sha256_rotr(y, 17) ^ sha256_rotr(y, 19) ^ (y >> 10));
    }
    uint32_t s[8];
    memcpy(s, h, sizeof s);
    for (unsigned i = 0; i < 64; i++) {
        uint32_t t1 =
            s[7] + sigma(s[4], 6, 11, 25) + sha256_ch(s[4], s[5], s[6]) + SHA256_K[i] + w[i];
        uint32_t t2 = sigma(s[0], 2, 13, 22) + sha256_maj(s[0], s[1], s[2]);
        s[7] = s[6];
        s[6] = s[5];
        s[5] = s[4];
        s[4] = s[3] + t1;
        s[3] = s[2];
        s[2] = s[1];
        s[1] = s[0];
        s[0] = t1 + t2;
    }
    for (unsigned i = 0; i < 8; i++)
        h[i] += s[i];
}

void sha256_compress_portable(uint32_t h[8], const uint8_t *blocks, size_t n_blocks)
{
    for (size_t i = 0; i < n_blocks; i++)
        compress_one(h, blocks + 64 * i);
}
