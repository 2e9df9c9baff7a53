/* A timeline as JSON and back. */
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "engine/timeline_int.h"
#include <math.h>
#include <string.h>

/* Times in a text may not exceed this many ms (30,000 years), so that ns fit. */
#define MS_MAX 1e12

static void write_span(json_writer *w, const timeline_span *s)
{
    json_begin_object(w);
    json_kv_u64(w, "id", s->id);
    json_kv_u64(w, "parent", s->parent);
    json_kv_str(w, "name", s->name);
    json_kv_f64(w, "partition", s->partition);
    json_kv_str(w, "device", s->device);
    json_kv_u64(w, "thread", s->thread);
    json_kv_f64(w, "start_ms", (double)s->start_ns / 1e6);
    json_kv_f64(w, "end_ms", (double)s->end_ns / 1e6);
    json_kv_u64(w, "bytes", s->bytes);
    json_kv_f64(w, "unaccounted_ms", (double)s->unaccounted_ns / 1e6);
    json_end_object(w);
}

cuzk_status timeline_format(char **json, const timeline *t)
{
    *json = NULL;
    json_writer w;
    json_write_init(&w, NULL, false);
    json_begin_object(&w);
    json_kv_str(&w, "job_id", t->job_id);
    json_kv_u64(&w, "dropped_spans", t->n_dropped);
    json_key(&w, "spans");
    json_begin_array(&w);
    for (uint32_t i = 0; i < t->n_spans; i++)
        write_span(&w, &t->spans[i]);
    json_end_array(&w);
    json_end_object(&w);
    cuzk_status st = json_write_finish(&w);
    if (st.code == CUZK_OK) {
        *json = w.buf;
        w.buf = NULL;
    }
    json_write_fini(&w);
    return st;
}

static cuzk_status need(json_val *out, json_val object, const char *name)
{
    if (json_val_kind(object) != JSON_OBJECT)
        return json_bad(object, "an object", NULL);
    char want[64];
    snprintf(want, sizeof want, "a member \"%s\"", name);
    return json_member(out, object, name) ? cuzk_ok() : json_bad(object, want, "none");
}

static cuzk_status read_u64(uint64_t *out, json_val object, const char *name, uint64_t max)
{
    json_val v = {0};
    CUZK_TRY(need(&v, object, name));
    return json_get_u64(out, v, max);
}

/* A member that older writers may have left out. */
static cuzk_status read_u64_or_0(uint64_t *out, json_val object, const char *name, uint64_t max)
{
    json_val v = {0};
    *out = 0;
    return json_member(&v, object, name) ? json_get_u64(out, v, max) : cuzk_ok();
}

static cuzk_status read_ms(uint64_t *out_ns, json_val object, const char *name)
{
    json_val v = {0};
    double ms;
    CUZK_TRY(need(&v, object, name));
    CUZK_TRY(json_get_double(&ms, v));
    if (!(ms >= 0 && ms <= MS_MAX))
        return json_bad(v, "0 to 1e12 ms", NULL);
    *out_ns = (uint64_t)llround(ms * 1e6);
    return cuzk_ok();
}

static cuzk_status read_text(const char **out, timeline *t, json_val v)
{
    const char *text;
    size_t n;
    CUZK_TRY(json_get_string(&text, &n, v));
    if (!job_is_text(text, n))
        return json_bad(v, "text without control characters", NULL);
    char *copy = arena_alloc(&t->strings, n + 1, 8);
    if (!copy)
        return cuzk_fail(CUZK_E_NOMEM, "text of %zu bytes", n);
    memcpy(copy, text, n);
    *out = copy;
    return cuzk_ok();
}

static cuzk_status read_partition(int32_t *out, json_val object)
{
    json_val v = {0};
    double d;
    *out = -1;
    if (!json_member(&v, object, "partition"))
        return cuzk_ok();
    CUZK_TRY(json_get_double(&d, v));
    if (!(d >= -1 && d <= INT32_MAX) || d != floor(d))
        return json_bad(v, "a partition or -1", NULL);
    *out = (int32_t)d;
    return cuzk_ok();
}

static cuzk_status read_span(timeline_span *s, timeline *t, json_val v, uint32_t idx)
{
    uint64_t id, parent, thread;
    json_val member = {0};
    CUZK_TRY(read_u64(&id, v, "id", TIMELINE_SPANS_MAX));
    if (id != idx + 1)
        return json_bad(v, "ids in order from 1", "%llu", (unsigned long long)id);
    CUZK_TRY(read_u64(&parent, v, "parent", idx)); /* before the span itself: no cycles */
    CUZK_TRY(need(&member, v, "name"));
    CUZK_TRY(read_text(&s->name, t, member));
    s->device = "";
    if (json_member(&member, v, "device"))
        CUZK_TRY(read_text(&s->device, t, member));
    CUZK_TRY(read_partition(&s->partition, v));
    CUZK_TRY(read_u64_or_0(&thread, v, "thread", UINT32_MAX));
    CUZK_TRY(read_u64_or_0(&s->bytes, v, "bytes", UINT64_MAX));
    CUZK_TRY(read_ms(&s->start_ns, v, "start_ms"));
    CUZK_TRY(read_ms(&s->end_ns, v, "end_ms"));
    if (s->end_ns < s->start_ns)
        return json_bad(v, "an end after the start", "an earlier one");
    s->id = (uint32_t)id;
    s->parent = (uint32_t)parent;
    s->thread = (uint32_t)thread;
    return cuzk_ok();
}

static cuzk_status read_root(timeline *t, json_val root)
{
    json_val v = {0};
    uint64_t n_dropped = 0;
    const char *id = "";
    CUZK_TRY(need(&v, root, "job_id"));
    CUZK_TRY(read_text(&id, t, v));
    if (strlen(id) >= sizeof t->job_id)
        return json_bad(v, "up to 319 bytes", "%zu", strlen(id));
    snprintf(t->job_id, sizeof t->job_id, "%s", id);
    CUZK_TRY(read_u64_or_0(&n_dropped, root, "dropped_spans", UINT32_MAX));
    t->n_dropped = (uint32_t)n_dropped;
    CUZK_TRY(need(&v, root, "spans"));
    json_iter it;
    CUZK_TRY(json_array(&it, v));
    if (it.n > TIMELINE_SPANS_MAX)
        return json_bad(v, "at most 1048576 spans", "%zu", it.n);
    t->spans = mem_zalloc((it.n + 1) * sizeof *t->spans, 16);
    if (!t->spans)
        return cuzk_fail(CUZK_E_NOMEM, "timeline of %zu spans", it.n);
    for (json_val elem; json_next(&it, &elem); t->n_spans++)
        CUZK_TRY(read_span(&t->spans[t->n_spans], t, elem, t->n_spans));
    return timeline_account(t);
}

cuzk_status timeline_parse(timeline *out, const char *json, size_t len)
{
    *out = (timeline){0};
    json_doc doc;
    cuzk_status st = json_parse(&doc, json, len);
    if (st.code == CUZK_OK)
        st = read_root(out, json_root(&doc));
    json_fini(&doc);
    if (st.code != CUZK_OK)
        timeline_fini(out);
    return st;
}
