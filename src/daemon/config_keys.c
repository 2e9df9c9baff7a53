/* Every key there is. Those of the existing daemon keep their names, types and meaning. */
#include "daemon/config_int.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define AT(member) offsetof(daemon_config, member)
#define NO_MAX UINT64_MAX
#define YEAR_MS 31536000000ull

/* The existing daemon takes a filter such as "info,cuzk_core=debug": the level for all, else the most
 * of those for parts. */
static bool nearest_level(char out[32], const char *text)
{
    static const struct {
        const char *name, *level;
    } levels[] = {{"off", "error"}, {"error", "error"}, {"warn", "warn"},  {"warning", "warn"},
                  {"info", "info"}, {"debug", "debug"}, {"trace", "debug"}};
    int all = -1, part = -1;
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, ",");
        const char *equals = memchr(p, '=', len), *name = equals ? equals + 1 : p;
        size_t name_len = len - (size_t)(name - p);
        for (int i = 0; i < (int)ARRAY_LEN(levels); i++) {
            if (strlen(levels[i].name) != name_len ||
                strncasecmp(levels[i].name, name, name_len) != 0)
                continue;
            if (!equals)
                all = i;
            else if (i > part)
                part = i;
        }
        p += len + (p[len] == ',');
    }
    if (all < 0 && part < 0)
        return false;
    snprintf(out, 32, "%s", levels[all < 0 ? part : all].level);
    return true;
}

/* The existing daemon never read it. */
static bool nearest_format(char out[32], const char *text)
{
    snprintf(out, 32, "%s", strncasecmp(text, "json", 4) == 0 ? "json" : "text");
    return true;
}

const config_key config_keys[] = {
    {"daemon.listen", KEY_TEXT, AT(listen), .help = "gRPC: unix:///path or host:port"},
    {"daemon.status_listen", KEY_TEXT, AT(status_listen),
     .help = "HTTP (metrics, status, web page): host:port or unix:///path; empty: off"},
    {"daemon.state_dir", KEY_TEXT, AT(state_dir), .help = "folder of the journal"},
    {"daemon.socket_mode", KEY_MODE, AT(socket_mode), .max = 0777,
     .help = "permissions of the gRPC unix socket, octal"},
    {"daemon.socket_group", KEY_TEXT, AT(socket_group),
     .help = "group of the gRPC unix socket, of which the daemon must be a member; empty: the "
             "daemon's own"},
    {"daemon.tls_listen", KEY_TEXT, AT(tls_listen), .help = "gRPC over TLS: host:port; empty: off"},
    {"daemon.tls_cert", KEY_TEXT, AT(tls_cert), .help = "PEM chain of the server"},
    {"daemon.tls_key", KEY_TEXT, AT(tls_key), .help = "PEM private key of the server"},
    {"daemon.tls_client_ca", KEY_TEXT, AT(tls_client_ca),
     .help = "PEM authorities of clients: then clients need a certificate"},
    {"daemon.auth_token_file", KEY_TEXT, AT(auth_token_file),
     .help = "file with the bearer token that calls over TCP and TLS must carry; empty: none"},
    {"daemon.max_requests", KEY_U32, AT(max_requests), 1, 1000000, .help = "calls at once"},
    {"daemon.max_message", KEY_SIZE, AT(max_message_bytes), 1 << 20, 1ull << 31,
     .help = "largest request or reply"},
    {"daemon.drain_timeout", KEY_DURATION, AT(drain_timeout_ms), 0, YEAR_MS, .reloads = true,
     .help = "on SIGTERM, how long running partitions may take to finish"},

    {"memory.total_budget", KEY_SIZE, AT(total_budget_bytes), 1 << 28, NO_MAX, .auto_is_zero = true,
     .help = "host memory to use; auto or 0: the machine's or container's less "
             "safety_margin"},
    {"memory.safety_margin", KEY_SIZE, AT(safety_margin_bytes), 0, NO_MAX,
     .help = "left to others, with total_budget = auto"},
    {"memory.eviction_min_idle", KEY_DURATION, AT(eviction_min_idle_ms), 0, YEAR_MS,
     .reloads = true, .clamps = true, .help = "a key idle this long may be evicted for another"},
    {"memory.pinned_budget", KEY_IGNORED, .why = "deprecated: pinned memory is planned per device"},
    {"memory.working_memory_budget", KEY_IGNORED, .why = "deprecated: part of memory.total_budget"},

    {"gpus.devices", KEY_LIST, AT(devices),
     .help = "indices, UUIDs or PCI addresses of GPUs, or \"cpu\"; empty: all GPUs, or the CPU if "
             "there is none"},
    {"gpus.device_memory", KEY_SIZE, AT(device_memory_bytes), 1 << 28, NO_MAX, .auto_is_zero = true,
     .help = "most memory to use of each GPU; auto or 0: all that is free"},
    {"gpus.slice_timeout", KEY_DURATION, AT(slice_timeout_ms), 1000, YEAR_MS, .reloads = true,
     .help = "a device that shows no progress this long is given up"},
    {"gpus.gpu_threads", KEY_IGNORED,
     .why = "has no effect: no host threads belong to a GPU (see synthesis.threads)"},
    {"gpus.gpu_workers_per_device", KEY_IGNORED,
     .why = "has no effect: one worker keeps a device busy"},

    {"scheduler.max_batch_size", KEY_U32, AT(max_batch_size), 1, 64, .reloads = true,
     .clamps = true, .help = "most sectors of one circuit proven together"},
    {"scheduler.max_batch_wait_ms", KEY_MS, AT(max_batch_wait_ms), 0, 3600000, .reloads = true,
     .clamps = true, .help = "how long a batch waits to fill up"},
    {"scheduler.max_queued_jobs", KEY_U32, AT(max_queued_jobs), 1, 1000000, .reloads = true,
     .help = "more are refused with RESOURCE_EXHAUSTED"},
    {"scheduler.max_queued_bytes", KEY_SIZE, AT(max_queued_bytes), 1 << 20, NO_MAX, .reloads = true,
     .help = "requests held in memory, being received or checked"},
    {"scheduler.ageing", KEY_DURATION, AT(ageing_ms), 1000, YEAR_MS, .reloads = true,
     .help = "a job that waited this long counts as one priority class more"},
    {"scheduler.max_active_porep", KEY_U32, AT(max_active[PROOF_POREP]), 0, 1000000,
     .reloads = true, .help = "jobs of this kind at work at once; 0: no limit"},
    {"scheduler.max_active_winning", KEY_U32, AT(max_active[PROOF_WINNING]), 0, 1000000,
     .reloads = true, .help = "the same"},
    {"scheduler.max_active_window", KEY_U32, AT(max_active[PROOF_WINDOW]), 0, 1000000,
     .reloads = true, .help = "the same"},
    {"scheduler.max_active_snap", KEY_U32, AT(max_active[PROOF_SNAP]), 0, 1000000, .reloads = true,
     .help = "the same"},
    {"scheduler.sort_by_type", KEY_IGNORED,
     .why =
         "has no effect, as before: jobs of one circuit share a batch (scheduler.max_batch_size)"},

    {"synthesis.threads", KEY_U32, AT(threads), 0, 1024, .clamps = true,
     .help = "CPU threads; 0: all usable"},
    {"synthesis.host_workers", KEY_U32, AT(host_workers), 0, 256,
     .help = "requests decoded, witnesses made and proofs verified at once; 0: by threads"},
    {"synthesis.partition_workers", KEY_IGNORED,
     .why = "deprecated: witnesses take milliseconds (see synthesis.host_workers)"},

    {"pipeline.enabled", KEY_IGNORED,
     .why = "has no effect: witnesses, devices and verification always overlap"},
    {"pipeline.synthesis_lookahead", KEY_IGNORED,
     .why = "has no effect, as before: the next witnesses are always made ahead"},
    {"pipeline.synthesis_concurrency", KEY_IGNORED,
     .why = "has no effect: see synthesis.host_workers"},
    {"pipeline.max_parallel_synthesis", KEY_IGNORED,
     .why = "has no effect: see synthesis.host_workers and memory.total_budget"},
    {"pipeline.slot_size", KEY_IGNORED,
     .why = "has no effect, as before: memory decides how many partitions are at work"},
    {"pipeline.max_gpu_queue_depth", KEY_IGNORED,
     .why = "has no effect: memory decides how many partitions wait for a device"},

    {"srs.param_cache", KEY_TEXT, AT(param_cache), .help = "folder of the .params and .vk files"},
    {"srs.preload", KEY_LIST, AT(preload),
     .help = "circuits to load at start and to keep, e.g. [\"winning-32g\"]; ready when they are "
             "loaded"},

    {"jobs.retention", KEY_DURATION, AT(retention_ms), 60000, 100 * YEAR_MS, .reloads = true,
     .help = "finished jobs are kept this long"},
    {"jobs.max_finished", KEY_U32, AT(max_finished), 1, 10000000, .reloads = true,
     .help = "and at most this many of them"},
    {"jobs.timelines", KEY_U32, AT(timelines), 0, 1000000, .reloads = true,
     .help = "span trees kept, of the last jobs"},

    {"logging.level", KEY_TEXT, AT(log_level), .reloads = true, .choices = "error|warn|info|debug",
     .nearest = nearest_level, .help = "what to log on stderr"},
    {"logging.format", KEY_TEXT, AT(log_format), .reloads = true, .choices = "text|json",
     .nearest = nearest_format, .help = "key=value lines or a JSON object a line"},
    {"logging.timeline", KEY_BOOL, AT(timeline_lines), .reloads = true,
     .help = "TIMELINE, lines on stderr, as the existing daemon prints them"},
};
const size_t n_config_keys = ARRAY_LEN(config_keys);

const config_key *config_find_key(const char *path)
{
    for (size_t i = 0; i < n_config_keys; i++)
        if (strcmp(config_keys[i].path, path) == 0)
            return &config_keys[i];
    return NULL;
}

/* Edit distance with rows of at most 64 chars. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[65];
    size_t n = strlen(b);
    if (n > 64 || strlen(a) > 64)
        return 64;
    for (unsigned j = 0; j <= n; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1]; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= n; j++) {
            unsigned up = row[j], best = diagonal + (a[i - 1] != b[j - 1]);
            if (up + 1 < best)
                best = up + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
            diagonal = up;
        }
    }
    return row[n];
}

const config_key *config_nearest_key(const char *path)
{
    const config_key *best = NULL;
    unsigned best_d = 8;
    for (size_t i = 0; i < n_config_keys; i++) {
        const char *key = config_keys[i].path, *dot = strchr(key, '.');
        unsigned d = distance(path, key), d_last = distance(path, dot + 1) + 1;
        const char *path_dot = strchr(path, '.');
        /* the right name in the wrong section */
        if (path_dot && strcmp(path_dot, dot) == 0)
            d = 1;
        d = d < d_last ? d : d_last;
        if (d < best_d) {
            best_d = d;
            best = &config_keys[i];
        }
    }
    return best;
}
