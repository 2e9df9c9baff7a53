#include "hash/chacha.h"

#include <string.h>

#include "base/bytes.h"

static inline uint32_t rotl(uint32_t x, unsigned n) { return (x << n) | (x >> (32 - n)); }

static inline void quarter_round(uint32_t x[16], unsigned a, unsigned b, unsigned c, unsigned d)
{
    x[a] += x[b];
    x[d] = rotl(x[d] ^ x[a], 16);
    x[c] += x[d];
    x[b] = rotl(x[b] ^ x[c], 12);
    x[a] += x[b];
    x[d] = rotl(x[d] ^ x[a], 8);
    x[c] += x[d];
    x[b] = rotl(x[b] ^ x[c], 7);
}

void chacha_block(uint8_t out[64], const uint32_t state[16], uint32_t n_rounds)
{
    uint32_t x[16];
    memcpy(x, state, sizeof x);
    for (uint32_t r = 0; r < n_rounds; r += 2) {
        quarter_round(x, 0, 4, 8, 12);
        quarter_round(x, 1, 5, 9, 13);
        quarter_round(x, 2, 6, 10, 14);
        quarter_round(x, 3, 7, 11, 15);
        quarter_round(x, 0, 5, 10, 15);
        quarter_round(x, 1, 6, 11, 12);
        quarter_round(x, 2, 7, 8, 13);
        quarter_round(x, 3, 4, 9, 14);
    }
    for (unsigned i = 0; i < 16; i++)
        store_le32(out + 4 * i, x[i] + state[i]);
}

static void init_key(chacha *c, const uint8_t key[32], uint32_t n_rounds)
{
    static const char sigma[17] = "expand 32-byte k";
    memset(c, 0, sizeof *c);
    for (unsigned i = 0; i < 4; i++)
        c->state[i] = load_le32((const uint8_t *)sigma + 4 * i);
    for (unsigned i = 0; i < 8; i++)
        c->state[4 + i] = load_le32(key + 4 * i);
    c->n_rounds = n_rounds;
    c->n_used = sizeof c->block;
}

void chacha_init_rand(chacha *c, const uint8_t key[32], uint64_t stream, uint32_t n_rounds)
{
    init_key(c, key, n_rounds);
    c->state[14] = (uint32_t)stream;
    c->state[15] = (uint32_t)(stream >> 32);
}

void chacha_init_ietf(chacha *c, const uint8_t key[32], uint32_t counter, const uint8_t nonce[12],
                      uint32_t n_rounds)
{
    init_key(c, key, n_rounds);
    c->counter_is_32 = true;
    c->state[12] = counter;
    for (unsigned i = 0; i < 3; i++)
        c->state[13 + i] = load_le32(nonce + 4 * i);
}

void chacha_seek_block(chacha *c, uint64_t block_idx)
{
    c->state[12] = (uint32_t)block_idx;
    if (!c->counter_is_32)
        c->state[13] = (uint32_t)(block_idx >> 32);
    c->n_used = sizeof c->block;
}

static void next_block(chacha *c, uint8_t out[64])
{
    chacha_block(out, c->state, c->n_rounds);
    if (++c->state[12] == 0 && !c->counter_is_32)
        c->state[13]++;
}

void chacha_keystream(chacha *c, void *out, size_t n)
{
    uint8_t *p = out;
    size_t n_left = sizeof c->block - c->n_used;
    size_t n_now = n < n_left ? n : n_left;
    memcpy(p, c->block + c->n_used, n_now);
    c->n_used += (uint32_t)n_now;
    p += n_now;
    n -= n_now;
    for (; n >= sizeof c->block; p += sizeof c->block, n -= sizeof c->block)
        next_block(c, p);
    if (n > 0) {
        next_block(c, c->block);
        memcpy(p, c->block, n);
        c->n_used = (uint32_t)n;
    }
}

uint32_t chacha_next_u32(chacha *c)
{
    uint8_t b[4];
    chacha_keystream(c, b, sizeof b);
    return load_le32(b);
}

uint64_t chacha_next_u64(chacha *c)
{
    uint8_t b[8];
    chacha_keystream(c, b, sizeof b);
    return load_le64(b);
}
