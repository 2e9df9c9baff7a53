/* The ChaCha stream (D. J. Bernstein, "ChaCha, a variant of Salsa20") with 8 or 20 rounds, as a
 * generator: ChaCha8 draws the DRG parents, ChaCha20 the synthetic challenges. No side-channel
 * claim beyond what the plain code gives; the keys here are public seeds. */
#ifndef HASH_CHACHA_H
#define HASH_CHACHA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Position in a stream. state[] is the next block's input; block[n_used..63] are bytes not handed
 * out yet. */
typedef struct chacha {
    uint32_t state[16];
    uint32_t n_rounds;
    /* RFC 8439: word 12 alone counts and wraps; else words 12 and 13 count together */
    bool counter_is_32;
    uint32_t n_used;
    uint8_t block[64];
} chacha;

/* One 64-byte block (16 words, little-endian) from an input state; n_rounds is even (8 or 20). */
void chacha_block(uint8_t out[64], const uint32_t state[16], uint32_t n_rounds);

/* rand_chacha's layout: 64-bit block counter in words 12 and 13 from 0, 64-bit stream id in 14 and
 * 15.
 * A 32-byte seed is the key and the stream id is 0 there. */
void chacha_init_rand(chacha *c, const uint8_t key[32], uint64_t stream, uint32_t n_rounds);
/* RFC 8439 layout: 32-bit block counter in word 12, 96-bit nonce in words 13 to 15. */
void chacha_init_ietf(chacha *c, const uint8_t key[32], uint32_t counter, const uint8_t nonce[12],
                      uint32_t n_rounds);
/* Continue from the start of a given block (drops what is buffered). The RFC 8439 form uses the low
 * 32 bits. */
void chacha_seek_block(chacha *c, uint64_t block_idx);

/* The next n key stream bytes. */
void chacha_keystream(chacha *c, void *out, size_t n);
/* The next 4 or 8 bytes as a little-endian number, as rand_chacha's next_u32 and next_u64 give
 * them. */
uint32_t chacha_next_u32(chacha *c);
uint64_t chacha_next_u64(chacha *c);
#endif
