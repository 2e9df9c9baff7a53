/* Files, cache folders and the inputs several commands share. */
#include "base/mem.h"
#include "cli/cli.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_STEP ((size_t)1 << 20)

static cuzk_status read_stream(uint8_t **out, size_t *out_len, FILE *f, const char *path,
                               size_t max_bytes)
{
    size_t cap = 0, len = 0;
    uint8_t *buf = NULL;
    for (;;) {
        if (len == cap) {
            uint8_t *p = mem_realloc(buf, cap, cap + (cap ? cap : READ_STEP));
            if (!p) {
                mem_free(buf);
                return cuzk_fail(CUZK_E_NOMEM, "%.120s: %zu bytes", path, cap);
            }
            buf = p;
            cap += cap ? cap : READ_STEP;
        }
        size_t n = fread(buf + len, 1, cap - len, f);
        len += n;
        if (n == 0 || len > max_bytes)
            break;
    }
    if (ferror(f) || len > max_bytes) {
        bool io = ferror(f);
        mem_free(buf);
        return io ? cuzk_fail(CUZK_E_IO, "%.120s: %s", path, strerror(errno))
                  : cuzk_fail(CUZK_E_INPUT, "%.120s: expected at most %zu bytes, found more", path,
                              max_bytes);
    }
    *out = buf;
    *out_len = len;
    return cuzk_ok();
}

cuzk_status cli_read_file(uint8_t **out, size_t *out_len, const char *path, size_t max_bytes)
{
    *out = NULL;
    *out_len = 0;
    if (strcmp(path, "-") == 0)
        return read_stream(out, out_len, stdin, "standard input", max_bytes);
    FILE *f = fopen(path, "rb");
    if (!f)
        return cuzk_fail(errno == ENOENT ? CUZK_E_NOT_FOUND : CUZK_E_IO, "%.120s: %s", path,
                         strerror(errno));
    cuzk_status st = read_stream(out, out_len, f, path, max_bytes);
    fclose(f);
    return st;
}

cuzk_status cli_write_file(const char *path, const void *bytes, size_t len)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return cuzk_fail(CUZK_E_IO, "%.120s: %s", path, strerror(errno));
    bool ok = fwrite(bytes, 1, len, f) == len;
    ok = fclose(f) == 0 && ok;
    return ok ? cuzk_ok() : cuzk_fail(CUZK_E_IO, "%.120s: %s", path, strerror(errno));
}

const char *cli_param_cache(void)
{
    const char *dir = getenv("FIL_PROOFS_PARAMETER_CACHE");
    return dir && *dir ? dir : "/var/tmp/filecoin-proof-parameters";
}

void cli_dev_cache(char *out, size_t len)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (xdg && *xdg)
        snprintf(out, len, "%s/cuzk", xdg);
    else
        snprintf(out, len, "%s/.cache/cuzk", home && *home ? home : "/tmp");
}

void cli_json_fr(json_writer *w, const fr *v)
{
    uint8_t b[32];
    fr_to_le(b, v);
    json_hex(w, b, sizeof b);
}
