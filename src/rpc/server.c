/* Start, poll, drain, stop; see server.h. */
#include "rpc/server.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/run_ctx.h"
#include "rpc/server_int.h"
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <grpc/support/log.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How many of max_calls may wait to be received: clients that open streams and say nothing leave
 * room for the calls of others. */
#define SMALL_WAITING(max) (((max) + 1) / 2)
#define BIG_WAITING(max) (((max) + 3) / 4)
#define SMALL_INSIDE 256u
#define SMALL_GRACE_MS 1000u
#define BIG_GRACE_MS 5000u
#define TICK_MS 1000u
#define TRIM_TICKS 10u
#define TRIM_BYTES ((size_t)32 << 20)
#define CLIENT_PING_MIN_MS 5000
/* Above our own limit, which refuses one call, the library's may close the whole connection. */
#define METADATA_SLACK_BYTES 65536u

/* ---- configuration ---- */

#define DEFAULT(member, value) \
    if (c->member == 0)        \
    c->member = (value)

static const char *keep(rpc_server *s, const char *text, bool *ok)
{
    if (!text || !*ok)
        return NULL;
    size_t n = strlen(text) + 1;
    char *copy = arena_alloc(&s->strings, n, 1);
    *ok = copy != NULL;
    return copy ? memcpy(copy, text, n) : NULL;
}

static cuzk_status take_config(rpc_server *s, const rpc_server_config *cfg)
{
    rpc_server_config *c = &s->cfg;
    bool ok = true;
    *c = *cfg;
    DEFAULT(max_message_bytes, RPC_MESSAGE_MAX_BYTES);
    DEFAULT(max_calls, 16384);
    DEFAULT(max_bodies, 16);
    DEFAULT(max_connections, 1024);
    DEFAULT(max_metadata_bytes, 16384);
    DEFAULT(body_timeout_ms, 120000);
    DEFAULT(handshake_timeout_ms, 10000);
    DEFAULT(keepalive_ms, 60000);
    DEFAULT(keepalive_timeout_ms, 20000);
    c->socket_group = keep(s, cfg->socket_group, &ok);
    c->tls_listen = keep(s, cfg->tls_listen, &ok);
    c->tls_cert = keep(s, cfg->tls_cert, &ok);
    c->tls_key = keep(s, cfg->tls_key, &ok);
    c->tls_client_ca = keep(s, cfg->tls_client_ca, &ok);
    c->token = keep(s, cfg->token, &ok);
    if (!ok)
        return cuzk_fail(CUZK_E_NOMEM, "gRPC configuration");
    if (cfg->token && !cfg->token[0])
        return cuzk_fail(CUZK_E_INPUT, "token: expected at least one character");
    if (c->max_message_bytes > INT32_MAX)
        return cuzk_bad_input("max_message_bytes", "below 2 GiB", "%llu",
                              (unsigned long long)c->max_message_bytes);
    return cuzk_ok();
}

static grpc_arg int_arg(const char *key, uint64_t value)
{
    return (grpc_arg){.type = GRPC_ARG_INTEGER,
                      .key = (char *)(uintptr_t)key,
                      .value.integer = value < INT32_MAX ? (int)value : INT32_MAX};
}

static grpc_server *make_grpc_server(const rpc_server_config *c)
{
    grpc_arg args[] = {
        int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, c->max_message_bytes),
        int_arg(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, INT32_MAX),
        int_arg(GRPC_ARG_MAX_CONCURRENT_STREAMS, rpc_share_per_connection(c->max_calls)),
        int_arg(GRPC_ARG_MAX_METADATA_SIZE, c->max_metadata_bytes + METADATA_SLACK_BYTES),
        int_arg(GRPC_ARG_ALLOW_REUSEPORT, 0), /* or a second daemon would share the port silently */
        int_arg(GRPC_ARG_ENABLE_CHANNELZ, 0),
        int_arg(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, c->handshake_timeout_ms),
        int_arg(GRPC_ARG_KEEPALIVE_TIME_MS, c->keepalive_ms),
        int_arg(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, c->keepalive_timeout_ms),
        int_arg(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
        int_arg(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0),
        int_arg(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, CLIENT_PING_MIN_MS),
        /* a small compressed message could be a huge one */
        int_arg(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1),
        int_arg(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0),
    };
    return grpc_server_create(&(grpc_channel_args){ARRAY_LEN(args), args}, NULL);
}

/* ---- threads ---- */

static void *poll_queue(void *arg)
{
    grpc_completion_queue *q = arg;
    for (;;) {
        grpc_event ev = grpc_completion_queue_next(q, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        if (ev.type == GRPC_QUEUE_SHUTDOWN)
            return NULL;
        if (ev.type != GRPC_OP_COMPLETE)
            continue;
        rpc_tag *t = ev.tag;
        rpc_tag_acquire(t);
        t->step(t->ctx, ev.success != 0);
    }
}

/* What gRPC's library took for a client and freed stays in malloc's arenas, between what lives on:
 * hundreds of MiB after a flood of headers. A limit of the number of arenas changes little. */
static void trim_memory(rpc_server *s)
{
    if (++s->n_ticks % TRIM_TICKS)
        return;
    size_t free_bytes = mallinfo2().fordblks;
    if (free_bytes >= s->trimmed_bytes + TRIM_BYTES) {
        malloc_trim(0);
        free_bytes = mallinfo2().fordblks;
    } else if (free_bytes > s->trimmed_bytes) {
        return;
    }
    s->trimmed_bytes = free_bytes;
}

static void tick(void *ctx)
{
    rpc_server *s = ctx;
    if (!atomic_load_explicit(&s->is_up, memory_order_acquire)) /* set by rpc_server_start */
        return;
    if (s->tls)
        rpc_tls_probe(s->tls);
    trim_memory(s);
    for (uint32_t p = 0; p < RPC_N_PORTS; p++)
        for (uint32_t q = 0; q < RPC_N_QUEUES; q++)
            while (atomic_load_explicit(&s->missing_slots[p][q], memory_order_relaxed) &&
                   rpc_call_arm(&s->ports[p], s->queues[q]))
                atomic_fetch_sub_explicit(&s->missing_slots[p][q], 1, memory_order_relaxed);
}

static void connection_accepted(void *ctx, int fd, bool is_unix)
{
    rpc_server *s = ctx;
    grpc_server_credentials *plain = grpc_insecure_server_credentials_create();
    grpc_server_add_channel_from_fd(s->ports[is_unix ? RPC_PORT_LOCAL : RPC_PORT_NETWORK].grpc, fd,
                                    plain);
    grpc_server_credentials_release(plain);
}

/* ---- start ---- */

/* What the library has to say is for those who debug it. */
static void library_log(gpr_log_func_args *a) { log_debug("grpc", LOG_STR("message", a->message)); }

static void set_gate(rpc_server *s, rpc_gate *g)
{
    bool is_big = g == &s->big;
    g->max_inside = is_big ? s->cfg.max_bodies : SMALL_INSIDE;
    g->max_waiting = is_big ? BIG_WAITING(s->cfg.max_calls) : SMALL_WAITING(s->cfg.max_calls);
    g->grace_ms = is_big ? BIG_GRACE_MS : SMALL_GRACE_MS;
    g->limit_ms = s->cfg.body_timeout_ms;
    g->timers = s->timers;
}

static cuzk_status start_pollers(rpc_server *s)
{
    for (uint32_t q = 0; q < RPC_N_QUEUES; q++)
        s->queues[q] = grpc_completion_queue_create_for_next(NULL);
    for (uint32_t i = 0; i < RPC_N_POLLERS; i++, s->n_pollers++)
        if (pthread_create(&s->pollers[i], NULL, poll_queue, s->queues[i % RPC_N_QUEUES]) != 0)
            return cuzk_fail(CUZK_E_NOMEM, "gRPC polling thread");
    return cuzk_ok();
}

/* The servers are started even when TLS fails: only then can they be ended in order. */
static cuzk_status start_ports(rpc_server *s)
{
    for (uint32_t p = 0; p < RPC_N_PORTS; p++) {
        s->ports[p].server = s;
        s->ports[p].needs_token = s->cfg.token && (p == RPC_PORT_NETWORK || s->cfg.token_on_unix);
        s->ports[p].grpc = make_grpc_server(&s->cfg);
        for (uint32_t q = 0; q < RPC_N_QUEUES; q++)
            grpc_server_register_completion_queue(s->ports[p].grpc, s->queues[q], NULL);
    }
    cuzk_status st = s->cfg.tls_listen
                         ? rpc_tls_open(&s->tls, &s->cfg, s->ports[RPC_PORT_NETWORK].grpc)
                         : cuzk_ok();
    for (uint32_t p = 0; p < RPC_N_PORTS; p++)
        grpc_server_start(s->ports[p].grpc);
    s->is_started = true;
    return st;
}

static cuzk_status arm_slots(rpc_server *s)
{
    for (uint32_t p = 0; p < RPC_N_PORTS; p++)
        for (uint32_t q = 0; q < RPC_N_QUEUES; q++)
            for (uint32_t i = 0; i < RPC_ARMED_PER_QUEUE; i++)
                if (!rpc_call_arm(&s->ports[p], s->queues[q]))
                    return cuzk_fail(CUZK_E_NOMEM, "gRPC call slots");
    return cuzk_ok();
}

static cuzk_status build(rpc_server *s, const rpc_server_config *cfg)
{
    CUZK_TRY(take_config(s, cfg));
    if (cfg->n_listen == 0 && !cfg->tls_listen)
        return cuzk_fail(CUZK_E_INPUT, "listen: expected at least one address");
    CUZK_TRY(rpc_acceptor_open(&s->acceptor, &s->cfg));
    CUZK_TRY(rpc_timers_create(&s->timers, &(rpc_timer_ops){.keep = rpc_call_timer_keep,
                                                            .fire = rpc_call_timer_fire,
                                                            .tick = tick,
                                                            .tick_ctx = s,
                                                            .tick_ms = TICK_MS}));
    s->share.max = s->cfg.max_calls;
    set_gate(s, &s->big);
    set_gate(s, &s->small);
    CUZK_TRY(start_pollers(s));
    CUZK_TRY(start_ports(s));
    CUZK_TRY(arm_slots(s));
    return rpc_acceptor_start(s->acceptor, connection_accepted, s);
}

static void tell_stats(void *ctx, engine_transport_view *out) { *out = rpc_server_get_stats(ctx); }

cuzk_status rpc_server_start(rpc_server **out, const rpc_server_config *cfg, engine *e)
{
    *out = NULL;
    rpc_server *s = mem_zalloc(sizeof *s, 64);
    if (!s)
        return cuzk_fail(CUZK_E_NOMEM, "gRPC server");
    signal(SIGPIPE, SIG_IGN); /* a client that goes away is no reason to die */
    gpr_set_log_function(library_log);
    grpc_init();
    pthread_mutex_init(&s->calls_mu, NULL);
    pthread_mutex_init(&s->end_mu, NULL);
    pthread_cond_init(&s->ended, NULL);
    rpc_service_init(&s->service, e);
    rpc_gate_init(&s->big);
    rpc_gate_init(&s->small);
    cuzk_status st = build(s, cfg);
    if (st.code != CUZK_OK) {
        rpc_server_stop(s);
        return st;
    }
    atomic_store_explicit(&s->is_up, true, memory_order_release);
    engine_set_transport(e, tell_stats, s);
    *out = s;
    return st;
}

const char *rpc_server_address(const rpc_server *s, uint32_t idx)
{
    const rpc_listener *l = rpc_acceptor_listener(s->acceptor, idx);
    if (l)
        return l->text;
    return s->tls && idx == s->cfg.n_listen ? rpc_tls_text(s->tls) : NULL;
}

void rpc_server_set_serving(rpc_server *s, bool on) { rpc_service_set_serving(&s->service, on); }

bool rpc_server_is_alive(const rpc_server *s) { return !s->tls || rpc_tls_is_alive(s->tls); }

rpc_server_stats rpc_server_get_stats(rpc_server *s)
{
    const rpc_counters *c = &s->counters;
    rpc_server_stats out = {
        .calls_started = atomic_load_explicit(&c->started, memory_order_relaxed),
        .calls_live = atomic_load_explicit(&c->live, memory_order_relaxed),
        .refused_token = atomic_load_explicit(&c->refused_token, memory_order_relaxed),
        .refused_busy = atomic_load_explicit(&c->refused_busy, memory_order_relaxed),
        .refused_invalid = atomic_load_explicit(&c->refused_invalid, memory_order_relaxed),
        .cancelled = atomic_load_explicit(&c->cancelled, memory_order_relaxed)};
    rpc_gate_count(&s->big, &out.bodies_live, &out.bodies_waiting);
    rpc_acceptor_count(s->acceptor, &out.connections_accepted, &out.connections_refused);
    return out;
}

rpc_service *rpc_call_service(const rpc_call *c) { return &c->port->server->service; }
void *rpc_call_state(rpc_call *c) { return c->state; }

/* ---- end ---- */

/* Ask the methods of live calls to end them; endless_only at the beginning of a drain. */
static void end_calls(rpc_server *s, bool endless_only)
{
    pthread_mutex_lock(&s->calls_mu);
    size_t n = 0, cap = (size_t)atomic_load_explicit(&s->counters.live, memory_order_relaxed) + 64;
    rpc_call **list = mem_alloc(cap * sizeof *list, 16);
    for (rpc_call *c = s->calls; c && list && n < cap; c = c->next) {
        bool wanted =
            c->state && c->method->on_drain && (!endless_only || c->method->flags & RPC_ENDLESS);
        if (!wanted)
            continue;
        rpc_call_activate(c); /* in the list, so it is active; it stays so meanwhile */
        list[n++] = c;
    }
    pthread_mutex_unlock(&s->calls_mu);
    for (size_t i = 0; i < n; i++) {
        list[i]->method->on_drain(list[i]);
        rpc_call_deactivate(list[i]);
    }
    mem_free(list);
}

static void port_ended(void *ctx, bool ok)
{
    (void)ok;
    rpc_server *s = ctx;
    pthread_mutex_lock(&s->end_mu);
    s->n_ended++;
    pthread_cond_signal(&s->ended);
    pthread_mutex_unlock(&s->end_mu);
}

/* False: some calls are still there. */
static bool wait_ended(rpc_server *s, uint64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000 * 1000000u);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&s->end_mu);
    int err = 0;
    while (s->n_ended < RPC_N_PORTS && err == 0)
        err = pthread_cond_timedwait(&s->ended, &s->end_mu, &until);
    bool done = s->n_ended == RPC_N_PORTS;
    pthread_mutex_unlock(&s->end_mu);
    return done;
}

void rpc_server_drain(rpc_server *s, uint64_t timeout_ms)
{
    if (s->is_drained || !s->is_started)
        return;
    s->is_drained = true;
    atomic_store_explicit(&s->is_up, false, memory_order_relaxed);
    rpc_server_set_serving(s, false);
    rpc_acceptor_stop(s->acceptor);
    end_calls(s, true);
    for (uint32_t p = 0; p < RPC_N_PORTS; p++) {
        s->end_tags[p] = (rpc_tag){port_ended, s};
        rpc_tag_release(&s->end_tags[p]);
        grpc_server_shutdown_and_notify(s->ports[p].grpc, s->queues[0], &s->end_tags[p]);
    }
    if (wait_ended(s, timeout_ms))
        return;
    end_calls(s, false);
    if (wait_ended(s, 1000))
        return;
    for (uint32_t p = 0; p < RPC_N_PORTS; p++)
        grpc_server_cancel_all_calls(s->ports[p].grpc);
    (void)wait_ended(s, 1000);
}

static void stop_polling(rpc_server *s)
{
    for (uint32_t q = 0; q < RPC_N_QUEUES; q++)
        if (s->queues[q])
            grpc_completion_queue_shutdown(s->queues[q]);
    for (uint32_t i = 0; i < s->n_pollers; i++)
        pthread_join(s->pollers[i], NULL);
    /* With fewer pollers than meant, a queue may still hold its last event. */
    for (uint32_t q = 0; q < RPC_N_QUEUES; q++)
        if (s->queues[q] && s->n_pollers < RPC_N_POLLERS)
            (void)poll_queue(s->queues[q]);
}

void rpc_server_stop(rpc_server *s)
{
    if (!s)
        return;
    engine_set_transport(s->service.e, NULL, NULL);
    rpc_server_drain(s, 0);
    /* What the engine still works on for a call (a key being loaded) calls back before this. */
    while (s->is_drained && !wait_ended(s, 5000))
        log_info("rpc_stop_waits", LOG_U64("calls", rpc_server_get_stats(s).calls_live));
    stop_polling(s);
    for (uint32_t p = 0; p < RPC_N_PORTS; p++)
        if (s->ports[p].grpc)
            grpc_server_destroy(s->ports[p].grpc);
    for (uint32_t q = 0; q < RPC_N_QUEUES; q++)
        if (s->queues[q])
            grpc_completion_queue_destroy(s->queues[q]);
    rpc_timers_destroy(s->timers);
    rpc_acceptor_destroy(s->acceptor);
    rpc_tls_close(s->tls);
    grpc_shutdown();
    rpc_gate_fini(&s->big);
    rpc_gate_fini(&s->small);
    rpc_service_fini(&s->service);
    pthread_mutex_destroy(&s->calls_mu);
    pthread_mutex_destroy(&s->end_mu);
    pthread_cond_destroy(&s->ended);
    arena_fini(&s->strings);
    mem_free(s);
}
