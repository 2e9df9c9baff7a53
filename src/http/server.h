/* Metrics, status, job and timeline queries, health checks and the web page over HTTP/1.1; read
 * only.
 *
 *   GET /                            the page (and its assets)
 *   GET /metrics                     Prometheus text format 0.0.4
 *   GET /status                      JSON, schema in docs/http.md
 *   GET /healthz, /readyz            200, or 503 with the reason; never ask for the token
 *   GET /api/jobs?state=&limit=      newest first
 *   GET /api/jobs/ID                 ID percent-encoded
 *   GET /api/jobs/ID/timeline        span tree; ?format=perfetto: Chrome trace
 *
 * One thread of libmicrohttpd serves all connections without blocking on any of them: answers are
 * made in memory, engine calls are the quick ones. When all connections are taken the one that has
 * waited longest without completing a request gives way, so neither slow nor silent clients can
 * lock others out. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H
#include "base/status.h"
#include "engine/engine.h"

typedef struct http_server http_server;

typedef struct http_config {
    /* "host:port", "[v6]:port" (port 0: any free one) or "unix:///path" (mode 0660; a stale socket
     * is replaced, one that is in use or another file is not) */
    const char *listen;
    const char *bearer_token; /* NULL or "": no token; else asked for by all that shows data */
    uint32_t max_connections; /* 0: 128 */
    uint32_t idle_timeout_s;  /* 0: 15 */
    uint32_t max_jobs_listed; /* most jobs in one answer of /api/jobs; 0: 1000 */
} http_config;

/* Bind and serve. cfg is not kept; e is kept until http_server_stop.
 * Errors: CUZK_E_USAGE (address, token), CUZK_E_IO (bind, in use), CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status http_server_start(http_server **out, const http_config *cfg, engine *e);
/* Bound TCP port; 0 for a unix socket. */
uint16_t http_server_port(const http_server *s);
/* Close the listening socket and all connections; s may be NULL. Removes the unix socket. */
void http_server_stop(http_server *s);
#endif
