/* Span recorder internals: injected clock for tests, snapshot for the writers. */
#ifndef BASE_SPAN_INT_H
#define BASE_SPAN_INT_H
#include "base/span.h"

/* span_end with the time given. */
void span_end_at(span_rec *r, span_id s, uint64_t end_ns);

/* All spans at one moment, as span_get gives them but in O(n).
 * Memory: gives *views (NULL when there are none); release with mem_free. Errors: CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status span_snapshot(const span_rec *r, span_view **views, uint32_t *n_views);
#endif
