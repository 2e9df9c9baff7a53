/* Reads the gzipped golden JSON just well enough for these tests: find a key, then take the strings
 * or numbers that follow. Not a JSON parser; the files are known and written compactly. */
#ifndef TESTS_HASH_GOLDEN_SCAN_H
#define TESTS_HASH_GOLDEN_SCAN_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* Unpacked text, terminated by NUL; release with free. Fails the test when gzip or the file is
 * missing. */
static inline char *golden_load(const char *name)
{
    char cmd[4096];
    snprintf(cmd, sizeof cmd, "gzip -dc '%s/%s'", CUZK_GOLDEN_DIR, name);
    FILE *f = popen(cmd, "r");
    assert_non_null(f);
    size_t cap = 1 << 20, len = 0, got;
    char *text = malloc(cap + 1);
    assert_non_null(text);
    while ((got = fread(text + len, 1, cap - len, f)) > 0) {
        len += got;
        if (len == cap) {
            cap *= 2;
            text = realloc(text, cap + 1);
            assert_non_null(text);
        }
    }
    text[len] = 0;
    assert_int_equal(pclose(f), 0);
    assert_true(len > 0);
    return text;
}

/* Just behind `"key":` after `from`; NULL when absent before `end` (NULL: the end of the text). */
static inline const char *golden_key(const char *from, const char *end, const char *key)
{
    char quoted[128];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char *p = strstr(from, quoted);
    if (!p || (end && p >= end))
        return NULL;
    p += strlen(quoted);
    while (*p == ' ' || *p == ':')
        p++;
    return p;
}

/* The bracket that closes the one at p. Strings in these files hold no brackets where this is
 * used. */
static inline const char *golden_close(const char *p)
{
    int depth = 0;
    for (; *p; p++) {
        depth += *p == '[' || *p == '{';
        depth -= *p == ']' || *p == '}';
        if (depth == 0)
            return p;
    }
    fail_msg("unbalanced golden JSON");
    return NULL;
}

/* Decode the next string of exactly 2n hex digits at or after *p, moving *p behind it. */
static inline void golden_hex(const char **p, uint8_t *out, size_t n)
{
    const char *s = strchr(*p, '"');
    assert_non_null(s);
    assert_true(hex_decode(out, n, s + 1, 2 * n));
    assert_true(s[1 + 2 * n] == '"');
    *p = s + 2 + 2 * n;
}
#endif
