/* Shared by all subcommands: options, environment, files, exit codes. */
#ifndef CLI_CLI_H
#define CLI_CLI_H
#include "base/arena.h"
#include "base/json_write.h"
#include "base/run_ctx.h"
#include "circuit/proof_task.h"
#include "gpu/gpu_backend.h"
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
extern const cli_cmd cli_cmd_prove, cli_cmd_verify, cli_cmd_inspect, cli_cmd_circuits,
    cli_cmd_params, cli_cmd_bench, cli_cmd_gen, cli_cmd_devices, cli_cmd_daemon;

/* Options every command has. */
typedef struct cli_common {
    const char *threads, *trace;
    bool json, quiet;
} cli_common;
/* Where positional arguments go, and the exit code when a command ends in parsing. */
typedef struct cli_pos {
    const char **args;
    size_t max, *n;
    int *exit_code;
} cli_pos;
/* Parse argv[1..]. Returns 0 to go on, or -1 when the command should return *pos->exit_code at once
 * (help was printed, or a usage error). */
int cli_parse(const cli_cmd *cmd, const cli_opt *opts, size_t n_opts, cli_common *common, int argc,
              char **argv, const cli_pos *pos);

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
/* Ends the root span, writes the trace file, clears the progress line. Returns st, or the trace's
 * failure when st is ok. */
cuzk_status cli_env_finish(cli_env *e, cuzk_status st);
void cli_env_fini(cli_env *e);
/* Print a failure on stderr ("cuzk prove: bad input: ...") and give the exit code. */
int cli_report(const cli_cmd *cmd, cuzk_status st);
int cli_usage(const cli_cmd *cmd, const char *fmt, ...) CUZK_PRINTF(2, 3);

/* Whole file, "-" = standard input, into memory from mem_alloc. Errors: CUZK_E_NOT_FOUND,
 * CUZK_E_IO, CUZK_E_INPUT (over max_bytes), CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status cli_read_file(uint8_t **out, size_t *out_len, const char *path,
                                          size_t max_bytes);
CUZK_MUST_CHECK cuzk_status cli_write_file(const char *path, const void *bytes, size_t len);
/* Where proofs are made, and the key they are made with. {0} before cli_device_open; released by
 * cli_device_close in any state. */
#define CLI_DEVICES_MAX 16u
typedef struct cli_device {
    g16_backend *backend; /* of all devices when there are several (groth16/multi_backend.h) */
    uint32_t n;
    struct {
        g16_backend *backend; /* borrowed */
        void *loaded;         /* borrowed */
        bool is_cuda;
        char name[32]; /* "cuda:0" */
    } members[CLI_DEVICES_MAX];
    bool is_cuda; /* one device, and CUDA */
    bool plain_keys;
    char name[256], model[96], why[200]; /* "cuda:0,cuda:1"; why auto took the CPU */
    void *loaded;
    const g16_vk *vk; /* of the loaded key */
    g16_key *key;     /* from a file, or over dev_key */
    uint8_t *dev_key; /* development key of the CPU backend */
    size_t dev_len, dev_cap;
    g16_vk dev_vk; /* development key of a CUDA backend */
} cli_device;
/* option: auto, or cpu, cuda, cuda:ID, and several of them with commas ("cuda:0,1", "cuda:0,cpu");
 * NULL is auto. auto says on stderr what it took; the others never take another device.
 * plain_keys: CUDA devices use no key's evaluation form (the CPU cannot be told). */
CUZK_MUST_CHECK cuzk_status cli_device_open(cli_device *d, const char *option, bool plain_keys,
                                            bool quiet);
/* The key file at path. Errors: g16_key_open's, g16_key_match's, the backend's. */
CUZK_MUST_CHECK cuzk_status cli_device_load_key(cli_device *d, const r1cs_shape *s,
                                                const char *path, const run_ctx *rc);
/* A key made for this process: in device memory, or on the CPU in host memory. */
CUZK_MUST_CHECK cuzk_status cli_device_load_development(cli_device *d, const r1cs_shape *s,
                                                        const g16_toxic *t, const run_ctx *rc);
void cli_device_unload(cli_device *d); /* the shape may go */
void cli_device_close(cli_device *d);
/* Members device, device_model, device_memory (one CUDA device), devices (several). */
void cli_device_json(json_writer *w, const cli_device *d);
/* --test-toxic: alpha,beta,gamma,delta,tau; only in builds with test hooks. */
CUZK_MUST_CHECK cuzk_status cli_parse_toxic(g16_toxic *t, const char *text);

/* Decimal u64 with nothing else around it. Errors: CUZK_E_USAGE naming the option. */
CUZK_MUST_CHECK cuzk_status cli_parse_u64(uint64_t *out, const char *option, const char *text,
                                          uint64_t max);
/* Decimal or 0x-hex field element below r, for test values. */
CUZK_MUST_CHECK cuzk_status cli_parse_fr(fr *out, const char *option, const char *text);

/* Parameter cache folder: FIL_PROOFS_PARAMETER_CACHE, else /var/tmp/filecoin-proof-parameters. */
const char *cli_param_cache(void);
/* Folder for development keys: $XDG_CACHE_HOME/cuzk or ~/.cache/cuzk; out >= 4096. */
void cli_dev_cache(char *out, size_t len);
/* Canonical little-endian hex of a field element. */
void cli_json_fr(json_writer *w, const fr *v);
/* What names and explains a vanilla input: files and the request values that the bytes cannot
 * prove. Filled by the options. */
#define CLI_MAX_FILES 65536u
#define CLI_N_INPUT_OPTS 14u
typedef struct cli_input {
    const char *kind, *registered, *sector_size, *api_version, *randomness, *prover_id, *miner,
        *sector, *comm_r_old, *comm_d_new, *comm_r_new, *h, *request, *porep_id;
    const char *const *files;
    size_t n_files;
} cli_input;
/* The options of an input as CLI_N_INPUT_OPTS rows of a table. */
void cli_input_opts(cli_opt *out, cli_input *in);
/* Decode into *t (memory: the environment's arena); *decoded tells how far it came. With the full
 * vanilla check when check is true.
 * Errors: CUZK_E_USAGE (missing or contradicting options), CUZK_E_INPUT, files. */
CUZK_MUST_CHECK cuzk_status cli_load_task(cli_env *e, proof_task *t, const cli_input *in,
                                          bool check, bool *decoded);
/* Fill what the command line left open from a request.json. */
CUZK_MUST_CHECK cuzk_status cli_read_request(cli_env *e, cli_input *in, const char *path);
/* Proving key path of a task in the parameter cache; ext is "params" or "vk". */
void cli_key_path(char *out, size_t len, const proof_task *t, const char *ext);
/* "public_inputs" member: a list per partition, n partitions from first. */
CUZK_MUST_CHECK cuzk_status cli_json_inputs(cli_env *e, json_writer *w, const proof_task *t,
                                            uint32_t first, uint32_t n);
#endif
