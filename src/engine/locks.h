/* Lock order of the engine. A lock may be taken while those above it are held, never the other way.
 *
 *   1. engine.lock      jobs, queue, budget, key entries, devices, watches, counters
 *   2. store's own      (never taken with engine.lock held: a journal write is I/O)
 *   3. span_rec's own   leaf
 *   4. pool's own       (never entered with engine.lock held)
 *   5. mem, log         leaf
 *
 * engine.lock is one lock on purpose: what it guards is touched some hundred times per proof, for
 * microseconds each. Nothing is called under it that can block: no journal, no backend, no pool, no
 * callback, no log line, no release of large memory. Work that has to follow a change is queued for
 * a host worker, the dispatcher or the notifier. */
#ifndef ENGINE_LOCKS_H
#define ENGINE_LOCKS_H
#include <pthread.h>
#include <stdint.h>

/* A condition on the monotonic clock. */
void locks_cond_init(pthread_cond_t *c);
/* Wait until signalled or until_ns (clock_now_ns; UINT64_MAX: for ever) is reached. */
void locks_wait_until(pthread_cond_t *c, pthread_mutex_t *m, uint64_t until_ns);
#endif
