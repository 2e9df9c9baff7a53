/* The ledger of host memory: bytes are reserved before a stage starts and given back after it. Pure
 * logic; nothing here waits. */
#ifndef ENGINE_BUDGET_H
#define ENGINE_BUDGET_H
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum budget_use {
    BUDGET_KEYS,    /* shapes, keys' own memory, device handles in host memory */
    BUDGET_DECODED, /* decoded vanilla proofs */
    BUDGET_WORK,    /* witnesses */
    BUDGET_N_USES
} budget_use;
extern const char *const BUDGET_USE_NAMES[BUDGET_N_USES];

/* Threads: confined. Invariant: the sum of used is at most total, except after budget_force or after
 * total was lowered. */
typedef struct budget {
    uint64_t total;
    uint64_t used[BUDGET_N_USES];
} budget;

void budget_init(budget *b, uint64_t total);
uint64_t budget_used(const budget *b);
uint64_t budget_left(const budget *b);
/* All or nothing. */
bool budget_reserve(budget *b, budget_use use, uint64_t bytes);
/* What is there already, found out late (an estimate that was too low). */
void budget_force(budget *b, budget_use use, uint64_t bytes);
void budget_release(budget *b, budget_use use, uint64_t bytes);

/* Bytes this process may use: the smaller of the machine's memory and the cgroup limits above it (v2
 * and v1). proc, cgroup: roots of the two file systems ("/proc", "/sys/fs/cgroup"), for tests. 0:
 * unknown. */
uint64_t budget_host_limit(const char *proc, const char *cgroup);
/* The total to use: configured, or with 0 nine tenths of the limit; never more than the limit. */
uint64_t budget_choose_total(uint64_t configured, uint64_t host_limit);
#endif
