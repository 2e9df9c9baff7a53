/* WatchJob: one message at a time; what changes meanwhile is told by the next. */
#include "base/run_ctx.h"
#include "rpc/service_int.h"
#include "rpc/wait.h"
#include "rpc/wire.h"
#include <string.h>

#define PROGRESS_EVERY_MS 100u

typedef struct watch_state {
    rpc_hold hold;
    bool is_open;       /* mu exists; set before anybody else knows the call */
    pthread_mutex_t mu; /* guards what follows */
    job_view latest;
    bool has_any, has_news, is_sending, has_sent_final;
    job_state sent_state;
    uint64_t sent_ns; /* 0: nothing yet */
} watch_state;

/* Holding mu. Milliseconds until the news may go: 0 now, UINT64_MAX not before on_sent. */
static uint64_t wait_ms(const watch_state *st)
{
    if (!st->has_news || st->is_sending)
        return UINT64_MAX;
    uint64_t age_ms = (clock_now_ns() - st->sent_ns) / 1000000u;
    bool is_due = st->sent_ns == 0 || st->latest.state != st->sent_state ||
                  job_state_is_final(st->latest.state) || age_ms >= PROGRESS_EVERY_MS;
    return is_due ? 0 : PROGRESS_EVERY_MS - age_ms;
}

static void flush(rpc_call *c)
{
    watch_state *st = rpc_call_state(c);
    Cuzk__V1__WatchJobResponse out = CUZK__V1__WATCH_JOB_RESPONSE__INIT;
    Cuzk__V1__JobInfo info;
    job_view v;
    pthread_mutex_lock(&st->mu);
    uint64_t ms = wait_ms(st);
    if (ms == 0) {
        v = st->latest;
        st->has_news = false;
        st->is_sending = true;
        st->sent_state = v.state;
        st->sent_ns = clock_now_ns();
        st->has_sent_final = job_state_is_final(v.state);
    }
    pthread_mutex_unlock(&st->mu);
    if (ms == 0) {
        wire_job_info(&info, &v);
        out.job = &info;
        (void)wire_send(c, &out); /* not sent: the call has ended */
    } else if (ms != UINT64_MAX) {
        rpc_call_set_timer(c, ms);
    }
}

static void push(rpc_call *c, const job_view *v, bool only_first)
{
    watch_state *st = rpc_call_state(c);
    pthread_mutex_lock(&st->mu);
    bool is_final = st->has_any && job_state_is_final(st->latest.state);
    if (!is_final && !(only_first && st->has_any)) {
        st->latest = *v;
        st->has_any = st->has_news = true;
    }
    pthread_mutex_unlock(&st->mu);
    flush(c);
}

static void changed(void *ctx, const job_view *v) { push(ctx, v, false); }

static void watch_start(rpc_call *c, rpc_body *body)
{
    watch_state *st = rpc_call_state(c);
    job_view v;
    Cuzk__V1__WatchJobRequest *r = wire_parse(c, body, &cuzk__v1__watch_job_request__descriptor);
    if (!r)
        return;
    pthread_mutex_init(&st->mu, NULL);
    st->is_open = true;
    rpc_hold_watch(&st->hold, c, r->job_id, false, changed);
    if (engine_get_job(rpc_call_service(c)->e, r->job_id, &v).code == CUZK_OK)
        push(c, &v, true);
    wire_free(r);
}

static void watch_sent(rpc_call *c)
{
    watch_state *st = rpc_call_state(c);
    pthread_mutex_lock(&st->mu);
    st->is_sending = false;
    bool is_over = st->has_sent_final;
    pthread_mutex_unlock(&st->mu);
    if (is_over)
        rpc_call_end(c);
    else
        flush(c);
}

static void watch_drain(rpc_call *c)
{
    rpc_call_fail(c, RPC_UNAVAILABLE, "the daemon is shutting down; its jobs are kept", 0);
}

static void watch_close(rpc_call *c)
{
    watch_state *st = rpc_call_state(c);
    rpc_hold_drop(&st->hold, c);
    if (st->is_open)
        pthread_mutex_destroy(&st->mu);
}

const rpc_method rpc_method_watch = {.path = "/cuzk.v1.ProvingEngine/WatchJob",
                                     .state_bytes = sizeof(watch_state),
                                     .on_message = watch_start,
                                     .on_sent = watch_sent,
                                     .on_timer = flush,
                                     .on_drain = watch_drain,
                                     .on_close = watch_close};
