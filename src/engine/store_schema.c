/* The schema (docs/store.md), how a file gets there, and how a file is looked over when opened. */
#include "engine/store_int.h"
#include <stdio.h>
#include <string.h>

static const char SCHEMA_1[] =
    "CREATE TABLE jobs ("
    "  seq INTEGER PRIMARY KEY,"
    "  digest BLOB NOT NULL CHECK (length(digest) = 32),"
    "  job_id TEXT NOT NULL UNIQUE CHECK (length(CAST(job_id AS BLOB)) BETWEEN 1 AND 319),"
    "  request_id TEXT NOT NULL CHECK (length(CAST(request_id AS BLOB)) <= 255),"
    "  kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3),"
    "  priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 3),"
    "  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 6),"
    "  sector_size INTEGER NOT NULL,"
    "  sector_number INTEGER NOT NULL,"
    "  miner_id INTEGER NOT NULL,"
    "  circuit_id TEXT NOT NULL,"
    "  n_partitions INTEGER NOT NULL CHECK (n_partitions BETWEEN 0 AND 256),"
    "  n_partitions_done INTEGER NOT NULL,"
    "  n_retries INTEGER NOT NULL,"
    "  progress REAL NOT NULL,"
    "  created_ms INTEGER NOT NULL,"
    "  started_ms INTEGER NOT NULL,"
    "  finished_ms INTEGER NOT NULL,"
    "  deadline_ms INTEGER NOT NULL,"
    "  queue_wait_ms INTEGER NOT NULL,"
    "  key_load_ms INTEGER NOT NULL,"
    "  witness_ms INTEGER NOT NULL,"
    "  device_ms INTEGER NOT NULL,"
    "  verify_ms INTEGER NOT NULL,"
    "  total_ms INTEGER NOT NULL,"
    "  proof_bytes INTEGER NOT NULL,"
    "  device TEXT NOT NULL,"
    "  error_code INTEGER NOT NULL,"
    "  error TEXT NOT NULL"
    ") STRICT;"
    /* What makes a submit idempotent. Failed and cancelled jobs leave their place to a new try. */
    "CREATE UNIQUE INDEX jobs_by_request ON jobs (request_id, digest)"
    "  WHERE request_id <> '' AND state < 5;"
    "CREATE INDEX jobs_by_state ON jobs (state, seq);"
    "CREATE INDEX jobs_final ON jobs (seq) WHERE state >= 4;"
    "CREATE TABLE requests ("
    "  seq INTEGER PRIMARY KEY,"
    "  raw_bytes INTEGER NOT NULL,"
    "  packed_bytes INTEGER NOT NULL"
    ") STRICT;"
    "CREATE TABLE request_parts (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;"
    "CREATE TABLE partitions ("
    "  seq INTEGER NOT NULL,"
    "  k INTEGER NOT NULL CHECK (k BETWEEN 0 AND 255),"
    "  proof BLOB NOT NULL CHECK (length(proof) = 192),"
    "  digest BLOB NOT NULL CHECK (length(digest) = 16),"
    "  PRIMARY KEY (seq, k)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE results ("
    "  seq INTEGER PRIMARY KEY,"
    "  proof BLOB NOT NULL,"
    "  digest BLOB NOT NULL CHECK (length(digest) = 16)"
    ") STRICT;"
    "CREATE TABLE timelines ("
    "  n INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  seq INTEGER NOT NULL UNIQUE,"
    "  raw_bytes INTEGER NOT NULL,"
    "  data BLOB NOT NULL"
    ") STRICT;";

static const char *const STEPS[] = {SCHEMA_1};

/* The checks in the schema repeat these. */
static_assert(PROOF_N_KINDS == 4 && JOB_N_STATES == 7, "enums");
static_assert(JOB_N_PRIORITIES == 4, "enums");
static_assert(JOB_PARTITIONS_MAX == 256 && JOB_ID_MAX == 320, "sizes");
static_assert(JOB_REQUEST_ID_MAX == 256, "sizes");

static cuzk_status read_i64(store_sqlite *s, const char *sql, int64_t *out)
{
    sqlite3_stmt *q = NULL;
    *out = 0;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &q, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        *out = sqlite3_column_int64(q, 0);
    cuzk_status st = rc == SQLITE_ROW ? cuzk_ok() : store_error(s, rc);
    sqlite3_finalize(q);
    return st;
}

static cuzk_status check_version(const store_sqlite *s, int64_t version, int n_steps)
{
    if (version < 0 || version > n_steps)
        return cuzk_fail(CUZK_E_INPUT, "journal %s has schema %lld, this program knows 1 to %d",
                         s->path, (long long)version, n_steps);
    return cuzk_ok();
}

cuzk_status store_migrate(store_sqlite *s, const char *const *steps, int n_steps)
{
    int64_t version;
    CUZK_TRY(read_i64(s, "PRAGMA user_version", &version));
    CUZK_TRY(check_version(s, version, n_steps));
    for (int v = (int)version; v < n_steps; v++) {
        char mark[96];
        snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
                 STORE_APPLICATION_ID, v + 1);
        cuzk_status st = store_exec(s, "BEGIN IMMEDIATE");
        if (st.code == CUZK_OK)
            st = store_exec(s, steps[v]);
        if (st.code == CUZK_OK)
            st = store_exec(s, mark);
        if (st.code != CUZK_OK) {
            if (!sqlite3_get_autocommit(s->db))
                sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* st says what went wrong */
            return cuzk_wrap(st, "schema step %d", v + 1);
        }
    }
    return cuzk_ok();
}

/* An empty file becomes a journal; any other must be one, of a version we know. */
static cuzk_status check_identity(store_sqlite *s, bool *is_empty)
{
    int64_t id, version, n_tables;
    CUZK_TRY(read_i64(s, "SELECT count(*) FROM sqlite_master", &n_tables));
    CUZK_TRY(read_i64(s, "PRAGMA application_id", &id));
    CUZK_TRY(read_i64(s, "PRAGMA user_version", &version));
    *is_empty = n_tables == 0 && id == 0 && version == 0;
    if (id != STORE_APPLICATION_ID && !*is_empty)
        return cuzk_fail(CUZK_E_INPUT, "%s is not a journal: it belongs to another program",
                         s->path);
    return check_version(s, version, (int)ARRAY_LEN(STEPS));
}

/* Run a pragma whose first row must be `want`. */
static cuzk_status expect(store_sqlite *s, const char *pragma, const char *want, const char *wrong)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(s->db, pragma, -1, &q, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    cuzk_status st = cuzk_ok();
    const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 0) : NULL;
    if (!text)
        st = store_error(s, rc == SQLITE_ROW ? SQLITE_NOMEM : rc);
    else if (strcmp(text, want) != 0)
        st = cuzk_fail(CUZK_E_INPUT, "journal %s %s: %.120s", s->path, wrong, text);
    sqlite3_finalize(q);
    return st;
}

/* The tables that jobs and proofs lie in, read whole. request_parts can be gigabytes and carries its
 * own checksums, so it is checked when read. */
static cuzk_status check_tables(store_sqlite *s)
{
    static const char *const checks[] = {
        "PRAGMA integrity_check(jobs)",       "PRAGMA integrity_check(requests)",
        "PRAGMA integrity_check(partitions)", "PRAGMA integrity_check(results)",
        "PRAGMA integrity_check(timelines)",
    };
    for (size_t i = 0; i < ARRAY_LEN(checks); i++)
        CUZK_TRY(expect(s, checks[i], "ok", "is damaged"));
    return cuzk_ok();
}

/* SECURE_DELETE, on in some builds, would write every freed page. */
static cuzk_status set_pragmas(store_sqlite *s, bool is_empty)
{
    char sql[512];
    /* These two are of the file and only take effect in an empty one. */
    snprintf(sql, sizeof sql, "PRAGMA page_size = %d; PRAGMA auto_vacuum = INCREMENTAL",
             STORE_PAGE_BYTES);
    if (is_empty)
        CUZK_TRY(store_exec(s, sql));
    snprintf(sql, sizeof sql,
             "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = %d; "
             "PRAGMA journal_size_limit = %d; PRAGMA secure_delete = OFF; "
             "PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY; "
             "PRAGMA trusted_schema = OFF",
             STORE_WAL_BYTES / STORE_PAGE_BYTES, STORE_WAL_BYTES);
    CUZK_TRY(store_exec(s, sql));
    return s->path[0] ? expect(s, "PRAGMA journal_mode = WAL", "wal", "cannot use a WAL, but")
                      : cuzk_ok();
}

/* What SQLite finds wrong with the file before the store serves anybody is the file's fault. */
static cuzk_status blame_file(cuzk_status st, int sqlite_code)
{
    if (sqlite_code == SQLITE_CORRUPT || sqlite_code == SQLITE_NOTADB)
        st.code = CUZK_E_INPUT;
    return st;
}

/* Exclusive locking keeps the WAL's index in this process: no shared memory file, and no reader
 * elsewhere that could keep the WAL from being copied back. */
static cuzk_status open_in_order(store_sqlite *s)
{
    bool is_empty;
    CUZK_TRY(store_exec(s, "PRAGMA locking_mode = EXCLUSIVE")); /* before the WAL is looked at */
    CUZK_TRY(check_identity(s, &is_empty)); /* before anything may write to a foreign file */
    CUZK_TRY(set_pragmas(s, is_empty));
    CUZK_TRY(store_migrate(s, STEPS, (int)ARRAY_LEN(STEPS)));
    return check_tables(s);
}

cuzk_status store_schema_open(store_sqlite *s)
{
    cuzk_status st = open_in_order(s);
    return st.code == CUZK_OK ? st : blame_file(st, sqlite3_errcode(s->db) & 0xff);
}
