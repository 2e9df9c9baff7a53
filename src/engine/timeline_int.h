/* Shared by the timeline's writers. */
#ifndef ENGINE_TIMELINE_INT_H
#define ENGINE_TIMELINE_INT_H
#include "engine/timeline.h"

/* Compute n_children and unaccounted_ns of all spans. Errors: CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status timeline_account(timeline *t);
/* Indices of all spans by start; of two with one start the longer, then the earlier id comes first.
 * Gives *order (mem_free). */
CUZK_MUST_CHECK cuzk_status timeline_sort(uint32_t **order, const timeline *t);
/* Flush, and say so when something could not be written. */
CUZK_MUST_CHECK cuzk_status timeline_finish_file(FILE *f, const char *what);
#endif
