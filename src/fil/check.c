#include "fil/check.h"
#include "base/bytes.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

check_where check_in(const check_where *outer, const char *fmt, ...)
{
    check_where w;
    va_list ap;
    w.s[0] = 0;
    if (outer)
        snprintf(w.s, sizeof w.s, "%s.", outer->s);
    size_t n = strlen(w.s);
    va_start(ap, fmt);
    vsnprintf(w.s + n, sizeof w.s - n, fmt, ap);
    va_end(ap);
    return w;
}

void check_short_hex(char out[24], const fr *v)
{
    uint8_t b[32];
    fr_to_le(b, v);
    hex_encode(out, b, 8);
    memcpy(out + 16, "...", 4);
}

cuzk_status check_fr(const check_where *w, const char *field, const char *what, const fr *want,
                     const fr *got)
{
    if (fr_eq(want, got))
        return cuzk_ok();
    char a[24], b[24], expected[80];
    check_short_hex(a, want);
    check_short_hex(b, got);
    snprintf(expected, sizeof expected, "%s %s", what, a);
    return cuzk_bad_input(check_in(w, "%s", field).s, expected, "%s", b);
}

cuzk_status check_u64(const check_where *w, const char *field, const char *what, uint64_t want,
                      uint64_t got)
{
    if (want == got)
        return cuzk_ok();
    char expected[80];
    snprintf(expected, sizeof expected, "%s %llu", what, (unsigned long long)want);
    return cuzk_bad_input(check_in(w, "%s", field).s, expected, "%llu", (unsigned long long)got);
}

cuzk_status check_canonical(const char *field, const uint8_t bytes[32])
{
    if (fr_le_is_canonical(bytes))
        return cuzk_ok();
    char hex[65];
    hex_encode(hex, bytes, 32);
    return cuzk_bad_input(field, "a field element below r", "%s (little-endian)", hex);
}

typedef struct loop {
    const run_ctx *rc;
    check_item_fn *fn;
    const void *ctx;
    /* lowest item that failed so far. Relaxed: pool_for orders the last read after all writes */
    atomic_size_t first_bad;
    atomic_bool cancelled;
} loop;

static void check_chunk(void *arg, size_t i, unsigned thread)
{
    loop *l = arg;
    (void)thread;
    if (i > atomic_load_explicit(&l->first_bad, memory_order_relaxed) ||
        atomic_load_explicit(&l->cancelled, memory_order_relaxed))
        return;
    if (run_cancelled(l->rc)) {
        atomic_store_explicit(&l->cancelled, true, memory_order_relaxed);
        return;
    }
    if (l->fn(NULL, l->ctx, i))
        return;
    size_t seen = atomic_load_explicit(&l->first_bad, memory_order_relaxed);
    while (i < seen && !atomic_compare_exchange_weak_explicit(
                           &l->first_bad, &seen, i, memory_order_relaxed, memory_order_relaxed))
        ;
}

cuzk_status check_each(const run_ctx *rc, size_t n, check_item_fn *fn, const void *ctx,
                       const char *what)
{
    static const run_ctx no_rc;
    loop l = {.rc = rc ? rc : &no_rc, .fn = fn, .ctx = ctx};
    cuzk_status st = cuzk_ok();
    atomic_init(&l.first_bad, SIZE_MAX);
    atomic_init(&l.cancelled, false);
    if (run_for(l.rc, n, check_chunk, &l).code != CUZK_OK ||
        atomic_load_explicit(&l.cancelled, memory_order_relaxed))
        return cuzk_fail(CUZK_E_CANCELLED, "%s cancelled", what);
    size_t bad = atomic_load_explicit(&l.first_bad, memory_order_relaxed);
    if (bad == SIZE_MAX)
        return st;
    CUZK_VERIFY(!fn(&st, ctx, bad));
    CUZK_VERIFY(st.code != CUZK_OK);
    return st;
}
