/* SubmitProof and Prove: a place among the requests in memory, the body, the engine's word. */
#include "base/mem.h"
#include "base/run_ctx.h"
#include "rpc/request.h"
#include "rpc/service_int.h"
#include "rpc/wait.h"
#include "rpc/wire.h"
#include <stdio.h>
#include <string.h>

/* Reserved before anything is read, so that a full engine refuses before the client sends. The true
 * size is known, and reserved, when the message is there. */
#define FIRST_RESERVE_BYTES ((uint64_t)64 << 10)
#define DEFAULT_RETRY_MS 1000u

typedef struct submit_state {
    uint64_t
        reserved_bytes; /* changed by on_admit, on_message and on_close, which do not overlap */
    bool is_prove;
    rpc_hold hold;
    char job_id[JOB_ID_MAX]; /* Prove, once submitted */
} submit_state;

static cuzk_status submit_admit(rpc_call *c, uint64_t *retry_ms)
{
    rpc_service *s = rpc_call_service(c);
    submit_state *st = rpc_call_state(c);
    if (!atomic_load_explicit(&s->takes_work, memory_order_relaxed))
        return cuzk_fail(CUZK_E_IO, "the daemon is shutting down and takes no new jobs");
    CUZK_TRY(engine_reserve_request(s->e, FIRST_RESERVE_BYTES, retry_ms));
    st->reserved_bytes = FIRST_RESERVE_BYTES;
    return cuzk_ok();
}

/* Exactly `bytes` are reserved afterwards, or nothing. Growing asks for the whole anew: the engine
 * tells what never fits from what does not fit now by the size that it is asked for. */
static cuzk_status reserve_exactly(engine *e, submit_state *st, uint64_t bytes, uint64_t *retry_ms)
{
    uint64_t surplus = bytes > st->reserved_bytes ? st->reserved_bytes : st->reserved_bytes - bytes;
    if (surplus)
        engine_release_request(e, surplus);
    st->reserved_bytes -= surplus;
    if (bytes > st->reserved_bytes)
        CUZK_TRY(engine_reserve_request(e, bytes, retry_ms));
    st->reserved_bytes = bytes;
    return cuzk_ok();
}

static void submit_reply(rpc_call *c, const engine_submitted *r)
{
    Cuzk__V1__SubmitProofResponse out = CUZK__V1__SUBMIT_PROOF_RESPONSE__INIT;
    Cuzk__V1__JobInfo info;
    job_view v = r->view;
    wire_job_info(&info, &v);
    out.job_id = info.job_id;
    out.queue_position = v.queue_position;
    out.assigned_gpu = info.device;
    out.existing = r->existing;
    out.job = &info;
    wire_reply(c, &out);
}

static void submitted(void *ctx, const engine_submitted *r)
{
    rpc_call *c = ctx;
    submit_state *st = rpc_call_state(c);
    if (r->st.code != CUZK_OK) {
        rpc_call_fail_status(c, r->st, r->retry_after_ms ? r->retry_after_ms : DEFAULT_RETRY_MS);
    } else if (!st->is_prove) {
        submit_reply(c, r);
    } else {
        snprintf(st->job_id, sizeof st->job_id, "%s", r->view.job_id);
        rpc_call_set_timer(c, 0); /* the wait starts on a thread of ours, not in this callback */
    }
    rpc_call_unref(c);
}

static cuzk_status take_request(rpc_call *c, rpc_body *body, job_request *req, uint64_t *retry_ms)
{
    submit_state *st = rpc_call_state(c);
    engine *e = rpc_call_service(c)->e;
    uint8_t *bytes;
    size_t len;
    CUZK_TRY(reserve_exactly(e, st, rpc_body_bytes(body), retry_ms));
    CUZK_TRY(wire_gather(&bytes, &len, body, SIZE_MAX));
    CUZK_TRY(request_decode(req, bytes, len, st->is_prove));
    cuzk_status s = reserve_exactly(e, st, request_payload_bytes(req), retry_ms);
    if (s.code != CUZK_OK)
        job_request_fini(req);
    return s;
}

static void submit_start(rpc_call *c, rpc_body *body)
{
    submit_state *st = rpc_call_state(c);
    job_request req;
    uint64_t retry_ms = 0, body_ns = clock_now_ns();
    cuzk_status s = take_request(c, body, &req, &retry_ms);
    if (s.code != CUZK_OK) {
        rpc_call_fail_status(c, s, retry_ms ? retry_ms : DEFAULT_RETRY_MS);
        return;
    }
    req.received_ns = rpc_call_received_ns(c);
    req.admitted_ns = rpc_call_admitted_ns(c);
    req.body_ns = body_ns;
    if (st->is_prove && req.deadline_unix_ms == 0)
        req.deadline_unix_ms = rpc_call_deadline_unix_ms(c);
    st->reserved_bytes = 0; /* the engine's now */
    rpc_call_ref(c);
    engine_submit(rpc_call_service(c)->e, &req, submitted, c);
}

static void prove_start(rpc_call *c, rpc_body *body)
{
    submit_state *st = rpc_call_state(c);
    st->is_prove = true;
    submit_start(c, body);
}

static void prove_wait(rpc_call *c)
{
    submit_state *st = rpc_call_state(c);
    rpc_wait_begin(&st->hold, c, st->job_id, true);
}

static void prove_drain(rpc_call *c)
{
    submit_state *st = rpc_call_state(c);
    if (st->job_id[0])
        rpc_wait_drain(c, st->job_id);
}

static void submit_close(rpc_call *c)
{
    submit_state *st = rpc_call_state(c);
    rpc_hold_drop(&st->hold, c);
    if (st->reserved_bytes)
        engine_release_request(rpc_call_service(c)->e, st->reserved_bytes);
    st->reserved_bytes = 0;
}

const rpc_method rpc_method_submit = {.path = "/cuzk.v1.ProvingEngine/SubmitProof",
                                      .flags = RPC_BIG_BODY,
                                      .state_bytes = sizeof(submit_state),
                                      .on_admit = submit_admit,
                                      .on_message = submit_start,
                                      .on_close = submit_close};
const rpc_method rpc_method_prove = {.path = "/cuzk.v1.ProvingEngine/Prove",
                                     .flags = RPC_BIG_BODY,
                                     .state_bytes = sizeof(submit_state),
                                     .on_admit = submit_admit,
                                     .on_message = prove_start,
                                     .on_timer = prove_wait,
                                     .on_drain = prove_drain,
                                     .on_close = submit_close};
