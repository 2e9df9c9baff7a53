/* Parsing: YAJL's events onto the tape. */
#include "base/json_read.h"
#include "base/json_tape_int.h"
#include "base/mem.h"
#include <stdio.h>
#include <string.h>
#include <yajl/yajl_parse.h>

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
    if (tape_kind_of(hdr[0]) == T_ARRAY)
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

static int on_null(void *ctx) { return push1(ctx, tape_word(T_NULL, 0), NOT_BYTES); }

static int on_bool(void *ctx, int v)
{
    return push1(ctx, tape_word(v ? T_TRUE : T_FALSE, 0), NOT_BYTES);
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
        return push1(b, tape_word(T_UINT, v), v > 255 ? NOT_BYTES : 0);
    /* YAJL copies a number out only when it ends the text (a number at the top level). */
    const json_doc *d = b->doc;
    size_t off = s >= d->text && s < d->text + d->len ? (size_t)(s - d->text)
                                                      : d->len - (n < d->len ? n : d->len);
    return push1(b, tape_word(T_NUMTEXT, (uint64_t)off << 16 | (n < 65535 ? n : 65535)), NOT_BYTES);
}

/* YAJL lets overlong forms, surrogates and values above U+10FFFF through; RFC 3629 does not. */
static bool is_utf8(const unsigned char *s, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint64_t eight;
        if (n - i >= sizeof eight &&
            (memcpy(&eight, s + i, sizeof eight), (eight & 0x8080808080808080u) == 0)) {
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
        if ((c == 0xe0 && c1 < 0xa0) || (c == 0xed && c1 > 0x9f) || (c == 0xf0 && c1 < 0x90) ||
            (c == 0xf4 && c1 > 0x8f))
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
    d->tape[d->n_words++] = tape_word(T_STRING, n);
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
    d->tape[at] = tape_word(kind, b->open == TAPE_NONE ? 0 : (uint64_t)b->open + 1);
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
    unsigned kind = tape_kind_of(d->tape[at]);
    uint64_t parent = tape_payload_of(d->tape[at]);
    uint64_t count = d->tape[at + 1] & ~NOT_BYTES;
    if (kind == T_ARRAY && count > 0 && !(d->tape[at + 1] & NOT_BYTES)) {
        /* Children are single words from at + 2 on; byte i lands below word i, so the copy may go
         * upwards in place. */
        unsigned char *dst = (unsigned char *)(d->tape + at + 1);
        for (size_t i = 0; i < count; i++)
            dst[i] = (unsigned char)tape_payload_of(d->tape[at + 2 + i]);
        d->tape[at] = tape_word(T_BYTES, count);
        d->n_words = at + 1 + (count + 7) / 8;
    } else {
        d->tape[at] = tape_word(kind, d->n_words);
        d->tape[at + 1] = count;
    }
    b->open = parent ? (size_t)parent - 1 : TAPE_NONE;
    b->depth--;
    return 1;
}

static int on_open_array(void *ctx) { return open_container(ctx, T_ARRAY); }

static int on_open_object(void *ctx) { return open_container(ctx, T_OBJECT); }

static int on_close(void *ctx) { return close_container(ctx); }

/* YAJL does not check its allocations, so it gets all it can ever need beforehand, from one block
 * that only grows:
 * - handle, lexer, error text and a state stack of one byte per nesting level (grown by 128),
 * copied at worst on every growth;
 * - two buffers that double from 2 KiB for tokens it has to copy: strings with escapes, and a token
 * cut off by the end of the text.
 *   A token of n bytes needs at most 2 (n + 1) bytes, the sizes before it as much again. */
typedef struct yajl_pool {
    unsigned char *base;
    size_t used, cap;
} yajl_pool;
#define YAJL_HDR 16 /* in front of every block: its size, which YAJL's realloc does not tell */
#define YAJL_FIXED ((size_t)192 << 10)

static size_t round16(size_t n) { return (n + 15) & ~(size_t)15; }

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
            /* the last block grows in place */
            y->used = (size_t)((unsigned char *)p - YAJL_HDR - y->base);
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
        return cuzk_fail(CUZK_E_INPUT, "JSON: expected at most %zu bytes, found %zu",
                         JSON_MAX_BYTES, len);
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
