/* A timeline for people: the table, and the list of gaps. */
#define _GNU_SOURCE /* qsort_r */
#include "base/mem.h"
#include "engine/timeline_int.h"
#include <stdlib.h>
#include <string.h>

#define STRETCHES_SHOWN 5u

static double ms(uint64_t ns) { return (double)ns / 1e6; }

/* Children of every span in order of their start; ids, entry 0 is the parent of roots. */
typedef struct tree {
    const timeline *t;
    uint32_t *first, *next; /* n + 1 each, 0 ends a list */
} tree;

static void tree_fini(tree *r)
{
    mem_free(r->first);
    mem_free(r->next);
}

static cuzk_status tree_init(tree *r, const timeline *t)
{
    uint32_t *order, n = t->n_spans;
    *r = (tree){.t = t};
    CUZK_TRY(timeline_sort(&order, t));
    r->first = mem_zalloc((n + 1) * sizeof *r->first, 16);
    r->next = mem_zalloc((n + 1) * sizeof *r->next, 16);
    if (!r->first || !r->next) {
        tree_fini(r);
        mem_free(order);
        return cuzk_fail(CUZK_E_NOMEM, "timeline of %u spans", n);
    }
    for (uint32_t i = n; i-- > 0;) { /* backwards: each goes to the front of its list */
        uint32_t id = order[i] + 1, parent = t->spans[order[i]].parent;
        r->next[id] = r->first[parent];
        r->first[parent] = id;
    }
    mem_free(order);
    return cuzk_ok();
}

static void format_label(char *out, size_t size, const timeline_span *s, uint32_t depth)
{
    int n = snprintf(out, size, "%*s%s", (int)(depth < 16 ? 2 * depth : 32), "", s->name);
    if (s->partition >= 0 && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, " [%d]", s->partition);
}

static void write_row(FILE *f, const timeline_span *s, uint64_t total_ns, uint32_t depth)
{
    char label[96];
    uint64_t own = s->end_ns - s->start_ns;
    format_label(label, sizeof label, s, depth);
    fprintf(f, "%-40s %-10s %12.3f %12.3f %6.1f%%", label, s->device, ms(s->start_ns), ms(own),
            total_ns ? 100.0 * (double)own / (double)total_ns : 100.0);
    if (s->n_children)
        fprintf(f, " %12.3f%s", ms(s->unaccounted_ns), timeline_is_gap(s) ? "  <- GAP" : "");
    fputc('\n', f);
}

/* Without recursion: the depth may come from a text. */
static void write_rows(FILE *f, const tree *r)
{
    uint32_t id = r->first[0], depth = 0;
    uint64_t total_ns = 0;
    while (id) {
        const timeline_span *s = &r->t->spans[id - 1];
        if (depth == 0)
            total_ns = s->end_ns - s->start_ns;
        write_row(f, s, total_ns, depth);
        if (r->first[id]) {
            id = r->first[id];
            depth++;
            continue;
        }
        while (id && !r->next[id]) {
            id = r->t->spans[id - 1].parent;
            depth -= id != 0;
        }
        if (id)
            id = r->next[id];
    }
}

static void write_dropped(FILE *f, const timeline *t)
{
    if (t->n_dropped)
        fprintf(f, "%u spans are missing: the recorder was full\n", t->n_dropped);
}

cuzk_status timeline_write_table(const timeline *t, FILE *f)
{
    tree r;
    CUZK_TRY(tree_init(&r, t));
    fprintf(f, "job %s\n%-40s %-10s %12s %12s %7s %12s\n", t->job_id, "span", "device", "start ms",
            "ms", "share", "unaccounted");
    write_rows(f, &r);
    write_dropped(f, t);
    tree_fini(&r);
    return timeline_finish_file(f, "timeline");
}

/* A stretch of a parent that no child covers. */
typedef struct stretch {
    uint64_t from_ns, to_ns;
    const char *before, *behind; /* names of the neighbours, NULL at the parent's ends */
} stretch;

static void keep_longest(stretch *list, uint32_t *n, stretch s)
{
    if (s.to_ns <= s.from_ns)
        return;
    uint32_t at = *n < STRETCHES_SHOWN ? (*n)++ : STRETCHES_SHOWN;
    for (; at > 0 && list[at - 1].to_ns - list[at - 1].from_ns < s.to_ns - s.from_ns; at--)
        if (at < STRETCHES_SHOWN)
            list[at] = list[at - 1];
    if (at < STRETCHES_SHOWN)
        list[at] = s;
}

static void write_gap(FILE *f, const tree *r, const timeline_span *parent)
{
    stretch list[STRETCHES_SHOWN];
    uint32_t n = 0;
    uint64_t covered = parent->start_ns;
    const char *last = NULL;
    for (uint32_t id = r->first[parent->id]; id; id = r->next[id]) {
        const timeline_span *c = &r->t->spans[id - 1];
        uint64_t to = c->start_ns < parent->end_ns ? c->start_ns : parent->end_ns;
        keep_longest(list, &n, (stretch){covered, to, last, c->name});
        if (c->end_ns > covered) {
            covered = c->end_ns;
            last = c->name;
        }
    }
    keep_longest(list, &n, (stretch){covered, parent->end_ns, last, NULL});
    char label[96];
    format_label(label, sizeof label, parent, 0);
    uint64_t own = parent->end_ns - parent->start_ns;
    fprintf(f, "%s%s%s: %.3f of %.3f ms (%.1f%%) are in no child\n", label,
            parent->device[0] ? " on " : "", parent->device, ms(parent->unaccounted_ns), ms(own),
            100.0 * (double)parent->unaccounted_ns / (double)own);
    for (uint32_t i = 0; i < n; i++)
        fprintf(f, "  %12.3f ms from %.3f to %.3f: between %s and %s\n",
                ms(list[i].to_ns - list[i].from_ns), ms(list[i].from_ns), ms(list[i].to_ns),
                list[i].before ? list[i].before : "its start",
                list[i].behind ? list[i].behind : "its end");
}

static int by_unaccounted(const void *a, const void *b, void *ctx)
{
    const timeline_span *spans = ctx;
    const timeline_span *x = &spans[*(const uint32_t *)a], *y = &spans[*(const uint32_t *)b];
    if (x->unaccounted_ns != y->unaccounted_ns)
        return x->unaccounted_ns > y->unaccounted_ns ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

cuzk_status timeline_write_gaps(const timeline *t, FILE *f)
{
    tree r;
    CUZK_TRY(tree_init(&r, t));
    uint32_t *gaps = mem_alloc((t->n_spans + 1) * sizeof *gaps, 16), n = 0;
    if (!gaps) {
        tree_fini(&r);
        return cuzk_fail(CUZK_E_NOMEM, "timeline of %u spans", t->n_spans);
    }
    for (uint32_t i = 0; i < t->n_spans; i++)
        if (timeline_is_gap(&t->spans[i]))
            gaps[n++] = i;
    qsort_r(gaps, n, sizeof *gaps, by_unaccounted, t->spans);
    fprintf(f, "job %s: %u gaps, %.3f ms unaccounted\n", t->job_id, n, ms(timeline_gap_ns(t)));
    for (uint32_t i = 0; i < n; i++)
        write_gap(f, &r, &t->spans[gaps[i]]);
    write_dropped(f, t);
    mem_free(gaps);
    tree_fini(&r);
    return timeline_finish_file(f, "gaps");
}
