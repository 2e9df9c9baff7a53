/* AwaitProof, CancelProof, ListJobs, GetTimeline. */
#include "base/mem.h"
#include "rpc/service_int.h"
#include "rpc/wait.h"
#include "rpc/wire.h"
#include <stdio.h>
#include <string.h>

#define LIST_DEFAULT 100u
#define LIST_MAX 10000u

/* ---- AwaitProof ---- */

typedef struct await_state {
    rpc_hold hold;
    uint64_t timeout_ms;
    char job_id[JOB_ID_MAX];
} await_state;

static void await_start(rpc_call *c, rpc_body *body)
{
    await_state *st = rpc_call_state(c);
    Cuzk__V1__AwaitProofRequest *r =
        wire_parse(c, body, &cuzk__v1__await_proof_request__descriptor);
    if (!r)
        return;
    snprintf(st->job_id, sizeof st->job_id, "%s", r->job_id);
    st->timeout_ms = r->timeout_ms;
    wire_free(r);
    rpc_wait_begin(&st->hold, c, st->job_id, false);
    if (st->timeout_ms)
        rpc_call_set_timer(c, st->timeout_ms);
}

static void await_timer(rpc_call *c)
{
    await_state *st = rpc_call_state(c);
    rpc_wait_timeout(c, st->job_id, st->timeout_ms);
}

static void await_drain(rpc_call *c)
{
    await_state *st = rpc_call_state(c);
    if (st->job_id[0])
        rpc_wait_drain(c, st->job_id);
}

static void await_close(rpc_call *c)
{
    await_state *st = rpc_call_state(c);
    rpc_hold_drop(&st->hold, c);
}

/* ---- CancelProof ---- */

static void cancel(rpc_call *c, rpc_body *body)
{
    Cuzk__V1__CancelProofResponse out = CUZK__V1__CANCEL_PROOF_RESPONSE__INIT;
    bool was_live = false;
    Cuzk__V1__CancelProofRequest *r =
        wire_parse(c, body, &cuzk__v1__cancel_proof_request__descriptor);
    if (!r)
        return;
    cuzk_status st = engine_cancel(rpc_call_service(c)->e, r->job_id, &was_live);
    wire_free(r);
    out.was_running = was_live;
    if (st.code == CUZK_OK)
        wire_reply(c, &out);
    else
        rpc_call_fail_status(c, st, 1000);
}

/* ---- ListJobs ---- */

static void reply_jobs(rpc_call *c, job_view *views, uint32_t n)
{
    Cuzk__V1__ListJobsResponse out = CUZK__V1__LIST_JOBS_RESPONSE__INIT;
    Cuzk__V1__JobInfo *infos = mem_alloc((n + 1) * sizeof *infos, 16);
    Cuzk__V1__JobInfo **list = mem_alloc((n + 1) * sizeof *list, 16);
    if (infos && list) {
        for (uint32_t i = 0; i < n; i++) {
            wire_job_info(&infos[i], &views[i]);
            list[i] = &infos[i];
        }
        out.n_jobs = n;
        out.jobs = list;
        wire_reply(c, &out);
    } else {
        rpc_call_fail(c, RPC_RESOURCE_EXHAUSTED, "out of memory for the list", 1000);
    }
    mem_free(infos);
    mem_free(list);
}

static cuzk_status find_jobs(engine *e, const Cuzk__V1__ListJobsRequest *r, job_view **views,
                             uint32_t *n)
{
    uint32_t limit = r->limit == 0 ? LIST_DEFAULT : r->limit < LIST_MAX ? r->limit : LIST_MAX;
    int state = wire_state_back((uint64_t)r->state);
    if (r->state != CUZK__V1__JOB_STATE__JOB_STATE_UNSPECIFIED && state < 0)
        return cuzk_bad_input("state", "0 to 7", "%d", (int)r->state);
    if (r->job_id[0] == 0)
        return engine_list_jobs(e, state, limit, views, n);
    *views = mem_alloc(sizeof **views, 16);
    if (!*views)
        return cuzk_fail(CUZK_E_NOMEM, "a job");
    *n = 1;
    return engine_get_job(e, r->job_id, *views);
}

static void list(rpc_call *c, rpc_body *body)
{
    job_view *views = NULL;
    uint32_t n = 0;
    Cuzk__V1__ListJobsRequest *r = wire_parse(c, body, &cuzk__v1__list_jobs_request__descriptor);
    if (!r)
        return;
    cuzk_status st = find_jobs(rpc_call_service(c)->e, r, &views, &n);
    wire_free(r);
    if (st.code == CUZK_OK)
        reply_jobs(c, views, n);
    else
        rpc_call_fail_status(c, st, 1000);
    mem_free(views);
}

/* ---- GetTimeline ---- */

static void timeline(rpc_call *c, rpc_body *body)
{
    Cuzk__V1__GetTimelineResponse out = CUZK__V1__GET_TIMELINE_RESPONSE__INIT;
    char *json = NULL;
    Cuzk__V1__GetTimelineRequest *r =
        wire_parse(c, body, &cuzk__v1__get_timeline_request__descriptor);
    if (!r)
        return;
    cuzk_status st = engine_get_timeline(rpc_call_service(c)->e, r->job_id, &json);
    wire_free(r);
    out.json = json;
    if (st.code == CUZK_OK)
        wire_reply(c, &out);
    else
        rpc_call_fail_status(c, st, 1000);
    mem_free(json);
}

const rpc_method rpc_method_await = {.path = "/cuzk.v1.ProvingEngine/AwaitProof",
                                     .state_bytes = sizeof(await_state),
                                     .on_message = await_start,
                                     .on_timer = await_timer,
                                     .on_drain = await_drain,
                                     .on_close = await_close};
const rpc_method rpc_method_cancel = {.path = "/cuzk.v1.ProvingEngine/CancelProof",
                                      .on_message = cancel};
const rpc_method rpc_method_list = {.path = "/cuzk.v1.ProvingEngine/ListJobs", .on_message = list};
const rpc_method rpc_method_timeline = {.path = "/cuzk.v1.ProvingEngine/GetTimeline",
                                        .on_message = timeline};
