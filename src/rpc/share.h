/* How many calls are let in: in all, and half of them from one connection, so that a client that
 * takes what it can get leaves room for others. gRPC's own limit of streams holds only for clients
 * that acknowledge it. Threads: locked. */
#ifndef RPC_SHARE_H
#define RPC_SHARE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Above the connections that can be open, so that few have to go halves. */
#define RPC_SHARE_SLOTS 4096u

/* Zeroed but for max. */
typedef struct rpc_share {
    uint32_t max;
    atomic_uint n, by_peer[RPC_SHARE_SLOTS]; /* by a hash of the connection's name */
} rpc_share;

uint32_t rpc_share_per_connection(uint32_t max);
/* The slot, to be given back with rpc_share_leave; NULL: none is free for this connection. */
atomic_uint *rpc_share_enter(rpc_share *s, const char *peer);
void rpc_share_leave(rpc_share *s, atomic_uint *slot);
#endif
