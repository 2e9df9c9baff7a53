/* Reading PEM files. */
#include "rpc/pem.h"
#include "base/bytes.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEM_MAX_BYTES ((size_t)1 << 20)

/* Tag, length, and as many bytes as it says (X.690, 8.1). */
static bool is_framed(const uint8_t *b, size_t n)
{
    if (n < 2)
        return false;
    size_t n_len = b[1] & 0x80 ? b[1] & 0x7f : 0, len = n_len ? 0 : b[1];
    if (n_len > 4 || n < 2 + n_len || b[1] == 0x80)
        return false;
    for (size_t i = 0; i < n_len; i++)
        len = len << 8 | b[2 + i];
    return n - 2 - n_len >= len;
}

static cuzk_status check_block(const char *text, size_t len)
{
    size_t n = 0, n_out = 0;
    char *packed = mem_alloc(len + 1, 16);
    uint8_t *bytes = mem_alloc(base64_max(len), 16);
    cuzk_status st = cuzk_fail(CUZK_E_NOMEM, "a PEM file");
    if (packed && bytes) {
        for (size_t i = 0; i < len; i++)
            if (!strchr(" \t\r\n", text[i]))
                packed[n++] = text[i];
        st = base64_decode(bytes, &n_out, packed, n, "PEM block");
        if (st.code == CUZK_OK && !is_framed(bytes, n_out))
            st = cuzk_fail(CUZK_E_INPUT, "PEM block: expected ASN.1, found other or cut bytes");
        mem_wipe(packed, n);
        mem_wipe(bytes, n_out);
    }
    mem_free(packed);
    mem_free(bytes);
    return st;
}

static cuzk_status check_blocks(const char *text, const char *label)
{
    static const char begin[] = "-----BEGIN ", end[] = "-----END ", dashes[] = "-----";
    const size_t label_len = strlen(label);
    bool has_label = false;
    for (const char *p = strstr(text, begin); p; p = strstr(p, begin)) {
        const char *name = p + strlen(begin), *body = strstr(name, dashes);
        const char *stop = body ? strstr(body + strlen(dashes), end) : NULL;
        size_t name_len = body ? (size_t)(body - name) : 0;
        if (!stop || strncmp(stop + strlen(end), name, name_len + strlen(dashes)) != 0)
            return cuzk_fail(CUZK_E_INPUT, "PEM block: expected its end line");
        body += strlen(dashes);
        CUZK_TRY(check_block(body, (size_t)(stop - body)));
        has_label |=
            name_len >= label_len && memcmp(name + name_len - label_len, label, label_len) == 0;
        p = stop;
    }
    return has_label ? cuzk_ok() : cuzk_fail(CUZK_E_INPUT, "expected a PEM file with a %s", label);
}

static cuzk_status read_text(char **out, int fd, size_t len, const char *label)
{
    size_t at = 0;
    char *text = mem_zalloc(len + 1, 16);
    if (!text)
        return cuzk_fail(CUZK_E_NOMEM, "a PEM file");
    for (ssize_t n = 1; at < len && n > 0; at += n > 0 ? (size_t)n : 0)
        n = read(fd, text + at, len - at);
    cuzk_status st = at == len ? check_blocks(text, label)
                               : cuzk_fail(CUZK_E_INPUT, "changed while it was read");
    if (st.code == CUZK_OK) {
        *out = text;
        return st;
    }
    mem_wipe(text, len);
    mem_free(text);
    return st;
}

cuzk_status pem_read(char **out, struct timespec *changed, const char *option, const char *path,
                     const char *label)
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
        st = read_text(out, fd, (size_t)s.st_size, label);
    close(fd);
    if (st.code == CUZK_OK && changed)
        *changed = s.st_mtim;
    return cuzk_wrap(st, "%s %.150s", option, path);
}
