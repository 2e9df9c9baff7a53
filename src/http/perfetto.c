#include "http/perfetto.h"
#include "base/json_read.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

#define LANES_MAX 32u /* per track; what does not fit overlaps in the last */
#define NEST_MAX 32u

typedef struct text {
    const char *s;
    size_t n;
} text;

typedef struct span {
    text name, device;
    int64_t partition; /* -1: none */
    double start_ms, end_ms, unaccounted_ms;
    uint64_t id, parent, bytes;
    uint32_t track, lane;
} span;

/* Ends of the spans that are open in a lane, outermost first. */
typedef struct lane {
    double ends[NEST_MAX];
    uint32_t depth;
} lane;

typedef struct trace {
    span *spans;
    uint32_t n;
    text job_id;
} trace;

/* Members may be absent or null; then the default stays. */
static cuzk_status get_f64(double *out, json_val v, const char *name)
{
    json_val m;
    if (!json_member(&m, v, name) || json_val_kind(m) == JSON_NULL)
        return cuzk_ok();
    return json_get_double(out, m);
}

static cuzk_status get_u64(uint64_t *out, json_val v, const char *name)
{
    json_val m;
    if (!json_member(&m, v, name) || json_val_kind(m) == JSON_NULL)
        return cuzk_ok();
    return json_get_u64(out, m, UINT64_MAX);
}

static cuzk_status get_text(text *out, json_val v, const char *name)
{
    json_val m;
    if (!json_member(&m, v, name) || json_val_kind(m) == JSON_NULL)
        return cuzk_ok();
    return json_get_string(&out->s, &out->n, m);
}

static cuzk_status read_span(span *s, json_val v)
{
    double partition = -1;
    *s = (span){.name = {"", 0}, .device = {"", 0}};
    if (json_val_kind(v) != JSON_OBJECT)
        return json_bad(v, "an object", NULL);
    CUZK_TRY(get_u64(&s->id, v, "id"));
    CUZK_TRY(get_u64(&s->parent, v, "parent"));
    CUZK_TRY(get_text(&s->name, v, "name"));
    CUZK_TRY(get_text(&s->device, v, "device"));
    CUZK_TRY(get_f64(&partition, v, "partition"));
    CUZK_TRY(get_f64(&s->start_ms, v, "start_ms"));
    CUZK_TRY(get_f64(&s->end_ms, v, "end_ms"));
    CUZK_TRY(get_f64(&s->unaccounted_ms, v, "unaccounted_ms"));
    CUZK_TRY(get_u64(&s->bytes, v, "bytes"));
    s->partition = partition >= 0 && partition < 1e6 ? (int64_t)partition : -1;
    if (s->end_ms < s->start_ms)
        s->end_ms = s->start_ms;
    return cuzk_ok();
}

static cuzk_status read_trace(trace *t, json_val root)
{
    json_val spans, v;
    json_iter it;
    t->job_id = (text){"", 0};
    CUZK_TRY(get_text(&t->job_id, root, "job_id"));
    if (!json_member(&spans, root, "spans"))
        return cuzk_bad_input("spans", "an array", "nothing");
    CUZK_TRY(json_array(&it, spans));
    if (it.packed && it.n > 0)
        return json_bad(spans, "an array of objects", NULL);
    t->spans = mem_alloc(it.n * sizeof *t->spans, 16);
    if (!t->spans)
        return cuzk_fail(CUZK_E_NOMEM, "%zu spans", it.n);
    while (json_next(&it, &v)) {
        CUZK_TRY(read_span(&t->spans[t->n], v));
        t->n++;
    }
    return cuzk_ok();
}

/* Job first, then partitions, then devices; inside a track by time, outer spans first. */
static int track_group(const span *s) { return s->partition >= 0 ? 1 : s->device.n > 0 ? 2 : 0; }

static int compare_track(const span *a, const span *b)
{
    if (track_group(a) != track_group(b))
        return track_group(a) - track_group(b);
    if (a->partition != b->partition)
        return a->partition < b->partition ? -1 : 1;
    if (track_group(a) != 2)
        return 0;
    size_t n = a->device.n < b->device.n ? a->device.n : b->device.n;
    int c = memcmp(a->device.s, b->device.s, n);
    return c ? c : a->device.n < b->device.n ? -1 : a->device.n > b->device.n;
}

static int compare_span(const void *pa, const void *pb)
{
    const span *a = pa, *b = pb;
    int c = compare_track(a, b);
    if (c)
        return c;
    if (a->start_ms != b->start_ms)
        return a->start_ms < b->start_ms ? -1 : 1;
    if (a->end_ms != b->end_ms)
        return a->end_ms > b->end_ms ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Whether s nests in the lane's open spans or follows them; then it is pushed. */
static bool lane_take(lane *l, const span *s)
{
    while (l->depth > 0 && l->ends[l->depth - 1] <= s->start_ms)
        l->depth--;
    if (l->depth > 0 && (l->ends[l->depth - 1] < s->end_ms || l->depth == NEST_MAX))
        return false;
    l->ends[l->depth++] = s->end_ms;
    return true;
}

static void assign_lanes(trace *t)
{
    lane lanes[LANES_MAX];
    uint32_t n_lanes = 0, track = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        span *s = &t->spans[i];
        if (i == 0 || compare_track(s, &t->spans[i - 1]) != 0) {
            track += n_lanes;
            n_lanes = 0;
        }
        uint32_t k = 0;
        while (k < n_lanes && !lane_take(&lanes[k], s))
            k++;
        if (k == n_lanes && n_lanes < LANES_MAX) {
            lanes[n_lanes++].depth = 0;
            lane_take(&lanes[k], s);
        }
        s->lane = k < LANES_MAX ? k : LANES_MAX - 1;
        s->track = track + s->lane + 1;
    }
}

static void put_track_name(json_writer *w, const span *s)
{
    char name[128];
    if (s->partition >= 0)
        snprintf(name, sizeof name, "partition %lld", (long long)s->partition);
    else if (s->device.n > 0)
        snprintf(name, sizeof name, "%.*s", (int)(s->device.n < 64 ? s->device.n : 64),
                 s->device.s);
    else
        snprintf(name, sizeof name, "job");
    json_begin_object(w);
    json_kv_str(w, "ph", "M");
    json_kv_str(w, "name", "thread_name");
    json_kv_u64(w, "pid", 1);
    json_kv_u64(w, "tid", s->track);
    json_key(w, "args");
    json_begin_object(w);
    json_kv_str(w, "name", name);
    json_end_object(w);
    json_end_object(w);
}

static void put_span(json_writer *w, const span *s)
{
    json_begin_object(w);
    json_kv_str(w, "ph", "X");
    json_key(w, "name");
    json_strn(w, s->name.s, s->name.n);
    json_kv_u64(w, "pid", 1);
    json_kv_u64(w, "tid", s->track);
    json_kv_f64(w, "ts", s->start_ms * 1000);
    json_kv_f64(w, "dur", (s->end_ms - s->start_ms) * 1000);
    json_key(w, "args");
    json_begin_object(w);
    json_kv_u64(w, "span", s->id);
    json_kv_u64(w, "parent", s->parent);
    if (s->device.n > 0) {
        json_key(w, "device");
        json_strn(w, s->device.s, s->device.n);
    }
    if (s->bytes > 0)
        json_kv_u64(w, "bytes", s->bytes);
    if (s->unaccounted_ms > 0)
        json_kv_f64(w, "unaccounted_ms", s->unaccounted_ms);
    json_end_object(w);
    json_end_object(w);
}

static void put_trace(json_writer *w, const trace *t)
{
    uint32_t n_named = 0;
    json_begin_object(w);
    json_kv_str(w, "displayTimeUnit", "ms");
    json_key(w, "otherData");
    json_begin_object(w);
    json_key(w, "job_id");
    json_strn(w, t->job_id.s, t->job_id.n);
    json_end_object(w);
    json_key(w, "traceEvents");
    json_begin_array(w);
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->spans[i].track > n_named) {
            put_track_name(w, &t->spans[i]);
            n_named = t->spans[i].track;
        }
        put_span(w, &t->spans[i]);
    }
    json_end_array(w);
    json_end_object(w);
}

cuzk_status http_perfetto_write(json_writer *w, const char *json, size_t len)
{
    json_doc doc;
    trace t = {0};
    cuzk_status st = json_parse(&doc, json, len);
    if (st.code == CUZK_OK)
        st = read_trace(&t, json_root(&doc));
    if (st.code == CUZK_OK) {
        if (t.n > 1)
            qsort(t.spans, t.n, sizeof *t.spans, compare_span);
        assign_lanes(&t);
        put_trace(w, &t);
    }
    mem_free(t.spans);
    json_fini(&doc);
    return cuzk_wrap(st, "timeline");
}
