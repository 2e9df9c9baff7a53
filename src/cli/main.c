/* cuzk: one binary, one file per subcommand. */
#include "build_facts.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "hash/sha256.h"
#include <stdio.h>
#include <string.h>

static const cli_cmd *const commands[] = {
    &cli_cmd_prove,   &cli_cmd_verify, &cli_cmd_inspect, &cli_cmd_circuits, &cli_cmd_params,
    &cli_cmd_bench,   &cli_cmd_gen,    &cli_cmd_devices, &cli_cmd_daemon,   &cli_cmd_submit,
    &cli_cmd_await,   &cli_cmd_status, &cli_cmd_jobs,    &cli_cmd_cancel,   &cli_cmd_trace,
    &cli_cmd_preload, &cli_cmd_evict,  &cli_cmd_metrics};

static void print_help(FILE *f)
{
    fputs("cuzk: Groth16 prover for Filecoin storage proofs\n\nUsage: cuzk COMMAND [OPTIONS] "
          "[ARGUMENTS]\n\nCommands:\n",
          f);
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        fprintf(f, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\nOptions:\n"
          "  --help      this text; `cuzk COMMAND --help` explains a command\n"
          "  --version   version and build facts\n\n"
          "Exit codes:\n"
          "  0 done, 1 internal error, 2 bad input, 3 proof does not verify, 4 not enough memory "
          "or another resource,\n"
          "  5 a file cannot be read or written or a daemon not reached, 6 interrupted, 64 wrong "
          "usage\n\n"
          "Environment:\n"
          "  FIL_PROOFS_PARAMETER_CACHE  folder of the published parameter files (default "
          "/var/tmp/filecoin-proof-parameters)\n"
          "  CUZK_ISA                    portable or adx: force a code path (default: the best of "
          "this CPU)\n"
          "  CUZK_SERVER, CUZK_TOKEN     address and token of the daemon for submit, await and the "
          "other client commands\n",
          f);
}

static void print_version(void)
{
    printf("cuzk %s\n", CUZK_VERSION);
    printf("commit      %s\n", CUZK_GIT_COMMIT);
    printf("compiler    %s\n", CUZK_COMPILER);
    printf("build type  %s\n", CUZK_BUILD_TYPE);
    printf("flags       %s\n", CUZK_BUILD_FLAGS);
    printf("sanitizers  %s\n", CUZK_SANITIZERS[0] ? CUZK_SANITIZERS : "none");
    printf("test hooks  %s\n", CUZK_HAS_TEST_HOOKS
                                   ? "yes (fixed r, s and toxic values allowed: not for production)"
                                   : "no");
    printf("fields      %s\n", ff_isa());
    printf("sha-256     %s\n", sha256_impl());
    printf("devices     %s\n", gpu_is_built() ? "cpu, cuda" : "cpu");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0 ||
        strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return CLI_DONE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        print_version();
        return CLI_DONE;
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(argv[1], commands[i]->name) == 0)
            return commands[i]->run(argc - 1, argv + 1);
    /* As the existing daemon is started: cuzk --config FILE, cuzk -c FILE. */
    if (argv[1][0] == '-')
        return cli_cmd_daemon.run(argc, argv);
    fprintf(stderr, "cuzk: command: expected one of those in `cuzk --help`, found \"%.60s\"\n",
            argv[1]);
    return CLI_USAGE;
}
