/* The span tree of a job: where its time went, from the request to the reply. */
#include "engine/engine_int.h"

#define SPANS_PER_JOB 2048u
#define SPANS_PER_PARTITION 1024u

void job_trace_begin(engine *e, job *j)
{
    const job_clock *c = &j->at;
    span_rec *r;
    cuzk_status st = span_rec_create(&r, SPANS_PER_JOB + SPANS_PER_PARTITION * j->n_parts);
    if (st.code != CUZK_OK) {
        log_warn("timeline", LOG_STR("job", j->view.job_id), LOG_STR("error", st.msg));
        return;
    }
    /* The spans of a recovered job begin with this run of the daemon. */
    uint64_t first = j->is_recovered ? c->queued_ns : c->received_ns;
    span_id root = span_begin_at(r, 0, SPAN_JOB, first);
    if (!j->is_recovered) {
        if (c->received_ns < c->submit_ns) { /* it came through a transport */
            span_record(r, root, SPAN_GATE, c->received_ns, c->admitted_ns);
            span_record(r, root, SPAN_RECEIVE, c->admitted_ns, c->body_ns);
            span_record(r, root, SPAN_READ, c->body_ns, c->submit_ns);
        }
        span_record(r, root, SPAN_REQUEST, c->submit_ns, c->decode_ns);
        span_record(r, root, SPAN_DECODE, c->decode_ns, c->check_ns);
        span_record(r, root, SPAN_CHECK, c->check_ns, c->journal_start_ns);
        span_record(r, root, SPAN_JOURNAL, c->journal_start_ns, c->queued_ns);
    }
    span_record(r, root, SPAN_QUEUE, c->queued_ns, c->start_ns);
    if (c->blocked_ns)
        span_record(r, root, SPAN_BUDGET, c->blocked_ns, c->start_ns);
    engine_lock(e);
    j->spans = r;
    j->root = root;
    engine_unlock(e);
}

void job_trace_line(engine *e, timeline_event event, const job *j, uint32_t k, uint32_t dev,
                    uint64_t took_ns)
{
    if (!atomic_load_explicit(&e->timeline_lines, memory_order_relaxed))
        return;
    timeline_print_line(
        &(timeline_line){.event = event,
                         .since_start_ms = (clock_now_ns() - e->start_ns) / ENGINE_MS,
                         .job_id = j->view.job_id,
                         .partition = j->n_parts > 1 ? (int32_t)k : -1,
                         .kind = j->view.kind,
                         .worker = dev,
                         .took_ms = took_ns / ENGINE_MS});
}

static const char *device_of(void *ctx, const span_view *v)
{
    const engine *e = ctx;
    for (uint32_t d = 0; d < e->n_devices; d++)
        if (e->devices[d].thread_no == v->thread + 1)
            return e->devices[d].cfg.name;
    return "";
}

static void warn_gaps(const job *j, const timeline *t)
{
    for (uint32_t i = 0; i < t->n_spans; i++) {
        const timeline_span *s = &t->spans[i];
        if (timeline_is_gap(s))
            log_warn("unaccounted_time", LOG_STR("job", j->view.job_id), LOG_STR("span", s->name),
                     LOG_F64("ms", (double)s->unaccounted_ns / 1e6),
                     LOG_F64("of_ms", (double)(s->end_ns - s->start_ns) / 1e6));
    }
    if (t->n_dropped)
        log_warn("spans_dropped", LOG_STR("job", j->view.job_id), LOG_U64("n", t->n_dropped));
}

void job_trace_end(engine *e, job *j)
{
    timeline t;
    char *json = NULL;
    engine_lock(e);
    uint32_t n_keep = e->cfg.timeline_jobs;
    engine_unlock(e);
    if (!j->spans)
        return;
    span_end(j->spans, j->root); /* has ended already, unless nobody was told */
    cuzk_status st = timeline_from_spans(&t, j->view.job_id, j->spans, device_of, e);
    if (st.code == CUZK_OK) {
        warn_gaps(j, &t);
        double gap = (double)timeline_gap_ns(&t) / 1e9;
        engine_lock(e);
        e->stats.unaccounted_seconds += gap;
        engine_unlock(e);
        if (n_keep)
            st = timeline_format(&json, &t);
        timeline_fini(&t);
    }
    if (st.code == CUZK_OK && json)
        st = e->store->ops->put_timeline(e->store, j->view.job_id, json, n_keep);
    if (st.code != CUZK_OK)
        log_warn("timeline", LOG_STR("job", j->view.job_id), LOG_STR("error", st.msg));
    mem_free(json);
}

cuzk_status engine_get_timeline(engine *e, const char *job_id, char **json)
{
    timeline t;
    *json = NULL;
    engine_lock(e);
    job *j = job_table_find(&e->jobs, job_id);
    if (j && j->spans)
        j->n_refs++; /* keeps the recorder; the journal has the tree before the table lets go */
    else
        j = NULL;
    engine_unlock(e);
    if (!j)
        return e->store->ops->get_timeline(e->store, job_id, json);
    cuzk_status st = timeline_from_spans(&t, job_id, j->spans, device_of, e);
    if (st.code == CUZK_OK) {
        st = timeline_format(json, &t);
        timeline_fini(&t);
    }
    engine_lock(e);
    job_unref(e, j);
    engine_unlock(e);
    return st;
}
