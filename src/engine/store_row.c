/* A job and its columns. Numbers of 64 bits are stored as SQLite's signed ones, bit for bit. */
#include "base/mem.h"
#include "engine/store_int.h"
#include <string.h>

void store_bind_job(store_query *q, int64_t seq, const store_job *job)
{
    const job_view *v = &job->view;
    q_i64(q, seq);
    q_blob(q, job->digest, sizeof job->digest);
    q_text(q, v->job_id);
    q_text(q, v->request_id);
    q_i64(q, v->kind);
    q_i64(q, v->priority);
    q_i64(q, v->state);
    q_i64(q, (int64_t)v->sector_size);
    q_i64(q, (int64_t)v->sector_number);
    q_i64(q, (int64_t)v->miner_id);
    q_text(q, v->circuit_id);
    q_i64(q, v->n_partitions);
    q_i64(q, v->n_partitions_done);
    q_i64(q, v->n_retries);
    q_f64(q, v->progress);
    q_i64(q, (int64_t)v->created_unix_ms);
    q_i64(q, (int64_t)v->started_unix_ms);
    q_i64(q, (int64_t)v->finished_unix_ms);
    q_i64(q, (int64_t)v->deadline_unix_ms);
    q_i64(q, (int64_t)v->times.queue_wait_ms);
    q_i64(q, (int64_t)v->times.key_load_ms);
    q_i64(q, (int64_t)v->times.witness_ms);
    q_i64(q, (int64_t)v->times.device_ms);
    q_i64(q, (int64_t)v->times.verify_ms);
    q_i64(q, (int64_t)v->times.total_ms);
    q_i64(q, (int64_t)v->proof_bytes);
    q_text(q, v->device);
    q_i64(q, v->error_code);
    q_text(q, v->error);
}

void store_bind_update(store_query *q, const job_view *v, int64_t seq)
{
    q_i64(q, v->priority);
    q_i64(q, v->state);
    q_i64(q, (int64_t)v->sector_size);
    q_i64(q, (int64_t)v->sector_number);
    q_i64(q, (int64_t)v->miner_id);
    q_text(q, v->circuit_id);
    q_i64(q, v->n_partitions);
    q_i64(q, v->n_partitions_done);
    q_i64(q, v->n_retries);
    q_f64(q, v->progress);
    q_i64(q, (int64_t)v->started_unix_ms);
    q_i64(q, (int64_t)v->finished_unix_ms);
    q_i64(q, (int64_t)v->times.queue_wait_ms);
    q_i64(q, (int64_t)v->times.key_load_ms);
    q_i64(q, (int64_t)v->times.witness_ms);
    q_i64(q, (int64_t)v->times.device_ms);
    q_i64(q, (int64_t)v->times.verify_ms);
    q_i64(q, (int64_t)v->times.total_ms);
    q_i64(q, (int64_t)v->proof_bytes);
    q_text(q, v->device);
    q_i64(q, v->error_code);
    q_text(q, v->error);
    q_i64(q, seq);
}

/* Reads columns in order. */
typedef struct columns {
    sqlite3_stmt *stmt;
    int next;
} columns;

static int64_t next_i64(columns *c) { return sqlite3_column_int64(c->stmt, c->next++); }

static uint64_t next_u64(columns *c) { return (uint64_t)next_i64(c); }

static uint32_t next_u32(columns *c) { return (uint32_t)next_i64(c); }

static void next_text(columns *c, char *out, size_t size)
{
    const unsigned char *text = sqlite3_column_text(c->stmt, c->next++);
    size_t n = text ? strnlen((const char *)text, size - 1) : 0;
    if (n)
        memcpy(out, text, n);
    out[n] = 0;
}

/* An enum from a file: the schema's checks bound it, and so does this, whatever became of the file. */
static unsigned next_enum(columns *c, unsigned n)
{
    uint64_t v = next_u64(c);
    return v < n ? (unsigned)v : n - 1;
}

void store_read_job(const store_query *q, store_job *out, int64_t *seq)
{
    columns c = {q->stmt, 0};
    *out = (store_job){0};
    job_view *v = &out->view;
    *seq = next_i64(&c);
    const void *digest = sqlite3_column_blob(c.stmt, c.next);
    if (digest && sqlite3_column_bytes(c.stmt, c.next) == (int)sizeof out->digest)
        memcpy(out->digest, digest, sizeof out->digest);
    c.next++;
    next_text(&c, v->job_id, sizeof v->job_id);
    next_text(&c, v->request_id, sizeof v->request_id);
    v->kind = (proof_kind)next_enum(&c, PROOF_N_KINDS);
    v->priority = (job_priority)next_enum(&c, JOB_N_PRIORITIES);
    v->state = (job_state)next_enum(&c, JOB_N_STATES);
    v->sector_size = next_u64(&c);
    v->sector_number = next_u64(&c);
    v->miner_id = next_u64(&c);
    next_text(&c, v->circuit_id, sizeof v->circuit_id);
    v->n_partitions = next_u32(&c);
    v->n_partitions_done = next_u32(&c);
    v->n_retries = next_u32(&c);
    v->progress = sqlite3_column_double(c.stmt, c.next++);
    v->created_unix_ms = next_u64(&c);
    v->started_unix_ms = next_u64(&c);
    v->finished_unix_ms = next_u64(&c);
    v->deadline_unix_ms = next_u64(&c);
    v->times.queue_wait_ms = next_u64(&c);
    v->times.key_load_ms = next_u64(&c);
    v->times.witness_ms = next_u64(&c);
    v->times.device_ms = next_u64(&c);
    v->times.verify_ms = next_u64(&c);
    v->times.total_ms = next_u64(&c);
    v->proof_bytes = (size_t)next_u64(&c);
    next_text(&c, v->device, sizeof v->device);
    v->error_code = (cuzk_code)next_i64(&c);
    next_text(&c, v->error, sizeof v->error);
}

cuzk_status store_read_jobs(store_query *q, store_job **out, uint32_t *n)
{
    store_job *jobs = NULL;
    uint32_t count = 0, cap = 0;
    cuzk_status st = cuzk_ok();
    while (st.code == CUZK_OK && q_row(q)) {
        if (count == cap) {
            uint32_t more = cap ? 2 * cap : 16;
            store_job *grown = mem_realloc(jobs, cap * sizeof *jobs, more * sizeof *jobs);
            if (!grown) {
                st = cuzk_fail(CUZK_E_NOMEM, "list of %u jobs", more);
                break;
            }
            jobs = grown;
            cap = more;
        }
        int64_t seq;
        store_read_job(q, &jobs[count++], &seq);
    }
    cuzk_status ended = q_end(q);
    if (st.code == CUZK_OK)
        st = ended;
    if (st.code != CUZK_OK) {
        mem_free(jobs);
        jobs = NULL;
        count = 0;
    }
    *out = jobs;
    *n = count;
    return st;
}

cuzk_status store_find(store_sqlite *s, const char *job_id, int64_t *seq, job_state *state)
{
    store_query q = q_make(s, SQL_JOB_STATE);
    q_text(&q, job_id);
    bool found = q_row(&q);
    *seq = found ? sqlite3_column_int64(q.stmt, 0) : 0;
    int64_t v = found ? sqlite3_column_int64(q.stmt, 1) : 0;
    *state = (uint64_t)v < JOB_N_STATES ? (job_state)v : JOB_FAILED;
    CUZK_TRY(q_end(&q));
    return found ? cuzk_ok() : cuzk_fail(CUZK_E_NOT_FOUND, "no job \"%.200s\"", job_id);
}
