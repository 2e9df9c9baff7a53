/* One line is built in a fixed buffer and written with one write(2): lines of several threads never
 * mix. */
#include "base/log.h"
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOG_LINE_BYTES 4096u

typedef struct line {
    char text[LOG_LINE_BYTES];
    size_t len;
} line;

/* Settings publish no other data, so relaxed order is enough. */
static atomic_int min_level = LOG_INFO;
static atomic_int as_json;

void log_set(log_level min, int json)
{
    atomic_store_explicit(&min_level, (int)min, memory_order_relaxed);
    atomic_store_explicit(&as_json, json, memory_order_relaxed);
}

/* Two bytes stay free for the closing brace and the newline. */
static void put(line *l, const char *s, size_t n)
{
    size_t room = sizeof l->text - 2 - l->len;
    if (n > room)
        n = room;
    memcpy(l->text + l->len, s, n);
    l->len += n;
}

static void put_str(line *l, const char *s) { put(l, s, strlen(s)); }

/* Space one string value may still use; quoted text is cut there so that the line stays
 * well-formed. */
static size_t room_for_text(const line *l)
{
    size_t reserve = 256; /* for the names and numbers that follow */
    return l->len + reserve < sizeof l->text ? sizeof l->text - l->len - reserve : 0;
}

static void put_quoted(line *l, const char *s)
{
    size_t room = room_for_text(l);
    put_str(l, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        char esc[8];
        int n;
        if (c == '"' || c == '\\')
            n = snprintf(esc, sizeof esc, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            n = snprintf(esc, sizeof esc, "\\u%04x", c);
        else
            n = snprintf(esc, sizeof esc, "%c", c);
        if ((size_t)n > room)
            break;
        room -= (size_t)n;
        put(l, esc, (size_t)n);
    }
    put_str(l, "\"");
}

static bool is_plain(const char *s)
{
    if (!*s)
        return false;
    for (; *s; s++) {
        if (*s <= ' ' || *s >= 0x7f || *s == '"' || *s == '=' || *s == '\\')
            return false;
    }
    return true;
}

static void put_value(line *l, const log_field *f, bool json)
{
    char num[40];
    const char *str = f->str ? f->str : "";
    switch (f->kind) {
    case LOG_F_STR:
        if (json || !is_plain(str) || strlen(str) > room_for_text(l))
            put_quoted(l, str);
        else
            put_str(l, str);
        return;
    case LOG_F_U64:
        snprintf(num, sizeof num, "%llu", (unsigned long long)f->u64);
        break;
    case LOG_F_F64: /* JSON has no NaN or infinity */
        snprintf(num, sizeof num, isfinite(f->f64) ? "%.6g" : "null", f->f64);
        break;
    }
    put_str(l, num);
}

static void put_head(line *l, log_level lv, const char *event, bool json)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    struct timespec ts;
    struct tm tm;
    char head[128], when[32];
    clock_gettime(CLOCK_REALTIME, &ts);
    gmtime_r(&ts.tv_sec, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(head, sizeof head,
             json ? "{\"ts\":\"%s.%03ldZ\",\"level\":\"%s\",\"event\":" : "%s.%03ldZ %s ", when,
             ts.tv_nsec / 1000000, names[lv]);
    put_str(l, head);
    if (json)
        put_quoted(l, event);
    else
        put_str(l, event);
}

void log_event(log_level lv, const char *event, const log_field *fields, unsigned n_fields)
{
    if ((int)lv > atomic_load_explicit(&min_level, memory_order_relaxed))
        return;
    bool json = atomic_load_explicit(&as_json, memory_order_relaxed);
    line l;
    l.len = 0;
    put_head(&l, lv, event, json);
    for (unsigned i = 0; i < n_fields; i++) {
        if (l.len + 128 > sizeof l.text) /* a cut field would make the JSON malformed */
            break;
        put_str(&l, json ? "," : " ");
        if (json)
            put_quoted(&l, fields[i].key);
        else
            put_str(&l, fields[i].key);
        put_str(&l, json ? ":" : "=");
        put_value(&l, &fields[i], json);
    }
    if (json)
        l.text[l.len++] = '}';
    l.text[l.len++] = '\n';
    for (size_t at = 0; at < l.len;) {
        ssize_t n = write(STDERR_FILENO, l.text + at, l.len - at);
        if (n < 0 && errno != EINTR)
            return; /* a lost log line must not end the process */
        at += n > 0 ? (size_t)n : 0;
    }
}
