/* Counted allocation over aligned_alloc; sizes come back from malloc_usable_size, so no header is
 * needed. */
#include "base/mem.h"
#include "base/status.h"
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MEM_HUGE_BYTES ((size_t)2 << 20)

/* Statistics and the fault countdown publish no other data: relaxed order is enough for all of
 * them. */
static atomic_uint_fast64_t live_bytes, peak_bytes, n_allocs, fail_countdown;

static bool should_fail(void)
{
    uint_fast64_t n = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
    while (n != 0) {
        if (atomic_compare_exchange_weak_explicit(&fail_countdown, &n, n - 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return n == 1;
    }
    return false;
}

static void count_alloc(const void *p)
{
    uint_fast64_t size = malloc_usable_size((void *)(uintptr_t)p);
    uint_fast64_t live = atomic_fetch_add_explicit(&live_bytes, size, memory_order_relaxed) + size;
    uint_fast64_t peak = atomic_load_explicit(&peak_bytes, memory_order_relaxed);
    while (peak < live && !atomic_compare_exchange_weak_explicit(
                              &peak_bytes, &peak, live, memory_order_relaxed, memory_order_relaxed))
        ;
    atomic_fetch_add_explicit(&n_allocs, 1, memory_order_relaxed);
}

void *mem_alloc(size_t bytes, size_t align)
{
    CUZK_ASSERT(align >= 8 && (align & (align - 1)) == 0);
    if (should_fail())
        return NULL;
    bool huge = bytes >= MEM_HUGE_BYTES;
    if (huge && align < MEM_HUGE_BYTES)
        align = MEM_HUGE_BYTES;
    if (align < 16)
        align = 16;
    size_t want = bytes ? bytes : 1;
    void *p = NULL;
    /* PTRDIFF_MAX bounds every object in C; it also keeps the allocator's own rounding from
     * wrapping. */
    if (want > (size_t)PTRDIFF_MAX - align || posix_memalign(&p, align, want) != 0)
        return NULL;
    if (huge)
        (void)madvise(p, bytes, MADV_HUGEPAGE); /* advice only: a kernel without THP may refuse */
    count_alloc(p);
    return p;
}

void *mem_zalloc(size_t bytes, size_t align)
{
    void *p = mem_alloc(bytes, align);
    if (p)
        memset(p, 0, bytes);
    return p;
}

void *mem_realloc(void *p, size_t old_bytes, size_t new_bytes)
{
    /* Not realloc(3): it would lose the 2 MiB alignment of a block that grows past
     * MEM_HUGE_BYTES. */
    if (p && old_bytes >= new_bytes && old_bytes - new_bytes < old_bytes / 2)
        return p;
    void *q = mem_alloc(new_bytes, 16);
    if (!q)
        return NULL;
    if (p) {
        memcpy(q, p, old_bytes < new_bytes ? old_bytes : new_bytes);
        mem_free(p);
    }
    return q;
}

void mem_free(void *p)
{
    if (!p)
        return;
    atomic_fetch_sub_explicit(&live_bytes, malloc_usable_size(p), memory_order_relaxed);
    free(p);
}

char *mem_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = mem_alloc(n, 8);
    if (copy)
        memcpy(copy, s, n);
    return copy;
}

void mem_wipe(void *p, size_t bytes)
{
    if (bytes)
        explicit_bzero(p, bytes);
}

mem_stats mem_get_stats(void)
{
    return (mem_stats){
        .live_bytes = atomic_load_explicit(&live_bytes, memory_order_relaxed),
        .peak_bytes = atomic_load_explicit(&peak_bytes, memory_order_relaxed),
        .n_allocs = atomic_load_explicit(&n_allocs, memory_order_relaxed),
    };
}

void mem_fail_nth(uint64_t n) { atomic_store_explicit(&fail_countdown, n, memory_order_relaxed); }
