/* Child processes. */
#define _GNU_SOURCE
#include "gpu/gpu_process.h"
#include "base/span.h"
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define END_MAX_NS 5000000000u
#define END_LOOK_NS 1000000 /* between two looks */

bool gpu_process_keep(int *fd)
{
    if (dup2(*fd, 3) != 3)
        return false;
    *fd = 3;
    if (close_range(4, ~0u, 0) != 0)
        for (int i = 4; i < 4096; i++)
            close(i);
    return true;
}

bool gpu_process_has_ended(pid_t pid)
{
    pid_t got;
    do {
        got = waitpid(pid, NULL, WNOHANG);
    } while (got < 0 && errno == EINTR);
    return got != 0; /* an error: somebody else has waited for it */
}

bool gpu_process_end(pid_t pid)
{
    uint64_t until = clock_now_ns() + END_MAX_NS;
    (void)kill(pid, SIGKILL);
    while (!gpu_process_has_ended(pid)) {
        if (clock_now_ns() > until)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = END_LOOK_NS}, NULL);
    }
    return true;
}
