/* What the G1 and G2 encodings have in common; private to src/ec. */
#ifndef EC_EC_CODEC_H
#define EC_EC_CODEC_H
#include "ec/g1.h"

/* Flags of byte 0 in the encodings of the ZCash protocol specification (section 5.4.9.2) and of the
 * zkcrypto pairing library. */
#define EC_FLAG_COMPRESSED 0x80u
#define EC_FLAG_INFINITY 0x40u
#define EC_FLAG_Y_LARGER 0x20u
#define EC_FLAG_MASK 0xe0u

/* Check the flag bits of an encoding of n bytes and, for an infinity, that nothing else is set. On
 * success *is_inf tells. */
CUZK_MUST_CHECK cuzk_status ec_check_flags(bool *is_inf, const char *what, const uint8_t *b,
                                           size_t n, bool want_compressed, bool allow_inf);
#endif
