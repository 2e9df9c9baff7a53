/* How many CPUs this process may use.
 * Source: sched_setaffinity(2); Linux Documentation/admin-guide/cgroup-v2.rst (cpu.max) and
 * Documentation/scheduler/sched-bwc.rst (cpu.cfs_quota_us). */
#define _GNU_SOURCE
#include "base/pool.h"
#include "base/pool_int.h"
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static unsigned affinity_cpus(void)
{
    /* 8192 is the largest NR_CPUS a kernel can be built with. */
    enum { MAX_CPUS = 8192 };
    union {
        cpu_set_t align;
        unsigned char bytes[MAX_CPUS / 8];
    } set;
    memset(&set, 0, sizeof set);
    if (sched_getaffinity(0, sizeof set, &set.align) != 0)
        return 1;
    int n = CPU_COUNT_S(sizeof set, &set.align);
    return n > 0 ? (unsigned)n : 1;
}

unsigned pool_quota_cpus(long long quota_us, long long period_us)
{
    if (quota_us <= 0 || period_us <= 0)
        return 0;
    long long n = quota_us / period_us + (quota_us % period_us != 0);
    return n > 8192 ? 8192 : (unsigned)n;
}

unsigned pool_parse_cpu_max(const char *text)
{
    long long quota = 0, period = 0;
    return sscanf(text, "%lld %lld", &quota, &period) == 2 ? pool_quota_cpus(quota, period) : 0;
}

static bool read_small(char *out, size_t cap, const char *dir, const char *name)
{
    char path[512];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    if (n < 0 || (size_t)n >= sizeof path)
        return false;
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    size_t got = fread(out, 1, cap - 1, f);
    out[got] = 0;
    fclose(f);
    return got > 0;
}

/* Quota of one cgroup directory in CPUs, 0 when it has none. */
static unsigned dir_quota(const char *dir, bool v2)
{
    char text[64];
    long long quota, period;
    if (v2)
        return read_small(text, sizeof text, dir, "cpu.max") ? pool_parse_cpu_max(text) : 0;
    if (!read_small(text, sizeof text, dir, "cpu.cfs_quota_us") ||
        sscanf(text, "%lld", &quota) != 1)
        return 0;
    if (!read_small(text, sizeof text, dir, "cpu.cfs_period_us") ||
        sscanf(text, "%lld", &period) != 1)
        return 0;
    return pool_quota_cpus(quota, period);
}

/* The tightest quota from `rel` up to the root of the hierarchy mounted at `mount`. */
static unsigned tightest_quota(const char *mount, const char *rel, bool v2)
{
    char dir[400];
    unsigned best = 0;
    int n = snprintf(dir, sizeof dir, "%s%s", mount, rel);
    if (n < 0 || (size_t)n >= sizeof dir)
        snprintf(dir, sizeof dir, "%s", mount);
    for (;;) {
        unsigned q = dir_quota(dir, v2);
        if (q && (!best || q < best))
            best = q;
        char *slash = strrchr(dir, '/');
        if (strlen(dir) <= strlen(mount) || !slash)
            return best;
        *slash = 0;
    }
}

static bool lists_cpu(const char *controllers, size_t len)
{
    for (size_t at = 0; at <= len;) {
        const char *comma = memchr(controllers + at, ',', len - at);
        size_t end = comma ? (size_t)(comma - controllers) : len;
        if (end - at == 3 && memcmp(controllers + at, "cpu", 3) == 0)
            return true;
        at = end + 1;
    }
    return false;
}

/* /proc/self/cgroup has lines "<id>:<controllers>:<path>"; controllers are empty for v2. */
static unsigned cgroup_cpus(void)
{
    unsigned best = 0;
    char line[400];
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (!f)
        return 0;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *ctl = strchr(line, ':');
        char *rel = ctl ? strchr(ctl + 1, ':') : NULL;
        if (!rel)
            continue;
        ctl++;
        bool v2 = ctl == rel;
        if (!v2 && !lists_cpu(ctl, (size_t)(rel - ctl)))
            continue;
        unsigned q = tightest_quota(v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu", rel + 1, v2);
        if (q && (!best || q < best))
            best = q;
    }
    fclose(f);
    return best;
}

unsigned pool_usable_cpus(void)
{
    unsigned cpus = affinity_cpus(), quota = cgroup_cpus();
    return quota && quota < cpus ? quota : cpus;
}
