/* The SQLite store from inside: one connection, one mutex, cached statements. */
#ifndef ENGINE_STORE_INT_H
#define ENGINE_STORE_INT_H
#include "engine/store.h"
#include <pthread.h>
#include <sqlite3.h>

#define STORE_APPLICATION_ID 0x43555a4b /* "CUZK" */
#define STORE_PAGE_BYTES 8192
/* The WAL is copied back at this size and cut to it, so it stays below about twice as much. */
#define STORE_WAL_BYTES (4 << 20)
/* A packed request lies in parts of this size, so that no row needs memory of its whole size. */
#define STORE_PART_BYTES ((size_t)512 << 10)
#define STORE_PART_BITS 16 /* row id of part k of job seq: seq << 16 | k */
/* Bigger packed requests are written ahead in several transactions of this size: an urgent job's
 * record never waits for a whole one. */
#define STORE_STAGE_BYTES ((size_t)4 << 20)
#define STORE_BLOB_MAX ((uint64_t)1 << 30) /* largest request or timeline, unpacked */
#define STORE_CHECK_BYTES 16
/* Free pages that prune leaves in the file for the next requests. */
#define STORE_FREE_BYTES (16 << 20)

/* One per row of the table in store_sql.c. */
typedef enum store_sql {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_JOB_BY_ID,
    SQL_JOB_BY_REQUEST,
    SQL_JOB_STATE,
    SQL_JOB_INSERT,
    SQL_JOB_UPDATE,
    SQL_JOB_DELETE,
    SQL_LIST_ALL,
    SQL_LIST_STATE,
    SQL_LIVE,
    SQL_LIVE_REQUEUE,
    SQL_REQUEST_INSERT,
    SQL_REQUEST_GET,
    SQL_REQUEST_DELETE,
    SQL_PART_INSERT,
    SQL_PARTS,
    SQL_PARTS_DELETE,
    SQL_PARTS_ORPHANED,
    SQL_PARTITION_PUT,
    SQL_PARTITIONS,
    SQL_PARTITIONS_DELETE,
    SQL_RESULT_INSERT,
    SQL_RESULT_GET,
    SQL_RESULT_DELETE,
    SQL_TIMELINE_INSERT,
    SQL_TIMELINE_GET,
    SQL_TIMELINE_DELETE,
    SQL_TIMELINES_TRIM,
    SQL_PRUNE_PICK,
    SQL_FINAL_CUTOFF,
    SQL_FREE_PAGES,
    SQL_VACUUM,
    SQL_MAX_SEQ,
    SQL_N
} store_sql;

typedef struct store_sqlite {
    store base;
    /* Guards all below and is held over I/O on purpose: SQLite has one writer, and the order of
     * commits is the order of calls. Nobody is called back under it. */
    pthread_mutex_t lock;
    pthread_mutex_t turn; /* held while waiting for lock; guards nothing */
    sqlite3 *db;
    sqlite3_stmt *stmts[SQL_N];
    int64_t next_seq;
    uint32_t n_staging; /* submits that have parts without a job */
    bool has_orphans;   /* such parts could not be removed; prune does it */
    bool is_relaxed;    /* synchronous is NORMAL */
    /* Immutable. */
    char *path; /* "" in memory */
    int lock_fd;
} store_sqlite;

static inline store_sqlite *store_of(store *s) { return (store_sqlite *)s; }

/* Who waits for the lock holds the turn, so an upload that unlocks between two of its stages cannot
 * take the lock again before a waiting record had it. */
static inline void store_lock(store_sqlite *s)
{
    pthread_mutex_lock(&s->turn);
    pthread_mutex_lock(&s->lock);
    pthread_mutex_unlock(&s->turn);
}
static inline void store_unlock(store_sqlite *s) { pthread_mutex_unlock(&s->lock); }

/* ---- store_sql.c: statements. All with the lock held (or before the store is shared). ---- */

/* What SQLite reported last, as a status: CUZK_E_NOMEM, CUZK_E_IO (locked, disk full,
 * damaged, ...), CUZK_E_INTERNAL (a constraint). */
cuzk_status store_error(store_sqlite *s, int rc);
CUZK_MUST_CHECK cuzk_status store_exec(store_sqlite *s, const char *sql);
CUZK_MUST_CHECK cuzk_status store_prepare(store_sqlite *s);

/* Copy the WAL back and cut it to nothing. No-op in memory. */
CUZK_MUST_CHECK cuzk_status store_checkpoint(store_sqlite *s);

/* One run of a cached statement. Binds in order, keeps its first failure; q_end must follow. */
typedef struct store_query {
    store_sqlite *s;
    sqlite3_stmt *stmt;
    int rc, n_bound;
} store_query;
store_query q_make(store_sqlite *s, store_sql which);
void q_i64(store_query *q, int64_t v);
void q_f64(store_query *q, double v);
void q_text(store_query *q, const char *text);          /* borrows until q_end */
void q_blob(store_query *q, const void *p, size_t len); /* borrows until q_end */
bool q_row(store_query *q);                             /* false: no more, or failed */
CUZK_MUST_CHECK cuzk_status q_end(store_query *q);
/* Run to the end, rows ignored. */
CUZK_MUST_CHECK cuzk_status q_run(store_query *q);
/* A statement whose only parameter is a row key. */
CUZK_MUST_CHECK cuzk_status store_run_key(store_sqlite *s, store_sql which, int64_t key);

/* body in one transaction: committed when it returns OK, else (or when the commit fails) undone. */
typedef cuzk_status store_tx_fn(store_sqlite *s, void *arg);
CUZK_MUST_CHECK cuzk_status store_tx(store_sqlite *s, store_tx_fn *body, void *arg);
/* The same without a sync: durable with the next store_tx, which syncs the same WAL. */
CUZK_MUST_CHECK cuzk_status store_tx_relaxed(store_sqlite *s, store_tx_fn *body, void *arg);

/* ---- store_schema.c ---- */

/* Bring the file from its user_version to n_steps, one transaction a step. Errors: CUZK_E_INPUT (a
 * newer version). */
CUZK_MUST_CHECK cuzk_status store_migrate(store_sqlite *s, const char *const *steps, int n_steps);
/* Pragmas, identity, migration, check of the small tables. */
CUZK_MUST_CHECK cuzk_status store_schema_open(store_sqlite *s);

/* ---- store_row.c: the columns of a job ---- */

#define STORE_JOB_COLUMNS                                                                       \
    "seq, digest, job_id, request_id, kind, priority, state, sector_size, sector_number, "      \
    "miner_id, circuit_id, n_partitions, n_partitions_done, n_retries, progress, created_ms, "  \
    "started_ms, finished_ms, deadline_ms, queue_wait_ms, key_load_ms, witness_ms, device_ms, " \
    "verify_ms, total_ms, proof_bytes, device, error_code, error"
#define STORE_N_JOB_COLUMNS 29
void store_bind_job(store_query *q, int64_t seq, const store_job *job); /* all columns in order */
/* The columns that change, then seq. */
void store_bind_update(store_query *q, const job_view *v, int64_t seq);
void store_read_job(const store_query *q, store_job *out, int64_t *seq);
/* Rows of a query as a growing array. Gives *out (NULL for none); ends q. */
CUZK_MUST_CHECK cuzk_status store_read_jobs(store_query *q, store_job **out, uint32_t *n);
/* Row key and state. Errors: CUZK_E_NOT_FOUND. */
CUZK_MUST_CHECK cuzk_status store_find(store_sqlite *s, const char *job_id, int64_t *seq,
                                       job_state *state);

/* ---- store_blob.c ---- */

typedef struct store_packed {
    uint8_t *p; /* one zstd frame with content size and checksum; mem_free */
    size_t len;
    uint64_t raw_len;
} store_packed;
CUZK_MUST_CHECK cuzk_status store_pack(store_packed *out, const void *raw, size_t len);
/* Gives *out with a 0 behind the last byte. Errors: CUZK_E_INPUT (names job_id and what). */
CUZK_MUST_CHECK cuzk_status store_unpack(uint8_t **out, const store_packed *in, const char *job_id,
                                         const char *what);
/* 16 bytes over job, index and proof: bit rot in a stored proof must not go out as a proof. */
void store_proof_check(uint8_t out[STORE_CHECK_BYTES], const char *job_id, uint32_t k,
                       const void *proof, size_t len);
/* Parts [first, ...) of a packed request, at most max_bytes; *next is the first one not written. */
CUZK_MUST_CHECK cuzk_status store_write_parts(store_sqlite *s, int64_t seq, const store_packed *b,
                                              size_t first, size_t max_bytes, size_t *next);
static inline size_t store_n_parts(const store_packed *b)
{
    return (b->len + STORE_PART_BYTES - 1) / STORE_PART_BYTES;
}

/* ---- the calls of store_ops: store_submit.c, store_jobs.c, store_keep.c ---- */

cuzk_status store_submit(store *st, store_job *job, const uint8_t *blob, size_t len,
                         bool *existing);
cuzk_status store_get_request(store *st, const char *job_id, uint8_t **out, size_t *len);
CUZK_MUST_CHECK cuzk_status store_drop_request(store_sqlite *s, int64_t seq);

cuzk_status store_move(store *st, const job_view *v);
cuzk_status store_put_partition(store *st, const char *job_id, uint32_t k,
                                const uint8_t proof[192]);
cuzk_status store_get_partitions(store *st, const char *job_id, uint8_t (*proofs)[192], bool *have,
                                 uint32_t n);
cuzk_status store_finish(store *st, const job_view *v, const uint8_t *proof, size_t len);
cuzk_status store_get(store *st, const char *job_id, store_job *out);
cuzk_status store_get_proof(store *st, const char *job_id, uint8_t **out, size_t *len);
cuzk_status store_list(store *st, int state, uint32_t limit, store_job **out, uint32_t *n);
cuzk_status store_recover(store *st, store_job **out, uint32_t *n);

cuzk_status store_put_timeline(store *st, const char *job_id, const char *json, uint32_t n_keep);
cuzk_status store_get_timeline(store *st, const char *job_id, char **json);
cuzk_status store_prune(store *st, uint64_t now_unix_ms, uint64_t age_ms, uint32_t max_jobs,
                        uint32_t *n_removed);
uint64_t store_bytes(store *st);
/* Remove parts that belong to no job. */
CUZK_MUST_CHECK cuzk_status store_drop_orphans(store_sqlite *s);
#endif
