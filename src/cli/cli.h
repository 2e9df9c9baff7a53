/* Shared by all subcommands: options, environment, files, exit codes. */
#ifndef CLI_CLI_H
#define CLI_CLI_H
#include "base/arena.h"
#include "base/json_write.h"
#include "base/run_ctx.h"
#include "fil/porep.h"
#include "groth16/backend.h"

/* Documented in `cuzk --help` and the manual page. */
enum cli_exit {
    CLI_DONE = 0,
    CLI_INTERNAL = 1,
    CLI_BAD_INPUT = 2,
    CLI_NOT_VERIFIED = 3,
    CLI_RESOURCES = 4,
    CLI_FILE = 5,
    CLI_INTERRUPTED = 6,
    CLI_USAGE = 64
};
int cli_exit_code(cuzk_code code);

/* One option: exactly one of value, flag is set. arg: name shown in the help, NULL for flags. */
typedef struct cli_opt {
    const char *name, *arg, *help;
    const char **value;
    bool *flag;
} cli_opt;
typedef struct cli_cmd {
    const char *name, *args, *summary, *details;
    int (*run)(int argc, char **argv);
} cli_cmd;
extern const cli_cmd cli_cmd_prove, cli_cmd_verify, cli_cmd_inspect, cli_cmd_circuits, cli_cmd_params, cli_cmd_bench;

/* Options every command has. */
typedef struct cli_common {
    const char *threads, *trace;
    bool json, quiet;
} cli_common;
/* Parse argv[1..]; positional arguments go to pos (at most max_pos, *n_pos of them). Returns 0 to go on, or -1 when the command should
 * return *exit_code at once (help was printed, or a usage error). */
int cli_parse(const cli_cmd *cmd, const cli_opt *opts, size_t n_opts, cli_common *common, int argc, char **argv,
              const char **pos, size_t max_pos, size_t *n_pos, int *exit_code);

/* What a command works with; {0} before cli_env_init, released by cli_env_fini. */
typedef struct cli_env {
    run_ctx rc;
    pool *pool;
    span_rec *spans;
    span_id root;
    const char *trace_path;
    bool progress_on, quiet;
    const char *progress_stage;
    uint64_t progress_last_ns;
    arena arena;
} cli_env;
CUZK_MUST_CHECK cuzk_status cli_env_init(cli_env *e, const cli_common *common);
/* Ends the root span, writes the trace file, clears the progress line. Returns st, or the trace's failure when st is ok. */
cuzk_status cli_env_finish(cli_env *e, cuzk_status st);
void cli_env_fini(cli_env *e);
/* Print a failure on stderr ("cuzk prove: bad input: ...") and give the exit code. */
int cli_report(const cli_cmd *cmd, cuzk_status st);
int cli_usage(const cli_cmd *cmd, const char *fmt, ...) CUZK_PRINTF(2, 3);

/* Whole file, "-" = standard input, into memory from mem_alloc. Errors: CUZK_E_NOT_FOUND, CUZK_E_IO, CUZK_E_INPUT (over max_bytes), CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status cli_read_file(uint8_t **out, size_t *out_len, const char *path, size_t max_bytes);
CUZK_MUST_CHECK cuzk_status cli_write_file(const char *path, const void *bytes, size_t len);
/* Decimal u64 with nothing else around it. Errors: CUZK_E_USAGE naming the option. */
CUZK_MUST_CHECK cuzk_status cli_parse_u64(uint64_t *out, const char *option, const char *text, uint64_t max);
/* Decimal or 0x-hex field element below r, for test values. */
CUZK_MUST_CHECK cuzk_status cli_parse_fr(fr *out, const char *option, const char *text);

/* Parameter cache folder: FIL_PROOFS_PARAMETER_CACHE, else /var/tmp/filecoin-proof-parameters. */
const char *cli_param_cache(void);
/* Folder for development keys: $XDG_CACHE_HOME/cuzk or ~/.cache/cuzk; out >= 4096. */
void cli_dev_cache(char *out, size_t len);
/* Canonical little-endian hex of a field element. */
void cli_json_fr(json_writer *w, const fr *v);
/* The C1 in a file, decoded; with the vanilla check when check is true. The decode result lives in e->arena. */
CUZK_MUST_CHECK cuzk_status cli_load_porep(cli_env *e, fil_porep *out, const char *path, const fil_porep_context *ctx, bool check);
/* --miner and --sector. */
CUZK_MUST_CHECK cuzk_status cli_context(fil_porep_context *out, const char *miner, const char *sector);
#endif
