/* What happens to a started job on host workers: the request decoded (again), witnesses made, proofs
 * verified and journaled. */
#include "engine/engine_int.h"
#include <stdio.h>
#include <string.h>

static bool job_is_stopped(void *ctx)
{
    job *j = ctx;
    return atomic_load_explicit(&j->stop, memory_order_relaxed);
}

static run_ctx job_rc(engine *e, job *j, span_id parent)
{
    return (run_ctx){.pool = e->pool,
                     .spans = j->spans,
                     .parent = parent,
                     .cancelled = job_is_stopped,
                     .cancel_ctx = j,
                     .is_urgent = j->view.priority >= JOB_HIGH};
}

span_id pipeline_task_span(const host_task *t, const char *name)
{
    job *j = t->job;
    int32_t k = j->n_parts > 1 ? t->partition : -1;
    span_id w = span_record(j->spans, j->root, SPAN_HOST_WAIT, t->queued_ns, clock_now_ns());
    span_note(j->spans, w, k, 0);
    span_id s = span_begin(j->spans, j->root, name);
    span_note(j->spans, s, k, 0);
    return s;
}

void pipeline_fail(engine *e, job *j, int32_t partition, const char *stage, cuzk_status st)
{
    char where[48] = "";
    if (partition >= 0)
        snprintf(where, sizeof where, ", partition %d", partition);
    if (st.code == CUZK_E_CANCELLED && (j->is_ending || e->is_draining))
        return; /* stopped on purpose */
    job_end(e, j, JOB_FAILED,
            cuzk_wrap(st, "%s, miner %llu, sector %llu%s, stage %s", j->view.circuit_id,
                      (unsigned long long)j->view.miner_id,
                      (unsigned long long)j->view.sector_number, where, stage));
}

/* ---- start ---- */

/* Decode a request from the journal. */
static cuzk_status decode_again(engine *e, job *j, span_id parent, decoded_task **out)
{
    uint8_t *blob;
    size_t len;
    job_request r;
    *out = NULL;
    CUZK_TRY(e->store->ops->get_request(e->store, j->view.job_id, &blob, &len));
    cuzk_status st = job_request_decode(&r, blob, len, (void (*)(void *))mem_free);
    if (st.code != CUZK_OK) {
        mem_free(blob);
        return st;
    }
    run_ctx rc = job_rc(e, j, parent);
    st = request_to_task(out, NULL, &r, &rc);
    job_request_fini(&r);
    return st;
}

/* Partitions that an earlier run of the daemon finished. */
static cuzk_status restore_parts(engine *e, job *j)
{
    uint8_t(*proofs)[G16_PROOF_BYTES] = mem_alloc(j->n_parts * sizeof *proofs, 8);
    bool *have = mem_zalloc(j->n_parts, 8);
    cuzk_status st = proofs && have ? e->store->ops->get_partitions(e->store, j->view.job_id,
                                                                    proofs, have, j->n_parts)
                                    : cuzk_fail(CUZK_E_NOMEM, "%u partitions", j->n_parts);
    engine_lock(e);
    for (uint32_t k = 0; k < j->n_parts && st.code == CUZK_OK; k++) {
        if (!have[k] || j->parts[k].phase == PART_DONE)
            continue;
        memcpy(j->result + (size_t)k * G16_PROOF_BYTES, proofs[k], G16_PROOF_BYTES);
        j->parts[k].phase = PART_DONE;
        share_set_done(&j->share, k);
        j->n_done++;
    }
    engine_unlock(e);
    mem_free(proofs);
    mem_free(have);
    return st;
}

void pipeline_journal_start(engine *e, job *j)
{
    while (j->is_moving)
        pthread_cond_wait(&e->changed, &e->lock);
    if (j->has_moved)
        return;
    j->is_moving = true;
    job_view v = j->view;
    engine_unlock(e);
    v.state = JOB_PROVING;
    span_id s = span_begin(j->spans, j->root, SPAN_JOURNAL);
    cuzk_status st = e->store->ops->move(e->store, &v);
    span_end(j->spans, s);
    if (st.code != CUZK_OK)
        log_error("journal_start", LOG_STR("job", v.job_id), LOG_STR("error", st.msg));
    engine_lock(e);
    j->is_moving = false;
    j->has_moved = st.code == CUZK_OK;
    pthread_cond_broadcast(&e->changed);
}

/* Beside the work, which does not depend on it. */
static void journal_start_run(engine *e, host_task *t)
{
    engine_lock(e);
    if (!t->job->is_ending)
        pipeline_journal_start(e, t->job);
    host_task_done(e, t);
    engine_unlock(e);
}

/* Lock held: decoded and key both there. */
static void go(engine *e, job *j)
{
    if (!j->has_parts || !j->has_key || j->is_ending)
        return;
    j->at.key_ns = clock_now_ns();
    span_record(j->spans, j->root, SPAN_KEY_LOAD, j->at.start_ns, j->at.key_loaded_ns);
    if (!job_move(j, JOB_PROVING)) {
        pipeline_fail(e, j, -1, "start", cuzk_fail(CUZK_E_INTERNAL, "illegal move of state"));
        return;
    }
    watch_changed(e, j);
    /* Without memory for the task the end does it. */
    (void)host_push_job(e, journal_start_run, j, -1);
    if (j->n_done == j->n_parts) { /* all in the journal: only the end was missing */
        j->at.device_ns = j->at.device_end_ns = j->at.verified_ns = j->at.key_ns;
        job_end(e, j, JOB_DONE, cuzk_ok());
        return;
    }
    pipeline_fill(e, j);
}

static void start_run(engine *e, host_task *t)
{
    job *j = t->job;
    job_trace_begin(e, j);
    cuzk_status st = cuzk_ok();
    decoded_task *d = NULL;
    bool is_ready = j->decoded && !j->is_recovered;
    span_id s = is_ready ? 0 : pipeline_task_span(t, SPAN_RECOVER);
    if (is_ready)
        span_record(j->spans, j->root, SPAN_HOST_WAIT, t->queued_ns, clock_now_ns());
    if (!j->decoded)
        st = decode_again(e, j, s, &d);
    if (st.code == CUZK_OK)
        st = job_make_parts(j, proof_task_partitions(d ? &d->task : &j->decoded->task));
    if (st.code == CUZK_OK && j->is_recovered)
        st = restore_parts(e, j);
    span_end(j->spans, s);
    engine_lock(e);
    if (d) {
        /* What decoding really took, instead of what was reserved. */
        budget_release(&e->budget, BUDGET_DECODED, j->decoded_bytes);
        j->decoded_bytes = d->mem.total_bytes;
        budget_force(&e->budget, BUDGET_DECODED, j->decoded_bytes);
        j->decoded = d;
    }
    if (st.code == CUZK_OK) {
        j->has_parts = true;
        devices_kick(e); /* a companion may have waited for this */
        go(e, j);
    } else {
        pipeline_fail(e, j, -1, "decode", st);
    }
    host_task_done(e, t);
    engine_unlock(e);
}

void pipeline_start(engine *e, job *j)
{
    bool is_new = false;
    j->at.start_ns = clock_now_ns();
    j->view.started_unix_ms = engine_unix_ms();
    sched_rank rank = job_rank(j);
    j->key = key_cache_pin(&e->keys, &j->circuit, &is_new);
    if (is_new) {
        j->key->host_bytes = j->demand.key_bytes;
        if (!key_start_load(e, j->key, &rank)) {
            j->key->state = KEY_FAILED;
            j->key->st = cuzk_fail(CUZK_E_NOMEM, "a task");
            budget_release(&e->budget, BUDGET_KEYS, j->key->host_bytes);
            j->key->host_bytes = 0;
        }
    } else if (!j->key)
        budget_release(&e->budget, BUDGET_KEYS, j->demand.key_bytes);
    if (!j->key || !job_move(j, JOB_DECODING) || !host_push_job(e, start_run, j, -1)) {
        pipeline_fail(e, j, -1, "start", cuzk_fail(CUZK_E_NOMEM, "a task"));
        return;
    }
    watch_changed(e, j);
    if (j->key->state != KEY_LOADING)
        pipeline_key_ready(e, j);
}

void pipeline_key_ready(engine *e, job *j)
{
    key_entry *k = j->key;
    if (k->state != KEY_READY) {
        pipeline_fail(e, j, -1, "key", k->st);
        return;
    }
    j->has_key = true;
    j->at.key_loaded_ns = clock_now_ns();
    for (uint32_t d = 0; d < e->n_devices; d++)
        k->slots[d].is_wanted = true;
    devices_kick(e);
    go(e, j);
}

/* ---- witness ---- */

static cuzk_status make_witness(engine *e, job *j, uint32_t k, span_id s, witness *w)
{
    run_ctx rc = job_rc(e, j, s);
    CUZK_TRY(witness_take(e, j, w));
    cuzk_status st =
        proof_task_witness(w, j->key->shape, &j->decoded->task, k, CS_WITNESS_FAST, &rc);
    if (st.code != CUZK_OK)
        witness_give(e, j, w);
    return st;
}

static void witness_run(engine *e, host_task *t)
{
    job *j = t->job;
    uint32_t k = (uint32_t)t->partition;
    witness w;
    span_id s = pipeline_task_span(t, SPAN_WITNESS);
    engine_lock(e);
    uint64_t t0 = j->parts[k].witness_start_ns = clock_now_ns();
    engine_unlock(e);
    job_trace_line(e, TIMELINE_SYNTH_START, j, k, 0, 0);
    cuzk_status st =
        job_is_stopped(j) ? cuzk_fail(CUZK_E_CANCELLED, "stopped") : make_witness(e, j, k, s, &w);
    span_end(j->spans, s);
    if (st.code == CUZK_OK) { /* before a device can have it */
        job_trace_line(e, TIMELINE_SYNTH_END, j, k, 0, clock_now_ns() - t0);
        job_trace_line(e, TIMELINE_GPU_QUEUE, j, k, 0, 0);
    }
    engine_lock(e);
    job_part *p = &j->parts[k];
    if (st.code == CUZK_OK) {
        p->w = w;
        p->has_witness = true;
        p->phase = PART_READY;
        p->ready_ns = p->witness_end_ns = clock_now_ns();
        devices_kick(e);
    } else {
        p->phase = PART_IDLE;
        j->n_slots_used--;
        if (!job_is_stopped(j))
            pipeline_fail(e, j, (int32_t)k, "witness", st);
    }
    host_task_done(e, t);
    engine_unlock(e);
}

void pipeline_fill(engine *e, job *j)
{
    if (!j->has_key || j->is_ending || e->is_draining)
        return;
    for (uint32_t k = 0; k < j->n_parts && j->n_slots_used < j->n_slots; k++) {
        if (j->parts[k].phase != PART_IDLE)
            continue;
        if (!host_push_job(e, witness_run, j, (int32_t)k)) {
            pipeline_fail(e, j, (int32_t)k, "witness", cuzk_fail(CUZK_E_NOMEM, "a task"));
            return;
        }
        j->parts[k].phase = PART_WITNESS;
        j->n_slots_used++;
    }
}

static void free_witness_run(engine *e, host_task *t)
{
    job *j = t->job;
    job_part *p = &j->parts[t->partition];
    span_id s = span_begin(j->spans, j->root, SPAN_FREE);
    engine_lock(e);
    bool mine = p->has_witness && p->phase == PART_DONE && p->n_readers == 0;
    witness w = p->w;
    if (mine)
        p->has_witness = false;
    engine_unlock(e);
    if (mine)
        witness_give(e, j, &w);
    span_end(j->spans, s);
    engine_lock(e);
    if (mine) {
        j->n_slots_used--;
        pipeline_fill(e, j);
    }
    host_task_done(e, t);
    engine_unlock(e);
}

void pipeline_release_witness(engine *e, job *j, uint32_t k)
{
    job_part *p = &j->parts[k];
    if (p->phase != PART_DONE || p->n_readers || !p->has_witness || j->is_ending)
        return; /* in use, or cleaned up with the job */
    if (!host_push_job(e, free_witness_run, j, (int32_t)k)) { /* out of memory: at once, then */
        witness_fini(&p->w);
        p->has_witness = false;
        j->n_slots_used--;
        pipeline_fill(e, j);
    }
}

/* ---- verify ---- */

static cuzk_status verify(job *j, uint32_t k, const g16_proof *proof)
{
    const proof_task *t = &j->decoded->task;
    size_t n = proof_task_n_public(t);
    fr *in = mem_alloc((n ? n : 1) * sizeof *in, 64);
    if (!in)
        return cuzk_fail(CUZK_E_NOMEM, "%zu public inputs", n);
    proof_task_public_inputs(t, k, in);
    cuzk_status st = g16_verify(j->key->pvk, in, n, proof);
    mem_free(in);
    return st;
}

/* Lock held: the proof is good and in the journal. */
static void part_done(engine *e, job *j, uint32_t k, const uint8_t bytes[G16_PROOF_BYTES])
{
    job_part *p = &j->parts[k];
    memcpy(j->result + (size_t)k * G16_PROOF_BYTES, bytes, G16_PROOF_BYTES);
    p->phase = PART_DONE;
    j->n_done++;
    j->view.n_partitions_done = j->n_done;
    j->at.verified_ns = clock_now_ns();
    if (j->n_done == j->n_parts) {
        job_end(e, j, JOB_DONE, cuzk_ok());
        return;
    }
    watch_changed(e, j);
    pipeline_release_witness(e, j, k);
}

/* Lock held: the device gave a wrong proof. */
static void part_wrong(engine *e, job *j, uint32_t k, const cuzk_status *why)
{
    device *d = &e->devices[j->share.parts[k].owner];
    e->stats.self_check_failures++;
    d->n_faults++;
    d->needs_test = true;
    j->key->slots[d->idx].is_dropped = true; /* its copy of the key may be what is wrong */
    share_redo(&j->share, k);
    pipeline_retry(e, j, k, "verify", why);
}

static void verify_run(engine *e, host_task *t)
{
    job *j = t->job;
    uint32_t k = (uint32_t)t->partition;
    uint8_t bytes[G16_PROOF_BYTES];
    uint64_t t0 = clock_now_ns();
    span_id s = pipeline_task_span(t, SPAN_VERIFY);
    engine_lock(e);
    g16_proof proof = j->parts[k].proof;
    bool is_stopped = j->is_ending;
    engine_unlock(e);
    cuzk_status st = is_stopped ? cuzk_ok() : verify(j, k, &proof);
    span_end(j->spans, s);
    uint64_t t1 = clock_now_ns();
    cuzk_status put = cuzk_ok();
    if (!is_stopped && st.code == CUZK_OK) {
        g16_proof_encode(bytes, &proof);
        if (j->n_parts > 1) { /* a single one is journaled with the end */
            s = span_begin(j->spans, j->root, SPAN_JOURNAL);
            span_note(j->spans, s, (int32_t)k, G16_PROOF_BYTES);
            put = e->store->ops->put_partition(e->store, j->view.job_id, k, bytes);
            span_end(j->spans, s);
        }
        fault_ghost();
    }
    /* Worth a retry after a restart only; the proof itself is good. An ended job takes none. */
    if (put.code != CUZK_OK && !job_is_stopped(j))
        log_error("journal_partition", LOG_STR("job", j->view.job_id), LOG_STR("error", put.msg));
    if (st.code != CUZK_OK)
        log_error("self_check_failed", LOG_STR("job", j->view.job_id), LOG_U64("partition", k),
                  LOG_STR("error", st.msg));
    engine_lock(e);
    j->at.verify_busy_ns += t1 - t0;
    j->at.journal_ns += clock_now_ns() - t1;
    if (is_stopped || j->is_ending)
        ;
    else if (st.code == CUZK_OK)
        part_done(e, j, k, bytes);
    else if (st.code == CUZK_E_VERIFY || st.code == CUZK_E_INPUT)
        part_wrong(e, j, k, &st);
    else
        pipeline_fail(e, j, (int32_t)k, "verify", st);
    host_task_done(e, t);
    engine_unlock(e);
}

void pipeline_proven(engine *e, job *j, uint32_t k, uint32_t dev, const g16_proof *proof)
{
    job_part *p = &j->parts[k];
    if (!share_finish(&j->share, dev, k) || j->is_ending)
        return;
    p->proof = *proof;
    p->phase = PART_CHECK;
    p->fraction = 1;
    p->proven_ns = clock_now_ns();
    j->at.device_end_ns = p->proven_ns;
    if (share_count(&j->share, SHARE_DONE) == j->n_parts && job_move(j, JOB_VERIFYING))
        watch_changed(e, j);
    if (!host_push_job(e, verify_run, j, (int32_t)k))
        pipeline_fail(e, j, (int32_t)k, "verify", cuzk_fail(CUZK_E_NOMEM, "a task"));
}

void pipeline_retry(engine *e, job *j, uint32_t k, const char *stage, const cuzk_status *why)
{
    job_part *p = &j->parts[k];
    if (j->is_ending)
        return;
    uint32_t most = why->code == CUZK_E_DEVICE_LOST ? ENGINE_LOSSES_MAX : ENGINE_ATTEMPTS_MAX;
    if (++p->n_attempts >= most) {
        pipeline_fail(e, j, (int32_t)k, stage, *why);
        return;
    }
    e->stats.partition_retries++;
    j->view.n_retries++;
    p->phase = PART_READY;
    p->fraction = 0;
    p->ready_ns = clock_now_ns();
    if (j->view.state == JOB_VERIFYING)
        job_move(j, JOB_PROVING);
    watch_changed(e, j);
    devices_kick(e);
}
