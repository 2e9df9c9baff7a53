#include "engine/budget.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const BUDGET_USE_NAMES[BUDGET_N_USES] = {"keys", "decoded", "work"};

#define LEAST_TOTAL ((uint64_t)1 << 30) /* when nothing is known about the machine */

void budget_init(budget *b, uint64_t total) { *b = (budget){.total = total}; }

uint64_t budget_used(const budget *b)
{
    uint64_t sum = 0;
    for (int u = 0; u < BUDGET_N_USES; u++)
        sum += b->used[u];
    return sum;
}

uint64_t budget_left(const budget *b)
{
    uint64_t used = budget_used(b);
    return used < b->total ? b->total - used : 0;
}

bool budget_reserve(budget *b, budget_use use, uint64_t bytes)
{
    if (bytes > budget_left(b))
        return false;
    b->used[use] += bytes;
    return true;
}

void budget_force(budget *b, budget_use use, uint64_t bytes) { b->used[use] += bytes; }

void budget_release(budget *b, budget_use use, uint64_t bytes)
{
    CUZK_ASSERT(bytes <= b->used[use]);
    b->used[use] -= bytes <= b->used[use] ? bytes : b->used[use];
}

/* The first number in a file; UINT64_MAX when it is not there or says "max". */
static uint64_t read_number(const char *path)
{
    unsigned long long v;
    FILE *f = fopen(path, "r");
    if (!f)
        return UINT64_MAX;
    bool ok = fscanf(f, "%llu", &v) == 1;
    fclose(f);
    return ok ? v : UINT64_MAX;
}

static uint64_t mem_total(const char *proc)
{
    char path[512], line[256];
    unsigned long long kib, found = 0;
    snprintf(path, sizeof path, "%s/meminfo", proc);
    FILE *f = fopen(path, "r");
    if (!f)
        return UINT64_MAX;
    while (!found && fgets(line, sizeof line, f))
        if (sscanf(line, "MemTotal: %llu kB", &kib) == 1)
            found = kib;
    fclose(f);
    return found ? (uint64_t)found << 10 : UINT64_MAX;
}

/* The smallest limit on the way from the group up to the root. */
static uint64_t group_limit(const char *root, char *group, const char *file)
{
    uint64_t least = UINT64_MAX;
    char path[1024];
    for (;;) {
        snprintf(path, sizeof path, "%s%s/%s", root, group, file);
        uint64_t v = read_number(path);
        least = v < least ? v : least;
        char *slash = strrchr(group, '/');
        if (!slash || !*group)
            return least;
        *slash = 0;
    }
}

uint64_t budget_host_limit(const char *proc, const char *cgroup)
{
    char path[512], line[512], root[512];
    uint64_t least = mem_total(proc);
    snprintf(path, sizeof path, "%s/self/cgroup", proc);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        bool v2 = names[1] == 0;
        if (!v2 && !strstr(names + 1, "memory"))
            continue;
        snprintf(root, sizeof root, "%s%s", cgroup, v2 ? "" : "/memory");
        uint64_t v = group_limit(root, group, v2 ? "memory.max" : "memory.limit_in_bytes");
        least = v < least ? v : least;
    }
    if (f)
        fclose(f);
    return least == UINT64_MAX ? 0 : least;
}

uint64_t budget_choose_total(uint64_t configured, uint64_t host_limit)
{
    if (host_limit == 0)
        return configured ? configured : LEAST_TOTAL;
    uint64_t most = host_limit;
    if (configured == 0)
        return host_limit / 10 * 9;
    return configured < most ? configured : most;
}
