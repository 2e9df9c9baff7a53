/* Deadlines of calls: a heap and one thread that sleeps until the earliest. */
#ifndef RPC_TIMER_H
#define RPC_TIMER_H
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

/* Embedded in its owner; {0} is not armed. Guarded by the lock of the timers. */
typedef struct rpc_timer {
    uint64_t due_ns;
    uint32_t pos; /* 1 + index in the heap; 0: not armed */
    bool is_dead; /* can no longer be armed */
    uint8_t tag;  /* for its owner */
} rpc_timer;

typedef struct rpc_timers rpc_timers;
/* keep runs under the lock before the timer goes off: takes a reference on its owner. fire runs
 * without the lock and gives it back. tick runs about every tick_ms in between. */
typedef struct rpc_timer_ops {
    void (*keep)(rpc_timer *tm);
    void (*fire)(rpc_timer *tm);
    void (*tick)(void *ctx);
    void *tick_ctx;
    uint64_t tick_ms;
} rpc_timer_ops;
/* Starts the thread. Errors: CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status rpc_timers_create(rpc_timers **out, const rpc_timer_ops *ops);
void rpc_timers_destroy(rpc_timers *t); /* joins; all timers must be dead */
/* Arm or move. False: dead, or out of memory. */
bool rpc_timer_set(rpc_timers *t, rpc_timer *tm, uint64_t ms);
/* The same, but never later than it is armed for. */
bool rpc_timer_hasten(rpc_timers *t, rpc_timer *tm, uint64_t ms);
void rpc_timer_clear(rpc_timers *t, rpc_timer *tm);
/* Clear, for good. keep is not called for it afterwards. */
void rpc_timer_kill(rpc_timers *t, rpc_timer *tm);
#endif
