/* Submitting a job and reading its request back. */
#include "base/bytes.h"
#include "base/mem.h"
#include "base/random.h"
#include "engine/store_int.h"
#include <stdio.h>

typedef struct submission {
    store_job *job;
    const store_packed *packed;
    int64_t seq;
    bool is_staged; /* the parts are written already */
    bool existing;
} submission;

/* The job that a request with an id joins: the same id and digest, not failed or cancelled. */
static cuzk_status find_same(store_sqlite *s, const store_job *job, store_job *same, bool *found)
{
    *found = false;
    if (!job->view.request_id[0])
        return cuzk_ok();
    store_query q = q_make(s, SQL_JOB_BY_REQUEST);
    q_text(&q, job->view.request_id);
    q_blob(&q, job->digest, sizeof job->digest);
    *found = q_row(&q);
    int64_t seq;
    if (*found)
        store_read_job(&q, same, &seq);
    return q_end(&q);
}

static cuzk_status is_taken(store_sqlite *s, const char *job_id, bool *taken)
{
    store_query q = q_make(s, SQL_JOB_STATE);
    q_text(&q, job_id);
    *taken = q_row(&q);
    return q_end(&q);
}

/* Free job id: the wanted one, then with the digest behind it, then with a number behind that. */
static cuzk_status choose_id(store_sqlite *s, store_job *job)
{
    char wanted[JOB_ID_MAX], hex[9];
    snprintf(wanted, sizeof wanted, "%s", job->view.job_id);
    hex_encode(hex, job->digest, 4);
    bool taken = true;
    for (uint32_t i = 0; taken; i++) {
        char *id = job->view.job_id;
        int n = i == 0   ? snprintf(id, JOB_ID_MAX, "%s", wanted)
                : i == 1 ? snprintf(id, JOB_ID_MAX, "%s~%s", wanted, hex)
                         : snprintf(id, JOB_ID_MAX, "%s~%s~%u", wanted, hex, i);
        if (n < 0 || n >= (int)JOB_ID_MAX)
            return cuzk_fail(CUZK_E_INTERNAL, "job id \"%.100s\" has no room for a suffix", wanted);
        CUZK_TRY(is_taken(s, id, &taken));
    }
    return cuzk_ok();
}

static cuzk_status insert_job(store_sqlite *s, void *arg)
{
    submission *sub = arg;
    store_job same;
    CUZK_TRY(find_same(s, sub->job, &same, &sub->existing));
    if (sub->existing) { /* another thread was first */
        *sub->job = same;
        return sub->is_staged ? store_drop_request(s, sub->seq) : cuzk_ok();
    }
    CUZK_TRY(choose_id(s, sub->job));
    sub->job->view.state = JOB_QUEUED;
    size_t next;
    if (!sub->is_staged)
        CUZK_TRY(store_write_parts(s, sub->seq, sub->packed, 0, SIZE_MAX, &next));
    store_query q = q_make(s, SQL_REQUEST_INSERT);
    q_i64(&q, sub->seq);
    q_i64(&q, (int64_t)sub->packed->raw_len);
    q_i64(&q, (int64_t)sub->packed->len);
    CUZK_TRY(q_run(&q));
    q = q_make(s, SQL_JOB_INSERT);
    store_bind_job(&q, sub->seq, sub->job);
    return q_run(&q);
}

typedef struct stage {
    const store_packed *packed;
    int64_t seq;
    size_t first, next;
} stage;

static cuzk_status write_stage(store_sqlite *s, void *arg)
{
    stage *g = arg;
    return store_write_parts(s, g->seq, g->packed, g->first, STORE_STAGE_BYTES, &g->next);
}

static cuzk_status run_stage(store_sqlite *s, stage *g)
{
    store_lock(s);
    cuzk_status st = store_tx_relaxed(s, write_stage, g);
    store_unlock(s);
    g->first = g->next;
    return st;
}

static cuzk_status drop_parts(store_sqlite *s, void *arg)
{
    return store_drop_request(s, *(const int64_t *)arg);
}

static cuzk_status submit_packed(store_sqlite *s, submission *sub)
{
    store_lock(s);
    sub->seq = s->next_seq++;
    s->n_staging++;
    store_unlock(s);

    cuzk_status st = cuzk_ok();
    sub->is_staged = sub->packed->len > STORE_STAGE_BYTES;
    stage g = {.packed = sub->packed, .seq = sub->seq};
    while (st.code == CUZK_OK && sub->is_staged && g.first < store_n_parts(sub->packed))
        st = run_stage(s, &g);

    store_lock(s);
    store_job kept = *sub->job;
    if (st.code == CUZK_OK)
        st = store_tx(s, insert_job, sub);
    if (st.code != CUZK_OK) {
        *sub->job = kept;
        sub->existing = false;
        if (sub->is_staged && store_tx(s, drop_parts, &sub->seq).code != CUZK_OK)
            s->has_orphans = true; /* the disk is full, say: prune or the next open removes them */
    }
    s->n_staging--;
    store_unlock(s);
    return st;
}

/* The id that the job has unless somebody else has it. */
static cuzk_status want_id(job_view *v)
{
    if (v->job_id[0])
        return cuzk_ok();
    if (v->request_id[0]) {
        snprintf(v->job_id, sizeof v->job_id, "%s", v->request_id);
        return cuzk_ok();
    }
    uint8_t random[8];
    CUZK_TRY(random_bytes(random, sizeof random));
    memcpy(v->job_id, "job-", 4);
    hex_encode(v->job_id + 4, random, sizeof random);
    return cuzk_ok();
}

cuzk_status store_submit(store *st, store_job *job, const uint8_t *blob, size_t len, bool *existing)
{
    store_sqlite *s = store_of(st);
    store_job same;
    *existing = false;
    /* Looked up first, so that a request sent again is not packed again. */
    store_lock(s);
    bool found;
    cuzk_status rc = find_same(s, job, &same, &found);
    store_unlock(s);
    if (rc.code != CUZK_OK)
        return rc;
    if (found) {
        *job = same;
        *existing = true;
        return cuzk_ok();
    }
    CUZK_TRY(want_id(&job->view));
    store_packed packed;
    CUZK_TRY(store_pack(&packed, blob, len));
    submission sub = {.job = job, .packed = &packed};
    rc = submit_packed(s, &sub);
    mem_free(packed.p);
    *existing = sub.existing;
    return rc;
}

cuzk_status store_drop_request(store_sqlite *s, int64_t seq)
{
    CUZK_TRY(store_run_key(s, SQL_REQUEST_DELETE, seq));
    store_query q = q_make(s, SQL_PARTS_DELETE);
    q_i64(&q, seq * (1 << STORE_PART_BITS));
    q_i64(&q, (seq + 1) * (1 << STORE_PART_BITS) - 1);
    return q_run(&q);
}

static cuzk_status read_sizes(store_sqlite *s, int64_t seq, const char *job_id, store_packed *out)
{
    store_query q = q_make(s, SQL_REQUEST_GET);
    q_i64(&q, seq);
    bool found = q_row(&q);
    if (found) {
        out->raw_len = (uint64_t)sqlite3_column_int64(q.stmt, 0);
        out->len = (size_t)sqlite3_column_int64(q.stmt, 1);
    }
    CUZK_TRY(q_end(&q));
    if (!found)
        return cuzk_fail(CUZK_E_NOT_FOUND, "job \"%.200s\" is over, its request was removed",
                         job_id);
    if (out->len > 2 * STORE_BLOB_MAX)
        return cuzk_fail(CUZK_E_INPUT, "job \"%.200s\": stored request is damaged: its size is %zu",
                         job_id, out->len);
    return cuzk_ok();
}

static cuzk_status read_parts(store_sqlite *s, int64_t seq, const char *job_id, store_packed *out)
{
    store_query q = q_make(s, SQL_PARTS);
    q_i64(&q, seq * (1 << STORE_PART_BITS));
    q_i64(&q, (seq + 1) * (1 << STORE_PART_BITS) - 1);
    size_t at = 0;
    bool fits = true;
    while (fits && q_row(&q)) {
        const void *data = sqlite3_column_blob(q.stmt, 1);
        size_t len = (size_t)sqlite3_column_bytes(q.stmt, 1);
        if (len && !data) {
            q.rc = SQLITE_NOMEM;
            break;
        }
        fits = len <= out->len - at;
        if (fits && len)
            memcpy(out->p + at, data, len);
        at += fits ? len : 0;
    }
    CUZK_TRY(q_end(&q));
    if (!fits || at != out->len)
        return cuzk_fail(CUZK_E_INPUT, "job \"%.200s\": stored request is damaged: parts missing",
                         job_id);
    return cuzk_ok();
}

static cuzk_status read_packed(store_sqlite *s, const char *job_id, store_packed *out)
{
    int64_t seq;
    job_state state;
    CUZK_TRY(store_find(s, job_id, &seq, &state));
    CUZK_TRY(read_sizes(s, seq, job_id, out));
    out->p = mem_alloc(out->len, 64);
    if (!out->p)
        return cuzk_fail(CUZK_E_NOMEM, "request of %zu bytes", out->len);
    return read_parts(s, seq, job_id, out);
}

cuzk_status store_get_request(store *st, const char *job_id, uint8_t **out, size_t *len)
{
    store_sqlite *s = store_of(st);
    *out = NULL;
    *len = 0;
    store_packed packed = {0};
    store_lock(s);
    cuzk_status rc = read_packed(s, job_id, &packed);
    store_unlock(s);
    if (rc.code == CUZK_OK)
        rc = store_unpack(out, &packed, job_id, "request");
    if (rc.code == CUZK_OK)
        *len = (size_t)packed.raw_len;
    mem_free(packed.p);
    return rc;
}
