/* The engine from inside. One file per stage of a job's way:
 *
 *   engine_submit.c  request -> decoded, checked, journaled, queued
 *   dispatch.c       queue -> started: budget, key, limits; everything that happens by time
 *   key_load.c       keys into memory and out of it; key_request.c: when asked from outside;
 *                    preload.c: at start
 *   pipeline.c       started -> witnesses -> (device) -> verified, journaled partitions
 *   device_worker.c  one thread per device: batches, yielding to urgent ones, faults;
 *                    device_watch.c: silent ones, and those given up
 *   job_end.c        the end of a job, whatever it is
 *   watch.c          telling others
 *
 * Threads: host workers run queued tasks in order of urgency; one of them takes urgent ones only, so
 * that a long task of bulk work never stands before a WinningPoSt. */
#ifndef ENGINE_ENGINE_INT_H
#define ENGINE_ENGINE_INT_H
#include "base/log.h"
#include "base/mem.h"
#include "base/span_names.h"
#include "engine/budget.h"
#include "engine/engine.h"
#include "engine/fault.h"
#include "engine/job_table.h"
#include "engine/locks.h"
#include "engine/store.h"
#include "engine/timeline.h"
#include <pthread.h>
#include <stdatomic.h>

#define ENGINE_MS 1000000u     /* ns */
#define ENGINE_ATTEMPTS_MAX 2u /* failed proofs of one partition that fail its job */
/* The same when its device was lost, which seldom is the partition's doing, but could be. */
#define ENGINE_LOSSES_MAX 5u
#define ENGINE_HOST_WORKERS_MAX 64u

struct engine_watch {
    engine *e;
    job *job;       /* NULL: the job had ended before, view has it */
    job_view *view; /* with job NULL */
    engine_watch_fn *fn;
    void *ctx;
    bool only_end, is_queued, is_running;
    bool is_told;    /* the final call was made */
    bool is_counted; /* in job.n_to_tell */
    struct engine_watch *next_of_job, *next_queued;
};

/* What a device works on. */
typedef struct batch_item {
    job *job; /* counted in job.n_busy, and its witness in part.n_readers */
    uint32_t partition;
    bool is_finished;
    bool is_late; /* taken while its witness is being made, which is not there yet */
    span_id
        span; /* the batch in the job's trace; of the job's first item. A job's stand together. */
} batch_item;

typedef struct device_batch {
    struct device *dev;
    key_entry *key;
    uint32_t n;
    batch_item item[JOB_PARTITIONS_MAX];
    const witness *w[JOB_PARTITIONS_MAX];
    g16_blinding rs[JOB_PARTITIONS_MAX];
    g16_proof out[JOB_PARTITIONS_MAX];
    int32_t partition[JOB_PARTITIONS_MAX]; /* what spans call them */
    uint32_t n_finished;
    uint64_t start_ns, progress_ns;
    uint64_t prove_ns;        /* once the key is there */
    atomic_bool is_abandoned; /* the watchdog gave its partitions to others */
    bool is_shared;           /* by several jobs */
    span_rec *spans;          /* of the job, or of the batch when it is shared */
    span_id span;
    bool has_late;              /* some were */
    uint64_t late_until_ns;     /* then the device goes on without them */
    bool has_claimed;           /* the costly part of a proof has begun */
    struct device_batch *outer; /* the batch that lends the device */
} device_batch;

typedef struct device {
    engine *e;
    uint32_t idx;
    engine_device cfg;
    char description[160];
    pthread_t thread;
    pthread_cond_t wake;
    bool is_started, has_exited;
    bool is_healthy, needs_test, is_testing;
    uint32_t n_bad_tests;   /* failed self-tests in a row */
    uint32_t n_short_tests; /* self-tests in a row that found no memory */
    uint64_t retest_ns;     /* when an unhealthy one is tried again */
    /* What its thread is at in its backend ("proof", "key load", "self-test", "unload"; the innermost);
     * NULL: nothing. The watchdog wants signs of life meanwhile. */
    const char *inside;
    _Atomic uint64_t alive_ns; /* relaxed; the last sign of life in there */
    /* Relaxed; written with the lock held: there was none, and the call has not returned yet. */
    atomic_bool is_silent;
    uint64_t silent_ns; /* since when, for the last time */
    uint32_t thread_no; /* plus 1, as spans have it; 0: not known yet */
    uint64_t n_faults, n_partitions, busy_ns, busy_since_ns;
    bool gives_way;        /* its load has been told to end for urgent work, and has not yet */
    device_batch *running; /* innermost */
    /* Set (release) with the lock held when there may be something for the device; read (acquire) in
     * yield, which then takes the lock. */
    atomic_bool attention;
} device;

typedef struct submission submission;
typedef struct preload preload;

struct engine {
    /* Immutable after engine_create. */
    store *store;
    pool *pool;
    device *devices;
    uint32_t n_devices, n_host_workers, n_host_devices;
    char *param_dir;
    uint64_t start_ns;

    pthread_mutex_t lock; /* guards all below; see locks.h */
    engine_config cfg;    /* numbers only: no pointer of it is used */
    job_table jobs;
    sched sched;
    budget budget;
    key_cache keys;
    submission *submissions; /* in flight */
    uint32_t n_submissions;
    uint64_t request_bytes;
    engine_transport_fn *transport;
    void *transport_ctx;

    host_task *tasks[JOB_N_PRIORITIES]; /* by class, each in order of rank */
    pthread_cond_t host_wake, host_urgent_wake;
    pthread_t host_threads[ENGINE_HOST_WORKERS_MAX + 1];
    uint32_t n_host_started, n_host_busy;

    pthread_t dispatcher, notifier;
    bool has_dispatcher, has_notifier, notifier_stops;
    pthread_cond_t dispatch_wake, notify_wake, changed; /* changed: unwatch, drain, destroy wait */
    bool dispatch_now;
    engine_watch *notify_first, **notify_last;
    uint32_t n_active; /* jobs past the queue */
    uint32_t n_bulk;   /* of these, NORMAL and LOW ones */
    preload *preloads; /* the list is immutable after engine_create */
    uint32_t n_preloads;
    uint32_t n_dropping;           /* spare witnesses that are being freed */
    bool is_digesting;             /* a key file is being read for its digest */
    bool is_draining, is_stopping; /* stopping: threads leave */
    atomic_bool stop_work;         /* computations give up (drain deadline passed) */
    atomic_bool timeline_lines;    /* cfg's, for use without the lock */
    uint64_t prune_ns;

    struct {
        uint64_t completed[PROOF_N_KINDS], failed[PROOF_N_KINDS], cancelled[PROOF_N_KINDS];
        uint64_t rejected_invalid, rejected_busy, deduplicated;
        uint64_t self_check_failures, partition_retries, device_faults;
        engine_hist stages[PROOF_N_KINDS][ENGINE_N_STAGES];
        double unaccounted_seconds;
        uint32_t minutes[60]; /* completions, by minute modulo 60 */
        uint64_t minute;      /* the newest one counted */
        double mean_total_ms; /* smoothed, of all kinds: for retry hints */
    } stats;
};

static inline void engine_lock(engine *e) { pthread_mutex_lock(&e->lock); }
static inline void engine_unlock(engine *e) { pthread_mutex_unlock(&e->lock); }
static inline uint64_t now_ms(void) { return clock_now_ns() / ENGINE_MS; }
uint64_t engine_unix_ms(void);

/* ---- host_worker.c ---- */
CUZK_MUST_CHECK cuzk_status host_workers_start(engine *e);
void host_workers_join(engine *e);
/* A task without a job. NULL: out of memory. */
host_task *host_task_new(host_fn *run, void *arg);
/* Lock held; takes t. */
void host_push(engine *e, host_task *t, const sched_rank *rank);
/* A task of a job, or of one of its partitions (else -1), with the job's rank; job.n_busy counts it.
 * False: out of memory. Lock held. */
bool host_push_job(engine *e, host_fn *run, job *j, int32_t partition);
/* End of a task of a job: n_busy goes down, cleaning starts when it was the last. Lock held. */
void host_task_done(engine *e, host_task *t);

/* ---- engine_submit.c ---- */
/* Ask submissions under way with this request id to stop. Lock held. */
bool submission_cancel(engine *e, const char *request_id);
/* All of them. Lock held. */
void submission_cancel_all(engine *e);

/* ---- request_task.c ---- */
/* Decode and check a request into *out. *check_ns: when checking began; may be NULL. Errors:
 * CUZK_E_INPUT naming the field, CUZK_E_CANCELLED, CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status request_to_task(decoded_task **out, uint64_t *check_ns,
                                            const job_request *r, const run_ctx *rc);

/* ---- demand.c ---- */
/* Host memory a job of a circuit needs: its key and one witness. From the resident key, or from the
 * header of the key file. Errors: CUZK_E_IMPOSSIBLE (no usable key file; no device can ever hold the
 * key). Takes the lock. */
CUZK_MUST_CHECK cuzk_status demand_of(job_demand *out, engine *e, const circuit_id *id);
/* CUZK_E_IMPOSSIBLE with needed and available when it can never fit. */
CUZK_MUST_CHECK cuzk_status demand_check(engine *e, const job_demand *d, uint64_t decoded_bytes,
                                         const char *circuit);

/* Which devices can never hold a key, as bits. CUZK_E_IMPOSSIBLE with needed and available bytes when
 * none can. Without the lock, without asking a device. */
CUZK_MUST_CHECK cuzk_status demand_on_devices(uint32_t *too_small, const engine *e,
                                              const g16_key_info *key, const char *circuit);

/* ---- dispatch.c ---- */
CUZK_MUST_CHECK cuzk_status dispatcher_start(engine *e);
void dispatcher_join(engine *e);
void dispatch_kick(engine *e); /* lock held */

/* ---- key_load.c ---- */
void key_path(char *out, size_t len, const engine *e, const circuit_id *id, const char *ext);
/* Load e's files on a host worker. Lock held; n_users keeps the entry. */
bool key_start_load(engine *e, key_entry *k, const sched_rank *rank);
/* Begin to give up an entry without users: handles first. Lock held. */
void key_start_close(engine *e, key_entry *k);
/* After a handle went away: close the files when it was the last. Lock held. */
void key_maybe_close(engine *e, key_entry *k);
/* Call waiters from host workers. Lock held; *list is empty then. */
void key_tell(engine *e, key_waiter **list, cuzk_status st, uint64_t bytes);
/* Unpin; a failed entry goes with its last user. Lock held. */
void key_release(engine *e, key_entry *k);
/* Tell preloads that wait for k when it is ready on all devices or failed. Lock held. */
void key_tell_preloads(engine *e, key_entry *k);
/* Of all keys, when a device became unhealthy or the engine stops. Lock held. */
void key_tell_all_preloads(engine *e);

/* ---- witness_pool.c ---- */
/* A new witness of j's key, or a spare one. Without the lock. */
CUZK_MUST_CHECK cuzk_status witness_take(engine *e, job *j, witness *w);
/* Keep or free it; its slot stays j's. Without the lock. */
void witness_give(engine *e, job *j, witness *w);
/* How many of n slots of k need no room, as spare witnesses lie in them already. Lock held. */
uint32_t witness_promise(const key_entry *k, uint32_t n);
/* j's slots are given back: what they covered is in the budget by itself. Lock held. */
void witness_unpromise(engine *e, job *j);
/* Free spares that no slot covers, at once when an urgent job waits for the room (waits NULL: nobody
 * does). False: there are none. Lock held. */
bool witness_drop(engine *e, key_entry *k, const job *waits);
void witness_drop_all(key_entry *k); /* at the end of the engine */

/* ---- preload.c ---- */
CUZK_MUST_CHECK cuzk_status preloads_init(engine *e, const engine_config *cfg);
void preloads_start(engine *e);
/* Failed ones whose time has come. Lock held; released meanwhile. */
void preloads_retry(engine *e, uint64_t now_ns);
uint64_t preloads_next_ns(const engine *e); /* when the next one is; lock held */
bool preloads_are_ready(const engine *e);   /* lock held */
/* Gives s->preloads. Lock held. */
CUZK_MUST_CHECK cuzk_status preloads_view(const engine *e, engine_snapshot *s);

/* ---- pipeline.c ---- */
/* The span of a host task: first its waiting in the queue, then its work, which is returned open. */
span_id pipeline_task_span(const host_task *t, const char *name);
/* Start a job that left the queue with its reservation. Lock held. */
void pipeline_start(engine *e, job *j);
/* The end of a job that failed: the message gets kind, sector, partition (-1: none) and stage. Lock
 * held. */
void pipeline_fail(engine *e, job *j, int32_t partition, const char *stage, cuzk_status st);
/* The key is there (or failed). Lock held. */
void pipeline_key_ready(engine *e, job *j);
/* Tell the journal that the job is being proven, once. Lock held; released meanwhile. */
void pipeline_journal_start(engine *e, job *j);
/* Make witnesses as far as slots allow. Lock held. */
void pipeline_fill(engine *e, job *j);
/* A proof came out of a device. Lock held. */
void pipeline_proven(engine *e, job *j, uint32_t k, uint32_t dev, const g16_proof *proof);
/* A partition must be proven again, or its job fails. Lock held; share has it free already. */
void pipeline_retry(engine *e, job *j, uint32_t k, const char *stage, const cuzk_status *why);
/* A batch let go of the witness. Lock held. */
void pipeline_release_witness(engine *e, job *j, uint32_t k);

/* ---- device_worker.c ---- */
CUZK_MUST_CHECK cuzk_status devices_start(engine *e);
/* False: a device hangs; what it uses must stay. */
bool devices_join(engine *e);
void devices_kick(engine *e); /* lock held */
/* Mask of the healthy ones that can hold the key; k NULL, or not loaded yet: of all. Lock held. */
uint32_t devices_usable(const engine *e, const key_entry *k);
/* What a failure means for the device: a fault is counted, and it is tested before it works on. Lock
 * held. */
void device_blame(device *d, const cuzk_status *st);
/* Unload handles that were given up. Lock held; released meanwhile. True when there was one. */
bool device_drop_handles(device *d);
/* Make the key resident; also_used: if need be, keys that jobs will need again are unloaded. Lock held;
 * released meanwhile. */
CUZK_MUST_CHECK cuzk_status device_ensure_handle(device *d, key_entry *k, bool also_used,
                                                 const run_ctx *rc);

/* It may have to load its keys anew inside a proof: that is no measure of its speed. Lock held. */
void device_forget_pace(device *d);

/* ---- device_watch.c ---- */
/* Around each call of the backend: what it is, and back to what it was before (device_enter's
 * result). Lock held. device_leave: true when the watchdog gave the call up meanwhile. */
const char *device_enter(device *d, const char *what);
bool device_leave(device *d, const char *outer);
void device_alive(device *d); /* a sign of life; without the lock */
/* run_ctx.cancelled of a device's loads and self-tests; a sign of life too. */
bool device_is_unwanted(void *dev);
/* Give up silent devices, fail jobs that no device is left for. Lock held; released meanwhile. */
void devices_watch(engine *e, uint64_t now_ns);
/* Jobs that run fail when all devices that can hold their key are given up; until then they wait. Lock
 * held. */
void devices_check_any(engine *e);
uint64_t device_retest_after_ns(const engine *e); /* lock held */

/* ---- batch_pick.c ---- */
/* The most urgent work for d that beats `over` (NULL: any), taken; NULL: none, or none that other
 * devices would not have made before. Lock held. */
device_batch *batch_pick(device *d, device_batch *over);
bool batch_is_urgent_ready(const device *d); /* HIGH or above waits for d; lock held */
/* Work that is ready and urgent, more so than all that want the key being loaded on d. Lock held. */
bool batch_beats_load(const device *d, const key_entry *k);
void batch_release(device_batch *b); /* lock held: partitions not finished are free again */

/* ---- batch_trace.c ---- */
void batch_trace_begin(device_batch *b); /* lock held */
void batch_trace_end(device_batch *b);   /* without the lock */

/* ---- batch_prove.c ---- */
/* Prove and release b. Lock held; released meanwhile. */
void batch_prove(device_batch *b);
/* It failed on a lent device, which says nothing of b: its turn comes with the end of the batch that
 * lends. Lock held. */
bool batch_is_not_now(const device_batch *b, const cuzk_status *st);
/* Give what b has to other devices; b's own results no longer count. Lock held. */
void batch_abandon(device_batch *b, const cuzk_status *why);

/* ---- job_end.c ---- */
/* Decide the end of a job (once; later calls are ignored). Lock held. */
void job_end(engine *e, job *j, job_state state, cuzk_status st);
/* Clean up when nothing uses it any more. Lock held. */
void job_maybe_clean(engine *e, job *j);
void job_unref(engine *e, job *j); /* lock held */
/* Tell the journal of ends that it did not take so far, each about once a second. Lock held. */
void job_record_ends(engine *e, uint64_t now_ns);

/* ---- watch.c ---- */
CUZK_MUST_CHECK cuzk_status notifier_start(engine *e);
void notifier_join(engine *e);
void watch_changed(engine *e, job *j); /* lock held */
/* The job became final. Lock held. */
void watch_ended(engine *e, job *j);
/* Lock held. */
void job_fill_view(engine *e, job *j, job_view *out);

/* ---- stats.c ---- */
void stats_observe(engine *e, proof_kind kind, engine_stage stage, double seconds); /* lock held */
void stats_job_ended(engine *e, const job *j);                                      /* lock held */
uint64_t stats_retry_after_ms(const engine *e);                                     /* lock held */

/* ---- job_trace.c ---- */
/* The recorder of a job that starts, with what lies behind it. Failure only loses the trace. */
void job_trace_begin(engine *e, job *j);
/* A TIMELINE line when they are asked for. Not with the lock held. */
void job_trace_line(engine *e, timeline_event event, const job *j, uint32_t k, uint32_t dev,
                    uint64_t took_ns);
/* Close the root, warn about gaps, add up unaccounted time, keep the timeline. Without the lock. */
void job_trace_end(engine *e, job *j);
#endif
