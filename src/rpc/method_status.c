/* GetStatus and GetMetrics, both from one snapshot of the engine. */
#include "base/arena.h"
#include "base/mem.h"
#include "engine/metrics.h"
#include "rpc/service_int.h"
#include "base/utf8.h"
#include "rpc/wire.h"
#include <stdlib.h>
#include <string.h>

#define STATUS_JOBS_MAX 200u /* of each live state */

typedef Cuzk__V1__GetStatusResponse status;

/* A status being put together; what it points to lies in the arena or the snapshot. */
typedef struct draft {
    status out;
    arena mem;
    engine_snapshot snap;
    job_view *jobs;
    uint32_t n_jobs;
    json_writer json;
} draft;

/* The number of "cuda:3"; 0 for the CPU, as in the HTTP status. */
static uint32_t ordinal_of(const char *device)
{
    const char *colon = strchr(device, ':');
    return colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0;
}

static cuzk_status add_gpus(draft *d)
{
    uint32_t n = d->snap.n_devices;
    Cuzk__V1__GPUStatus *rows = arena_alloc(&d->mem, (n + 1) * sizeof *rows, 16);
    d->out.gpus = arena_alloc(&d->mem, (n + 1) * sizeof *d->out.gpus, 16);
    if (!rows || !d->out.gpus)
        return cuzk_fail(CUZK_E_NOMEM, "status");
    for (uint32_t i = 0; i < n; i++) {
        engine_device_view *v = &d->snap.devices[i];
        cuzk__v1__gpustatus__init(&rows[i]);
        rows[i].ordinal = ordinal_of(v->name);
        utf8_repair(v->name);
        utf8_repair(v->model);
        utf8_repair(v->description);
        utf8_repair(v->job_id);
        rows[i].name = v->model[0] ? v->model : v->name;
        rows[i].device = v->name;
        rows[i].description = v->description;
        rows[i].vram_total_bytes = v->memory_total;
        rows[i].vram_free_bytes =
            v->memory_total > v->memory_used ? v->memory_total - v->memory_used : 0;
        rows[i].current_job_id = v->job_id;
        if (v->job_id[0])
            rows[i].current_proof_kind = (char *)(uintptr_t)ENGINE_KIND_LABELS[v->kind];
        rows[i].is_healthy = v->is_healthy;
        rows[i].is_silent = v->is_silent;
        rows[i].busy_seconds = v->busy_seconds;
        rows[i].faults = v->n_faults;
        rows[i].partitions_proven = v->n_partitions;
        rows[i].current_partition = v->partition;
        d->out.gpus[i] = &rows[i];
    }
    d->out.n_gpus = n;
    return cuzk_ok();
}

static cuzk_status add_keys(draft *d)
{
    uint32_t n = d->snap.n_keys;
    Cuzk__V1__SRSStatus *rows = arena_alloc(&d->mem, (n + 1) * sizeof *rows, 16);
    d->out.loaded_srs = arena_alloc(&d->mem, (n + 1) * sizeof *d->out.loaded_srs, 16);
    if (!rows || !d->out.loaded_srs)
        return cuzk_fail(CUZK_E_NOMEM, "status");
    for (uint32_t i = 0; i < n; i++) {
        engine_key_view *v = &d->snap.keys[i];
        cuzk__v1__srsstatus__init(&rows[i]);
        utf8_repair(v->circuit_id);
        rows[i].circuit_id = v->circuit_id;
        rows[i].tier = v->is_loading     ? CUZK__V1__SRSSTATUS__TIER__COLD
                       : v->device_bytes ? CUZK__V1__SRSSTATUS__TIER__HOT
                                         : CUZK__V1__SRSSTATUS__TIER__WARM;
        rows[i].size_bytes = v->host_bytes + v->device_bytes;
        rows[i].ref_count = v->n_users;
        rows[i].host_bytes = v->host_bytes;
        rows[i].device_bytes = v->device_bytes;
        rows[i].last_used_unix_ms = v->last_used_unix_ms;
        rows[i].load_ms = v->load_ms;
        d->out.loaded_srs[i] = &rows[i];
    }
    d->out.n_loaded_srs = n;
    return cuzk_ok();
}

static cuzk_status add_queues(draft *d)
{
    Cuzk__V1__QueueStatus *rows = arena_alloc(&d->mem, PROOF_N_KINDS * sizeof *rows, 16);
    uint32_t *by_priority =
        arena_alloc(&d->mem, sizeof(uint32_t) * PROOF_N_KINDS * JOB_N_PRIORITIES, 16);
    d->out.queues = arena_alloc(&d->mem, PROOF_N_KINDS * sizeof *d->out.queues, 16);
    if (!rows || !by_priority || !d->out.queues)
        return cuzk_fail(CUZK_E_NOMEM, "status");
    for (uint32_t k = 0; k < PROOF_N_KINDS; k++) {
        Cuzk__V1__QueueStatus *q = &rows[k];
        cuzk__v1__queue_status__init(q);
        q->proof_kind = (char *)(uintptr_t)ENGINE_KIND_LABELS[k];
        q->pending_by_priority = by_priority + k * JOB_N_PRIORITIES;
        q->n_pending_by_priority = JOB_N_PRIORITIES;
        for (uint32_t p = 0; p < JOB_N_PRIORITIES; p++) {
            q->pending_by_priority[p] = (uint32_t)d->snap.queued[k][p];
            q->pending += q->pending_by_priority[p];
        }
        q->in_progress = (uint32_t)d->snap.running[k];
        q->completed = d->snap.completed[k];
        q->failed = d->snap.failed[k];
        q->cancelled = d->snap.cancelled[k];
        d->out.total_proofs_completed += q->completed;
        d->out.total_proofs_failed += q->failed;
        d->out.queues[k] = q;
    }
    d->out.n_queues = PROOF_N_KINDS;
    return cuzk_ok();
}

/* Every live job, whatever was finished after it was submitted. */
static cuzk_status list_live(draft *d, engine *e)
{
    static const job_state live[] = {JOB_VERIFYING, JOB_PROVING, JOB_DECODING, JOB_QUEUED};
    d->jobs = mem_alloc((size_t)ARRAY_LEN(live) * STATUS_JOBS_MAX * sizeof *d->jobs, 16);
    if (!d->jobs)
        return cuzk_fail(CUZK_E_NOMEM, "status");
    for (size_t i = 0; i < ARRAY_LEN(live); i++) {
        job_view *some = NULL;
        uint32_t n = 0;
        CUZK_TRY(engine_list_jobs(e, (int)live[i], STATUS_JOBS_MAX, &some, &n));
        n = n < STATUS_JOBS_MAX ? n : STATUS_JOBS_MAX;
        if (n)
            memcpy(d->jobs + d->n_jobs, some, n * sizeof *some);
        d->n_jobs += n;
        mem_free(some);
    }
    return cuzk_ok();
}

static cuzk_status add_jobs(draft *d)
{
    Cuzk__V1__JobInfo *rows = arena_alloc(&d->mem, (d->n_jobs + 1) * sizeof *rows, 16);
    d->out.jobs = arena_alloc(&d->mem, (d->n_jobs + 1) * sizeof *d->out.jobs, 16);
    if (!rows || !d->out.jobs)
        return cuzk_fail(CUZK_E_NOMEM, "status");
    for (uint32_t i = 0; i < d->n_jobs; i++) {
        wire_job_info(&rows[i], &d->jobs[i]);
        d->out.jobs[i] = &rows[i];
    }
    d->out.n_jobs = d->n_jobs;
    return cuzk_ok();
}

static void add_totals(draft *d)
{
    const engine_snapshot *s = &d->snap;
    status *o = &d->out;
    o->uptime_seconds = (uint64_t)s->uptime_seconds;
    o->pinned_memory_bytes = s->memory_used;
    o->pinned_memory_limit_bytes = s->memory_budget;
    o->is_ready = s->is_ready;
    o->is_draining = s->is_draining;
    o->memory_rss_bytes = s->memory_rss;
    o->request_bytes = s->request_bytes;
    o->self_check_failures = s->self_check_failures;
    o->partition_retries = s->partition_retries;
    o->unaccounted_seconds = s->unaccounted_seconds;
    o->completed_per_minute = d->snap.per_minute;
    o->n_completed_per_minute = ARRAY_LEN(s->per_minute);
}

static cuzk_status build(draft *d, engine *e, bool with_json)
{
    CUZK_TRY(list_live(d, e));
    CUZK_TRY(add_gpus(d));
    CUZK_TRY(add_keys(d));
    CUZK_TRY(add_queues(d));
    CUZK_TRY(add_jobs(d));
    add_totals(d);
    if (!with_json)
        return cuzk_ok();
    engine_status_json(&d->json, &d->snap, d->jobs, d->n_jobs);
    CUZK_TRY(json_write_finish(&d->json));
    d->out.status_json = d->json.buf;
    return cuzk_ok();
}

static void get_status(rpc_call *c, rpc_body *body)
{
    engine *e = rpc_call_service(c)->e;
    Cuzk__V1__GetStatusRequest *r = wire_parse(c, body, &cuzk__v1__get_status_request__descriptor);
    if (!r)
        return;
    draft d = {.n_jobs = 0};
    cuzk__v1__get_status_response__init(&d.out);
    json_write_init(&d.json, NULL, false);
    cuzk_status st = engine_get_snapshot(e, &d.snap);
    if (st.code == CUZK_OK) {
        st = build(&d, e, r->with_json);
        if (st.code == CUZK_OK)
            wire_reply(c, &d.out);
        engine_snapshot_fini(&d.snap);
    }
    if (st.code != CUZK_OK)
        rpc_call_fail_status(c, st, 1000);
    json_write_fini(&d.json);
    mem_free(d.jobs);
    arena_fini(&d.mem);
    wire_free(r);
}

static void get_metrics(rpc_call *c, rpc_body *body)
{
    Cuzk__V1__GetMetricsResponse out = CUZK__V1__GET_METRICS_RESPONSE__INIT;
    engine_snapshot snap;
    char *text = NULL;
    size_t len = 0;
    void *r = wire_parse(c, body, &cuzk__v1__get_metrics_request__descriptor);
    if (!r)
        return;
    wire_free(r);
    cuzk_status st = engine_get_snapshot(rpc_call_service(c)->e, &snap);
    if (st.code == CUZK_OK) {
        st = engine_metrics_text(&snap, &text, &len);
        engine_snapshot_fini(&snap);
    }
    out.prometheus_text = text;
    if (st.code == CUZK_OK)
        wire_reply(c, &out);
    else
        rpc_call_fail_status(c, st, 1000);
    mem_free(text);
}

const rpc_method rpc_method_status = {.path = "/cuzk.v1.ProvingEngine/GetStatus",
                                      .on_message = get_status};
const rpc_method rpc_method_metrics = {.path = "/cuzk.v1.ProvingEngine/GetMetrics",
                                       .on_message = get_metrics};
