/* Waiting for the end of a job without a thread: shared by AwaitProof and Prove. */
#ifndef RPC_WAIT_H
#define RPC_WAIT_H
#include "engine/engine.h"
#include "rpc/transport.h"
#include <stdatomic.h>

/* A watch of the engine that a call holds; {0} is none. The call is kept while it lives. */
typedef struct rpc_hold {
    _Atomic(engine_watch *) watch;
} rpc_hold;
/* fn gets the call as its context. Fails the call when there is no such job. */
void rpc_hold_watch(rpc_hold *h, rpc_call *c, const char *job_id, bool only_end,
                    engine_watch_fn *fn);
/* From on_close: fn is not running afterwards. */
void rpc_hold_drop(rpc_hold *h, rpc_call *c);

/* Answer c with an AwaitProofResponse when the job ends. wrapped: in a ProveResponse. */
void rpc_wait_begin(rpc_hold *h, rpc_call *c, const char *job_id, bool wrapped);
/* Answer c that the job has not ended in its time. */
void rpc_wait_timeout(rpc_call *c, const char *job_id, uint64_t waited_ms);
void rpc_wait_drain(rpc_call *c, const char *job_id);
#endif
