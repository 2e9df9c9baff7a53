/* cuzk preload, cuzk evict: keys into a daemon's memory and out of it. */
#include "cli/client.h"
#include <stdio.h>

#define CIRCUITS_MAX 64u

typedef struct keys_args {
    bool is_evict;
    const char *circuits[CIRCUITS_MAX];
    size_t n_circuits;
    cli_common common;
    cli_server server;
} keys_args;

static void print_text(const keys_args *a, const char *circuit, const rpc_key_result *r)
{
    char bytes[CLI_SHORT_MAX], time[CLI_SHORT_MAX];
    cli_format_bytes(bytes, r->bytes);
    cli_format_ms(time, r->load_ms);
    if (a->is_evict)
        printf(r->was_loaded ? "%s: %s freed\n" : "%s: was not loaded\n", circuit, bytes);
    else if (r->was_loaded)
        printf("%s: was loaded already\n", circuit);
    else
        printf("%s: loaded in %s, %s\n", circuit, time, bytes);
}

static void print_json(json_writer *w, const keys_args *a, const char *circuit,
                       const rpc_key_result *r)
{
    json_begin_object(w);
    json_kv_str(w, "circuit_id", circuit);
    json_kv_bool(w, "was_loaded", r->was_loaded);
    if (!a->is_evict)
        json_kv_u64(w, "load_ms", r->load_ms);
    json_kv_u64(w, a->is_evict ? "freed_bytes" : "bytes", r->bytes);
    json_end_object(w);
}

static cuzk_status keys(void *ctx, cli_env *e, rpc_client *c, int *exit_code)
{
    const keys_args *a = ctx;
    json_writer w;
    (void)e;
    (void)exit_code;
    json_write_init(&w, stdout, true);
    if (a->common.json)
        json_begin_array(&w);
    for (size_t i = 0; i < a->n_circuits; i++) {
        rpc_key_result r;
        CUZK_TRY(a->is_evict ? rpc_client_evict(c, a->circuits[i], &r)
                             : rpc_client_preload(c, a->circuits[i], &r));
        if (a->common.json)
            print_json(&w, a, a->circuits[i], &r);
        else
            print_text(a, a->circuits[i], &r);
    }
    if (!a->common.json)
        return cuzk_ok();
    json_end_array(&w);
    return json_write_finish(&w);
}

static int run_keys(const cli_cmd *cmd, bool is_evict, int argc, char **argv)
{
    keys_args a = {.is_evict = is_evict};
    return cli_client_run(&(cli_client_cmd){.cmd = cmd,
                                            .common = &a.common,
                                            .server = &a.server,
                                            .args = a.circuits,
                                            .n_args = &a.n_circuits,
                                            .max_args = CIRCUITS_MAX,
                                            .min_args = 1},
                          argc, argv, keys, &a);
}

static int run_preload(int argc, char **argv)
{
    return run_keys(&cli_cmd_preload, false, argc, argv);
}

static int run_evict(int argc, char **argv) { return run_keys(&cli_cmd_evict, true, argc, argv); }

const cli_cmd cli_cmd_preload = {"preload", "CIRCUIT...",
                                 "Load keys into a daemon's memory before they are needed.",
                                 "CIRCUIT is an id such as porep-32g, wpost-32g, winning-32g, "
                                 "snap-32g, porep-2k.",
                                 run_preload};
const cli_cmd cli_cmd_evict = {"evict", "CIRCUIT...", "Free the memory of keys in a daemon.",
                               "Refused while jobs use the key.", run_evict};
