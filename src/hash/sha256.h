/* SHA-256 (FIPS 180-4), also handing out the intermediate words the circuit needs. */
#ifndef HASH_SHA256_H
#define HASH_SHA256_H
#include <stddef.h>
#include <stdint.h>
extern const uint32_t SHA256_IV[8], SHA256_K[64];

typedef struct sha256_ctx {
    uint32_t h[8];
    uint64_t n_bytes;
    uint8_t buf[64];
} sha256_ctx;
void sha256_init(sha256_ctx *c);
void sha256_update(sha256_ctx *c, const void *p, size_t n);
void sha256_final(sha256_ctx *c, uint8_t out[32]);
void sha256(uint8_t out[32], const void *p, size_t n);
/* n_blocks compressions of 64-byte blocks; SHA-NI when present (sha256_impl says "sha-ni" or
 * "portable"). */
void sha256_compress(uint32_t h[8], const uint8_t *blocks, size_t n_blocks);
const char *sha256_impl(void);

/* Every word a compression goes through. Full sums are 64-bit because the circuit allocates the
 * carry bits too: w_sum[i] (i in 16..63) = w[i-16] + s0 + w[i-7] + s1; e_sum[i], a_sum[i] (i in
 * 1..63) are the sums that form E and A at the START of round i from the deferred lists of round
 * i-1 (6 and 7 operands of circuits.md B.5; index 0 unused); out_sum[0..7] the final additions (h0
 * of 8 operands, h4 of 7, others of 2). The 32-bit words: the sums' low halves. */
typedef struct sha256_trace {
    uint32_t w[64];
    uint64_t w_sum[64];
    uint64_t e_sum[64], a_sum[64];
    uint32_t e[64], a[64]; /* E and A as used in round i */
    /* message schedule sigmas, i in 16..63: final xor values */
    uint32_t s0w[64], s1w[64];
    uint32_t s0w_t[64], s1w_t[64]; /* first xor of each: rotr7^rotr18, rotr17^rotr19 */
    uint32_t S1[64], S1_t[64], S0[64], S0_t[64]; /* Sigma1(E), Sigma0(A) and their first xor */
    uint32_t ch[64], maj[64], maj_bc[64];        /* maj_bc = b & c */
    uint64_t out_sum[8];
    uint32_t out[8];
} sha256_trace;
void sha256_compress_trace(sha256_trace *t, const uint32_t h_in[8], const uint32_t block_words[16]);
#endif
