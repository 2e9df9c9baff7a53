/* The engine's life: open, recover, start; drain, stop, close. */
#include "engine/engine_int.h"
#include "engine/part_view.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PATIENCE_MS 30000u

uint64_t engine_unix_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / ENGINE_MS;
}

static sched_limits limits_of(const engine_config *cfg)
{
    sched_limits l = {.max_batch_size = cfg->max_batch_size,
                      .max_batch_wait_ms = cfg->max_batch_wait_ms,
                      .ageing_ms = cfg->ageing_ms,
                      .patience_ms = PATIENCE_MS};
    memcpy(l.max_active, cfg->max_active, sizeof l.max_active);
    return l;
}

static void set_config(engine *e, const engine_config *cfg, uint64_t memory_total)
{
    e->cfg = *cfg;
    e->cfg.param_dir = e->cfg.store_path = NULL;
    e->cfg.devices = NULL;
    e->cfg.preload = NULL;
    atomic_store_explicit(&e->timeline_lines, cfg->timeline_lines, memory_order_relaxed);
    e->budget.total = memory_total;
    e->sched.limits = limits_of(cfg);
}

static uint64_t memory_total_of(const engine_config *cfg)
{
    uint64_t limit = budget_host_limit("/proc", "/sys/fs/cgroup");
    uint64_t total = budget_choose_total(cfg->memory_budget_bytes, limit);
    if (cfg->memory_budget_bytes > total)
        log_warn("memory_budget", LOG_U64("configured_bytes", cfg->memory_budget_bytes),
                 LOG_U64("limit_bytes", limit));
    return total;
}

static void init(engine *e, const engine_config *cfg)
{
    e->start_ns = clock_now_ns();
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_t *conds[] = {&e->host_wake, &e->host_urgent_wake, &e->dispatch_wake,
                               &e->notify_wake, &e->changed};
    for (size_t i = 0; i < ARRAY_LEN(conds); i++)
        locks_cond_init(conds[i]);
    e->notify_last = &e->notify_first;
    sched_limits l = limits_of(cfg);
    sched_init(&e->sched, &l);
    set_config(e, cfg, memory_total_of(cfg));
    e->prune_ns = e->start_ns;
}

static cuzk_status build_devices(engine *e, const engine_config *cfg)
{
    if (cfg->n_devices == 0 || cfg->n_devices > SHARE_DEVICES_MAX)
        return cuzk_fail(CUZK_E_USAGE, "%u devices, want 1 to %u", cfg->n_devices,
                         SHARE_DEVICES_MAX);
    e->devices = mem_zalloc(cfg->n_devices * sizeof *e->devices, 64);
    if (!e->devices)
        return cuzk_fail(CUZK_E_NOMEM, "%u devices", cfg->n_devices);
    e->n_devices = cfg->n_devices;
    for (uint32_t i = 0; i < cfg->n_devices; i++) {
        device *d = &e->devices[i];
        *d = (device){.e = e, .idx = i, .cfg = cfg->devices[i], .is_healthy = true};
        locks_cond_init(&d->wake);
        d->cfg.batch_max = d->cfg.batch_max == 0                   ? 1
                           : d->cfg.batch_max > JOB_PARTITIONS_MAX ? JOB_PARTITIONS_MAX
                                                                   : d->cfg.batch_max;
        d->cfg.backend->ops->describe(d->cfg.backend, d->description, sizeof d->description);
        e->n_host_devices += d->cfg.memory_bytes == 0;
        const run_ctx rc = {.pool = e->pool, .is_urgent = true};
        CUZK_TRY(cuzk_wrap(d->cfg.backend->ops->self_test(d->cfg.backend, &rc), "device %s",
                           d->cfg.name));
    }
    return cuzk_ok();
}

/* When a job of an earlier run was received, on this run's clock: its times count what passed
 * between the runs. The clock may be younger than the job. */
static uint64_t received_ns(const job_view *v, uint64_t now)
{
    uint64_t unix_now = engine_unix_ms();
    uint64_t ago_ms = unix_now > v->created_unix_ms ? unix_now - v->created_unix_ms : 0;
    return ago_ms < now / ENGINE_MS ? now - ago_ms * ENGINE_MS : 1;
}

/* A live job of the journal, back in the queue. */
static cuzk_status recover_job(engine *e, const store_job *stored)
{
    job *j;
    CUZK_TRY(job_create(&j));
    j->view = stored->view;
    j->view.state = JOB_QUEUED;
    j->is_recovered = true;
    memcpy(j->digest, stored->digest, 32);
    j->at.queued_ns = clock_now_ns();
    j->at.received_ns = received_ns(&j->view, j->at.queued_ns);
    cuzk_status st = circuit_id_parse(&j->circuit, j->view.circuit_id);
    if (st.code == CUZK_OK)
        st = job_make_parts(j, j->view.n_partitions);
    sched_entry entry = {.job = j,
                         .kind = j->view.kind,
                         .priority = j->view.priority,
                         .deadline_unix_ms = j->view.deadline_unix_ms,
                         .queued_ms = now_ms()};
    memcpy(entry.circuit, j->view.circuit_id, sizeof entry.circuit);
    /* Without a key file it fails when it starts, with the reason. */
    if (st.code == CUZK_OK && demand_of(&j->demand, e, &j->circuit).code != CUZK_OK)
        j->demand = (job_demand){0};
    if (st.code == CUZK_OK)
        st = sched_add(&e->sched, &entry);
    if (st.code != CUZK_OK) {
        job_destroy(j);
        return st;
    }
    j->seq = e->sched.e[e->sched.n - 1].seq;
    j->is_queued = true;
    job_table_add(&e->jobs, j);
    return cuzk_ok();
}

static cuzk_status recover(engine *e)
{
    store_job *jobs;
    uint32_t n;
    CUZK_TRY(e->store->ops->recover(e->store, &jobs, &n));
    cuzk_status st = cuzk_ok();
    for (uint32_t i = 0; i < n && st.code == CUZK_OK; i++) {
        st = recover_job(e, &jobs[i]);
        if (st.code == CUZK_E_INPUT || st.code == CUZK_E_UNSUPPORTED) {
            /* Written by a version that knew more; left in the journal. */
            log_error("recover", LOG_STR("job", jobs[i].view.job_id), LOG_STR("error", st.msg));
            st = cuzk_ok();
        }
    }
    mem_free(jobs);
    if (n)
        log_info("recovered", LOG_U64("jobs", n));
    return st;
}

static cuzk_status build(engine *e, const engine_config *cfg)
{
    e->param_dir = mem_strdup(cfg->param_dir);
    if (!e->param_dir)
        return cuzk_fail(CUZK_E_NOMEM, "the engine");
    CUZK_TRY(preloads_init(e, cfg));
    CUZK_TRY(pool_create(&e->pool, cfg->n_threads));
    uint32_t n = cfg->n_host_workers ? cfg->n_host_workers : pool_threads(e->pool) / 2;
    e->n_host_workers = n < 2 ? 2 : n > ENGINE_HOST_WORKERS_MAX ? ENGINE_HOST_WORKERS_MAX : n;
    if (!cfg->n_host_workers && e->n_host_workers > 8)
        e->n_host_workers = 8; /* they use the pool for what is big */
    CUZK_TRY(build_devices(e, cfg));
    CUZK_TRY(store_sqlite_open(&e->store, cfg->store_path));
    CUZK_TRY(recover(e));
    CUZK_TRY(host_workers_start(e));
    CUZK_TRY(notifier_start(e));
    CUZK_TRY(devices_start(e));
    CUZK_TRY(dispatcher_start(e));
    preloads_start(e);
    return cuzk_ok();
}

cuzk_status engine_create(engine **out, const engine_config *cfg)
{
    *out = NULL;
    engine *e = mem_zalloc(sizeof *e, 64);
    if (!e)
        return cuzk_fail(CUZK_E_NOMEM, "the engine");
    init(e, cfg);
    cuzk_status st = build(e, cfg);
    if (st.code != CUZK_OK) {
        engine_destroy(e);
        return st;
    }
    *out = e;
    return cuzk_ok();
}

/* ---- the end ---- */

/* Lock held: nothing computes any more. Jobs that wait do not count. */
static bool is_quiet(const engine *e)
{
    for (uint32_t d = 0; d < e->n_devices; d++)
        if (e->devices[d].running)
            return false;
    if (e->n_host_busy || e->n_submissions)
        return false;
    for (int c = 0; c < JOB_N_PRIORITIES; c++)
        if (e->tasks[c])
            return false;
    return true;
}

void engine_drain(engine *e, uint64_t timeout_ms)
{
    uint64_t until = clock_now_ns() + timeout_ms * ENGINE_MS;
    engine_lock(e);
    e->is_draining = true;
    for (key_entry *k = e->keys.first; k; k = k->next) /* checks of files need not be waited for */
        atomic_store_explicit(&k->is_unwanted, true, memory_order_relaxed);
    key_tell_all_preloads(e);
    pthread_cond_broadcast(&e->dispatch_wake);
    while (!is_quiet(e) && clock_now_ns() < until)
        locks_wait_until(&e->changed, &e->lock, until);
    atomic_store_explicit(&e->stop_work, true, memory_order_relaxed);
    submission_cancel_all(e);
    for (job *j = e->jobs.first; j; j = j->next)
        atomic_store_explicit(&j->stop, true, memory_order_relaxed);
    engine_unlock(e);
}

static void fini(engine *e)
{
    part_view_fini(e);
    for (job *j = e->jobs.first, *next; j; j = next) {
        next = j->next;
        job_destroy(j);
    }
    for (key_entry *k = e->keys.first, *next; k; k = next) {
        next = k->next;
        for (uint32_t d = 0; d < e->n_devices; d++)
            if (k->slots[d].handle)
                e->devices[d].cfg.backend->ops->unload(e->devices[d].cfg.backend,
                                                       k->slots[d].handle);
        witness_drop_all(k);
        g16_pvk_destroy(k->pvk);
        g16_vk_fini(&k->vk);
        g16_key_close(k->key);
        r1cs_shape_destroy(k->shape);
        while (k->preloads) {
            key_waiter *w = k->preloads;
            k->preloads = w->next;
            mem_free(w);
        }
        mem_free(k);
    }
    if (e->store) {
        cuzk_status st = e->store->ops->close(e->store);
        if (st.code != CUZK_OK)
            log_error("journal_close", LOG_STR("error", st.msg));
    }
    pool_destroy(e->pool);
    sched_fini(&e->sched);
    mem_free(e->devices);
    mem_free(e->preloads);
    mem_free(e->param_dir);
    pthread_mutex_destroy(&e->lock);
    mem_free(e);
}

bool engine_destroy(engine *e)
{
    if (!e)
        return true;
    if (!atomic_load_explicit(&e->stop_work, memory_order_relaxed))
        engine_drain(e, 0);
    dispatcher_join(e);
    bool all = devices_join(e);
    host_workers_join(e);
    notifier_join(e);
    if (all)
        fini(e); /* else a device still reads what would be freed, until the process ends */
    return all;
}

bool engine_is_ready(const engine *e)
{
    engine *w = (engine *)(uintptr_t)e; /* the lock is not part of its value */
    engine_lock(w);
    bool ready = !w->is_draining && preloads_are_ready(w);
    engine_unlock(w);
    return ready;
}

cuzk_status engine_reconfigure(engine *e, const engine_config *cfg)
{
    uint64_t memory_total = memory_total_of(cfg);
    engine_lock(e);
    set_config(e, cfg, memory_total);
    dispatch_kick(e);
    engine_unlock(e);
    return cuzk_ok();
}
