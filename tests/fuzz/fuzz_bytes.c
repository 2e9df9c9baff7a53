/* Base64 and hex: whatever decodes has exactly one spelling, so encoding it again must give the
 * input back. */
#include "base/bytes.h"
#include "base/mem.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static size_t base64_encode(char *out, const uint8_t *in, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = 0;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)in[i] << 16;
        v |= i + 1 < n ? (uint32_t)in[i + 1] << 8 : 0;
        v |= i + 2 < n ? in[i + 2] : 0;
        out[len++] = digits[v >> 18];
        out[len++] = digits[v >> 12 & 63];
        out[len++] = i + 1 < n ? digits[v >> 6 & 63] : '=';
        out[len++] = i + 2 < n ? digits[v & 63] : '=';
    }
    return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Exact sizes, so that the address sanitizer sees one byte too many. */
    char *text = mem_alloc(size, 16), *again = mem_alloc(2 * size + 8, 16);
    uint8_t *out = mem_alloc(base64_max(size), 16);
    if (!text || !again || !out)
        abort();
    memcpy(text, data, size);
    size_t len;
    if (base64_decode(out, &len, text, size, "fuzz").code == CUZK_OK) {
        require(len <= base64_max(size));
        require(base64_encode(again, out, len) == size && memcmp(again, text, size) == 0);
    }
    if (hex_decode(out, size / 2, text, size)) {
        hex_encode(again, out, size / 2);
        for (size_t i = 0; i < size; i++)
            require(again[i] == (text[i] >= 'A' && text[i] <= 'F' ? text[i] + 32 : text[i]));
    }
    mem_free(out);
    mem_free(again);
    mem_free(text);
    return 0;
}
