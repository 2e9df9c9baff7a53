/* Statement texts, running them, and what SQLite's errors mean here. */
#include "engine/store_int.h"
#include <stdio.h>
#include <string.h>

/* States by number, as the schema's checks and the partial indexes have them. */
static_assert(JOB_QUEUED == 0 && JOB_VERIFYING == 3 && JOB_DONE == 4 && JOB_FAILED == 5 &&
                  JOB_CANCELLED == 6,
              "the SQL below names states by number");

#define PLACES_29 "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?"

static const char *const TEXTS[SQL_N] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_JOB_BY_ID] = "SELECT " STORE_JOB_COLUMNS " FROM jobs WHERE job_id = ?",
    [SQL_JOB_BY_REQUEST] =
        "SELECT " STORE_JOB_COLUMNS " FROM jobs WHERE request_id = ? AND digest = ? AND state < 5 "
        "AND request_id <> ''", /* named so that the index applies */
    [SQL_JOB_STATE] = "SELECT seq, state FROM jobs WHERE job_id = ?",
    [SQL_JOB_INSERT] = "INSERT INTO jobs (" STORE_JOB_COLUMNS ") VALUES (" PLACES_29 ")",
    [SQL_JOB_UPDATE] =
        "UPDATE jobs SET priority = ?, state = ?, sector_size = ?, sector_number = ?, "
        "miner_id = ?, circuit_id = ?, n_partitions = ?, n_partitions_done = ?, n_retries = ?, "
        "progress = ?, started_ms = ?, finished_ms = ?, queue_wait_ms = ?, key_load_ms = ?, "
        "witness_ms = ?, device_ms = ?, verify_ms = ?, total_ms = ?, proof_bytes = ?, "
        "device = ?, error_code = ?, error = ? WHERE seq = ?",
    [SQL_JOB_DELETE] = "DELETE FROM jobs WHERE seq = ?",
    [SQL_LIST_ALL] = "SELECT " STORE_JOB_COLUMNS " FROM jobs ORDER BY seq DESC LIMIT ?",
    [SQL_LIST_STATE] =
        "SELECT " STORE_JOB_COLUMNS " FROM jobs WHERE state = ? ORDER BY seq DESC LIMIT ?",
    [SQL_LIVE] = "SELECT " STORE_JOB_COLUMNS " FROM jobs WHERE state < 4 ORDER BY seq",
    [SQL_LIVE_REQUEUE] =
        "UPDATE jobs SET state = 0, started_ms = 0, progress = 0, n_partitions_done = "
        "(SELECT count(*) FROM partitions WHERE partitions.seq = jobs.seq) WHERE state < 4",
    [SQL_REQUEST_INSERT] = "INSERT INTO requests (seq, raw_bytes, packed_bytes) VALUES (?, ?, ?)",
    [SQL_REQUEST_GET] = "SELECT raw_bytes, packed_bytes FROM requests WHERE seq = ?",
    [SQL_REQUEST_DELETE] = "DELETE FROM requests WHERE seq = ?",
    [SQL_PART_INSERT] = "INSERT INTO request_parts (id, data) VALUES (?, ?)",
    [SQL_PARTS] = "SELECT id, data FROM request_parts WHERE id BETWEEN ? AND ? ORDER BY id",
    [SQL_PARTS_DELETE] = "DELETE FROM request_parts WHERE id BETWEEN ? AND ?",
    [SQL_PARTS_ORPHANED] =
        "DELETE FROM request_parts WHERE id >> 16 NOT IN (SELECT seq FROM requests)",
    [SQL_PARTITION_PUT] =
        "INSERT OR REPLACE INTO partitions (seq, k, proof, digest) VALUES (?, ?, ?, ?)",
    [SQL_PARTITIONS] = "SELECT k, proof, digest FROM partitions WHERE seq = ? ORDER BY k",
    [SQL_PARTITIONS_DELETE] = "DELETE FROM partitions WHERE seq = ?",
    [SQL_RESULT_INSERT] = "INSERT INTO results (seq, proof, digest) VALUES (?, ?, ?)",
    [SQL_RESULT_GET] = "SELECT proof, digest FROM results WHERE seq = ?",
    [SQL_RESULT_DELETE] = "DELETE FROM results WHERE seq = ?",
    [SQL_TIMELINE_INSERT] = "INSERT INTO timelines (seq, raw_bytes, data) VALUES (?, ?, ?)",
    [SQL_TIMELINE_GET] = "SELECT raw_bytes, data FROM timelines WHERE seq = ?",
    [SQL_TIMELINE_DELETE] = "DELETE FROM timelines WHERE seq = ?",
    [SQL_TIMELINES_TRIM] = "DELETE FROM timelines WHERE n <= "
                           "(SELECT n FROM timelines ORDER BY n DESC LIMIT 1 OFFSET ?)",
    /* A job that ended without a time of it counts from its creation. */
    [SQL_PRUNE_PICK] = "SELECT seq FROM jobs WHERE state >= 4 AND (seq <= ? OR "
                       "max(finished_ms, created_ms) < ?) ORDER BY seq LIMIT ?",
    [SQL_FINAL_CUTOFF] = "SELECT seq FROM jobs WHERE state >= 4 ORDER BY seq DESC LIMIT 1 OFFSET ?",
    [SQL_FREE_PAGES] = "PRAGMA freelist_count",
    [SQL_VACUUM] = "PRAGMA incremental_vacuum(512)",
    [SQL_MAX_SEQ] = "SELECT coalesce(max(seq), 0) FROM jobs",
};

cuzk_status store_error(store_sqlite *s, int rc)
{
    const char *text = s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc);
    if (rc == SQLITE_IOERR_NOMEM)
        rc = SQLITE_NOMEM;
    switch (rc & 0xff) {
    case SQLITE_NOMEM:
        return cuzk_fail(CUZK_E_NOMEM, "journal %s: out of memory", s->path);
    case SQLITE_FULL:
        return cuzk_fail(CUZK_E_IO, "journal %s: the disk is full", s->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return cuzk_fail(CUZK_E_IO, "journal %s: another process is using it", s->path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return cuzk_fail(CUZK_E_IO, "journal %s is damaged: %s (SQLite %d)", s->path, text, rc);
    case SQLITE_CONSTRAINT:
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
    case SQLITE_MISMATCH:
        return cuzk_fail(CUZK_E_INTERNAL, "journal %s: %s (SQLite %d)", s->path, text, rc);
    default:
        break;
    }
    int e = s->db ? sqlite3_system_errno(s->db) : 0; /* behind an I/O error, mostly */
    return cuzk_fail(CUZK_E_IO, "journal %s: %s%s%s (SQLite %d)", s->path, text, e ? ": " : "",
                     e ? strerror(e) : "", rc);
}

cuzk_status store_exec(store_sqlite *s, const char *sql)
{
    int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? cuzk_ok() : store_error(s, rc);
}

cuzk_status store_checkpoint(store_sqlite *s)
{
    if (!s->path[0])
        return cuzk_ok();
    int rc = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return rc == SQLITE_OK ? cuzk_ok() : store_error(s, rc);
}

cuzk_status store_prepare(store_sqlite *s)
{
    for (int i = 0; i < SQL_N; i++) {
        int rc =
            sqlite3_prepare_v3(s->db, TEXTS[i], -1, SQLITE_PREPARE_PERSISTENT, &s->stmts[i], NULL);
        if (rc != SQLITE_OK)
            return store_error(s, rc);
    }
    return cuzk_ok();
}

store_query q_make(store_sqlite *s, store_sql which)
{
    return (store_query){.s = s, .stmt = s->stmts[which], .rc = SQLITE_OK};
}

static bool may_bind(store_query *q)
{
    q->n_bound++;
    return q->rc == SQLITE_OK;
}

void q_i64(store_query *q, int64_t v)
{
    if (may_bind(q))
        q->rc = sqlite3_bind_int64(q->stmt, q->n_bound, v);
}

void q_f64(store_query *q, double v)
{
    if (may_bind(q))
        q->rc = sqlite3_bind_double(q->stmt, q->n_bound, v);
}

void q_text(store_query *q, const char *text)
{
    if (may_bind(q))
        q->rc = sqlite3_bind_text(q->stmt, q->n_bound, text, -1, SQLITE_STATIC);
}

void q_blob(store_query *q, const void *p, size_t len)
{
    if (may_bind(q))
        q->rc = sqlite3_bind_blob64(q->stmt, q->n_bound, p, len, SQLITE_STATIC);
}

bool q_row(store_query *q)
{
    if (q->rc == SQLITE_OK || q->rc == SQLITE_ROW)
        q->rc = sqlite3_step(q->stmt);
    return q->rc == SQLITE_ROW;
}

cuzk_status q_end(store_query *q)
{
    bool is_good = q->rc == SQLITE_OK || q->rc == SQLITE_ROW || q->rc == SQLITE_DONE;
    cuzk_status st = is_good ? cuzk_ok() : store_error(q->s, q->rc);
    sqlite3_reset(q->stmt); /* repeats an error that is in st already */
    sqlite3_clear_bindings(q->stmt);
    return st;
}

cuzk_status q_run(store_query *q)
{
    while (q_row(q))
        ;
    return q_end(q);
}

cuzk_status store_run_key(store_sqlite *s, store_sql which, int64_t key)
{
    store_query q = q_make(s, which);
    q_i64(&q, key);
    return q_run(&q);
}

static cuzk_status run_plain(store_sqlite *s, store_sql which)
{
    store_query q = q_make(s, which);
    return q_run(&q);
}

/* Set when a transaction needs it, so that a failure here fails that one and never leaves later ones
 * with the wrong mode. */
static cuzk_status set_relaxed(store_sqlite *s, bool relaxed)
{
    if (s->is_relaxed == relaxed)
        return cuzk_ok();
    CUZK_TRY(store_exec(s, relaxed ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL"));
    s->is_relaxed = relaxed;
    return cuzk_ok();
}

static cuzk_status run_tx(store_sqlite *s, bool relaxed, store_tx_fn *body, void *arg)
{
    CUZK_TRY(set_relaxed(s, relaxed));
    CUZK_TRY(run_plain(s, SQL_BEGIN));
    cuzk_status st = body(s, arg);
    if (st.code == CUZK_OK)
        st = run_plain(s, SQL_COMMIT);
    /* SQLite has rolled back by itself after some errors; then there is nothing to undo. */
    if (st.code != CUZK_OK && !sqlite3_get_autocommit(s->db)) {
        cuzk_status undo = run_plain(s, SQL_ROLLBACK);
        if (undo.code != CUZK_OK && !sqlite3_get_autocommit(s->db))
            return cuzk_wrap(undo, "cannot undo after \"%.80s\"", st.msg);
    }
    return st;
}

cuzk_status store_tx(store_sqlite *s, store_tx_fn *body, void *arg)
{
    return run_tx(s, false, body, arg);
}

cuzk_status store_tx_relaxed(store_sqlite *s, store_tx_fn *body, void *arg)
{
    return run_tx(s, true, body, arg);
}
