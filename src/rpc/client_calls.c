/* The client's calls: messages there and back. */
#include "base/mem.h"
#include "engine/metrics.h"
#include "rpc/client_int.h"
#include "rpc/request.h"
#include "rpc/wire.h"
#include <stdio.h>
#include <string.h>

const char *const RPC_OUTCOME_NAMES[RPC_OUTCOME_TIMEOUT + 1] = {"unknown", "completed", "failed",
                                                                "cancelled", "timeout"};

/* protobuf-c wants texts it may write to; it does not write to those it packs. */
static char *text(const char *s) { return (char *)(uintptr_t)s; }

/* ---- proofs ---- */

typedef struct request_message {
    const job_request *r;
    bool wrapped;
} request_message;

static void fill_request(void *ctx, uint8_t *out)
{
    const request_message *m = ctx;
    request_encode(out, m->r, m->wrapped);
}

cuzk_status rpc_client_submit(rpc_client *c, const job_request *r, rpc_submitted *out)
{
    request_message m = {r, false};
    rpc_exchange x = {.method = "SubmitProof",
                      .len = request_encoded_bytes(r, false),
                      .fill = fill_request,
                      .fill_ctx = &m,
                      .answer = &cuzk__v1__submit_proof_response__descriptor};
    void *a;
    *out = (rpc_submitted){.queue_position = 0};
    cuzk_status st = rpc_exchange_unary(c, &x, &a);
    out->retry_after_ms = x.retry_after_ms;
    CUZK_TRY(st);
    const Cuzk__V1__SubmitProofResponse *s = a;
    snprintf(out->job_id, sizeof out->job_id, "%s", s->job_id);
    out->queue_position = s->queue_position;
    out->existing = s->existing;
    if (s->job)
        wire_job_view(&out->view, s->job);
    wire_free(a);
    return cuzk_ok();
}

static cuzk_status take_result(rpc_result *out, const Cuzk__V1__AwaitProofResponse *r)
{
    if (r->job)
        wire_job_view(&out->view, r->job);
    snprintf(out->view.job_id, sizeof out->view.job_id, "%s", r->job_id);
    snprintf(out->view.error, sizeof out->view.error, "%s", r->error_message);
    out->view.times = (job_times){.queue_wait_ms = r->queue_wait_ms,
                                  .key_load_ms = r->srs_load_ms,
                                  .witness_ms = r->synthesis_ms,
                                  .device_ms = r->gpu_compute_ms,
                                  .verify_ms = r->verify_ms,
                                  .total_ms = r->total_ms};
    out->outcome =
        r->status <= (int)RPC_OUTCOME_TIMEOUT ? (rpc_outcome)r->status : RPC_OUTCOME_UNKNOWN;
    out->proof = mem_alloc(r->proof.len, 16);
    if (!out->proof)
        return cuzk_fail(CUZK_E_NOMEM, "a proof of %zu bytes", r->proof.len);
    if (r->proof.len)
        memcpy(out->proof, r->proof.data, r->proof.len);
    out->proof_len = r->proof.len;
    return cuzk_ok();
}

void rpc_result_fini(rpc_result *r)
{
    mem_free(r->proof);
    *r = (rpc_result){.outcome = RPC_OUTCOME_UNKNOWN};
}

cuzk_status rpc_client_await(rpc_client *c, const char *job_id, uint64_t timeout_ms,
                             rpc_result *out)
{
    Cuzk__V1__AwaitProofRequest r = CUZK__V1__AWAIT_PROOF_REQUEST__INIT;
    rpc_exchange x = {.method = "AwaitProof",
                      .message = &r,
                      .answer = &cuzk__v1__await_proof_response__descriptor};
    void *a;
    *out = (rpc_result){.outcome = RPC_OUTCOME_UNKNOWN};
    r.job_id = text(job_id);
    r.timeout_ms = timeout_ms;
    CUZK_TRY(rpc_exchange_unary(c, &x, &a));
    cuzk_status st = take_result(out, a);
    wire_free(a);
    return st;
}

cuzk_status rpc_client_prove(rpc_client *c, const job_request *r, uint64_t deadline_ms,
                             rpc_result *out)
{
    request_message m = {r, true};
    rpc_exchange x = {.method = "Prove",
                      .len = request_encoded_bytes(r, true),
                      .fill = fill_request,
                      .fill_ctx = &m,
                      .answer = &cuzk__v1__prove_response__descriptor,
                      .deadline_ms = deadline_ms};
    void *a;
    *out = (rpc_result){.outcome = RPC_OUTCOME_UNKNOWN};
    cuzk_status st = rpc_exchange_unary(c, &x, &a);
    out->retry_after_ms = x.retry_after_ms;
    CUZK_TRY(st);
    const Cuzk__V1__ProveResponse *p = a;
    st = p->result ? take_result(out, p->result)
                   : cuzk_fail(CUZK_E_INTERNAL, "Prove: an answer without a result");
    wire_free(a);
    return st;
}

/* ---- jobs ---- */

typedef struct watch_ctx {
    rpc_watch_fn *fn;
    void *ctx;
} watch_ctx;

static bool watch_message(void *ctx, const void *answer)
{
    const watch_ctx *w = ctx;
    const Cuzk__V1__WatchJobResponse *r = answer;
    job_view v;
    if (!r->job)
        return true;
    wire_job_view(&v, r->job);
    return w->fn(w->ctx, &v);
}

cuzk_status rpc_client_watch(rpc_client *c, const char *job_id, rpc_watch_fn *fn, void *ctx)
{
    Cuzk__V1__WatchJobRequest r = CUZK__V1__WATCH_JOB_REQUEST__INIT;
    rpc_exchange x = {
        .method = "WatchJob", .message = &r, .answer = &cuzk__v1__watch_job_response__descriptor};
    watch_ctx w = {fn, ctx};
    r.job_id = text(job_id);
    return rpc_exchange_stream(c, &x, watch_message, &w);
}

cuzk_status rpc_client_cancel(rpc_client *c, const char *job_id, bool *was_live)
{
    Cuzk__V1__CancelProofRequest r = CUZK__V1__CANCEL_PROOF_REQUEST__INIT;
    rpc_exchange x = {.method = "CancelProof",
                      .message = &r,
                      .answer = &cuzk__v1__cancel_proof_response__descriptor};
    void *a;
    r.job_id = text(job_id);
    CUZK_TRY(rpc_exchange_unary(c, &x, &a));
    *was_live = ((const Cuzk__V1__CancelProofResponse *)a)->was_running;
    wire_free(a);
    return cuzk_ok();
}

static cuzk_status list_jobs(rpc_client *c, Cuzk__V1__ListJobsRequest *r, job_view **out,
                             uint32_t *n)
{
    rpc_exchange x = {
        .method = "ListJobs", .message = r, .answer = &cuzk__v1__list_jobs_response__descriptor};
    void *a;
    *n = 0;
    *out = NULL;
    CUZK_TRY(rpc_exchange_unary(c, &x, &a));
    const Cuzk__V1__ListJobsResponse *l = a;
    *out = mem_alloc((l->n_jobs + 1) * sizeof **out, 16);
    for (size_t i = 0; *out && i < l->n_jobs; i++)
        wire_job_view(&(*out)[(*n)++], l->jobs[i]);
    wire_free(a);
    return *out ? cuzk_ok() : cuzk_fail(CUZK_E_NOMEM, "a list of jobs");
}

cuzk_status rpc_client_list(rpc_client *c, int state, uint32_t limit, job_view **out, uint32_t *n)
{
    Cuzk__V1__ListJobsRequest r = CUZK__V1__LIST_JOBS_REQUEST__INIT;
    r.limit = limit;
    if (state >= 0)
        r.state = wire_state((job_state)state);
    return list_jobs(c, &r, out, n);
}

cuzk_status rpc_client_get_job(rpc_client *c, const char *job_id, job_view *out)
{
    Cuzk__V1__ListJobsRequest r = CUZK__V1__LIST_JOBS_REQUEST__INIT;
    job_view *list;
    uint32_t n;
    r.job_id = text(job_id);
    CUZK_TRY(list_jobs(c, &r, &list, &n));
    if (n)
        *out = list[0];
    mem_free(list);
    return n ? cuzk_ok() : cuzk_fail(CUZK_E_NOT_FOUND, "job not found: %.100s", job_id);
}

/* A text of an answer, to keep. */
static cuzk_status take_text(char **out, const char *s)
{
    *out = mem_strdup(s);
    return *out ? cuzk_ok() : cuzk_fail(CUZK_E_NOMEM, "an answer of %zu bytes", strlen(s));
}

cuzk_status rpc_client_timeline(rpc_client *c, const char *job_id, char **json)
{
    Cuzk__V1__GetTimelineRequest r = CUZK__V1__GET_TIMELINE_REQUEST__INIT;
    rpc_exchange x = {.method = "GetTimeline",
                      .message = &r,
                      .answer = &cuzk__v1__get_timeline_response__descriptor};
    void *a;
    *json = NULL;
    r.job_id = text(job_id);
    CUZK_TRY(rpc_exchange_unary(c, &x, &a));
    cuzk_status st = take_text(json, ((const Cuzk__V1__GetTimelineResponse *)a)->json);
    wire_free(a);
    return st;
}

/* ---- keys ---- */

cuzk_status rpc_client_preload(rpc_client *c, const char *circuit_id, rpc_key_result *out)
{
    Cuzk__V1__PreloadSrsRequest r = CUZK__V1__PRELOAD_SRS_REQUEST__INIT;
    rpc_exchange x = {.method = "PreloadSRS",
                      .message = &r,
                      .answer = &cuzk__v1__preload_srs_response__descriptor};
    void *a;
    r.circuit_id = text(circuit_id);
    CUZK_TRY(rpc_exchange_unary(c, &x, &a));
    const Cuzk__V1__PreloadSrsResponse *p = a;
    *out = (rpc_key_result){p->already_loaded, p->load_time_ms, p->size_bytes};
    wire_free(a);
    return cuzk_ok();
}

cuzk_status rpc_client_evict(rpc_client *c, const char *circuit_id, rpc_key_result *out)
{
    Cuzk__V1__EvictSrsRequest r = CUZK__V1__EVICT_SRS_REQUEST__INIT;
    rpc_exchange x = {
        .method = "EvictSRS", .message = &r, .answer = &cuzk__v1__evict_srs_response__descriptor};
    void *a;
    r.circuit_id = text(circuit_id);
    CUZK_TRY(rpc_exchange_unary(c, &x, &a));
    const Cuzk__V1__EvictSrsResponse *p = a;
    *out = (rpc_key_result){p->was_loaded, 0, p->freed_bytes};
    wire_free(a);
    return cuzk_ok();
}

cuzk_status rpc_client_metrics(rpc_client *c, char **out)
{
    Cuzk__V1__GetMetricsRequest r = CUZK__V1__GET_METRICS_REQUEST__INIT;
    rpc_exchange x = {.method = "GetMetrics",
                      .message = &r,
                      .answer = &cuzk__v1__get_metrics_response__descriptor};
    void *a;
    *out = NULL;
    CUZK_TRY(rpc_exchange_unary(c, &x, &a));
    cuzk_status st = take_text(out, ((const Cuzk__V1__GetMetricsResponse *)a)->prometheus_text);
    wire_free(a);
    return st;
}
