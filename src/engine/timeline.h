/* The span tree of one job: read from a recorder, as JSON and back, as a table, a list of gaps, a trace
 * for Perfetto; and the TIMELINE lines of the existing daemon. All of them show the same spans.
 *
 * JSON: {"job_id": text, "dropped_spans": count, "spans": [{"id", "parent", "name", "partition",
 * "device", "thread", "start_ms", "end_ms", "bytes", "unaccounted_ms"}]}. Ids are 1, 2, ... in order of
 * the array; a parent comes before its children, 0 is none. partition is -1 and device "" where there
 * is none. Times are ms (to the ns) since the first span began. */
#ifndef ENGINE_TIMELINE_H
#define ENGINE_TIMELINE_H
#include "base/arena.h"
#include "base/span.h"
#include "engine/job.h"

#define TIMELINE_SPANS_MAX (1u << 20) /* a text with more is refused */

typedef struct timeline_span {
    uint32_t id, parent; /* id is the index + 1; parent < id */
    const char *name;
    const char *device; /* "": the host */
    int32_t partition;  /* -1: none */
    uint32_t thread, n_children;
    uint64_t bytes, start_ns, end_ns; /* since the first span; start_ns <= end_ns */
    uint64_t unaccounted_ns;          /* own time minus the union of the children's; 0 for leaves */
} timeline_span;

/* {0} is empty. Strings lie in `strings` or in static storage. */
typedef struct timeline {
    char job_id[JOB_ID_MAX];
    timeline_span *spans;
    uint32_t n_spans, n_dropped;
    arena strings;
} timeline;

/* Name of the device that a span ran on, "" or NULL for the host. The text is copied. */
typedef const char *timeline_device_fn(void *ctx, const span_view *v);
/* Read a recorder that holds one job; open spans end now. device may be NULL.
 * Memory: release with timeline_fini. Errors: CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status timeline_from_spans(timeline *out, const char *job_id,
                                                const span_rec *r, timeline_device_fn *device,
                                                void *ctx);
void timeline_fini(timeline *t);

/* A parent is suspicious when more than 1 % and more than 10 ms of it are unaccounted. */
bool timeline_is_gap(const timeline_span *s);
/* Unaccounted time of all suspicious parents: what the metric adds up. */
uint64_t timeline_gap_ns(const timeline *t);

/* Gives *json (mem_free). Errors: CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status timeline_format(char **json, const timeline *t);
/* unaccounted_ns and n_children are computed from the spans, not read. Unknown members are skipped.
 * Errors: CUZK_E_INPUT (names the member), CUZK_E_NOMEM; *out is then empty. */
CUZK_MUST_CHECK cuzk_status timeline_parse(timeline *out, const char *json, size_t len);

/* Indented table, children in order of their start, suspicious parents marked. Errors: CUZK_E_IO,
 * CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status timeline_write_table(const timeline *t, FILE *f);
/* Suspicious parents, worst first, each with its longest stretches without a child and what lies
 * before and behind. */
CUZK_MUST_CHECK cuzk_status timeline_write_gaps(const timeline *t, FILE *f);
/* Trace Event Format (chrome://tracing, Perfetto): a row per device and thread; spans of one row that
 * overlap without nesting get rows of their own. */
CUZK_MUST_CHECK cuzk_status timeline_write_chrome(const timeline *t, FILE *f);

/* ---- TIMELINE lines ---- */

typedef enum timeline_event {
    TIMELINE_SYNTH_START, /* witness */
    TIMELINE_SYNTH_END,
    TIMELINE_GPU_QUEUE, /* ready for a device */
    TIMELINE_GPU_PICKUP,
    TIMELINE_GPU_START,
    TIMELINE_GPU_END,
    TIMELINE_N_EVENTS
} timeline_event;

typedef struct timeline_line {
    timeline_event event;
    uint64_t since_start_ms; /* of the engine */
    const char *job_id;
    int32_t partition; /* -1: the job is proven in one piece */
    proof_kind kind;
    uint32_t worker;  /* PICKUP, START, END: number of the device */
    uint64_t took_ms; /* the two ENDs */
} timeline_line;

#define TIMELINE_LINE_MAX 1200u
/* "TIMELINE,<ms>,<event>,<job id>,<detail>\n" into out (TIMELINE_LINE_MAX chars); returns the length.
 * Commas, '%' and control characters of the job id are written as %XX, so that columns stay columns. */
size_t timeline_format_line(char *out, const timeline_line *l);
/* The same to stderr in one write, so that lines of several threads do not mix. */
void timeline_print_line(const timeline_line *l);
#endif
