/* Counting calls; see share.h. */
#include "rpc/share.h"
#include <stddef.h>

uint32_t rpc_share_per_connection(uint32_t max) { return max / 2 + max % 2; }

/* FNV-1a. */
static uint32_t hash(const char *text)
{
    uint32_t h = 2166136261u;
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 16777619u;
    return h;
}

/* Relaxed: only the numbers matter. */
static bool count_up(atomic_uint *n, uint32_t max)
{
    if (atomic_fetch_add_explicit(n, 1, memory_order_relaxed) < max)
        return true;
    atomic_fetch_sub_explicit(n, 1, memory_order_relaxed);
    return false;
}

atomic_uint *rpc_share_enter(rpc_share *s, const char *peer)
{
    atomic_uint *slot = &s->by_peer[hash(peer) % RPC_SHARE_SLOTS];
    if (!count_up(slot, rpc_share_per_connection(s->max)))
        return NULL;
    if (count_up(&s->n, s->max))
        return slot;
    atomic_fetch_sub_explicit(slot, 1, memory_order_relaxed);
    return NULL;
}

void rpc_share_leave(rpc_share *s, atomic_uint *slot)
{
    if (!slot)
        return;
    atomic_fetch_sub_explicit(slot, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&s->n, 1, memory_order_relaxed);
}
