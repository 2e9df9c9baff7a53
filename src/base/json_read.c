#include "base/json_read.h"
#include "base/mem.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

/* Tape words: kind in the low 4 bits, payload in the other 60.
 *   NULL FALSE TRUE      1 word
 *   UINT                 1 word, payload = value < 2^60
 *   NUMTEXT              1 word, payload = text offset << 16 | min(length, 65535): every other number
 *   STRING               2 words, payload = length; word 1 = address of the bytes
 *   BYTES                1 word, payload = n, then ceil(n / 8) words holding n bytes: a non-empty array of integers 0..255
 *   ARRAY OBJECT         2 words, payload = position behind the last child; word 1 = number of elements or members.
 *                        Members are a STRING and a value. While open: payload = header of the parent + 1, word 1 = count so
 *                        far, with bit 63 set once a child is not an integer 0..255. */
enum { T_NULL, T_FALSE, T_TRUE, T_UINT, T_NUMTEXT, T_STRING, T_BYTES, T_ARRAY, T_OBJECT };
#define KIND_BITS 4
#define NOT_BYTES ((uint64_t)1 << 63)
#define TAPE_NONE ((size_t)-1)

static uint64_t word(unsigned kind, uint64_t payload)
{
    return payload << KIND_BITS | kind;
}

static unsigned kind_of(uint64_t w)
{
    return w & 15;
}

static uint64_t payload_of(uint64_t w)
{
    return w >> KIND_BITS;
}

/* ---- parsing ---- */

typedef struct builder {
    json_doc *doc;
    size_t open; /* header of the innermost open container, TAPE_NONE at the top */
    unsigned depth;
    cuzk_status st;
} builder;

static bool grow(builder *b)
{
    json_doc *d = b->doc;
    size_t cap = d->cap_words + d->cap_words / 2 + 64;
    uint64_t *p = mem_realloc(d->tape, d->cap_words * sizeof *p, cap * sizeof *p);
    if (!p) {
        b->st = cuzk_fail(CUZK_E_NOMEM, "JSON tape of %zu bytes", cap * sizeof *p);
        return false;
    }
    d->tape = p;
    d->cap_words = cap;
    return true;
}

/* Room for n <= 2 more words. */
static inline bool reserve(builder *b, size_t n)
{
    return b->doc->cap_words - b->doc->n_words >= n || grow(b);
}

/* Count a value into its container. Object members are counted by their keys. */
static inline void count_value(builder *b, uint64_t not_bytes)
{
    if (b->open == TAPE_NONE)
        return;
    uint64_t *hdr = b->doc->tape + b->open;
    if (kind_of(hdr[0]) == T_ARRAY)
        hdr[1] = (hdr[1] + 1) | not_bytes;
}

static inline int push1(builder *b, uint64_t w, uint64_t not_bytes)
{
    if (!reserve(b, 1))
        return 0;
    count_value(b, not_bytes);
    b->doc->tape[b->doc->n_words++] = w;
    return 1;
}

static int on_null(void *ctx)
{
    return push1(ctx, word(T_NULL, 0), NOT_BYTES);
}

static int on_bool(void *ctx, int v)
{
    return push1(ctx, word(v ? T_TRUE : T_FALSE, 0), NOT_BYTES);
}

/* Plain decimal digits below 2^60, no sign, no leading zero; anything else keeps its text. */
static bool small_uint(uint64_t *out, const char *s, size_t n)
{
    if (n == 0 || n > 18 || (n > 1 && s[0] == '0'))
        return false;
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned d = (unsigned)(unsigned char)s[i] - '0';
        if (d > 9)
            return false;
        v = v * 10 + d;
    }
    *out = v;
    return v < (uint64_t)1 << 60;
}

static int on_number(void *ctx, const char *s, size_t n)
{
    builder *b = ctx;
    uint64_t v;
    if (small_uint(&v, s, n))
        return push1(b, word(T_UINT, v), v > 255 ? NOT_BYTES : 0);
    /* YAJL copies a number out only when it ends the text (a number at the top level). */
    const json_doc *d = b->doc;
    size_t off = s >= d->text && s < d->text + d->len ? (size_t)(s - d->text) : d->len - (n < d->len ? n : d->len);
    return push1(b, word(T_NUMTEXT, (uint64_t)off << 16 | (n < 65535 ? n : 65535)), NOT_BYTES);
}

/* YAJL lets overlong forms, surrogates and values above U+10FFFF through; RFC 3629 does not. */
static bool is_utf8(const unsigned char *s, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint64_t eight;
        if (n - i >= sizeof eight && (memcpy(&eight, s + i, sizeof eight), (eight & 0x8080808080808080u) == 0)) {
            i += sizeof eight; /* all ASCII: a wrapped proof is one string of 80 MB */
            continue;
        }
        unsigned char c = s[i];
        if (c < 0x80) {
            i++;
            continue;
        }
        size_t k = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
        if (c < 0xc2 || c > 0xf4 || n - i <= k)
            return false;
        for (size_t j = 1; j <= k; j++)
            if ((s[i + j] & 0xc0) != 0x80)
                return false;
        unsigned char c1 = s[i + 1];
        if ((c == 0xe0 && c1 < 0xa0) || (c == 0xed && c1 > 0x9f) || (c == 0xf0 && c1 < 0x90) || (c == 0xf4 && c1 > 0x8f))
            return false;
        i += k + 1;
    }
    return true;
}

static int push_string(builder *b, const unsigned char *s, size_t n)
{
    json_doc *d = b->doc;
    if (!is_utf8(s, n)) {
        b->st = cuzk_fail(CUZK_E_INPUT, "JSON: a string is not UTF-8");
        return 0;
    }
    if (!reserve(b, 2))
        return 0;
    const char *p = (const char *)s;
    if (n > 0 && !(p >= d->text && p < d->text + d->len)) {
        char *copy = arena_alloc(&d->copies, n, 1);
        if (!copy) {
            b->st = cuzk_fail(CUZK_E_NOMEM, "JSON string of %zu bytes", n);
            return 0;
        }
        memcpy(copy, s, n);
        p = copy;
    }
    d->tape[d->n_words++] = word(T_STRING, n);
    d->tape[d->n_words++] = (uint64_t)(uintptr_t)p;
    return 1;
}

static int on_string(void *ctx, const unsigned char *s, size_t n)
{
    builder *b = ctx;
    count_value(b, NOT_BYTES);
    return push_string(b, s, n);
}

static int on_key(void *ctx, const unsigned char *s, size_t n)
{
    builder *b = ctx;
    b->doc->tape[b->open + 1]++;
    return push_string(b, s, n);
}

static int open_container(builder *b, unsigned kind)
{
    if (b->depth == JSON_MAX_DEPTH) {
        b->st = cuzk_fail(CUZK_E_INPUT, "JSON: nested deeper than %u", JSON_MAX_DEPTH);
        return 0;
    }
    if (!reserve(b, 2))
        return 0;
    count_value(b, NOT_BYTES);
    json_doc *d = b->doc;
    size_t at = d->n_words;
    d->tape[at] = word(kind, b->open == TAPE_NONE ? 0 : (uint64_t)b->open + 1);
    d->tape[at + 1] = 0;
    d->n_words += 2;
    b->open = at;
    b->depth++;
    return 1;
}

static int close_container(builder *b)
{
    json_doc *d = b->doc;
    size_t at = b->open;
    unsigned kind = kind_of(d->tape[at]);
    uint64_t parent = payload_of(d->tape[at]);
    uint64_t count = d->tape[at + 1] & ~NOT_BYTES;
    if (kind == T_ARRAY && count > 0 && !(d->tape[at + 1] & NOT_BYTES)) {
        /* Children are single words from at + 2 on; byte i lands below word i, so the copy may go upwards in place. */
        unsigned char *dst = (unsigned char *)(d->tape + at + 1);
        for (size_t i = 0; i < count; i++)
            dst[i] = (unsigned char)payload_of(d->tape[at + 2 + i]);
        d->tape[at] = word(T_BYTES, count);
        d->n_words = at + 1 + (count + 7) / 8;
    } else {
        d->tape[at] = word(kind, d->n_words);
        d->tape[at + 1] = count;
    }
    b->open = parent ? (size_t)parent - 1 : TAPE_NONE;
    b->depth--;
    return 1;
}

static int on_open_array(void *ctx)
{
    return open_container(ctx, T_ARRAY);
}

static int on_open_object(void *ctx)
{
    return open_container(ctx, T_OBJECT);
}

static int on_close(void *ctx)
{
    return close_container(ctx);
}

/* YAJL does not check its allocations, so it gets all it can ever need beforehand, from one block that only grows:
 * - handle, lexer, error text and a state stack of one byte per nesting level (grown by 128), copied at worst on every growth;
 * - two buffers that double from 2 KiB for tokens it has to copy: strings with escapes, and a token cut off by the end of the text.
 *   A token of n bytes needs at most 2 (n + 1) bytes, the sizes before it as much again. */
typedef struct yajl_pool {
    unsigned char *base;
    size_t used, cap;
} yajl_pool;
#define YAJL_HDR 16 /* in front of every block: its size, which YAJL's realloc does not tell */
#define YAJL_FIXED ((size_t)192 << 10)

static size_t round16(size_t n)
{
    return (n + 15) & ~(size_t)15;
}

static void *pool_malloc(void *ctx, size_t n)
{
    yajl_pool *y = ctx;
    if (n > y->cap || round16(n) + YAJL_HDR > y->cap - y->used)
        return NULL;
    unsigned char *p = y->base + y->used;
    memcpy(p, &n, sizeof n);
    y->used += round16(n) + YAJL_HDR;
    return p + YAJL_HDR;
}

static void pool_free(void *ctx, void *p)
{
    (void)ctx;
    (void)p;
}

static void *pool_realloc(void *ctx, void *p, size_t n)
{
    yajl_pool *y = ctx;
    size_t old = 0;
    if (p) {
        memcpy(&old, (unsigned char *)p - YAJL_HDR, sizeof old);
        if ((unsigned char *)p + round16(old) == y->base + y->used)
            y->used = (size_t)((unsigned char *)p - YAJL_HDR - y->base); /* the last block grows in place */
    }
    void *q = pool_malloc(ctx, n);
    if (q && p && q != p)
        memcpy(q, p, old < n ? old : n);
    return q;
}

/* Longest token YAJL will copy, as above; an upper bound is enough. */
static size_t longest_copied(const char *s, size_t n)
{
    size_t longest = 0, tail = 0;
    const char *end = s + n, *p = s;
    while ((p = memchr(p, '"', (size_t)(end - p))) != NULL) {
        const char *start = ++p, *q = memchr(p, '"', (size_t)(end - p));
        bool escaped = memchr(p, '\\', (size_t)((q ? q : end) - p)) != NULL;
        if (escaped)
            for (q = p; q < end && *q != '"'; q++)
                q += *q == '\\' && q + 1 < end;
        if (!q || q >= end)
            return (size_t)(end - start) > longest ? (size_t)(end - start) + 1 : longest;
        if (escaped && (size_t)(q - start) > longest)
            longest = (size_t)(q - start);
        p = q + 1;
    }
    while (tail < n && !strchr("]}[{\",: \t\r\n", s[n - 1 - tail]))
        tail++;
    return tail > longest ? tail : longest;
}

static bool pool_reserve(yajl_pool *y, const char *text, size_t len)
{
    size_t copied = longest_copied(text, len);
    y->used = 0;
    y->cap = YAJL_FIXED + (copied ? 8 * (copied + 4096) : 0);
    y->base = mem_alloc(y->cap, 16);
    return y->base != NULL;
}

static cuzk_status yajl_failure(yajl_handle h, const builder *b, size_t offset)
{
    if (b->st.code == CUZK_E_NOMEM)
        return b->st;
    if (b->st.code != CUZK_OK)
        return cuzk_wrap(b->st, "offset %zu", offset);
    unsigned char *msg = yajl_get_error(h, 0, NULL, 0);
    char text[160] = "not JSON";
    if (msg) {
        snprintf(text, sizeof text, "%s", (const char *)msg);
        text[strcspn(text, "\n")] = 0;
        yajl_free_error(h, msg);
    }
    return cuzk_fail(CUZK_E_INPUT, "JSON: offset %zu: %s", offset, text);
}

static cuzk_status parse_text(json_doc *doc, builder *b)
{
    static const yajl_callbacks callbacks = {
        .yajl_null = on_null,
        .yajl_boolean = on_bool,
        .yajl_number = on_number,
        .yajl_string = on_string,
        .yajl_start_map = on_open_object,
        .yajl_map_key = on_key,
        .yajl_end_map = on_close,
        .yajl_start_array = on_open_array,
        .yajl_end_array = on_close,
    };
    yajl_pool memory;
    if (!pool_reserve(&memory, doc->text, doc->len))
        return cuzk_fail(CUZK_E_NOMEM, "JSON parser memory of %zu bytes", memory.cap);
    yajl_alloc_funcs funcs = {pool_malloc, pool_realloc, pool_free, &memory};
    yajl_handle h = yajl_alloc(&callbacks, &funcs, b);
    CUZK_ASSERT(h); /* the block holds it */
    cuzk_status st = cuzk_ok();
    if (yajl_parse(h, (const unsigned char *)doc->text, doc->len) != yajl_status_ok)
        st = yajl_failure(h, b, yajl_get_bytes_consumed(h));
    else if (yajl_complete_parse(h) != yajl_status_ok)
        st = yajl_failure(h, b, doc->len);
    else if (doc->n_words == 0 || b->open != TAPE_NONE)
        st = cuzk_fail(CUZK_E_INPUT, "JSON: offset %zu: the text ends early", doc->len);
    yajl_free(h);
    mem_free(memory.base);
    return st;
}

cuzk_status json_parse(json_doc *doc, const void *text, size_t len)
{
    *doc = (json_doc){.text = text, .len = len};
    if (len == 0)
        return cuzk_fail(CUZK_E_INPUT, "JSON: offset 0: expected a value, found an empty text");
    if (len > JSON_MAX_BYTES)
        return cuzk_fail(CUZK_E_INPUT, "JSON: expected at most %zu bytes, found %zu", JSON_MAX_BYTES, len);
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        return cuzk_fail(CUZK_E_INPUT, "JSON: offset 0: expected a value, found a byte-order mark");
    builder b = {.doc = doc, .open = TAPE_NONE, .st = cuzk_ok()};
    /* A packed byte array of 32 elements takes 5 words of about 115 characters. */
    doc->cap_words = len / 24 + 64;
    doc->tape = mem_alloc(doc->cap_words * sizeof *doc->tape, 16);
    if (!doc->tape) {
        *doc = (json_doc){0};
        return cuzk_fail(CUZK_E_NOMEM, "JSON tape for a text of %zu bytes", len);
    }
    cuzk_status st = parse_text(doc, &b);
    if (st.code != CUZK_OK)
        json_fini(doc);
    return st;
}

void json_fini(json_doc *doc)
{
    mem_free(doc->tape);
    arena_fini(&doc->copies);
    *doc = (json_doc){0};
}

/* ---- walking ---- */

static json_val at(const json_doc *doc, size_t pos)
{
    return (json_val){.doc = doc, .pos = pos};
}

static size_t skip(const json_doc *d, size_t pos)
{
    uint64_t w = d->tape[pos];
    switch (kind_of(w)) {
    case T_STRING:
        return pos + 2;
    case T_BYTES:
        return pos + 1 + (payload_of(w) + 7) / 8;
    case T_ARRAY:
    case T_OBJECT:
        return payload_of(w);
    default:
        return pos + 1;
    }
}

static const uint8_t *packed_bytes(json_val v)
{
    return (const uint8_t *)(v.doc->tape + v.pos + 1);
}

static const char *string_at(const json_doc *d, size_t pos)
{
    return (const char *)(uintptr_t)d->tape[pos + 1];
}

json_val json_root(const json_doc *doc)
{
    return at(doc, 0);
}

json_kind json_val_kind(json_val v)
{
    static const json_kind kinds[] = {
        [T_NULL] = JSON_NULL,     [T_FALSE] = JSON_FALSE,     [T_TRUE] = JSON_TRUE,
        [T_UINT] = JSON_NUMBER,   [T_NUMTEXT] = JSON_NUMBER,  [T_STRING] = JSON_STRING,
        [T_BYTES] = JSON_ARRAY,   [T_ARRAY] = JSON_ARRAY,     [T_OBJECT] = JSON_OBJECT,
    };
    return v.byte_idx ? JSON_NUMBER : kinds[kind_of(v.doc->tape[v.pos])];
}

typedef struct text_buf {
    char *p;
    size_t size, n;
} text_buf;

static void put(text_buf *t, const char *s, size_t n)
{
    for (size_t i = 0; i < n && t->n + 1 < t->size; i++)
        t->p[t->n++] = s[i] >= 0x20 && s[i] < 0x7f ? s[i] : '?';
    t->p[t->n] = 0;
}

/* The path is found by descending from the root towards the position, so cursors need not carry it. */
void json_path(char *out, size_t out_size, json_val v)
{
    const json_doc *d = v.doc;
    text_buf t = {out, out_size, 0};
    char num[32];
    out[0] = 0;
    size_t pos = 0;
    while (pos != v.pos) {
        bool is_obj = kind_of(d->tape[pos]) == T_OBJECT;
        size_t child = pos + 2, idx = 0;
        for (;;) {
            size_t val = is_obj ? child + 2 : child;
            size_t end = skip(d, val);
            if (v.pos < end) {
                child = val;
                if (is_obj) {
                    put(&t, ".", t.n > 0);
                    size_t key = val - 2, n = payload_of(d->tape[key]);
                    put(&t, string_at(d, key), n < 40 ? n : 40);
                } else {
                    put(&t, num, (size_t)snprintf(num, sizeof num, "[%zu]", idx));
                }
                break;
            }
            child = end;
            idx++;
        }
        pos = child;
    }
    if (v.byte_idx)
        put(&t, num, (size_t)snprintf(num, sizeof num, "[%u]", v.byte_idx - 1));
    if (t.n == 0)
        put(&t, "(document)", 10);
}

static void describe(char *out, size_t size, json_val v)
{
    uint64_t w = v.doc->tape[v.pos];
    if (v.byte_idx) {
        snprintf(out, size, "%u", packed_bytes(v)[v.byte_idx - 1]);
        return;
    }
    switch (kind_of(w)) {
    case T_NULL:
        snprintf(out, size, "null");
        break;
    case T_FALSE:
    case T_TRUE:
        snprintf(out, size, kind_of(w) == T_TRUE ? "true" : "false");
        break;
    case T_UINT:
        snprintf(out, size, "%llu", (unsigned long long)payload_of(w));
        break;
    case T_NUMTEXT: {
        size_t n = payload_of(w) & 65535;
        snprintf(out, size, "%.*s%s", n < 30 ? (int)n : 30, v.doc->text + (payload_of(w) >> 16), n > 30 ? "..." : "");
        break;
    }
    case T_STRING: {
        text_buf t = {out, size < 40 ? size : 40, 0};
        put(&t, "\"", 1);
        put(&t, string_at(v.doc, v.pos), payload_of(w));
        put(&t, "\"", 1);
        break;
    }
    case T_OBJECT:
        snprintf(out, size, "an object of %llu members", (unsigned long long)v.doc->tape[v.pos + 1]);
        break;
    default:
        snprintf(out, size, "an array of %llu elements",
                 (unsigned long long)(kind_of(w) == T_BYTES ? payload_of(w) : v.doc->tape[v.pos + 1]));
        break;
    }
}

cuzk_status json_bad(json_val v, const char *expected, const char *found_fmt, ...)
{
    char path[160], found[80];
    json_path(path, sizeof path, v);
    if (found_fmt) {
        va_list ap;
        va_start(ap, found_fmt);
        vsnprintf(found, sizeof found, found_fmt, ap);
        va_end(ap);
    } else {
        describe(found, sizeof found, v);
    }
    return cuzk_bad_input(path, expected, "%s", found);
}

/* The number as u64, false when it is not an unsigned decimal integer below 2^64. */
static bool as_u64(uint64_t *out, json_val v)
{
    uint64_t w = v.doc->tape[v.pos];
    if (v.byte_idx) {
        *out = packed_bytes(v)[v.byte_idx - 1];
        return true;
    }
    if (kind_of(w) == T_UINT) {
        *out = payload_of(w);
        return true;
    }
    if (kind_of(w) != T_NUMTEXT)
        return false;
    const char *s = v.doc->text + (payload_of(w) >> 16);
    size_t n = payload_of(w) & 65535;
    uint64_t x = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned d = (unsigned)(unsigned char)s[i] - '0';
        if (d > 9 || __builtin_mul_overflow(x, 10, &x) || __builtin_add_overflow(x, d, &x))
            return false;
    }
    *out = x;
    return n > 0;
}

cuzk_status json_get_u64(uint64_t *out, json_val v, uint64_t max)
{
    if (as_u64(out, v) && *out <= max)
        return cuzk_ok();
    *out = 0;
    char expected[48];
    snprintf(expected, sizeof expected, "integer 0..%llu", (unsigned long long)max);
    return json_bad(v, expected, NULL);
}

cuzk_status json_get_double(double *out, json_val v)
{
    uint64_t u, w = v.doc->tape[v.pos];
    *out = 0;
    if (as_u64(&u, v)) {
        *out = (double)u;
        return cuzk_ok();
    }
    if (v.byte_idx || kind_of(w) != T_NUMTEXT)
        return json_bad(v, "a number", NULL);
    char buf[64];
    size_t n = payload_of(w) & 65535;
    if (n >= sizeof buf)
        return json_bad(v, "a number of at most 63 characters", NULL);
    memcpy(buf, v.doc->text + (payload_of(w) >> 16), n);
    buf[n] = 0;
    *out = strtod(buf, NULL);
    return cuzk_ok();
}

cuzk_status json_get_bool(bool *out, json_val v)
{
    json_kind k = json_val_kind(v);
    *out = k == JSON_TRUE;
    return k == JSON_TRUE || k == JSON_FALSE ? cuzk_ok() : json_bad(v, "true or false", NULL);
}

cuzk_status json_get_null(json_val v)
{
    return json_val_kind(v) == JSON_NULL ? cuzk_ok() : json_bad(v, "null", NULL);
}

cuzk_status json_get_string(const char **out, size_t *out_len, json_val v)
{
    *out = NULL;
    *out_len = 0;
    if (json_val_kind(v) != JSON_STRING)
        return json_bad(v, "a string", NULL);
    *out = string_at(v.doc, v.pos);
    *out_len = payload_of(v.doc->tape[v.pos]);
    return cuzk_ok();
}

bool json_string_is(json_val v, const char *s)
{
    size_t n = strlen(s);
    return json_val_kind(v) == JSON_STRING && payload_of(v.doc->tape[v.pos]) == n &&
           memcmp(string_at(v.doc, v.pos), s, n) == 0;
}

cuzk_status json_get_bytes(const uint8_t **out, json_val v, size_t n)
{
    uint64_t w = v.doc->tape[v.pos];
    *out = NULL;
    if (!v.byte_idx && kind_of(w) == T_BYTES && payload_of(w) == n) {
        *out = packed_bytes(v);
        return cuzk_ok();
    }
    if (n == 0 && kind_of(w) == T_ARRAY && v.doc->tape[v.pos + 1] == 0) {
        *out = (const uint8_t *)"";
        return cuzk_ok();
    }
    json_iter it;
    CUZK_TRY(json_array_n(&it, v, n));
    json_val e;
    uint64_t x;
    while (json_next(&it, &e))
        CUZK_TRY(json_get_u64(&x, e, 255)); /* fails at the element that kept the array from being packed */
    return json_bad(v, "an array of integers 0..255", NULL);
}

cuzk_status json_array(json_iter *it, json_val v)
{
    *it = (json_iter){.v = v};
    if (json_val_kind(v) != JSON_ARRAY)
        return json_bad(v, "an array", NULL);
    uint64_t w = v.doc->tape[v.pos];
    it->packed = kind_of(w) == T_BYTES;
    it->n = it->packed ? payload_of(w) : v.doc->tape[v.pos + 1];
    it->next = it->packed ? 0 : v.pos + 2;
    it->end = it->packed ? it->n : payload_of(w);
    return cuzk_ok();
}

cuzk_status json_array_n(json_iter *it, json_val v, size_t n)
{
    char expected[48];
    snprintf(expected, sizeof expected, "an array of %zu elements", n);
    *it = (json_iter){.v = v};
    if (json_val_kind(v) != JSON_ARRAY)
        return json_bad(v, expected, NULL);
    CUZK_TRY(json_array(it, v));
    if (it->n != n)
        return json_bad(v, expected, "%zu elements", it->n);
    return cuzk_ok();
}

bool json_next(json_iter *it, json_val *elem)
{
    if (it->next >= it->end)
        return false;
    if (it->packed) {
        *elem = (json_val){.doc = it->v.doc, .pos = it->v.pos, .byte_idx = (uint32_t)++it->next};
        return true;
    }
    *elem = at(it->v.doc, it->next);
    it->next = skip(it->v.doc, it->next);
    return true;
}

cuzk_status json_object(json_iter *it, json_val v)
{
    *it = (json_iter){.v = v, .keys = true};
    if (json_val_kind(v) != JSON_OBJECT)
        return json_bad(v, "an object", NULL);
    it->n = v.doc->tape[v.pos + 1];
    it->next = v.pos + 2;
    it->end = payload_of(v.doc->tape[v.pos]);
    return cuzk_ok();
}

bool json_next_member(json_iter *it, const char **key, size_t *key_len, json_val *value)
{
    if (!it->keys || it->next >= it->end)
        return false;
    const json_doc *d = it->v.doc;
    *key = string_at(d, it->next);
    *key_len = payload_of(d->tape[it->next]);
    *value = at(d, it->next + 2);
    it->next = skip(d, it->next + 2);
    return true;
}

bool json_member(json_val *out, json_val v, const char *name)
{
    if (json_val_kind(v) != JSON_OBJECT)
        return false;
    json_iter it;
    cuzk_status st = json_object(&it, v);
    const char *key;
    size_t n, want = strlen(name);
    while (st.code == CUZK_OK && json_next_member(&it, &key, &n, out))
        if (n == want && memcmp(key, name, n) == 0)
            return true;
    return false;
}

static cuzk_status struct_from_array(json_val *vals, json_val v, size_t n)
{
    json_iter it;
    CUZK_TRY(json_array_n(&it, v, n));
    for (size_t i = 0; i < n; i++)
        json_next(&it, &vals[i]);
    return cuzk_ok();
}

cuzk_status json_struct(json_val *vals, json_val v, const char *const *names, size_t n)
{
    CUZK_ASSERT(n <= 32);
    json_kind kind = json_val_kind(v);
    if (kind == JSON_ARRAY)
        return struct_from_array(vals, v, n);
    if (kind != JSON_OBJECT)
        return json_bad(v, "an object", NULL);
    json_iter it;
    CUZK_TRY(json_object(&it, v));
    uint32_t seen = 0;
    const char *key;
    size_t key_len;
    json_val value;
    while (json_next_member(&it, &key, &key_len, &value)) {
        size_t i = 0;
        while (i < n && !(strlen(names[i]) == key_len && memcmp(names[i], key, key_len) == 0))
            i++;
        if (i == n)
            continue;
        if (seen & (uint32_t)1 << i)
            return json_bad(value, "the field once", "it twice");
        seen |= (uint32_t)1 << i;
        vals[i] = value;
    }
    for (size_t i = 0; i < n; i++)
        if (!(seen & (uint32_t)1 << i)) {
            char expected[80];
            snprintf(expected, sizeof expected, "field \"%s\"", names[i]);
            return json_bad(v, expected, "no such field");
        }
    return cuzk_ok();
}

cuzk_status json_variant(const char **tag, size_t *tag_len, json_val *content, json_val v)
{
    json_iter it;
    CUZK_TRY(json_object(&it, v));
    if (it.n != 1)
        return json_bad(v, "an object of exactly 1 member", NULL);
    json_next_member(&it, tag, tag_len, content);
    return cuzk_ok();
}
