#include "engine/key_cache.h"
#include "base/mem.h"
#include <stdio.h>
#include <string.h>

/* What a device in host memory works with: two vectors of row values, one of quotients and slack
 * for masks and scratch, each of m field elements. */
#define HOST_DEVICE_VECTORS 4u

key_entry *key_cache_find(const key_cache *c, const char *name)
{
    for (key_entry *e = c->first; e; e = e->next)
        if (strcmp(e->name, name) == 0)
            return e;
    return NULL;
}

void key_cache_keep(key_cache *c, const char *name)
{
    if (c->n_kept < KEY_CACHE_KEPT_MAX)
        snprintf(c->kept[c->n_kept++], sizeof c->kept[0], "%s", name);
}

static bool is_kept(const key_cache *c, const char *name)
{
    for (uint32_t i = 0; i < c->n_kept; i++)
        if (strcmp(c->kept[i], name) == 0)
            return true;
    return false;
}

key_entry *key_cache_pin(key_cache *c, const circuit_id *id, bool *is_new)
{
    char name[CIRCUIT_ID_MAX];
    circuit_id_format(name, id);
    *is_new = false;
    key_entry *e = key_cache_find(c, name);
    if (e && (e->state == KEY_CLOSING || e->state == KEY_FAILED))
        return e;
    if (!e) {
        e = mem_zalloc(sizeof *e, 64);
        if (!e)
            return NULL;
        e->id = *id;
        memcpy(e->name, name, sizeof e->name);
        e->is_kept = is_kept(c, name);
        e->next = c->first;
        c->first = e;
        c->n_misses++;
        *is_new = true;
    } else {
        c->n_hits++;
    }
    e->n_users++;
    return e;
}

void key_cache_unpin(key_entry *e, uint64_t now_ms, uint64_t now_unix_ms)
{
    CUZK_ASSERT(e->n_users > 0);
    e->n_users--;
    e->last_used_ms = now_ms;
    e->last_used_unix_ms = now_unix_ms;
}

/* Which of two goes first: others before kept ones, idle before used, then the least recently used. */
static bool goes_before(const key_entry *a, const key_entry *b)
{
    if (!b || a->is_kept != b->is_kept)
        return !b || b->is_kept;
    if ((a->n_users == 0) != (b->n_users == 0))
        return a->n_users == 0;
    return a->last_used_ms < b->last_used_ms;
}

key_entry *key_cache_victim(const key_cache *c, uint64_t now_ms, uint64_t min_idle_ms,
                            const key_entry *keep)
{
    key_entry *best = NULL;
    bool others_will_be = false; /* one that is not kept, but not idle for long enough yet */
    for (key_entry *e = c->first; e; e = e->next) {
        if (e == keep || e->state != KEY_READY || e->n_users)
            continue;
        if (now_ms - e->last_used_ms < min_idle_ms)
            others_will_be = others_will_be || !e->is_kept;
        else if (goes_before(e, best))
            best = e;
    }
    return best && best->is_kept && others_will_be ? NULL : best;
}

uint64_t key_cache_next_victim_ms(const key_cache *c, uint64_t now_ms, uint64_t min_idle_ms)
{
    uint64_t at = UINT64_MAX;
    for (const key_entry *e = c->first; e; e = e->next) {
        if (e->state != KEY_READY || e->n_users || now_ms - e->last_used_ms >= min_idle_ms)
            continue;
        uint64_t t = e->last_used_ms + min_idle_ms;
        at = t < at ? t : at;
    }
    return at;
}

key_entry *key_cache_slot_victim(const key_cache *c, uint32_t dev, const key_entry *keep,
                                 bool also_used)
{
    key_entry *best = NULL;
    for (key_entry *e = c->first; e; e = e->next) {
        const key_slot *s = &e->slots[dev];
        if (e == keep || !s->handle || s->in_use || (e->n_users && !also_used))
            continue;
        best = goes_before(e, best) ? e : best;
    }
    return best;
}

void key_cache_remove(key_cache *c, key_entry *e)
{
    for (key_entry **at = &c->first; *at; at = &(*at)->next)
        if (*at == e) {
            *at = e->next;
            break;
        }
    mem_free(e);
}

bool key_entry_has_handles(const key_entry *e)
{
    for (size_t d = 0; d < ARRAY_LEN(e->slots); d++)
        if (e->slots[d].handle || e->slots[d].in_use)
            return true;
    return false;
}

uint64_t key_witness_bytes(uint64_t n_inputs, uint64_t n_aux, uint64_t n_dense)
{
    return (n_inputs + n_dense) * sizeof(fr) + n_aux / 8 + 64;
}

uint64_t key_host_bytes(uint64_t shape_bytes, uint64_t m, uint32_t n_host_devices)
{
    return shape_bytes + (uint64_t)n_host_devices * HOST_DEVICE_VECTORS * m * sizeof(fr);
}
