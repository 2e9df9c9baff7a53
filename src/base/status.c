/* Status construction: formatting into the fixed buffer of a cuzk_status. */
#include "base/status.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Macros of the same names exist under the static analyzer. */
#undef cuzk_fail
#undef cuzk_bad_input
#undef cuzk_wrap

cuzk_status cuzk_fail(cuzk_code code, const char *fmt, ...)
{
    cuzk_status st = {.code = code};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(st.msg, sizeof st.msg, fmt, ap);
    va_end(ap);
    return st;
}

/* Append text to what is in msg; a full buffer truncates. */
static void append(char *msg, size_t cap, const char *text)
{
    size_t used = strnlen(msg, cap - 1), n = strnlen(text, cap - 1 - used);
    memcpy(msg + used, text, n);
    msg[used + n] = 0;
}

cuzk_status cuzk_wrap(cuzk_status st, const char *fmt, ...)
{
    if (st.code == CUZK_OK)
        return st;
    cuzk_status out = {.code = st.code};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(out.msg, sizeof out.msg, fmt, ap);
    va_end(ap);
    append(out.msg, sizeof out.msg, ": ");
    append(out.msg, sizeof out.msg, st.msg);
    return out;
}

cuzk_status cuzk_bad_input(const char *field, const char *expected, const char *found_fmt, ...)
{
    cuzk_status st = {.code = CUZK_E_INPUT};
    char found[sizeof st.msg];
    va_list ap;
    va_start(ap, found_fmt);
    vsnprintf(found, sizeof found, found_fmt, ap);
    va_end(ap);
    snprintf(st.msg, sizeof st.msg, "%s: expected %s, found ", field, expected);
    append(st.msg, sizeof st.msg, found);
    return st;
}

const char *cuzk_code_text(cuzk_code code)
{
    switch (code) {
#define CODE_TEXT(name, value, text, grpc) \
    case name:                             \
        return text;
        CUZK_CODES(CODE_TEXT)
#undef CODE_TEXT
    }
    return "unknown code";
}

const char *cuzk_code_name(cuzk_code code)
{
    switch (code) {
#define CODE_NAME(name, value, text, grpc) \
    case name:                             \
        return #name;
        CUZK_CODES(CODE_NAME)
#undef CODE_NAME
    }
    return "CUZK_E_UNKNOWN";
}
