/* Shared by the commands that talk to a daemon. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H
#include "cli/cli.h"
#include "rpc/client.h"

#define CLI_DEFAULT_SERVER "unix:///run/curio/cuzk.sock"
#define CLI_N_SERVER_OPTS 7u
typedef struct cli_server {
    const char *address, *token_file, *ca, *cert, *key, *name;
    bool tls;
} cli_server;
/* The options of a server as CLI_N_SERVER_OPTS rows of a table. */
void cli_server_opts(cli_opt *out, cli_server *s);
/* Address from --server, CUZK_SERVER or the default; token from --token-file or CUZK_TOKEN. */
CUZK_MUST_CHECK cuzk_status cli_server_open(rpc_client **out, const cli_server *s,
                                            const run_ctx *rc);

/* A command with its own options and its positional arguments. */
#define CLI_CLIENT_OPTS 21u /* own options at most */
typedef struct cli_client_cmd {
    const cli_cmd *cmd;
    const cli_opt *opts;
    size_t n_opts;
    cli_common *common;
    cli_server *server;
    const char **args; /* room for max_args */
    size_t *n_args, max_args, min_args;
} cli_client_cmd;
/* Parse, connect, run fn, report. fn fills *exit_code when it is not by its status. */
typedef cuzk_status cli_client_fn(void *ctx, cli_env *e, rpc_client *c, int *exit_code);
int cli_client_run(const cli_client_cmd *k, int argc, char **argv, cli_client_fn *fn, void *ctx);

/* A request as the daemon takes it: files read, names of registered proofs as numbers. Release with
 * job_request_fini. Errors: CUZK_E_USAGE, CUZK_E_INPUT, of files. */
CUZK_MUST_CHECK cuzk_status cli_make_request(cli_env *e, const cli_input *in, job_request *out);
CUZK_MUST_CHECK cuzk_status cli_parse_priority(job_priority *out, const char *text,
                                               proof_kind kind);
/* "90", "90s", "1500ms", "30m", "2h" into ms. */
CUZK_MUST_CHECK cuzk_status cli_parse_duration(uint64_t *ms, const char *option, const char *text);

/* Wait until the job's end with progress on stderr; a daemon that restarts is waited for, because its
 * jobs live on. timeout_ms 0: no limit. */
CUZK_MUST_CHECK cuzk_status cli_await(cli_env *e, rpc_client *c, const char *job_id,
                                      uint64_t timeout_ms, rpc_result *out);
/* Print a result as text or JSON, write the proof to out_path (NULL: nowhere) and give the exit
 * code of its outcome. */
CUZK_MUST_CHECK cuzk_status cli_print_result(const rpc_result *r, bool json, const char *out_path,
                                             int *exit_code);

/* "1.5 GiB"; "3 min 20 s". Out: CLI_SHORT_MAX chars. */
#define CLI_SHORT_MAX 32u
void cli_format_bytes(char out[CLI_SHORT_MAX], uint64_t bytes);
void cli_format_ms(char out[CLI_SHORT_MAX], uint64_t ms);
/* "[#####.....]" of `width` characters between the brackets. */
void cli_format_bar(char *out, size_t out_size, double fraction, unsigned width);
/* Text that came over the network, safe to show on a terminal; cut to out_size. */
void cli_format_text(char *out, size_t out_size, const char *text);

int cli_bench_e2e(int argc, char **argv);
extern const cli_cmd cli_cmd_submit, cli_cmd_await, cli_cmd_status, cli_cmd_cancel, cli_cmd_jobs,
    cli_cmd_trace, cli_cmd_preload, cli_cmd_evict, cli_cmd_metrics;
#endif
