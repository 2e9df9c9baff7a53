/* GetStatus back into the engine's own words. */
#include "base/mem.h"
#include "engine/metrics.h"
#include "rpc/client_int.h"
#include "rpc/wire.h"
#include <stdio.h>
#include <string.h>

typedef Cuzk__V1__GetStatusResponse status;
#define COPY(to, from) snprintf((to), sizeof(to), "%s", (from))

static int kind_by_label(const char *label)
{
    for (int k = 0; k < PROOF_N_KINDS; k++)
        if (strcmp(ENGINE_KIND_LABELS[k], label) == 0)
            return k;
    return -1;
}

static void take_devices(engine_snapshot *s, const status *a)
{
    for (size_t i = 0; i < a->n_gpus; i++) {
        const Cuzk__V1__GPUStatus *g = a->gpus[i];
        engine_device_view *d = &s->devices[s->n_devices++];
        int kind = kind_by_label(g->current_proof_kind);
        COPY(d->name, g->device[0] ? g->device : g->name); /* a daemon that does not know it */
        COPY(d->model, g->name);
        COPY(d->description, g->description);
        COPY(d->job_id, g->current_job_id);
        d->memory_total = g->vram_total_bytes;
        d->memory_used = g->vram_total_bytes - g->vram_free_bytes;
        d->busy_seconds = g->busy_seconds;
        d->is_healthy = g->is_healthy;
        d->is_silent = g->is_silent;
        d->n_faults = g->faults;
        d->n_partitions = g->partitions_proven;
        d->partition = g->current_partition;
        d->kind = kind < 0 ? PROOF_POREP : (proof_kind)kind;
    }
}

static void take_keys(engine_snapshot *s, const status *a)
{
    for (size_t i = 0; i < a->n_loaded_srs; i++) {
        const Cuzk__V1__SRSStatus *k = a->loaded_srs[i];
        engine_key_view *v = &s->keys[s->n_keys++];
        COPY(v->circuit_id, k->circuit_id);
        v->host_bytes = k->host_bytes;
        v->device_bytes = k->device_bytes;
        v->last_used_unix_ms = k->last_used_unix_ms;
        v->load_ms = k->load_ms;
        v->n_users = k->ref_count;
        v->is_loading = k->tier == CUZK__V1__SRSSTATUS__TIER__COLD;
    }
}

static void take_queues(engine_snapshot *s, const status *a)
{
    for (size_t i = 0; i < a->n_queues; i++) {
        const Cuzk__V1__QueueStatus *q = a->queues[i];
        int k = kind_by_label(q->proof_kind);
        if (k < 0)
            continue;
        for (size_t p = 0; p < q->n_pending_by_priority && p < JOB_N_PRIORITIES; p++)
            s->queued[k][p] = q->pending_by_priority[p];
        if (q->n_pending_by_priority == 0)
            s->queued[k][JOB_NORMAL] = q->pending;
        s->running[k] = q->in_progress;
        s->completed[k] = q->completed;
        s->failed[k] = q->failed;
        s->cancelled[k] = q->cancelled;
    }
}

static void take_totals(engine_snapshot *s, const status *a)
{
    s->uptime_seconds = (double)a->uptime_seconds;
    s->is_ready = a->is_ready;
    s->is_draining = a->is_draining;
    s->memory_used = a->pinned_memory_bytes;
    s->memory_budget = a->pinned_memory_limit_bytes;
    s->memory_rss = a->memory_rss_bytes;
    s->request_bytes = a->request_bytes;
    s->self_check_failures = a->self_check_failures;
    s->partition_retries = a->partition_retries;
    s->unaccounted_seconds = a->unaccounted_seconds;
    for (size_t i = 0; i < a->n_completed_per_minute && i < ARRAY_LEN(s->per_minute); i++)
        s->per_minute[i] = a->completed_per_minute[i];
}

static cuzk_status take_status(rpc_status *out, const status *a)
{
    out->snap.devices = mem_zalloc((a->n_gpus + 1) * sizeof *out->snap.devices, 16);
    out->snap.keys = mem_zalloc((a->n_loaded_srs + 1) * sizeof *out->snap.keys, 16);
    out->jobs = mem_zalloc((a->n_jobs + 1) * sizeof *out->jobs, 16);
    out->json = mem_strdup(a->status_json);
    if (!out->snap.devices || !out->snap.keys || !out->jobs || !out->json)
        return cuzk_fail(CUZK_E_NOMEM, "status");
    take_devices(&out->snap, a);
    take_keys(&out->snap, a);
    take_queues(&out->snap, a);
    take_totals(&out->snap, a);
    for (size_t i = 0; i < a->n_jobs; i++)
        wire_job_view(&out->jobs[out->n_jobs++], a->jobs[i]);
    return cuzk_ok();
}

cuzk_status rpc_client_status(rpc_client *c, bool with_json, rpc_status *out)
{
    Cuzk__V1__GetStatusRequest r = CUZK__V1__GET_STATUS_REQUEST__INIT;
    rpc_exchange x = {
        .method = "GetStatus", .message = &r, .answer = &cuzk__v1__get_status_response__descriptor};
    void *a;
    memset(out, 0, sizeof *out);
    r.with_json = with_json;
    CUZK_TRY(rpc_exchange_unary(c, &x, &a));
    cuzk_status st = take_status(out, a);
    wire_free(a);
    if (st.code != CUZK_OK)
        rpc_status_fini(out);
    return st;
}

void rpc_status_fini(rpc_status *s)
{
    engine_snapshot_fini(&s->snap);
    mem_free(s->jobs);
    mem_free(s->json);
    memset(s, 0, sizeof *s);
}
