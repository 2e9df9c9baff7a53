/* Host workers: threads that run queued tasks, the most urgent first. */
#include "engine/engine_int.h"
#include <string.h>

typedef struct worker_start {
    engine *e;
    bool urgent_only;
} worker_start;

host_task *host_task_new(host_fn *run, void *arg)
{
    host_task *t = mem_zalloc(sizeof *t, 8);
    if (t)
        *t = (host_task){.run = run, .partition = -1, .arg = arg};
    return t;
}

void host_push(engine *e, host_task *t, const sched_rank *rank)
{
    t->rank = *rank;
    t->queued_ns = clock_now_ns();
    host_task **at = &e->tasks[rank->cls];
    while (*at && !sched_rank_before(rank, &(*at)->rank))
        at = &(*at)->next;
    t->next = *at;
    *at = t;
    pthread_cond_signal(&e->host_wake);
    if (rank->cls <= JOB_CRITICAL - JOB_HIGH)
        pthread_cond_signal(&e->host_urgent_wake);
}

bool host_push_job(engine *e, host_fn *run, job *j, int32_t partition)
{
    host_task *t = host_task_new(run, NULL);
    if (!t)
        return false;
    t->job = j;
    t->partition = partition;
    sched_rank r = job_rank(j);
    j->n_busy++;
    host_push(e, t, &r);
    return true;
}

void host_task_done(engine *e, host_task *t)
{
    job *j = t->job;
    if (!t->is_part)
        mem_free(t);
    if (!j)
        return;
    j->n_busy--;
    job_maybe_clean(e, j);
}

static host_task *pop(engine *e, bool urgent_only)
{
    uint32_t n = urgent_only ? JOB_CRITICAL - JOB_HIGH + 1 : JOB_N_PRIORITIES;
    for (uint32_t c = 0; c < n; c++) {
        host_task *t = e->tasks[c];
        if (t) {
            e->tasks[c] = t->next;
            t->next = NULL;
            return t;
        }
    }
    return NULL;
}

static void *worker_main(void *arg)
{
    worker_start s = *(worker_start *)arg;
    mem_free(arg);
    engine *e = s.e;
    engine_lock(e);
    for (;;) {
        /* The last worker may be this one: what its last task left is done, too. */
        host_task *t = pop(e, s.urgent_only && !e->is_stopping);
        if (!t) {
            if (e->is_stopping)
                break;
            pthread_cond_wait(s.urgent_only ? &e->host_urgent_wake : &e->host_wake, &e->lock);
            continue;
        }
        e->n_host_busy++;
        engine_unlock(e);
        t->run(e, t);
        engine_lock(e);
        e->n_host_busy--;
        pthread_cond_broadcast(&e->changed);
    }
    engine_unlock(e);
    return NULL;
}

cuzk_status host_workers_start(engine *e)
{
    /* One more than asked for: it takes urgent tasks only. */
    for (uint32_t i = 0; i <= e->n_host_workers; i++) {
        worker_start *s = mem_alloc(sizeof *s, 8);
        if (!s)
            return cuzk_fail(CUZK_E_NOMEM, "a host worker");
        *s = (worker_start){.e = e, .urgent_only = i == e->n_host_workers};
        int err = pthread_create(&e->host_threads[i], NULL, worker_main, s);
        if (err) {
            mem_free(s);
            return cuzk_fail(CUZK_E_NOMEM, "host worker %u: %s", i, strerror(err));
        }
        e->n_host_started++;
    }
    return cuzk_ok();
}

void host_workers_join(engine *e)
{
    engine_lock(e);
    e->is_stopping = true;
    pthread_cond_broadcast(&e->host_wake);
    pthread_cond_broadcast(&e->host_urgent_wake);
    engine_unlock(e);
    for (uint32_t i = 0; i < e->n_host_started; i++)
        pthread_join(e->host_threads[i], NULL);
    e->n_host_started = 0;
}
