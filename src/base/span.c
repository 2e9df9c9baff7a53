/* The span recorder: a fixed array of spans behind one mutex. A span costs two clock reads and two
 * short locked sections. */
#include "base/span.h"
#include "base/mem.h"
#include "base/span_int.h"
#include <pthread.h>
#include <stdatomic.h>

#define SPANS_MAX (1u << 24)

typedef struct span_raw {
    const char *name;
    span_id parent; /* less than the span's own id */
    uint32_t thread;
    int32_t partition;
    uint64_t bytes, start_ns, end_ns; /* end_ns is 0 while open */
    span_id earlier, later;           /* neighbours in order of start; 0 at the ends */
} span_raw;

struct span_rec {
    pthread_mutex_t lock; /* guards spans[0 .. n_spans) and the counters */
    span_raw *spans;
    uint32_t cap, n_spans, n_dropped;
    span_id first, last; /* by start */
};

/* Small stable thread numbers (0, 1, ...) in order of first use; relaxed: a counter only. */
static atomic_uint n_threads_seen;
static _Thread_local uint32_t tl_thread_plus_1;

static uint32_t thread_number(void)
{
    if (!tl_thread_plus_1)
        tl_thread_plus_1 = atomic_fetch_add_explicit(&n_threads_seen, 1, memory_order_relaxed) + 1;
    return tl_thread_plus_1 - 1;
}

cuzk_status span_rec_create(span_rec **out, uint32_t max_spans)
{
    *out = NULL;
    if (max_spans == 0 || max_spans > SPANS_MAX)
        return cuzk_fail(CUZK_E_RANGE, "max_spans is %u, want 1 to %u", max_spans, SPANS_MAX);
    span_rec *r = mem_zalloc(sizeof *r, 64);
    if (!r)
        return cuzk_fail(CUZK_E_NOMEM, "span recorder");
    r->spans = mem_alloc(max_spans * sizeof *r->spans, 64);
    if (!r->spans) {
        mem_free(r);
        return cuzk_fail(CUZK_E_NOMEM, "%u spans", max_spans);
    }
    r->cap = max_spans;
    pthread_mutex_init(&r->lock, NULL);
    *out = r;
    return cuzk_ok();
}

void span_rec_destroy(span_rec *r)
{
    if (!r)
        return;
    pthread_mutex_destroy(&r->lock);
    mem_free(r->spans);
    mem_free(r);
}

/* Lock held. Put span id into the order of starts. Device spans are recorded some milliseconds late,
 * so the walk back is short. */
static void insert(span_rec *r, span_id id)
{
    span_raw *s = &r->spans[id - 1];
    span_id before = r->last;
    while (before && r->spans[before - 1].start_ns > s->start_ns)
        before = r->spans[before - 1].earlier;
    s->earlier = before;
    s->later = before ? r->spans[before - 1].later : r->first;
    *(before ? &r->spans[before - 1].later : &r->first) = id;
    *(s->later ? &r->spans[s->later - 1].earlier : &r->last) = id;
}

/* Lock held. No span starts before its parent, or a root before the first span. */
static span_id append(span_rec *r, span_id parent, const char *name, uint32_t thread,
                      uint64_t start_ns)
{
    if (r->n_spans == r->cap) {
        r->n_dropped++;
        return 0;
    }
    parent = parent <= r->n_spans ? parent : 0;
    uint64_t least_ns = parent       ? r->spans[parent - 1].start_ns
                        : r->n_spans ? r->spans[0].start_ns
                                     : 0;
    r->spans[r->n_spans] = (span_raw){.name = name,
                                      .parent = parent,
                                      .thread = thread,
                                      .partition = -1,
                                      .start_ns = start_ns > least_ns ? start_ns : least_ns};
    insert(r, ++r->n_spans);
    return r->n_spans;
}

span_id span_begin_at(span_rec *r, span_id parent, const char *name, uint64_t start_ns)
{
    if (!r)
        return 0;
    uint32_t thread = thread_number();
    pthread_mutex_lock(&r->lock);
    span_id id = append(r, parent, name, thread, start_ns);
    pthread_mutex_unlock(&r->lock);
    return id;
}

span_id span_begin(span_rec *r, span_id parent, const char *name)
{
    if (!r)
        return 0;
    uint32_t thread = thread_number();
    pthread_mutex_lock(&r->lock);
    span_id id = append(r, parent, name, thread, clock_now_ns());
    pthread_mutex_unlock(&r->lock);
    return id;
}

span_id span_record(span_rec *r, span_id parent, const char *name, uint64_t start_ns,
                    uint64_t end_ns)
{
    span_id id = span_begin_at(r, parent, name, start_ns);
    span_end_at(r, id, end_ns);
    return id;
}

void span_note(span_rec *r, span_id s, int32_t partition, uint64_t bytes)
{
    if (!r || !s)
        return;
    pthread_mutex_lock(&r->lock);
    if (s <= r->n_spans) {
        r->spans[s - 1].partition = partition;
        r->spans[s - 1].bytes = bytes;
    }
    pthread_mutex_unlock(&r->lock);
}

void span_end_at(span_rec *r, span_id s, uint64_t end_ns)
{
    if (!r || !s)
        return;
    pthread_mutex_lock(&r->lock);
    /* A second end is ignored: the first one is what the caller measured. */
    if (s <= r->n_spans && r->spans[s - 1].end_ns == 0) {
        span_raw *raw = &r->spans[s - 1];
        raw->end_ns = end_ns > raw->start_ns ? end_ns : raw->start_ns;
    }
    pthread_mutex_unlock(&r->lock);
}

void span_end(span_rec *r, span_id s)
{
    if (r && s)
        span_end_at(r, s, clock_now_ns());
}

/* Readers take a const recorder; the lock inside it is not part of its value. */
static span_rec *lockable(const span_rec *r) { return (span_rec *)(uintptr_t)r; }

uint32_t span_count(const span_rec *r)
{
    if (!r)
        return 0;
    pthread_mutex_lock(&lockable(r)->lock);
    uint32_t n = r->n_spans;
    pthread_mutex_unlock(&lockable(r)->lock);
    return n;
}

uint32_t span_dropped(const span_rec *r)
{
    if (!r)
        return 0;
    pthread_mutex_lock(&lockable(r)->lock);
    uint32_t n = r->n_dropped;
    pthread_mutex_unlock(&lockable(r)->lock);
    return n;
}

/* An open span ends now, but never before its start (which a test may have put in the future). */
static span_view view_of(const span_raw *s, span_id id, uint64_t now_ns)
{
    return (span_view){.name = s->name,
                       .id = id,
                       .parent = s->parent,
                       .thread = s->thread,
                       .partition = s->partition,
                       .bytes = s->bytes,
                       .start_ns = s->start_ns,
                       .end_ns = s->end_ns              ? s->end_ns
                                 : now_ns > s->start_ns ? now_ns
                                                        : s->start_ns};
}

/* Take the child's part of the parent's time out of what is unaccounted. Children come sorted by
 * start, so the union of those seen so far that matters is one number: where it ends
 * (*covered_to_ns). */
static void account_child(span_view *parent, uint64_t *covered_to_ns, const span_view *child)
{
    uint64_t from = child->start_ns > *covered_to_ns ? child->start_ns : *covered_to_ns;
    uint64_t to = child->end_ns < parent->end_ns ? child->end_ns : parent->end_ns;
    if (parent->n_children++ == 0)
        parent->unaccounted_ns = parent->end_ns - parent->start_ns;
    if (to > from) {
        parent->unaccounted_ns -= to - from;
        *covered_to_ns = to;
    }
}

cuzk_status span_snapshot(const span_rec *r, span_view **views, uint32_t *n_views)
{
    *views = NULL;
    *n_views = 0;
    uint32_t n = span_count(r);
    if (n == 0)
        return cuzk_ok();
    span_view *v = mem_alloc(n * sizeof *v, 64);
    uint64_t *covered_to_ns = mem_alloc(n * sizeof *covered_to_ns, 64);
    if (!v || !covered_to_ns) {
        mem_free(v);
        mem_free(covered_to_ns);
        return cuzk_fail(CUZK_E_NOMEM, "snapshot of %u spans", n);
    }
    pthread_mutex_lock(&lockable(r)->lock);
    uint64_t now = clock_now_ns();
    for (uint32_t i = 0; i < n; i++) {
        v[i] = view_of(&r->spans[i], i + 1, now);
        covered_to_ns[i] = v[i].start_ns;
    }
    for (span_id id = r->first; id; id = r->spans[id - 1].later)
        if (id <= n && v[id - 1].parent)
            account_child(&v[v[id - 1].parent - 1], &covered_to_ns[v[id - 1].parent - 1],
                          &v[id - 1]);
    pthread_mutex_unlock(&lockable(r)->lock);
    mem_free(covered_to_ns);
    *views = v;
    *n_views = n;
    return cuzk_ok();
}

span_view span_get(const span_rec *r, uint32_t idx)
{
    span_view v = {.partition = -1};
    if (!r)
        return v;
    pthread_mutex_lock(&lockable(r)->lock);
    uint64_t now = clock_now_ns();
    if (idx < r->n_spans) {
        v = view_of(&r->spans[idx], idx + 1, now);
        uint64_t covered_to_ns = v.start_ns;
        for (span_id id = r->spans[idx].later; id; id = r->spans[id - 1].later) {
            if (r->spans[id - 1].parent != v.id)
                continue;
            span_view child = view_of(&r->spans[id - 1], id, now);
            account_child(&v, &covered_to_ns, &child);
        }
    }
    pthread_mutex_unlock(&lockable(r)->lock);
    return v;
}
