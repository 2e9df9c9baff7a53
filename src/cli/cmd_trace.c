/* cuzk trace: where the time of a job went. */
#include "base/mem.h"
#include "cli/client.h"
#include "engine/timeline.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct trace_args {
    const char *perfetto, *job[1];
    bool gaps;
    size_t n_jobs;
    cli_common common;
    cli_server server;
} trace_args;

static cuzk_status write_perfetto(const timeline *t, const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f)
        return cuzk_fail(CUZK_E_IO, "--perfetto %.120s: %s", path, strerror(errno));
    cuzk_status st = timeline_write_chrome(t, f);
    if (fclose(f) != 0 && st.code == CUZK_OK)
        st = cuzk_fail(CUZK_E_IO, "--perfetto %.120s: %s", path, strerror(errno));
    return st;
}

static cuzk_status show(const trace_args *a, const timeline *t, const char *json)
{
    if (a->perfetto)
        CUZK_TRY(write_perfetto(t, a->perfetto));
    if (a->common.json)
        return printf("%s\n", json) < 0
                   ? cuzk_fail(CUZK_E_IO, "standard output: %s", strerror(errno))
                   : cuzk_ok();
    if (a->gaps)
        return timeline_write_gaps(t, stdout);
    return a->perfetto ? cuzk_ok() : timeline_write_table(t, stdout);
}

static cuzk_status trace(void *ctx, cli_env *e, rpc_client *c, int *exit_code)
{
    const trace_args *a = ctx;
    char *json;
    timeline t;
    (void)e;
    (void)exit_code;
    CUZK_TRY(rpc_client_timeline(c, a->job[0], &json));
    cuzk_status st = timeline_parse(&t, json, strlen(json));
    if (st.code == CUZK_OK) {
        st = show(a, &t, json);
        timeline_fini(&t);
    }
    mem_free(json);
    return st;
}

static int run(int argc, char **argv)
{
    trace_args a = {0};
    const cli_opt opts[] = {
        {"gaps", NULL, "only spans of which a part is unaccounted for, worst first", NULL, &a.gaps},
        {"perfetto", "FILE", "write a trace for ui.perfetto.dev or chrome://tracing", &a.perfetto,
         NULL},
    };
    return cli_client_run(&(cli_client_cmd){.cmd = &cli_cmd_trace,
                                            .opts = opts,
                                            .n_opts = ARRAY_LEN(opts),
                                            .common = &a.common,
                                            .server = &a.server,
                                            .args = a.job,
                                            .n_args = &a.n_jobs,
                                            .max_args = 1,
                                            .min_args = 1},
                          argc, argv, trace, &a);
}

const cli_cmd cli_cmd_trace = {
    "trace", "JOB", "Show where the time of a job went, running or finished.",
    "The table has a line per span, indented below its parent; GAP marks a parent of which more "
    "than "
    "1 % and 10 ms belong to\nno child. --trace is about this command itself.",
    run};
