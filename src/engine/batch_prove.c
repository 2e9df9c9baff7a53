/* One batch on one device. */
#include "engine/engine_int.h"
#include <stdio.h>

static void trace_line(const device_batch *b, timeline_event event, size_t i, uint64_t took_ns)
{
    job_trace_line(b->dev->e, event, b->item[i].job, b->item[i].partition, b->dev->idx, took_ns);
}

/* How long a device that does nothing else waits for witnesses before it leaves them to a later
 * batch: many times what the ten of a PoRep take. There may be other work. */
#define LATE_NS (2000u * (uint64_t)ENGINE_MS)

static bool on_claim(void *ctx, size_t i)
{
    device_batch *b = ctx;
    engine *e = b->dev->e;
    job *j = b->item[i].job;
    device_alive(b->dev);
    b->has_claimed = true;
    b->late_until_ns = clock_now_ns() + LATE_NS;
    engine_lock(e);
    bool go = !j->is_ending && !e->is_draining &&
              share_claim(&j->share, b->dev->idx, b->item[i].partition);
    if (go)
        j->parts[b->item[i].partition].device_start_ns = clock_now_ns();
    engine_unlock(e);
    return go;
}

/* Lock held. */
static g16_ready witness_of(device_batch *b, const batch_item *x)
{
    job *j = x->job;
    const job_part *p = &j->parts[x->partition];
    if (j->is_ending || b->dev->e->is_draining || !share_has(&j->share, b->dev->idx, x->partition))
        return G16_NEVER;
    if (p->has_witness)
        return G16_READY;
    if (p->phase == PART_WITNESS && clock_now_ns() < b->late_until_ns)
        return G16_LATER;
    share_give_back(&j->share, b->dev->idx, x->partition, false);
    return G16_NEVER;
}

static g16_ready on_ready(void *ctx, size_t i)
{
    device_batch *b = ctx;
    engine *e = b->dev->e;
    batch_item *x = &b->item[i];
    device_alive(b->dev);
    engine_lock(e);
    g16_ready there = witness_of(b, x);
    bool has_come = there == G16_READY && x->is_late;
    x->is_late &= !has_come;
    engine_unlock(e);
    if (has_come) {
        trace_line(b, TIMELINE_GPU_PICKUP, i, 0);
        trace_line(b, TIMELINE_GPU_START, i, 0);
    }
    return there;
}

static void on_done(void *ctx, size_t i)
{
    device_batch *b = ctx;
    engine *e = b->dev->e;
    g16_proof p = b->out[i];
    device_alive(b->dev);
    fault_hit_proof(&p);
    engine_lock(e);
    b->item[i].is_finished = true;
    b->n_finished++;
    b->dev->n_partitions++;
    if (!atomic_load_explicit(&b->is_abandoned, memory_order_relaxed))
        pipeline_proven(e, b->item[i].job, b->item[i].partition, b->dev->idx, &p);
    engine_unlock(e);
}

static bool on_cancelled(void *ctx)
{
    device_batch *b = ctx;
    device_alive(b->dev);
    if (atomic_load_explicit(&b->dev->e->stop_work, memory_order_relaxed) ||
        atomic_load_explicit(&b->is_abandoned, memory_order_relaxed))
        return true;
    for (uint32_t i = 0; i < b->n; i++)
        if (!atomic_load_explicit(&b->item[i].job->stop, memory_order_relaxed))
            return false;
    return true;
}

/* Between slices: give up handles, prove what is more urgent. */
static void on_yield(void *ctx)
{
    device_batch *b = ctx;
    device *d = b->dev;
    engine *e = d->e;
    device_alive(b->dev);
    if (!atomic_load_explicit(&d->attention, memory_order_acquire))
        return;
    span_id s = 0;
    engine_lock(e);
    atomic_store_explicit(&d->attention, false, memory_order_relaxed);
    device_drop_handles(d);
    device_batch *urgent;
    while ((urgent = batch_pick(d, b)) != NULL) {
        if (!s)
            s = span_begin(b->spans, b->span, SPAN_YIELD);
        batch_prove(urgent);
    }
    engine_unlock(e);
    span_end(b->spans, s);
    device_alive(b->dev);
}

#define PROGRESS_EVERY_NS (100u * ENGINE_MS)

static void on_progress(void *ctx, const char *stage, double fraction)
{
    (void)stage;
    device_batch *b = ctx;
    engine *e = b->dev->e;
    uint64_t now = clock_now_ns();
    device_alive(b->dev);
    b->late_until_ns = now + LATE_NS;
    if (now - b->progress_ns < PROGRESS_EVERY_NS ||
        atomic_load_explicit(&b->is_abandoned, memory_order_relaxed))
        return;
    b->progress_ns = now;
    engine_lock(e);
    for (uint32_t i = 0; i < b->n; i++) {
        job_part *p = &b->item[i].job->parts[b->item[i].partition];
        if (!b->item[i].is_finished && p->fraction < fraction)
            p->fraction = fraction;
        if (i + 1 == b->n || b->item[i + 1].job != b->item[i].job)
            watch_changed(e, b->item[i].job);
    }
    engine_unlock(e);
}

static cuzk_status make_blinding(device_batch *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        CUZK_TRY(g16_blinding_random(&b->rs[i]));
    return cuzk_ok();
}

static uint64_t first_ready(const device_batch *b, const job *j, uint64_t now)
{
    uint64_t first = now;
    for (uint32_t i = 0; i < b->n; i++) {
        if (b->item[i].job != j || b->item[i].is_late)
            continue;
        uint64_t r = j->parts[b->item[i].partition].ready_ns;
        first = r < first ? r : first;
    }
    return first;
}

static void trace_lines(device_batch *b, timeline_event event, uint64_t took_ns)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (event == TIMELINE_GPU_END ? b->item[i].is_finished : !b->item[i].is_late)
            trace_line(b, event, i, took_ns);
}

/* Lock held. The moments the jobs' phases are measured by. */
static void mark_start(device_batch *b)
{
    uint64_t now = clock_now_ns();
    b->start_ns = now;
    for (uint32_t i = 0; i < b->n; i++) {
        job *j = b->item[i].job;
        if (!j->at.device_ns)
            j->at.device_ns = now;
        snprintf(j->view.device, sizeof j->view.device, "%s", b->dev->cfg.name);
        if (i == 0 || b->item[i - 1].job != j)
            span_record(j->spans, j->root, SPAN_DEVICE_WAIT, first_ready(b, j, now), now);
    }
    batch_trace_begin(b);
    if (b->span && !b->dev->thread_no)
        b->dev->thread_no = span_get(b->spans, b->span - 1).thread + 1;
    if (!b->outer)
        b->dev->busy_since_ns = now;
    b->dev->running = b;
}

/* Lock held. Speeds follow what was measured; without the key's load, and without what a device makes
 * again after a fault. */
static void measure(const device_batch *b, uint64_t now)
{
    const engine *e = b->dev->e;
    key_slot *own = &b->key->slots[b->dev->idx];
    if (!b->n_finished || !b->prove_ns || now <= b->prove_ns)
        return;
    double v = b->n_finished / ((double)(now - b->prove_ns) / 1e9);
    if (!own->is_cold)
        own->speed = own->speed > 0 ? 0.7 * own->speed + 0.3 * v : v;
    own->is_cold = false;
    own->n_left_out = 0;
    for (uint32_t i = 0; i < e->n_devices; i++) {
        const device *o = &e->devices[i];
        if (o != b->dev && o->is_healthy && !o->needs_test && !o->running && !o->inside &&
            b->key->slots[i].handle)
            b->key->slots[i].n_left_out++;
    }
}

/* Lock held. */
static void mark_end(device_batch *b)
{
    device *d = b->dev;
    uint64_t now = clock_now_ns();
    if (!b->outer) {
        d->busy_ns += now - d->busy_since_ns;
        d->busy_since_ns = 0;
    }
    d->running = b->outer;
    measure(b, now);
}

/* A device that lends itself may have no place for a second key, no work space for a second proof,
 * or no process any more, which only the outer proof can find out about: all of that says nothing of
 * the urgent work, whose turn comes when the outer batch ends. */
bool batch_is_not_now(const device_batch *b, const cuzk_status *st)
{
    return b->outer && (st->code == CUZK_E_NOMEM || st->code == CUZK_E_USAGE ||
                        (st->code == CUZK_E_DEVICE_LOST && !b->has_claimed));
}

/* Lock held: those who waited for the end of b may try again. */
static void wake_waiting(const device_batch *b)
{
    for (key_entry *k = b->dev->e->keys.first; k; k = k->next)
        if (k->slots[b->dev->idx].waits_for == b)
            k->slots[b->dev->idx].waits_for = NULL;
}

/* Lock held. Partitions not finished are free again; with `why` they count as failed. */
static void give_back(device_batch *b, const cuzk_status *why)
{
    engine *e = b->dev->e;
    for (uint32_t i = 0; i < b->n; i++) {
        job *j = b->item[i].job;
        uint32_t k = b->item[i].partition;
        const share_part *p = &j->share.parts[k];
        bool mine =
            (p->state == SHARE_TAKEN || p->state == SHARE_CLAIMED) && p->owner == b->dev->idx;
        if (!mine)
            continue;
        /* One whose witness is not there cannot be at fault, nor be tried again yet. */
        bool is_tried = why && j->parts[k].has_witness;
        share_give_back(&j->share, b->dev->idx, k, is_tried);
        if (is_tried) {
            j->is_alone = b->n > 1;
            pipeline_retry(e, j, k, "device", why);
        }
    }
}

void batch_abandon(device_batch *b, const cuzk_status *why)
{
    atomic_store_explicit(&b->is_abandoned, true, memory_order_relaxed);
    give_back(b, why);
}

/* As its lead, which comes first in it. */
static bool is_urgent(const device_batch *b) { return b->item[0].job->view.priority >= JOB_HIGH; }

static cuzk_status prove(device_batch *b, void *handle)
{
    device *d = b->dev;
    run_ctx rc = {.pool = d->e->pool,
                  .spans = b->spans,
                  .parent = b->span,
                  .progress = on_progress,
                  .progress_ctx = b,
                  .cancelled = on_cancelled,
                  .cancel_ctx = b,
                  .yield = on_yield,
                  .yield_ctx = b,
                  .is_urgent = is_urgent(b)};
    const g16_batch batch = {.n = b->n,
                             .w = b->w,
                             .rs = b->rs,
                             .out = b->out,
                             .partition = b->partition,
                             .claim = on_claim,
                             .done = on_done,
                             .ready = b->has_late ? on_ready : NULL,
                             .ctx = b};
    b->late_until_ns = clock_now_ns() + LATE_NS;
    CUZK_TRY(make_blinding(b));
    return d->cfg.backend->ops->prove(d->cfg.backend, handle, &batch, NULL, &rc);
}

void batch_prove(device_batch *b)
{
    device *d = b->dev;
    engine *e = d->e;
    key_slot *slot = &b->key->slots[d->idx];
    key_entry *k = b->key;
    mark_start(b);
    engine_unlock(e);
    trace_lines(b, TIMELINE_GPU_PICKUP, 0);
    engine_lock(e);
    run_ctx load_rc = {.pool = e->pool,
                       .spans = b->spans,
                       .parent = b->span,
                       .cancelled = on_cancelled,
                       .cancel_ctx = b,
                       .is_urgent = is_urgent(b)};
    cuzk_status st = device_ensure_handle(d, k, true, &load_rc);
    if (st.code == CUZK_OK) {
        slot->in_use = true;
        void *handle = slot->handle;
        b->prove_ns = clock_now_ns();
        const char *outer = device_enter(d, "proof");
        engine_unlock(e);
        trace_lines(b, TIMELINE_GPU_START, 0);
        st = prove(b, handle);
        trace_lines(b, TIMELINE_GPU_END, clock_now_ns() - b->start_ns);
        engine_lock(e);
        device_leave(d, outer);
        slot->in_use = false;
    }
    engine_unlock(e);
    batch_trace_end(b);
    engine_lock(e);
    mark_end(b);
    wake_waiting(b);
    bool not_now = batch_is_not_now(b, &st);
    if (not_now)
        slot->waits_for = b->outer;
    bool is_failure = st.code != CUZK_OK && st.code != CUZK_E_CANCELLED && !not_now;
    cuzk_status why = cuzk_wrap(st, "device %s", d->cfg.name);
    if (is_failure)
        device_blame(d, &st);
    give_back(b, is_failure ? &why : NULL);
    batch_release(b);
    devices_kick(e); /* what was given back, or handles waiting to be dropped */
    dispatch_kick(e);
    if (is_failure) {
        engine_unlock(e);
        log_error("device_batch", LOG_STR("device", d->cfg.name), LOG_STR("error", why.msg));
        engine_lock(e);
    }
}
