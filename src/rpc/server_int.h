/* The server's parts. Private to src/rpc. */
#ifndef RPC_SERVER_INT_H
#define RPC_SERVER_INT_H
#include "base/arena.h"
#include "rpc/accept_int.h"
#include "rpc/call_int.h"
#include "rpc/gate.h"
#include "rpc/server.h"
#include "rpc/service_int.h"
#include "rpc/share.h"

#define RPC_N_QUEUES 2u
#define RPC_POLLERS_PER_QUEUE 2u
#define RPC_N_POLLERS (RPC_N_QUEUES * RPC_POLLERS_PER_QUEUE)
#define RPC_ARMED_PER_QUEUE 32u

enum { RPC_PORT_LOCAL, RPC_PORT_NETWORK, RPC_N_PORTS };

typedef struct rpc_counters {
    atomic_uint_fast64_t started, live, refused_token, refused_busy, refused_invalid, cancelled;
} rpc_counters;

struct rpc_server {
    rpc_server_config cfg; /* with defaults filled in, strings in `strings` */
    arena strings;
    rpc_service service;
    rpc_port ports[RPC_N_PORTS];
    grpc_completion_queue *queues[RPC_N_QUEUES];
    pthread_t pollers[RPC_N_POLLERS];
    uint32_t n_pollers;
    rpc_timers *timers;
    rpc_gate big, small;
    rpc_acceptor *acceptor;
    rpc_tls *tls;
    rpc_counters counters;
    rpc_share share;
    atomic_uint missing_slots[RPC_N_PORTS][RPC_N_QUEUES]; /* to be armed when memory is back */
    atomic_bool is_up; /* started whole, not yet draining: the tick may work */
    bool is_started, is_drained;
    uint32_t n_ticks;     /* of the timer thread, as is what follows */
    size_t trimmed_bytes; /* free in malloc's arenas, and given back as far as it goes */
    rpc_tag end_tags[RPC_N_PORTS];
    pthread_mutex_t end_mu; /* guards n_ended */
    pthread_cond_t ended;
    uint32_t n_ended;         /* ports without calls, after drain began */
    pthread_mutex_t calls_mu; /* guards the list */
    rpc_call *calls;
};
#endif
