/* The backend that uses the driver in its own process: its table of functions. */
#include "gpu/gpu_backend.h"
#include "base/mem.h"
#include "base/span_names.h"
#include "gpu/gpu_backend_int.h"
#include "gpu/gpu_backend_wire.h"
#include <stdio.h>
#include <string.h>

static gpu_backend *self(g16_backend *b) { return (gpu_backend *)(void *)b; }

static void handle_destroy(gpu_handle *h)
{
    if (!h)
        return;
    for (int q = 0; q < N_QUERIES; q++)
        g16_query_fini(&h->query[q]);
    gpu_shape_destroy(h->image);
    g16_vk_fini(&h->own_vk);
    g16_evkey_close(h->ev);
    mem_wipe(&h->toxic, sizeof h->toxic);
    mem_free(h);
}

/* The host's part of a circuit. */
static cuzk_status handle_build(const gpu_backend *b, gpu_handle *h, const run_ctx *rc)
{
    if (h->key)
        CUZK_TRY(g16_key_match(h->key, h->shape));
    if (h->key && !b->cfg.plain_keys)
        CUZK_TRY(g16_evkey_open_to_use(&h->ev, h->key, h->shape, rc));
    if (h->ev)
        h->is_evaluation = true;
    span_id s = span_begin(rc->spans, rc->parent, SPAN_MASK);
    cuzk_status st = cuzk_ok();
    for (int q = 0; q < N_QUERIES && st.code == CUZK_OK; q++)
        st = g16_query_init(&h->query[q], (g16_query_id)q, h->shape);
    span_end(rc->spans, s);
    CUZK_TRY(st);
    s = span_begin(rc->spans, rc->parent, SPAN_SHAPE);
    st = gpu_shape_create(&h->image, h->shape, h->is_evaluation);
    span_end(rc->spans, s);
    return st;
}

/* h is zeroed but for its source. On failure it is gone. */
static cuzk_status load_handle(gpu_backend *b, gpu_handle *h, const run_ctx *rc)
{
    span_id s = span_begin(rc->spans, rc->parent, SPAN_LOAD);
    run_ctx under = run_ctx_under(rc, s);
    cuzk_status st = handle_build(b, h, &under);
    if (st.code == CUZK_OK)
        st = gpu_load(b, h, &under);
    span_end(rc->spans, s);
    if (st.code != CUZK_OK)
        handle_destroy(h);
    return st;
}

static cuzk_status op_load(g16_backend *base, const r1cs_shape *s, const g16_key *k,
                           const run_ctx *rc, void **handle)
{
    *handle = NULL;
    gpu_handle *h = mem_zalloc(sizeof *h, 64);
    if (!h)
        return cuzk_fail(CUZK_E_NOMEM, "cuda backend handle");
    h->shape = s;
    h->key = k;
    CUZK_TRY(load_handle(self(base), h, rc));
    *handle = h;
    return cuzk_ok();
}

cuzk_status gpu_direct_load_development(g16_backend *base, const r1cs_shape *s, const g16_toxic *t,
                                        g16_vk *vk_out, const run_ctx *rc, void **handle)
{
    *handle = NULL;
    *vk_out = (g16_vk){0};
    gpu_handle *h = mem_zalloc(sizeof *h, 64);
    if (!h)
        return cuzk_fail(CUZK_E_NOMEM, "cuda backend handle");
    h->shape = s;
    h->toxic = *t;
    h->is_evaluation = !self(base)->cfg.plain_keys;
    CUZK_TRY(load_handle(self(base), h, rc));
    cuzk_status st = g16_vk_copy(vk_out, &h->own_vk);
    if (st.code != CUZK_OK) {
        base->ops->unload(base, h);
        return st;
    }
    *handle = h;
    return st;
}

static void op_unload(g16_backend *base, void *handle)
{
    if (!handle)
        return;
    gpu_unload(self(base), handle);
    handle_destroy(handle);
}

/* Lock taken inside. */
static cuzk_status enter(gpu_backend *b, gpu_handle *h)
{
    pthread_mutex_lock(&b->lock);
    bool was_busy = h->busy;
    h->busy = true;
    pthread_mutex_unlock(&b->lock);
    return was_busy ? cuzk_fail(CUZK_E_USAGE, "cuda backend: two proofs at once on one handle")
                    : cuzk_ok();
}

static void leave(gpu_backend *b, gpu_handle *h)
{
    pthread_mutex_lock(&b->lock);
    h->busy = false;
    pthread_mutex_unlock(&b->lock);
}

static cuzk_status op_prove(g16_backend *base, void *handle, const g16_batch *batch, g16_timings *t,
                            const run_ctx *rc)
{
    gpu_backend *b = self(base);
    g16_timings local;
    t = t ? t : &local;
    *t = (g16_timings){0};
    memset(batch->out, 0, batch->n * sizeof *batch->out);
    CUZK_TRY(enter(b, handle));
    uint64_t t0 = clock_now_ns();
    span_id s = span_begin(rc->spans, rc->parent, SPAN_PROVE);
    run_ctx under = run_ctx_under(rc, s);
    cuzk_status st = gpu_prove(b, handle, batch, t, &under);
    if (st.code != CUZK_OK)
        memset(batch->out, 0, batch->n * sizeof *batch->out);
    span_end(rc->spans, s);
    t->total_ns = clock_now_ns() - t0;
    leave(b, handle);
    return st;
}

static void op_describe(g16_backend *base, char *buf, size_t len)
{
    gpu_backend *b = self(base);
    uint64_t taken = 0;
    unsigned n = 0;
    pthread_mutex_lock(&b->lock);
    for (const gpu_handle *h = b->handles; h; h = h->next, n++)
        taken += h->plan.resident_bytes;
    pthread_mutex_unlock(&b->lock);
    snprintf(buf, len, "cuda:%d (%s, %s, %.1f GiB; %u circuits of %.1f GiB resident)",
             b->device.ordinal, b->device.name, b->device.pci,
             (double)b->device.total_bytes / 1073741824.0, n, (double)taken / 1073741824.0);
}

void gpu_direct_describe_plan(const void *handle, char *buf, size_t len)
{
    gpu_plan_print(buf, len, &((const gpu_handle *)handle)->plan);
}

g16_cuda_memory gpu_direct_memory(void)
{
    gpu_mem_stats s = gpu_mem_get_stats();
    return (g16_cuda_memory){s.device_bytes, s.device_peak_bytes, s.pinned_bytes};
}

const gpu_device_info *gpu_direct_device(const g16_backend *b)
{
    return &((const gpu_backend *)(const void *)b)->device;
}

static void op_destroy(g16_backend *base)
{
    gpu_backend *b = self(base);
    if (!b)
        return;
    if (b->device.name[0] && gpu_ctx_enter(b->device.ordinal).code == CUZK_OK) {
        gpu_mem_return(&b->ntt_mem);
        gpu_areas_destroy(b);
    }
    pthread_cond_destroy(&b->idle);
    pthread_mutex_destroy(&b->load_lock);
    pthread_mutex_destroy(&b->lock);
    mem_free(b);
}

static void op_plan(g16_backend *base, uint64_t *need, uint64_t *available, const g16_key_info *k)
{
    const gpu_backend *b = self(base);
    gpu_plan_bound(need, available, k, &b->device, b->cfg.memory_bytes);
}

static const g16_backend_ops cuda_ops = {
    .name = "cuda",
    .load = op_load,
    .unload = op_unload,
    .prove = op_prove,
    .describe = op_describe,
    .self_test = g16_known_answer_test,
    .destroy = op_destroy,
    .plan = op_plan,
};

static cuzk_status create_build(gpu_backend *b, const g16_cuda_config *cfg)
{
    const run_ctx no_ctx = {0};
    gpu_device_info all[GPU_DEVICES_MAX];
    uint32_t n;
    CUZK_TRY(gpu_devices_here(all, &n, GPU_DEVICES_MAX)); /* this process is to use the driver */
    CUZK_TRY(gpu_device_pick(&b->device, all, n, cfg ? cfg->device : NULL));
    if (cfg)
        b->cfg = *cfg;
    b->cfg.device = NULL; /* the caller's */
    CUZK_TRY(gpu_ctx_enter(b->device.ordinal));
    CUZK_TRY(gpu_areas_make(b));
    return g16_known_answer_test(&b->base, &no_ctx);
}

cuzk_status gpu_direct_create(g16_backend **out, const g16_cuda_config *cfg)
{
    *out = NULL;
    gpu_backend *b = mem_zalloc(sizeof *b, 64);
    if (!b)
        return cuzk_fail(CUZK_E_NOMEM, "cuda backend");
    b->base.ops = &cuda_ops;
    pthread_mutex_init(&b->lock, NULL);
    pthread_mutex_init(&b->load_lock, NULL);
    pthread_cond_init(&b->idle, NULL);
    cuzk_status st = create_build(b, cfg);
    if (st.code != CUZK_OK) {
        op_destroy(&b->base);
        return st;
    }
    *out = &b->base;
    return st;
}
