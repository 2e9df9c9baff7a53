#include "engine/locks.h"
#include <time.h>

void locks_cond_init(pthread_cond_t *c)
{
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(c, &a);
    pthread_condattr_destroy(&a);
}

void locks_wait_until(pthread_cond_t *c, pthread_mutex_t *m, uint64_t until_ns)
{
    if (until_ns == UINT64_MAX) {
        pthread_cond_wait(c, m);
        return;
    }
    struct timespec ts = {.tv_sec = (time_t)(until_ns / 1000000000u),
                          .tv_nsec = (long)(until_ns % 1000000000u)};
    pthread_cond_timedwait(c, m, &ts);
}
