/* UTF-8: one character at a time. */
#include "base/utf8.h"
#include <stdint.h>
#include <string.h>

size_t utf8_char_bytes(const uint8_t *p, size_t left)
{
    size_t n = p[0] < 0x80   ? 1
               : p[0] < 0xc2 ? 0
               : p[0] < 0xe0 ? 2
               : p[0] < 0xf0 ? 3
               : p[0] < 0xf5 ? 4
                             : 0;
    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool is_overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool is_outside = (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f);
    return n > 2 && (is_overlong || is_outside) ? 0 : n;
}

bool utf8_is_valid(const void *text, size_t len)
{
    const uint8_t *p = text;
    for (size_t i = 0, n; i < len; i += n)
        if ((n = utf8_char_bytes(p + i, len - i)) == 0)
            return false;
    return true;
}

void utf8_repair(char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len;) {
        size_t n = utf8_char_bytes((const uint8_t *)text + i, len - i);
        if (n == 0)
            text[i] = '?';
        i += n ? n : 1;
    }
}
