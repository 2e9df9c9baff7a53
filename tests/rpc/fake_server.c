/* A gRPC server around the pretending engine, for pytest. Prints one line of JSON with its addresses;
 * then commands on standard input, one a line, answered by one line each: "stats", "serving",
 * "not-serving"; the end of input drains for --drain-ms and ends the program. --preset ID: a job that
 * is there from the beginning, as after a restart. */
#include "base/log.h"
#include "base/mem.h"
#include "rpc/fake_engine.h"
#include "rpc/server.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct fake_args {
    rpc_server_config cfg;
    const char *listen[RPC_LISTEN_MAX];
    fake_options engine;
    uint64_t drain_ms;
    const char *preset;
} fake_args;

static uint64_t number(const char *text) { return strtoull(text, NULL, 10); }

static void take(fake_args *a, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **text;
        uint64_t *n64;
        uint32_t *n32;
    } rows[] = {
        {"--tls-listen", &a->cfg.tls_listen, NULL, NULL},
        {"--tls-cert", &a->cfg.tls_cert, NULL, NULL},
        {"--tls-key", &a->cfg.tls_key, NULL, NULL},
        {"--tls-client-ca", &a->cfg.tls_client_ca, NULL, NULL},
        {"--token", &a->cfg.token, NULL, NULL},
        {"--preset", &a->preset, NULL, NULL},
        {"--max-message-bytes", NULL, &a->cfg.max_message_bytes, NULL},
        {"--max-request-bytes", NULL, &a->engine.max_request_bytes, NULL},
        {"--body-timeout-ms", NULL, &a->cfg.body_timeout_ms, NULL},
        {"--keepalive-ms", NULL, &a->cfg.keepalive_ms, NULL},
        {"--keepalive-timeout-ms", NULL, &a->cfg.keepalive_timeout_ms, NULL},
        {"--drain-ms", NULL, &a->drain_ms, NULL},
        {"--max-calls", NULL, NULL, &a->cfg.max_calls},
        {"--max-bodies", NULL, NULL, &a->cfg.max_bodies},
        {"--max-connections", NULL, NULL, &a->cfg.max_connections},
        {"--max-metadata-bytes", NULL, NULL, &a->cfg.max_metadata_bytes},
    };
    if (strcmp(name, "--listen") == 0 && a->cfg.n_listen < RPC_LISTEN_MAX)
        a->listen[a->cfg.n_listen++] = value;
    if (strcmp(name, "--socket-mode") == 0)
        a->cfg.socket_mode = (uint32_t)strtoul(value, NULL, 8);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (strcmp(name, rows[i].name) != 0)
            continue;
        if (rows[i].text)
            *rows[i].text = value;
        if (rows[i].n64)
            *rows[i].n64 = number(value);
        if (rows[i].n32)
            *rows[i].n32 = (uint32_t)number(value);
    }
}

static unsigned n_threads(void)
{
    char line[256];
    unsigned n = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Threads: %u", &n) == 1)
            break;
    if (f)
        fclose(f);
    return n;
}

static void print_stats(rpc_server *s, engine *e)
{
    rpc_server_stats t = rpc_server_get_stats(s);
    fake_view v = fake_engine_look(e);
    printf(
        "{\"started\": %llu, \"live\": %llu, \"bodies\": %llu, \"waiting\": %llu, \"token\": %llu, "
        "\"busy\": %llu, \"invalid\": %llu, \"cancelled\": %llu, \"accepted\": %llu, \"refused\": "
        "%llu, \"watches\": %u, \"reserved\": %llu, \"submissions\": %llu, \"threads\": %u, "
        "\"live_bytes\": %llu, \"alive\": %s}\n",
        (unsigned long long)t.calls_started, (unsigned long long)t.calls_live,
        (unsigned long long)t.bodies_live, (unsigned long long)t.bodies_waiting,
        (unsigned long long)t.refused_token, (unsigned long long)t.refused_busy,
        (unsigned long long)t.refused_invalid, (unsigned long long)t.cancelled,
        (unsigned long long)t.connections_accepted, (unsigned long long)t.connections_refused,
        v.n_watches, (unsigned long long)v.reserved, (unsigned long long)v.n_submissions,
        n_threads(), (unsigned long long)mem_get_stats().live_bytes,
        rpc_server_is_alive(s) ? "true" : "false");
}

static void serve(rpc_server *s, engine *e)
{
    char line[128];
    printf("{\"addresses\": [");
    for (uint32_t i = 0; rpc_server_address(s, i); i++)
        printf("%s\"%s\"", i ? ", " : "", rpc_server_address(s, i));
    printf("]}\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "stats\n") == 0)
            print_stats(s, e);
        else if (strcmp(line, "serving\n") == 0 || strcmp(line, "not-serving\n") == 0)
            rpc_server_set_serving(s, line[0] == 's'), puts("{}");
        else
            puts("{\"error\": \"unknown command\"}");
        fflush(stdout);
    }
}

static void ignore(void *ctx, const engine_submitted *r)
{
    (void)ctx;
    (void)r;
}

static void preset(engine *e, const char *id)
{
    const struct timespec step = {.tv_nsec = 1000000};
    job_request r = {.kind = PROOF_POREP};
    job_view v;
    snprintf(r.request_id, sizeof r.request_id, "%s", id);
    engine_submit(e, &r, ignore, NULL);
    while (engine_get_job(e, id, &v).code != CUZK_OK)
        nanosleep(&step, NULL);
}

int main(int argc, char **argv)
{
    fake_args a = {.drain_ms = 0};
    rpc_server *s;
    a.cfg.listen = a.listen;
    for (int i = 1; i + 1 < argc; i += 2)
        take(&a, argv[i], argv[i + 1]);
    log_set(LOG_INFO, 0);
    engine *e = fake_engine_create(&a.engine);
    if (a.preset)
        preset(e, a.preset);
    cuzk_status st = rpc_server_start(&s, &a.cfg, e);
    if (st.code != CUZK_OK) {
        fprintf(stderr, "%s: %s\n", cuzk_code_name(st.code), st.msg);
        fake_engine_destroy(e);
        return 1;
    }
    rpc_server_set_serving(s, true);
    serve(s, e);
    rpc_server_drain(s, a.drain_ms);
    rpc_server_stop(s);
    fake_engine_destroy(e);
    return 0;
}
