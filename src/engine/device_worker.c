/* One thread per device: what it does when it is not proving, and what happens when it fails. */
#include "engine/engine_int.h"
#include <string.h>

#define SHORT_TESTS 30u /* self-tests, a second apart, that may find no memory */
#define IDLE_NS (1000u * (uint64_t)ENGINE_MS)
#define LOOK_EVERY_NS (10u * (uint64_t)ENGINE_MS)
#define GIVE_WAY_MAX \
    3u /* loads of a key in a row that urgent work may end: the next one is finished */
#define JOIN_NS (5000u * (uint64_t)ENGINE_MS)

uint32_t devices_usable(const engine *e, const key_entry *k)
{
    uint32_t mask = 0;
    for (uint32_t d = 0; d < e->n_devices; d++)
        mask |= (uint32_t)e->devices[d].is_healthy << d;
    return k ? mask & ~k->too_small : mask;
}

void devices_kick(engine *e)
{
    for (uint32_t d = 0; d < e->n_devices; d++) {
        atomic_store_explicit(&e->devices[d].attention, true, memory_order_release);
        pthread_cond_signal(&e->devices[d].wake);
    }
}

void device_forget_pace(device *d)
{
    for (key_entry *k = d->e->keys.first; k; k = k->next)
        k->slots[d->idx].is_cold = true;
}

void device_blame(device *d, const cuzk_status *st)
{
    if (st->code != CUZK_E_DEVICE && st->code != CUZK_E_DEVICE_LOST)
        return;
    d->n_faults++;
    d->e->stats.device_faults++;
    d->needs_test = true;
    device_forget_pace(d);
}

/* ---- handles ---- */

bool device_drop_handles(device *d)
{
    engine *e = d->e;
    bool any = false;
    for (key_entry *k = e->keys.first, *next; k; k = next) {
        next = k->next;
        key_slot *s = &k->slots[d->idx];
        if (!s->is_dropped || s->in_use)
            continue;
        void *h = s->handle;
        s->handle = NULL;
        s->is_dropped = false;
        if (h) {
            s->in_use = true; /* keeps the entry */
            const char *outer = device_enter(d, "unload");
            engine_unlock(e);
            d->cfg.backend->ops->unload(d->cfg.backend, h);
            engine_lock(e);
            device_leave(d, outer);
            s->in_use = false;
            /* A preload that waits for other devices needs it here, too. */
            s->is_wanted = s->is_wanted || (k->preloads && k->state == KEY_READY);
            any = true;
        }
        next = e->keys.first; /* the list may have changed */
        key_maybe_close(e, k);
        if (any)
            dispatch_kick(e);
    }
    return any;
}

/* Unload a handle to make room on the device. Lock held. */
static bool make_device_room(device *d, const key_entry *keep, bool also_used)
{
    key_entry *v = key_cache_slot_victim(&d->e->keys, d->idx, keep, also_used);
    if (!v)
        return false;
    v->slots[d->idx].is_dropped = true;
    v->slots[d->idx].is_wanted = false;
    return device_drop_handles(d);
}

/* A load under way, which urgent work may end. */
typedef struct key_load {
    device *d;
    key_entry *k;
    const run_ctx *rc; /* of who asked for it */
    uint64_t looked_ns;
    bool gave_way;
} key_load;

/* run_ctx.cancelled of a load; from the device's thread, without the lock. */
static bool load_is_over(void *ctx)
{
    key_load *l = ctx;
    device *d = l->d;
    if (run_cancelled(l->rc) || l->gave_way)
        return true;
    uint64_t now = clock_now_ns();
    if (now - l->looked_ns < LOOK_EVERY_NS ||
        !atomic_load_explicit(&d->attention, memory_order_acquire))
        return false;
    l->looked_ns = now;
    engine_lock(d->e);
    l->gave_way = l->k->slots[d->idx].n_gave_way < GIVE_WAY_MAX && batch_beats_load(d, l->k);
    d->gives_way = l->gave_way; /* others need not */
    engine_unlock(d->e);
    return l->gave_way;
}

static cuzk_status load_once(device *d, key_entry *k, const run_ctx *rc, void **handle)
{
    engine *e = d->e;
    const char *outer = device_enter(d, "key load");
    engine_unlock(e);
    cuzk_status st = d->cfg.backend->ops->load(d->cfg.backend, k->shape, k->key, rc, handle);
    engine_lock(e);
    device_leave(d, outer); /* what comes late is kept: a self-test is made before it is used */
    return st;
}

cuzk_status device_ensure_handle(device *d, key_entry *k, bool also_used, const run_ctx *rc)
{
    key_slot *s = &k->slots[d->idx];
    device_drop_handles(d);
    if (s->handle)
        return cuzk_ok();
    void *handle = NULL;
    key_load l = {.d = d, .k = k, .rc = rc};
    run_ctx load_rc = *rc;
    load_rc.cancelled = load_is_over;
    load_rc.cancel_ctx = &l;
    s->in_use = true;
    s->st = cuzk_ok();
    cuzk_status st;
    do
        st = load_once(d, k, &load_rc, &handle);
    while (st.code == CUZK_E_NOMEM && make_device_room(d, k, also_used));
    d->gives_way = false;
    s->in_use = false;
    s->n_gave_way = st.code == CUZK_E_CANCELLED ? s->n_gave_way + l.gave_way : 0;
    /* By one job, for urgent work, or inside a proof: it says nothing to others who want the key. */
    if (st.code == CUZK_E_CANCELLED || (d->running && batch_is_not_now(d->running, &st)))
        return cuzk_wrap(st, "loading the key of %s", k->name);
    s->is_wanted = false;
    s->st = st;
    if (st.code == CUZK_OK) {
        s->handle = handle;
        /* Given up meanwhile. */
        s->is_dropped = k->state == KEY_CLOSING;
    }
    key_tell_preloads(d->e, k);
    return cuzk_wrap(st, "loading the key of %s", k->name);
}

static bool load_wanted(device *d, bool only_asked_for)
{
    engine *e = d->e;
    if (e->is_draining || !d->is_healthy || d->needs_test)
        return false;
    for (key_entry *k = e->keys.first; k; k = k->next) {
        key_slot *s = &k->slots[d->idx];
        if (k->state != KEY_READY || !s->is_wanted || s->handle || s->in_use ||
            !key_entry_fits(k, d->idx) || (only_asked_for && !k->preloads))
            continue;
        const run_ctx rc = {.pool = e->pool, .cancelled = device_is_unwanted, .cancel_ctx = d};
        k->n_users++;
        cuzk_status st = device_ensure_handle(d, k, false, &rc);
        device_blame(d, &st);
        key_release(e, k);
        /* Without room it is loaded when its turn comes. */
        if (st.code != CUZK_OK && st.code != CUZK_E_CANCELLED && st.code != CUZK_E_NOMEM) {
            engine_unlock(e);
            log_error("device_load", LOG_STR("device", d->cfg.name), LOG_STR("error", st.msg));
            engine_lock(e);
        }
        return true;
    }
    return false;
}

/* ---- health ---- */

static cuzk_status self_test(device *d)
{
    const run_ctx rc = {
        .pool = d->e->pool, .cancelled = device_is_unwanted, .cancel_ctx = d, .is_urgent = true};
    const char *outer = device_enter(d, "self-test");
    engine_unlock(d->e);
    cuzk_status st = d->cfg.backend->ops->self_test(d->cfg.backend, &rc);
    if (st.code == CUZK_OK)
        log_info("device_tested", LOG_STR("device", d->cfg.name));
    else
        log_error("device_test", LOG_STR("device", d->cfg.name), LOG_STR("error", st.msg));
    engine_lock(d->e);
    if (device_leave(d, outer))
        return cuzk_fail(CUZK_E_CANCELLED, "the self-test of %s came too late", d->cfg.name);
    return st;
}

/* A test that could not be made says nothing: it is made a little later. Lock held; released
 * meanwhile. */
static void test_later(device *d)
{
    uint64_t until = clock_now_ns() + IDLE_NS;
    d->needs_test = true;
    while (!d->e->is_stopping && clock_now_ns() < until)
        locks_wait_until(&d->wake, &d->e->lock, until);
}

static void run_test(device *d)
{
    engine *e = d->e;
    cuzk_status st;
    d->needs_test = false;
    d->is_testing = true;
    device_drop_handles(d);
    do
        st = self_test(d);
    while (st.code == CUZK_E_NOMEM && make_device_room(d, NULL, true));
    d->is_testing = false;
    if (st.code == CUZK_E_CANCELLED ||
        (st.code == CUZK_E_NOMEM && ++d->n_short_tests < SHORT_TESTS)) {
        test_later(d);
        return;
    }
    d->n_short_tests = 0;
    d->is_healthy = st.code == CUZK_OK;
    d->n_bad_tests = d->is_healthy ? 0 : d->n_bad_tests + 1;
    d->retest_ns = clock_now_ns() + device_retest_after_ns(e);
    devices_check_any(e);
    key_tell_all_preloads(e);
    devices_kick(e);
    dispatch_kick(e);
}

/* ---- the thread ---- */

static void *device_main(void *arg)
{
    device *d = arg;
    engine *e = d->e;
    device_batch *b;
    engine_lock(e);
    while (!e->is_stopping) {
        atomic_store_explicit(&d->attention, false, memory_order_relaxed);
        if (d->needs_test)
            run_test(d);
        else if (device_drop_handles(d))
            continue;
        /* What was asked for comes before bulk work, which might never leave a gap. */
        else if (!batch_is_urgent_ready(d) && load_wanted(d, true))
            continue;
        else if ((b = batch_pick(d, NULL)) != NULL)
            batch_prove(b);
        else if (load_wanted(d, false))
            continue;
        else if (!e->is_stopping) {
            pthread_cond_broadcast(&e->changed);
            /* Not for ever: a batch may have failed for want of memory. */
            locks_wait_until(&d->wake, &e->lock, clock_now_ns() + IDLE_NS);
        }
    }
    d->has_exited = true;
    pthread_cond_broadcast(&e->changed);
    engine_unlock(e);
    return NULL;
}

cuzk_status devices_start(engine *e)
{
    for (uint32_t i = 0; i < e->n_devices; i++) {
        int err = pthread_create(&e->devices[i].thread, NULL, device_main, &e->devices[i]);
        if (err)
            return cuzk_fail(CUZK_E_NOMEM, "device thread %u: %s", i, strerror(err));
        e->devices[i].is_started = true;
    }
    return cuzk_ok();
}

bool devices_join(engine *e)
{
    bool all = true;
    uint64_t until = clock_now_ns() + JOIN_NS;
    engine_lock(e);
    e->is_stopping = true;
    devices_kick(e);
    for (uint32_t i = 0; i < e->n_devices; i++) {
        device *d = &e->devices[i];
        while (d->is_started && !d->has_exited && clock_now_ns() < until)
            locks_wait_until(&e->changed, &e->lock, until);
    }
    engine_unlock(e);
    for (uint32_t i = 0; i < e->n_devices; i++) {
        device *d = &e->devices[i];
        if (d->is_started && d->has_exited)
            pthread_join(d->thread, NULL);
        else if (d->is_started) {
            log_error("device_stuck", LOG_STR("device", d->cfg.name));
            all = false;
        }
        d->is_started = d->is_started && !d->has_exited;
    }
    return all;
}
