/* Process-lifetime memory. The only place that calls malloc; counts bytes and can fail on purpose
 * for tests. */
#ifndef BASE_MEM_H
#define BASE_MEM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Allocate `bytes` (0 gives a valid pointer) aligned to `align` (power of two, >= 8); NULL when out
 * of memory or over budget.
 * Memory: gives; release with mem_free. Large blocks (>= 2 MiB) are 2 MiB aligned and advised for
 * huge pages. Not zeroed.
 * Threads: locked. */
void *mem_alloc(size_t bytes, size_t align);
/* The same, zeroed. */
void *mem_zalloc(size_t bytes, size_t align);
/* Grow or shrink, keeping contents and alignment of 16; *p may be NULL. Returns NULL and leaves p
 * valid on failure. */
void *mem_realloc(void *p, size_t old_bytes, size_t new_bytes);
void mem_free(void *p); /* NULL is allowed */
char *mem_strdup(const char *s);

/* *out = a * b; false on overflow (then *out = 0). */
static inline bool mem_mul(size_t *out, size_t a, size_t b)
{
    if (__builtin_mul_overflow(a, b, out)) {
        *out = 0;
        return false;
    }
    return true;
}
/* Overwrite secrets in a way the compiler keeps. */
void mem_wipe(void *p, size_t bytes);

/* Bytes are what the allocator set aside: a large block may count up to 2 MiB (of untouched pages)
 * more than asked. */
typedef struct mem_stats {
    uint64_t live_bytes, peak_bytes, n_allocs;
} mem_stats;
mem_stats mem_get_stats(void);
/* Tests: the n-th allocation from now fails (1 = next); 0 switches it off. */
void mem_fail_nth(uint64_t n);
#endif
