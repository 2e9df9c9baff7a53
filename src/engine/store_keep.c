/* What is kept how long: timelines, finished jobs, space in the file. */
#include "base/mem.h"
#include "engine/store_int.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PRUNE_JOBS 64 /* per transaction: nobody waits long for the lock */

typedef struct timeline_put {
    const char *job_id;
    const store_packed *packed;
    uint32_t n_keep;
} timeline_put;

static cuzk_status put_timeline(store_sqlite *s, void *arg)
{
    const timeline_put *t = arg;
    int64_t seq;
    job_state state;
    CUZK_TRY(store_find(s, t->job_id, &seq, &state));
    CUZK_TRY(store_run_key(s, SQL_TIMELINE_DELETE, seq));
    store_query q = q_make(s, SQL_TIMELINE_INSERT);
    q_i64(&q, seq);
    q_i64(&q, (int64_t)t->packed->raw_len);
    q_blob(&q, t->packed->p, t->packed->len);
    CUZK_TRY(q_run(&q));
    return store_run_key(s, SQL_TIMELINES_TRIM, t->n_keep);
}

cuzk_status store_put_timeline(store *st, const char *job_id, const char *json, uint32_t n_keep)
{
    store_sqlite *s = store_of(st);
    store_packed packed;
    CUZK_TRY(store_pack(&packed, json, strlen(json)));
    timeline_put t = {job_id, &packed, n_keep};
    store_lock(s);
    cuzk_status rc = store_tx(s, put_timeline, &t);
    store_unlock(s);
    mem_free(packed.p);
    return rc;
}

static cuzk_status read_timeline(store_sqlite *s, const char *job_id, store_packed *out)
{
    int64_t seq;
    job_state state;
    CUZK_TRY(store_find(s, job_id, &seq, &state));
    store_query q = q_make(s, SQL_TIMELINE_GET);
    q_i64(&q, seq);
    bool found = q_row(&q);
    if (found) {
        out->raw_len = (uint64_t)sqlite3_column_int64(q.stmt, 0);
        const void *data = sqlite3_column_blob(q.stmt, 1);
        out->len = (size_t)sqlite3_column_bytes(q.stmt, 1);
        out->p = mem_alloc(out->len, 16);
        if (out->p && data)
            memcpy(out->p, data, out->len);
        if (!out->p || (out->len && !data))
            q.rc = SQLITE_NOMEM;
    }
    CUZK_TRY(q_end(&q));
    return found ? cuzk_ok()
                 : cuzk_fail(CUZK_E_NOT_FOUND, "no timeline of job \"%.200s\" is kept", job_id);
}

cuzk_status store_get_timeline(store *st, const char *job_id, char **json)
{
    store_sqlite *s = store_of(st);
    *json = NULL;
    store_packed packed = {0};
    store_lock(s);
    cuzk_status rc = read_timeline(s, job_id, &packed);
    store_unlock(s);
    uint8_t *raw = NULL;
    if (rc.code == CUZK_OK)
        rc = store_unpack(&raw, &packed, job_id, "timeline");
    *json = (char *)raw;
    mem_free(packed.p);
    return rc;
}

typedef struct pruning {
    int64_t cutoff_seq; /* final jobs up to this one go */
    int64_t before_ms;  /* and those that ended before */
    uint32_t n_removed; /* in this transaction */
} pruning;

static cuzk_status remove_job(store_sqlite *s, int64_t seq)
{
    CUZK_TRY(store_run_key(s, SQL_TIMELINE_DELETE, seq));
    CUZK_TRY(store_run_key(s, SQL_RESULT_DELETE, seq));
    return store_run_key(s, SQL_JOB_DELETE, seq);
}

static cuzk_status remove_some(store_sqlite *s, void *arg)
{
    pruning *p = arg;
    int64_t seqs[PRUNE_JOBS];
    uint32_t n = 0;
    p->n_removed = 0;
    store_query q = q_make(s, SQL_PRUNE_PICK);
    q_i64(&q, p->cutoff_seq);
    q_i64(&q, p->before_ms);
    q_i64(&q, PRUNE_JOBS);
    while (n < PRUNE_JOBS && q_row(&q))
        seqs[n++] = sqlite3_column_int64(q.stmt, 0);
    CUZK_TRY(q_end(&q));
    for (uint32_t i = 0; i < n; i++)
        CUZK_TRY(remove_job(s, seqs[i]));
    p->n_removed = n;
    return cuzk_ok();
}

static cuzk_status find_cutoff(store_sqlite *s, uint32_t max_jobs, int64_t *seq)
{
    *seq = 0;
    if (max_jobs == 0)
        return cuzk_ok();
    store_query q = q_make(s, SQL_FINAL_CUTOFF);
    q_i64(&q, max_jobs);
    if (q_row(&q))
        *seq = sqlite3_column_int64(q.stmt, 0);
    return q_end(&q);
}

cuzk_status store_drop_orphans(store_sqlite *s)
{
    store_query q = q_make(s, SQL_PARTS_ORPHANED);
    CUZK_TRY(q_run(&q));
    s->has_orphans = false;
    return cuzk_ok();
}

/* Give one bite of free pages back to the file system; *more when there are others. */
static cuzk_status vacuum_some(store_sqlite *s, bool *more)
{
    int64_t n_free = 0;
    store_query q = q_make(s, SQL_FREE_PAGES);
    if (q_row(&q))
        n_free = sqlite3_column_int64(q.stmt, 0);
    CUZK_TRY(q_end(&q));
    *more = n_free > STORE_FREE_BYTES / STORE_PAGE_BYTES;
    if (!*more)
        return cuzk_ok();
    q = q_make(s, SQL_VACUUM);
    return q_run(&q);
}

/* The file shrinks when the WAL, which has the moved pages, is copied back. */
static cuzk_status give_space_back(store_sqlite *s)
{
    cuzk_status st = cuzk_ok();
    bool more = true, vacuumed = false;
    while (st.code == CUZK_OK && more) {
        store_lock(s);
        st = vacuum_some(s, &more);
        vacuumed = vacuumed || more;
        if (st.code == CUZK_OK && !more && vacuumed)
            st = store_checkpoint(s);
        store_unlock(s);
    }
    return st;
}

cuzk_status store_prune(store *st, uint64_t now_unix_ms, uint64_t age_ms, uint32_t max_jobs,
                        uint32_t *n_removed)
{
    store_sqlite *s = store_of(st);
    pruning p = {0};
    *n_removed = 0;
    if (age_ms && now_unix_ms > age_ms)
        p.before_ms = (int64_t)(now_unix_ms - age_ms);
    store_lock(s);
    cuzk_status rc = find_cutoff(s, max_jobs, &p.cutoff_seq);
    if (rc.code == CUZK_OK && s->has_orphans && s->n_staging == 0)
        rc = store_drop_orphans(s);
    store_unlock(s);
    bool more = p.cutoff_seq || p.before_ms;
    while (rc.code == CUZK_OK && more) {
        store_lock(s);
        rc = store_tx(s, remove_some, &p);
        store_unlock(s);
        more = p.n_removed == PRUNE_JOBS;
        *n_removed += rc.code == CUZK_OK ? p.n_removed : 0;
    }
    return rc.code == CUZK_OK ? give_space_back(s) : rc;
}

static uint64_t file_bytes(const char *path, const char *suffix)
{
    char name[4096];
    struct stat info;
    int n = snprintf(name, sizeof name, "%s%s", path, suffix);
    if (n < 0 || (size_t)n >= sizeof name || stat(name, &info) != 0)
        return 0;
    return (uint64_t)info.st_size;
}

uint64_t store_bytes(store *st)
{
    const store_sqlite *s = store_of(st);
    return s->path[0] ? file_bytes(s->path, "") + file_bytes(s->path, "-wal") : 0;
}
