/* Prometheus text exposition format 0.0.4 from a snapshot. Every family has one HELP and one TYPE
 * line and all its samples together; series exist from the start, at 0, so that rates see the first
 * event. */
#include "engine/metrics.h"
#include "base/mem.h"
#include "build_facts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 25 s is the time a WinningPoSt has; 1800 s is the usual deadline of a client. */
const double ENGINE_HIST_BOUNDS[ENGINE_HIST_BUCKETS] = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,  1,
    2.5,   5,      10,    25,   60,    120,  300, 600,  1800, 3600,
};
const char *const ENGINE_PRELOAD_STATE_NAMES[ENGINE_PRELOAD_N_STATES] = {"loading", "ready",
                                                                         "failed"};
const char *const ENGINE_STAGE_NAMES[ENGINE_N_STAGES] = {
    "decode", "queue", "key", "witness", "device", "verify", "journal", "total",
};
const char *const ENGINE_KIND_LABELS[PROOF_N_KINDS] = {
    "porep-c2",
    "winning-post",
    "window-post",
    "snap-update",
};
static const char *const kind_metric_labels[PROOF_N_KINDS] = {
    "porep_c2",
    "winning_post",
    "window_post",
    "snap_update",
};

uint64_t engine_hist_count(const engine_hist *h)
{
    uint64_t n = 0;
    for (size_t i = 0; i <= ENGINE_HIST_BUCKETS; i++)
        n += h->count[i];
    return n;
}

double engine_hist_quantile(const engine_hist *h, double q)
{
    double rank = q * (double)engine_hist_count(h), below = 0, low = 0;
    for (size_t i = 0; i < ENGINE_HIST_BUCKETS; i++) {
        double n = (double)h->count[i];
        if (n > 0 && below + n >= rank)
            return low + (ENGINE_HIST_BOUNDS[i] - low) * (rank - below) / n;
        below += n;
        low = ENGINE_HIST_BOUNDS[i];
    }
    return h->count[ENGINE_HIST_BUCKETS] ? low : 0;
}

/* Growing text; keeps its first failure. */
typedef struct prom {
    char *buf;
    size_t len, cap;
    bool failed;
} prom;

static void put_n(prom *p, const char *s, size_t n)
{
    if (p->failed)
        return;
    if (p->cap - p->len <= n) {
        size_t cap = 2 * p->cap + n + 4096;
        char *buf = mem_realloc(p->buf, p->cap, cap);
        if (!buf) {
            p->failed = true;
            return;
        }
        p->buf = buf;
        p->cap = cap;
    }
    memcpy(p->buf + p->len, s, n);
    p->len += n;
    p->buf[p->len] = 0;
}

static void put(prom *p, const char *s) { put_n(p, s, strlen(s)); }

static void family(prom *p, const char *name, const char *type, const char *help)
{
    put(p, "# HELP ");
    put(p, name);
    put(p, " ");
    put(p, help);
    put(p, "\n# TYPE ");
    put(p, name);
    put(p, " ");
    put(p, type);
    put(p, "\n");
}

/* Label value as the format wants it: backslash, quote and line end escaped. */
static void put_escaped(prom *p, const char *s)
{
    for (; *s; s++) {
        if (*s == '\\')
            put(p, "\\\\");
        else if (*s == '"')
            put(p, "\\\"");
        else if (*s == '\n')
            put(p, "\\n");
        else
            put_n(p, s, 1);
    }
}

static void put_label(prom *p, bool first, const char *key, const char *value)
{
    put(p, first ? "{" : ",");
    put(p, key);
    put(p, "=\"");
    put_escaped(p, value);
    put(p, "\"");
}

static void put_value(prom *p, double v)
{
    char text[40];
    if (v - v != 0) { /* <math.h> cannot be had here: ff/fp.h has an FP_ZERO too */
        put(p, v != v ? " NaN\n" : v > 0 ? " +Inf\n" : " -Inf\n");
        return;
    }
    snprintf(text, sizeof text, "%.15g", v);
    if (strtod(text, NULL) != v)
        snprintf(text, sizeof text, "%.17g", v);
    put(p, " ");
    put(p, text);
    put(p, "\n");
}

static void sample(prom *p, const char *name, double v)
{
    put(p, name);
    put_value(p, v);
}

static void sample_1(prom *p, const char *name, const char *key, const char *label, double v)
{
    put(p, name);
    put_label(p, true, key, label);
    put(p, "}");
    put_value(p, v);
}

static void sample_kind(prom *p, const char *name, proof_kind kind, double v)
{
    sample_1(p, name, "proof_kind", kind_metric_labels[kind], v);
}

static double sum_kinds(const uint64_t v[PROOF_N_KINDS])
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < PROOF_N_KINDS; k++)
        sum += v[k];
    return (double)sum;
}

static double sum_queued(const engine_snapshot *s)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < PROOF_N_KINDS; k++)
        for (uint32_t i = 0; i < JOB_N_PRIORITIES; i++)
            sum += s->queued[k][i];
    return (double)sum;
}

/* One family with one sample. */
typedef struct scalar {
    const char *name, *type, *help;
    double value;
} scalar;

static void put_scalars(prom *p, const scalar *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        family(p, v[i].name, v[i].type, v[i].help);
        sample(p, v[i].name, v[i].value);
    }
}

static void put_build(prom *p)
{
    family(p, "cuzk_build_info", "gauge", "Version of the running program; always 1.");
    put(p, "cuzk_build_info");
    put_label(p, true, "version", CUZK_VERSION);
    put_label(p, false, "commit", CUZK_GIT_COMMIT);
    put_label(p, false, "compiler", CUZK_COMPILER);
    put(p, "}");
    put_value(p, 1);
}

static void put_general(prom *p, const engine_snapshot *s)
{
    const scalar v[] = {
        {"cuzk_uptime_seconds", "gauge", "Whole seconds since start.",
         (double)(uint64_t)s->uptime_seconds},
        {"cuzk_ready", "gauge", "1 when warm-up is done.", s->is_ready},
        {"cuzk_draining", "gauge", "1 while shutting down: new jobs are refused.", s->is_draining},
        {"cuzk_threads", "gauge", "Threads of the CPU pool.", s->n_threads},
        {"cuzk_gpu_workers", "gauge", "Proving devices.", s->n_devices},
        {"cuzk_proofs_completed_total", "counter", "Jobs done, all kinds.",
         sum_kinds(s->completed)},
        {"cuzk_proofs_failed_total", "counter", "Jobs failed, all kinds.", sum_kinds(s->failed)},
        {"cuzk_queue_depth", "gauge", "Jobs waiting, all kinds.", sum_queued(s)},
        {"cuzk_running_jobs", "gauge", "Jobs begun and not finished.", sum_kinds(s->running)},
        {"cuzk_requests_deduplicated_total", "counter",
         "Requests answered with a job already known.", (double)s->deduplicated},
        {"cuzk_self_check_failures_total", "counter",
         "Proofs that did not verify and were not delivered.", (double)s->self_check_failures},
        {"cuzk_partition_retries_total", "counter",
         "Partitions proven again after a failed check or device.", (double)s->partition_retries},
        {"cuzk_device_faults_total", "counter", "Device errors, all devices.",
         (double)s->device_faults},
        {"cuzk_unaccounted_seconds_total", "counter",
         "Time inside spans that no child span explains.", s->unaccounted_seconds},
        {"cuzk_memory_budget_bytes", "gauge", "Host memory jobs and keys may reserve.",
         (double)s->memory_budget},
        {"cuzk_memory_used_bytes", "gauge", "Host memory reserved by jobs and keys.",
         (double)s->memory_used},
        {"process_resident_memory_bytes", "gauge",
         "Resident memory, pages of mapped key files included.", (double)s->memory_rss},
        {"cuzk_request_bytes", "gauge", "Request bodies held in memory.", (double)s->request_bytes},
        {"cuzk_store_bytes", "gauge", "Size of the job journal on disk.", (double)s->store_bytes},
        {"cuzk_key_cache_hits_total", "counter", "Stages that found their key loaded.",
         (double)s->key_hits},
        {"cuzk_key_cache_misses_total", "counter", "Stages that had to load their key.",
         (double)s->key_misses},
        {"cuzk_key_cache_evictions_total", "counter", "Keys given up.", (double)s->key_evictions},
    };
    put_scalars(p, v, ARRAY_LEN(v));
    family(p, "cuzk_requests_rejected_total", "counter", "Requests refused, by reason.");
    sample_1(p, "cuzk_requests_rejected_total", "reason", "invalid", (double)s->rejected_invalid);
    sample_1(p, "cuzk_requests_rejected_total", "reason", "busy", (double)s->rejected_busy);
}

static void put_transport(prom *p, const engine_transport_view *t)
{
    const scalar v[] = {
        {"cuzk_rpc_calls_total", "counter", "gRPC calls that came.", (double)t->calls_started},
        {"cuzk_rpc_calls", "gauge", "gRPC calls now, waits included.", (double)t->calls_live},
        {"cuzk_rpc_calls_cancelled_total", "counter",
         "gRPC calls whose client went away before the answer.", (double)t->cancelled},
        {"cuzk_rpc_bodies", "gauge", "Proof requests being received.", (double)t->bodies_live},
        {"cuzk_rpc_bodies_waiting", "gauge", "Proof requests that wait to be received.",
         (double)t->bodies_waiting},
        {"cuzk_rpc_connections_total", "counter", "gRPC connections accepted, TLS not counted.",
         (double)t->connections_accepted},
        {"cuzk_rpc_connections_refused_total", "counter",
         "gRPC connections closed at once: too many, or no descriptor left.",
         (double)t->connections_refused},
    };
    put_scalars(p, v, ARRAY_LEN(v));
    family(p, "cuzk_rpc_refused_total", "counter", "gRPC calls refused, by reason.");
    sample_1(p, "cuzk_rpc_refused_total", "reason", "token", (double)t->refused_token);
    sample_1(p, "cuzk_rpc_refused_total", "reason", "busy", (double)t->refused_busy);
    sample_1(p, "cuzk_rpc_refused_total", "reason", "invalid", (double)t->refused_invalid);
}

static void put_kinds(prom *p, const engine_snapshot *s)
{
    const struct {
        const char *name, *type, *help;
        const uint64_t *v;
    } families[] = {
        {"cuzk_proofs_completed", "counter", "Jobs done by kind.", s->completed},
        {"cuzk_proofs_failed", "counter", "Jobs failed by kind.", s->failed},
        {"cuzk_proofs_cancelled", "counter", "Jobs cancelled by kind.", s->cancelled},
        {"cuzk_active_jobs", "gauge", "Jobs begun and not finished, by kind.", s->running},
    };
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        family(p, families[i].name, families[i].type, families[i].help);
        for (proof_kind k = 0; k < PROOF_N_KINDS; k++)
            sample_kind(p, families[i].name, k, (double)families[i].v[k]);
    }
    family(p, "cuzk_queued_jobs", "gauge", "Jobs waiting by kind and priority.");
    for (proof_kind k = 0; k < PROOF_N_KINDS; k++)
        for (uint32_t i = 0; i < JOB_N_PRIORITIES; i++) {
            put(p, "cuzk_queued_jobs");
            put_label(p, true, "proof_kind", kind_metric_labels[k]);
            put_label(p, false, "priority", JOB_PRIORITY_NAMES[i]);
            put(p, "}");
            put_value(p, (double)s->queued[k][i]);
        }
    family(p, "cuzk_proof_duration_seconds", "summary",
           "Submit to end of done and failed jobs, by kind.");
    for (proof_kind k = 0; k < PROOF_N_KINDS; k++) {
        const engine_hist *h = &s->stages[k][ENGINE_STAGE_TOTAL];
        sample_kind(p, "cuzk_proof_duration_seconds_sum", k, h->sum);
        sample_kind(p, "cuzk_proof_duration_seconds_count", k, (double)engine_hist_count(h));
    }
}

/* The labels of one histogram; stage may be NULL. */
typedef struct hist_labels {
    const char *name, *kind, *stage;
} hist_labels;

static void hist_line(prom *p, const hist_labels *l, const char *suffix, const char *le, double v)
{
    put(p, l->name);
    put(p, suffix);
    put_label(p, true, "proof_kind", l->kind);
    if (l->stage)
        put_label(p, false, "stage", l->stage);
    if (le)
        put_label(p, false, "le", le);
    put(p, "}");
    put_value(p, v);
}

static void put_hist(prom *p, const hist_labels *l, const engine_hist *h)
{
    uint64_t below = 0;
    for (size_t i = 0; i < ENGINE_HIST_BUCKETS; i++) {
        char le[32];
        below += h->count[i];
        snprintf(le, sizeof le, "%g", ENGINE_HIST_BOUNDS[i]);
        hist_line(p, l, "_bucket", le, (double)below);
    }
    below += h->count[ENGINE_HIST_BUCKETS];
    hist_line(p, l, "_bucket", "+Inf", (double)below);
    hist_line(p, l, "_sum", NULL, h->sum);
    hist_line(p, l, "_count", NULL, (double)below);
}

static void put_histograms(prom *p, const engine_snapshot *s)
{
    family(p, "cuzk_job_duration_seconds", "histogram", "Submit to end, by kind.");
    for (uint32_t k = 0; k < PROOF_N_KINDS; k++)
        put_hist(p, &(hist_labels){"cuzk_job_duration_seconds", kind_metric_labels[k], NULL},
                 &s->stages[k][ENGINE_STAGE_TOTAL]);
    family(p, "cuzk_queue_wait_seconds", "histogram", "Time waiting in the queue, by kind.");
    for (uint32_t k = 0; k < PROOF_N_KINDS; k++)
        put_hist(p, &(hist_labels){"cuzk_queue_wait_seconds", kind_metric_labels[k], NULL},
                 &s->stages[k][ENGINE_STAGE_QUEUE]);
    family(p, "cuzk_stage_duration_seconds", "histogram",
           "Time in each stage of a job, by kind and stage.");
    for (uint32_t k = 0; k < PROOF_N_KINDS; k++)
        for (uint32_t i = 0; i < ENGINE_N_STAGES; i++) {
            if (i == ENGINE_STAGE_QUEUE || i == ENGINE_STAGE_TOTAL)
                continue;
            hist_labels l = {"cuzk_stage_duration_seconds", kind_metric_labels[k],
                             ENGINE_STAGE_NAMES[i]};
            put_hist(p, &l, &s->stages[k][i]);
        }
}

static double device_value(const engine_snapshot *s, const engine_device_view *d, size_t column)
{
    switch (column) {
    case 0:
        return d->busy_seconds;
    case 1:
        return s->uptime_seconds > 0 ? d->busy_seconds / s->uptime_seconds : 0;
    case 2:
        return d->job_id[0] != 0;
    case 3:
        return d->is_healthy;
    case 4:
        return (double)d->n_faults;
    case 5:
        return (double)d->n_partitions;
    case 6:
        return (double)d->memory_total;
    case 7:
        return (double)d->memory_used;
    default:
        return d->is_silent;
    }
}

static void put_devices(prom *p, const engine_snapshot *s)
{
    static const struct {
        const char *name, *type, *help;
    } families[] = {
        {"cuzk_device_busy_seconds_total", "counter", "Time the device worked."},
        {"cuzk_device_busy_ratio", "gauge", "Share of the time since start the device worked."},
        {"cuzk_device_proving", "gauge", "1 while the device has a partition."},
        {"cuzk_device_healthy", "gauge", "0 when taken out of work after faults."},
        {"cuzk_device_errors_total", "counter", "Errors of this device."},
        {"cuzk_device_partitions_total", "counter", "Partitions this device proved."},
        {"cuzk_device_memory_bytes", "gauge", "Memory of the device."},
        {"cuzk_device_memory_used_bytes", "gauge", "Memory of the device in use."},
        {"cuzk_device_silent", "gauge", "1 while the device gives no sign of life from its work."},
    };
    family(p, "cuzk_device_info", "gauge", "What a device is; always 1.");
    for (uint32_t i = 0; i < s->n_devices; i++) {
        put(p, "cuzk_device_info");
        put_label(p, true, "device", s->devices[i].name);
        put_label(p, false, "description", s->devices[i].description);
        put(p, "}");
        put_value(p, 1);
    }
    for (size_t c = 0; c < ARRAY_LEN(families); c++) {
        family(p, families[c].name, families[c].type, families[c].help);
        for (uint32_t i = 0; i < s->n_devices; i++)
            sample_1(p, families[c].name, "device", s->devices[i].name,
                     device_value(s, &s->devices[i], c));
    }
}

static double key_value(const engine_key_view *k, size_t column)
{
    switch (column) {
    case 0:
        return (double)k->host_bytes;
    case 1:
        return (double)k->device_bytes;
    case 2:
        return k->n_users;
    case 3:
        return k->is_loading;
    case 4:
        return (double)k->load_ms / 1000;
    default:
        return (double)k->last_used_unix_ms / 1000;
    }
}

static void put_keys(prom *p, const engine_snapshot *s)
{
    static const struct {
        const char *name, *help;
    } families[] = {
        {"cuzk_key_host_bytes", "Host bytes of a loaded key."},
        {"cuzk_key_device_bytes", "Device bytes of a loaded key, all devices."},
        {"cuzk_key_users", "Jobs that use the key now."},
        {"cuzk_key_loading", "1 while the key is being loaded."},
        {"cuzk_key_load_seconds", "Time its load took."},
        {"cuzk_key_last_used_timestamp_seconds", "Unix time of the last use."},
    };
    for (size_t c = 0; c < ARRAY_LEN(families); c++) {
        family(p, families[c].name, "gauge", families[c].help);
        for (uint32_t i = 0; i < s->n_keys; i++)
            sample_1(p, families[c].name, "circuit_id", s->keys[i].circuit_id,
                     key_value(&s->keys[i], c));
    }
}

static void put_preloads(prom *p, const engine_snapshot *s)
{
    family(p, "cuzk_preload_ready", "gauge", "1 when a circuit of srs.preload was loaded.");
    for (uint32_t i = 0; i < s->n_preloads; i++)
        sample_1(p, "cuzk_preload_ready", "circuit_id", s->preloads[i].circuit_id,
                 s->preloads[i].state == ENGINE_PRELOAD_READY);
    family(p, "cuzk_preload_failed", "gauge", "1 when its last attempt failed.");
    for (uint32_t i = 0; i < s->n_preloads; i++)
        sample_1(p, "cuzk_preload_failed", "circuit_id", s->preloads[i].circuit_id,
                 s->preloads[i].error[0] != 0);
}

cuzk_status engine_metrics_text(const engine_snapshot *s, char **out, size_t *len)
{
    prom p = {0};
    put_build(&p);
    put_general(&p, s);
    put_transport(&p, &s->transport);
    put_kinds(&p, s);
    put_devices(&p, s);
    put_keys(&p, s);
    put_preloads(&p, s);
    put_histograms(&p, s);
    if (p.failed) {
        mem_free(p.buf);
        *out = NULL;
        *len = 0;
        return cuzk_fail(CUZK_E_NOMEM, "metrics text of %zu bytes and more", p.len);
    }
    *out = p.buf;
    *len = p.len;
    return cuzk_ok();
}
