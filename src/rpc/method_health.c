/* grpc.health.v1.Health: what probes and load balancers ask. The whole daemon and its one service
 * are in the same state. */
#include "rpc/service_int.h"
#include "rpc/wire.h"
#include <grpc/health/v1/health.pb-c.h>
#include <string.h>

#define SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
#define NOT_SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING
#define SERVICE_UNKNOWN GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN

typedef struct health_watch {
    struct health_watch *prev, *next; /* guarded by health_mu, as is what follows */
    rpc_call *call;
    bool is_linked, is_sending, is_known;
    bool is_ending; /* once it knows the latest */
    int sent;       /* -1: nothing yet */
} health_watch;

static bool is_known(const char *name)
{
    return name[0] == 0 || strcmp(name, "cuzk.v1.ProvingEngine") == 0;
}

static int state_now(const rpc_service *s)
{
    return atomic_load_explicit(&s->is_serving, memory_order_relaxed) ? SERVING : NOT_SERVING;
}

static void check(rpc_call *c, rpc_body *body)
{
    Grpc__Health__V1__HealthCheckResponse out = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    Grpc__Health__V1__HealthCheckRequest *r =
        wire_parse(c, body, &grpc__health__v1__health_check_request__descriptor);
    if (!r)
        return;
    out.status = state_now(rpc_call_service(c));
    if (is_known(r->service))
        wire_reply(c, &out);
    else
        rpc_call_fail(c, RPC_NOT_FOUND, "unknown service", 0);
    wire_free(r);
}

/* Holding health_mu: tell what has changed, one message at a time. */
static void update(rpc_service *s, health_watch *w)
{
    Grpc__Health__V1__HealthCheckResponse out = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    int now = w->is_known ? state_now(s) : SERVICE_UNKNOWN;
    if (w->is_sending || w->sent == now)
        return;
    out.status = now;
    w->is_sending = wire_send(w->call, &out);
    w->sent = now;
}

static void watch(rpc_call *c, rpc_body *body)
{
    rpc_service *s = rpc_call_service(c);
    health_watch *w = rpc_call_state(c);
    Grpc__Health__V1__HealthCheckRequest *r =
        wire_parse(c, body, &grpc__health__v1__health_check_request__descriptor);
    if (!r)
        return;
    pthread_mutex_lock(&s->health_mu);
    *w = (health_watch){.next = s->health_watches,
                        .call = c,
                        .is_linked = true,
                        .sent = -1,
                        .is_known = is_known(r->service)};
    if (w->next)
        w->next->prev = w;
    s->health_watches = w;
    update(s, w);
    pthread_mutex_unlock(&s->health_mu);
    wire_free(r);
}

static void end_watch(rpc_call *c)
{
    rpc_call_fail(c, RPC_UNAVAILABLE, "the daemon is shutting down", 0);
}

static void watch_sent(rpc_call *c)
{
    rpc_service *s = rpc_call_service(c);
    health_watch *w = rpc_call_state(c);
    pthread_mutex_lock(&s->health_mu);
    w->is_sending = false;
    update(s, w);
    bool is_ending = w->is_ending;
    pthread_mutex_unlock(&s->health_mu);
    if (is_ending)
        end_watch(c);
}

/* Asked once, it lets a message that is on its way be followed by the latest state; asked again, it
 * ends. */
static void watch_drain(rpc_call *c)
{
    rpc_service *s = rpc_call_service(c);
    health_watch *w = rpc_call_state(c);
    pthread_mutex_lock(&s->health_mu);
    bool is_late = w->is_sending && w->is_known && w->sent != state_now(s) && !w->is_ending;
    w->is_ending = true;
    pthread_mutex_unlock(&s->health_mu);
    if (!is_late)
        end_watch(c);
}

static void watch_close(rpc_call *c)
{
    rpc_service *s = rpc_call_service(c);
    health_watch *w = rpc_call_state(c);
    pthread_mutex_lock(&s->health_mu);
    if (w->is_linked) {
        *(w->prev ? &w->prev->next : &s->health_watches) = w->next;
        if (w->next)
            w->next->prev = w->prev;
        w->is_linked = false;
    }
    pthread_mutex_unlock(&s->health_mu);
}

void rpc_service_set_serving(rpc_service *s, bool on)
{
    bool was = atomic_exchange_explicit(&s->is_serving, on, memory_order_relaxed);
    if (on || was) /* false at the start is warm-up: jobs may queue */
        atomic_store_explicit(&s->takes_work, on, memory_order_relaxed);
    pthread_mutex_lock(&s->health_mu);
    for (health_watch *w = s->health_watches; w; w = w->next)
        update(s, w);
    pthread_mutex_unlock(&s->health_mu);
}

const rpc_method rpc_method_health_check = {
    .path = "/grpc.health.v1.Health/Check", .flags = RPC_OPEN, .on_message = check};
const rpc_method rpc_method_health_watch = {.path = "/grpc.health.v1.Health/Watch",
                                            .flags = RPC_OPEN | RPC_ENDLESS,
                                            .state_bytes = sizeof(health_watch),
                                            .on_message = watch,
                                            .on_sent = watch_sent,
                                            .on_drain = watch_drain,
                                            .on_close = watch_close};
