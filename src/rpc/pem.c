/* Reading PEM files. */
#include "rpc/pem.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEM_MAX_BYTES ((size_t)1 << 20)

static cuzk_status read_text(char **out, int fd, size_t len)
{
    size_t at = 0;
    char *text = mem_zalloc(len + 1, 16);
    if (!text)
        return cuzk_fail(CUZK_E_NOMEM, "a PEM file");
    for (ssize_t n = 1; at < len && n > 0; at += n > 0 ? (size_t)n : 0)
        n = read(fd, text + at, len - at);
    if (at == len && strstr(text, "-----BEGIN ")) {
        *out = text;
        return cuzk_ok();
    }
    mem_wipe(text, len);
    mem_free(text);
    return cuzk_fail(CUZK_E_INPUT, "expected a PEM file");
}

cuzk_status pem_read(char **out, struct timespec *changed, const char *option, const char *path)
{
    struct stat s;
    *out = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cuzk_fail(CUZK_E_INPUT, "%s %.150s: %s", option, path, strerror(errno));
    cuzk_status st;
    if (fstat(fd, &s) != 0 || s.st_size < 0 || (size_t)s.st_size > PEM_MAX_BYTES)
        st = cuzk_fail(CUZK_E_INPUT, "expected a PEM file of at most 1 MiB");
    else
        st = read_text(out, fd, (size_t)s.st_size);
    close(fd);
    if (st.code == CUZK_OK && changed)
        *changed = s.st_mtim;
    return cuzk_wrap(st, "%s %.150s", option, path);
}
