/* The daemon's configuration: the existing daemon's TOML keys and our own, one table of them
 * (config_keys.c); docs/configuration.md explains it. */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H
#include "base/log.h"
#include "base/status.h"
#include "circuit/proof_task.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CONFIG_TEXT_MAX 512u
#define CONFIG_LIST_MAX 64u

typedef struct config_list {
    char items[CONFIG_LIST_MAX][128];
    uint32_t n;
} config_list;

/* Plain values: copied freely. Sizes in bytes, times in ms; 0 is "auto" or "no limit" where the key's
 * help says so. */
typedef struct daemon_config {
    /* [daemon] */
    char listen[CONFIG_TEXT_MAX], status_listen[CONFIG_TEXT_MAX], state_dir[CONFIG_TEXT_MAX];
    char tls_listen[CONFIG_TEXT_MAX], tls_cert[CONFIG_TEXT_MAX], tls_key[CONFIG_TEXT_MAX],
        tls_client_ca[CONFIG_TEXT_MAX], auth_token_file[CONFIG_TEXT_MAX],
        socket_group[CONFIG_TEXT_MAX];
    uint32_t socket_mode, max_requests;
    uint64_t max_message_bytes, drain_timeout_ms;
    /* [memory] */
    uint64_t total_budget_bytes, safety_margin_bytes, eviction_min_idle_ms;
    /* [gpus] */
    config_list devices;
    uint64_t device_memory_bytes, slice_timeout_ms;
    /* [scheduler] */
    uint32_t max_batch_size, max_queued_jobs, max_active[PROOF_N_KINDS];
    uint64_t max_batch_wait_ms, max_queued_bytes, ageing_ms;
    /* [synthesis] */
    uint32_t threads, host_workers;
    /* [srs] */
    char param_cache[CONFIG_TEXT_MAX];
    config_list preload;
    /* [jobs] */
    uint64_t retention_ms;
    uint32_t max_finished, timelines;
    /* [logging] */
    char log_level[32], log_format[32];
    bool timeline_lines;
} daemon_config;

/* What is worth telling but no error: deprecated keys and such, a line each. */
typedef struct config_warnings {
    char text[32][256];
    uint32_t n, n_dropped;
} config_warnings;

void config_defaults(daemon_config *c);
/* Defaults, then the file (NULL: none), then CUZK_<SECTION>_<KEY> of env (an environ-like list, may
 * be NULL), then the check of the whole. Errors: CUZK_E_INPUT (file, line, key, expected, found;
 * unknown keys name the nearest one), CUZK_E_NOT_FOUND, CUZK_E_IO. */
CUZK_MUST_CHECK cuzk_status config_load(daemon_config *c, config_warnings *w, const char *path,
                                        char *const *env);
/* One key from text, as from the environment ("daemon.listen"). w may be NULL. */
CUZK_MUST_CHECK cuzk_status config_set(daemon_config *c, config_warnings *w, const char *key,
                                       const char *text, const char *where);
/* Add "where: key: text"; w may be NULL. */
void config_warn(config_warnings *w, const char *where, const char *key, const char *text);
/* What a configuration can be checked for without opening ports or devices: addresses, circuits, names
 * of devices, token and PEM files are errors (CUZK_E_INPUT, CUZK_E_IO, CUZK_E_NOT_FOUND, naming the
 * key); what may come later, or is unwise, is a warning. */
CUZK_MUST_CHECK cuzk_status config_check(const daemon_config *c, config_warnings *w);

#define TOKEN_MAX 1024u
/* The token of daemon.auth_token_file, "" when there is none; open_to_all: others may read the file. */
CUZK_MUST_CHECK cuzk_status config_read_token(char out[TOKEN_MAX], bool *open_to_all,
                                              const daemon_config *c);
/* Names of keys that differ and that a running daemon cannot change, comma separated; "" if none.
 * Those keep the value of `now` in `next`. */
void config_keep_fixed(daemon_config *next, const daemon_config *now, char *names, size_t len);
/* The whole as TOML with each key's help as a comment; reading it gives the same configuration. */
void config_print(const daemon_config *c, FILE *f);
log_level config_log_level(const daemon_config *c);
/* Memory this machine or container may use (MemTotal, cgroup v2 and v1 limits) less the margin. */
uint64_t config_memory_budget(const daemon_config *c);
#endif
