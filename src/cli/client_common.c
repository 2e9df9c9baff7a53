/* Connecting to a daemon, and formats the client commands share. */
#include "base/mem.h"
#include "cli/client.h"
#include "daemon/units.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_MAX_BYTES 4096u

void cli_server_opts(cli_opt *out, cli_server *s)
{
    const cli_opt rows[CLI_N_SERVER_OPTS] = {
        {"server", "ADDR",
         "the daemon: unix:///path or host:port (default: CUZK_SERVER, else " CLI_DEFAULT_SERVER
         ")",
         &s->address, NULL},
        {"token-file", "FILE", "bearer token of the daemon (default: CUZK_TOKEN)", &s->token_file,
         NULL},
        {"tls", NULL, "use TLS, with the system's certificate authorities", NULL, &s->tls},
        {"tls-ca", "FILE", "use TLS, with this certificate authority", &s->ca, NULL},
        {"tls-cert", "FILE", "client certificate, for a daemon that asks for one", &s->cert, NULL},
        {"tls-key", "FILE", "its key", &s->key, NULL},
        {"tls-name", "NAME", "name in the daemon's certificate, when it is not the host's",
         &s->name, NULL},
    };
    memcpy(out, rows, sizeof rows);
}

/* The file's first line. */
static cuzk_status read_token(char out[TOKEN_MAX_BYTES], const char *path)
{
    uint8_t *bytes;
    size_t len;
    CUZK_TRY(cuzk_wrap(cli_read_file(&bytes, &len, path, TOKEN_MAX_BYTES - 2), "--token-file"));
    size_t n = 0;
    while (n < len && bytes[n] > ' ' && bytes[n] < 127)
        n++;
    memcpy(out, bytes, n);
    out[n] = 0;
    mem_wipe(bytes, len);
    mem_free(bytes);
    return n ? cuzk_ok()
             : cuzk_fail(CUZK_E_INPUT, "--token-file %.100s: expected a token in the first line",
                         path);
}

cuzk_status cli_server_open(rpc_client **out, const cli_server *s, const run_ctx *rc)
{
    char token[TOKEN_MAX_BYTES];
    const char *from_env = getenv("CUZK_TOKEN"), *address = s->address;
    if (!address)
        address = getenv("CUZK_SERVER");
    if (!address || !address[0])
        address = CLI_DEFAULT_SERVER;
    if (s->token_file)
        CUZK_TRY(read_token(token, s->token_file));
    rpc_client_config cfg = {.address = address,
                             .token = s->token_file             ? token
                                      : from_env && from_env[0] ? from_env
                                                                : NULL,
                             .tls = s->tls || s->ca || s->cert,
                             .tls_ca = s->ca,
                             .tls_cert = s->cert,
                             .tls_key = s->key,
                             .tls_name = s->name,
                             .cancelled = rc->cancelled,
                             .cancel_ctx = rc->cancel_ctx};
    cuzk_status st = rpc_client_open(out, &cfg);
    mem_wipe(token, sizeof token);
    return cuzk_wrap(st, "--server %.100s", address);
}

static cuzk_status run_connected(const cli_client_cmd *k, cli_client_fn *fn, void *ctx,
                                 int *exit_code)
{
    cli_env env;
    rpc_client *c = NULL;
    cli_common common = *k->common;
    if (!common.threads)
        common.threads = "1"; /* nothing is computed here */
    CUZK_TRY(cli_env_init(&env, &common));
    cuzk_status st = cli_server_open(&c, k->server, &env.rc);
    if (st.code == CUZK_OK)
        st = fn(ctx, &env, c, exit_code);
    st = cli_env_finish(&env, st);
    rpc_client_close(c);
    cli_env_fini(&env);
    return st;
}

int cli_client_run(const cli_client_cmd *k, int argc, char **argv, cli_client_fn *fn, void *ctx)
{
    cli_opt opts[CLI_CLIENT_OPTS + CLI_N_SERVER_OPTS];
    int code = CLI_DONE;
    CUZK_ASSERT(k->n_opts <= CLI_CLIENT_OPTS);
    if (k->n_opts)
        memcpy(opts, k->opts, k->n_opts * sizeof *opts);
    cli_server_opts(opts + k->n_opts, k->server);
    if (cli_parse(k->cmd, opts, k->n_opts + CLI_N_SERVER_OPTS, k->common, argc, argv,
                  &(cli_pos){k->args, k->max_args, k->n_args, &code}) != 0)
        return code;
    if (*k->n_args < k->min_args)
        return cli_usage(k->cmd, "expected %s", k->cmd->args);
    cuzk_status st = run_connected(k, fn, ctx, &code);
    return st.code == CUZK_OK ? code : cli_report(k->cmd, st);
}

/* ---- formats ---- */

cuzk_status cli_parse_duration(uint64_t *ms, const char *option, const char *text)
{
    cuzk_status st = parse_duration_ms(ms, option, text);
    if (st.code != CUZK_OK)
        st.code = CUZK_E_USAGE; /* of the command line, not of an input */
    return st;
}

void cli_format_bytes(char out[CLI_SHORT_MAX], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    size_t u = 0;
    for (; v >= 1024 && u + 1 < ARRAY_LEN(units); u++)
        v /= 1024;
    snprintf(out, CLI_SHORT_MAX, u == 0 || v >= 100 ? "%.0f %s" : "%.1f %s", v, units[u]);
}

void cli_format_ms(char out[CLI_SHORT_MAX], uint64_t ms)
{
    uint64_t s = ms / 1000;
    if (ms < 1000)
        snprintf(out, CLI_SHORT_MAX, "%llu ms", (unsigned long long)ms);
    else if (s < 60)
        snprintf(out, CLI_SHORT_MAX, "%.1f s", (double)ms / 1000);
    else if (s < 3600)
        snprintf(out, CLI_SHORT_MAX, "%llu min %02llu s", (unsigned long long)(s / 60),
                 (unsigned long long)(s % 60));
    else
        snprintf(out, CLI_SHORT_MAX, "%llu h %02llu min", (unsigned long long)(s / 3600),
                 (unsigned long long)(s / 60 % 60));
}

void cli_format_bar(char *out, size_t out_size, double fraction, unsigned width)
{
    unsigned n = fraction <= 0 ? 0 : fraction >= 1 ? width : (unsigned)(fraction * width);
    size_t at = 0;
    if (out_size < (size_t)width + 3)
        width = out_size > 3 ? (unsigned)out_size - 3 : 0;
    out[at++] = '[';
    for (unsigned i = 0; i < width; i++)
        out[at++] = i < n ? '#' : '.';
    out[at++] = ']';
    out[at] = 0;
}

void cli_format_text(char *out, size_t out_size, const char *text)
{
    size_t n = 0;
    for (; text[n] && n + 1 < out_size; n++)
        out[n] = (unsigned char)text[n] < 0x20 || text[n] == 0x7f ? '?' : text[n];
    out[n] = 0;
}
