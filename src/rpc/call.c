/* Life of a call: arrives, is checked, receives its message in its turn, ends. Answers are in
 * call_answer.c. */
#include "base/bytes.h"
#include "base/mem.h"
#include "rpc/server_int.h"
#include <grpc/byte_buffer.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <malloc.h>
#include <stdio.h>
#include <strings.h>

#define RETRY_MS 1000u
#define TRIM_MESSAGE_BYTES ((size_t)16 << 20)

/* ---- references ---- */

static void call_free(rpc_call *c)
{
    grpc_call *last = c->grpc;
    grpc_metadata_array_destroy(&c->metadata);
    grpc_call_details_destroy(&c->details);
    grpc_slice_unref(c->detail);
    grpc_slice_unref(c->hint);
    pthread_mutex_destroy(&c->mu);
    mem_free(c->state);
    mem_free(c);
    if (last)
        grpc_call_unref(last); /* the server's end waits for this one */
}

void rpc_call_ref(rpc_call *c) { atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed); }

void rpc_call_unref(rpc_call *c)
{
    /* acq_rel: what other holders wrote is seen by the one who frees */
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
        call_free(c);
}

static void list_add(rpc_call *c)
{
    rpc_server *s = c->port->server;
    pthread_mutex_lock(&s->calls_mu);
    c->next = s->calls;
    if (s->calls)
        s->calls->prev = c;
    s->calls = c;
    pthread_mutex_unlock(&s->calls_mu);
    atomic_fetch_add_explicit(&s->counters.started, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->counters.live, 1, memory_order_relaxed);
}

static void list_remove(rpc_call *c)
{
    rpc_server *s = c->port->server;
    pthread_mutex_lock(&s->calls_mu);
    *(c->prev ? &c->prev->next : &s->calls) = c->next;
    if (c->next)
        c->next->prev = c->prev;
    pthread_mutex_unlock(&s->calls_mu);
    atomic_fetch_sub_explicit(&s->counters.live, 1, memory_order_relaxed);
}

void rpc_call_activate(rpc_call *c)
{
    rpc_call_ref(c);
    atomic_fetch_add_explicit(&c->active, 1, memory_order_relaxed);
}

void rpc_call_deactivate(rpc_call *c)
{
    if (atomic_fetch_sub_explicit(&c->active, 1, memory_order_acq_rel) == 1) {
        if (c->state && c->method->on_close)
            c->method->on_close(c);
        rpc_share_leave(&c->port->server->share, c->share);
        list_remove(c);
    }
    rpc_call_unref(c);
}

/* ---- timers ---- */

/* The body timer is for the message and later for what is sent. Both timers live in a call; the tag
 * tells which one it is. */
static rpc_call *call_of(rpc_timer *tm)
{
    size_t at = tm->tag == CALL_BODY_TIMER ? offsetof(rpc_call, body_timer)
                                           : offsetof(rpc_call, method_timer);
    return (rpc_call *)((char *)tm - at);
}

void rpc_call_timer_keep(rpc_timer *tm) { rpc_call_activate(call_of(tm)); }

/* A client that does not take what it is sent must not keep a call, and its memory, for ever. */
static bool check_sending(rpc_call *c)
{
    rpc_server *s = c->port->server;
    pthread_mutex_lock(&c->mu);
    bool is_sending = c->is_sending && !c->is_gone;
    uint64_t age_ms = is_sending ? (clock_now_ns() - c->send_since_ns) / 1000000u : 0;
    pthread_mutex_unlock(&c->mu);
    if (is_sending && age_ms >= s->cfg.body_timeout_ms)
        (void)grpc_call_cancel(c->grpc, NULL);
    else if (is_sending)
        (void)rpc_timer_hasten(s->timers, &c->body_timer, s->cfg.body_timeout_ms - age_ms);
    return is_sending;
}

static void check_body(rpc_call *c)
{
    if (check_sending(c))
        return;
    rpc_overdue overdue = rpc_gate_check(c->gate, c);
    if (overdue == RPC_IN_TIME)
        return;
    if (overdue == RPC_OVER_LIMIT)
        rpc_call_fail(c, RPC_DEADLINE_EXCEEDED, "the request did not arrive in time", 0);
    else
        rpc_call_fail(c, RPC_RESOURCE_EXHAUSTED,
                      "the request arrives too slowly while others wait to send theirs", RETRY_MS);
    rpc_gate_leave(c->gate, c);
}

void rpc_call_timer_fire(rpc_timer *tm)
{
    rpc_call *c = call_of(tm);
    if (tm->tag == CALL_BODY_TIMER)
        check_body(c);
    else if (c->method->on_timer)
        c->method->on_timer(c);
    rpc_call_deactivate(c);
}

void rpc_call_set_timer(rpc_call *c, uint64_t ms)
{
    if (!rpc_timer_set(c->port->server->timers, &c->method_timer, ms))
        rpc_call_fail(c, RPC_RESOURCE_EXHAUSTED, "out of memory for a timer", RETRY_MS);
}

/* ---- receiving ---- */

size_t rpc_body_bytes(const rpc_body *b) { return b->bb ? grpc_byte_buffer_length(b->bb) : 0; }

bool rpc_body_next(rpc_body *b, const uint8_t **p, size_t *len)
{
    if (b->has_current)
        grpc_slice_unref(b->current);
    b->has_current = false;
    if (!b->bb || b->bb->data.raw.slice_buffer.count == 0)
        return false;
    b->current = grpc_slice_buffer_take_first(&b->bb->data.raw.slice_buffer);
    b->has_current = true;
    *p = GRPC_SLICE_START_PTR(b->current);
    *len = GRPC_SLICE_LENGTH(b->current);
    return true;
}

static void body_fini(rpc_body *b)
{
    if (b->has_current)
        grpc_slice_unref(b->current);
    if (b->bb)
        grpc_byte_buffer_destroy(b->bb);
}

static void message_received(void *ctx, bool ok)
{
    rpc_call *c = ctx;
    pthread_mutex_lock(&c->mu);
    rpc_body body = {.bb = c->received};
    c->received = NULL;
    c->is_receiving = false;
    pthread_mutex_unlock(&c->mu);
    rpc_timer_clear(c->port->server->timers, &c->body_timer);
    size_t bytes = rpc_body_bytes(&body);
    bool compressed = body.bb && body.bb->data.raw.compression != GRPC_COMPRESS_NONE;
    if (compressed)
        rpc_call_fail(c, RPC_UNIMPLEMENTED, "compressed messages are not taken", 0);
    else if (body.bb)
        c->method->on_message(c, &body);
    else if (ok && c->method->flags & RPC_MANY_MESSAGES)
        c->method->on_message(c, NULL);
    else
        rpc_call_fail(c, RPC_INVALID_ARGUMENT, "the request message is missing or cut", 0);
    body_fini(&body);
    /* Its pieces stay in malloc's arenas, of which the next message may use others. */
    if (bytes >= TRIM_MESSAGE_BYTES)
        malloc_trim(0);
    rpc_gate_leave(c->gate, c);
    rpc_call_deactivate(c);
}

/* Holding mu. */
static bool start_receive(rpc_call *c)
{
    grpc_op op;
    memset(&op, 0, sizeof op);
    op.op = GRPC_OP_RECV_MESSAGE;
    op.data.recv_message.recv_message = &c->received;
    if (c->is_gone || c->is_receiving)
        return false;
    c->on_received = (rpc_tag){message_received, c};
    rpc_call_activate(c);
    c->is_receiving = true;
    rpc_tag_release(&c->on_received);
    if (grpc_call_start_batch(c->grpc, &op, 1, &c->on_received, NULL) == GRPC_CALL_OK)
        return true;
    c->is_receiving = false;
    pthread_mutex_unlock(&c->mu);
    rpc_call_deactivate(c);
    pthread_mutex_lock(&c->mu);
    return false;
}

void rpc_call_receive(rpc_call *c)
{
    pthread_mutex_lock(&c->mu);
    (void)start_receive(c);
    pthread_mutex_unlock(&c->mu);
}

bool rpc_call_admit(rpc_call *c)
{
    uint64_t retry_ms = 0;
    cuzk_status st = c->method->on_admit ? c->method->on_admit(c, &retry_ms) : cuzk_ok();
    if (st.code != CUZK_OK) {
        rpc_call_fail_status(c, st, retry_ms ? retry_ms : RETRY_MS);
        return false;
    }
    pthread_mutex_lock(&c->mu);
    c->admitted_ns = clock_now_ns();
    bool ok = start_receive(c);
    pthread_mutex_unlock(&c->mu);
    return ok;
}

/* ---- arriving ---- */

static bool slice_is(grpc_slice s, const char *text)
{
    return GRPC_SLICE_LENGTH(s) == strlen(text) &&
           memcmp(GRPC_SLICE_START_PTR(s), text, strlen(text)) == 0;
}

static size_t metadata_bytes(const rpc_call *c)
{
    size_t sum = 0;
    for (size_t i = 0; i < c->metadata.count; i++)
        sum += GRPC_SLICE_LENGTH(c->metadata.metadata[i].key) +
               GRPC_SLICE_LENGTH(c->metadata.metadata[i].value) + 32;
    return sum;
}

/* Time depends on the length that the client sent, and on nothing of the token. */
static bool equal_ct(const uint8_t *a, size_t n, const char *secret)
{
    size_t m = strlen(secret);
    uint32_t diff = n == m ? 0 : 1;
    for (size_t i = 0; i < n; i++)
        diff |= a[i] ^ (uint8_t)secret[m ? i % m : 0];
    return diff == 0 && m > 0;
}

static bool has_token(const rpc_call *c, const char *token)
{
    static const char bearer[] = "Bearer "; /* in any case: RFC 9110, 11.1 */
    const size_t skip = sizeof bearer - 1;
    bool found = false;
    for (size_t i = 0; i < c->metadata.count; i++) {
        grpc_slice v = c->metadata.metadata[i].value;
        if (!slice_is(c->metadata.metadata[i].key, "authorization") ||
            GRPC_SLICE_LENGTH(v) < skip ||
            strncasecmp((const char *)GRPC_SLICE_START_PTR(v), bearer, skip) != 0)
            continue;
        found |= equal_ct(GRPC_SLICE_START_PTR(v) + skip, GRPC_SLICE_LENGTH(v) - skip, token);
    }
    return found;
}

uint64_t rpc_call_deadline_unix_ms(const rpc_call *c)
{
    if (gpr_time_cmp(c->details.deadline, gpr_inf_future(c->details.deadline.clock_type)) >= 0)
        return 0;
    gpr_timespec t = gpr_convert_clock_type(c->details.deadline, GPR_CLOCK_REALTIME);
    return t.tv_sec <= 0 ? 1 : (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

uint64_t rpc_call_received_ns(const rpc_call *c) { return c->received_ns; }
uint64_t rpc_call_admitted_ns(const rpc_call *c) { return c->admitted_ns; }

static bool take_share(rpc_call *c)
{
    char *peer = grpc_call_get_peer(c->grpc);
    c->share = rpc_share_enter(&c->port->server->share, peer);
    gpr_free(peer);
    return c->share != NULL;
}

/* Whether the call may go on, before anything of its message is read. */
static bool is_acceptable(rpc_call *c)
{
    rpc_server *s = c->port->server;
    char text[160];
    if (!c->method) {
        size_t len = GRPC_SLICE_LENGTH(c->details.method);
        snprintf(text, sizeof text, "unknown method %.*s", len < 100 ? (int)len : 100,
                 (const char *)GRPC_SLICE_START_PTR(c->details.method));
        rpc_call_fail(c, RPC_UNIMPLEMENTED, text, 0);
        return false;
    }
    if (c->port->needs_token && !(c->method->flags & RPC_OPEN) && !has_token(c, s->cfg.token)) {
        rpc_call_fail(c, RPC_UNAUTHENTICATED,
                      "expected metadata authorization: Bearer TOKEN with the daemon's token", 0);
        return false;
    }
    if (metadata_bytes(c) > s->cfg.max_metadata_bytes) {
        snprintf(text, sizeof text, "metadata: expected at most %u bytes, found %zu",
                 s->cfg.max_metadata_bytes, metadata_bytes(c));
        rpc_call_fail(c, RPC_RESOURCE_EXHAUSTED, text, 0);
        return false;
    }
    if (!take_share(c)) {
        snprintf(text, sizeof text, "more than %u calls at once, or %u of one connection",
                 s->cfg.max_calls, rpc_share_per_connection(s->cfg.max_calls));
        rpc_call_fail(c, RPC_RESOURCE_EXHAUSTED, text, RETRY_MS);
        return false;
    }
    if (!c->state) {
        rpc_call_fail(c, RPC_RESOURCE_EXHAUSTED, "out of memory", RETRY_MS);
        return false;
    }
    return true;
}

static void call_gone(void *ctx, bool ok)
{
    rpc_call *c = ctx;
    (void)ok;
    rpc_server *s = c->port->server;
    pthread_mutex_lock(&c->mu);
    c->is_gone = true;
    bool cancelled = c->was_cancelled && !c->has_answer;
    pthread_mutex_unlock(&c->mu);
    if (cancelled)
        atomic_fetch_add_explicit(&s->counters.cancelled, 1, memory_order_relaxed);
    rpc_timer_kill(s->timers, &c->method_timer);
    rpc_timer_kill(s->timers, &c->body_timer);
    if (c->gate)
        rpc_gate_leave(c->gate, c);
    rpc_call_deactivate(c);
}

/* The only sign of a disconnect, a cancel or a passed deadline; it comes at a normal end too. */
static bool watch_for_end(rpc_call *c)
{
    grpc_op op;
    memset(&op, 0, sizeof op);
    op.op = GRPC_OP_RECV_CLOSE_ON_SERVER;
    op.data.recv_close_on_server.cancelled = &c->was_cancelled;
    c->on_gone = (rpc_tag){call_gone, c};
    rpc_tag_release(&c->on_gone);
    return grpc_call_start_batch(c->grpc, &op, 1, &c->on_gone, NULL) == GRPC_CALL_OK;
}

/* All that others read of a call without its lock: before anybody else knows it. */
static void prepare(rpc_call *c)
{
    rpc_server *s = c->port->server;
    c->method = rpc_method_find((const char *)GRPC_SLICE_START_PTR(c->details.method),
                                GRPC_SLICE_LENGTH(c->details.method));
    if (!c->method)
        return;
    c->state = mem_zalloc(c->method->state_bytes, 16);
    c->gate = c->method->flags & RPC_BIG_BODY ? &s->big : &s->small;
}

static void enter_gate(rpc_call *c)
{
    if (!rpc_gate_enter(c->gate, c)) {
        rpc_call_fail(c, RPC_RESOURCE_EXHAUSTED, "too many requests wait to be received", RETRY_MS);
        return;
    }
    pthread_mutex_lock(&c->mu);
    bool is_gone = c->is_gone;
    pthread_mutex_unlock(&c->mu);
    if (is_gone) /* call_gone may have looked before it was in */
        rpc_gate_leave(c->gate, c);
}

static void call_arrived(void *ctx, bool ok)
{
    rpc_call *c = ctx;
    rpc_server *s = c->port->server;
    if (!ok) { /* the server shuts down; nothing arrived */
        rpc_call_unref(c);
        return;
    }
    uint32_t p = (uint32_t)(c->port - s->ports), q = c->queue == s->queues[0] ? 0 : 1;
    if (!rpc_call_arm(c->port, c->queue))
        atomic_fetch_add_explicit(&s->missing_slots[p][q], 1, memory_order_relaxed);
    c->received_ns = clock_now_ns();
    prepare(c);
    rpc_call_activate(c); /* until this function ends; the first activation is call_gone's */
    list_add(c);
    if (!watch_for_end(c))
        rpc_call_deactivate(c);
    else if (is_acceptable(c))
        enter_gate(c);
    rpc_call_deactivate(c);
}

bool rpc_call_arm(rpc_port *port, grpc_completion_queue *queue)
{
    rpc_call *c = mem_zalloc(sizeof *c, 64);
    if (!c)
        return false;
    c->port = port;
    c->queue = queue;
    c->body_timer.tag = CALL_BODY_TIMER;
    c->detail = c->hint = grpc_empty_slice();
    atomic_init(&c->refs, 1);
    atomic_init(&c->active, 1);
    pthread_mutex_init(&c->mu, NULL);
    grpc_metadata_array_init(&c->metadata);
    grpc_call_details_init(&c->details);
    c->on_new = (rpc_tag){call_arrived, c};
    rpc_tag_release(&c->on_new);
    if (grpc_server_request_call(port->grpc, &c->grpc, &c->details, &c->metadata, queue, queue,
                                 &c->on_new) == GRPC_CALL_OK)
        return true;
    rpc_call_unref(c);
    return false;
}
