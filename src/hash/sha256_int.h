/* The two compression functions behind sha256_compress; for the tests that compare them. */
#ifndef HASH_SHA256_INT_H
#define HASH_SHA256_INT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void sha256_compress_portable(uint32_t h[8], const uint8_t *blocks, size_t n_blocks);
/* x86-64 SHA extensions; call only where sha256_has_ni(). */
void sha256_compress_ni(uint32_t h[8], const uint8_t *blocks, size_t n_blocks);
bool sha256_has_ni(void);
#endif
