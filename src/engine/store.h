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
    /* Insert a queued job with its request blob (job_request_encode). When request id and digest
     * are known: *existing = true, view filled from the stored job, nothing is written. When the
     * request id is taken by another digest, the job gets another job id (request id, '~', 8 hex
     * digits of the digest). Errors: CUZK_E_IO (disk full, ...), CUZK_E_NOMEM. */
    cuzk_status (*submit)(store *s, store_job *job, const uint8_t *blob, size_t len,
                          bool *existing);
    /* A legal move of state with error text, times and counters from v. */
    cuzk_status (*move)(store *s, const job_view *v);
    /* A finished, verified partition proof; and those of a job: proofs[k], have[k]. */
    cuzk_status (*put_partition)(store *s, const char *job_id, uint32_t k,
                                 const uint8_t proof[192]);
    cuzk_status (*get_partitions)(store *s, const char *job_id, uint8_t (*proofs)[192], bool *have,
                                  uint32_t n);
    /* Done: state, times and result in one transaction. */
    cuzk_status (*finish)(store *s, const job_view *v, const uint8_t *proof, size_t len);
    cuzk_status (*get)(store *s, const char *job_id, store_job *out); /* CUZK_E_NOT_FOUND */
    /* Gives *out (mem_free). */
    cuzk_status (*get_request)(store *s, const char *job_id, uint8_t **out, size_t *len);
    cuzk_status (*get_proof)(store *s, const char *job_id, uint8_t **out, size_t *len);
    /* Newest first; state < 0: all. Gives *out. */
    cuzk_status (*list)(store *s, int state, uint32_t limit, store_job **out, uint32_t *n);
    /* All live jobs, oldest first: at start they become queued again. Gives *out. */
    cuzk_status (*recover)(store *s, store_job **out, uint32_t *n);
    /* The span tree of a finished job (JSON text); the newest n_keep are kept. */
    cuzk_status (*put_timeline)(store *s, const char *job_id, const char *json, uint32_t n_keep);
    cuzk_status (*get_timeline)(store *s, const char *job_id, char **json);
    /* Remove finished jobs older than age_ms or beyond max_jobs; reclaim space. */
    cuzk_status (*prune)(store *s, uint64_t now_unix_ms, uint64_t age_ms, uint32_t max_jobs,
                         uint32_t *n_removed);
    uint64_t (*bytes)(store *s);    /* on disk */
    cuzk_status (*close)(store *s); /* checkpoint; releases s also on failure */
} store_ops;
struct store {
    const store_ops *ops;
};
/* Threads: locked. path: a file; "" keeps all in memory (tests, one-shot commands). Takes a lock:
 * a second process gets CUZK_E_USAGE. Errors: CUZK_E_IO, CUZK_E_INPUT (not a journal, a newer
 * schema). */
CUZK_MUST_CHECK cuzk_status store_sqlite_open(store **out, const char *path);
#endif
