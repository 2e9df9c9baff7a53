/* Listing devices without using the driver in this process: a process that has used it cannot start
 * device processes any more, since the driver does not survive a fork. */
#define _GNU_SOURCE
#include "gpu/gpu_device.h"
#include "base/mem.h"
#include "base/span.h"
#include "gpu/gpu_process.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Initializing the driver takes a second or two per device when no other process uses it. */
#define LIST_MAX_NS 120000000000u

typedef struct listing {
    cuzk_status st;
    uint32_t n;
    gpu_device_info all[GPU_DEVICES_MAX];
} listing;

static bool write_all(int fd, const void *p, size_t n)
{
    for (const char *at = p; n > 0;) {
        ssize_t k = write(fd, at, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        at += k;
        n -= (size_t)k;
    }
    return true;
}

/* False: the other side is gone, or too slow. */
static bool read_all(int fd, void *p, size_t n)
{
    uint64_t until = clock_now_ns() + LIST_MAX_NS;
    for (char *at = p; n > 0;) {
        uint64_t now = clock_now_ns();
        struct pollfd look = {.fd = fd, .events = POLLIN};
        int ready = now < until ? poll(&look, 1, (int)((until - now) / 1000000 + 1)) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        ssize_t k = read(fd, at, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        at += k;
        n -= (size_t)k;
    }
    return true;
}

static _Noreturn void answer(int fd, listing *l)
{
    if (!gpu_process_keep(&fd))
        _exit(1);
    l->st = gpu_devices_here(l->all, &l->n, GPU_DEVICES_MAX);
    _exit(write_all(fd, l, sizeof *l) ? 0 : 1);
}

static cuzk_status ask_child(listing *l)
{
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) != 0)
        return cuzk_fail(CUZK_E_IO, "pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        answer(fd[1], l);
    close(fd[1]);
    bool ok = pid > 0 && read_all(fd[0], l, sizeof *l);
    close(fd[0]);
    if (pid > 0)
        (void)gpu_process_end(pid); /* it has told all it knows, or will not */
    return ok ? l->st : cuzk_fail(CUZK_E_DEVICE, "looking for CUDA devices failed");
}

cuzk_status gpu_devices(gpu_device_info *out, uint32_t *n_out, uint32_t n_max)
{
    *n_out = 0;
    if (gpu_ctx_was_entered())
        return gpu_devices_here(out, n_out, n_max);
    listing *l = mem_zalloc(sizeof *l, 64);
    if (!l)
        return cuzk_fail(CUZK_E_NOMEM, "list of devices");
    cuzk_status st = ask_child(l);
    for (uint32_t i = 0; st.code == CUZK_OK && i < l->n && i < n_max; i++)
        out[(*n_out)++] = l->all[i];
    mem_free(l);
    return st;
}
