/* A timeline as a trace. Source: "Trace Event Format" (Chromium): complete events (ph "X", times in
 * microseconds) of one thread id must nest, metadata events (ph "M") name the rows. */
#include "base/json_write.h"
#include "base/mem.h"
#include "engine/timeline_int.h"
#include <string.h>

#define NONE UINT32_MAX

/* One row of the trace. A host thread or a device has as many as its spans need to nest. */
typedef struct row {
    const timeline_span *owner; /* any span of it: says which thread or device */
    uint32_t open;              /* index of the innermost span that has not ended, or NONE */
    uint32_t copy;              /* 0 for the first of its owner */
} row;

typedef struct layout {
    row *rows;        /* at most one per span */
    uint32_t *row_of; /* span index -> row */
    uint32_t *below;  /* span index -> the one it nests in, or NONE */
    uint32_t n_rows;
} layout;

static void layout_fini(layout *l)
{
    mem_free(l->rows);
    mem_free(l->row_of);
    mem_free(l->below);
}

static bool same_owner(const timeline_span *a, const timeline_span *b)
{
    if (a->device[0] || b->device[0])
        return strcmp(a->device, b->device) == 0;
    return a->thread == b->thread;
}

/* The span fits when it lies inside the innermost span still open at its start. */
static bool fits(layout *l, const timeline *t, row *r, const timeline_span *s)
{
    while (r->open != NONE && t->spans[r->open].end_ns <= s->start_ns)
        r->open = l->below[r->open];
    return r->open == NONE || t->spans[r->open].end_ns >= s->end_ns;
}

static void place(layout *l, const timeline *t, uint32_t idx)
{
    const timeline_span *s = &t->spans[idx];
    uint32_t copy = 0, k = 0;
    for (; k < l->n_rows; k++) {
        if (!same_owner(l->rows[k].owner, s))
            continue;
        if (fits(l, t, &l->rows[k], s))
            break;
        copy++;
    }
    if (k == l->n_rows)
        l->rows[l->n_rows++] = (row){s, NONE, copy};
    l->row_of[idx] = k;
    l->below[idx] = l->rows[k].open;
    l->rows[k].open = idx;
}

static cuzk_status lay_out(layout *l, const timeline *t)
{
    uint32_t *order, n = t->n_spans;
    *l = (layout){0};
    CUZK_TRY(timeline_sort(&order, t));
    l->rows = mem_alloc((n + 1) * sizeof *l->rows, 16);
    l->row_of = mem_alloc((n + 1) * sizeof *l->row_of, 16);
    l->below = mem_alloc((n + 1) * sizeof *l->below, 16);
    if (!l->rows || !l->row_of || !l->below) {
        layout_fini(l);
        mem_free(order);
        return cuzk_fail(CUZK_E_NOMEM, "trace of %u spans", n);
    }
    for (uint32_t i = 0; i < n; i++)
        place(l, t, order[i]);
    mem_free(order);
    return cuzk_ok();
}

static void write_name(json_writer *w, const char *what, uint32_t row_idx, const char *name)
{
    json_begin_object(w);
    json_kv_str(w, "name", what);
    json_kv_str(w, "ph", "M");
    json_kv_u64(w, "pid", 1);
    json_kv_u64(w, "tid", row_idx);
    json_key(w, "args");
    json_begin_object(w);
    json_kv_str(w, "name", name);
    json_end_object(w);
    json_end_object(w);
}

static void write_rows(json_writer *w, const layout *l)
{
    for (uint32_t k = 0; k < l->n_rows; k++) {
        const timeline_span *s = l->rows[k].owner;
        char name[128], more[24] = "";
        if (l->rows[k].copy)
            snprintf(more, sizeof more, " (%u)", l->rows[k].copy + 1);
        if (s->device[0])
            snprintf(name, sizeof name, "%.90s%s", s->device, more);
        else
            snprintf(name, sizeof name, "thread %u%s", s->thread, more);
        write_name(w, "thread_name", k, name);
    }
}

static void write_event(json_writer *w, const timeline_span *s, uint32_t row_idx)
{
    json_begin_object(w);
    json_kv_str(w, "name", s->name);
    json_kv_str(w, "ph", "X");
    json_kv_u64(w, "pid", 1);
    json_kv_u64(w, "tid", row_idx);
    json_kv_f64(w, "ts", (double)s->start_ns / 1e3);
    json_kv_f64(w, "dur", (double)(s->end_ns - s->start_ns) / 1e3);
    json_key(w, "args");
    json_begin_object(w);
    json_kv_u64(w, "id", s->id);
    json_kv_u64(w, "parent", s->parent);
    if (s->partition >= 0)
        json_kv_u64(w, "partition", (uint64_t)s->partition);
    if (s->bytes)
        json_kv_u64(w, "bytes", s->bytes);
    if (s->n_children)
        json_kv_f64(w, "unaccounted_ms", (double)s->unaccounted_ns / 1e6);
    json_end_object(w);
    json_end_object(w);
}

cuzk_status timeline_write_chrome(const timeline *t, FILE *f)
{
    layout l;
    CUZK_TRY(lay_out(&l, t));
    char process[JOB_ID_MAX + 8];
    snprintf(process, sizeof process, "job %s", t->job_id);
    json_writer w;
    json_write_init(&w, f, false);
    json_begin_object(&w);
    json_kv_str(&w, "displayTimeUnit", "ms");
    json_key(&w, "traceEvents");
    json_begin_array(&w);
    write_name(&w, "process_name", 0, process);
    write_rows(&w, &l);
    for (uint32_t i = 0; i < t->n_spans; i++)
        write_event(&w, &t->spans[i], l.row_of[i]);
    json_end_array(&w);
    json_key(&w, "otherData");
    json_begin_object(&w);
    json_kv_str(&w, "job_id", t->job_id);
    json_kv_u64(&w, "dropped_spans", t->n_dropped);
    json_end_object(&w);
    json_end_object(&w);
    cuzk_status st = json_write_finish(&w);
    json_write_fini(&w);
    layout_fini(&l);
    return st.code == CUZK_OK ? timeline_finish_file(f, "trace") : st;
}
