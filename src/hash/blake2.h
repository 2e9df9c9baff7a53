/* BLAKE2 (RFC 7693) through OpenSSL. */
#ifndef HASH_BLAKE2_H
#define HASH_BLAKE2_H
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>
typedef struct blake2 blake2;
typedef enum blake2_kind { BLAKE2S_256, BLAKE2B_512, BLAKE2B_256_KEYED } blake2_kind;
/* key/key_len only for the keyed kind (else NULL, 0). Memory: gives; release with blake2_destroy.
 * Errors: CUZK_E_NOMEM, CUZK_E_INTERNAL. */
CUZK_MUST_CHECK cuzk_status blake2_create(blake2 **out, blake2_kind kind, const void *key,
                                          size_t key_len);
void blake2_update(blake2 *b, const void *p, size_t n);
CUZK_MUST_CHECK cuzk_status blake2_final(blake2 *b, uint8_t *out); /* 32 or 64 bytes by kind */
void blake2_destroy(blake2 *b);
/* One-shot BLAKE2b-512 of short input, no allocation failure path visible: own small implementation
 * or EVP with a cached fetch. */
void blake2b_512(uint8_t out[64], const void *p, size_t n);
#endif
