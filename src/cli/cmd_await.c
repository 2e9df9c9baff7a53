/* cuzk await: the proof of a job, when it is there. */
#include "cli/client.h"

typedef struct await_args {
    const char *timeout, *out, *job[1];
    size_t n_jobs;
    cli_common common;
    cli_server server;
} await_args;

static cuzk_status await_job(void *ctx, cli_env *e, rpc_client *c, int *exit_code)
{
    const await_args *a = ctx;
    rpc_result r;
    uint64_t timeout_ms = 0;
    if (a->timeout)
        CUZK_TRY(cli_parse_duration(&timeout_ms, "--timeout", a->timeout));
    cuzk_status st = cli_await(e, c, a->job[0], timeout_ms, &r);
    if (st.code == CUZK_OK)
        st = cli_print_result(&r, a->common.json, a->out, exit_code);
    rpc_result_fini(&r);
    return st;
}

static int run(int argc, char **argv)
{
    await_args a = {0};
    const cli_opt opts[] = {
        {"timeout", "TIME", "wait no longer than this, e.g. 90s, 30m (default: no limit)",
         &a.timeout, NULL},
        {"out", "FILE", "also write the raw proof bytes, 192 per partition", &a.out, NULL},
    };
    return cli_client_run(&(cli_client_cmd){.cmd = &cli_cmd_await,
                                            .opts = opts,
                                            .n_opts = ARRAY_LEN(opts),
                                            .common = &a.common,
                                            .server = &a.server,
                                            .args = a.job,
                                            .n_args = &a.n_jobs,
                                            .max_args = 1,
                                            .min_args = 1},
                          argc, argv, await_job, &a);
}

const cli_cmd cli_cmd_await = {
    "await", "JOB", "Wait for a job of a daemon and print its proof.",
    "A daemon that restarts meanwhile is waited for: its jobs go on. Exit codes: 0 proven; a "
    "failed "
    "job's own (2 for a bad\ninput, 1 otherwise); 6 cancelled; 4 not done in time.",
    run};
