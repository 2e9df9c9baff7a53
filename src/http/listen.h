/* Listening sockets from an address as the configuration has it. */
#ifndef HTTP_LISTEN_H
#define HTTP_LISTEN_H
#include "base/status.h"
#include <stdint.h>

#define HTTP_UNIX_PATH_MAX 108u /* sun_path, with the final 0 */

/* {.fd = -1} is closed. */
typedef struct http_listener {
    int fd;
    uint16_t port;                      /* 0 for a unix socket */
    char unix_path[HTTP_UNIX_PATH_MAX]; /* "" for TCP */
} http_listener;

/* Forms of address: see http_config. The socket is non-blocking and listens. A unix socket nobody
 * answers on is replaced; anything else at its path is left alone.
 * Errors: CUZK_E_USAGE (form, name, port), CUZK_E_IO (bind, in use). */
CUZK_MUST_CHECK cuzk_status http_listen(http_listener *out, const char *address);
/* Close; a unix socket's path is removed. May be called twice. */
void http_listener_close(http_listener *l);
#endif
