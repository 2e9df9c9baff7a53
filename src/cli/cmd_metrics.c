/* cuzk metrics: what Prometheus would read. */
#include "base/mem.h"
#include "cli/client.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct metrics_args {
    size_t n;
    cli_common common;
    cli_server server;
} metrics_args;

static cuzk_status metrics(void *ctx, cli_env *e, rpc_client *c, int *exit_code)
{
    char *text;
    (void)ctx;
    (void)e;
    (void)exit_code;
    CUZK_TRY(rpc_client_metrics(c, &text));
    bool ok = fputs(text, stdout) >= 0 && fflush(stdout) == 0;
    mem_free(text);
    return ok ? cuzk_ok() : cuzk_fail(CUZK_E_IO, "standard output: %s", strerror(errno));
}

static int run(int argc, char **argv)
{
    metrics_args a = {.n = 0};
    return cli_client_run(
        &(cli_client_cmd){
            .cmd = &cli_cmd_metrics, .common = &a.common, .server = &a.server, .n_args = &a.n},
        argc, argv, metrics, &a);
}

const cli_cmd cli_cmd_metrics = {
    "metrics", "", "Print a daemon's metrics in the Prometheus text format.",
    "The same text as GET /metrics of its HTTP port; --json changes nothing.", run};
