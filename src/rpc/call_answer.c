/* Answers of a call: one batch at a time, the first answer wins. */
#include "base/bytes.h"
#include "base/run_ctx.h"
#include "base/utf8.h"
#include "rpc/server_int.h"
#include <grpc/byte_buffer.h>
#include <stdio.h>

rpc_code rpc_code_of(cuzk_code code)
{
    switch (code) {
#define CODE_GRPC(name, value, text, grpc) \
    case name:                             \
        return (rpc_code)(grpc);
        CUZK_CODES(CODE_GRPC)
#undef CODE_GRPC
    }
    return RPC_INTERNAL;
}

/* ---- batches ---- */

/* A batch being put together. */
typedef struct batch {
    grpc_op ops[3];
    size_t n;
} batch;

static grpc_op *add_op(batch *b, grpc_op_type type)
{
    grpc_op *op = &b->ops[b->n++];
    memset(op, 0, sizeof *op);
    op->op = type;
    return op;
}

static void add_headers(batch *b, rpc_call *c)
{
    if (!c->has_headers)
        add_op(b, GRPC_OP_SEND_INITIAL_METADATA);
    c->has_headers = true;
}

static void add_status(batch *b, rpc_call *c)
{
    grpc_op *op = add_op(b, GRPC_OP_SEND_STATUS_FROM_SERVER);
    op->data.send_status_from_server.trailing_metadata = c->trailers;
    op->data.send_status_from_server.trailing_metadata_count = c->n_trailers;
    op->data.send_status_from_server.status = (grpc_status_code)c->code;
    op->data.send_status_from_server.status_details = &c->detail;
}

static void batch_sent(void *ctx, bool ok);

/* Holding mu; c->sent becomes the batch's. */
static bool start(rpc_call *c, batch *b)
{
    c->on_sent = (rpc_tag){batch_sent, c};
    rpc_call_activate(c);
    c->is_sending = true;
    c->send_since_ns = clock_now_ns();
    rpc_tag_release(&c->on_sent);
    if (grpc_call_start_batch(c->grpc, b->ops, b->n, &c->on_sent, NULL) == GRPC_CALL_OK) {
        rpc_server *s = c->port->server;
        (void)rpc_timer_set(s->timers, &c->body_timer, s->cfg.body_timeout_ms);
        return true;
    }
    c->is_sending = false;
    if (c->sent)
        grpc_byte_buffer_destroy(c->sent);
    c->sent = NULL;
    pthread_mutex_unlock(&c->mu);
    rpc_call_deactivate(c);
    pthread_mutex_lock(&c->mu);
    return false;
}

static void start_status(rpc_call *c)
{
    batch b = {.n = 0};
    add_headers(&b, c);
    add_status(&b, c);
    (void)start(c, &b);
}

static void batch_sent(void *ctx, bool ok)
{
    rpc_call *c = ctx;
    pthread_mutex_lock(&c->mu);
    if (c->sent)
        grpc_byte_buffer_destroy(c->sent);
    c->sent = NULL;
    c->is_sending = false;
    rpc_timer_clear(c->port->server->timers, &c->body_timer);
    bool tell = ok && !c->has_answer && !c->is_gone;
    if (c->ends_after_send && !c->is_gone) {
        c->ends_after_send = false;
        start_status(c);
    }
    pthread_mutex_unlock(&c->mu);
    if (tell && c->method->on_sent)
        c->method->on_sent(c);
    rpc_call_deactivate(c);
}

static grpc_byte_buffer *filled(size_t len, rpc_fill *fill, void *ctx)
{
    grpc_slice s = grpc_slice_malloc(len);
    fill(ctx, GRPC_SLICE_START_PTR(s));
    grpc_byte_buffer *bb = grpc_raw_byte_buffer_create(&s, 1);
    grpc_slice_unref(s);
    return bb;
}

static void add_message(batch *b, rpc_call *c, grpc_byte_buffer *bb)
{
    c->sent = bb;
    add_op(b, GRPC_OP_SEND_MESSAGE)->data.send_message.send_message = bb;
}

bool rpc_call_reply(rpc_call *c, size_t len, rpc_fill *fill, void *ctx)
{
    grpc_byte_buffer *bb = filled(len, fill, ctx);
    batch b = {.n = 0};
    pthread_mutex_lock(&c->mu);
    bool ok = !c->has_answer && !c->is_gone;
    if (ok) {
        c->has_answer = true;
        c->code = RPC_OK;
        add_headers(&b, c);
        add_message(&b, c, bb);
        add_status(&b, c);
        ok = start(c, &b);
    } else {
        grpc_byte_buffer_destroy(bb);
    }
    pthread_mutex_unlock(&c->mu);
    return ok;
}

bool rpc_call_send(rpc_call *c, size_t len, rpc_fill *fill, void *ctx)
{
    grpc_byte_buffer *bb = filled(len, fill, ctx);
    batch b = {.n = 0};
    pthread_mutex_lock(&c->mu);
    bool ok = !c->has_answer && !c->is_gone && !c->is_sending;
    if (ok) {
        add_headers(&b, c);
        add_message(&b, c, bb);
        ok = start(c, &b);
    } else {
        grpc_byte_buffer_destroy(bb);
    }
    pthread_mutex_unlock(&c->mu);
    return ok;
}

/* ---- endings ---- */

/* Holding mu. False: something else was decided before. */
static bool decide(rpc_call *c, rpc_code code)
{
    if (c->has_answer || c->is_gone)
        return false;
    c->has_answer = true;
    c->code = code;
    return true;
}

static void start_end(rpc_call *c)
{
    if (c->is_sending)
        c->ends_after_send = true;
    else
        start_status(c);
}

void rpc_call_end(rpc_call *c)
{
    pthread_mutex_lock(&c->mu);
    if (decide(c, RPC_OK))
        start_end(c);
    pthread_mutex_unlock(&c->mu);
}

static size_t put_varint(uint8_t *p, uint64_t v)
{
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        p[n++] = (uint8_t)(v | 0x80);
    p[n++] = (uint8_t)v;
    return n;
}

/* One length-delimited field below 2^14 bytes. */
static size_t put_field(uint8_t *p, uint32_t number, const void *bytes, size_t len)
{
    size_t n = put_varint(p, number << 3 | 2u);
    n += put_varint(p + n, len);
    memcpy(p + n, bytes, len);
    return n + len;
}

/* google.rpc.Status { code 1, message 2, details 3: Any { type_url 1, value 2: RetryInfo
 * { retry_delay 1: Duration { seconds 1, nanos 2 } } } }. */
static grpc_slice retry_info(rpc_code code, const char *message, uint64_t ms)
{
    static const char type[] = "type.googleapis.com/google.rpc.RetryInfo";
    uint8_t duration[24], info[32], any[128], out[1024];
    size_t n = 0, len = strnlen(message, 600);
    duration[n++] = 1 << 3;
    n += put_varint(duration + n, ms / 1000);
    duration[n++] = 2 << 3;
    n += put_varint(duration + n, ms % 1000 * 1000000u);
    n = put_field(info, 1, duration, n);
    size_t a = put_field(any, 1, type, sizeof type - 1);
    a += put_field(any + a, 2, info, n);
    n = 0;
    out[n++] = 1 << 3;
    out[n++] = (uint8_t)code;
    n += put_field(out + n, 2, message, len);
    n += put_field(out + n, 3, any, a);
    return grpc_slice_from_copied_buffer((const char *)out, n);
}

static void add_retry_hint(rpc_call *c, const char *message, uint64_t ms)
{
    snprintf(c->retry_ms, sizeof c->retry_ms, "%llu", (unsigned long long)ms);
    c->hint = retry_info(c->code, message, ms);
    memset(c->trailers, 0, sizeof c->trailers);
    c->trailers[0].key = grpc_slice_from_static_string("grpc-retry-pushback-ms");
    c->trailers[0].value = grpc_slice_from_static_string(c->retry_ms);
    c->trailers[1].key = grpc_slice_from_static_string("grpc-status-details-bin");
    c->trailers[1].value = c->hint;
    c->n_trailers = 2;
}

static void count(rpc_server *s, rpc_code code)
{
    atomic_uint_fast64_t *n = code == RPC_UNAUTHENTICATED      ? &s->counters.refused_token
                              : code == RPC_RESOURCE_EXHAUSTED ? &s->counters.refused_busy
                              : code == RPC_INVALID_ARGUMENT   ? &s->counters.refused_invalid
                                                               : NULL;
    if (n)
        atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

void rpc_call_fail(rpc_call *c, rpc_code code, const char *message, uint64_t retry_after_ms)
{
    char text[640];
    if (retry_after_ms)
        snprintf(text, sizeof text, "%.560s; retry after %llu ms", message,
                 (unsigned long long)retry_after_ms);
    else
        snprintf(text, sizeof text, "%s", message);
    utf8_repair(text);
    pthread_mutex_lock(&c->mu);
    if (decide(c, code)) {
        count(c->port->server, code);
        c->detail = grpc_slice_from_copied_string(text);
        if (retry_after_ms)
            add_retry_hint(c, text, retry_after_ms);
        start_end(c);
    }
    pthread_mutex_unlock(&c->mu);
}

void rpc_call_fail_status(rpc_call *c, cuzk_status st, uint64_t retry_after_ms)
{
    rpc_code code = rpc_code_of(st.code);
    rpc_call_fail(c, code, st.msg, code == RPC_RESOURCE_EXHAUSTED ? retry_after_ms : 0);
}
