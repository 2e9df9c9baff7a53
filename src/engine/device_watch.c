/* Watching devices: which are silent inside a call of their backend, and which nobody waits for any
 * more. */
#include "engine/engine_int.h"

#define RETEST_MS 30000u
#define GIVE_UP_TESTS 4u /* failed self-tests in a row after which nobody waits for a device */

uint64_t device_retest_after_ns(const engine *e)
{
    uint64_t ms = e->cfg.device_retest_ms ? e->cfg.device_retest_ms : RETEST_MS;
    return ms * ENGINE_MS;
}

/* ---- signs of life ---- */

void device_alive(device *d)
{
    atomic_store_explicit(&d->alive_ns, clock_now_ns(), memory_order_relaxed);
}

bool device_is_unwanted(void *ctx)
{
    device *d = ctx;
    device_alive(d);
    return atomic_load_explicit(&d->e->stop_work, memory_order_relaxed) ||
           atomic_load_explicit(&d->is_silent, memory_order_relaxed);
}

const char *device_enter(device *d, const char *what)
{
    const char *outer = d->inside;
    d->inside = what;
    device_alive(d);
    return outer;
}

bool device_leave(device *d, const char *outer)
{
    d->inside = outer;
    device_alive(d);
    return atomic_exchange_explicit(&d->is_silent, false, memory_order_relaxed);
}

/* Those who wait for a key that is being loaded hear of it; the load may still end well. Lock held. */
static void fail_loads(const device *d, const cuzk_status *why)
{
    for (key_entry *k = d->e->keys.first; k; k = k->next) {
        key_slot *s = &k->slots[d->idx];
        if (s->in_use && !s->handle)
            s->st = cuzk_wrap(*why, "loading the key of %s", k->name);
    }
}

/* Lock held; released meanwhile. */
static void give_up_silent(device *d, uint64_t now, uint64_t silent_ns)
{
    engine *e = d->e;
    cuzk_status why =
        cuzk_fail(CUZK_E_DEVICE, "device %s gave no sign of life for %llu ms (%s)", d->cfg.name,
                  (unsigned long long)(silent_ns / ENGINE_MS), d->inside);
    atomic_store_explicit(&d->is_silent, true, memory_order_relaxed);
    d->silent_ns = now;
    d->is_healthy = false;
    d->needs_test = true; /* if it ever comes back */
    d->n_bad_tests += d->is_testing;
    d->n_faults++;
    e->stats.device_faults++;
    device_forget_pace(d);
    for (device_batch *b = d->running; b; b = b->outer)
        batch_abandon(b, &why);
    fail_loads(d, &why);
    key_tell_all_preloads(e);
    devices_kick(e);
    engine_unlock(e);
    log_error("device_timeout", LOG_STR("device", d->cfg.name), LOG_STR("error", why.msg));
    engine_lock(e);
}

/* ---- devices to wait for ---- */

/* A device can come back: a process is started again, a driver recovers. Jobs wait for that, as it
 * costs them less than to fail, but not for ever: whoever sent them may have another prover. */
static bool is_given_up(const engine *e, const device *d, uint64_t now)
{
    if (d->is_healthy)
        return false;
    return d->n_bad_tests >= GIVE_UP_TESTS ||
           (atomic_load_explicit(&d->is_silent, memory_order_relaxed) && now > d->silent_ns &&
            now - d->silent_ns > (GIVE_UP_TESTS - 1) * device_retest_after_ns(e));
}

void devices_check_any(engine *e)
{
    uint64_t now = clock_now_ns();
    uint32_t hopeful = 0;
    for (uint32_t d = 0; d < e->n_devices; d++)
        hopeful |= (uint32_t)!is_given_up(e, &e->devices[d], now) << d;
    for (job *j = e->jobs.first, *next; j; j = next) {
        next = j->next;
        uint32_t left = j->key ? hopeful & ~j->key->too_small : hopeful;
        if (!left && j->is_active && !j->is_ending && j->n_done < j->n_parts)
            pipeline_fail(e, j, -1, "device",
                          cuzk_fail(CUZK_E_DEVICE, "no healthy device is left"));
    }
}

void devices_watch(engine *e, uint64_t now)
{
    uint64_t limit = e->cfg.device_timeout_ms * (uint64_t)ENGINE_MS;
    for (uint32_t i = 0; i < e->n_devices; i++) {
        device *d = &e->devices[i];
        if (!d->is_healthy && !d->inside && !d->is_testing && d->retest_ns && now > d->retest_ns) {
            d->needs_test = true;
            pthread_cond_signal(&d->wake);
        }
        if (!limit || !d->inside || atomic_load_explicit(&d->is_silent, memory_order_relaxed))
            continue;
        uint64_t alive = atomic_load_explicit(&d->alive_ns, memory_order_relaxed);
        if (now > alive && now - alive > limit)
            give_up_silent(d, now, now - alive);
    }
    devices_check_any(e);
}
