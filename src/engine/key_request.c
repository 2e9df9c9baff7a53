/* Preloading and evicting keys on request from outside. */
#include "engine/engine_int.h"

static void tell_run(engine *e, host_task *t)
{
    key_waiter *w = t->arg;
    (void)e;
    w->fn(w->ctx, w->st, w->was_loaded, (clock_now_ns() - w->start_ns) / ENGINE_MS, w->bytes);
    mem_free(w);
}

void key_tell(engine *e, key_waiter **list, cuzk_status st, uint64_t bytes)
{
    while (*list) {
        key_waiter *w = *list;
        *list = w->next;
        w->st = st;
        w->bytes = bytes;
        w->task = (host_task){.run = tell_run, .arg = w, .is_part = true};
        host_push(e, &w->task, &(sched_rank){0});
    }
}

/* Lock held. What those who wait for k are to hear; false: nothing yet. */
static bool preload_result(const engine *e, const key_entry *k, cuzk_status *st)
{
    bool all = true;
    *st = k->st;
    if (e->is_draining)
        *st = cuzk_fail(CUZK_E_IO, "the daemon is stopping");
    else if (k->state == KEY_LOADING)
        return false;
    for (uint32_t d = 0; d < e->n_devices && st->code == CUZK_OK; d++) {
        const key_slot *s = &k->slots[d];
        if (s->st.code != CUZK_OK)
            *st = s->st;
        else if (e->devices[d].is_healthy && key_entry_fits(k, d) && (!s->handle || s->is_dropped))
            all = false;
    }
    if (st->code == CUZK_OK && !devices_usable(e, k))
        *st = cuzk_fail(CUZK_E_BUSY, "no device is healthy at the moment");
    return all || st->code != CUZK_OK;
}

void key_tell_preloads(engine *e, key_entry *k)
{
    cuzk_status st;
    if (!k->preloads || !preload_result(e, k, &st))
        return;
    key_waiter *list = k->preloads;
    uint64_t bytes = k->host_bytes + k->file_bytes;
    k->preloads = NULL;
    for (key_waiter *w = list; w; w = w->next)
        key_release(e, k); /* whoever calls holds a user of its own */
    key_tell(e, &list, st, bytes);
}

void key_tell_all_preloads(engine *e)
{
    for (key_entry *k = e->keys.first, *next; k; k = next) {
        next = k->next;
        k->n_users++;
        key_tell_preloads(e, k);
        k->n_users--; /* not a use: what is idle stays so */
        if (k->n_users == 0)
            witness_drop(e, k, NULL);
    }
}

static key_waiter *waiter_new(engine_key_fn *done, void *ctx)
{
    key_waiter *w = mem_zalloc(sizeof *w, 8);
    if (w)
        *w = (key_waiter){.fn = done, .ctx = ctx, .start_ns = clock_now_ns()};
    return w;
}

typedef struct preload_call {
    circuit_id id;
    key_waiter *w;
} preload_call;

/* Lock held. */
static cuzk_status no_room(engine *e, const char *name, uint64_t bytes)
{
    return cuzk_fail(CUZK_E_BUSY, "%s needs %llu MiB of host memory, %llu MiB are free", name,
                     (unsigned long long)(bytes >> 20),
                     (unsigned long long)(budget_left(&e->budget) >> 20));
}

/* Lock held. */
static cuzk_status preload_locked(engine *e, const preload_call *c, const job_demand *d)
{
    bool is_new;
    char name[CIRCUIT_ID_MAX];
    circuit_id_format(name, &c->id);
    if (e->is_draining)
        return cuzk_fail(CUZK_E_IO, "the daemon is stopping");
    key_entry *k = key_cache_find(&e->keys, name);
    if (k && (k->state == KEY_CLOSING || k->state == KEY_FAILED))
        return cuzk_fail(CUZK_E_BUSY, "%s is being released", name);
    if (!k && !budget_reserve(&e->budget, BUDGET_KEYS, d->key_bytes))
        return no_room(e, name, d->key_bytes);
    k = key_cache_pin(&e->keys, &c->id, &is_new);
    if (!k || (is_new && !key_start_load(e, k, &(sched_rank){.cls = JOB_CRITICAL - JOB_NORMAL}))) {
        budget_release(&e->budget, BUDGET_KEYS, d->key_bytes);
        if (k)
            key_cache_remove(&e->keys, k);
        return cuzk_fail(CUZK_E_NOMEM, "a key");
    }
    if (is_new)
        k->host_bytes = d->key_bytes;
    c->w->was_loaded = !is_new && k->state == KEY_READY;
    c->w->next = k->preloads;
    k->preloads = c->w;
    for (uint32_t dev = 0; dev < e->n_devices; dev++) {
        key_slot *s = &k->slots[dev];
        s->is_wanted = true;
        if (!s->handle) /* an earlier failure may have gone away */
            s->st = cuzk_ok();
    }
    devices_kick(e);
    k->n_users++; /* telling may release the preload's own */
    key_tell_preloads(e, k);
    key_release(e, k);
    return cuzk_ok();
}

static void preload_run(engine *e, host_task *t)
{
    preload_call *c = t->arg;
    job_demand d = {0};
    cuzk_status st = demand_of(&d, e, &c->id);
    engine_lock(e);
    if (st.code == CUZK_OK)
        st = preload_locked(e, c, &d);
    if (st.code != CUZK_OK)
        key_tell(e, &c->w, st, 0);
    host_task_done(e, t);
    engine_unlock(e);
    mem_free(c);
}

void engine_preload(engine *e, const char *circuit, engine_key_fn *done, void *ctx)
{
    preload_call *c = mem_zalloc(sizeof *c, 8);
    key_waiter *w = waiter_new(done, ctx);
    host_task *t = host_task_new(preload_run, c);
    if (!c || !w || !t) {
        mem_free(c);
        mem_free(w);
        mem_free(t);
        done(ctx, cuzk_fail(CUZK_E_NOMEM, "a preload"), false, 0, 0);
        return;
    }
    c->w = w;
    cuzk_status st = circuit_id_parse(&c->id, circuit);
    engine_lock(e);
    if (st.code == CUZK_OK) {
        host_push(e, t, &(sched_rank){.cls = JOB_CRITICAL - JOB_NORMAL});
    } else {
        key_tell(e, &c->w, st, 0);
        mem_free(c);
        mem_free(t);
    }
    engine_unlock(e);
}

void engine_evict(engine *e, const char *circuit, engine_key_fn *done, void *ctx)
{
    circuit_id id;
    cuzk_status st = circuit_id_parse(&id, circuit);
    key_waiter *w = waiter_new(done, ctx);
    if (!w) {
        done(ctx, cuzk_fail(CUZK_E_NOMEM, "an eviction"), false, 0, 0);
        return;
    }
    engine_lock(e);
    key_entry *k = st.code == CUZK_OK ? key_cache_find(&e->keys, circuit) : NULL;
    w->was_loaded = k != NULL;
    if (k && k->state == KEY_READY && k->n_users == 0)
        key_start_close(e, k);
    if (k && k->state == KEY_CLOSING) {
        w->next = k->evictions;
        k->evictions = w;
    } else {
        if (k)
            st = cuzk_fail(CUZK_E_BUSY, "%s is in use by %u", circuit, k->n_users);
        key_tell(e, &w, st, 0);
    }
    engine_unlock(e);
}
