/* The proving engine: durable jobs in, verified proofs out. Transport (rpc, http) and main (daemon)
 * sit on this header; it never names a backend or a wire type.
 *
 * Threads: every call is safe from any thread. Calls marked "quick" take no longer than a memory
 * lookup or one journal transaction; callbacks come from engine threads, must not block and must
 * not call back into the engine except for calls marked quick. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H
#include "base/json_write.h"
#include "engine/job.h"
#include "groth16/backend.h"

typedef struct engine engine;

typedef struct engine_device {
    char name[64];         /* "cpu", "cuda:0" */
    char model[96];        /* "NVIDIA H200"; "": not known */
    g16_backend *backend;  /* keeps; destroyed by the caller after engine_destroy */
    uint64_t memory_bytes; /* for keys and work; 0: the backend decides alone */
    uint32_t batch_max;    /* most partitions per call of prove */
} engine_device;

typedef struct engine_config {
    const char *param_dir;  /* keys: <stem>.params, <stem>.vk */
    const char *store_path; /* "" in memory */
    const engine_device *devices;
    uint32_t n_devices;
    uint32_t n_threads;      /* CPU pool; 0: all usable */
    uint32_t n_host_workers; /* decode, witness, verify; 0: by threads */
    uint64_t memory_budget_bytes, eviction_min_idle_ms;
    uint32_t max_batch_size, max_batch_wait_ms;
    uint32_t max_queued_jobs;
    uint64_t max_queued_bytes;
    uint32_t max_active[PROOF_N_KINDS]; /* jobs of a kind beyond decode; 0: no limit */
    uint64_t ageing_ms;                 /* waiting this long counts as one class more */
    uint64_t device_timeout_ms;         /* watchdog of one slice */
    uint64_t device_retest_ms;          /* between self-tests of an unhealthy device; 0: 30 s */
    uint64_t preload_retry_ms;          /* between attempts of a failed preload; 0: 30 s */
    uint64_t retention_ms;
    uint32_t retention_jobs, timeline_jobs;
    bool timeline_lines; /* TIMELINE, lines on stderr */
    /* Circuits loaded at start, and kept when others can be given up; engine_is_ready waits for them. A
     * failed one is logged and tried again. */
    const char *const *preload;
    uint32_t n_preload;
} engine_config;

/* Open the store, recover live jobs, start threads. Errors: of the store, of devices' self-test;
 * CUZK_E_INPUT for a circuit to preload that there is not. */
CUZK_MUST_CHECK cuzk_status engine_create(engine **out, const engine_config *cfg);
/* Refuse new jobs, let running partitions finish until the deadline, journal the rest as queued. */
void engine_drain(engine *e, uint64_t timeout_ms);
/* Drains with 0 ms when not drained. False: a device hangs and still uses what it was given, the
 * backends too: nothing of it may be released, and the process should end by _exit. */
bool engine_destroy(engine *e);
/* Warm-up done: devices tested, preloads loaded. Quick. */
bool engine_is_ready(const engine *e);
/* Every preload was loaded or has failed once: waiting longer need not help. Quick. */
bool engine_preloads_tried(const engine *e);
/* What can change while running (SIGHUP): limits, retention, batch, ageing, timeline_lines. */
CUZK_MUST_CHECK cuzk_status engine_reconfigure(engine *e, const engine_config *cfg);

/* ---- jobs ---- */

typedef struct engine_submitted {
    /* CUZK_E_INPUT (names the field), CUZK_E_IMPOSSIBLE (needed and available), CUZK_E_BUSY,
     * CUZK_E_IO (the daemon stops) */
    cuzk_status st;
    uint64_t retry_after_ms;
    bool existing; /* same request id and digest: the job already known */
    job_view view;
} engine_submitted;
typedef void engine_submit_fn(void *ctx, const engine_submitted *r);
/* Takes *req in every case. Decoding, checking of the vanilla proof and the journal write happen on
 * a host worker; then done is called once. Quick. */
void engine_submit(engine *e, job_request *req, engine_submit_fn *done, void *ctx);

/* Bytes a transport may still read into memory for requests: reserve before reading a body; give
 * back what engine_submit does not take over. BUSY when full, and when to come back (else 0). Quick. */
CUZK_MUST_CHECK cuzk_status engine_reserve_request(engine *e, uint64_t bytes,
                                                   uint64_t *retry_after_ms);
void engine_release_request(engine *e, uint64_t bytes);

typedef struct engine_watch engine_watch;
/* Called on every change of state or progress (only_end: once, when final; at once when it already
 * is). */
typedef void engine_watch_fn(void *ctx, const job_view *v);
CUZK_MUST_CHECK cuzk_status engine_watch_job(engine *e, const char *job_id, bool only_end,
                                             engine_watch_fn *fn, void *ctx, engine_watch **out);
/* After return fn is not running and will not be called. True when the final call was not made.
 * Quick; not from inside fn. */
bool engine_unwatch(engine *e, engine_watch *w);

CUZK_MUST_CHECK cuzk_status engine_get_job(engine *e, const char *job_id,
                                           job_view *out); /* quick */
/* The 192 * n bytes of a done job; gives (mem_free). Quick. */
CUZK_MUST_CHECK cuzk_status engine_get_proof(engine *e, const char *job_id, uint8_t **proof,
                                             size_t *len);
/* Newest first; state < 0: all. Gives *out (mem_free). Quick. */
CUZK_MUST_CHECK cuzk_status engine_list_jobs(engine *e, int state, uint32_t limit, job_view **out,
                                             uint32_t *n);
/* Asks; the job becomes cancelled at its next check (within ~100 ms). NOT_FOUND; OK with
 * *was_live = false for a final job. Quick. */
CUZK_MUST_CHECK cuzk_status engine_cancel(engine *e, const char *job_id, bool *was_live);
/* Span tree of a job, running or one of the last timeline_jobs, as JSON: {"job_id", "spans": [{id,
 * parent, name, partition, device, start_ms, end_ms, bytes, unaccounted_ms}]}. Gives (mem_free).
 * Quick. */
CUZK_MUST_CHECK cuzk_status engine_get_timeline(engine *e, const char *job_id, char **json);

/* ---- keys ---- */

typedef void engine_key_fn(void *ctx, cuzk_status st, bool was_loaded, uint64_t load_ms,
                           uint64_t bytes);
/* circuit_id: "porep-32g", "winning-2k", ... Joins a load under way. */
void engine_preload(engine *e, const char *circuit_id, engine_key_fn *done, void *ctx);
/* BUSY while jobs use it. Frees host and device memory. */
void engine_evict(engine *e, const char *circuit_id, engine_key_fn *done, void *ctx);

/* ---- what is going on ---- */

#define ENGINE_HIST_BUCKETS 20u
extern const double ENGINE_HIST_BOUNDS[ENGINE_HIST_BUCKETS]; /* seconds, ascending; above: +Inf */
typedef struct engine_hist {
    uint64_t count[ENGINE_HIST_BUCKETS + 1]; /* per bucket, not cumulative */
    double sum;
} engine_hist;

typedef enum engine_stage {
    ENGINE_STAGE_DECODE,
    ENGINE_STAGE_QUEUE,
    ENGINE_STAGE_KEY,
    ENGINE_STAGE_WITNESS,
    ENGINE_STAGE_DEVICE,
    ENGINE_STAGE_VERIFY,
    ENGINE_STAGE_JOURNAL,
    ENGINE_STAGE_TOTAL,
    ENGINE_N_STAGES
} engine_stage;
extern const char *const ENGINE_STAGE_NAMES[ENGINE_N_STAGES];

typedef struct engine_device_view {
    char name[64], model[96], description[160];
    uint64_t memory_total, memory_used;
    double busy_seconds; /* since start */
    bool is_healthy;
    bool is_silent; /* no sign of life from inside a call; not healthy then */
    uint64_t n_faults, n_partitions;
    char job_id[JOB_ID_MAX]; /* current; "" when idle */
    proof_kind kind;
    uint32_t partition;
} engine_device_view;

typedef struct engine_key_view {
    char circuit_id[32];
    uint64_t host_bytes, device_bytes, last_used_unix_ms, load_ms;
    uint32_t n_users;
    bool is_loading;
} engine_key_view;

typedef enum engine_preload_state {
    ENGINE_PRELOAD_LOADING,
    ENGINE_PRELOAD_READY,
    ENGINE_PRELOAD_FAILED, /* tried again from time to time */
    ENGINE_PRELOAD_N_STATES
} engine_preload_state;
extern const char *const ENGINE_PRELOAD_STATE_NAMES[ENGINE_PRELOAD_N_STATES];

typedef struct engine_preload_view {
    char circuit_id[32];
    engine_preload_state state;
    char error[252]; /* of the last attempt; "" when it went well or there was none */
} engine_preload_view;

/* Jobs stay in the status this long after their end. */
#define ENGINE_ENDED_SHOWN_MS 30000u
#define ENGINE_NO_TIME UINT64_MAX

typedef enum engine_part_state {
    ENGINE_PART_PENDING,
    ENGINE_PART_WITNESS, /* one is being made */
    ENGINE_PART_READY,   /* has one, no device works on it yet */
    ENGINE_PART_DEVICE,  /* is being proven or verified */
    ENGINE_PART_DONE,
    ENGINE_PART_FAILED, /* not done when its job failed or was cancelled */
    ENGINE_PART_N_STATES
} engine_part_state;

/* True wall times of the latest attempt, so far while it lasts: of making the witness, and from the
 * device's claim to the proof; partitions proven as one batch share theirs. ENGINE_NO_TIME: not begun,
 * or done before the daemon was restarted. */
typedef struct engine_part_view {
    engine_part_state state;
    uint64_t witness_ms, device_ms;
} engine_part_view;

typedef struct engine_job_parts {
    char job_id[JOB_ID_MAX];
    uint32_t first, n; /* in engine_snapshot.parts */
} engine_job_parts;

/* What a transport counts of its calls and connections. */
typedef struct engine_transport_view {
    uint64_t calls_started, calls_live, bodies_live, bodies_waiting;
    uint64_t refused_token, refused_busy, refused_invalid, cancelled;
    uint64_t connections_accepted, connections_refused;
} engine_transport_view;

typedef struct engine_snapshot {
    double uptime_seconds;
    bool is_ready, is_draining;
    uint32_t n_threads;
    uint64_t queued[PROOF_N_KINDS][JOB_N_PRIORITIES], running[PROOF_N_KINDS];
    uint64_t completed[PROOF_N_KINDS], failed[PROOF_N_KINDS], cancelled[PROOF_N_KINDS];
    uint64_t rejected_invalid, rejected_busy, deduplicated;
    uint64_t self_check_failures, partition_retries, device_faults;
    engine_hist stages[PROOF_N_KINDS][ENGINE_N_STAGES];
    double unaccounted_seconds;
    engine_transport_view transport; /* of engine_set_transport; else zeros */
    uint64_t memory_budget, memory_used, memory_rss, request_bytes;
    uint64_t key_hits, key_misses, key_evictions, store_bytes;
    engine_device_view *devices;
    uint32_t n_devices;
    engine_key_view *keys;
    uint32_t n_keys;
    engine_preload_view *preloads;
    uint32_t n_preloads;
    engine_job_parts *job_parts; /* of jobs that run, or ended in the last ENGINE_ENDED_SHOWN_MS */
    uint32_t n_job_parts;
    engine_part_view *parts;
    /* completions per minute, the last 60 minutes, oldest first */
    uint32_t per_minute[60];
} engine_snapshot;
/* Gives the arrays (engine_snapshot_fini). Quick. */
CUZK_MUST_CHECK cuzk_status engine_get_snapshot(engine *e, engine_snapshot *out);
void engine_snapshot_fini(engine_snapshot *s);
/* Whom snapshots ask, from any thread and without a lock; NULL: nobody. A snapshot under way may still
 * ask the one before. */
typedef void engine_transport_fn(void *ctx, engine_transport_view *out);
void engine_set_transport(engine *e, engine_transport_fn *fn, void *ctx);

/* Prometheus text and the status JSON from a snapshot: metrics.c. Give *out (mem_free). */
CUZK_MUST_CHECK cuzk_status engine_metrics_text(const engine_snapshot *s, char **out, size_t *len);
void engine_status_json(json_writer *w, const engine_snapshot *s, const job_view *jobs,
                        uint32_t n_jobs);
#endif
