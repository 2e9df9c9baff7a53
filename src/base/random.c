#include "base/random.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

cuzk_status random_bytes(void *out, size_t n)
{
    uint8_t *p = out;
    while (n) {
        ssize_t got = getrandom(p, n, 0);
        if (got < 0) {
            int err = errno; /* strerror may overwrite errno */
            if (err == EINTR)
                continue;
            memset(out, 0, (size_t)(p - (uint8_t *)out));
            return cuzk_fail(CUZK_E_IO, "getrandom: %s", strerror(err));
        }
        p += got;
        n -= (size_t)got;
    }
    return cuzk_ok();
}
