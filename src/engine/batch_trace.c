/* Whose the spans of a batch are. A job that has it alone gets them as they come. Jobs that share one
 * get at its end what was done for them and for all; what was done for others is a bare span, so that
 * no time is missing. */
#include "engine/engine_int.h"

#define SPANS_PER_BATCH 2048u
#define SPANS_PER_PROOF 1024u
#define JOIN_NS (1u * ENGINE_MS) /* gaps between others' spans that are not worth two spans */

static bool is_first_of_job(const device_batch *b, uint32_t i)
{
    return i == 0 || b->item[i - 1].job != b->item[i].job;
}

void batch_trace_begin(device_batch *b)
{
    b->is_shared = b->item[b->n - 1].job != b->item[0].job;
    for (uint32_t i = 0; i < b->n; i++) {
        job *j = b->item[i].job;
        /* Partitions of several jobs may have one number: their place in the batch tells them apart. */
        b->partition[i] = (int32_t)(b->is_shared ? i : b->item[i].partition);
        if (is_first_of_job(b, i))
            b->item[i].span = span_begin(j->spans, j->root, SPAN_DEVICE);
    }
    b->spans = b->item[0].job->spans;
    b->span = b->item[0].span;
    if (!b->is_shared)
        return;
    /* Failure only loses the trace. */
    if (span_rec_create(&b->spans, SPANS_PER_BATCH + SPANS_PER_PROOF * b->n).code != CUZK_OK)
        b->spans = NULL;
    b->span = span_begin(b->spans, 0, SPAN_DEVICE);
}

/* One job's part of a shared batch being copied. */
typedef struct part_copy {
    const device_batch *b;
    const job *j;
    span_id *id; /* copies by number of the batch's span, from 1; 0: not copied */
    /* what others got, not yet recorded; parent 0: nothing */
    span_id others_parent;
    uint64_t others_start_ns, others_end_ns;
} part_copy;

static void record_others(part_copy *c)
{
    if (c->others_parent)
        span_record(c->j->spans, c->others_parent, SPAN_COMPANION, c->others_start_ns,
                    c->others_end_ns);
    c->others_parent = 0;
}

static void add_others(part_copy *c, span_id parent, const span_view *v)
{
    bool joins = c->others_parent == parent && v->start_ns >= c->others_start_ns &&
                 v->start_ns <= c->others_end_ns + JOIN_NS;
    if (!joins) {
        record_others(c);
        c->others_parent = parent;
        c->others_start_ns = v->start_ns;
        c->others_end_ns = v->end_ns;
    } else if (v->end_ns > c->others_end_ns) {
        c->others_end_ns = v->end_ns;
    }
}

static void copy_span(part_copy *c, const span_view *v)
{
    const device_batch *b = c->b;
    span_id parent = c->id[v->parent];
    bool has_label = v->partition >= 0 && (uint32_t)v->partition < b->n;
    const batch_item *of = has_label ? &b->item[v->partition] : NULL;
    c->id[v->id] = 0;
    if (!parent)
        return;
    if (of && of->job != c->j) {
        add_others(c, parent, v);
        return;
    }
    span_id s = span_record(c->j->spans, parent, v->name, v->start_ns, v->end_ns);
    span_note(c->j->spans, s, of ? (int32_t)of->partition : -1, v->bytes);
    c->id[v->id] = s;
}

static void copy_part(const device_batch *b, const batch_item *first, const span_view *views,
                      uint32_t n, span_id *id)
{
    part_copy c = {.b = b, .j = first->job, .id = id};
    id[0] = 0;
    id[b->span] = first->span;
    for (uint32_t i = 0; i < n; i++)
        if (views[i].id != b->span)
            copy_span(&c, &views[i]);
    record_others(&c);
}

static void share_out(const device_batch *b)
{
    span_view *views = NULL;
    uint32_t n = 0;
    if (!b->span || span_snapshot(b->spans, &views, &n).code != CUZK_OK)
        return;
    span_id *id = mem_alloc((n + 1) * sizeof *id, 8);
    for (uint32_t i = 0; id && i < b->n; i++)
        if (is_first_of_job(b, i))
            copy_part(b, &b->item[i], views, n, id);
    mem_free(id);
    mem_free(views);
}

void batch_trace_end(device_batch *b)
{
    if (b->is_shared) {
        share_out(b);
        span_rec_destroy(b->spans);
        b->spans = NULL;
    }
    for (uint32_t i = 0; i < b->n; i++)
        if (is_first_of_job(b, i))
            span_end(b->item[i].job->spans, b->item[i].span);
}
