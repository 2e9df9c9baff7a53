#include "engine/fault.h"
#ifdef CUZK_TEST_HOOKS
#include "base/log.h"
#include "base/random.h"
#include "base/span.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_uint proof_percent, ghost_ms; /* relaxed: settings */
static atomic_ulong n_hits, slept_ns;

static uint32_t number_after(const char *text, const char *name)
{
    const char *at = text ? strstr(text, name) : NULL;
    return at ? (uint32_t)strtoul(at + strlen(name), NULL, 10) : 0;
}

static void read_environment(void)
{
    const char *text = getenv("CUZK_FAULT");
    atomic_store_explicit(&proof_percent, number_after(text, "proof="), memory_order_relaxed);
    atomic_store_explicit(&ghost_ms, number_after(text, "ghost="), memory_order_relaxed);
}

void fault_set(const fault_plan *p)
{
    pthread_once(&once, read_environment);
    atomic_store_explicit(&proof_percent, p->proof_percent, memory_order_relaxed);
    atomic_store_explicit(&ghost_ms, p->ghost_ms, memory_order_relaxed);
}

uint64_t fault_hits(void) { return atomic_load_explicit(&n_hits, memory_order_relaxed); }

uint64_t fault_slept_ns(void) { return atomic_load_explicit(&slept_ns, memory_order_relaxed); }

void fault_hit_proof(g16_proof *p)
{
    pthread_once(&once, read_environment);
    uint32_t percent = atomic_load_explicit(&proof_percent, memory_order_relaxed), r[2];
    if (!percent || random_bytes(r, sizeof r).code != CUZK_OK || r[0] % 100 >= percent)
        return;
    ((uint8_t *)&p->c)[r[1] / 8 % 48] ^= (uint8_t)(1u << r[1] % 8);
    atomic_fetch_add_explicit(&n_hits, 1, memory_order_relaxed);
}

void fault_ghost(void)
{
    pthread_once(&once, read_environment);
    uint32_t ms = atomic_load_explicit(&ghost_ms, memory_order_relaxed);
    if (!ms)
        return;
    struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    uint64_t start = clock_now_ns();
    nanosleep(&ts, NULL);
    uint64_t slept = clock_now_ns() - start; /* a busy machine sleeps longer than it was told */
    atomic_fetch_add_explicit(&slept_ns, slept, memory_order_relaxed);
    log_info("ghost", LOG_F64("slept_ms", (double)slept / 1e6));
}
#else
typedef int fault_nothing; /* a file must not be empty */
#endif
