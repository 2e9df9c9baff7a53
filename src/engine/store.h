/* The journal of jobs: what must survive kill -9. An interface with one implementation (SQLite,
 * store_sqlite.c); docs/store.md says how PostgreSQL fits. Every call that returns OK is durable. */
#ifndef ENGINE_STORE_H
#define ENGINE_STORE_H
#include "engine/job.h"

typedef struct store store;
/* A job as stored; request and proof are fetched apart. */
typedef struct store_job {
    job_view view;
    uint8_t digest[32];
} store_job;

typedef struct store_ops {
    /* Insert a queued job with its request blob (job_request_encode). Its id is view.job_id, else the
     * request id, else a random one; when that is taken, by another digest or by a try that failed,
     * '~' and 8 hex digits of the digest are appended, then '~' and a number.
     * When request id (not "") and digest are those of a job that is live or done: *existing = true,
     * *job is filled from the stored one, nothing is written. After a failed or cancelled job the
     * same request starts a new job. Errors: CUZK_E_IO (disk full, ...), CUZK_E_NOMEM,
     * CUZK_E_RANGE (over 1 GiB); *job is then unchanged but for an empty job id. */
    cuzk_status (*submit)(store *s, store_job *job, const uint8_t *blob, size_t len,
                          bool *existing);
    /* A legal move of state (job_state_may_move) with all of v that can change: everything but the
     * ids, kind, created and deadline. A final move removes request and partitions; done is only
     * reached by finish. Errors: CUZK_E_INTERNAL (illegal), CUZK_E_NOT_FOUND. */
    cuzk_status (*move)(store *s, const job_view *v);
    /* A finished, verified partition proof of a live job (again: the new one counts); and those of a
     * job: proofs[k], have[k]. One whose check bytes are wrong counts as not there. */
    cuzk_status (*put_partition)(store *s, const char *job_id, uint32_t k,
                                 const uint8_t proof[192]);
    cuzk_status (*get_partitions)(store *s, const char *job_id, uint8_t (*proofs)[192], bool *have,
                                  uint32_t n);
    /* Done: state, times and result in one transaction. Removes request and partitions. */
    cuzk_status (*finish)(store *s, const job_view *v, const uint8_t *proof, size_t len);
    cuzk_status (*get)(store *s, const char *job_id, store_job *out); /* CUZK_E_NOT_FOUND */
    /* Gives *out (mem_free). Errors: CUZK_E_NOT_FOUND (also: the job is final, or has no proof),
     * CUZK_E_INPUT (damaged; names the job). */
    cuzk_status (*get_request)(store *s, const char *job_id, uint8_t **out, size_t *len);
    cuzk_status (*get_proof)(store *s, const char *job_id, uint8_t **out, size_t *len);
    /* Newest first, at most limit; state < 0: all. Gives *out (NULL for none). */
    cuzk_status (*list)(store *s, int state, uint32_t limit, store_job **out, uint32_t *n);
    /* All live jobs, oldest first, after making them queued again (n_partitions_done counts what is
     * stored). Call once, after opening. Gives *out (NULL for none). */
    cuzk_status (*recover)(store *s, store_job **out, uint32_t *n);
    /* The span tree of a finished job (JSON text; again: replaced); the newest n_keep are kept. */
    cuzk_status (*put_timeline)(store *s, const char *job_id, const char *json, uint32_t n_keep);
    cuzk_status (*get_timeline)(store *s, const char *job_id, char **json);
    /* Remove final jobs that ended more than age_ms ago, and those beyond the newest max_jobs (0: no
     * limit of that sort); give space back to the file system. */
    cuzk_status (*prune)(store *s, uint64_t now_unix_ms, uint64_t age_ms, uint32_t max_jobs,
                         uint32_t *n_removed);
    uint64_t (*bytes)(store *s);    /* on disk */
    cuzk_status (*close)(store *s); /* checkpoint; releases s also on failure */
} store_ops;
struct store {
    const store_ops *ops;
};
/* Threads: locked. path: a file; "" keeps all in memory (tests, one-shot commands). Takes a lock:
 * a second process gets CUZK_E_IO. Errors: CUZK_E_IO, CUZK_E_INPUT (not a journal, a newer
 * schema). */
CUZK_MUST_CHECK cuzk_status store_sqlite_open(store **out, const char *path);
#endif
