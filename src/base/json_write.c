#include "base/json_write.h"
#include "base/mem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void json_write_init(json_writer *w, FILE *file, bool pretty)
{
    *w = (json_writer){.file = file, .pretty = pretty};
}

void json_write_fini(json_writer *w)
{
    mem_free(w->buf);
    *w = (json_writer){0};
}

static void fail(json_writer *w, cuzk_code code)
{
    if (w->failed == CUZK_OK)
        w->failed = code;
}

static void emit(json_writer *w, const char *s, size_t n)
{
    if (w->failed != CUZK_OK)
        return;
    if (w->file) {
        if (n > 0 && fwrite(s, 1, n, w->file) != n)
            fail(w, CUZK_E_IO);
        return;
    }
    if (w->cap - w->len <= n) { /* one byte stays free for the NUL */
        size_t cap = w->cap * 2 + n + 64;
        char *p = mem_realloc(w->buf, w->cap, cap);
        if (!p) {
            fail(w, CUZK_E_NOMEM);
            return;
        }
        w->buf = p;
        w->cap = cap;
    }
    memcpy(w->buf + w->len, s, n);
    w->len += n;
}

static void newline(json_writer *w)
{
    static const char spaces[2 * JSON_WRITE_MAX_DEPTH + 1] =
        "                                                                ";
    if (!w->pretty)
        return;
    emit(w, "\n", 1);
    emit(w, spaces, 2 * (size_t)w->depth);
}

/* Comma and line end in front of an element or key. */
static void separate(json_writer *w)
{
    uint32_t bit = (uint32_t)1 << w->depth;
    if (w->has_elem & bit) {
        if (w->depth == 0)
            fail(w, CUZK_E_INTERNAL); /* second document */
        emit(w, ",", 1);
    }
    w->has_elem |= bit;
    if (w->depth > 0)
        newline(w);
}

static void before_value(json_writer *w)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    if (w->is_obj & (uint32_t)1 << w->depth)
        fail(w, CUZK_E_INTERNAL); /* member without a key */
    separate(w);
}

static void begin(json_writer *w, bool obj)
{
    before_value(w);
    if (w->depth + 1 >= JSON_WRITE_MAX_DEPTH) {
        fail(w, CUZK_E_INTERNAL);
        return;
    }
    emit(w, obj ? "{" : "[", 1);
    w->depth++;
    uint32_t bit = (uint32_t)1 << w->depth;
    w->has_elem &= ~bit;
    w->is_obj = obj ? w->is_obj | bit : w->is_obj & ~bit;
}

static void end(json_writer *w, bool obj)
{
    uint32_t bit = (uint32_t)1 << w->depth;
    if (w->depth == 0 || w->after_key || obj != !!(w->is_obj & bit)) {
        fail(w, CUZK_E_INTERNAL);
        return;
    }
    w->depth--;
    if (w->has_elem & bit)
        newline(w);
    emit(w, obj ? "}" : "]", 1);
}

void json_begin_object(json_writer *w) { begin(w, true); }

void json_end_object(json_writer *w) { end(w, true); }

void json_begin_array(json_writer *w) { begin(w, false); }

void json_end_array(json_writer *w) { end(w, false); }

/* Length of the well-formed UTF-8 sequence at s (RFC 3629), 0 when there is none. */
static size_t utf8_len(const unsigned char *s, size_t n)
{
    unsigned char c = s[0];
    size_t k = c < 0x80                 ? 1
               : c >= 0xc2 && c <= 0xdf ? 2
               : c >= 0xe0 && c <= 0xef ? 3
               : c >= 0xf0 && c <= 0xf4 ? 4
                                        : 0;
    if (k == 0 || k > n)
        return 0;
    for (size_t i = 1; i < k; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] > 0x9f) || (c == 0xf0 && s[1] < 0x90) ||
        (c == 0xf4 && s[1] > 0x8f))
        return 0;
    return k;
}

static void emit_string(json_writer *w, const char *str, size_t n)
{
    const unsigned char *s = (const unsigned char *)str;
    emit(w, "\"", 1);
    size_t i = 0;
    while (i < n) {
        size_t plain = i;
        size_t k = 1;
        while (plain < n && s[plain] >= 0x20 && s[plain] != '"' && s[plain] != '\\' &&
               (k = utf8_len(s + plain, n - plain)) != 0)
            plain += k;
        emit(w, str + i, plain - i);
        i = plain;
        if (i == n)
            break;
        char esc[8];
        if (s[i] == '"' || s[i] == '\\')
            emit(w, esc, (size_t)snprintf(esc, sizeof esc, "\\%c", s[i]));
        else if (s[i] == '\n')
            emit(w, "\\n", 2);
        else if (s[i] == '\t')
            emit(w, "\\t", 2);
        else
            emit(w, esc,
                 (size_t)snprintf(esc, sizeof esc, "\\u%04x", s[i] < 0x20 ? s[i] : 0xfffdu));
        i++;
    }
    emit(w, "\"", 1);
}

void json_key(json_writer *w, const char *key)
{
    if (w->after_key || !(w->is_obj & (uint32_t)1 << w->depth))
        fail(w, CUZK_E_INTERNAL);
    separate(w);
    emit_string(w, key, strlen(key));
    emit(w, ": ", w->pretty ? 2 : 1);
    w->after_key = true;
}

void json_strn(json_writer *w, const char *s, size_t n)
{
    before_value(w);
    emit_string(w, s, n);
}

void json_str(json_writer *w, const char *s)
{
    if (s)
        json_strn(w, s, strlen(s));
    else
        json_null(w);
}

void json_u64(json_writer *w, uint64_t v)
{
    char buf[24];
    before_value(w);
    emit(w, buf, (size_t)snprintf(buf, sizeof buf, "%llu", (unsigned long long)v));
}

void json_f64(json_writer *w, double v)
{
    char buf[40];
    before_value(w);
    if (!isfinite(v)) {
        emit(w, "null", 4);
        return;
    }
    int n = snprintf(buf, sizeof buf, "%.15g", v);
    if (strtod(buf, NULL) != v)
        n = snprintf(buf, sizeof buf, "%.17g", v);
    emit(w, buf, (size_t)n);
}

void json_bool(json_writer *w, bool v)
{
    before_value(w);
    emit(w, v ? "true" : "false", v ? 4 : 5);
}

void json_null(json_writer *w)
{
    before_value(w);
    emit(w, "null", 4);
}

void json_hex(json_writer *w, const void *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *p = bytes;
    before_value(w);
    emit(w, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        char two[2] = {digits[p[i] >> 4], digits[p[i] & 15]};
        emit(w, two, 2);
    }
    emit(w, "\"", 1);
}

cuzk_status json_write_finish(json_writer *w)
{
    if (w->depth != 0 || w->after_key || !(w->has_elem & 1))
        fail(w, CUZK_E_INTERNAL);
    if (w->file) {
        emit(w, "\n", 1);
        if (w->failed == CUZK_OK && fflush(w->file) != 0)
            fail(w, CUZK_E_IO);
    } else {
        emit(w, "", 0);
        if (w->failed == CUZK_OK)
            w->buf[w->len] = 0;
    }
    switch (w->failed) {
    case CUZK_OK:
        return cuzk_ok();
    case CUZK_E_NOMEM:
        return cuzk_fail(CUZK_E_NOMEM, "JSON output of %zu bytes", w->len);
    case CUZK_E_IO:
        return cuzk_fail(CUZK_E_IO, "writing JSON");
    default:
        return cuzk_fail(CUZK_E_INTERNAL, "JSON writer misused at depth %u", w->depth);
    }
}

void json_kv_str(json_writer *w, const char *key, const char *s)
{
    json_key(w, key);
    json_str(w, s);
}

void json_kv_u64(json_writer *w, const char *key, uint64_t v)
{
    json_key(w, key);
    json_u64(w, v);
}

void json_kv_f64(json_writer *w, const char *key, double v)
{
    json_key(w, key);
    json_f64(w, v);
}

void json_kv_bool(json_writer *w, const char *key, bool v)
{
    json_key(w, key);
    json_bool(w, v);
}

void json_kv_hex(json_writer *w, const char *key, const void *bytes, size_t n)
{
    json_key(w, key);
    json_hex(w, bytes, n);
}
