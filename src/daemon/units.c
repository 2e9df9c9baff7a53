#include "daemon/units.h"
#include <string.h>

typedef struct unit {
    const char *name;
    uint64_t factor;
} unit;

static const unit size_units[] = {{"", 1},
                                  {"B", 1},
                                  {"KB", 1000},
                                  {"MB", 1000000},
                                  {"GB", 1000000000},
                                  {"TB", 1000000000000},
                                  {"KiB", 1ull << 10},
                                  {"MiB", 1ull << 20},
                                  {"GiB", 1ull << 30},
                                  {"TiB", 1ull << 40}};
static const unit time_units[] = {{"", 1000},   {"ms", 1},      {"s", 1000},
                                  {"m", 60000}, {"h", 3600000}, {"d", 86400000}};

/* Digits with at most one point, at most nine decimals; the value is whole + frac / scale. */
static const char *read_number(uint64_t *whole, uint64_t *frac, uint64_t *scale, const char *p)
{
    const char *start = p;
    *whole = *frac = 0;
    *scale = 1;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(*whole, 10, whole) ||
            __builtin_add_overflow(*whole, (uint64_t)(*p - '0'), whole))
            return NULL;
    if (p == start)
        return NULL;
    if (*p != '.')
        return p;
    const char *point = p++;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (*scale == 1000000000)
            return NULL;
        *frac = *frac * 10 + (uint64_t)(*p - '0');
        *scale *= 10;
    }
    return p == point + 1 ? NULL : p;
}

static bool parse_with(uint64_t *out, const char *text, const unit *units, size_t n)
{
    uint64_t whole, frac, scale;
    const char *p = read_number(&whole, &frac, &scale, text);
    if (!p)
        return false;
    if (*p == ' ')
        p++;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(p, units[i].name) != 0)
            continue;
        unsigned __int128 part = (unsigned __int128)frac * units[i].factor;
        if (frac && units[i].factor == 1) /* half a byte, a tenth of a millisecond */
            return false;
        return !__builtin_mul_overflow(whole, units[i].factor, out) &&
               !__builtin_add_overflow(*out, (uint64_t)(part / scale), out);
    }
    return false;
}

cuzk_status parse_size(uint64_t *out_bytes, const char *field, const char *text)
{
    *out_bytes = 0;
    if (parse_with(out_bytes, text, size_units, ARRAY_LEN(size_units)))
        return cuzk_ok();
    return cuzk_bad_input(field, "a size such as \"64GiB\", \"512MB\" or bytes", "\"%.40s\"", text);
}

cuzk_status parse_duration_ms(uint64_t *out_ms, const char *field, const char *text)
{
    *out_ms = 0;
    if (parse_with(out_ms, text, time_units, ARRAY_LEN(time_units)))
        return cuzk_ok();
    return cuzk_bad_input(field, "a duration such as \"500ms\", \"30s\", \"5m\", \"1h\" or \"7d\"",
                          "\"%.40s\"", text);
}
