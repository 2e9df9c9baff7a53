/* The dispatcher: starts queued jobs whose memory can be reserved, and does all that happens by time
 * alone. It never waits for anything but its condition. */
#include "engine/engine_int.h"
#include <string.h>

#define WATCH_EVERY_NS (100u * ENGINE_MS)
#define PRUNE_EVERY_NS (60000u * (uint64_t)ENGINE_MS)

void dispatch_kick(engine *e)
{
    e->dispatch_now = true;
    pthread_cond_signal(&e->dispatch_wake);
}

static void free_decoded_run(engine *e, host_task *t)
{
    decoded_task *d = t->arg;
    uint64_t bytes = d->mem.total_bytes;
    decoded_task_destroy(d);
    engine_lock(e);
    budget_release(&e->budget, BUDGET_DECODED, bytes);
    dispatch_kick(e);
    host_task_done(e, t);
    engine_unlock(e);
}

/* Give up a queued job's decoded request; it is decoded again when it starts. The least urgent one
 * goes first. */
static bool drop_a_decoded(engine *e, const job *keep)
{
    uint64_t now = now_ms();
    job *last = NULL;
    sched_rank last_rank = {0};
    for (uint32_t i = 0; i < e->sched.n; i++) {
        job *j = e->sched.e[i].job;
        sched_rank r = sched_entry_rank(&e->sched, &e->sched.e[i], now);
        if (j == keep || !j->decoded || (last && sched_rank_before(&r, &last_rank)))
            continue;
        last = j;
        last_rank = r;
    }
    host_task *t = last ? host_task_new(free_decoded_run, last->decoded) : NULL;
    if (!t)
        return false;
    last->decoded = NULL;
    host_push(e, t, &(sched_rank){0});
    return true;
}

/* Memory may become free without anyone finishing: start that. */
static void make_room(engine *e, const job *j, const key_entry *own)
{
    uint64_t now = now_ms();
    bool is_being_made = e->n_dropping;
    for (key_entry *c = e->keys.first; c; c = c->next) {
        bool drops = witness_drop(e, c, j);
        is_being_made = is_being_made || c->state == KEY_CLOSING || drops;
    }
    if (is_being_made)
        return;
    bool now_or_never = j->view.priority >= JOB_HIGH || e->n_active == 0;
    key_entry *k =
        key_cache_victim(&e->keys, now, now_or_never ? 0 : e->cfg.eviction_min_idle_ms, own);
    if (k)
        key_start_close(e, k);
    else
        drop_a_decoded(e, j);
}

static uint32_t wanted_slots(const engine *e, const job *j)
{
    uint32_t per_device = 1, left = j->n_parts - j->n_done;
    for (uint32_t d = 0; d < e->n_devices; d++)
        per_device =
            e->devices[d].cfg.batch_max > per_device ? e->devices[d].cfg.batch_max : per_device;
    uint64_t most = 2 * (uint64_t)per_device * e->n_devices;
    return left < most ? left : (uint32_t)most;
}

/* Room that n witnesses take beside the spare ones. */
static uint64_t room_of(const key_entry *k, uint32_t n, uint64_t each)
{
    return (n - witness_promise(k, n)) * each;
}

/* Reserve key, decoded request and as many witnesses as fit, all or nothing. */
static bool reserve(engine *e, job *j, key_entry *k)
{
    uint64_t key = k ? 0 : j->demand.key_bytes, decoded = j->decoded ? 0 : j->decoded_bytes;
    uint64_t each = k && k->state == KEY_READY ? k->witness_bytes : j->demand.witness_bytes;
    uint64_t left = budget_left(&e->budget);
    if (key + decoded > left)
        return false;
    uint32_t slots = wanted_slots(e, j);
    while (slots > 1 && room_of(k, slots, each) > left - key - decoded)
        slots--;
    if (room_of(k, slots, each) > left - key - decoded)
        return false;
    budget_force(&e->budget, BUDGET_KEYS, key);
    budget_force(&e->budget, BUDGET_DECODED, decoded);
    budget_force(&e->budget, BUDGET_WORK, room_of(k, slots, each));
    j->n_promised = witness_promise(k, slots);
    if (k)
        k->n_charged -= j->n_promised;
    j->n_slots = slots;
    j->slot_bytes = each;
    return true;
}

/* Larger than the whole budget, which may have shrunk since the job was accepted. */
static bool can_never_fit(const engine *e, const job *j, const key_entry *k, uint64_t *need)
{
    uint64_t key = k ? k->host_bytes : j->demand.key_bytes;
    uint64_t each = k && k->state == KEY_READY ? k->witness_bytes : j->demand.witness_bytes;
    *need = key + j->decoded_bytes + each;
    return *need > e->budget.total;
}

static uint32_t most_active(const engine *e)
{
    uint32_t batch = e->cfg.max_batch_size > 1 ? e->cfg.max_batch_size : 1;
    return batch * (e->n_devices + 1);
}

static sched_fit fit(void *ctx, const sched_entry *entry)
{
    engine *e = ctx;
    job *j = entry->job;
    key_entry *k = key_cache_find(&e->keys, j->view.circuit_id);
    j->batch = entry->batch;
    if (devices_usable(e, k) == 0) /* kept in the journal; a device may come back */
        return devices_usable(e, NULL) ? SCHED_NO_DEVICE : SCHED_NO_SLOT;
    if (j->view.priority < JOB_HIGH && e->n_bulk >= most_active(e))
        return SCHED_NO_SLOT;
    bool usable = !k || k->state == KEY_READY || k->state == KEY_LOADING;
    uint64_t need;
    if (usable && can_never_fit(e, j, k, &need)) {
        j->is_impossible = true; /* taken, to be failed: it would block the queue for ever */
        return SCHED_FITS;
    }
    if (usable && reserve(e, j, k))
        return SCHED_FITS;
    if (!j->at.blocked_ns)
        j->at.blocked_ns = clock_now_ns();
    if (usable)
        make_room(e, j, k);
    return SCHED_NO_ROOM;
}

static void fail_impossible(engine *e, job *j)
{
    uint64_t need;
    (void)can_never_fit(e, j, key_cache_find(&e->keys, j->view.circuit_id), &need);
    pipeline_fail(
        e, j, -1, "budget",
        cuzk_fail(CUZK_E_IMPOSSIBLE, "needs %llu MiB of host memory, the budget is %llu MiB",
                  (unsigned long long)(need >> 20), (unsigned long long)(e->budget.total >> 20)));
}

static void start_jobs(engine *e)
{
    job *j;
    while (!e->is_draining && (j = sched_take(&e->sched, now_ms(), fit, e)) != NULL) {
        j->is_queued = false;
        j->is_active = true;
        j->has_reservation = !j->is_impossible;
        e->n_active++;
        e->n_bulk += j->view.priority < JOB_HIGH;
        if (j->is_impossible)
            fail_impossible(e, j);
        else
            pipeline_start(e, j);
    }
}

static void prune_run(engine *e, host_task *t)
{
    engine_lock(e);
    uint64_t age = e->cfg.retention_ms;
    uint32_t most = e->cfg.retention_jobs, n = 0;
    engine_unlock(e);
    cuzk_status st = e->store->ops->prune(e->store, engine_unix_ms(), age, most, &n);
    if (st.code != CUZK_OK)
        log_error("journal_prune", LOG_STR("error", st.msg));
    else if (n)
        log_info("journal_pruned", LOG_U64("jobs", n));
    engine_lock(e);
    host_task_done(e, t);
    engine_unlock(e);
}

static void maybe_prune(engine *e, uint64_t now)
{
    if (now < e->prune_ns || (!e->cfg.retention_ms && !e->cfg.retention_jobs))
        return;
    e->prune_ns = now + PRUNE_EVERY_NS;
    host_task *t = host_task_new(prune_run, NULL);
    if (t)
        host_push(e, t, &(sched_rank){.cls = JOB_CRITICAL - JOB_LOW});
}

/* When to look again if nobody calls. */
static uint64_t next_wake_ns(const engine *e, uint64_t now)
{
    uint64_t at = now + 1000u * (uint64_t)ENGINE_MS;
    uint64_t ms = sched_next_event_ms(&e->sched, now / ENGINE_MS);
    if (e->sched.n) {
        uint64_t key =
            key_cache_next_victim_ms(&e->keys, now / ENGINE_MS, e->cfg.eviction_min_idle_ms);
        ms = key < ms ? key : ms;
    }
    if (ms != UINT64_MAX && ms * ENGINE_MS < at)
        at = (ms + 1) * ENGINE_MS;
    uint64_t preload_ns = preloads_next_ns(e);
    at = preload_ns < at ? preload_ns : at;
    for (uint32_t d = 0; d < e->n_devices; d++)
        if (e->devices[d].inside && now + WATCH_EVERY_NS < at)
            at = now + WATCH_EVERY_NS;
    return at;
}

static void *dispatcher_main(void *arg)
{
    engine *e = arg;
    engine_lock(e);
    while (!e->is_stopping) {
        e->dispatch_now = false;
        uint64_t now = clock_now_ns();
        devices_watch(e, now);
        start_jobs(e);
        maybe_prune(e, now);
        job_record_ends(e, now);
        preloads_retry(e, now);
        if (!e->dispatch_now && !e->is_stopping)
            locks_wait_until(&e->dispatch_wake, &e->lock, next_wake_ns(e, now));
    }
    engine_unlock(e);
    return NULL;
}

cuzk_status dispatcher_start(engine *e)
{
    int err = pthread_create(&e->dispatcher, NULL, dispatcher_main, e);
    if (err)
        return cuzk_fail(CUZK_E_NOMEM, "dispatcher thread: %s", strerror(err));
    e->has_dispatcher = true;
    return cuzk_ok();
}

void dispatcher_join(engine *e)
{
    if (!e->has_dispatcher)
        return;
    engine_lock(e);
    e->is_stopping = true;
    pthread_cond_broadcast(&e->dispatch_wake);
    engine_unlock(e);
    pthread_join(e->dispatcher, NULL);
    e->has_dispatcher = false;
}
