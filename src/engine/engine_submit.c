/* Submitting: decoding, checking and journaling happen here, before a client hears that its job is
 * accepted. Equal requests that come in meanwhile join the one under way. */
#include "base/bytes.h"
#include "base/random.h"
#include "engine/engine_int.h"
#include <stdio.h>
#include <string.h>

#define RETRY_ENDING_MS 1000u

/* Someone who waits for the answer. */
typedef struct submit_waiter {
    engine_submit_fn *done;
    void *ctx;
    struct submit_waiter *next;
} submit_waiter;

struct submission {
    job_request req;
    uint8_t digest[32];
    bool has_digest;
    atomic_bool stop;
    bool is_cancelled; /* by a client, not by the end of the daemon; guarded by the lock */
    uint64_t submit_ns, decode_ns, check_ns, journal_start_ns, created_unix_ms;
    submit_waiter first, *joined; /* guarded by the engine's lock */
    decoded_task *decoded;
    engine_submitted result;
    submission *next;
};

static bool is_stopped(void *ctx)
{
    submission *s = ctx;
    return atomic_load_explicit(&s->stop, memory_order_relaxed);
}

bool submission_cancel(engine *e, const char *request_id)
{
    bool found = false;
    for (submission *s = e->submissions; s && *request_id; s = s->next)
        if (strcmp(s->req.request_id, request_id) == 0) {
            atomic_store_explicit(&s->stop, true, memory_order_relaxed);
            s->is_cancelled = true;
            found = true;
        }
    return found;
}

void submission_cancel_all(engine *e)
{
    for (submission *s = e->submissions; s; s = s->next)
        atomic_store_explicit(&s->stop, true, memory_order_relaxed);
}

static void unlink_submission(engine *e, submission *s)
{
    for (submission **at = &e->submissions; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            e->n_submissions--;
            break;
        }
}

/* What the transport reserved for it and the engine took over. */
static uint64_t request_bytes(const job_request *r)
{
    uint64_t sum = r->vanilla_proof.len + r->randomness.len + r->comm_r_old.len +
                   r->comm_r_new.len + r->comm_d_new.len;
    for (size_t i = 0; i < r->n_vanilla_proofs; i++)
        sum += r->vanilla_proofs[i].len;
    return sum;
}

static void drop_request(engine *e, job_request *r)
{
    uint64_t bytes = request_bytes(r);
    job_request_fini(r);
    engine_release_request(e, bytes);
}

/* Answer everyone and release. Not with the lock held; s is out of the list. */
static void answer(engine *e, submission *s)
{
    drop_request(e, &s->req);
    decoded_task_destroy(s->decoded);
    s->first.done(s->first.ctx, &s->result);
    if (s->result.st.code == CUZK_OK)
        s->result.existing = true; /* those who joined */
    while (s->joined) {
        submit_waiter *w = s->joined;
        s->joined = w->next;
        w->done(w->ctx, &s->result);
        mem_free(w);
    }
    mem_free(s);
}

/* Join an equal submission or job; true when s was answered or will be by the other one. */
static bool join_equal(engine *e, submission *s)
{
    submit_waiter *w = mem_alloc(sizeof *w, 8);
    engine_lock(e);
    s->has_digest = true;
    job *j = job_table_find_request(&e->jobs, s->req.request_id, s->digest);
    if (j && !(j->is_ending && j->end_state != JOB_DONE)) {
        e->stats.deduplicated++;
        job_fill_view(e, j, &s->result.view);
        s->result.existing = true;
        unlink_submission(e, s);
        engine_unlock(e);
        mem_free(w);
        answer(e, s);
        return true;
    }
    submission *o = e->submissions;
    while (o && (o == s || !o->has_digest || !*s->req.request_id || is_stopped(o) ||
                 memcmp(o->digest, s->digest, 32) != 0 ||
                 strcmp(o->req.request_id, s->req.request_id) != 0))
        o = o->next;
    if (!o || !w) {
        engine_unlock(e);
        mem_free(w);
        return false;
    }
    *w = s->first;
    w->next = o->joined;
    o->joined = w;
    e->stats.deduplicated++;
    unlink_submission(e, s);
    engine_unlock(e);
    drop_request(e, &s->req);
    mem_free(s);
    return true;
}

/* A finished job of the same request, known by its id: no need to decode and check again. */
static bool find_finished(engine *e, submission *s)
{
    char id[JOB_ID_MAX], hex[9];
    hex_encode(hex, s->digest, 4);
    for (int i = 0; i < 2 && *s->req.request_id; i++) {
        store_job found;
        snprintf(id, sizeof id, "%s%s%s", s->req.request_id, i ? "~" : "", i ? hex : "");
        if (e->store->ops->get(e->store, id, &found).code == CUZK_OK &&
            found.view.state == JOB_DONE && memcmp(found.digest, s->digest, 32) == 0) {
            s->result.view = found.view;
            s->result.existing = true;
            return true;
        }
    }
    return false;
}

static cuzk_status uuid_v4(char out[JOB_ID_MAX])
{
    uint8_t b[16];
    char h[33];
    CUZK_TRY(random_bytes(b, sizeof b));
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    hex_encode(h, b, sizeof b);
    snprintf(out, JOB_ID_MAX, "%.8s-%.4s-%.4s-%.4s-%.12s", h, h + 8, h + 12, h + 16, h + 20);
    return cuzk_ok();
}

static cuzk_status make_record(store_job *out, const submission *s)
{
    const proof_task *t = &s->decoded->task;
    const circuit_id id = proof_task_circuit_id(t);
    *out = (store_job){.view = {.kind = s->req.kind,
                                .priority = s->req.priority,
                                .sector_size = proof_task_sector_bytes(t),
                                .sector_number = s->req.sector_number,
                                .miner_id = s->req.miner_id,
                                .n_partitions = proof_task_partitions(t),
                                .created_unix_ms = s->created_unix_ms,
                                .deadline_unix_ms = s->req.deadline_unix_ms}};
    memcpy(out->digest, s->digest, 32);
    circuit_id_format(out->view.circuit_id, &id);
    snprintf(out->view.request_id, sizeof out->view.request_id, "%s", s->req.request_id);
    if (!*s->req.request_id)
        return uuid_v4(out->view.job_id);
    snprintf(out->view.job_id, sizeof out->view.job_id, "%s", s->req.request_id);
    return cuzk_ok();
}

static cuzk_status journal(engine *e, submission *s, store_job *record)
{
    uint8_t *blob;
    size_t len;
    s->journal_start_ns = clock_now_ns();
    CUZK_TRY(job_request_encode(&blob, &len, &s->req));
    cuzk_status st = e->store->ops->submit(e->store, record, blob, len, &s->result.existing);
    mem_free(blob);
    return cuzk_wrap(st, "journal");
}

/* The job of an accepted submission, with the decoded request when there is room to keep it. */
static cuzk_status make_job(job **out, submission *s, const store_job *record,
                            const job_demand *demand)
{
    job *j;
    CUZK_TRY(job_create(&j));
    j->view = record->view;
    j->demand = *demand;
    memcpy(j->digest, s->digest, 32);
    j->circuit = proof_task_circuit_id(&s->decoded->task);
    j->at.received_ns = s->req.received_ns;
    j->at.admitted_ns = s->req.admitted_ns;
    j->at.body_ns = s->req.body_ns;
    j->at.submit_ns = s->submit_ns;
    j->at.decode_ns = s->decode_ns;
    j->at.check_ns = s->check_ns;
    cuzk_status st = job_make_parts(j, record->view.n_partitions);
    if (st.code != CUZK_OK) {
        job_destroy(j);
        return st;
    }
    *out = j;
    return cuzk_ok();
}

/* The job is in the journal: it goes to the queue, where accept made room for it. */
static void enqueue(engine *e, submission *s, job *j)
{
    j->at.journal_start_ns = s->journal_start_ns;
    j->at.queued_ns = clock_now_ns();
    sched_entry entry = {.job = j,
                         .kind = j->view.kind,
                         .priority = j->view.priority,
                         .deadline_unix_ms = j->view.deadline_unix_ms,
                         .queued_ms = now_ms()};
    memcpy(entry.circuit, j->view.circuit_id, sizeof entry.circuit);
    uint64_t bytes = s->decoded->mem.total_bytes;
    engine_lock(e);
    sched_push(&e->sched, &entry);
    j->seq = e->sched.e[e->sched.n - 1].seq;
    j->is_queued = true;
    /* Half of the memory may be taken by requests that wait; the others are decoded again. */
    j->decoded_bytes = bytes;
    if (e->budget.used[BUDGET_DECODED] + bytes <= e->budget.total / 2 &&
        budget_reserve(&e->budget, BUDGET_DECODED, bytes)) {
        j->decoded = s->decoded;
        s->decoded = NULL;
    }
    job_table_add(&e->jobs, j);
    job_fill_view(e, j, &s->result.view);
    stats_observe(e, j->view.kind, ENGINE_STAGE_DECODE,
                  (double)(j->at.journal_start_ns - j->at.decode_ns) / 1e9);
    stats_observe(e, j->view.kind, ENGINE_STAGE_JOURNAL,
                  (double)(j->at.queued_ns - j->at.journal_start_ns) / 1e9);
    unlink_submission(e, s);
    if (s->is_cancelled) /* else the daemon stops: accepted, to be proven by the next run */
        job_end(e, j, JOB_CANCELLED, cuzk_fail(CUZK_E_CANCELLED, "cancelled by request"));
    dispatch_kick(e);
    engine_unlock(e);
}

/* The journal knows a live job or a result. One that is just ending without a result is told of by
 * nobody: the client has to come again. */
static cuzk_status answer_existing(engine *e, submission *s)
{
    engine_lock(e);
    const job_view *v = &s->result.view;
    job *j = job_table_find(&e->jobs, v->job_id);
    bool is_dying = j ? j->is_ending && j->end_state != JOB_DONE : !job_state_is_final(v->state);
    if (j && !is_dying)
        job_fill_view(e, j, &s->result.view);
    engine_unlock(e);
    if (!is_dying)
        return cuzk_ok();
    s->result.existing = false;
    s->result.retry_after_ms = RETRY_ENDING_MS;
    return cuzk_fail(CUZK_E_BUSY, "the job of the same request is ending");
}

/* Only here, not when a journaled request is decoded again: an accepted job is not refused later. */
static cuzk_status check_sector_size(const submission *s)
{
    char expected[48];
    uint64_t bytes = proof_task_sector_bytes(&s->decoded->task);
    if (s->req.sector_size == 0 || s->req.sector_size == bytes)
        return cuzk_ok();
    snprintf(expected, sizeof expected, "%llu, as the proof has it, or 0",
             (unsigned long long)bytes);
    return cuzk_bad_input("sector_size", expected, "%llu", (unsigned long long)s->req.sector_size);
}

static cuzk_status accept(engine *e, submission *s)
{
    store_job record;
    job_demand demand;
    run_ctx rc = {.pool = e->pool,
                  .cancelled = is_stopped,
                  .cancel_ctx = s,
                  .is_urgent = s->req.priority >= JOB_HIGH};
    CUZK_TRY(request_to_task(&s->decoded, &s->check_ns, &s->req, &rc));
    CUZK_TRY(check_sector_size(s));
    if (proof_task_partitions(&s->decoded->task) > JOB_PARTITIONS_MAX)
        return cuzk_fail(CUZK_E_IMPOSSIBLE, "%u partitions, at most %u are handled",
                         proof_task_partitions(&s->decoded->task), JOB_PARTITIONS_MAX);
    CUZK_TRY(make_record(&record, s));
    const circuit_id id = proof_task_circuit_id(&s->decoded->task);
    CUZK_TRY(demand_of(&demand, e, &id));
    CUZK_TRY(demand_check(e, &demand, s->decoded->mem.total_bytes, record.view.circuit_id));
    /* All that can fail comes before the journal: what is in it must be worked on. */
    job *j;
    CUZK_TRY(make_job(&j, s, &record, &demand));
    engine_lock(e);
    cuzk_status st = sched_ensure(&e->sched, e->n_submissions);
    engine_unlock(e);
    if (st.code == CUZK_OK)
        st = journal(e, s, &record);
    s->result.view = record.view;
    if (st.code != CUZK_OK || s->result.existing) {
        job_destroy(j);
        return st.code == CUZK_OK ? answer_existing(e, s) : st;
    }
    j->view = record.view; /* the journal chose the id */
    enqueue(e, s, j);
    return cuzk_ok();
}

/* Not busy: another attempt here is of no use, and clients know this code as "not reached". */
static cuzk_status stopping(void) { return cuzk_fail(CUZK_E_IO, "the daemon is stopping"); }

static void submit_run(engine *e, host_task *t)
{
    submission *s = t->arg;
    mem_free(t);
    if (s->result.st.code != CUZK_OK) {
        answer(e, s);
        return;
    }
    s->decode_ns = clock_now_ns();
    job_request_digest(s->digest, &s->req);
    if (join_equal(e, s))
        return;
    if (is_stopped(s))
        s->result.st = cuzk_fail(CUZK_E_CANCELLED, "cancelled by request");
    else if (!find_finished(e, s))
        s->result.st = accept(e, s);
    engine_lock(e);
    unlink_submission(e, s);
    if (s->result.st.code == CUZK_E_CANCELLED && !s->is_cancelled)
        s->result.st = stopping();
    if (s->result.st.code == CUZK_E_INPUT || s->result.st.code == CUZK_E_IMPOSSIBLE)
        e->stats.rejected_invalid++;
    e->stats.deduplicated += s->result.st.code == CUZK_OK && s->result.existing;
    engine_unlock(e);
    answer(e, s);
}

/* Lock held. */
static cuzk_status admit(engine *e, uint64_t *retry_after_ms)
{
    if (e->is_draining)
        return stopping();
    if (e->cfg.max_queued_jobs && e->sched.n + e->n_submissions >= e->cfg.max_queued_jobs) {
        e->stats.rejected_busy++;
        *retry_after_ms = stats_retry_after_ms(e);
        return cuzk_fail(CUZK_E_BUSY, "%u jobs wait, the limit is %u",
                         e->sched.n + e->n_submissions, e->cfg.max_queued_jobs);
    }
    return cuzk_ok();
}

static void answer_nomem(engine *e, job_request *req, engine_submit_fn *done, void *ctx)
{
    const engine_submitted r = {.st = cuzk_fail(CUZK_E_NOMEM, "a submission")};
    drop_request(e, req);
    done(ctx, &r);
}

static uint64_t moment(uint64_t given, uint64_t earliest, uint64_t now)
{
    return given == 0 || given > now ? now : given < earliest ? earliest : given;
}

static void complete_times(job_request *r, uint64_t now)
{
    r->received_ns = moment(r->received_ns, 0, now);
    r->admitted_ns = moment(r->admitted_ns, r->received_ns, now);
    r->body_ns = moment(r->body_ns, r->admitted_ns, now);
}

void engine_submit(engine *e, job_request *req, engine_submit_fn *done, void *ctx)
{
    submission *s = mem_zalloc(sizeof *s, 64);
    host_task *t = host_task_new(submit_run, s);
    if (!s || !t) {
        mem_free(s);
        mem_free(t);
        answer_nomem(e, req, done, ctx);
        return;
    }
    s->req = *req;
    *req = (job_request){0};
    s->first = (submit_waiter){.done = done, .ctx = ctx};
    s->submit_ns = clock_now_ns();
    complete_times(&s->req, s->submit_ns);
    s->created_unix_ms = engine_unix_ms() - (s->submit_ns - s->req.received_ns) / ENGINE_MS;
    if ((unsigned)s->req.priority >= JOB_N_PRIORITIES)
        s->req.priority = JOB_NORMAL;
    sched_rank rank = {.cls = (uint32_t)(JOB_CRITICAL - s->req.priority),
                       .deadline_unix_ms =
                           s->req.deadline_unix_ms ? s->req.deadline_unix_ms : UINT64_MAX};
    engine_lock(e);
    s->result.st = admit(e, &s->result.retry_after_ms);
    if (s->result.st.code == CUZK_OK) {
        s->next = e->submissions;
        e->submissions = s;
        e->n_submissions++;
    }
    rank.seq = e->sched.next_seq;
    host_push(e, t, &rank);
    engine_unlock(e);
}

cuzk_status engine_reserve_request(engine *e, uint64_t bytes, uint64_t *retry_after_ms)
{
    *retry_after_ms = 0;
    cuzk_status st = cuzk_ok();
    engine_lock(e);
    if (e->cfg.max_queued_bytes && bytes > e->cfg.max_queued_bytes) {
        e->stats.rejected_invalid++;
        st = cuzk_fail(CUZK_E_IMPOSSIBLE, "a request of %llu bytes, at most %llu are taken",
                       (unsigned long long)bytes, (unsigned long long)e->cfg.max_queued_bytes);
    } else if (e->cfg.max_queued_bytes && e->request_bytes + bytes > e->cfg.max_queued_bytes) {
        e->stats.rejected_busy++;
        st = cuzk_fail(CUZK_E_BUSY, "%llu bytes of requests are being read, the limit is %llu",
                       (unsigned long long)e->request_bytes,
                       (unsigned long long)e->cfg.max_queued_bytes);
        *retry_after_ms = stats_retry_after_ms(e);
    } else {
        e->request_bytes += bytes;
    }
    engine_unlock(e);
    return st;
}

void engine_release_request(engine *e, uint64_t bytes)
{
    engine_lock(e);
    e->request_bytes -= bytes <= e->request_bytes ? bytes : e->request_bytes;
    engine_unlock(e);
}
