/* Golden files (tests/golden) as text or parsed JSON, plain or gzipped. */
#ifndef TESTS_FIL_GOLDEN_H
#define TESTS_FIL_GOLDEN_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json_read.h"
#include "ff/fr.h"

/* Contents of tests/golden/<name>; names ending in .gz are unpacked by gzip(1). Fails the test when
 * missing. Release with free. */
static inline char *golden_read(const char *name, size_t *len)
{
    char cmd[1200];
    size_t n = strlen(name);
    bool gz = n > 3 && strcmp(name + n - 3, ".gz") == 0;
    snprintf(cmd, sizeof cmd, "%s '%s/%s'", gz ? "gzip -dc" : "cat", CUZK_GOLDEN_DIR, name);
    FILE *f = popen(cmd, "r");
    assert_non_null(f);
    size_t cap = 1 << 16, got;
    char *p = malloc(cap);
    *len = 0;
    assert_non_null(p);
    while ((got = fread(p + *len, 1, cap - *len, f)) > 0) {
        *len += got;
        if (*len == cap) {
            p = realloc(p, cap *= 2);
            assert_non_null(p);
        }
    }
    if (pclose(f) != 0)
        fail_msg("%s: cannot read", name);
    return p;
}

static inline void assert_ok(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s: %s", cuzk_code_name(st.code), st.msg);
}

/* Parsed golden file; release with golden_json_free. */
static inline json_doc golden_json(const char *name)
{
    size_t n;
    json_doc doc;
    char *text = golden_read(name, &n);
    assert_ok(json_parse(&doc, text, n));
    return doc;
}

static inline void golden_json_free(json_doc *doc)
{
    void *text = (void *)(uintptr_t)doc->text;
    json_fini(doc);
    free(text);
}

static inline json_val get(json_val v, const char *name)
{
    json_val out;
    if (!json_member(&out, v, name))
        fail_msg("no member %s", name);
    return out;
}

static inline uint64_t get_u64(json_val v, const char *name)
{
    uint64_t out;
    assert_ok(json_get_u64(&out, get(v, name), UINT64_MAX));
    return out;
}

static inline json_iter items(json_val v)
{
    json_iter it;
    assert_ok(json_array(&it, v));
    return it;
}

static inline void val_hex32(uint8_t out[32], json_val v)
{
    const char *s;
    size_t n;
    assert_ok(json_get_string(&s, &n, v));
    assert_true(hex_decode(out, 32, s, n));
}

static inline void get_hex32(uint8_t out[32], json_val v, const char *name)
{
    val_hex32(out, get(v, name));
}

static inline fr get_fr(json_val v, const char *name)
{
    uint8_t b[32];
    fr x;
    get_hex32(b, v, name);
    assert_true(fr_from_le(&x, b));
    return x;
}

static inline void get_str(char *out, size_t size, json_val v, const char *name)
{
    const char *s;
    size_t n;
    assert_ok(json_get_string(&s, &n, get(v, name)));
    assert_true(n < size);
    memcpy(out, s, n);
    out[n] = 0;
}
#endif
