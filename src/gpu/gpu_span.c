/* Slices and spans of one stream. */
#include "gpu/gpu_span.h"
#include "base/mem.h"
#include <string.h>

/* Groups, and parts of groups, between two waits; more are joined into the last one. A stage has tens,
 * a sum of 2^27 points 170 parts. */
#define GROUPS_MAX 512u
/* Slices that may be queued: the host runs one ahead of the device. */
#define N_SLICES 2u

struct gpu_lane {
    gpu_stream *stream;
    gpu_run run;
    const run_ctx *rc; /* while open */
    const volatile bool *lost;
    int ordinal;
    span_id parent;
    int32_t partition;
    gpu_event *zero; /* the moment zero_ns of the host's clock */
    uint64_t zero_ns;
    gpu_event *slice[N_SLICES];
    unsigned n_slices; /* recorded since the last wait */
    struct {
        gpu_event *from, *to;
        const char *name;
        span_id parent;
        int32_t partition;
    } group[GROUPS_MAX];
    unsigned n_groups;
    bool group_open;
    void (*hook)(void *ctx);
    void *hook_ctx;
    cuzk_status (*background)(void *ctx);
    void *background_ctx;
    cuzk_status failed; /* of a callback that could not report */
};

/* Give urgent work the device, unless the proof is to end. */
static cuzk_status poll(gpu_lane *l)
{
    if (l->hook)
        l->hook(l->hook_ctx);
    if (run_cancelled(l->rc))
        return cuzk_fail(CUZK_E_CANCELLED, "proof cancelled");
    if (l->rc->yield) {
        run_yield(l->rc);
        CUZK_TRY(gpu_ctx_enter(l->ordinal)); /* what ran may have entered another device */
    }
    if (l->lost && *l->lost)
        return cuzk_fail(CUZK_E_DEVICE_LOST, "the device was lost to other work");
    CUZK_TRY(l->failed);
    return l->background ? l->background(l->background_ctx) : cuzk_ok();
}

static cuzk_status on_slice(void *ctx)
{
    gpu_lane *l = ctx;
    if (!l->rc)
        return cuzk_ok();
    CUZK_TRY(gpu_event_record(l->slice[l->n_slices % N_SLICES], l->stream));
    l->n_slices++;
    if (l->n_slices >= N_SLICES)
        CUZK_TRY(gpu_event_wait_sync(l->slice[l->n_slices % N_SLICES]));
    return poll(l);
}

static void keep_failure(gpu_lane *l, cuzk_status st)
{
    if (l->failed.code == CUZK_OK)
        l->failed = st;
}

static void on_group(void *ctx, const char *name)
{
    gpu_lane *l = ctx;
    if (!l->rc || !l->rc->spans)
        return;
    if (l->group_open) {
        keep_failure(l, gpu_event_record(l->group[l->n_groups].to, l->stream));
        l->group_open = false;
        l->n_groups++;
    }
    if (!name)
        return;
    if (l->n_groups == GROUPS_MAX) { /* reopen the last: its end moves on */
        l->n_groups--;
    } else {
        l->group[l->n_groups].name = name;
        l->group[l->n_groups].parent = l->parent;
        l->group[l->n_groups].partition = l->partition;
        keep_failure(l, gpu_event_record(l->group[l->n_groups].from, l->stream));
    }
    l->group_open = true;
}

/* A part takes its group's place. */
static void on_part(void *ctx, const char *name)
{
    gpu_lane *l = ctx;
    if (l->group_open && strcmp(l->group[l->n_groups].name, name) != 0)
        on_group(l, name);
}

static cuzk_status build(gpu_lane *l)
{
    CUZK_TRY(gpu_stream_create(&l->stream));
    CUZK_TRY(gpu_event_create(&l->zero, true));
    for (unsigned i = 0; i < N_SLICES; i++)
        CUZK_TRY(gpu_event_create(&l->slice[i], false));
    for (unsigned i = 0; i < GROUPS_MAX; i++) {
        CUZK_TRY(gpu_event_create(&l->group[i].from, true));
        CUZK_TRY(gpu_event_create(&l->group[i].to, true));
    }
    l->run = (gpu_run){
        .stream = l->stream, .slice = on_slice, .group = on_group, .part = on_part, .ctx = l};
    return cuzk_ok();
}

cuzk_status gpu_lane_create(gpu_lane **out, int ordinal, const volatile bool *lost)
{
    *out = NULL;
    gpu_lane *l = mem_zalloc(sizeof *l, 64);
    if (!l)
        return cuzk_fail(CUZK_E_NOMEM, "device lane");
    l->lost = lost;
    l->ordinal = ordinal;
    cuzk_status st = build(l);
    if (st.code != CUZK_OK) {
        gpu_lane_destroy(l);
        return st;
    }
    *out = l;
    return cuzk_ok();
}

void gpu_lane_destroy(gpu_lane *l)
{
    if (!l)
        return;
    for (unsigned i = 0; i < GROUPS_MAX; i++) {
        gpu_event_destroy(l->group[i].from);
        gpu_event_destroy(l->group[i].to);
    }
    for (unsigned i = 0; i < N_SLICES; i++)
        gpu_event_destroy(l->slice[i]);
    gpu_event_destroy(l->zero);
    gpu_stream_destroy(l->stream);
    mem_free(l);
}

void gpu_lane_set_hook(gpu_lane *l, void (*hook)(void *ctx), void *ctx)
{
    l->hook = hook;
    l->hook_ctx = ctx;
}

void gpu_lane_set_background(gpu_lane *l, cuzk_status (*work)(void *ctx), void *ctx)
{
    l->background = work;
    l->background_ctx = ctx;
}

gpu_stream *gpu_lane_stream(const gpu_lane *l) { return l->stream; }
const gpu_run *gpu_lane_run(const gpu_lane *l) { return &l->run; }

/* The stream is empty: tie the device's clock to the host's. The host sees the event some
 * microseconds late, so device spans lie as much too late. */
static cuzk_status set_zero(gpu_lane *l)
{
    l->n_slices = 0;
    l->n_groups = 0;
    l->group_open = false;
    if (!l->rc || !l->rc->spans)
        return cuzk_ok();
    CUZK_TRY(gpu_event_record(l->zero, l->stream));
    CUZK_TRY(gpu_event_wait_sync(l->zero));
    l->zero_ns = clock_now_ns();
    return cuzk_ok();
}

static cuzk_status record_groups(gpu_lane *l)
{
    for (unsigned i = 0; i < l->n_groups; i++) {
        uint64_t from, to;
        CUZK_TRY(gpu_event_ns(&from, l->zero, l->group[i].from));
        CUZK_TRY(gpu_event_ns(&to, l->zero, l->group[i].to));
        span_id s = span_record(l->rc->spans, l->group[i].parent, l->group[i].name,
                                l->zero_ns + from, l->zero_ns + to);
        span_note(l->rc->spans, s, l->group[i].partition, 0);
    }
    return cuzk_ok();
}

cuzk_status gpu_lane_open(gpu_lane *l, const run_ctx *rc)
{
    CUZK_VERIFY(!l->rc);
    l->failed = cuzk_ok();
    CUZK_TRY(gpu_stream_wait_sync(l->stream));
    l->rc = rc;
    gpu_lane_under(l, rc->parent, -1);
    cuzk_status st = set_zero(l);
    if (st.code != CUZK_OK)
        l->rc = NULL;
    return st;
}

void gpu_lane_under(gpu_lane *l, span_id parent, int32_t partition)
{
    l->parent = parent;
    l->partition = partition;
}

cuzk_status gpu_lane_wait_sync(gpu_lane *l)
{
    on_group(l, NULL);
    CUZK_TRY(gpu_stream_wait_sync(l->stream));
    CUZK_TRY(l->failed);
    if (l->rc && l->rc->spans)
        CUZK_TRY(record_groups(l));
    return set_zero(l);
}

void gpu_lane_close(gpu_lane *l)
{
    /* Whatever failed was reported where it failed; here only the stream has to be empty. */
    cuzk_status st = gpu_stream_wait_sync(l->stream);
    (void)st;
    l->rc = NULL;
}
