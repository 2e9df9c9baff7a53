/* The one span recorder for all layers (docs/architecture.md, "Where the time goes"). Times are
 * monotonic ns. */
#ifndef BASE_SPAN_H
#define BASE_SPAN_H
#include "base/status.h"
#include <stdint.h>
#include <stdio.h>

typedef struct span_rec span_rec;
typedef uint32_t span_id; /* 0 = none: root parent, or recorder absent/full */

/* Recorder for at most max_spans spans (later ones are counted as dropped). Threads: locked. */
CUZK_MUST_CHECK cuzk_status span_rec_create(span_rec **out, uint32_t max_spans);
void span_rec_destroy(span_rec *r);
/* name must be from base/span_names.h (static storage). rec may be NULL (then 0 is returned and all
 * calls are no-ops). */
span_id span_begin(span_rec *r, span_id parent, const char *name);
/* The same for one that began earlier. A start before its parent's is moved up to it. */
span_id span_begin_at(span_rec *r, span_id parent, const char *name, uint64_t start_ns);
/* Attach counters before the end: partition index (-1 none) and bytes handled. */
void span_note(span_rec *r, span_id s, int32_t partition, uint64_t bytes);
void span_end(span_rec *r, span_id s);

/* A finished span whose times (clock_now_ns) were taken elsewhere, such as by device events; it may be
 * recorded after later ones. A start before its parent's is moved up to it. */
span_id span_record(span_rec *r, span_id parent, const char *name, uint64_t start_ns,
                    uint64_t end_ns);

/* One finished span as read back. unaccounted_ns = own duration minus the union of its children (0
 * for leaves). */
typedef struct span_view {
    const char *name;
    span_id id, parent;
    uint32_t thread;
    int32_t partition;
    uint64_t bytes;
    uint64_t start_ns, end_ns, unaccounted_ns;
    uint32_t n_children;
} span_view;
uint32_t span_count(const span_rec *r);
uint32_t span_dropped(const span_rec *r);
/* Spans in the order they were begun or recorded, idx in [0, span_count). Open spans end "now". */
span_view span_get(const span_rec *r, uint32_t idx);
/* All spans at one moment, as span_get gives them but in O(n).
 * Memory: gives *views (NULL when there are none); release with mem_free. Errors: CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status span_snapshot(const span_rec *r, span_view **views, uint32_t *n_views);
/* Chrome/Perfetto trace JSON (ph "X"), with unaccounted_ms in args of parents. Errors:
 * CUZK_E_IO. */
CUZK_MUST_CHECK cuzk_status span_write_chrome(const span_rec *r, FILE *f);
/* Table: indented name, start, duration, share of root, unaccounted; parents over 1 % and 10 ms
 * unaccounted are marked. */
CUZK_MUST_CHECK cuzk_status span_write_table(const span_rec *r, FILE *f);
uint64_t clock_now_ns(void); /* CLOCK_MONOTONIC */
#endif
