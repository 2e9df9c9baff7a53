/* cuzk daemon: serve proofs over gRPC; also what `cuzk --config FILE` does. */
#include "cli/cli.h"
#include "daemon/daemon.h"
#include <stdio.h>
#include <string.h>

static int check(const daemon_options *o, bool print)
{
    static daemon_config c;
    static config_warnings w;
    cuzk_status st = daemon_load_config(&c, &w, o);
    if (st.code == CUZK_OK && !print)
        st = config_check(&c, &w);
    for (uint32_t i = 0; i < w.n; i++)
        fprintf(stderr, "warning: %s\n", w.text[i]);
    if (st.code != CUZK_OK)
        return cli_report(&cli_cmd_daemon, st);
    if (print)
        config_print(&c, stdout);
    else
        printf("configuration is good (%u warnings)\n", w.n + w.n_dropped);
    return CLI_DONE;
}

/* The short options of the existing daemon. */
static void expand_short(int argc, char **argv)
{
    static char config[] = "--config", listen[] = "--listen";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-c") == 0)
            argv[i] = config;
        else if (strcmp(argv[i], "-l") == 0)
            argv[i] = listen;
    }
}

static int run(int argc, char **argv)
{
    daemon_options o = {0};
    bool check_config = false, print_config = false;
    cli_common common;
    const cli_opt opts[] = {
        {"config", "FILE", "TOML file (default: " CONFIG_DEFAULT_PATH " if it is there)",
         &o.config_path, NULL},
        {"listen", "ADDRESS", "gRPC address, instead of daemon.listen", &o.listen, NULL},
        {"status-listen", "ADDRESS", "HTTP address, instead of daemon.status_listen",
         &o.status_listen, NULL},
        {"log-level", "LEVEL", "error, warn, info or debug, instead of logging.level", &o.log_level,
         NULL},
        {"check-config", NULL, "check the configuration and exit", NULL, &check_config},
        {"print-config", NULL, "print the whole configuration as TOML and exit", NULL,
         &print_config},
    };
    const char *pos[1];
    size_t n_pos;
    int code;
    expand_short(argc, argv);
    if (cli_parse(&cli_cmd_daemon, opts, ARRAY_LEN(opts), &common, argc, argv,
                  &(cli_pos){pos, 0, &n_pos, &code}) != 0)
        return code;
    o.threads = common.threads;
    if (check_config || print_config)
        return check(&o, print_config);
    return cli_report(&cli_cmd_daemon, daemon_run(&o));
}

const cli_cmd cli_cmd_daemon = {
    "daemon", "", "Serve proofs over gRPC, with a journal, metrics and a web page.",
    "Keys of the configuration: `cuzk daemon --print-config`; each can be set by the environment, "
    "e.g. CUZK_DAEMON_LISTEN.\n"
    "SIGTERM and SIGINT drain, a second one ends at once; SIGHUP reloads what can change while "
    "running.",
    run};
