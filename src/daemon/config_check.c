/* What a configuration promises, looked at without opening ports or devices. */
#include "base/mem.h"
#include "circuit/circuit_id.h"
#include "daemon/config_int.h"
#include "daemon/devices.h"
#include "gpu/gpu_device.h"
#include "rpc/address.h"
#include "rpc/pem.h"
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_MIN 16u
#define WHERE "configuration"

static cuzk_status check_address(rpc_address *out, const char *key, const char *text)
{
    return cuzk_wrap(rpc_address_parse(out, text), "%s", key);
}

static bool is_loopback(const rpc_address *a)
{
    return a->is_unix || strncmp(a->host, "127.", 4) == 0 || strcmp(a->host, "::1") == 0 ||
           strcasecmp(a->host, "localhost") == 0;
}

static cuzk_status check_addresses(const daemon_config *c, config_warnings *w)
{
    rpc_address grpc = {.is_unix = true}, http = {.is_unix = true}, tls;
    if (c->listen[0])
        CUZK_TRY(check_address(&grpc, "daemon.listen", c->listen));
    if (c->tls_listen[0]) {
        CUZK_TRY(check_address(&tls, "daemon.tls_listen", c->tls_listen));
        if (tls.is_unix)
            return cuzk_bad_input("daemon.tls_listen", "host:port", "\"%.100s\"", c->tls_listen);
    }
    if (c->status_listen[0]) {
        CUZK_TRY(check_address(&http, "daemon.status_listen", c->status_listen));
        if (http.is_unix ? strncmp(c->status_listen, "unix:///", 8) != 0 : !http.host[0])
            return cuzk_bad_input("daemon.status_listen", "host:port or unix:///path", "\"%.100s\"",
                                  c->status_listen);
    }
    if (!is_loopback(&grpc) && !c->auth_token_file[0])
        config_warn(w, WHERE, "daemon.listen",
                    "whoever reaches this address can use the daemon: no token "
                    "(daemon.auth_token_file), no TLS (daemon.tls_listen)");
    else if (!is_loopback(&grpc))
        config_warn(w, WHERE, "daemon.listen",
                    "the token crosses the network in the clear: no TLS (daemon.tls_listen)");
    if (!is_loopback(&http) && !c->auth_token_file[0])
        config_warn(w, WHERE, "daemon.status_listen",
                    "whoever reaches this address can read it: no token (daemon.auth_token_file)");
    return cuzk_ok();
}

static cuzk_status check_pem(const char *key, const char *path, const char *label)
{
    char *text;
    if (!path[0])
        return cuzk_ok();
    CUZK_TRY(pem_read(&text, NULL, key, path, label));
    mem_wipe(text, strlen(text));
    mem_free(text);
    return cuzk_ok();
}

cuzk_status config_read_token(char out[TOKEN_MAX], bool *open_to_all, const daemon_config *c)
{
    const char *path = c->auth_token_file;
    struct stat info;
    *open_to_all = false;
    out[0] = 0;
    if (!path[0])
        return cuzk_ok();
    FILE *f = fopen(path, "r");
    if (!f)
        return cuzk_fail(errno == ENOENT ? CUZK_E_NOT_FOUND : CUZK_E_IO,
                         "daemon.auth_token_file: %s: %s", path, strerror(errno));
    size_t n = fread(out, 1, TOKEN_MAX - 1, f);
    *open_to_all = fstat(fileno(f), &info) == 0 && (info.st_mode & 0007) != 0;
    fclose(f);
    while (n && (out[n - 1] == '\n' || out[n - 1] == '\r' || out[n - 1] == ' '))
        n--;
    out[n] = 0;
    bool ok = n >= TOKEN_MIN && n < TOKEN_MAX - 1;
    for (size_t i = 0; i < n; i++)
        ok = ok && out[i] > ' ' && out[i] < 0x7f;
    if (!ok)
        return cuzk_bad_input("daemon.auth_token_file",
                              "a token of 16 to 1022 printable ASCII characters without spaces",
                              "%zu characters", n);
    return cuzk_ok();
}

static cuzk_status check_access(const daemon_config *c, config_warnings *w)
{
    char token[TOKEN_MAX];
    bool open_to_all;
    cuzk_status st = config_read_token(token, &open_to_all, c);
    mem_wipe(token, sizeof token);
    CUZK_TRY(st);
    if (open_to_all)
        config_warn(w, WHERE, "daemon.auth_token_file", "every user can read the file");
    CUZK_TRY(check_pem("daemon.tls_cert", c->tls_cert, PEM_CERTIFICATE));
    CUZK_TRY(check_pem("daemon.tls_key", c->tls_key, PEM_KEY));
    CUZK_TRY(check_pem("daemon.tls_client_ca", c->tls_client_ca, PEM_CERTIFICATE));
    if (c->socket_group[0] && !getgrnam(c->socket_group)) /* one thread, at start */
        return cuzk_bad_input("daemon.socket_group", "a group of this machine", "\"%.60s\"",
                              c->socket_group);
    return cuzk_ok();
}

/* Whether there is such a device is known when it is opened. */
static cuzk_status check_devices(const daemon_config *c)
{
    for (uint32_t i = 0; i < c->devices.n; i++)
        if (strcmp(c->devices.items[i], "cpu") != 0 &&
            !gpu_device_is_selector(device_selector(c->devices.items[i])))
            return cuzk_bad_input("gpus.devices", "\"cpu\", an index, a UUID or a PCI address",
                                  "\"%.60s\"", c->devices.items[i]);
    return cuzk_ok();
}

static cuzk_status check_keys(const daemon_config *c, config_warnings *w)
{
    char stem[PROOF_STEM_MAX], path[CONFIG_TEXT_MAX + PROOF_STEM_MAX + 16], text[200];
    bool has_folder = access(c->param_cache, R_OK | X_OK) == 0;
    if (!has_folder) {
        snprintf(text, sizeof text, "%.120s: %s", c->param_cache, strerror(errno));
        config_warn(w, WHERE, "srs.param_cache", text);
    }
    for (uint32_t i = 0; i < c->preload.n; i++) {
        circuit_id id;
        CUZK_TRY(cuzk_wrap(circuit_id_parse(&id, c->preload.items[i]), "srs.preload"));
        circuit_id_param_stem(stem, &id);
        snprintf(path, sizeof path, "%s/%s.params", c->param_cache, stem);
        if (!has_folder || access(path, R_OK) == 0)
            continue;
        snprintf(text, sizeof text, "%s: %s.params: %s", c->preload.items[i], stem,
                 strerror(errno));
        config_warn(w, WHERE, "srs.preload", text);
    }
    return cuzk_ok();
}

/* The folder itself, or what it would be made in. */
static void check_state_dir(const daemon_config *c, config_warnings *w)
{
    char at[CONFIG_TEXT_MAX], text[200];
    snprintf(at, sizeof at, "%s", c->state_dir);
    while (access(at, F_OK) != 0 && errno == ENOENT) {
        char *slash = strrchr(at, '/');
        if (!slash)
            snprintf(at, sizeof at, ".");
        else
            slash[slash == at] = 0;
    }
    if (access(at, W_OK | X_OK) == 0)
        return;
    snprintf(text, sizeof text, "%.120s: %s", at, strerror(errno));
    config_warn(w, WHERE, "daemon.state_dir", text);
}

cuzk_status config_check(const daemon_config *c, config_warnings *w)
{
    CUZK_TRY(check_addresses(c, w));
    CUZK_TRY(check_access(c, w));
    CUZK_TRY(check_devices(c));
    CUZK_TRY(check_keys(c, w));
    check_state_dir(c, w);
    return cuzk_ok();
}
