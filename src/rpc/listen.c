/* Opening listening sockets. A unix path belongs to whoever holds the lock beside it, so that a
 * second daemon cannot take it away from the first. */
#include "base/net.h"
#include "rpc/accept_int.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 512

static cuzk_status sys_fail(const char *text, const char *what)
{
    return cuzk_fail(CUZK_E_IO, "%.110s: %s: %s", text, what, strerror(errno));
}

/* ---- unix ---- */

/* The folders above path, as needed. */
static cuzk_status make_parents(const char *path)
{
    char dir[sizeof((rpc_address){0}).path];
    for (size_t i = 1; path[i]; i++) {
        if (path[i] != '/')
            continue;
        memcpy(dir, path, i);
        dir[i] = 0;
        if (mkdir(dir, 0755) != 0 && errno != EEXIST)
            return cuzk_fail(CUZK_E_IO, "folder %.100s: %s", dir, strerror(errno));
    }
    return cuzk_ok();
}

static cuzk_status take_lock(rpc_listener *l)
{
    char path[sizeof l->addr.path + 8];
    snprintf(path, sizeof path, "%s.lock", l->addr.path);
    l->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (l->lock_fd < 0)
        return sys_fail(path, "cannot open the lock file");
    if (flock(l->lock_fd, LOCK_EX | LOCK_NB) != 0)
        return cuzk_fail(CUZK_E_IO, "%s: in use by another process, which holds %s", l->text, path);
    return cuzk_ok();
}

/* Programs that take no lock beside their socket are known by their answer. */
static bool somebody_listens(const char *path)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    snprintf(sa.sun_path, sizeof sa.sun_path, "%s", path);
    bool is_taken = fd >= 0 && (connect(fd, (const struct sockaddr *)&sa, sizeof sa) == 0 ||
                                errno == EAGAIN); /* its backlog is full */
    if (fd >= 0)
        close(fd);
    return is_taken;
}

static cuzk_status remove_stale(const rpc_listener *l)
{
    struct stat s;
    if (lstat(l->addr.path, &s) != 0)
        return errno == ENOENT ? cuzk_ok() : sys_fail(l->text, "cannot look at it");
    if (!S_ISSOCK(s.st_mode))
        return cuzk_fail(CUZK_E_IO, "%s: expected a socket or nothing, found another kind of file",
                         l->text);
    if (somebody_listens(l->addr.path))
        return cuzk_fail(CUZK_E_IO, "%s: in use by another process, which answers there", l->text);
    return unlink(l->addr.path) == 0 ? cuzk_ok()
                                     : sys_fail(l->text, "cannot remove a stale socket");
}

static cuzk_status set_owner(const rpc_listener *l, const rpc_server_config *cfg)
{
    if (cfg->socket_group) {
        errno = 0;
        const struct group *g = getgrnam(cfg->socket_group); /* at start, on one thread */
        if (!g)
            return cuzk_fail(CUZK_E_INPUT, "socket_group: expected a known group, found \"%.60s\"",
                             cfg->socket_group);
        if (chown(l->addr.path, (uid_t)-1, g->gr_gid) != 0)
            return sys_fail(l->text, "cannot change its group");
    }
    if (cfg->socket_mode && chmod(l->addr.path, (mode_t)cfg->socket_mode) != 0)
        return sys_fail(l->text, "cannot change its permissions");
    return cuzk_ok();
}

static cuzk_status open_unix(rpc_listener *l, const rpc_server_config *cfg)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    struct stat s;
    memcpy(sa.sun_path, l->addr.path, sizeof sa.sun_path);
    CUZK_TRY(make_parents(l->addr.path));
    CUZK_TRY(take_lock(l));
    CUZK_TRY(remove_stale(l));
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (l->fd < 0)
        return sys_fail(l->text, "socket");
    /* The path gets this mode (less the umask) when it appears, so it is never open too wide. */
    if (cfg->socket_mode && fchmod(l->fd, (mode_t)cfg->socket_mode) != 0)
        return sys_fail(l->text, "cannot set its permissions");
    if (bind(l->fd, (const struct sockaddr *)&sa, sizeof sa) != 0)
        return sys_fail(l->text, "cannot bind");
    if (lstat(l->addr.path, &s) == 0)
        l->inode = s.st_ino;
    CUZK_TRY(set_owner(l, cfg));
    return listen(l->fd, BACKLOG) == 0 ? cuzk_ok() : sys_fail(l->text, "cannot listen");
}

/* ---- TCP ---- */

static cuzk_status open_tcp(rpc_listener *l)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *list = NULL;
    char port[8];
    snprintf(port, sizeof port, "%u", l->addr.port);
    /* All interfaces: one socket for IPv6 and IPv4, or IPv4 alone where there is no IPv6. */
    const char *const hosts[] = {l->addr.host[0] ? l->addr.host : "::",
                                 l->addr.host[0] ? NULL : "0.0.0.0"};
    for (size_t i = 0; i < ARRAY_LEN(hosts) && hosts[i] && l->fd < 0; i++) {
        int err = getaddrinfo(hosts[i], port, &hints, &list);
        if (err != 0)
            return cuzk_fail(CUZK_E_INPUT, "%.110s: %s", l->text, gai_strerror(err));
        for (const struct addrinfo *ai = list; ai && l->fd < 0; ai = ai->ai_next)
            l->fd = net_listen(ai, BACKLOG);
        freeaddrinfo(list);
    }
    if (l->fd < 0)
        return sys_fail(l->text, "cannot listen");
    l->addr.port = net_port(l->fd);
    rpc_address_format(l->text, &l->addr);
    return cuzk_ok();
}

cuzk_status rpc_listener_open(rpc_listener *l, const char *text, const rpc_server_config *cfg)
{
    *l = (rpc_listener){.fd = -1, .lock_fd = -1};
    CUZK_TRY(rpc_address_parse(&l->addr, text));
    rpc_address_format(l->text, &l->addr);
    cuzk_status st = l->addr.is_unix ? open_unix(l, cfg) : open_tcp(l);
    if (st.code != CUZK_OK)
        rpc_listener_close(l);
    return st;
}

void rpc_listener_close(rpc_listener *l)
{
    struct stat s;
    if (l->inode && lstat(l->addr.path, &s) == 0 && s.st_ino == l->inode)
        (void)unlink(l->addr.path);
    if (l->fd >= 0)
        close(l->fd);
    if (l->lock_fd >= 0)
        close(l->lock_fd);
    l->fd = l->lock_fd = -1;
    l->inode = 0;
}
