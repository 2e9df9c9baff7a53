/* cuzk status: devices, queues, keys, memory and live jobs of a daemon. */
#include "cli/client.h"
#include "engine/metrics.h"
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define BAR_WIDTH 24u
#define JOBS_SHOWN 40u

typedef struct status_args {
    const char *interval;
    bool watch;
    size_t n;
    cli_common common;
    cli_server server;
} status_args;

/* How it is drawn: bars and colours on a terminal, plain lines elsewhere. */
typedef struct screen {
    bool is_terminal;
} screen;

static const char *paint(const screen *s, const char *code) { return s->is_terminal ? code : ""; }
#define BOLD(s) paint(s, "\033[1m")
#define RED(s) paint(s, "\033[31m")
#define GREEN(s) paint(s, "\033[32m")
#define PLAIN(s) paint(s, "\033[0m")

static void bar(const screen *s, double fraction)
{
    char text[BAR_WIDTH + 3];
    cli_format_bar(text, sizeof text, fraction, BAR_WIDTH);
    if (s->is_terminal)
        printf("%s ", text);
    printf("%5.1f %%", 100 * fraction);
}

static void print_head(const screen *s, const engine_snapshot *n)
{
    char up[CLI_SHORT_MAX], used[CLI_SHORT_MAX], budget[CLI_SHORT_MAX], rss[CLI_SHORT_MAX];
    const char *state = n->is_draining ? "draining" : n->is_ready ? "ready" : "warming up";
    cli_format_ms(up, (uint64_t)(n->uptime_seconds * 1000));
    cli_format_bytes(used, n->memory_used);
    cli_format_bytes(budget, n->memory_budget);
    cli_format_bytes(rss, n->memory_rss);
    printf("%s%s%s, up %s\n", n->is_ready && !n->is_draining ? GREEN(s) : RED(s), state, PLAIN(s),
           up);
    printf("memory    %s of %s planned, %s resident\n", used, budget, rss);
    if (n->self_check_failures || n->partition_retries)
        printf("checks    %s%llu failed, %llu partitions proven again%s\n", RED(s),
               (unsigned long long)n->self_check_failures, (unsigned long long)n->partition_retries,
               PLAIN(s));
}

static void print_devices(const screen *s, const engine_snapshot *n)
{
    printf("\n%s%-10s %-24s %-22s %10s  %s%s\n", BOLD(s), "device", "model", "memory", "busy",
           "now", PLAIN(s));
    for (uint32_t i = 0; i < n->n_devices; i++) {
        const engine_device_view *d = &n->devices[i];
        char used[CLI_SHORT_MAX], total[CLI_SHORT_MAX], memory[2 * CLI_SHORT_MAX + 4] = "-";
        char model[25], job[64], busy[CLI_SHORT_MAX];
        cli_format_bytes(used, d->memory_used);
        cli_format_bytes(total, d->memory_total);
        if (d->memory_total)
            snprintf(memory, sizeof memory, "%s of %s", used, total);
        cli_format_ms(busy, (uint64_t)(d->busy_seconds * 1000));
        cli_format_text(model, sizeof model, d->description);
        cli_format_text(job, sizeof job, d->job_id);
        printf("%-10s %-24s %-22s %10s  ", d->name, model, memory, busy);
        if (!d->is_healthy)
            printf("%s%s (%llu faults)%s\n", RED(s), d->is_silent ? "silent" : "out of service",
                   (unsigned long long)d->n_faults, PLAIN(s));
        else if (job[0])
            printf("%s, partition %u\n", job, d->partition);
        else
            printf("idle\n");
    }
}

static void print_queues(const screen *s, const engine_snapshot *n)
{
    printf("\n%s%-14s %8s %8s %10s %8s %10s%s\n", BOLD(s), "kind", "queued", "running", "done",
           "failed", "cancelled", PLAIN(s));
    for (int k = 0; k < PROOF_N_KINDS; k++) {
        uint64_t queued = 0;
        for (int p = 0; p < JOB_N_PRIORITIES; p++)
            queued += n->queued[k][p];
        printf("%-14s %8llu %8llu %10llu %8llu %10llu\n", ENGINE_KIND_LABELS[k],
               (unsigned long long)queued, (unsigned long long)n->running[k],
               (unsigned long long)n->completed[k], (unsigned long long)n->failed[k],
               (unsigned long long)n->cancelled[k]);
    }
}

static void print_keys(const screen *s, const engine_snapshot *n)
{
    if (n->n_keys == 0)
        return;
    printf("\n%s%-14s %12s %12s %6s%s\n", BOLD(s), "key", "host", "device", "users", PLAIN(s));
    for (uint32_t i = 0; i < n->n_keys; i++) {
        char host[CLI_SHORT_MAX], device[CLI_SHORT_MAX];
        cli_format_bytes(host, n->keys[i].host_bytes);
        cli_format_bytes(device, n->keys[i].device_bytes);
        printf("%-14s %12s %12s %6u%s\n", n->keys[i].circuit_id, host, device, n->keys[i].n_users,
               n->keys[i].is_loading ? "  loading" : "");
    }
}

static void print_jobs(const screen *s, const job_view *v, uint32_t n, uint32_t max)
{
    if (n == 0)
        return;
    printf("\n%s%-36s %-12s %-10s progress%s\n", BOLD(s), "job", "circuit", "state", PLAIN(s));
    for (uint32_t i = 0; i < n && i < max; i++) {
        char id[37];
        cli_format_text(id, sizeof id, v[i].job_id);
        printf("%-36s %-12s %-10s ", id, v[i].circuit_id, JOB_STATE_NAMES[v[i].state]);
        if (v[i].state == JOB_QUEUED) {
            printf("%u before it\n", v[i].queue_position);
            continue;
        }
        bar(s, v[i].progress);
        printf("  %u of %u partitions\n", v[i].n_partitions_done, v[i].n_partitions);
    }
    if (n > max)
        printf("and %u more (cuzk jobs)\n", n - max);
}

static uint32_t rows_left(const screen *s, const engine_snapshot *n)
{
    struct winsize w;
    uint32_t used = 14 + n->n_devices + n->n_keys + PROOF_N_KINDS;
    if (!s->is_terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_row == 0)
        return JOBS_SHOWN;
    return w.ws_row > used + 3 ? w.ws_row - used : 3;
}

static cuzk_status show_once(const status_args *a, rpc_client *c, const screen *s)
{
    rpc_status st;
    CUZK_TRY(rpc_client_status(c, a->common.json, &st));
    if (a->common.json) {
        puts(st.json);
    } else {
        if (a->watch && s->is_terminal)
            fputs("\033[H\033[2J", stdout);
        print_head(s, &st.snap);
        print_devices(s, &st.snap);
        print_queues(s, &st.snap);
        print_keys(s, &st.snap);
        print_jobs(s, st.jobs, st.n_jobs, a->watch ? rows_left(s, &st.snap) : UINT32_MAX);
    }
    fflush(stdout);
    rpc_status_fini(&st);
    return cuzk_ok();
}

/* In small steps, because a signal may come before the sleep. */
static void pause_unless_cancelled(const run_ctx *rc, uint64_t ms)
{
    const struct timespec step = {.tv_nsec = 50000000};
    for (uint64_t t = 0; t < ms && !run_cancelled(rc); t += 50)
        nanosleep(&step, NULL);
}

static cuzk_status watch(const status_args *a, cli_env *e, rpc_client *c, const screen *s,
                         uint64_t interval_ms)
{
    bool was_reached = false;
    while (!run_cancelled(&e->rc)) {
        cuzk_status st = show_once(a, c, s);
        if (st.code == CUZK_E_CANCELLED)
            break;
        if (st.code != CUZK_OK && !(was_reached && st.code == CUZK_E_IO))
            return st;
        if (st.code != CUZK_OK)
            fprintf(stderr, "%s\n", st.msg); /* it may come back */
        was_reached |= st.code == CUZK_OK;
        pause_unless_cancelled(&e->rc, interval_ms);
    }
    return cuzk_ok(); /* Ctrl-C is how a live view ends */
}

static cuzk_status status(void *ctx, cli_env *e, rpc_client *c, int *exit_code)
{
    const status_args *a = ctx;
    const screen s = {.is_terminal = !a->common.json && isatty(STDOUT_FILENO)};
    uint64_t interval_ms = 1000;
    (void)exit_code;
    if (a->interval)
        CUZK_TRY(cli_parse_duration(&interval_ms, "--interval", a->interval));
    if (interval_ms < 100)
        return cuzk_fail(CUZK_E_USAGE, "--interval: expected at least 100ms");
    return a->watch ? watch(a, e, c, &s, interval_ms) : show_once(a, c, &s);
}

static int run(int argc, char **argv)
{
    status_args a = {0};
    const cli_opt opts[] = {
        {"watch", NULL, "again and again until Ctrl-C; a live view on a terminal", NULL, &a.watch},
        {"interval", "TIME", "with --watch: pause between two (default 1s)", &a.interval, NULL},
    };
    return cli_client_run(&(cli_client_cmd){.cmd = &cli_cmd_status,
                                            .opts = opts,
                                            .n_opts = ARRAY_LEN(opts),
                                            .common = &a.common,
                                            .server = &a.server,
                                            .n_args = &a.n},
                          argc, argv, status, &a);
}

const cli_cmd cli_cmd_status = {
    "status", "", "Show devices, queues, keys and live jobs of a daemon.",
    "On a terminal with bars and colours, elsewhere as plain text. --json prints what GET /status "
    "of "
    "the daemon's HTTP port\nanswers; with --watch one document a line.",
    run};
