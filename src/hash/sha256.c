/* SHA-256 (FIPS 180-4): constants, dispatch and the streaming interface. */
#include "hash/sha256.h"

#include <string.h>

#include "base/bytes.h"
#include "hash/sha256_int.h"

/* First 32 fractional bits of the square roots of the first 8 primes (FIPS 180-4, 5.3.3). */
const uint32_t SHA256_IV[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

/* First 32 fractional bits of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2). */
const uint32_t SHA256_K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

void sha256_compress(uint32_t h[8], const uint8_t *blocks, size_t n_blocks)
{
    if (sha256_has_ni())
        sha256_compress_ni(h, blocks, n_blocks);
    else
        sha256_compress_portable(h, blocks, n_blocks);
}

const char *sha256_impl(void) { return sha256_has_ni() ? "sha-ni" : "portable"; }

void sha256_init(sha256_ctx *c)
{
    memcpy(c->h, SHA256_IV, sizeof c->h);
    c->n_bytes = 0;
}

void sha256_update(sha256_ctx *c, const void *p, size_t n)
{
    const uint8_t *src = p;
    size_t n_held = (size_t)(c->n_bytes % 64);
    c->n_bytes += n;
    if (n_held > 0) {
        size_t n_now = n < 64 - n_held ? n : 64 - n_held;
        memcpy(c->buf + n_held, src, n_now);
        if (n_held + n_now < 64)
            return;
        sha256_compress(c->h, c->buf, 1);
        src += n_now;
        n -= n_now;
    }
    if (n >= 64)
        sha256_compress(c->h, src, n / 64);
    if (n % 64 > 0)
        memcpy(c->buf, src + (n - n % 64), n % 64);
}

void sha256_final(sha256_ctx *c, uint8_t out[32])
{
    size_t n_held = (size_t)(c->n_bytes % 64);
    c->buf[n_held++] = 0x80;
    if (n_held > 56) {
        memset(c->buf + n_held, 0, 64 - n_held);
        sha256_compress(c->h, c->buf, 1);
        n_held = 0;
    }
    memset(c->buf + n_held, 0, 56 - n_held);
    store_be64(c->buf + 56, c->n_bytes * 8);
    sha256_compress(c->h, c->buf, 1);
    for (unsigned i = 0; i < 8; i++)
        store_be32(out + 4 * i, c->h[i]);
}

void sha256(uint8_t out[32], const void *p, size_t n)
{
    sha256_ctx c;
    sha256_init(&c);
    sha256_update(&c, p, n);
    sha256_final(&c, out);
}
