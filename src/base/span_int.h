/* Span recorder internals: injected clock for tests. */
#ifndef BASE_SPAN_INT_H
#define BASE_SPAN_INT_H
#include "base/span.h"

/* span_end with the time given. */
void span_end_at(span_rec *r, span_id s, uint64_t end_ns);
#endif
