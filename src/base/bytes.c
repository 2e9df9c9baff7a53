/* Bounds-checked reader, hex and base64. */
#include "base/bytes.h"

reader reader_make(const void *p, size_t len, const char *what)
{
    return (reader){.p = p, .len = len, .what = what};
}

const uint8_t *reader_bytes(reader *r, size_t n)
{
    if (r->failed || r->len - r->pos < n) {
        r->failed = true;
        return NULL;
    }
    /* An empty input may have p == NULL; an empty read must still not look like a failed one. */
    const uint8_t *at = r->p ? r->p + r->pos : (const uint8_t *)"";
    r->pos += n;
    return at;
}

uint8_t reader_u8(reader *r)
{
    const uint8_t *p = reader_bytes(r, 1);
    return p ? *p : 0;
}

uint32_t reader_le32(reader *r)
{
    const uint8_t *p = reader_bytes(r, 4);
    return p ? load_le32(p) : 0;
}

uint32_t reader_be32(reader *r)
{
    const uint8_t *p = reader_bytes(r, 4);
    return p ? load_be32(p) : 0;
}

uint64_t reader_le64(reader *r)
{
    const uint8_t *p = reader_bytes(r, 8);
    return p ? load_le64(p) : 0;
}

size_t reader_left(const reader *r) { return r->failed ? 0 : r->len - r->pos; }

cuzk_status reader_finish(const reader *r)
{
    if (!r->failed)
        return cuzk_ok();
    return cuzk_bad_input(r->what, "more bytes", "the end at offset %zu of %zu bytes", r->pos,
                          r->len);
}

void hex_encode(char *out, const void *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[p[i] >> 4];
        out[2 * i + 1] = digits[p[i] & 15];
    }
    out[2 * n] = 0;
}

int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool hex_decode(void *out, size_t n, const char *hex, size_t hex_len)
{
    uint8_t *p = out;
    if (hex_len % 2 != 0 || hex_len / 2 != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        int hi = hex_digit(hex[2 * i]), lo = hex_digit(hex[2 * i + 1]);
        if (hi < 0 || lo < 0)
            return false;
        p[i] = (uint8_t)(hi << 4 | lo);
    }
    return true;
}

/* Value of a base64 digit (RFC 4648 table 1), or -1. */
static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

/* Decode the four digits at s + at, the last n_pad of which are '='. */
static cuzk_status decode_quad(uint8_t *out, const char *s, size_t at, unsigned n_pad,
                               const char *field)
{
    uint32_t v = 0;
    for (unsigned k = 0; k < 4; k++) {
        int d = k < 4 - n_pad ? base64_digit(s[at + k]) : 0;
        if (d < 0)
            return cuzk_bad_input(field, "a base64 character", "byte 0x%02x at offset %zu",
                                  (unsigned)(uint8_t)s[at + k], at + k);
        v = v << 6 | (uint32_t)d;
    }
    uint32_t unused = n_pad == 2 ? v & 0xffff : n_pad == 1 ? v & 0xff : 0;
    if (unused)
        return cuzk_bad_input(field, "zero bits after the last base64 byte",
                              "byte 0x%02x at offset %zu", (unsigned)(uint8_t)s[at + 3 - n_pad],
                              at + 3 - n_pad);
    for (unsigned k = 0; k < 3 - n_pad; k++)
        out[k] = (uint8_t)(v >> (16 - 8 * k));
    return cuzk_ok();
}

cuzk_status base64_decode(uint8_t *out, size_t *out_len, const char *s, size_t len,
                          const char *field)
{
    *out_len = 0;
    unsigned n_pad = 0;
    if (len >= 4 && len % 4 == 0 && s[len - 1] == '=')
        n_pad = s[len - 2] == '=' ? 2 : 1;
    size_t n_quads = len / 4;
    for (size_t i = 0; i < n_quads; i++) {
        unsigned pad_here = i + 1 == n_quads ? n_pad : 0;
        CUZK_TRY(decode_quad(out + 3 * i, s, 4 * i, pad_here, field));
    }
    /* Characters first, length second: a bad character is the more helpful message of the two. */
    if (len % 4 != 0)
        return cuzk_bad_input(field, "base64 padded to a multiple of 4",
                              "%zu characters at offset %zu", len, len);
    *out_len = 3 * n_quads - n_pad;
    return cuzk_ok();
}
