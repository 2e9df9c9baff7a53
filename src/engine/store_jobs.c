/* Moves, partitions, results, lookups. */
#include "base/log.h"
#include "base/mem.h"
#include "engine/store_int.h"
#include <string.h>

/* Run body in a transaction under the lock. */
static cuzk_status locked_tx(store *st, store_tx_fn *body, void *arg)
{
    store_sqlite *s = store_of(st);
    store_lock(s);
    cuzk_status rc = store_tx(s, body, arg);
    store_unlock(s);
    return rc;
}

/* A job that is over needs neither its request nor its partitions. */
static cuzk_status drop_inputs(store_sqlite *s, int64_t seq)
{
    CUZK_TRY(store_run_key(s, SQL_PARTITIONS_DELETE, seq));
    return store_drop_request(s, seq);
}

static cuzk_status update(store_sqlite *s, int64_t seq, const job_view *v)
{
    store_query q = q_make(s, SQL_JOB_UPDATE);
    store_bind_update(&q, v, seq);
    return q_run(&q);
}

static cuzk_status find_for_move(store_sqlite *s, const job_view *v, job_state to, int64_t *seq)
{
    job_state from;
    CUZK_TRY(store_find(s, v->job_id, seq, &from));
    if (!job_state_may_move(from, to))
        return cuzk_fail(CUZK_E_INTERNAL, "job \"%.100s\" cannot move from %s to %s", v->job_id,
                         JOB_STATE_NAMES[from], to < JOB_N_STATES ? JOB_STATE_NAMES[to] : "?");
    return cuzk_ok();
}

static cuzk_status move_job(store_sqlite *s, void *arg)
{
    const job_view *v = arg;
    int64_t seq;
    CUZK_TRY(find_for_move(s, v, v->state, &seq));
    if (job_state_is_final(v->state))
        CUZK_TRY(drop_inputs(s, seq));
    return update(s, seq, v);
}

cuzk_status store_move(store *st, const job_view *v)
{
    if (v->state == JOB_DONE)
        return cuzk_fail(CUZK_E_INTERNAL, "job \"%.100s\" cannot be done without a proof",
                         v->job_id);
    job_view copy = *v;
    return locked_tx(st, move_job, &copy);
}

typedef struct partition {
    const char *job_id;
    uint32_t k;
    const uint8_t *proof;
} partition;

static cuzk_status put_partition(store_sqlite *s, void *arg)
{
    const partition *p = arg;
    int64_t seq;
    job_state state;
    CUZK_TRY(store_find(s, p->job_id, &seq, &state));
    if (job_state_is_final(state))
        return cuzk_fail(CUZK_E_INTERNAL, "job \"%.100s\" is %s and takes no partition", p->job_id,
                         JOB_STATE_NAMES[state]);
    uint8_t check[STORE_CHECK_BYTES];
    store_proof_check(check, p->job_id, p->k, p->proof, 192);
    store_query q = q_make(s, SQL_PARTITION_PUT);
    q_i64(&q, seq);
    q_i64(&q, p->k);
    q_blob(&q, p->proof, 192);
    q_blob(&q, check, sizeof check);
    return q_run(&q);
}

cuzk_status store_put_partition(store *st, const char *job_id, uint32_t k, const uint8_t proof[192])
{
    if (k >= JOB_PARTITIONS_MAX)
        return cuzk_fail(CUZK_E_INTERNAL, "job \"%.100s\": partition %u, want 0 to %u", job_id, k,
                         JOB_PARTITIONS_MAX - 1);
    partition p = {job_id, k, proof};
    return locked_tx(st, put_partition, &p);
}

/* The proof in columns `at` and at + 1 (its check bytes): NULL when they do not belong together. */
static const uint8_t *checked_proof(const store_query *q, int at, const char *job_id, uint32_t k,
                                    size_t *len)
{
    const uint8_t *proof = sqlite3_column_blob(q->stmt, at);
    const uint8_t *check = sqlite3_column_blob(q->stmt, at + 1);
    *len = (size_t)sqlite3_column_bytes(q->stmt, at);
    if (!proof || !check || sqlite3_column_bytes(q->stmt, at + 1) != STORE_CHECK_BYTES)
        return NULL;
    uint8_t want[STORE_CHECK_BYTES];
    store_proof_check(want, job_id, k, proof, *len);
    return memcmp(want, check, sizeof want) == 0 ? proof : NULL;
}

static cuzk_status read_partitions(store_sqlite *s, const char *job_id, uint8_t (*proofs)[192],
                                   bool *have, uint32_t n, uint32_t *n_bad)
{
    int64_t seq;
    job_state state;
    CUZK_TRY(store_find(s, job_id, &seq, &state));
    store_query q = q_make(s, SQL_PARTITIONS);
    q_i64(&q, seq);
    while (q_row(&q)) {
        uint64_t k = (uint64_t)sqlite3_column_int64(q.stmt, 0);
        size_t len;
        const uint8_t *proof = k < n ? checked_proof(&q, 1, job_id, (uint32_t)k, &len) : NULL;
        if (proof && len == 192) {
            memcpy(proofs[k], proof, 192);
            have[k] = true;
        } else {
            *n_bad += k < n;
        }
    }
    return q_end(&q);
}

cuzk_status store_get_partitions(store *st, const char *job_id, uint8_t (*proofs)[192], bool *have,
                                 uint32_t n)
{
    store_sqlite *s = store_of(st);
    memset(proofs, 0, n * sizeof *proofs);
    memset(have, 0, n * sizeof *have);
    store_lock(s);
    uint32_t n_bad = 0;
    cuzk_status rc = read_partitions(s, job_id, proofs, have, n, &n_bad);
    store_unlock(s);
    if (n_bad) /* no loss: what is not there is proven again */
        log_warn("stored_partitions_damaged", LOG_STR("job", job_id), LOG_U64("partitions", n_bad));
    if (rc.code != CUZK_OK)
        memset(have, 0, n * sizeof *have);
    return rc;
}

typedef struct ending {
    job_view view;
    const uint8_t *proof;
    size_t len;
} ending;

static cuzk_status finish_job(store_sqlite *s, void *arg)
{
    const ending *e = arg;
    int64_t seq;
    CUZK_TRY(find_for_move(s, &e->view, JOB_DONE, &seq));
    CUZK_TRY(drop_inputs(s, seq));
    uint8_t check[STORE_CHECK_BYTES];
    store_proof_check(check, e->view.job_id, UINT32_MAX, e->proof, e->len);
    store_query q = q_make(s, SQL_RESULT_INSERT);
    q_i64(&q, seq);
    q_blob(&q, e->proof, e->len);
    q_blob(&q, check, sizeof check);
    CUZK_TRY(q_run(&q));
    return update(s, seq, &e->view);
}

cuzk_status store_finish(store *st, const job_view *v, const uint8_t *proof, size_t len)
{
    if (len == 0 || len % 192 != 0 || len > (size_t)192 * JOB_PARTITIONS_MAX)
        return cuzk_fail(CUZK_E_INTERNAL, "job \"%.100s\": proof of %zu bytes, want 192 each",
                         v->job_id, len);
    ending e = {*v, proof, len};
    e.view.state = JOB_DONE;
    e.view.proof_bytes = len;
    return locked_tx(st, finish_job, &e);
}

cuzk_status store_get(store *st, const char *job_id, store_job *out)
{
    store_sqlite *s = store_of(st);
    *out = (store_job){0};
    int64_t seq;
    store_lock(s);
    store_query q = q_make(s, SQL_JOB_BY_ID);
    q_text(&q, job_id);
    bool found = q_row(&q);
    if (found)
        store_read_job(&q, out, &seq);
    cuzk_status rc = q_end(&q);
    store_unlock(s);
    if (rc.code == CUZK_OK && !found)
        rc = cuzk_fail(CUZK_E_NOT_FOUND, "no job \"%.200s\"", job_id);
    return rc;
}

static cuzk_status read_proof(store_sqlite *s, const char *job_id, uint8_t **out, size_t *len)
{
    int64_t seq;
    job_state state;
    CUZK_TRY(store_find(s, job_id, &seq, &state));
    store_query q = q_make(s, SQL_RESULT_GET);
    q_i64(&q, seq);
    bool found = q_row(&q), is_good = false;
    if (found) {
        const uint8_t *proof = checked_proof(&q, 0, job_id, UINT32_MAX, len);
        is_good = proof != NULL;
        *out = is_good ? mem_alloc(*len, 16) : NULL;
        if (*out)
            memcpy(*out, proof, *len);
    }
    CUZK_TRY(q_end(&q));
    if (!found && state != JOB_DONE)
        return cuzk_fail(CUZK_E_NOT_FOUND, "job \"%.200s\" has no proof, it is %s", job_id,
                         JOB_STATE_NAMES[state]);
    if (!is_good)
        return cuzk_fail(CUZK_E_INPUT, "job \"%.200s\": stored proof is %s", job_id,
                         found ? "damaged" : "missing");
    return *out ? cuzk_ok() : cuzk_fail(CUZK_E_NOMEM, "proof of %zu bytes", *len);
}

cuzk_status store_get_proof(store *st, const char *job_id, uint8_t **out, size_t *len)
{
    store_sqlite *s = store_of(st);
    *out = NULL;
    *len = 0;
    store_lock(s);
    cuzk_status rc = read_proof(s, job_id, out, len);
    store_unlock(s);
    if (rc.code != CUZK_OK) {
        mem_free(*out);
        *out = NULL;
        *len = 0;
    }
    return rc;
}

cuzk_status store_list(store *st, int state, uint32_t limit, store_job **out, uint32_t *n)
{
    store_sqlite *s = store_of(st);
    store_lock(s);
    store_query q = q_make(s, state < 0 ? SQL_LIST_ALL : SQL_LIST_STATE);
    if (state >= 0)
        q_i64(&q, state);
    q_i64(&q, limit);
    cuzk_status rc = store_read_jobs(&q, out, n);
    store_unlock(s);
    return rc;
}

typedef struct recovery {
    store_job *jobs;
    uint32_t n;
} recovery;

static cuzk_status requeue(store_sqlite *s, void *arg)
{
    recovery *r = arg;
    store_query q = q_make(s, SQL_LIVE_REQUEUE);
    CUZK_TRY(q_run(&q));
    q = q_make(s, SQL_LIVE);
    return store_read_jobs(&q, &r->jobs, &r->n);
}

cuzk_status store_recover(store *st, store_job **out, uint32_t *n)
{
    recovery r = {0};
    cuzk_status rc = locked_tx(st, requeue, &r);
    if (rc.code != CUZK_OK) {
        mem_free(r.jobs); /* read, but the commit failed */
        r = (recovery){0};
    }
    *out = r.jobs;
    *n = r.n;
    return rc;
}
