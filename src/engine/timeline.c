/* Reading a recorder, and the arithmetic of unaccounted time. */
#define _GNU_SOURCE /* qsort_r */
#include "base/mem.h"
#include "engine/timeline_int.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GAP_MIN_NS 10000000u
#define GAP_SHARE 100u

void timeline_fini(timeline *t)
{
    mem_free(t->spans);
    arena_fini(&t->strings);
    *t = (timeline){0};
}

bool timeline_is_gap(const timeline_span *s)
{
    uint64_t own = s->end_ns - s->start_ns;
    return s->unaccounted_ns > GAP_MIN_NS && s->unaccounted_ns > own / GAP_SHARE;
}

uint64_t timeline_gap_ns(const timeline *t)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t->n_spans; i++)
        sum += timeline_is_gap(&t->spans[i]) ? t->spans[i].unaccounted_ns : 0;
    return sum;
}

static int by_start(const void *a, const void *b, void *ctx)
{
    const timeline_span *spans = ctx;
    const timeline_span *x = &spans[*(const uint32_t *)a], *y = &spans[*(const uint32_t *)b];
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

cuzk_status timeline_sort(uint32_t **order, const timeline *t)
{
    *order = mem_alloc((t->n_spans + 1) * sizeof **order, 16);
    if (!*order)
        return cuzk_fail(CUZK_E_NOMEM, "timeline of %u spans", t->n_spans);
    for (uint32_t i = 0; i < t->n_spans; i++)
        (*order)[i] = i;
    qsort_r(*order, t->n_spans, sizeof **order, by_start, t->spans);
    return cuzk_ok();
}

cuzk_status timeline_account(timeline *t)
{
    uint32_t *order;
    CUZK_TRY(timeline_sort(&order, t));
    uint64_t *covered_to_ns = mem_alloc((t->n_spans + 1) * sizeof *covered_to_ns, 16);
    if (!covered_to_ns) {
        mem_free(order);
        return cuzk_fail(CUZK_E_NOMEM, "timeline of %u spans", t->n_spans);
    }
    for (uint32_t i = 0; i < t->n_spans; i++) {
        covered_to_ns[i] = t->spans[i].start_ns;
        t->spans[i].n_children = 0;
        t->spans[i].unaccounted_ns = 0;
    }
    /* Children come by start, so the union of those seen is one number: where it ends. */
    for (uint32_t i = 0; i < t->n_spans; i++) {
        const timeline_span *child = &t->spans[order[i]];
        if (!child->parent)
            continue;
        timeline_span *parent = &t->spans[child->parent - 1];
        uint64_t *covered = &covered_to_ns[child->parent - 1];
        if (parent->n_children++ == 0)
            parent->unaccounted_ns = parent->end_ns - parent->start_ns;
        uint64_t from = child->start_ns > *covered ? child->start_ns : *covered;
        uint64_t to = child->end_ns < parent->end_ns ? child->end_ns : parent->end_ns;
        if (to > from) {
            parent->unaccounted_ns -= to - from;
            *covered = to;
        }
    }
    mem_free(covered_to_ns);
    mem_free(order);
    return cuzk_ok();
}

/* Device names repeat: the previous one is looked at before another copy is made. */
static const char *keep_text(timeline *t, const char *text, const char *previous)
{
    if (!text || !text[0])
        return "";
    if (previous && strcmp(previous, text) == 0)
        return previous;
    size_t n = strlen(text) + 1;
    char *copy = arena_alloc(&t->strings, n, 8);
    if (copy)
        memcpy(copy, text, n);
    return copy;
}

static cuzk_status copy_spans(timeline *t, const span_view *views, timeline_device_fn *device,
                              void *ctx)
{
    const char *previous = NULL;
    for (uint32_t i = 0; i < t->n_spans; i++) {
        const span_view *v = &views[i];
        const char *name = keep_text(t, device ? device(ctx, v) : NULL, previous);
        if (!name)
            return cuzk_fail(CUZK_E_NOMEM, "timeline of %u spans", t->n_spans);
        previous = name[0] ? name : previous;
        t->spans[i] = (timeline_span){.id = v->id,
                                      .parent = v->parent,
                                      .name = v->name,
                                      .device = name,
                                      .partition = v->partition,
                                      .thread = v->thread,
                                      .bytes = v->bytes,
                                      .start_ns = v->start_ns - views[0].start_ns,
                                      .end_ns = v->end_ns - views[0].start_ns};
    }
    return timeline_account(t);
}

cuzk_status timeline_from_spans(timeline *out, const char *job_id, const span_rec *r,
                                timeline_device_fn *device, void *ctx)
{
    span_view *views;
    *out = (timeline){.n_dropped = span_dropped(r)};
    snprintf(out->job_id, sizeof out->job_id, "%s", job_id);
    cuzk_status st = span_snapshot(r, &views, &out->n_spans);
    if (st.code == CUZK_OK) {
        out->spans = mem_alloc((out->n_spans + 1) * sizeof *out->spans, 16);
        st = out->spans ? copy_spans(out, views, device, ctx)
                        : cuzk_fail(CUZK_E_NOMEM, "timeline of %u spans", out->n_spans);
        mem_free(views);
    }
    if (st.code != CUZK_OK)
        timeline_fini(out);
    return st;
}

cuzk_status timeline_finish_file(FILE *f, const char *what)
{
    if (fflush(f) != 0 || ferror(f))
        return cuzk_fail(CUZK_E_IO, "writing %s: %s", what, strerror(errno));
    return cuzk_ok();
}
