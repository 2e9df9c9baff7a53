/* The narrow border between methods and the wire: everything a method may do with a call. Methods
 * know neither HTTP/2 nor gRPC's library; transport_*.c know no method.
 *
 * A call is answered once: the first of reply, fail and end wins, later ones do nothing, so that an
 * engine callback, a timer and a disconnect need not agree. Whoever keeps a call beyond a callback
 * holds a reference.
 *
 * Threads: callbacks of one call come from pollers and the timer thread, on_message never twice at
 * once; on_close is the last. They must not block or compute. The functions are safe from any
 * thread. */
#ifndef RPC_TRANSPORT_H
#define RPC_TRANSPORT_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The canonical codes of gRPC that are answered here. */
typedef enum rpc_code {
    RPC_OK = 0,
    RPC_CANCELLED = 1,
    RPC_INVALID_ARGUMENT = 3,
    RPC_DEADLINE_EXCEEDED = 4,
    RPC_NOT_FOUND = 5,
    RPC_RESOURCE_EXHAUSTED = 8,
    RPC_FAILED_PRECONDITION = 9,
    RPC_UNIMPLEMENTED = 12,
    RPC_INTERNAL = 13,
    RPC_UNAVAILABLE = 14,
    RPC_UNAUTHENTICATED = 16
} rpc_code;
rpc_code rpc_code_of(cuzk_code code);

typedef struct rpc_call rpc_call;
typedef struct rpc_service rpc_service; /* what the methods share; service_int.h */

/* A received message in the pieces the wire delivered. */
typedef struct rpc_body rpc_body;
size_t rpc_body_bytes(const rpc_body *b); /* not yet taken */
/* The next piece, valid until the next call, which releases it. False at the end. */
bool rpc_body_next(rpc_body *b, const uint8_t **p, size_t *len);

enum {
    RPC_BIG_BODY = 1,      /* received only in one of few slots, after on_admit */
    RPC_OPEN = 2,          /* needs no token */
    RPC_MANY_MESSAGES = 4, /* the client streams; each message is asked for with rpc_call_receive */
    RPC_ENDLESS = 8,       /* ended as soon as the server drains */
};

typedef struct rpc_method {
    const char *path; /* "/package.Service/Method" */
    uint32_t flags;
    size_t state_bytes; /* zeroed, for the method: rpc_call_state */
    /* A slot is free, nothing was read yet. Not OK refuses, with a hint when to come back (0: the
     * usual). May be NULL. */
    cuzk_status (*on_admit)(rpc_call *c, uint64_t *retry_after_ms);
    /* body NULL (only with RPC_MANY_MESSAGES): the client has sent its last. */
    void (*on_message)(rpc_call *c, rpc_body *body);
    void (*on_sent)(rpc_call *c);  /* what rpc_call_send took is on its way */
    void (*on_timer)(rpc_call *c); /* of rpc_call_set_timer */
    void (*on_drain)(rpc_call *c); /* the server ends; NULL: nothing to say */
    void (*on_close)(rpc_call *c); /* answered or gone; give up what was kept */
} rpc_method;

rpc_service *rpc_call_service(const rpc_call *c);
void *rpc_call_state(rpc_call *c);
void rpc_call_ref(rpc_call *c);
void rpc_call_unref(rpc_call *c);
/* Unix ms of the client's deadline; 0: none. */
uint64_t rpc_call_deadline_unix_ms(const rpc_call *c);
/* Monotonic ns: the call came; its message was asked for. From on_message. */
uint64_t rpc_call_received_ns(const rpc_call *c);
uint64_t rpc_call_admitted_ns(const rpc_call *c);

/* Writes a message of the size that was announced. */
typedef void rpc_fill(void *ctx, uint8_t *out);
/* The one message of a unary call, with status OK. False when it was not sent: the call is
 * answered, gone, or out of memory (then it is failed). */
bool rpc_call_reply(rpc_call *c, size_t len, rpc_fill *fill, void *ctx);
/* retry_after_ms > 0 adds the hint that clients understand. */
void rpc_call_fail(rpc_call *c, rpc_code code, const char *message, uint64_t retry_after_ms);
/* The same from a status, by the table of status.h. */
void rpc_call_fail_status(rpc_call *c, cuzk_status st, uint64_t retry_after_ms);
/* One message of a stream; the next not before on_sent. */
bool rpc_call_send(rpc_call *c, size_t len, rpc_fill *fill, void *ctx);
/* Status OK after all that was sent. */
void rpc_call_end(rpc_call *c);
void rpc_call_receive(rpc_call *c);
/* One timer a call: on_timer once, in ms; again moves it. 0 calls from another thread soon. */
void rpc_call_set_timer(rpc_call *c, uint64_t ms);
#endif
