/* How many calls may receive their message at once. Those outside wait in order of arrival; when
 * somebody waits, who has been inside for longer than the grace is sent away, so that clients who
 * never finish sending cannot keep others out. The more wait, the shorter the grace. Threads:
 * locked. */
#ifndef RPC_GATE_H
#define RPC_GATE_H
#include "rpc/transport.h"
#include <pthread.h>

struct rpc_call;
struct rpc_timers;
typedef struct rpc_gate {
    uint32_t max_inside, max_waiting;
    uint64_t grace_ms, limit_ms; /* inside while others wait; in any case */
    struct rpc_timers *timers;
    pthread_mutex_t mu; /* guards what follows and the gate members of calls */
    struct rpc_call *first_inside, *last_inside, *first_waiting, *last_waiting;
    uint32_t n_inside, n_waiting;
} rpc_gate;
void rpc_gate_init(rpc_gate *g);
void rpc_gate_fini(rpc_gate *g);
/* rpc_call_admit is called for c now or later. False: too many wait. */
bool rpc_gate_enter(rpc_gate *g, struct rpc_call *c);
/* Wherever it is. */
void rpc_gate_leave(rpc_gate *g, struct rpc_call *c);
typedef enum rpc_overdue {
    RPC_IN_TIME,   /* the timer was set anew */
    RPC_TOO_SLOW,  /* for those who wait */
    RPC_OVER_LIMIT /* in any case */
} rpc_overdue;
/* The body timer of c went off. */
rpc_overdue rpc_gate_check(rpc_gate *g, struct rpc_call *c);
void rpc_gate_count(rpc_gate *g, uint64_t *n_inside, uint64_t *n_waiting);
#endif
