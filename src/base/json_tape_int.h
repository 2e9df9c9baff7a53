/* Private: the tape of a parsed document. */
#ifndef BASE_JSON_TAPE_INT_H
#define BASE_JSON_TAPE_INT_H
#include "base/json_read.h"

/* Tape words: kind in the low 4 bits, payload in the other 60.
 *   NULL FALSE TRUE      1 word
 *   UINT                 1 word, payload = value < 2^60
 * NUMTEXT              1 word, payload = text offset << 16 | min(length, 65535): every other number
 *   STRING               2 words, payload = length; word 1 = address of the bytes
 * BYTES                1 word, payload = n, then ceil(n / 8) words holding n bytes: a non-empty
 * array of integers 0..255
 * ARRAY OBJECT         2 words, payload = position behind the last child; word 1 = number of
 * elements or members.
 * Members are a STRING and a value. While open: payload = header of the parent + 1, word 1 = count
 * so
 *                        far, with bit 63 set once a child is not an integer 0..255. */
enum { T_NULL, T_FALSE, T_TRUE, T_UINT, T_NUMTEXT, T_STRING, T_BYTES, T_ARRAY, T_OBJECT };
#define KIND_BITS 4
#define NOT_BYTES ((uint64_t)1 << 63)
#define TAPE_NONE ((size_t)-1)

static inline uint64_t tape_word(unsigned kind, uint64_t payload)
{
    return payload << KIND_BITS | kind;
}

static inline unsigned tape_kind_of(uint64_t w) { return w & 15; }

static inline uint64_t tape_payload_of(uint64_t w) { return w >> KIND_BITS; }
#endif
