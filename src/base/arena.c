/* Arena blocks grow geometrically; a request too big for the current block gets a block of its own
 * size. */
#include "base/arena.h"
#include "base/mem.h"
#include "base/status.h"
#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#define ARENA_ALIGN ((size_t)64)
#define ARENA_FIRST_BYTES ((size_t)4096)
#define ARENA_GROW_MAX_BYTES ((size_t)1 << 20)

struct arena_block {
    alignas(64) struct arena_block *next;
    size_t cap_bytes, used_bytes; /* of the payload, which starts right after this header */
};
static_assert(sizeof(struct arena_block) == 64, "payload must start 64-byte aligned");

static uint8_t *payload(struct arena_block *b) { return (uint8_t *)(b + 1); }

static struct arena_block *push_block(arena *a, size_t need_bytes)
{
    size_t cap = a->head ? a->head->cap_bytes * 2 : ARENA_FIRST_BYTES;
    if (cap > ARENA_GROW_MAX_BYTES)
        cap = ARENA_GROW_MAX_BYTES;
    if (cap < need_bytes)
        cap = need_bytes;
    size_t total;
    if (__builtin_add_overflow(cap, sizeof(struct arena_block), &total))
        return NULL;
    struct arena_block *b = mem_alloc(total, ARENA_ALIGN);
    if (!b)
        return NULL;
    *b = (struct arena_block){.next = a->head, .cap_bytes = cap};
    a->head = b;
    a->total_bytes += cap;
    return b;
}

void *arena_alloc(arena *a, size_t bytes, size_t align)
{
    CUZK_ASSERT(align && align <= ARENA_ALIGN && (align & (align - 1)) == 0);
    struct arena_block *b = a->head;
    size_t at = 0;
    if (b)
        at = (b->used_bytes + align - 1) & ~(align - 1);
    if (!b || at > b->cap_bytes || b->cap_bytes - at < bytes) {
        b = push_block(a, bytes);
        if (!b)
            return NULL;
        at = 0;
    }
    a->used_bytes += at + bytes - b->used_bytes;
    b->used_bytes = at + bytes;
    return memset(payload(b) + at, 0, bytes);
}

static void release_except(arena *a, struct arena_block *keep)
{
    struct arena_block *b = a->head;
    while (b) {
        struct arena_block *next = b->next;
        if (b != keep)
            mem_free(b);
        b = next;
    }
    *a = (arena){.head = keep, .total_bytes = keep ? keep->cap_bytes : 0};
    if (keep) {
        keep->next = NULL;
        keep->used_bytes = 0;
    }
}

void arena_reset(arena *a)
{
    struct arena_block *largest = a->head;
    for (struct arena_block *b = a->head; b; b = b->next) {
        if (b->cap_bytes > largest->cap_bytes)
            largest = b;
    }
    release_except(a, largest);
}

void arena_fini(arena *a) { release_except(a, NULL); }
