/* Job and kind in the words of the status interfaces; the rest of metrics.c is declared in
 * engine.h. */
#ifndef ENGINE_METRICS_H
#define ENGINE_METRICS_H
#include "engine/engine.h"

/* "porep-c2", "winning-post", "window-post", "snap-update": the names clients of the status
 * interfaces know. Metric labels have '_' for '-'. */
extern const char *const ENGINE_KIND_LABELS[PROOF_N_KINDS];

/* All of a job as one JSON object (docs/http.md). */
void engine_job_json(json_writer *w, const job_view *v);

/* Estimate of the q-quantile (0 < q < 1) in seconds, linear inside a bucket; 0 when empty, the last
 * bound when it lies above that. */
double engine_hist_quantile(const engine_hist *h, double q);
uint64_t engine_hist_count(const engine_hist *h);
#endif
