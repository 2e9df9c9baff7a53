/* Calls of the client on gRPC's core library: a queue for each, and a wait that can be cancelled. */
#include "rpc/client.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "rpc/address.h"
#include "rpc/call_int.h"
#include "rpc/client_int.h"
#include "rpc/pem.h"
#include "rpc/server.h"
#include "rpc/wire.h"
#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <stdio.h>
#include <stdlib.h>

#define POLL_MS 100

struct rpc_client {
    grpc_channel *channel;
    char text[RPC_TARGET_MAX];
    char *bearer; /* "Bearer TOKEN", or NULL */
    bool (*cancelled)(void *ctx);
    void *cancel_ctx;
};

/* ---- channel ---- */

static cuzk_status make_credentials(grpc_channel_credentials **out, const rpc_client_config *cfg)
{
    if (!cfg->tls) {
        *out = grpc_insecure_credentials_create();
        return cuzk_ok();
    }
    char *ca = NULL, *cert = NULL, *key = NULL;
    cuzk_status st = cuzk_ok();
    if ((cfg->tls_cert == NULL) != (cfg->tls_key == NULL))
        return cuzk_fail(CUZK_E_USAGE, "tls_cert and tls_key: expected both or none");
    if (cfg->tls_ca)
        st = pem_read(&ca, NULL, "tls_ca", cfg->tls_ca, PEM_CERTIFICATE);
    if (st.code == CUZK_OK && cfg->tls_cert)
        st = pem_read(&cert, NULL, "tls_cert", cfg->tls_cert, PEM_CERTIFICATE);
    if (st.code == CUZK_OK && cfg->tls_key)
        st = pem_read(&key, NULL, "tls_key", cfg->tls_key, PEM_KEY);
    if (st.code == CUZK_OK) {
        grpc_ssl_pem_key_cert_pair pair = {key, cert};
        *out = grpc_ssl_credentials_create(ca, key ? &pair : NULL, NULL, NULL);
        if (!*out)
            st = cuzk_fail(CUZK_E_INPUT, "TLS: the certificate and the key cannot be used");
    }
    if (key)
        mem_wipe(key, strlen(key));
    mem_free(ca);
    mem_free(cert);
    mem_free(key);
    return st;
}

static grpc_arg int_arg(const char *key, int value)
{
    return (grpc_arg){
        .type = GRPC_ARG_INTEGER, .key = (char *)(uintptr_t)key, .value.integer = value};
}

static grpc_channel *make_channel(const rpc_client_config *cfg, const char *target,
                                  grpc_channel_credentials *creds)
{
    grpc_arg args[] = {
        int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, (int)RPC_MESSAGE_MAX_BYTES),
        int_arg(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, (int)RPC_MESSAGE_MAX_BYTES),
        int_arg(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000),
        int_arg(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200),
        int_arg(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000),
        int_arg(GRPC_ARG_KEEPALIVE_TIME_MS, 30000),
        int_arg(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000),
        int_arg(GRPC_ARG_ENABLE_RETRIES, 0), /* requests are idempotent, but big */
        int_arg(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
        int_arg(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1),
        int_arg(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
        {.type = GRPC_ARG_STRING,
         .key = (char *)(uintptr_t)GRPC_SSL_TARGET_NAME_OVERRIDE_ARG,
         .value.string = (char *)(uintptr_t)cfg->tls_name},
    };
    size_t n = ARRAY_LEN(args) - (cfg->tls_name ? 0 : 1);
    return grpc_channel_create(target, creds, &(grpc_channel_args){n, args});
}

static cuzk_status open_channel(rpc_client *c, const rpc_client_config *cfg)
{
    rpc_address addr;
    char target[RPC_TARGET_MAX];
    grpc_channel_credentials *creds = NULL;
    CUZK_TRY(rpc_address_parse(&addr, cfg->address));
    rpc_address_target(target, &addr);
    rpc_address_format(c->text, &addr);
    if (cfg->token) {
        size_t n = strlen(cfg->token) + sizeof "Bearer ";
        c->bearer = mem_alloc(n, 16);
        if (!c->bearer)
            return cuzk_fail(CUZK_E_NOMEM, "token");
        snprintf(c->bearer, n, "Bearer %s", cfg->token);
    }
    CUZK_TRY(make_credentials(&creds, cfg));
    c->channel = make_channel(cfg, target, creds);
    grpc_channel_credentials_release(creds);
    return c->channel ? cuzk_ok() : cuzk_fail(CUZK_E_NOMEM, "gRPC channel");
}

static void be_silent(gpr_log_func_args *a) { (void)a; }

cuzk_status rpc_client_open(rpc_client **out, const rpc_client_config *cfg)
{
    *out = NULL;
    rpc_client *c = mem_zalloc(sizeof *c, 16);
    if (!c)
        return cuzk_fail(CUZK_E_NOMEM, "gRPC client");
    if (!grpc_is_initialized())
        gpr_set_log_function(be_silent); /* statuses say it all */
    grpc_init();
    c->cancelled = cfg->cancelled;
    c->cancel_ctx = cfg->cancel_ctx;
    cuzk_status st = open_channel(c, cfg);
    if (st.code != CUZK_OK)
        rpc_client_close(c);
    else
        *out = c;
    return st;
}

void rpc_client_close(rpc_client *c)
{
    if (!c)
        return;
    if (c->channel)
        grpc_channel_destroy(c->channel);
    grpc_shutdown();
    if (c->bearer)
        mem_wipe(c->bearer, strlen(c->bearer));
    mem_free(c->bearer);
    mem_free(c);
}

/* ---- one call ---- */

typedef struct client_call {
    rpc_client *c;
    grpc_completion_queue *queue;
    grpc_call *call;
    grpc_metadata token;
    grpc_metadata_array headers, trailers;
    grpc_byte_buffer *sent, *received;
    grpc_status_code code;
    grpc_slice detail;
    bool is_cancelled;
} client_call;

static void call_open(client_call *k, rpc_client *c, const rpc_exchange *x)
{
    char path[96];
    *k = (client_call){.c = c, .code = GRPC_STATUS_UNKNOWN, .detail = grpc_empty_slice()};
    snprintf(path, sizeof path, "/cuzk.v1.ProvingEngine/%s", x->method);
    gpr_timespec deadline =
        x->deadline_ms == 0
            ? gpr_inf_future(GPR_CLOCK_REALTIME)
            : gpr_time_add(
                  gpr_now(GPR_CLOCK_REALTIME),
                  gpr_time_from_millis((int64_t)(x->deadline_ms & INT64_MAX), GPR_TIMESPAN));
    grpc_metadata_array_init(&k->headers);
    grpc_metadata_array_init(&k->trailers);
    k->queue = grpc_completion_queue_create_for_pluck(NULL);
    grpc_slice method = grpc_slice_from_copied_string(path);
    k->call = grpc_channel_create_call(c->channel, NULL, GRPC_PROPAGATE_DEFAULTS, k->queue, method,
                                       NULL, deadline, NULL);
    grpc_slice_unref(method);
    size_t len = x->message ? protobuf_c_message_get_packed_size(x->message) : x->len;
    grpc_slice body = grpc_slice_malloc(len);
    if (x->message)
        protobuf_c_message_pack(x->message, GRPC_SLICE_START_PTR(body));
    else
        x->fill(x->fill_ctx, GRPC_SLICE_START_PTR(body));
    k->sent = grpc_raw_byte_buffer_create(&body, 1);
    grpc_slice_unref(body);
    if (c->bearer) {
        k->token.key = grpc_slice_from_static_string("authorization");
        k->token.value = grpc_slice_from_static_string(c->bearer);
    }
}

static void call_close(client_call *k)
{
    if (k->received)
        grpc_byte_buffer_destroy(k->received);
    grpc_byte_buffer_destroy(k->sent);
    grpc_metadata_array_destroy(&k->headers);
    grpc_metadata_array_destroy(&k->trailers);
    grpc_slice_unref(k->detail);
    grpc_call_unref(k->call);
    grpc_completion_queue_shutdown(k->queue);
    gpr_timespec ever = gpr_inf_future(GPR_CLOCK_MONOTONIC);
    while (grpc_completion_queue_pluck(k->queue, NULL, ever, NULL).type != GRPC_QUEUE_SHUTDOWN)
        ;
    grpc_completion_queue_destroy(k->queue);
}

/* Wait for a batch; a cancel by the caller ends it soon. False: it failed. */
static bool wait_for(client_call *k, void *tag)
{
    for (;;) {
        gpr_timespec until =
            gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(POLL_MS, GPR_TIMESPAN));
        grpc_event ev = grpc_completion_queue_pluck(k->queue, tag, until, NULL);
        if (ev.type == GRPC_OP_COMPLETE)
            return ev.success != 0;
        if (!k->is_cancelled && k->c->cancelled && k->c->cancelled(k->c->cancel_ctx)) {
            k->is_cancelled = true;
            grpc_call_cancel(k->call, NULL);
        }
    }
}

static grpc_op *add_op(grpc_op *ops, size_t *n, grpc_op_type type)
{
    memset(&ops[*n], 0, sizeof *ops);
    ops[*n].op = type;
    return &ops[(*n)++];
}

static size_t add_request(grpc_op *ops, client_call *k)
{
    size_t n = 0;
    grpc_op *op = add_op(ops, &n, GRPC_OP_SEND_INITIAL_METADATA);
    op->data.send_initial_metadata.count = k->c->bearer ? 1 : 0;
    op->data.send_initial_metadata.metadata = &k->token;
    add_op(ops, &n, GRPC_OP_SEND_MESSAGE)->data.send_message.send_message = k->sent;
    add_op(ops, &n, GRPC_OP_SEND_CLOSE_FROM_CLIENT);
    add_op(ops, &n, GRPC_OP_RECV_INITIAL_METADATA)
        ->data.recv_initial_metadata.recv_initial_metadata = &k->headers;
    return n;
}

static void add_status(grpc_op *ops, size_t *n, client_call *k)
{
    grpc_op *op = add_op(ops, n, GRPC_OP_RECV_STATUS_ON_CLIENT);
    op->data.recv_status_on_client.trailing_metadata = &k->trailers;
    op->data.recv_status_on_client.status = &k->code;
    op->data.recv_status_on_client.status_details = &k->detail;
}

/* ---- statuses ---- */

static uint64_t retry_hint(const client_call *k)
{
    static const char key[] = "grpc-retry-pushback-ms";
    char text[24];
    for (size_t i = 0; i < k->trailers.count; i++) {
        grpc_slice name = k->trailers.metadata[i].key, v = k->trailers.metadata[i].value;
        if (GRPC_SLICE_LENGTH(name) != sizeof key - 1 || GRPC_SLICE_LENGTH(v) >= sizeof text ||
            memcmp(GRPC_SLICE_START_PTR(name), key, sizeof key - 1) != 0)
            continue;
        memcpy(text, GRPC_SLICE_START_PTR(v), GRPC_SLICE_LENGTH(v));
        text[GRPC_SLICE_LENGTH(v)] = 0;
        return strtoull(text, NULL, 10);
    }
    return 0;
}

static cuzk_status call_status(const client_call *k)
{
    static const struct {
        grpc_status_code grpc;
        cuzk_code code;
    } rows[] = {{GRPC_STATUS_INVALID_ARGUMENT, CUZK_E_INPUT},
                {GRPC_STATUS_OUT_OF_RANGE, CUZK_E_INPUT},
                {GRPC_STATUS_NOT_FOUND, CUZK_E_NOT_FOUND},
                {GRPC_STATUS_RESOURCE_EXHAUSTED, CUZK_E_BUSY},
                {GRPC_STATUS_FAILED_PRECONDITION, CUZK_E_IMPOSSIBLE},
                {GRPC_STATUS_UNIMPLEMENTED, CUZK_E_UNSUPPORTED},
                {GRPC_STATUS_UNAUTHENTICATED, CUZK_E_USAGE},
                {GRPC_STATUS_UNAVAILABLE, CUZK_E_IO},
                {GRPC_STATUS_DEADLINE_EXCEEDED, CUZK_E_IO}};
    if (k->is_cancelled)
        return cuzk_fail(CUZK_E_CANCELLED, "interrupted");
    if (k->code == GRPC_STATUS_OK)
        return cuzk_ok();
    cuzk_code code = CUZK_E_INTERNAL;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].grpc == k->code)
            code = rows[i].code;
    cuzk_status st = cuzk_fail(code, "%.*s", (int)(GRPC_SLICE_LENGTH(k->detail) & 0xffff),
                               (const char *)GRPC_SLICE_START_PTR(k->detail));
    return code == CUZK_E_IO || code == CUZK_E_INTERNAL
               ? cuzk_wrap(st, "daemon at %.100s", k->c->text)
               : st;
}

static cuzk_status unpack(void **out, const rpc_exchange *x, grpc_byte_buffer *bb)
{
    rpc_body body = {.bb = bb};
    uint8_t *bytes;
    size_t len;
    CUZK_TRY(wire_gather(&bytes, &len, &body, RPC_MESSAGE_MAX_BYTES));
    cuzk_status st = wire_unpack(out, x->answer, bytes, len);
    mem_free(bytes);
    return st.code == CUZK_E_INPUT
               ? cuzk_fail(CUZK_E_INTERNAL, "answer of %s: %.150s", x->method, st.msg)
               : st;
}

/* ---- exchanges ---- */

cuzk_status rpc_exchange_unary(rpc_client *c, rpc_exchange *x, void **answer)
{
    client_call k;
    grpc_op ops[6];
    *answer = NULL;
    call_open(&k, c, x);
    size_t n = add_request(ops, &k);
    add_op(ops, &n, GRPC_OP_RECV_MESSAGE)->data.recv_message.recv_message = &k.received;
    add_status(ops, &n, &k);
    cuzk_status st = cuzk_fail(CUZK_E_INTERNAL, "gRPC refused the call %s", x->method);
    if (grpc_call_start_batch(k.call, ops, n, &k, NULL) == GRPC_CALL_OK) {
        (void)wait_for(&k, &k);
        st = call_status(&k);
        if (st.code == CUZK_OK && !k.received)
            st = cuzk_fail(CUZK_E_INTERNAL, "%s: an answer without a message", x->method);
        if (st.code == CUZK_OK)
            st = unpack(answer, x, k.received);
        x->retry_after_ms = retry_hint(&k);
    }
    call_close(&k);
    return st;
}

/* Messages until the stream ends, fn stops it or a message is none. */
static cuzk_status take_messages(client_call *k, const rpc_exchange *x, rpc_exchange_fn *fn,
                                 void *ctx)
{
    for (bool more = true; more;) {
        grpc_op op;
        size_t n = 0;
        void *message = NULL;
        add_op(&op, &n, GRPC_OP_RECV_MESSAGE)->data.recv_message.recv_message = &k->received;
        if (grpc_call_start_batch(k->call, &op, 1, &k->received, NULL) != GRPC_CALL_OK)
            return cuzk_fail(CUZK_E_INTERNAL, "gRPC refused to receive");
        if (!wait_for(k, &k->received) || !k->received)
            return cuzk_ok();
        cuzk_status st = unpack(&message, x, k->received);
        grpc_byte_buffer_destroy(k->received);
        k->received = NULL;
        more = st.code == CUZK_OK && fn(ctx, message);
        wire_free(message);
        CUZK_TRY(st);
    }
    grpc_call_cancel(k->call, NULL);
    return cuzk_fail(CUZK_E_CANCELLED, "ended by the caller");
}

cuzk_status rpc_exchange_stream(rpc_client *c, rpc_exchange *x, rpc_exchange_fn *fn, void *ctx)
{
    client_call k;
    grpc_op ops[6], end;
    size_t n_end = 0;
    call_open(&k, c, x);
    size_t n = add_request(ops, &k);
    add_status(&end, &n_end, &k);
    cuzk_status st = cuzk_fail(CUZK_E_INTERNAL, "gRPC refused the call %s", x->method);
    if (grpc_call_start_batch(k.call, &end, n_end, &k.code, NULL) == GRPC_CALL_OK) {
        if (grpc_call_start_batch(k.call, ops, n, &k, NULL) == GRPC_CALL_OK) {
            (void)wait_for(&k, &k);
            st = take_messages(&k, x, fn, ctx);
        } else {
            grpc_call_cancel(k.call, NULL);
        }
        (void)wait_for(&k, &k.code);
        bool by_us = st.code == CUZK_E_CANCELLED && !k.is_cancelled;
        if (by_us)
            st = cuzk_ok();
        else if (st.code == CUZK_OK || k.is_cancelled)
            st = call_status(&k);
    }
    call_close(&k);
    return st;
}
