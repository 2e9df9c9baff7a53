/* The accepting thread; see accept_int.h. */
#define _GNU_SOURCE
#include "base/log.h"
#include "base/mem.h"
#include "base/run_ctx.h"
#include "rpc/accept_int.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_EVERY_NS 10000000000u
#define FULL_PAUSE_MS 20

/* A connection handed over: its descriptor may be closed and used again, its inode not. */
typedef struct connection {
    int fd;
    uint64_t inode;
} connection;

struct rpc_acceptor {
    rpc_listener listeners[RPC_LISTEN_MAX];
    uint32_t n_listeners;
    int wake_fd, spare_fd; /* the spare is given up to refuse a client when no other is left */
    pthread_t thread;
    bool is_running;
    atomic_bool stop;
    rpc_accept_fn *fn;
    void *ctx;
    connection *connections;
    uint32_t n_connections, max_connections;
    atomic_uint_fast64_t accepted, refused;
    uint64_t logged_ns;
};

static uint64_t inode_of(int fd)
{
    struct stat s;
    return fstat(fd, &s) == 0 && S_ISSOCK(s.st_mode) ? s.st_ino : 0;
}

/* gRPC does not say when it closes a connection: look which ones are still there. */
static bool has_room(rpc_acceptor *a)
{
    if (a->n_connections < a->max_connections)
        return true;
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->n_connections; i++)
        if (inode_of(a->connections[i].fd) == a->connections[i].inode)
            a->connections[n++] = a->connections[i];
    a->n_connections = n;
    return n < a->max_connections;
}

static void refuse(rpc_acceptor *a, int fd, const char *why)
{
    uint64_t now = clock_now_ns();
    close(fd);
    uint64_t n = atomic_fetch_add_explicit(&a->refused, 1, memory_order_relaxed) + 1;
    if (a->logged_ns && now - a->logged_ns < LOG_EVERY_NS)
        return;
    a->logged_ns = now;
    log_warn("connection_refused", LOG_STR("why", why), LOG_U64("refused_total", n));
}

static void take(rpc_acceptor *a, int fd, bool is_unix)
{
    int on = 1;
    if (!has_room(a)) {
        refuse(a, fd, "too many connections");
        return;
    }
    a->connections[a->n_connections++] = (connection){fd, inode_of(fd)};
    if (!is_unix)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    atomic_fetch_add_explicit(&a->accepted, 1, memory_order_relaxed);
    a->fn(a->ctx, fd, is_unix);
}

/* Out of descriptors: an answered refusal instead of a client that waits for ever. */
static void refuse_with_spare(rpc_acceptor *a, int listen_fd)
{
    if (a->spare_fd >= 0)
        close(a->spare_fd);
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        refuse(a, fd, "out of file descriptors");
    a->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct pollfd wake = {.fd = a->wake_fd, .events = POLLIN};
    (void)poll(&wake, 1, FULL_PAUSE_MS);
}

static void accept_some(rpc_acceptor *a, const rpc_listener *l)
{
    while (!atomic_load_explicit(&a->stop, memory_order_relaxed)) {
        int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            take(a, fd, l->addr.is_unix);
        } else if (errno == EMFILE || errno == ENFILE) {
            refuse_with_spare(a, l->fd);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return; /* EAGAIN; others show again at the next poll */
        }
    }
}

static void *run(void *arg)
{
    rpc_acceptor *a = arg;
    struct pollfd p[RPC_LISTEN_MAX + 1];
    while (!atomic_load_explicit(&a->stop, memory_order_relaxed)) {
        for (uint32_t i = 0; i < a->n_listeners; i++)
            p[i] = (struct pollfd){.fd = a->listeners[i].fd, .events = POLLIN};
        p[a->n_listeners] = (struct pollfd){.fd = a->wake_fd, .events = POLLIN};
        if (poll(p, a->n_listeners + 1, -1) < 0)
            continue;
        for (uint32_t i = 0; i < a->n_listeners; i++)
            if (p[i].revents)
                accept_some(a, &a->listeners[i]);
    }
    return NULL;
}

static cuzk_status build(rpc_acceptor *a, const rpc_server_config *cfg)
{
    a->max_connections = cfg->max_connections;
    a->connections = mem_alloc(cfg->max_connections * sizeof *a->connections, 16);
    if (!a->connections)
        return cuzk_fail(CUZK_E_NOMEM, "table of %u connections", cfg->max_connections);
    a->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    a->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (a->wake_fd < 0 || a->spare_fd < 0)
        return cuzk_fail(CUZK_E_IO, "file descriptors: %s", strerror(errno));
    for (uint32_t i = 0; i < cfg->n_listen; i++) {
        CUZK_TRY(rpc_listener_open(&a->listeners[i], cfg->listen[i], cfg));
        a->n_listeners++;
    }
    return cuzk_ok();
}

cuzk_status rpc_acceptor_open(rpc_acceptor **out, const rpc_server_config *cfg)
{
    *out = NULL;
    if (cfg->n_listen > RPC_LISTEN_MAX)
        return cuzk_fail(CUZK_E_INPUT, "listen: expected at most %u addresses, found %u",
                         RPC_LISTEN_MAX, cfg->n_listen);
    rpc_acceptor *a = mem_zalloc(sizeof *a, 64);
    if (!a)
        return cuzk_fail(CUZK_E_NOMEM, "acceptor");
    a->wake_fd = a->spare_fd = -1;
    cuzk_status st = build(a, cfg);
    if (st.code != CUZK_OK)
        rpc_acceptor_destroy(a);
    else
        *out = a;
    return st;
}

cuzk_status rpc_acceptor_start(rpc_acceptor *a, rpc_accept_fn *fn, void *ctx)
{
    a->fn = fn;
    a->ctx = ctx;
    if (pthread_create(&a->thread, NULL, run, a) != 0)
        return cuzk_fail(CUZK_E_NOMEM, "accepting thread");
    a->is_running = true;
    return cuzk_ok();
}

const rpc_listener *rpc_acceptor_listener(const rpc_acceptor *a, uint32_t idx)
{
    return idx < a->n_listeners ? &a->listeners[idx] : NULL;
}

void rpc_acceptor_count(const rpc_acceptor *a, uint64_t *accepted, uint64_t *refused)
{
    *accepted = atomic_load_explicit(&a->accepted, memory_order_relaxed);
    *refused = atomic_load_explicit(&a->refused, memory_order_relaxed);
}

void rpc_acceptor_stop(rpc_acceptor *a)
{
    const uint64_t one = 1;
    if (a->is_running) {
        atomic_store_explicit(&a->stop, true, memory_order_relaxed);
        (void)!write(a->wake_fd, &one, sizeof one);
        pthread_join(a->thread, NULL);
        a->is_running = false;
    }
    for (uint32_t i = 0; i < a->n_listeners; i++)
        rpc_listener_close(&a->listeners[i]);
}

void rpc_acceptor_destroy(rpc_acceptor *a)
{
    if (!a)
        return;
    rpc_acceptor_stop(a);
    if (a->wake_fd >= 0)
        close(a->wake_fd);
    if (a->spare_fd >= 0)
        close(a->spare_fd);
    mem_free(a->connections);
    mem_free(a);
}
