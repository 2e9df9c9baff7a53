/* Who may work in which part of the device. */
#include "base/mem.h"
#include "gpu/gpu_backend_int.h"
#include <time.h>

/* One buffer in flight takes 0.6 ms at 55 GB/s: long against its calls, short against a slice. */
static const size_t feed_bytes[GPU_N_AREAS] = {(size_t)32 << 20, (size_t)4 << 20};
#define WAIT_NS 20000000 /* between two looks at the caller's cancel flag */

cuzk_status gpu_areas_make(gpu_backend *b)
{
    for (int i = 0; i < GPU_N_AREAS; i++) {
        gpu_area *a = &b->area[i];
        CUZK_TRY(gpu_lane_create(&a->lane, b->device.ordinal, &b->lost));
        gpu_lane_set_hook(a->lane, b->cfg.at_slice, b->cfg.at_slice_ctx);
        CUZK_TRY(gpu_pin_take(&a->pin, GPU_MSM_PIN_BYTES, "results of sums"));
        CUZK_TRY(gpu_feed_init(&a->feed, feed_bytes[i], gpu_lane_stream(a->lane)));
        CUZK_TRY(gpu_stream_create(&a->up));
        CUZK_TRY(gpu_event_create(&a->up_done, false));
    }
    return cuzk_ok();
}

void gpu_area_drop_mem(gpu_area *a)
{
    if (!a->mem.p)
        return;
    /* It held witnesses. A failure shows at the next call. */
    if (gpu_fill(a->mem.p, 0, a->mem.bytes, gpu_lane_stream(a->lane)).code == CUZK_OK)
        (void)gpu_stream_wait_sync(gpu_lane_stream(a->lane)).code;
    gpu_mem_return(&a->mem);
}

void gpu_areas_destroy(gpu_backend *b)
{
    for (int i = 0; i < GPU_N_AREAS; i++) {
        gpu_area *a = &b->area[i];
        gpu_feed_fini(&a->feed);
        if (a->pin.p)
            mem_wipe(a->pin.p, a->pin.bytes);
        gpu_pin_return(&a->pin);
        gpu_area_drop_mem(a);
        gpu_event_destroy(a->up_done);
        gpu_stream_destroy(a->up);
        gpu_lane_destroy(a->lane);
        a->lane = NULL;
    }
}

/* Lock held. */
static bool is_mine(const gpu_area *a)
{
    return a->busy && pthread_equal(a->holder, pthread_self());
}

static void take(gpu_area *a)
{
    a->busy = true;
    a->holder = pthread_self();
}

/* Lock held, and held again on return: another thread's proof is in the way. */
static cuzk_status wait_a_little(gpu_backend *b, const run_ctx *rc)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += WAIT_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&b->idle, &b->lock, &until); /* the caller looks again anyway */
    return run_cancelled(rc) ? cuzk_fail(CUZK_E_CANCELLED, "cancelled while waiting for the device")
                             : cuzk_ok();
}

/* Lock held. */
static gpu_area *find_area(gpu_backend *b, uint64_t bytes)
{
    for (int i = 0; i < GPU_N_AREAS; i++)
        if (!b->area[i].busy && b->area[i].mem.bytes >= bytes)
            return &b->area[i];
    return NULL;
}

/* Lock held. Why waiting would never end, or OK. */
static cuzk_status never(const gpu_backend *b, uint64_t bytes)
{
    int n = 0;
    for (int i = 0; i < GPU_N_AREAS; i++) {
        if (b->area[i].mem.bytes < bytes)
            continue;
        if (!is_mine(&b->area[i]))
            return cuzk_ok();
        n++;
    }
    if (n == 0)
        return cuzk_fail(CUZK_E_NOMEM, "cuda backend: no work area of %llu bytes",
                         (unsigned long long)bytes);
    return cuzk_fail(CUZK_E_USAGE,
                     "cuda backend: a proof of %llu bytes inside another one: no area is free for "
                     "it",
                     (unsigned long long)bytes);
}

cuzk_status gpu_area_take(gpu_area **out, gpu_backend *b, uint64_t bytes, const run_ctx *rc)
{
    cuzk_status st = cuzk_ok();
    *out = NULL;
    pthread_mutex_lock(&b->lock);
    while (st.code == CUZK_OK && !(*out = find_area(b, bytes))) {
        st = never(b, bytes);
        if (st.code == CUZK_OK)
            st = wait_a_little(b, rc);
    }
    if (*out)
        take(*out);
    pthread_mutex_unlock(&b->lock);
    return st;
}

/* Lock held. */
static bool all_free(const gpu_backend *b, unsigned areas)
{
    for (int i = 0; i < GPU_N_AREAS; i++)
        if (areas >> i & 1 && b->area[i].busy)
            return false;
    return true;
}

/* All at once: whoever held one while waiting for the other could wait for a proof that waits for
 * the one held. */
cuzk_status gpu_area_take_these(gpu_backend *b, unsigned areas, const run_ctx *rc)
{
    cuzk_status st = cuzk_ok();
    pthread_mutex_lock(&b->lock);
    while (st.code == CUZK_OK && !all_free(b, areas)) {
        for (int i = 0; i < GPU_N_AREAS && st.code == CUZK_OK; i++)
            if (areas >> i & 1 && is_mine(&b->area[i]))
                st = cuzk_fail(CUZK_E_USAGE, "cuda backend: a proof is in the middle on this "
                                             "thread");
        if (st.code == CUZK_OK)
            st = wait_a_little(b, rc);
    }
    for (int i = 0; i < GPU_N_AREAS && st.code == CUZK_OK; i++)
        if (areas >> i & 1)
            take(&b->area[i]);
    pthread_mutex_unlock(&b->lock);
    return st;
}

void gpu_area_return_these(gpu_backend *b, unsigned areas)
{
    pthread_mutex_lock(&b->lock);
    for (int i = 0; i < GPU_N_AREAS; i++)
        if (areas >> i & 1)
            b->area[i].busy = false;
    pthread_cond_broadcast(&b->idle);
    pthread_mutex_unlock(&b->lock);
}

void gpu_area_return(gpu_backend *b, const gpu_area *a)
{
    gpu_area_return_these(b, 1u << (a - b->area));
}
