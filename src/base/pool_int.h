/* Parts of the pool and of the CPU count that tests reach on their own. */
#ifndef BASE_POOL_INT_H
#define BASE_POOL_INT_H
#include "base/pool.h"
#include <stdint.h>

/* Callers whose loop has not begun. Threads: locked. */
uint64_t pool_n_waiting(pool *p);

/* CPUs that a quota per period buys, rounded up; 0 = no limit (quota <= 0 is cgroup v1's
 * "none"). */
unsigned pool_quota_cpus(long long quota_us, long long period_us);
/* The same for the text of cpu.max: "<quota|max> <period>". */
unsigned pool_parse_cpu_max(const char *text);
#endif
