/* A job's span tree as a trace for Perfetto and chrome://tracing. */
#ifndef HTTP_PERFETTO_H
#define HTTP_PERFETTO_H
#include "base/json_write.h"

/* Write the trace of a timeline as engine_get_timeline gives it. Tracks: the job, then one for each
 * partition and, for spans of several partitions, each device; spans of a track that overlap
 * without nesting go to further tracks of the same name.
 * Errors: CUZK_E_INPUT (not a timeline), CUZK_E_NOMEM; what w then holds is incomplete. */
CUZK_MUST_CHECK cuzk_status http_perfetto_write(json_writer *w, const char *json, size_t len);
#endif
