/* Mapped input and atomic output. */
#define _GNU_SOURCE /* mkostemp, fallocate */
#include "base/mem.h"
#include "groth16/groth16_int.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

cuzk_status g16_map_open(g16_map *m, const char *path)
{
    *m = (g16_map){0};
    /* O_NONBLOCK: a FIFO under this name must not block the open. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        int e = errno;
        return cuzk_fail(e == ENOENT ? CUZK_E_NOT_FOUND : CUZK_E_IO, "open %s: %s", path,
                         strerror(e));
    }
    struct stat sb;
    cuzk_status st = cuzk_ok();
    if (fstat(fd, &sb) != 0)
        st = cuzk_fail(CUZK_E_IO, "fstat %s: %s", path, strerror(errno));
    else if (!S_ISREG(sb.st_mode))
        st = cuzk_bad_input(path, "a regular file", "mode %o", (unsigned)sb.st_mode);
    else if (sb.st_size <= 0)
        st = cuzk_bad_input(path, "a non-empty file", "%lld bytes", (long long)sb.st_size);
    if (st.code == CUZK_OK) {
        void *p = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED)
            st = cuzk_fail(CUZK_E_IO, "mmap %s (%lld bytes): %s", path, (long long)sb.st_size,
                           strerror(errno));
        else
            *m = (g16_map){.p = p, .len = (size_t)sb.st_size};
    }
    close(fd);
    return st;
}

void g16_map_close(g16_map *m)
{
    if (m->p)
        munmap((void *)(uintptr_t)m->p, m->len);
    *m = (g16_map){0};
}

static void out_release(g16_out *o)
{
    if (o->fd >= 0)
        close(o->fd);
    mem_free(o->path);
    mem_free(o->tmp);
    o->fd = -1;
    o->path = o->tmp = NULL;
}

void g16_out_abandon(g16_out *o)
{
    if (o->tmp && o->fd >= 0)
        unlink(o->tmp);
    out_release(o);
}

static cuzk_status out_build(g16_out *o, const char *path, uint64_t len)
{
    size_t n = strlen(path);
    o->path = mem_strdup(path);
    o->tmp = mem_alloc(n + sizeof ".tmp-XXXXXX", 16);
    if (!o->path || !o->tmp)
        return cuzk_fail(CUZK_E_NOMEM, "path of %zu bytes", n);
    memcpy(o->tmp, path, n);
    memcpy(o->tmp + n, ".tmp-XXXXXX", sizeof ".tmp-XXXXXX");
    o->fd = mkostemp(o->tmp, O_CLOEXEC);
    if (o->fd < 0)
        return cuzk_fail(CUZK_E_IO, "create %s: %s", o->tmp, strerror(errno));
    /* mkostemp makes 0600; keys are public and read by other users' processes. */
    if (fchmod(o->fd, 0644) != 0)
        return cuzk_fail(CUZK_E_IO, "fchmod %s: %s", o->tmp, strerror(errno));
    /* fallocate, not posix_fallocate: the latter's fallback writes every block. */
    while (len && fallocate(o->fd, 0, 0, (off_t)len) != 0) {
        if (errno == EOPNOTSUPP || errno == ENOSYS)
            break; /* a file system that cannot reserve: the writes will tell */
        if (errno != EINTR)
            return cuzk_fail(CUZK_E_IO, "reserve %llu bytes for %s: %s", (unsigned long long)len,
                             path, strerror(errno));
    }
    return cuzk_ok();
}

cuzk_status g16_out_create(g16_out *o, const char *path, uint64_t len)
{
    *o = (g16_out){.fd = -1, .want_len = len, .st = cuzk_ok()};
    cuzk_status st = out_build(o, path, len);
    if (st.code != CUZK_OK)
        g16_out_abandon(o);
    return st;
}

void g16_out_write(g16_out *o, const void *p, size_t n)
{
    const uint8_t *b = p;
    while (n && o->st.code == CUZK_OK) {
        ssize_t k = write(o->fd, b, n);
        if (k > 0) {
            b += k;
            n -= (size_t)k;
            o->len += (uint64_t)k;
        } else if (k == 0 || errno != EINTR) {
            o->st = cuzk_fail(CUZK_E_IO, "write %s at byte %llu of %llu: %s", o->path,
                              (unsigned long long)o->len, (unsigned long long)o->want_len,
                              strerror(k == 0 ? ENOSPC : errno));
        }
    }
}

/* The rename is durable only once the directory is. File systems that cannot fsync a directory say
 * EINVAL. */
static cuzk_status sync_dir_of(const char *path)
{
    char *dir = mem_strdup(path);
    if (!dir)
        return cuzk_fail(CUZK_E_NOMEM, "path");
    char *slash = strrchr(dir, '/');
    if (slash)
        slash[slash == dir ? 1 : 0] = 0;
    int fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cuzk_status st = cuzk_ok();
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
        st = cuzk_fail(CUZK_E_IO, "sync directory of %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    mem_free(dir);
    return st;
}

cuzk_status g16_out_commit(g16_out *o)
{
    cuzk_status st = o->st;
    if (st.code == CUZK_OK && o->len != o->want_len)
        st = cuzk_fail(CUZK_E_INTERNAL, "%s: wrote %llu bytes, planned %llu", o->path,
                       (unsigned long long)o->len, (unsigned long long)o->want_len);
    if (st.code == CUZK_OK && fsync(o->fd) != 0)
        st = cuzk_fail(CUZK_E_IO, "fsync %s: %s", o->path, strerror(errno));
    if (st.code == CUZK_OK && rename(o->tmp, o->path) != 0)
        st = cuzk_fail(CUZK_E_IO, "rename %s to %s: %s", o->tmp, o->path, strerror(errno));
    if (st.code != CUZK_OK) {
        g16_out_abandon(o);
        return st;
    }
    st = sync_dir_of(o->path);
    out_release(o);
    return st;
}
