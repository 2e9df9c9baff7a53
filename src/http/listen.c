#include "http/listen.h"
#include "base/net.h"
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128
#define UNIX_PREFIX "unix://"
#define SOCKET_FLAGS (SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)

/* True when a server answers at the path. */
static bool is_answered(const struct sockaddr_un *addr)
{
    int fd = socket(AF_UNIX, SOCKET_FLAGS, 0);
    if (fd < 0)
        return true; /* cannot tell: leave it alone */
    int rc = connect(fd, (const struct sockaddr *)addr, sizeof *addr);
    bool is_dead = rc != 0 && (errno == ECONNREFUSED || errno == ENOENT);
    close(fd);
    return !is_dead;
}

static cuzk_status clear_unix_path(const struct sockaddr_un *addr)
{
    struct stat info;
    if (lstat(addr->sun_path, &info) != 0)
        return cuzk_ok(); /* bind reports what matters */
    if (!S_ISSOCK(info.st_mode))
        return cuzk_fail(CUZK_E_IO, "%s exists and is not a socket", addr->sun_path);
    if (is_answered(addr))
        return cuzk_fail(CUZK_E_IO, "%s is in use by another process", addr->sun_path);
    unlink(addr->sun_path);
    return cuzk_ok();
}

static cuzk_status listen_unix(http_listener *out, const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    if (path[0] != '/' || len >= sizeof addr.sun_path)
        return cuzk_fail(CUZK_E_USAGE,
                         "listen address %s%s: expected an absolute path of at most %zu bytes",
                         UNIX_PREFIX, path, sizeof addr.sun_path - 1);
    memcpy(addr.sun_path, path, len + 1);
    CUZK_TRY(clear_unix_path(&addr));
    int fd = socket(AF_UNIX, SOCKET_FLAGS, 0);
    if (fd < 0)
        return cuzk_fail(CUZK_E_IO, "socket: %s", strerror(errno));
    /* The mode is set before listen: until then nobody can connect. */
    if (bind(fd, (struct sockaddr *)&addr, sizeof addr) != 0 || chmod(path, 0660) != 0 ||
        listen(fd, BACKLOG) != 0) {
        int err = errno;
        close(fd);
        return cuzk_fail(CUZK_E_IO, "listen on %s: %s", path, strerror(err));
    }
    out->fd = fd;
    memcpy(out->unix_path, path, len + 1);
    return cuzk_ok();
}

/* Split "host:port" or "[v6]:port". */
static cuzk_status split_address(char *host, size_t host_size, const char **port,
                                 const char *address)
{
    const char *colon = strrchr(address, ':');
    const char *start = address, *end = colon;
    if (colon && address[0] == '[' && colon > address + 1 && colon[-1] == ']') {
        start++;
        end--;
    } else if (colon && memchr(address, ':', (size_t)(colon - address))) {
        colon = NULL; /* a bare IPv6 address is ambiguous */
    }
    size_t n_digits = colon ? strspn(colon + 1, "0123456789") : 0;
    if (!colon || end == start || (size_t)(end - start) >= host_size || n_digits == 0 ||
        n_digits > 5 || colon[1 + n_digits])
        return cuzk_fail(CUZK_E_USAGE,
                         "listen address \"%s\": expected host:port, [v6]:port or unix:///path",
                         address);
    memcpy(host, start, (size_t)(end - start));
    host[end - start] = 0;
    *port = colon + 1;
    return cuzk_ok();
}

static cuzk_status listen_tcp(http_listener *out, const char *address)
{
    char host[256];
    const char *port = NULL;
    struct addrinfo *list = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    CUZK_TRY(split_address(host, sizeof host, &port, address));
    int rc = getaddrinfo(host, port, &hints, &list);
    if (rc != 0)
        return cuzk_fail(CUZK_E_USAGE, "listen address \"%s\": %s", address, gai_strerror(rc));
    int err = EADDRNOTAVAIL;
    for (const struct addrinfo *ai = list; ai && out->fd < 0; ai = ai->ai_next) {
        out->fd = net_listen(ai, BACKLOG);
        if (out->fd < 0)
            err = errno;
    }
    freeaddrinfo(list);
    if (out->fd < 0)
        return cuzk_fail(CUZK_E_IO, "listen on %s: %s", address, strerror(err));
    out->port = net_port(out->fd);
    return cuzk_ok();
}

cuzk_status http_listen(http_listener *out, const char *address)
{
    *out = (http_listener){.fd = -1};
    if (strncmp(address, UNIX_PREFIX, sizeof UNIX_PREFIX - 1) == 0)
        return listen_unix(out, address + sizeof UNIX_PREFIX - 1);
    return listen_tcp(out, address);
}

void http_listener_close(http_listener *l)
{
    if (l->fd >= 0)
        close(l->fd);
    if (l->unix_path[0])
        unlink(l->unix_path);
    *l = (http_listener){.fd = -1};
}
