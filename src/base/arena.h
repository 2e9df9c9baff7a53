/* Bump allocator for one job: everything is released by one reset or fini. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H
#include <stddef.h>

struct arena_block;
/* {0} is a valid empty arena. Threads: confined. */
typedef struct arena {
    struct arena_block *head;
    size_t used_bytes, total_bytes;
} arena;

/* `bytes` aligned to `align` (power of two <= 64), zeroed; NULL when out of memory. Lives until
 * arena_reset/arena_fini. */
void *arena_alloc(arena *a, size_t bytes, size_t align);
void arena_reset(arena *a); /* forgets all, keeps the largest block */
void arena_fini(arena *a);
#endif
