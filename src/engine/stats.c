/* Counters and histograms. */
#include "engine/engine_int.h"
#include "engine/part_view.h"
#include <stdio.h>
#include <unistd.h>

#define RETRY_MS_MIN 1000u
#define RETRY_MS_MAX 60000u

void stats_observe(engine *e, proof_kind kind, engine_stage stage, double seconds)
{
    engine_hist *h = &e->stats.stages[kind][stage];
    uint32_t i = 0;
    while (i < ENGINE_HIST_BUCKETS && seconds > ENGINE_HIST_BOUNDS[i])
        i++;
    h->count[i]++;
    h->sum += seconds;
}

/* Slots of minutes without completions are emptied when time has passed them. */
static void count_minute(engine *e, uint64_t minute, uint32_t n)
{
    for (uint32_t i = 0; i < 60 && e->stats.minute + i < minute; i++)
        e->stats.minutes[(e->stats.minute + 1 + i) % 60] = 0;
    if (minute > e->stats.minute)
        e->stats.minute = minute;
    e->stats.minutes[e->stats.minute % 60] += n;
}

void stats_job_ended(engine *e, const job *j)
{
    proof_kind kind = j->view.kind;
    const job_times *t = &j->view.times;
    if (j->view.state != JOB_DONE) {
        uint64_t *n = j->view.state == JOB_CANCELLED ? e->stats.cancelled : e->stats.failed;
        n[kind]++;
        return;
    }
    e->stats.completed[kind]++;
    count_minute(e, (clock_now_ns() - e->start_ns) / (60000u * (uint64_t)ENGINE_MS), 1);
    stats_observe(e, kind, ENGINE_STAGE_QUEUE, (double)t->queue_wait_ms / 1e3);
    stats_observe(e, kind, ENGINE_STAGE_KEY, (double)t->key_load_ms / 1e3);
    stats_observe(e, kind, ENGINE_STAGE_WITNESS, (double)t->witness_ms / 1e3);
    stats_observe(e, kind, ENGINE_STAGE_DEVICE, (double)t->device_ms / 1e3);
    stats_observe(e, kind, ENGINE_STAGE_VERIFY, (double)j->at.verify_busy_ns / 1e9);
    stats_observe(e, kind, ENGINE_STAGE_JOURNAL, (double)j->at.journal_ns / 1e9);
    stats_observe(e, kind, ENGINE_STAGE_TOTAL, (double)t->total_ms / 1e3);
    double busy = (double)(t->total_ms - t->queue_wait_ms), *mean = &e->stats.mean_total_ms;
    *mean = *mean > 0 ? 0.8 * *mean + 0.2 * busy : busy;
}

/* About when a place in the queue becomes free: one job's time. */
uint64_t stats_retry_after_ms(const engine *e)
{
    uint64_t ms = (uint64_t)e->stats.mean_total_ms / (e->n_devices ? e->n_devices : 1);
    return ms < RETRY_MS_MIN ? RETRY_MS_MIN : ms > RETRY_MS_MAX ? RETRY_MS_MAX : ms;
}

/* ---- snapshot ---- */

static void count_jobs(engine *e, engine_snapshot *s)
{
    for (const job *j = e->jobs.first; j; j = j->next) {
        if (j->is_queued)
            s->queued[j->view.kind][j->view.priority]++;
        else if (!job_state_is_final(j->view.state))
            s->running[j->view.kind]++;
    }
}

static void view_device(const device *d, engine_device_view *v)
{
    uint64_t busy = d->busy_ns + (d->busy_since_ns ? clock_now_ns() - d->busy_since_ns : 0);
    *v =
        (engine_device_view){.memory_total = d->cfg.memory_bytes,
                             .busy_seconds = (double)busy / 1e9,
                             .is_healthy = d->is_healthy,
                             .is_silent = atomic_load_explicit(&d->is_silent, memory_order_relaxed),
                             .n_faults = d->n_faults,
                             .n_partitions = d->n_partitions};
    snprintf(v->name, sizeof v->name, "%s", d->cfg.name);
    snprintf(v->model, sizeof v->model, "%s", d->cfg.model);
    snprintf(v->description, sizeof v->description, "%s", d->description);
    for (const key_entry *k = d->e->keys.first; k; k = k->next)
        if (k->slots[d->idx].handle && d->cfg.memory_bytes)
            v->memory_used += k->file_bytes;
    if (v->memory_used > v->memory_total)
        v->memory_used = v->memory_total; /* streamed */
    const device_batch *b = d->running;
    if (b) {
        snprintf(v->job_id, sizeof v->job_id, "%s", b->item[0].job->view.job_id);
        v->kind = b->item[0].job->view.kind;
        v->partition = b->item[0].partition;
    }
}

static void view_key(const engine *e, const key_entry *k, engine_key_view *v)
{
    *v = (engine_key_view){.host_bytes = k->host_bytes,
                           .last_used_unix_ms = k->last_used_unix_ms,
                           .load_ms = k->load_ms,
                           .n_users = k->n_users,
                           .is_loading = k->state == KEY_LOADING};
    snprintf(v->circuit_id, sizeof v->circuit_id, "%s", k->name);
    for (uint32_t d = 0; d < e->n_devices; d++)
        if (k->slots[d].handle && e->devices[d].cfg.memory_bytes)
            v->device_bytes += k->file_bytes;
}

static cuzk_status take_arrays(engine *e, engine_snapshot *s)
{
    uint32_t n_keys = 0, i = 0;
    for (const key_entry *k = e->keys.first; k; k = k->next)
        n_keys++;
    s->devices = mem_zalloc((e->n_devices + 1) * sizeof *s->devices, 8);
    s->keys = mem_zalloc((n_keys + 1) * sizeof *s->keys, 8);
    if (!s->devices || !s->keys)
        return cuzk_fail(CUZK_E_NOMEM, "a snapshot");
    s->n_devices = e->n_devices;
    s->n_keys = n_keys;
    for (uint32_t d = 0; d < e->n_devices; d++)
        view_device(&e->devices[d], &s->devices[d]);
    for (const key_entry *k = e->keys.first; k; k = k->next)
        view_key(e, k, &s->keys[i++]);
    CUZK_TRY(preloads_view(e, s));
    return part_view_take(e, s);
}

static void take_numbers(engine *e, engine_snapshot *s)
{
    uint64_t minute = (clock_now_ns() - e->start_ns) / (60000u * (uint64_t)ENGINE_MS);
    count_minute(e, minute, 0);
    for (uint32_t i = 0; i < 60; i++)
        s->per_minute[i] = e->stats.minutes[(minute + 1 + i) % 60];
    s->uptime_seconds = (double)(clock_now_ns() - e->start_ns) / 1e9;
    s->is_draining = e->is_draining;
    s->is_ready = !e->is_draining && preloads_are_ready(e);
    s->n_threads = pool_threads(e->pool);
    for (int k = 0; k < PROOF_N_KINDS; k++) {
        s->completed[k] = e->stats.completed[k];
        s->failed[k] = e->stats.failed[k];
        s->cancelled[k] = e->stats.cancelled[k];
        for (int g = 0; g < ENGINE_N_STAGES; g++)
            s->stages[k][g] = e->stats.stages[k][g];
    }
    s->rejected_invalid = e->stats.rejected_invalid;
    s->rejected_busy = e->stats.rejected_busy;
    s->deduplicated = e->stats.deduplicated;
    s->self_check_failures = e->stats.self_check_failures;
    s->partition_retries = e->stats.partition_retries;
    s->device_faults = e->stats.device_faults;
    s->unaccounted_seconds = e->stats.unaccounted_seconds;
    s->memory_budget = e->budget.total;
    s->memory_used = budget_used(&e->budget);
    s->request_bytes = e->request_bytes;
    s->key_hits = e->keys.n_hits;
    s->key_misses = e->keys.n_misses;
    s->key_evictions = e->keys.n_evictions;
}

/* Resident pages of this process that are its own: a mapped key file is page cache. */
static uint64_t own_rss(void)
{
    unsigned long long size, resident, shared;
    FILE *f = fopen("/proc/self/statm", "r");
    bool ok = f && fscanf(f, "%llu %llu %llu", &size, &resident, &shared) == 3;
    if (f)
        fclose(f);
    return ok ? (uint64_t)(resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

cuzk_status engine_get_snapshot(engine *e, engine_snapshot *out)
{
    *out = (engine_snapshot){0};
    engine_lock(e);
    cuzk_status st = take_arrays(e, out);
    take_numbers(e, out);
    count_jobs(e, out);
    engine_transport_fn *transport = e->transport;
    void *ctx = e->transport_ctx;
    engine_unlock(e);
    if (transport)
        transport(ctx, &out->transport);
    out->memory_rss = own_rss();
    out->store_bytes = e->store->ops->bytes(e->store);
    if (st.code != CUZK_OK)
        engine_snapshot_fini(out);
    return st;
}

void engine_set_transport(engine *e, engine_transport_fn *fn, void *ctx)
{
    engine_lock(e);
    e->transport = fn;
    e->transport_ctx = ctx;
    engine_unlock(e);
}

void engine_snapshot_fini(engine_snapshot *s)
{
    mem_free(s->devices);
    mem_free(s->keys);
    mem_free(s->preloads);
    mem_free(s->job_parts);
    mem_free(s->parts);
    *s = (engine_snapshot){0};
}
