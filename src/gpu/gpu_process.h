/* Child processes: what they keep of what they inherit, and ending them in bounded time. */
#ifndef GPU_PROCESS_H
#define GPU_PROCESS_H
#include <stdbool.h>
#include <sys/types.h>

/* In a child: close all descriptors but 0 to 2 and *fd, which becomes 3. False: it could not. */
bool gpu_process_keep(int *fd);
/* Kill a child and wait for its end, for some seconds at most: the kernel may hold a process inside
 * a driver call for as long as the device hangs. False: it is still there. */
bool gpu_process_end(pid_t pid);
/* Whether a child that was killed has ended by now. */
bool gpu_process_has_ended(pid_t pid);
#endif
