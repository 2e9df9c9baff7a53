/* The end of a job: journaled first, then visible, then told, then cleaned up. */
#include "engine/engine_int.h"
#include "engine/part_view.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FINISH_TRIES 5u
#define FINISH_PAUSE_MS 50u
#define RECORD_EVERY_NS (1000u * (uint64_t)ENGINE_MS)

static void pause_ms(uint32_t ms)
{
    struct timespec ts = {.tv_nsec = (long)ms * ENGINE_MS};
    nanosleep(&ts, NULL);
}

/* What a journal cannot take now it may take in a moment: space is freed, memory too. */
static bool may_pass(cuzk_code c) { return c == CUZK_E_IO || c == CUZK_E_NOMEM; }

/* The result. has_moved: the journal knows that the job was being proven; it has to before. */
static cuzk_status journal_done(engine *e, const job *j, const job_view *v, bool has_moved)
{
    cuzk_status st = cuzk_ok();
    job_view proving = *v;
    proving.state = JOB_PROVING;
    proving.finished_unix_ms = 0;
    proving.proof_bytes = 0;
    for (unsigned i = 0; i < FINISH_TRIES; i++) {
        if (i)
            pause_ms(FINISH_PAUSE_MS << (i - 1));
        st = has_moved ? cuzk_ok() : e->store->ops->move(e->store, &proving);
        has_moved = st.code == CUZK_OK;
        if (has_moved)
            st =
                e->store->ops->finish(e->store, v, j->result, (size_t)j->n_parts * G16_PROOF_BYTES);
        if (!may_pass(st.code))
            break;
    }
    return st;
}

static cuzk_status journal_end(engine *e, const job *j, const job_view *v)
{
    cuzk_status st = cuzk_ok();
    for (unsigned i = 0; i < 2 && (i == 0 || st.code != CUZK_OK); i++)
        st = e->store->ops->move(e->store, v);
    if (st.code != CUZK_OK)
        log_error("journal_end", LOG_STR("job", j->view.job_id), LOG_STR("error", st.msg));
    return st;
}

/* The view as it will be. Lock held. */
static job_view final_view(job *j, job_state state, const cuzk_status *st)
{
    j->at.end_ns = clock_now_ns();
    job_set_times(j, j->at.end_ns);
    j->view.finished_unix_ms = engine_unix_ms();
    j->view.n_partitions_done = j->n_done;
    job_view v = j->view;
    v.state = state;
    v.progress = state == JOB_DONE ? 1 : job_progress(j);
    v.proof_bytes = state == JOB_DONE ? (size_t)j->n_parts * G16_PROOF_BYTES : 0;
    v.error_code = st->code;
    snprintf(v.error, sizeof v.error, "%s", st->msg);
    return v;
}

/* Lock held. */
static void leave_pipeline(engine *e, job *j)
{
    if (!j->is_active)
        return;
    j->is_active = false;
    e->n_active--;
    e->n_bulk -= j->view.priority < JOB_HIGH;
    sched_done(&e->sched, j->view.kind);
}

static void end_run(engine *e, host_task *t)
{
    job *j = t->job;
    engine_lock(e);
    job_state state = j->end_state;
    cuzk_status st = j->st;
    if (state == JOB_DONE)
        pipeline_journal_start(e, j);
    while (j->is_moving) /* a record on its way to the journal comes first */
        pthread_cond_wait(&e->changed, &e->lock);
    job_view v = final_view(j, state, &st);
    bool has_moved = j->has_moved;
    /* With the lock: the job may be starting, which makes the recorder. */
    span_rec *spans = j->spans;
    if (j->at.start_ns && !j->at.key_ns)
        span_record(spans, j->root, SPAN_KEY_LOAD, j->at.start_ns,
                    j->at.key_loaded_ns ? j->at.key_loaded_ns : j->at.end_ns);
    span_id s = pipeline_task_span(t, SPAN_JOURNAL);
    engine_unlock(e);
    uint64_t t0 = clock_now_ns();
    cuzk_status put = state == JOB_DONE ? journal_done(e, j, &v, has_moved) : journal_end(e, j, &v);
    if (put.code != CUZK_OK && state == JOB_DONE) {
        /* Not durable, so not done. */
        st = cuzk_wrap(put, "journal");
        state = JOB_FAILED;
        engine_lock(e);
        j->end_state = state;
        v = final_view(j, state, &st);
        engine_unlock(e);
        put = journal_end(e, j, &v);
    }
    span_end(spans, s);
    uint64_t t1 = clock_now_ns();
    engine_lock(e);
    j->is_unrecorded = put.code != CUZK_OK;
    j->at.journal_ns += t1 - t0;
    j->at.journaled_ns = t1;
    /* Member by member: others read the ids without the lock. */
    j->view.progress = v.progress;
    j->view.proof_bytes = v.proof_bytes;
    j->view.error_code = v.error_code;
    memcpy(j->view.error, v.error, sizeof v.error);
    if (!job_move(j, state))
        j->view.state = JOB_FAILED; /* the table allows every live state to end */
    stats_job_ended(e, j);
    leave_pipeline(e, j);
    watch_ended(e, j);
    dispatch_kick(e);
    engine_unlock(e);
    log_info("job_end", LOG_STR("job", v.job_id), LOG_STR("state", JOB_STATE_NAMES[state]),
             LOG_STR("circuit", v.circuit_id), LOG_U64("total_ms", v.times.total_ms),
             LOG_STR("error", st.msg));
    engine_lock(e);
    host_task_done(e, t);
    engine_unlock(e);
}

void job_end(engine *e, job *j, job_state state, cuzk_status st)
{
    if (j->is_ending)
        return;
    j->is_ending = true;
    j->end_state = state;
    j->st = st;
    atomic_store_explicit(&j->stop, true, memory_order_relaxed);
    if (j->is_queued) {
        sched_remove(&e->sched, j);
        j->is_queued = false;
    }
    j->end_task = (host_task){.run = end_run, .job = j, .partition = -1, .is_part = true};
    j->n_busy++;
    host_push(e, &j->end_task, &(sched_rank){0});
    devices_kick(e); /* others may have waited for its witnesses */
}

/* ---- cleaning up ---- */

/* Lock held. */
static void release_memory(engine *e, job *j)
{
    if (j->has_reservation)
        budget_release(&e->budget, BUDGET_WORK, j->n_slots * j->slot_bytes);
    witness_unpromise(e, j);
    if (j->has_reservation || j->decoded)
        budget_release(&e->budget, BUDGET_DECODED, j->decoded_bytes);
    j->has_reservation = false;
}

/* Lock held. Of a job that stays for its end only; someone may be reading them. */
static void drop_spans(job *j)
{
    if (j->n_refs > 1)
        return;
    span_rec_destroy(j->spans);
    j->spans = NULL;
}

static void clean_run(engine *e, host_task *t)
{
    job *j = t->job;
    job_trace_end(e, j);
    decoded_task *d = j->decoded;
    for (uint32_t k = 0; k < j->n_parts; k++)
        if (j->parts[k].has_witness) {
            witness_give(e, j, &j->parts[k].w);
            j->parts[k].has_witness = false;
        }
    decoded_task_destroy(d);
    engine_lock(e);
    release_memory(e, j);
    j->decoded = NULL;
    if (j->key)
        key_release(e, j->key);
    j->key = NULL;
    if (j->is_unrecorded) {
        j->record_ns = clock_now_ns() + RECORD_EVERY_NS;
        drop_spans(j);
    } else {
        part_view_keep(e, j);
        job_table_remove(&e->jobs, j);
        job_unref(e, j);
    }
    dispatch_kick(e);
    pthread_cond_broadcast(&e->changed);
    engine_unlock(e);
}

void job_maybe_clean(engine *e, job *j)
{
    if (!job_state_is_final(j->view.state) || j->n_busy || j->is_cleaning)
        return;
    j->is_cleaning = true;
    j->clean_task = (host_task){.run = clean_run, .job = j, .is_part = true};
    host_push(e, &j->clean_task, &(sched_rank){0});
}

void job_unref(engine *e, job *j)
{
    (void)e;
    if (--j->n_refs == 0)
        job_destroy(j);
}

/* ---- ends that the journal did not take ---- */

static void record_run(engine *e, host_task *t)
{
    job *j = t->job;
    engine_lock(e);
    job_view v = j->view;
    engine_unlock(e);
    cuzk_status st = e->store->ops->move(e->store, &v);
    bool again = may_pass(st.code);
    engine_lock(e);
    if (again) {
        j->record_ns = clock_now_ns() + RECORD_EVERY_NS;
    } else {
        job_table_remove(&e->jobs, j);
        job_unref(e, j);
    }
    engine_unlock(e);
    if (st.code == CUZK_OK)
        log_info("journal_end", LOG_STR("job", v.job_id),
                 LOG_STR("state", JOB_STATE_NAMES[v.state]));
    else if (!again)
        log_error("journal_end", LOG_STR("job", v.job_id), LOG_STR("error", st.msg));
}

void job_record_ends(engine *e, uint64_t now_ns)
{
    for (job *j = e->jobs.first; j; j = j->next) {
        if (!j->record_ns || now_ns < j->record_ns)
            continue;
        j->record_ns = 0; /* on its way */
        j->clean_task = (host_task){.run = record_run, .job = j, .is_part = true};
        host_push(e, &j->clean_task, &(sched_rank){.cls = JOB_CRITICAL - JOB_LOW});
    }
}
