/* The TIMELINE lines that scripts around the existing daemon read. */
#include "engine/metrics.h"
#include "engine/timeline.h"
#include <string.h>
#include <unistd.h>

static const char *const EVENT_NAMES[TIMELINE_N_EVENTS] = {
    [TIMELINE_SYNTH_START] = "SYNTH_START", [TIMELINE_SYNTH_END] = "SYNTH_END",
    [TIMELINE_GPU_QUEUE] = "GPU_QUEUE",     [TIMELINE_GPU_PICKUP] = "GPU_PICKUP",
    [TIMELINE_GPU_START] = "GPU_START",     [TIMELINE_GPU_END] = "GPU_END",
};

static void escape_id(char *out, size_t size, const char *id)
{
    size_t n = 0;
    for (; *id && n + 4 <= size; id++) {
        unsigned char c = (unsigned char)*id;
        if (c < 0x20 || c == 0x7f || c == ',' || c == '%')
            n += (size_t)snprintf(out + n, size - n, "%%%02X", c);
        else
            out[n++] = (char)c;
    }
    out[n] = 0;
}

static void format_detail(char *out, size_t size, const timeline_line *l)
{
    unsigned long long took = l->took_ms;
    char part[32] = "", after[40] = "";
    if (l->partition >= 0) {
        snprintf(part, sizeof part, "partition=%d", l->partition);
        snprintf(after, sizeof after, ",%s", part);
    }
    switch (l->event) {
    case TIMELINE_SYNTH_START:
        if (part[0])
            snprintf(out, size, "%s", part);
        else
            snprintf(out, size, "kind=%s", ENGINE_KIND_LABELS[l->kind]);
        break;
    case TIMELINE_SYNTH_END:
        snprintf(out, size, "%s%ssynth_ms=%llu", part, part[0] ? "," : "", took);
        break;
    case TIMELINE_GPU_QUEUE:
        snprintf(out, size, "%s", part[0] ? part : "monolithic");
        break;
    case TIMELINE_GPU_END:
        snprintf(out, size, "worker=%u%s,gpu_ms=%llu", l->worker, after, took);
        break;
    default:
        snprintf(out, size, "worker=%u%s", l->worker, after);
        break;
    }
}

size_t timeline_format_line(char *out, const timeline_line *l)
{
    char id[3 * JOB_ID_MAX], detail[128];
    escape_id(id, sizeof id, l->job_id);
    format_detail(detail, sizeof detail, l);
    int n = snprintf(out, TIMELINE_LINE_MAX, "TIMELINE,%llu,%s,%s,%s\n",
                     (unsigned long long)l->since_start_ms, EVENT_NAMES[l->event], id, detail);
    return n > 0 && n < (int)TIMELINE_LINE_MAX ? (size_t)n : 0;
}

void timeline_print_line(const timeline_line *l)
{
    char line[TIMELINE_LINE_MAX];
    size_t n = timeline_format_line(line, l);
    /* Nobody is served worse when a line is lost on a closed stderr. */
    ssize_t written = write(STDERR_FILENO, line, n);
    (void)written;
}
