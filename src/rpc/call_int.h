/* A call on gRPC's core library. Private to the transport: call*.c, gate.c, server.c. */
#ifndef RPC_CALL_INT_H
#define RPC_CALL_INT_H
#include "rpc/timer.h"
#include "rpc/transport.h"
#include <grpc/grpc.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct rpc_server rpc_server;
typedef struct rpc_gate rpc_gate;

/* One gRPC server for each kind of client, because what a client may do depends on where it came
 * in. */
typedef struct rpc_port {
    rpc_server *server;
    grpc_server *grpc;
    bool needs_token;
} rpc_port;

/* What travels through completion queues. */
typedef struct rpc_tag {
    void (*step)(void *ctx, bool ok);
    void *ctx;
} rpc_tag;

/* The thread sanitizer does not see the hand-over inside gRPC's library. */
#if defined(__SANITIZE_THREAD__)
void __tsan_acquire(void *p);
void __tsan_release(void *p);
static inline void rpc_tag_release(rpc_tag *t) { __tsan_release(t); }
static inline void rpc_tag_acquire(rpc_tag *t) { __tsan_acquire(t); }
#else
static inline void rpc_tag_release(rpc_tag *t) { (void)t; }
static inline void rpc_tag_acquire(rpc_tag *t) { (void)t; }
#endif

struct rpc_body {
    grpc_byte_buffer *bb;
    grpc_slice current; /* handed out by rpc_body_next */
    bool has_current;
};

enum { CALL_METHOD_TIMER, CALL_BODY_TIMER }; /* rpc_timer.tag */
typedef enum call_gate_state { CALL_OUTSIDE, CALL_WAITING, CALL_INSIDE } call_gate_state;

struct rpc_call {
    rpc_port *port;
    grpc_completion_queue *queue;
    grpc_call *grpc;
    grpc_call_details details;
    grpc_metadata_array metadata;
    const rpc_method *method; /* NULL: unknown */
    void *state;
    rpc_tag on_new, on_gone, on_received, on_sent;
    atomic_uint refs;
    /* What can still call the method: close, batches, a timer going off. At 0 comes on_close. */
    atomic_uint active;
    struct rpc_call *prev, *next; /* list of the server, its lock */
    atomic_uint *share;           /* NULL: not let in */
    uint64_t received_ns;

    pthread_mutex_t mu; /* guards what follows and the order of batches */
    uint64_t admitted_ns;
    bool has_answer; /* a status is decided */
    bool is_gone;    /* no batch may start */
    bool is_sending, has_headers, is_receiving;
    bool ends_after_send;
    uint64_t send_since_ns; /* while is_sending */
    int was_cancelled;
    grpc_byte_buffer *received, *sent;
    rpc_code code;
    grpc_slice detail, hint;
    char retry_ms[24];
    grpc_metadata trailers[2];
    size_t n_trailers;

    rpc_timer method_timer, body_timer;
    rpc_gate *gate;
    struct rpc_call *gate_prev, *gate_next; /* guarded by the gate, as is what follows */
    call_gate_state gate_state;
    uint64_t gate_since_ns; /* in this state */
};

/* Ask for one more call on a queue. False: out of memory. */
bool rpc_call_arm(rpc_port *port, grpc_completion_queue *queue);
/* A place inside was given: read the message. False: refused. */
bool rpc_call_admit(rpc_call *c);
/* of the timers */
void rpc_call_timer_keep(rpc_timer *tm);
void rpc_call_timer_fire(rpc_timer *tm);
void rpc_call_activate(rpc_call *c);
void rpc_call_deactivate(rpc_call *c);
#endif
