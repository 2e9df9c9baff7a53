#include "http/target.h"
#include "base/bytes.h"
#include <stdbool.h>
#include <string.h>

/* Decode in place, NUL-terminated; plus_is_space as in the query of a form. */
static cuzk_status decode(char *s, bool plus_is_space)
{
    char *out = s;
    for (const char *p = s; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '%') {
            int hi = hex_digit(p[1]), lo = hi < 0 ? -1 : hex_digit(p[2]);
            if (lo < 0)
                return cuzk_bad_input("target", "two hex digits after %", "something else");
            c = (unsigned char)(hi << 4 | lo);
            p += 2;
            if (c < 0x20 || c == 0x7f)
                return cuzk_bad_input("target", "no control characters", "%%%02X", c);
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        *out++ = (char)c;
    }
    *out = 0;
    return cuzk_ok();
}

static cuzk_status parse_query(http_target *t, char *query)
{
    for (char *item = query, *next; item; item = next) {
        next = strchr(item, '&');
        if (next)
            *next++ = 0;
        if (!*item)
            continue;
        if (t->n_params == HTTP_PARAMS_MAX)
            return cuzk_bad_input("query", "at most 8 parameters", "more");
        char *value = strchr(item, '=');
        if (value)
            *value++ = 0;
        else
            value = item + strlen(item);
        CUZK_TRY(decode(item, true));
        if (*value)
            CUZK_TRY(decode(value, true));
        t->params[t->n_params++] = (http_param){item, value};
    }
    return cuzk_ok();
}

static cuzk_status parse_path(http_target *t, char *path)
{
    bool fits = true;
    for (char *seg = path + 1, *next; seg; seg = next) {
        next = strchr(seg, '/');
        if (next)
            *next++ = 0;
        CUZK_TRY(decode(seg, false));
        if (t->n_segments < HTTP_SEGMENTS_MAX)
            t->segments[t->n_segments++] = seg;
        else
            fits = false;
    }
    if (!fits)
        t->n_segments = 0;
    return cuzk_ok();
}

/* The path and query of an absolute-form target (sent through proxies) start after its host. */
static const char *skip_origin(const char *raw)
{
    if (strncmp(raw, "http://", 7) != 0)
        return raw;
    const char *path = strchr(raw + 7, '/');
    return path ? path : "/";
}

cuzk_status http_target_parse(http_target *out, const char *raw)
{
    out->n_segments = out->n_params = 0;
    raw = skip_origin(raw);
    size_t len = strlen(raw);
    if (len > HTTP_TARGET_MAX)
        return cuzk_fail(CUZK_E_RANGE, "target longer than %u bytes", HTTP_TARGET_MAX);
    if (raw[0] != '/')
        return cuzk_bad_input("target", "an absolute path", "something else");
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)raw[i] <= ' ' || (unsigned char)raw[i] >= 0x7f || raw[i] == '#')
            return cuzk_bad_input("target", "URI characters only", "byte 0x%02x at %zu",
                                  (unsigned char)raw[i], i);
    memcpy(out->text, raw, len + 1);
    char *query = strchr(out->text, '?');
    if (query)
        *query++ = 0;
    CUZK_TRY(parse_path(out, out->text));
    if (query)
        CUZK_TRY(parse_query(out, query));
    return cuzk_ok();
}

const char *http_target_param(const http_target *t, const char *key)
{
    for (uint32_t i = 0; i < t->n_params; i++)
        if (strcmp(t->params[i].key, key) == 0)
            return t->params[i].value;
    return NULL;
}
