/* The environment of a command: threads, spans, progress, Ctrl-C. */
#include "base/log.h"
#include "base/span_names.h"
#include "cli/cli.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_SPANS 65536u
#define PROGRESS_EVERY_NS 100000000u

int cli_exit_code(cuzk_code code)
{
    switch (code) {
    case CUZK_OK:
        return CLI_DONE;
    case CUZK_E_INPUT:
    case CUZK_E_RANGE:
    case CUZK_E_UNSUPPORTED:
        return CLI_BAD_INPUT;
    case CUZK_E_VERIFY:
        return CLI_NOT_VERIFIED;
    case CUZK_E_NOMEM:
    case CUZK_E_BUSY:
    case CUZK_E_IMPOSSIBLE:
        return CLI_RESOURCES;
    case CUZK_E_IO:
    case CUZK_E_NOT_FOUND:
        return CLI_FILE;
    case CUZK_E_CANCELLED:
        return CLI_INTERRUPTED;
    case CUZK_E_USAGE:
        return CLI_USAGE;
    default:
        return CLI_INTERNAL;
    }
}

int cli_report(const cli_cmd *cmd, cuzk_status st)
{
    if (st.code != CUZK_OK)
        fprintf(stderr, "cuzk %s: %s: %s\n", cmd->name, cuzk_code_text(st.code), st.msg);
    return cli_exit_code(st.code);
}

/* The only global: a signal handler has no other way. Written by the handler, polled by
 * run_cancelled. */
static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
    (void)sig;
    interrupted = 1;
}

static bool is_interrupted(void *ctx)
{
    (void)ctx;
    return interrupted;
}

/* One bar for the stage at hand, redrawn at most ten times a second. */
static void show_progress(void *ctx, const char *stage, double fraction)
{
    cli_env *e = ctx;
    uint64_t now = clock_now_ns();
    bool new_stage = e->progress_stage != stage;
    if (!e->progress_on ||
        (!new_stage && fraction < 1 && now - e->progress_last_ns < PROGRESS_EVERY_NS))
        return;
    char bar[31];
    int n = fraction < 0 ? 0 : fraction > 1 ? 30 : (int)(fraction * 30);
    memset(bar, '.', 30);
    memset(bar, '#', (size_t)n);
    bar[30] = 0;
    fprintf(stderr, "\r\033[K%-12s [%s] %3d %%", stage, bar,
            (int)(100 * (fraction > 1   ? 1
                         : fraction < 0 ? 0
                                        : fraction)));
    fflush(stderr);
    e->progress_stage = stage;
    e->progress_last_ns = now;
}

cuzk_status cli_env_init(cli_env *e, const cli_common *common)
{
    *e = (cli_env){0};
    uint64_t threads = 0;
    if (common->threads)
        CUZK_TRY(cli_parse_u64(&threads, "--threads", common->threads, 1024));
    CUZK_TRY(span_rec_create(&e->spans, MAX_SPANS));
    e->root = span_begin(e->spans, 0, SPAN_RUN);
    cuzk_status st = pool_create(&e->pool, (unsigned)threads);
    if (st.code != CUZK_OK) {
        cli_env_fini(e);
        return st;
    }
    e->trace_path = common->trace;
    e->quiet = common->quiet;
    e->progress_on = !common->quiet && isatty(STDERR_FILENO);
    e->rc = (run_ctx){.pool = e->pool,
                      .spans = e->spans,
                      .parent = e->root,
                      .progress = show_progress,
                      .progress_ctx = e,
                      .cancelled = is_interrupted};
    struct sigaction sa = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    return cuzk_ok();
}

static cuzk_status write_trace(const cli_env *e)
{
    FILE *f = fopen(e->trace_path, "w");
    if (!f)
        return cuzk_fail(CUZK_E_IO, "--trace %.120s: %s", e->trace_path, strerror(errno));
    cuzk_status st = span_write_chrome(e->spans, f);
    if (fclose(f) != 0 && st.code == CUZK_OK)
        st = cuzk_fail(CUZK_E_IO, "--trace %.120s: %s", e->trace_path, strerror(errno));
    return st;
}

cuzk_status cli_env_finish(cli_env *e, cuzk_status st)
{
    if (e->progress_stage) {
        fputs("\r\033[K", stderr);
        e->progress_stage = NULL;
    }
    span_end(e->spans, e->root);
    if (e->trace_path) {
        cuzk_status t = write_trace(e);
        if (st.code == CUZK_OK)
            st = t;
    }
    return st;
}

void cli_env_fini(cli_env *e)
{
    pool_destroy(e->pool);
    span_rec_destroy(e->spans);
    arena_fini(&e->arena);
    *e = (cli_env){0};
}
