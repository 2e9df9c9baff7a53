/* What the checks of vanilla proofs share: field paths, comparisons that name the field, and the
 * parallel loop whose outcome is the first failure in document order. */
#ifndef FIL_CHECK_H
#define FIL_CHECK_H
#include "base/run_ctx.h"
#include "base/status.h"
#include "fil/merkle.h"

/* Field path of what is being checked, cut to fit. Only made once something is wrong: formatting
 * costs as much as a hash. */
typedef struct check_where {
    char s[112];
} check_where;
check_where check_in(const check_where *outer, const char *fmt, ...) CUZK_PRINTF(2, 3);

/* The first 8 bytes and "...": enough to recognise a value, and leaves room for the path. */
void check_short_hex(char out[24], const fr *v);
/* "<where>.<field>: expected <what> <want>, found <got>" unless equal. where may be NULL. */
CUZK_MUST_CHECK cuzk_status check_fr(const check_where *w, const char *field, const char *what,
                                     const fr *want, const fr *got);
CUZK_MUST_CHECK cuzk_status check_u64(const check_where *w, const char *field, const char *what,
                                      uint64_t want, uint64_t got);
/* 32 bytes of a request that stand for a field element. */
CUZK_MUST_CHECK cuzk_status check_canonical(const char *field, const uint8_t bytes[32]);

/* Check item i. Returns true when it is sound; otherwise, with st not NULL, also says why. Called
 * from any thread. */
typedef bool check_item_fn(cuzk_status *st, const void *ctx, size_t i);
/* Check n items over rc->pool. Items behind a failed one are left out, so a bad input costs no more
 * than a good one.
 * Errors: that of the first bad item, whatever the thread count; CUZK_E_CANCELLED ("<what>
 * cancelled"). */
CUZK_MUST_CHECK cuzk_status check_each(const run_ctx *rc, size_t n, check_item_fn *fn,
                                       const void *ctx, const char *what);
#endif
