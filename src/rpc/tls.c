/* The TLS port. gRPC's library takes TLS only from its own listener, which stops for ever after the
 * process was out of descriptors; so this also tries, from time to time, whether it still
 * accepts. */
#include "base/log.h"
#include "base/mem.h"
#include "base/run_ctx.h"
#include "rpc/accept_int.h"
#include "rpc/pem.h"
#include <errno.h>
#include <grpc/grpc_security.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE_EVERY_NS 15000000000u
#define PROBE_WAIT_NS 20000000000u /* above the handshake limit of a busy process */
#define PROBE_FAILURES_MAX 3u

typedef struct pem_file {
    const char *option, *path, *label;
    struct timespec changed;
    char *text;
} pem_file;

struct rpc_tls {
    pem_file cert, key, ca;
    pthread_mutex_t mu; /* guards the files: gRPC fetches them from any thread */
    bool was_fetched;
    rpc_address addr;
    char text[RPC_TARGET_MAX];
    struct sockaddr_storage probe_addr;
    socklen_t probe_len;
    int probe_fd;
    bool probe_has_sent;
    uint64_t probe_since_ns;
    uint32_t n_failures;
    atomic_bool is_alive;
};

static cuzk_status read_pem(pem_file *f)
{
    char *text;
    CUZK_TRY(pem_read(&text, &f->changed, f->option, f->path, f->label));
    mem_free(f->text);
    f->text = text;
    return cuzk_ok();
}

static bool has_changed(const pem_file *f)
{
    struct stat s;
    return f->path && stat(f->path, &s) == 0 &&
           (s.st_mtim.tv_sec != f->changed.tv_sec || s.st_mtim.tv_nsec != f->changed.tv_nsec);
}

static cuzk_status read_all(rpc_tls *t)
{
    CUZK_TRY(read_pem(&t->cert));
    CUZK_TRY(read_pem(&t->key));
    return t->ca.path ? read_pem(&t->ca) : cuzk_ok();
}

/* At start and for every new connection. */
static grpc_ssl_certificate_config_reload_status fetch(void *ctx,
                                                       grpc_ssl_server_certificate_config **out)
{
    rpc_tls *t = ctx;
    pthread_mutex_lock(&t->mu);
    bool changed = has_changed(&t->cert) || has_changed(&t->key) || has_changed(&t->ca);
    cuzk_status st = changed ? read_all(t) : cuzk_ok();
    bool is_new = st.code == CUZK_OK && (changed || !t->was_fetched);
    if (is_new) {
        grpc_ssl_pem_key_cert_pair pair = {t->key.text, t->cert.text};
        /* The library aborts without roots, also where no client certificate is asked for. */
        const char *roots = t->ca.text ? t->ca.text : t->cert.text;
        *out = grpc_ssl_server_certificate_config_create(roots, &pair, 1);
        t->was_fetched = true;
    }
    pthread_mutex_unlock(&t->mu);
    if (st.code != CUZK_OK)
        log_warn("tls_reload_failed", LOG_STR("error", st.msg));
    return is_new ? GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW
                  : GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
}

static grpc_server_credentials *make_credentials(rpc_tls *t)
{
    grpc_ssl_client_certificate_request_type ask =
        t->ca.path ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                   : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
    return grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(ask, fetch, t));
}

/* Where the probe connects: the address itself, or this machine for all interfaces. */
static void find_probe_addr(rpc_tls *t)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    char port[8];
    snprintf(port, sizeof port, "%u", t->addr.port);
    const char *host = t->addr.host;
    if (!host[0] || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0)
        host = "localhost";
    if (getaddrinfo(host, port, &hints, &list) != 0)
        return;
    memcpy(&t->probe_addr, list->ai_addr, list->ai_addrlen);
    t->probe_len = list->ai_addrlen;
    freeaddrinfo(list);
}

static bool can_bind(const rpc_address *a)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *list = NULL;
    char port[8];
    const int on = 1;
    snprintf(port, sizeof port, "%u", a->port);
    if (getaddrinfo(a->host[0] ? a->host : NULL, port, &hints, &list) != 0)
        return false;
    int fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
              bind(fd, list->ai_addr, list->ai_addrlen) == 0;
    if (fd >= 0)
        close(fd);
    freeaddrinfo(list);
    return ok;
}

/* gRPC's library only says that it did not work. */
static cuzk_status why_not(const rpc_tls *t, const rpc_server_config *cfg)
{
    if (!can_bind(&t->addr))
        return cuzk_fail(CUZK_E_IO,
                         "tls_listen %.100s: cannot listen (the address is in use, or "
                         "not of this machine)",
                         cfg->tls_listen);
    return cuzk_fail(CUZK_E_INPUT, "tls_cert %.60s and tls_key %.60s do not belong together%s%.60s",
                     t->cert.path, t->key.path,
                     t->ca.path ? ", or there is no certificate in tls_client_ca " : "",
                     t->ca.path ? t->ca.path : "");
}

static cuzk_status build(rpc_tls *t, const rpc_server_config *cfg, grpc_server *server)
{
    char bind_to[RPC_TARGET_MAX];
    if (!cfg->tls_cert || !cfg->tls_key)
        return cuzk_fail(CUZK_E_INPUT, "tls_listen: expected tls_cert and tls_key with it");
    t->cert = (pem_file){.option = "tls_cert", .path = cfg->tls_cert, .label = PEM_CERTIFICATE};
    t->key = (pem_file){.option = "tls_key", .path = cfg->tls_key, .label = PEM_KEY};
    t->ca =
        (pem_file){.option = "tls_client_ca", .path = cfg->tls_client_ca, .label = PEM_CERTIFICATE};
    CUZK_TRY(rpc_address_parse(&t->addr, cfg->tls_listen));
    if (t->addr.is_unix)
        return cuzk_bad_input("tls_listen", "host:port", "\"%.100s\"", cfg->tls_listen);
    CUZK_TRY(read_all(t));
    rpc_address to = t->addr;
    if (!to.host[0])
        snprintf(to.host, sizeof to.host, "::");
    rpc_address_format(bind_to, &to);
    grpc_server_credentials *creds = make_credentials(t);
    int port = creds ? grpc_server_add_http2_port(server, bind_to, creds) : 0;
    if (creds)
        grpc_server_credentials_release(creds);
    if (port <= 0 || port > 65535)
        return why_not(t, cfg);
    t->addr.port = (uint16_t)port;
    rpc_address_format(t->text, &t->addr);
    find_probe_addr(t);
    return cuzk_ok();
}

cuzk_status rpc_tls_open(rpc_tls **out, const rpc_server_config *cfg, grpc_server *server)
{
    *out = NULL;
    rpc_tls *t = mem_zalloc(sizeof *t, 64);
    if (!t)
        return cuzk_fail(CUZK_E_NOMEM, "TLS");
    pthread_mutex_init(&t->mu, NULL);
    t->probe_fd = -1;
    t->probe_since_ns = clock_now_ns();
    atomic_init(&t->is_alive, true);
    cuzk_status st = build(t, cfg, server);
    *out = t; /* also after a failure: the server may still hold the credentials */
    return st;
}

const char *rpc_tls_text(const rpc_tls *t) { return t->text; }

/* ---- the probe ---- */

static void probe_end(rpc_tls *t, bool answered)
{
    close(t->probe_fd);
    t->probe_fd = -1;
    t->probe_since_ns = clock_now_ns();
    t->n_failures = answered ? 0 : t->n_failures + 1;
    if (t->n_failures == PROBE_FAILURES_MAX) {
        atomic_store_explicit(&t->is_alive, false, memory_order_relaxed);
        log_error("tls_port_dead", LOG_STR("address", t->text));
    }
}

static void probe_begin(rpc_tls *t)
{
    t->probe_since_ns = clock_now_ns();
    t->probe_has_sent = false;
    t->probe_fd = socket(t->probe_addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (t->probe_fd < 0)
        return; /* no descriptor to spare says nothing of the port */
    if (connect(t->probe_fd, (const struct sockaddr *)&t->probe_addr, t->probe_len) != 0 &&
        errno != EINPROGRESS)
        probe_end(t, false);
}

void rpc_tls_probe(rpc_tls *t)
{
    /* No TLS record: whoever accepts closes at once. The kernel alone accepts too, but is silent. */
    static const char nonsense[] = "GET / HTTP/1.0\r\n\r\n";
    char byte;
    if (!t->probe_len || !atomic_load_explicit(&t->is_alive, memory_order_relaxed))
        return;
    uint64_t age = clock_now_ns() - t->probe_since_ns;
    if (t->probe_fd < 0) {
        if (age >= PROBE_EVERY_NS)
            probe_begin(t);
        return;
    }
    if (!t->probe_has_sent)
        t->probe_has_sent =
            send(t->probe_fd, nonsense, sizeof nonsense - 1, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
    ssize_t n = recv(t->probe_fd, &byte, 1, MSG_DONTWAIT);
    if (n >= 0 || errno == ECONNRESET)
        probe_end(t, true);
    else if (age >= PROBE_WAIT_NS)
        probe_end(t, false);
}

bool rpc_tls_is_alive(const rpc_tls *t)
{
    return atomic_load_explicit(&t->is_alive, memory_order_relaxed);
}

void rpc_tls_close(rpc_tls *t)
{
    if (!t)
        return;
    if (t->probe_fd >= 0)
        close(t->probe_fd);
    if (t->key.text)
        mem_wipe(t->key.text, strlen(t->key.text));
    mem_free(t->cert.text);
    mem_free(t->key.text);
    mem_free(t->ca.text);
    pthread_mutex_destroy(&t->mu);
    mem_free(t);
}
