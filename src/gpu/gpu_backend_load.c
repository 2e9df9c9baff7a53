/* Making circuits resident, and giving their memory back. */
#include "base/mem.h"
#include "base/span_names.h"
#include "gpu/gpu_backend_int.h"
#include <string.h>

static uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* load_lock held. What is taken, and what the backend may take in all. */
static cuzk_status get_room(gpu_plan_room *r, const gpu_backend *b)
{
    *r = (gpu_plan_room){.ntt_bytes = b->ntt_mem.bytes,
                         .work_bytes = b->area[GPU_AREA_MAIN].mem.bytes,
                         .urgent_bytes = b->area[GPU_AREA_URGENT].mem.bytes};
    for (const gpu_handle *h = b->handles; h; h = h->next)
        r->resident_bytes += h->plan.resident_bytes;
    CUZK_TRY(gpu_ctx_memory(&r->free_bytes, &r->total_bytes));
    uint64_t own = r->resident_bytes + r->ntt_bytes + r->work_bytes + r->urgent_bytes;
    uint64_t all = r->free_bytes + own;
    r->limit_bytes = all > GPU_RESERVE_BYTES ? all - GPU_RESERVE_BYTES : 0;
    if (b->cfg.memory_bytes)
        r->limit_bytes = min_u64(r->limit_bytes, b->cfg.memory_bytes);
    return cuzk_ok();
}

/* Sizes of what is shared. */
typedef struct shared_want {
    uint32_t ntt_lg;
    size_t work[GPU_N_AREAS];
} shared_want;

static void want_plan(shared_want *w, const gpu_plan *p)
{
    w->ntt_lg = p->ntt_lg > w->ntt_lg ? p->ntt_lg : w->ntt_lg;
    for (int i = 0; i < GPU_N_AREAS; i++)
        if (p->work_bytes > w->work[i] && (i == GPU_AREA_MAIN || p->work_bytes <= GPU_URGENT_MAX))
            w->work[i] = p->work_bytes;
}

/* load_lock held. */
static shared_want want_of(const gpu_backend *b)
{
    shared_want w = {0};
    for (const gpu_handle *h = b->handles; h; h = h->next)
        want_plan(&w, &h->plan);
    return w;
}

/* Areas that have to be quiet to get there. */
static unsigned areas_to_change(const gpu_backend *b, const shared_want *w, bool shrink)
{
    unsigned areas = 0;
    if (w->ntt_lg > b->ntt.lg_n || (shrink && w->ntt_lg != b->ntt.lg_n))
        return GPU_AREAS_ALL;
    for (int i = 0; i < GPU_N_AREAS; i++)
        if (w->work[i] > b->area[i].mem.bytes || (shrink && w->work[i] != b->area[i].mem.bytes))
            areas |= 1u << i;
    return areas;
}

/* The areas' holder. Give memory back that will have another size. */
static void drop_shared(gpu_backend *b, const shared_want *w, unsigned areas)
{
    if (areas == GPU_AREAS_ALL && w->ntt_lg != b->ntt.lg_n) {
        gpu_mem_return(&b->ntt_mem);
        b->ntt = (gpu_ntt_table){0};
    }
    for (int i = 0; i < GPU_N_AREAS; i++) {
        gpu_area *a = &b->area[i];
        if (!(areas >> i & 1) || w->work[i] == a->mem.bytes)
            continue;
        gpu_area_drop_mem(a);
    }
}

/* The areas' holder. What is still missing. */
static cuzk_status make_shared(gpu_backend *b, const shared_want *w, unsigned areas)
{
    for (int i = 0; i < GPU_N_AREAS; i++)
        if (areas >> i & 1 && w->work[i] > b->area[i].mem.bytes)
            CUZK_TRY(gpu_mem_take(&b->area[i].mem, w->work[i], "work area"));
    if (areas != GPU_AREAS_ALL || w->ntt_lg <= b->ntt.lg_n)
        return cuzk_ok();
    CUZK_TRY(gpu_mem_take(&b->ntt_mem, gpu_ntt_table_bytes(w->ntt_lg), "transform table"));
    gpu_stream *s = gpu_lane_stream(b->area[GPU_AREA_MAIN].lane);
    cuzk_status st = gpu_ntt_table_build(&b->ntt, b->ntt_mem.p, w->ntt_lg, s);
    if (st.code == CUZK_OK)
        st = gpu_stream_wait_sync(s);
    if (st.code != CUZK_OK) {
        gpu_mem_return(&b->ntt_mem);
        b->ntt = (gpu_ntt_table){0};
    }
    return st;
}

/* All of a circuit's content, into memory already taken. */
static cuzk_status fill_key(const gpu_backend *b, gpu_handle *h, gpu_area *a, const run_ctx *rc)
{
    const gpu_key_in in = {.plan = &h->plan,
                           .query = h->query,
                           .shape = h->shape,
                           .image = h->image,
                           .lane = a->lane,
                           .feed = &a->feed,
                           .ntt = &b->ntt,
                           .rc = rc};
    CUZK_TRY(gpu_lane_open(a->lane, rc));
    span_id s = span_begin(rc->spans, rc->parent, SPAN_UPLOAD);
    gpu_lane_under(a->lane, s, -1);
    cuzk_status st = gpu_key_load_index(&h->dev, &in);
    span_note(rc->spans, s, -1, h->plan.image_bytes + h->plan.index_bytes);
    span_end(rc->spans, s);
    s = span_begin(rc->spans, rc->parent, h->key ? SPAN_KEY_DECODE : SPAN_SETUP);
    gpu_lane_under(a->lane, s, -1);
    if (st.code == CUZK_OK && h->key) {
        st = gpu_key_load_points(&h->dev, &in, h->key, h->ev);
    } else if (st.code == CUZK_OK) {
        const gpu_msm_ws ws = {
            .d_ws = a->mem.p, .bytes = a->mem.bytes, .pin = a->pin.p, .run = gpu_lane_run(a->lane)};
        st = gpu_key_make_points(&h->dev, &h->own_vk, &in, &h->toxic, &ws);
    }
    span_note(rc->spans, s, -1, h->plan.resident_bytes);
    span_end(rc->spans, s);
    gpu_lane_close(a->lane);
    return st;
}

/* load_lock and the areas held: memory by the plan, then content. */
static cuzk_status make_resident(gpu_backend *b, gpu_handle *h, unsigned areas, gpu_area *a,
                                 const run_ctx *rc)
{
    shared_want w = want_of(b), old = w;
    want_plan(&w, &h->plan);
    span_id s = span_begin(rc->spans, rc->parent, SPAN_ALLOC);
    drop_shared(b, &w, areas);
    cuzk_status st = gpu_key_take(&h->dev, &h->plan);
    if (st.code == CUZK_OK)
        st = make_shared(b, &w, areas);
    span_note(rc->spans, s, -1, h->plan.resident_bytes);
    span_end(rc->spans, s);
    if (st.code == CUZK_OK)
        st = fill_key(b, h, a, rc);
    st = gpu_note_lost(b, st);
    if (st.code == CUZK_OK)
        return st;
    gpu_key_return(&h->dev);
    if (!b->lost) { /* the circuits already here get their sizes back */
        drop_shared(b, &old, areas);
        cuzk_status back = make_shared(b, &old, areas);
        (void)back; /* a proof that then finds no area says so */
    }
    return st;
}

static cuzk_status load_locked(gpu_backend *b, gpu_handle *h, const run_ctx *rc)
{
    gpu_plan_room room;
    const gpu_plan_in in = {.shape = h->shape,
                            .query = h->query,
                            .image_bytes = gpu_shape_bytes(h->image),
                            .development = !h->key,
                            .is_evaluation = h->is_evaluation};
    CUZK_TRY(get_room(&room, b));
    CUZK_TRY(gpu_plan_make(&h->plan, &in, &room));
    shared_want w = want_of(b);
    want_plan(&w, &h->plan);
    unsigned areas = areas_to_change(b, &w, false);
    gpu_area *a = NULL;
    if (areas == 0) {
        CUZK_TRY(gpu_area_take(&a, b, h->plan.setup_bytes, rc));
        areas = 1u << (a - b->area);
    } else {
        CUZK_TRY(gpu_area_take_these(b, areas, rc));
        a = &b->area[areas & 1u << GPU_AREA_MAIN ? GPU_AREA_MAIN : GPU_AREA_URGENT];
    }
    cuzk_status st = make_resident(b, h, areas, a, rc);
    if (st.code == CUZK_OK) {
        pthread_mutex_lock(&b->lock);
        h->next = b->handles;
        b->handles = h;
        pthread_mutex_unlock(&b->lock);
    }
    gpu_area_return_these(b, areas);
    return st;
}

cuzk_status gpu_load(gpu_backend *b, gpu_handle *h, const run_ctx *rc)
{
    if (b->lost)
        return cuzk_fail(CUZK_E_DEVICE_LOST, "device %d was lost by a fault in this process",
                         b->device.ordinal);
    pthread_mutex_lock(&b->load_lock);
    cuzk_status st = gpu_ctx_enter(b->device.ordinal);
    if (st.code == CUZK_OK)
        st = load_locked(b, h, rc);
    st = gpu_note_lost(b, st);
    pthread_mutex_unlock(&b->load_lock);
    return st;
}

void gpu_unload(gpu_backend *b, gpu_handle *h)
{
    const run_ctx no_ctx = {0};
    pthread_mutex_lock(&b->load_lock);
    cuzk_status st = gpu_ctx_enter(b->device.ordinal);
    pthread_mutex_lock(&b->lock);
    for (gpu_handle **at = &b->handles; *at; at = &(*at)->next) {
        if (*at == h) {
            *at = h->next;
            break;
        }
    }
    pthread_mutex_unlock(&b->lock);
    gpu_key_return(&h->dev);
    /* Smaller shared parts, unless this thread is inside a proof: then the next unload does it. */
    shared_want w = want_of(b);
    unsigned areas = areas_to_change(b, &w, true);
    if (st.code == CUZK_OK && !b->lost && areas &&
        gpu_area_take_these(b, areas, &no_ctx).code == CUZK_OK) {
        drop_shared(b, &w, areas);
        st = make_shared(b, &w, areas); /* smaller than before: fits, or the next proof says so */
        gpu_area_return_these(b, areas);
    }
    st = gpu_note_lost(b, st);
    (void)st; /* the next command says so */
    pthread_mutex_unlock(&b->load_lock);
}

cuzk_status gpu_note_lost(gpu_backend *b, cuzk_status st)
{
    uint64_t free_bytes, total_bytes;
    if (st.code == CUZK_E_DEVICE && gpu_ctx_memory(&free_bytes, &total_bytes).code != CUZK_OK)
        st.code = CUZK_E_DEVICE_LOST; /* the driver answers nothing any more */
    if (st.code == CUZK_E_DEVICE_LOST)
        b->lost = true;
    return st;
}
