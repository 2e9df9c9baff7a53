/* Exports of the span recorder: Chrome trace JSON and a table for people.
 * Source: "Trace Event Format" (Chromium), complete events (ph "X"), times in microseconds. */
#include "base/mem.h"
#include "base/span_int.h"
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* A parent is suspicious when more than 1 % and more than 10 ms of it is not explained by its
 * children. */
#define GAP_MIN_NS 10000000u
#define GAP_SHARE 100u

static double ms(uint64_t ns) { return (double)ns / 1e6; }

static bool is_gap(const span_view *v)
{
    uint64_t own = v->end_ns - v->start_ns;
    return v->unaccounted_ns > GAP_MIN_NS && v->unaccounted_ns > own / GAP_SHARE;
}

static cuzk_status finish(FILE *f, const char *what)
{
    if (fflush(f) != 0 || ferror(f))
        return cuzk_fail(CUZK_E_IO, "writing %s: %s", what, strerror(errno));
    return cuzk_ok();
}

static void write_event(FILE *f, const span_view *v, uint64_t zero_ns)
{
    fprintf(f,
            "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,"
            "\"args\":{\"id\":%u,\"parent\":%u",
            v->name, v->thread, (double)(v->start_ns - zero_ns) / 1e3,
            (double)(v->end_ns - v->start_ns) / 1e3, v->id, v->parent);
    if (v->partition >= 0)
        fprintf(f, ",\"partition\":%d", v->partition);
    if (v->bytes)
        fprintf(f, ",\"bytes\":%llu", (unsigned long long)v->bytes);
    if (v->n_children)
        fprintf(f, ",\"unaccounted_ms\":%.3f", ms(v->unaccounted_ns));
    fputs("}}", f);
}

cuzk_status span_write_chrome(const span_rec *r, FILE *f)
{
    span_view *views;
    uint32_t n;
    CUZK_TRY(span_snapshot(r, &views, &n));
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", f);
    for (uint32_t i = 0; i < n; i++) {
        fputs(i ? ",\n" : "\n", f);
        write_event(f, &views[i], views[0].start_ns);
    }
    fprintf(f, "\n],\"otherData\":{\"dropped_spans\":%u}}\n", span_dropped(r));
    mem_free(views);
    return finish(f, "trace");
}

/* Links of the span tree; ids are 1-based, 0 = none. */
typedef struct tree {
    const span_view *views;
    uint32_t *first_child, *next_sibling; /* n + 1 each; entry 0 is the parent of all roots */
    uint32_t n;
} tree;

static void link_tree(tree *t)
{
    memset(t->first_child, 0, (t->n + 1) * sizeof *t->first_child);
    /* Backwards, so that each list comes out in begin order. */
    for (uint32_t id = t->n; id >= 1; id--) {
        uint32_t parent = t->views[id - 1].parent;
        t->next_sibling[id] = t->first_child[parent];
        t->first_child[parent] = id;
    }
}

static void write_row(FILE *f, const span_view *v, const span_view *root, uint32_t depth)
{
    char label[64];
    uint64_t own = v->end_ns - v->start_ns, all = root->end_ns - root->start_ns;
    int n = snprintf(label, sizeof label, "%*s%s", (int)(depth < 16 ? 2 * depth : 32), "", v->name);
    if (v->partition >= 0 && n > 0 && (size_t)n < sizeof label)
        snprintf(label + n, sizeof label - (size_t)n, " [%d]", v->partition);
    fprintf(f, "%-40s %12.3f %12.3f %6.1f%%", label, ms(v->start_ns - root->start_ns), ms(own),
            all ? 100.0 * (double)own / (double)all : 100.0);
    if (v->n_children)
        fprintf(f, " %12.3f%s", ms(v->unaccounted_ns), is_gap(v) ? "  <- GAP" : "");
    fputc('\n', f);
}

/* Depth-first walk without recursion: depth comes from input-driven nesting, the stack must not. */
static void write_rows(FILE *f, const tree *t)
{
    const span_view *root = NULL;
    uint32_t id = t->first_child[0], depth = 0;
    while (id) {
        const span_view *v = &t->views[id - 1];
        if (depth == 0)
            root = v;
        write_row(f, v, root, depth);
        if (t->first_child[id]) {
            id = t->first_child[id];
            depth++;
            continue;
        }
        while (id && !t->next_sibling[id]) {
            id = t->views[id - 1].parent;
            depth -= id != 0;
        }
        if (id)
            id = t->next_sibling[id];
    }
}

cuzk_status span_write_table(const span_rec *r, FILE *f)
{
    span_view *views;
    tree t = {0};
    CUZK_TRY(span_snapshot(r, &views, &t.n));
    t.views = views;
    t.first_child = mem_alloc((t.n + 1) * sizeof *t.first_child, 64);
    t.next_sibling = mem_alloc((t.n + 1) * sizeof *t.next_sibling, 64);
    cuzk_status st = cuzk_fail(CUZK_E_NOMEM, "table of %u spans", t.n);
    if (t.first_child && t.next_sibling) {
        link_tree(&t);
        fprintf(f, "%-40s %12s %12s %7s %12s\n", "span", "start ms", "ms", "share", "unaccounted");
        write_rows(f, &t);
        uint32_t dropped = span_dropped(r);
        if (dropped)
            fprintf(f, "%u spans dropped: the recorder was full\n", dropped);
        st = finish(f, "span table");
    }
    mem_free(t.next_sibling);
    mem_free(t.first_child);
    mem_free(views);
    return st;
}
