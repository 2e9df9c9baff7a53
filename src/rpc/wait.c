/* Waiting for jobs; see wait.h. */
#include "rpc/wait.h"
#include "base/mem.h"
#include "rpc/service_int.h"
#include "rpc/wire.h"
#include <stdio.h>

/* Stands for "closed": no watch may be put there any more. */
static char closed_mark;
#define CLOSED ((engine_watch *)(void *)&closed_mark)

void rpc_hold_watch(rpc_hold *h, rpc_call *c, const char *job_id, bool only_end,
                    engine_watch_fn *fn)
{
    engine *e = rpc_call_service(c)->e;
    engine_watch *w = NULL, *none = NULL;
    rpc_call_ref(c);
    cuzk_status st = engine_watch_job(e, job_id, only_end, fn, c, &w);
    if (st.code != CUZK_OK) {
        rpc_call_fail_status(c, st, 1000);
        rpc_call_unref(c);
        return;
    }
    /* release: drop reads the watch; acquire on failure pairs with drop's exchange */
    if (!atomic_compare_exchange_strong_explicit(&h->watch, &none, w, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        engine_unwatch(e, w); /* the call ended meanwhile */
        rpc_call_unref(c);
    }
}

void rpc_hold_drop(rpc_hold *h, rpc_call *c)
{
    engine_watch *w = atomic_exchange_explicit(&h->watch, CLOSED, memory_order_acq_rel);
    if (w && w != CLOSED) {
        engine_unwatch(rpc_call_service(c)->e, w);
        rpc_call_unref(c);
    }
}

typedef Cuzk__V1__AwaitProofResponse result;

static void reply(rpc_call *c, result *r, bool wrapped)
{
    Cuzk__V1__ProveResponse outer = CUZK__V1__PROVE_RESPONSE__INIT;
    outer.result = r;
    wire_reply(c, wrapped ? (void *)&outer : (void *)r);
}

static void fill(result *r, Cuzk__V1__JobInfo *info, job_view *v)
{
    cuzk__v1__await_proof_response__init(r);
    wire_job_info(info, v);
    r->job_id = info->job_id;
    r->error_message = info->error_message;
    r->queue_wait_ms = v->times.queue_wait_ms;
    r->srs_load_ms = v->times.key_load_ms;
    r->synthesis_ms = v->times.witness_ms;
    r->gpu_compute_ms = v->times.device_ms;
    r->verify_ms = v->times.verify_ms;
    r->total_ms = v->times.total_ms;
    r->job = info;
}

static void answer_end(rpc_call *c, const job_view *v, bool wrapped)
{
    job_view own = *v;
    result r;
    Cuzk__V1__JobInfo info;
    uint8_t *proof = NULL;
    size_t len = 0;
    fill(&r, &info, &own);
    r.status = v->state == JOB_DONE        ? CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED
               : v->state == JOB_CANCELLED ? CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__CANCELLED
                                           : CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__FAILED;
    if (v->state == JOB_CANCELLED && own.error[0] == 0)
        r.error_message = (char *)(uintptr_t) "the job was cancelled";
    if (v->state == JOB_DONE) {
        cuzk_status st = engine_get_proof(rpc_call_service(c)->e, v->job_id, &proof, &len);
        if (st.code != CUZK_OK) {
            rpc_call_fail_status(c, cuzk_wrap(st, "proof of job %.100s", v->job_id), 1000);
            return;
        }
        r.proof = (ProtobufCBinaryData){len, proof};
    }
    reply(c, &r, wrapped);
    mem_free(proof);
}

static void await_ended(void *ctx, const job_view *v) { answer_end(ctx, v, false); }
static void prove_ended(void *ctx, const job_view *v) { answer_end(ctx, v, true); }

void rpc_wait_begin(rpc_hold *h, rpc_call *c, const char *job_id, bool wrapped)
{
    rpc_hold_watch(h, c, job_id, true, wrapped ? prove_ended : await_ended);
}

void rpc_wait_timeout(rpc_call *c, const char *job_id, uint64_t waited_ms)
{
    job_view v;
    result r;
    Cuzk__V1__JobInfo info;
    char text[160];
    cuzk_status st = engine_get_job(rpc_call_service(c)->e, job_id, &v);
    if (st.code != CUZK_OK) {
        rpc_call_fail_status(c, st, 1000);
        return;
    }
    if (job_state_is_final(v.state)) { /* at the same moment */
        answer_end(c, &v, false);
        return;
    }
    fill(&r, &info, &v);
    snprintf(text, sizeof text, "not done after %llu ms: %s, %.0f %%",
             (unsigned long long)waited_ms, JOB_STATE_NAMES[v.state], 100 * v.progress);
    r.status = CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__TIMEOUT;
    r.error_message = text;
    reply(c, &r, false);
}

void rpc_wait_drain(rpc_call *c, const char *job_id)
{
    char text[256];
    snprintf(text, sizeof text,
             "the daemon is shutting down; job %.150s is kept and goes on after its restart",
             job_id);
    rpc_call_fail(c, RPC_UNAVAILABLE, text, 0);
}
