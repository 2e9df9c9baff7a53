/* Messages and shared memory. */
#define _GNU_SOURCE
#include "gpu/gpu_backend_wire.h"
#include "base/mem.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* Address space only: pages come when they are written. Ten WindowPoSt witnesses of 32 GiB sectors
 * take 40 GB. */
#define SHARED_BYTES ((size_t)1 << 37)
#define PAGE ((size_t)4096)

bool gpu_msg_send(int fd, const gpu_msg *m)
{
    ssize_t n;
    do {
        n = send(fd, m, sizeof *m, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *m;
}

bool gpu_msg_receive(int fd, gpu_msg *m)
{
    ssize_t n;
    do {
        n = recv(fd, m, sizeof *m, 0);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *m;
}

/* Blocks in order of address; the list itself is private memory. */
typedef struct shared_block shared_block;
struct shared_block {
    shared_block *next;
    uint8_t *p;
    size_t bytes;
};

struct gpu_shared {
    uint8_t *base;
    shared_block *blocks;
};

cuzk_status gpu_shared_create(gpu_shared **out)
{
    *out = NULL;
    gpu_shared *s = mem_zalloc(sizeof *s, 64);
    if (!s)
        return cuzk_fail(CUZK_E_NOMEM, "shared memory");
    s->base = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->base == MAP_FAILED) {
        mem_free(s);
        return cuzk_fail(CUZK_E_NOMEM,
                         "%zu bytes of address space to share with the device process",
                         SHARED_BYTES);
    }
    *out = s;
    return cuzk_ok();
}

void gpu_shared_destroy(gpu_shared *s)
{
    if (!s)
        return;
    while (s->blocks)
        gpu_shared_free(s, s->blocks->p);
    munmap(s->base, SHARED_BYTES);
    mem_free(s);
}

void *gpu_shared_alloc(gpu_shared *s, size_t bytes)
{
    if (bytes == 0 || bytes > SHARED_BYTES)
        return NULL;
    bytes = (bytes + PAGE - 1) & ~(PAGE - 1);
    uint8_t *at = s->base;
    shared_block **link = &s->blocks;
    for (; *link && (size_t)((*link)->p - at) < bytes; link = &(*link)->next)
        at = (*link)->p + (*link)->bytes;
    if ((size_t)(s->base + SHARED_BYTES - at) < bytes)
        return NULL;
    shared_block *b = mem_alloc(sizeof *b, 8);
    if (!b)
        return NULL;
    *b = (shared_block){.next = *link, .p = at, .bytes = bytes};
    *link = b;
    return at;
}

void gpu_shared_clear(void *p, size_t bytes)
{
    bytes = (bytes + PAGE - 1) & ~(PAGE - 1);
    if (madvise(p, bytes, MADV_REMOVE) != 0)
        mem_wipe(p, bytes);
}

void gpu_shared_free(gpu_shared *s, void *p)
{
    for (shared_block **link = &s->blocks; p && *link; link = &(*link)->next) {
        shared_block *b = *link;
        if (b->p != p)
            continue;
        gpu_shared_clear(b->p, b->bytes);
        *link = b->next;
        mem_free(b);
        return;
    }
}
