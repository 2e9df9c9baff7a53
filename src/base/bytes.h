/* Byte order, hex and a bounds-checked reader. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H
#include <string.h>
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint32_t load_be32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return __builtin_bswap32(v);
}
static inline uint64_t load_be64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return __builtin_bswap64(v);
}
static inline uint32_t load_le32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline uint64_t load_le64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}
static inline void store_be32(uint8_t *p, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(p, &v, 4);
}
static inline void store_be64(uint8_t *p, uint64_t v)
{
    v = __builtin_bswap64(v);
    memcpy(p, &v, 8);
}
static inline void store_le32(uint8_t *p, uint32_t v) { memcpy(p, &v, 4); }
static inline void store_le64(uint8_t *p, uint64_t v) { memcpy(p, &v, 8); }

/* Reads forward through [p, p + len). The first failed read makes every later one fail; check once
 * with reader_finish. */
typedef struct reader {
    const uint8_t *p;
    size_t len, pos;
    bool failed;
    const char *what;
} reader;
reader reader_make(const void *p, size_t len, const char *what); /* borrows p and what */
uint8_t reader_u8(reader *r);
uint32_t reader_le32(reader *r);
uint32_t reader_be32(reader *r);
uint64_t reader_le64(reader *r);
const uint8_t *reader_bytes(reader *r, size_t n); /* NULL when fewer are left */
size_t reader_left(const reader *r);
/* Errors: CUZK_E_INPUT names `what`, the offset and the length when a read ran past the end. */
CUZK_MUST_CHECK cuzk_status reader_finish(const reader *r);

/* Lower-case hex; out has room for 2 * n + 1 chars. */
void hex_encode(char *out, const void *bytes, size_t n);
/* Value of a hex digit of either case, or -1. */
int hex_digit(char c);
/* Exactly 2 * n hex digits of either case (no prefix); false otherwise. */
bool hex_decode(void *out, size_t n, const char *hex, size_t hex_len);
/* Standard base64 (RFC 4648): padding required, no line breaks, unused bits zero. Output size:
 * base64_max(len).
 * Errors: CUZK_E_INPUT names `field`, the offset and the character. */
static inline size_t base64_max(size_t len) { return len / 4 * 3 + 3; }
CUZK_MUST_CHECK cuzk_status base64_decode(uint8_t *out, size_t *out_len, const char *s, size_t len,
                                          const char *field);
#endif
