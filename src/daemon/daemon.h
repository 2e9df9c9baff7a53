/* The daemon: configuration, engine, gRPC and HTTP wired together; signals; systemd. */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H
#include "daemon/config.h"

/* Strings live as long as the process. The others, when
 * given, win over the file. */
typedef struct daemon_options {
    const char *config_path; /* NULL: CONFIG_DEFAULT_PATH if it is there */
    const char *listen, *status_listen, *log_level, *threads;
} daemon_options;
#define CONFIG_DEFAULT_PATH "/data/zk/cuzk.toml"

/* The configuration a daemon with these options would run with; config_check is apart. */
CUZK_MUST_CHECK cuzk_status daemon_load_config(daemon_config *c, config_warnings *w,
                                               const daemon_options *o);
/* Serve until SIGTERM or SIGINT, then drain; a second signal ends the drain. SIGHUP reloads.
 * Prints one line on stdout once it answers: addresses with their real ports. Call it first thing
 * on the main thread. Errors: of configuration, devices, journal, addresses; CUZK_E_IO when a
 * listener died (so that a supervisor starts it anew). */
CUZK_MUST_CHECK cuzk_status daemon_run(const daemon_options *o);
#endif
