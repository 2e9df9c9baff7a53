/* Telling others what happens to jobs: one thread for any number of watches. */
#include "engine/engine_int.h"
#include <string.h>

void job_fill_view(engine *e, job *j, job_view *out)
{
    if (!job_state_is_final(j->view.state)) {
        uint64_t now = clock_now_ns();
        job_set_times(j, now);
        j->view.progress = job_progress(j);
        j->view.n_partitions_done = j->n_done;
        j->view.queue_position = j->is_queued ? sched_position(&e->sched, j, now / ENGINE_MS) : 0;
    }
    *out = j->view;
}

static void enqueue(engine *e, engine_watch *w)
{
    if (w->is_queued)
        return;
    w->is_queued = true;
    w->next_queued = NULL;
    *e->notify_last = w;
    e->notify_last = &w->next_queued;
    pthread_cond_signal(&e->notify_wake);
}

static void dequeue(engine *e, engine_watch *w)
{
    for (engine_watch **at = &e->notify_first; *at; at = &(*at)->next_queued)
        if (*at == w) {
            *at = w->next_queued;
            if (e->notify_last == &w->next_queued)
                e->notify_last = at;
            break;
        }
    w->is_queued = false;
}

void watch_changed(engine *e, job *j)
{
    for (engine_watch *w = j->watches; w; w = w->next_of_job)
        if (!w->only_end)
            enqueue(e, w);
}

/* One more of those that wait for the end was told (or went away). Lock held. */
static void told_one(engine *e, job *j)
{
    if (--j->n_to_tell > 0)
        return;
    span_record(j->spans, j->root, SPAN_REPLY, j->at.journaled_ns, clock_now_ns());
    span_end(j->spans, j->root);
    j->n_busy--;
    job_maybe_clean(e, j);
}

void watch_ended(engine *e, job *j)
{
    for (engine_watch *w = j->watches; w; w = w->next_of_job) {
        w->is_counted = true;
        j->n_to_tell++;
        enqueue(e, w);
    }
    if (j->n_to_tell)
        j->n_busy++;
    else
        span_end(j->spans, j->root);
}

static void deliver(engine *e, engine_watch *w)
{
    job_view v;
    if (w->job)
        job_fill_view(e, w->job, &v);
    else
        v = *w->view;
    bool is_final = job_state_is_final(v.state);
    if (w->is_told || (w->only_end && !is_final))
        return;
    w->is_running = true;
    engine_unlock(e);
    w->fn(w->ctx, &v);
    engine_lock(e);
    w->is_running = false;
    w->is_told = is_final;
    if (is_final && w->is_counted && w->job) {
        w->is_counted = false;
        told_one(e, w->job);
    }
    pthread_cond_broadcast(&e->changed);
}

static void *notifier_main(void *arg)
{
    engine *e = arg;
    engine_lock(e);
    for (;;) {
        engine_watch *w = e->notify_first;
        if (w) {
            dequeue(e, w);
            deliver(e, w);
        } else if (e->notifier_stops) {
            break;
        } else {
            pthread_cond_wait(&e->notify_wake, &e->lock);
        }
    }
    engine_unlock(e);
    return NULL;
}

cuzk_status engine_watch_job(engine *e, const char *job_id, bool only_end, engine_watch_fn *fn,
                             void *ctx, engine_watch **out)
{
    *out = NULL;
    store_job stored;
    engine_watch *w = mem_zalloc(sizeof *w, 8);
    if (!w)
        return cuzk_fail(CUZK_E_NOMEM, "a watch");
    *w = (engine_watch){.e = e, .fn = fn, .ctx = ctx, .only_end = only_end};
    engine_lock(e);
    job *j = job_table_find(&e->jobs, job_id);
    if (j) {
        w->job = j;
        j->n_refs++;
        w->next_of_job = j->watches;
        j->watches = w;
        if (!only_end || job_state_is_final(j->view.state))
            enqueue(e, w);
        engine_unlock(e);
        *out = w;
        return cuzk_ok();
    }
    engine_unlock(e);
    cuzk_status st = e->store->ops->get(e->store, job_id, &stored);
    if (st.code == CUZK_OK && !job_state_is_final(stored.view.state))
        st = cuzk_fail(CUZK_E_NOT_FOUND, "job %.100s is not yet accepted", job_id);
    if (st.code == CUZK_OK && !(w->view = mem_alloc(sizeof *w->view, 8)))
        st = cuzk_fail(CUZK_E_NOMEM, "a watch");
    if (st.code != CUZK_OK) {
        mem_free(w);
        return st;
    }
    *w->view = stored.view;
    engine_lock(e);
    enqueue(e, w);
    engine_unlock(e);
    *out = w;
    return cuzk_ok();
}

bool engine_unwatch(engine *e, engine_watch *w)
{
    engine_lock(e);
    while (w->is_running)
        pthread_cond_wait(&e->changed, &e->lock);
    if (w->is_queued)
        dequeue(e, w);
    bool not_told = !w->is_told;
    job *j = w->job;
    if (j) {
        for (engine_watch **at = &j->watches; *at; at = &(*at)->next_of_job)
            if (*at == w) {
                *at = w->next_of_job;
                break;
            }
        if (w->is_counted)
            told_one(e, j);
        job_unref(e, j);
    }
    engine_unlock(e);
    mem_free(w->view);
    mem_free(w);
    return not_told;
}

cuzk_status notifier_start(engine *e)
{
    int err = pthread_create(&e->notifier, NULL, notifier_main, e);
    if (err)
        return cuzk_fail(CUZK_E_NOMEM, "notifier thread: %s", strerror(err));
    e->has_notifier = true;
    return cuzk_ok();
}

void notifier_join(engine *e)
{
    if (!e->has_notifier)
        return;
    engine_lock(e);
    e->notifier_stops = true;
    pthread_cond_broadcast(&e->notify_wake);
    engine_unlock(e);
    pthread_join(e->notifier, NULL);
    e->has_notifier = false;
}
