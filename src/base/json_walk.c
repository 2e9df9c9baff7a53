/* Walking a parsed document: cursors, typed values, errors with their path. */
#include "base/json_read.h"
#include "base/json_tape_int.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_val at(const json_doc *doc, size_t pos) { return (json_val){.doc = doc, .pos = pos}; }

static size_t skip(const json_doc *d, size_t pos)
{
    uint64_t w = d->tape[pos];
    switch (tape_kind_of(w)) {
    case T_STRING:
        return pos + 2;
    case T_BYTES:
        return pos + 1 + (tape_payload_of(w) + 7) / 8;
    case T_ARRAY:
    case T_OBJECT:
        return tape_payload_of(w);
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

json_val json_root(const json_doc *doc) { return at(doc, 0); }

json_kind json_val_kind(json_val v)
{
    static const json_kind kinds[] = {
        [T_NULL] = JSON_NULL,   [T_FALSE] = JSON_FALSE,    [T_TRUE] = JSON_TRUE,
        [T_UINT] = JSON_NUMBER, [T_NUMTEXT] = JSON_NUMBER, [T_STRING] = JSON_STRING,
        [T_BYTES] = JSON_ARRAY, [T_ARRAY] = JSON_ARRAY,    [T_OBJECT] = JSON_OBJECT,
    };
    return v.byte_idx ? JSON_NUMBER : kinds[tape_kind_of(v.doc->tape[v.pos])];
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

/* Step from the container at pos into the child that holds target, and append that child's name. */
static size_t path_step(text_buf *t, const json_doc *d, size_t pos, size_t target)
{
    bool is_obj = tape_kind_of(d->tape[pos]) == T_OBJECT;
    size_t val = pos + (is_obj ? 4 : 2), idx = 0;
    for (size_t end; (end = skip(d, val)) <= target; idx++)
        val = end + (is_obj ? 2 : 0);
    if (is_obj) {
        size_t n = tape_payload_of(d->tape[val - 2]);
        put(t, ".", t->n > 0);
        put(t, string_at(d, val - 2), n < 40 ? n : 40);
    } else {
        char num[32];
        put(t, num, (size_t)snprintf(num, sizeof num, "[%zu]", idx));
    }
    return val;
}

/* The path is found by descending from the root towards the position, so cursors need not carry
 * it. */
void json_path(char *out, size_t out_size, json_val v)
{
    text_buf t = {out, out_size, 0};
    out[0] = 0;
    for (size_t pos = 0; pos != v.pos;)
        pos = path_step(&t, v.doc, pos, v.pos);
    if (v.byte_idx) {
        char num[32];
        put(&t, num, (size_t)snprintf(num, sizeof num, "[%u]", v.byte_idx - 1));
    }
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
    switch (tape_kind_of(w)) {
    case T_NULL:
        snprintf(out, size, "null");
        break;
    case T_FALSE:
    case T_TRUE:
        snprintf(out, size, tape_kind_of(w) == T_TRUE ? "true" : "false");
        break;
    case T_UINT:
        snprintf(out, size, "%llu", (unsigned long long)tape_payload_of(w));
        break;
    case T_NUMTEXT: {
        size_t n = tape_payload_of(w) & 65535;
        snprintf(out, size, "%.*s%s", n < 30 ? (int)n : 30,
                 v.doc->text + (tape_payload_of(w) >> 16), n > 30 ? "..." : "");
        break;
    }
    case T_STRING: {
        text_buf t = {out, size < 40 ? size : 40, 0};
        put(&t, "\"", 1);
        put(&t, string_at(v.doc, v.pos), tape_payload_of(w));
        put(&t, "\"", 1);
        break;
    }
    case T_OBJECT:
        snprintf(out, size, "an object of %llu members",
                 (unsigned long long)v.doc->tape[v.pos + 1]);
        break;
    default:
        snprintf(out, size, "an array of %llu elements",
                 (unsigned long long)(tape_kind_of(w) == T_BYTES ? tape_payload_of(w)
                                                                 : v.doc->tape[v.pos + 1]));
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
    if (tape_kind_of(w) == T_UINT) {
        *out = tape_payload_of(w);
        return true;
    }
    if (tape_kind_of(w) != T_NUMTEXT)
        return false;
    const char *s = v.doc->text + (tape_payload_of(w) >> 16);
    size_t n = tape_payload_of(w) & 65535;
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
    if (v.byte_idx || tape_kind_of(w) != T_NUMTEXT)
        return json_bad(v, "a number", NULL);
    char buf[64];
    size_t n = tape_payload_of(w) & 65535;
    if (n >= sizeof buf)
        return json_bad(v, "a number of at most 63 characters", NULL);
    memcpy(buf, v.doc->text + (tape_payload_of(w) >> 16), n);
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
    *out_len = tape_payload_of(v.doc->tape[v.pos]);
    return cuzk_ok();
}

bool json_string_is(json_val v, const char *s)
{
    size_t n = strlen(s);
    return json_val_kind(v) == JSON_STRING && tape_payload_of(v.doc->tape[v.pos]) == n &&
           memcmp(string_at(v.doc, v.pos), s, n) == 0;
}

cuzk_status json_get_bytes(const uint8_t **out, json_val v, size_t n)
{
    uint64_t w = v.doc->tape[v.pos];
    *out = NULL;
    if (!v.byte_idx && tape_kind_of(w) == T_BYTES && tape_payload_of(w) == n) {
        *out = packed_bytes(v);
        return cuzk_ok();
    }
    if (n == 0 && tape_kind_of(w) == T_ARRAY && v.doc->tape[v.pos + 1] == 0) {
        *out = (const uint8_t *)"";
        return cuzk_ok();
    }
    json_iter it;
    CUZK_TRY(json_array_n(&it, v, n));
    json_val e;
    uint64_t x;
    while (json_next(&it, &e))
        /* fails at the element that kept the array from being packed */
        CUZK_TRY(json_get_u64(&x, e, 255));
    return json_bad(v, "an array of integers 0..255", NULL);
}

cuzk_status json_array(json_iter *it, json_val v)
{
    *it = (json_iter){.v = v};
    if (json_val_kind(v) != JSON_ARRAY)
        return json_bad(v, "an array", NULL);
    uint64_t w = v.doc->tape[v.pos];
    it->packed = tape_kind_of(w) == T_BYTES;
    it->n = it->packed ? tape_payload_of(w) : v.doc->tape[v.pos + 1];
    it->next = it->packed ? 0 : v.pos + 2;
    it->end = it->packed ? it->n : tape_payload_of(w);
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
    it->end = tape_payload_of(v.doc->tape[v.pos]);
    return cuzk_ok();
}

bool json_next_member(json_iter *it, const char **key, size_t *key_len, json_val *value)
{
    if (!it->keys || it->next >= it->end)
        return false;
    const json_doc *d = it->v.doc;
    *key = string_at(d, it->next);
    *key_len = tape_payload_of(d->tape[it->next]);
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
