/* Something for a host worker to do. */
#ifndef ENGINE_HOST_TASK_H
#define ENGINE_HOST_TASK_H
#include "engine/sched.h"

struct engine;
struct job;
typedef struct host_task host_task;
typedef void host_fn(struct engine *e, host_task *t);
/* Owned by the queue until run, then by run, which ends with host_task_done. */
struct host_task {
    host_fn *run;
    sched_rank rank;
    uint64_t queued_ns;
    struct job *job;   /* counted in job.n_busy; NULL for others */
    int32_t partition; /* -1: none */
    bool is_part;      /* memory of what it belongs to: not freed by itself */
    void *arg;
    host_task *next;
};
#endif
