/* The configuration as TOML, and what a reload may change. */
#include "daemon/config_int.h"
#include "daemon/units.h"
#include <string.h>

static void print_text(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else if ((unsigned char)*s < 0x20 || *s == 0x7f)
            fprintf(f, "\\u%04X", (unsigned char)*s);
        else
            fputc(*s, f);
    }
    fputc('"', f);
}

/* The largest unit that divides the value: nothing is rounded. */
static void print_exact(FILE *f, uint64_t v, const char *const *names, const uint64_t *factors,
                        size_t n)
{
    size_t i = 0;
    while (i + 1 < n && v && v % factors[i + 1] == 0)
        i++;
    fprintf(f, "\"%llu%s\"", (unsigned long long)(v / factors[i]), names[i]);
}

static void print_list(FILE *f, const config_list *l)
{
    fputc('[', f);
    for (uint32_t i = 0; i < l->n; i++) {
        fputs(i ? ", " : "", f);
        print_text(f, l->items[i]);
    }
    fputc(']', f);
}

static void print_value(FILE *f, const config_key *k, const daemon_config *c)
{
    static const char *const sizes[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    static const uint64_t size_factors[] = {1, 1ull << 10, 1ull << 20, 1ull << 30, 1ull << 40};
    static const char *const times[] = {"ms", "s", "m", "h", "d"};
    static const uint64_t time_factors[] = {1, 1000, 60000, 3600000, 86400000};
    const void *at = (const char *)c + k->offset;
    switch (k->type) {
    case KEY_TEXT:
        print_text(f, at);
        break;
    case KEY_LIST:
        print_list(f, at);
        break;
    case KEY_BOOL:
        fputs(*(const bool *)at ? "true" : "false", f);
        break;
    case KEY_U32:
        fprintf(f, "%u", *(const uint32_t *)at);
        break;
    case KEY_MODE:
        fprintf(f, "\"%04o\"", *(const uint32_t *)at);
        break;
    case KEY_MS:
        fprintf(f, "%llu", (unsigned long long)*(const uint64_t *)at);
        break;
    case KEY_DURATION:
        print_exact(f, *(const uint64_t *)at, times, time_factors, ARRAY_LEN(times));
        break;
    case KEY_SIZE:
        if (k->auto_is_zero && *(const uint64_t *)at == 0)
            fputs("\"auto\"", f);
        else
            print_exact(f, *(const uint64_t *)at, sizes, size_factors, ARRAY_LEN(sizes));
        break;
    case KEY_IGNORED:
        break;
    }
}

void config_print(const daemon_config *c, FILE *f)
{
    size_t section_len = 0;
    const char *section = "";
    for (size_t i = 0; i < n_config_keys; i++) {
        const config_key *k = &config_keys[i];
        const char *dot = strchr(k->path, '.');
        size_t len = (size_t)(dot - k->path);
        if (k->type == KEY_IGNORED)
            continue;
        if (len != section_len || strncmp(section, k->path, len) != 0)
            fprintf(f, "%s[%.*s]\n", i ? "\n" : "", (int)len, k->path);
        section = k->path;
        section_len = len;
        fprintf(f, "# %s%s\n%s = ", k->help, k->reloads ? " (SIGHUP reloads it)" : "", dot + 1);
        print_value(f, k, c);
        fputc('\n', f);
    }
}

static size_t value_bytes(const config_key *k)
{
    switch (k->type) {
    case KEY_TEXT:
        return k->choices ? sizeof((daemon_config *)0)->log_level : CONFIG_TEXT_MAX;
    case KEY_LIST:
        return sizeof(config_list);
    case KEY_U32:
    case KEY_MODE:
        return sizeof(uint32_t);
    case KEY_BOOL:
        return sizeof(bool);
    case KEY_SIZE:
    case KEY_DURATION:
    case KEY_MS:
        return sizeof(uint64_t);
    case KEY_IGNORED:
        break;
    }
    return 0;
}

static bool differs(const config_key *k, const void *a, const void *b)
{
    const config_list *la = a, *lb = b;
    if (k->type == KEY_TEXT)
        return strcmp(a, b) != 0;
    if (k->type != KEY_LIST)
        return memcmp(a, b, value_bytes(k)) != 0;
    if (la->n != lb->n)
        return true;
    for (uint32_t i = 0; i < la->n; i++)
        if (strcmp(la->items[i], lb->items[i]) != 0)
            return true;
    return false;
}

void config_keep_fixed(daemon_config *next, const daemon_config *now, char *names, size_t len)
{
    size_t used = 0;
    names[0] = 0;
    for (size_t i = 0; i < n_config_keys; i++) {
        const config_key *k = &config_keys[i];
        const void *a = (const char *)now + k->offset;
        void *b = (char *)next + k->offset;
        if (k->type == KEY_IGNORED || k->reloads || !differs(k, a, b))
            continue;
        memcpy(b, a, value_bytes(k));
        int n = snprintf(names + used, len - used, "%s%s", used ? ", " : "", k->path);
        used += n > 0 && (size_t)n < len - used ? (size_t)n : 0;
    }
}

/* A number of bytes in a file of the kernel; UINT64_MAX when there is none ("max", no file). */
static uint64_t read_bytes(const char *path)
{
    char text[64] = "";
    unsigned long long v;
    FILE *f = fopen(path, "r");
    if (!f)
        return UINT64_MAX;
    bool ok = fgets(text, sizeof text, f) && sscanf(text, "%llu", &v) == 1;
    fclose(f);
    return ok ? v : UINT64_MAX;
}

static uint64_t mem_total(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    if (!f)
        return UINT64_MAX;
    while (fgets(line, sizeof line, f) && sscanf(line, "MemTotal: %llu kB", &kib) != 1)
        ;
    fclose(f);
    return kib ? (uint64_t)kib * 1024 : UINT64_MAX;
}

/* The limit of this process's cgroup v2 and of every one above it. */
static uint64_t cgroup_limit(void)
{
    char path[512] = "", line[512], file[640];
    uint64_t least = read_bytes("/sys/fs/cgroup/memory/memory.limit_in_bytes"); /* v1 */
    FILE *f = fopen("/proc/self/cgroup", "r");
    if (!f)
        return least;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "0::%500s", path) == 1)
            break;
    fclose(f);
    for (;;) {
        snprintf(file, sizeof file, "/sys/fs/cgroup%s/memory.max", strcmp(path, "/") ? path : "");
        uint64_t v = read_bytes(file);
        least = v < least ? v : least;
        char *slash = strrchr(path, '/');
        if (!slash || !path[1])
            return least;
        slash[slash == path ? 1 : 0] = 0;
    }
}

uint64_t config_memory_budget(const daemon_config *c)
{
    if (c->total_budget_bytes)
        return c->total_budget_bytes;
    uint64_t total = mem_total(), limit = cgroup_limit(), least = total < limit ? total : limit;
    /* On a small machine the margin would leave nothing: keep at least half of it. */
    return least > 2 * c->safety_margin_bytes ? least - c->safety_margin_bytes : least / 2;
}
