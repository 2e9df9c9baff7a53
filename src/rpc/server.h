/* The gRPC face of an engine: cuzk.v1.ProvingEngine (proto/cuzk/v1/proving.proto), health and
 * reflection, on TCP, unix sockets and TLS. The only folder that sees wire types.
 *
 * Life: start -> set_serving(true) once warm -> set_serving(false) on SIGTERM (new work is refused
 * with UNAVAILABLE, waits go on) -> engine_drain (jobs that end answer their waiters) ->
 * rpc_server_drain -> rpc_server_stop -> engine_destroy. */
#ifndef RPC_SERVER_H
#define RPC_SERVER_H
#include "engine/engine.h"

#define RPC_LISTEN_MAX 16u
#define RPC_MESSAGE_MAX_BYTES ((uint64_t)256 << 20)

/* {0} takes the default everywhere. Strings are copied. */
typedef struct rpc_server_config {
    /* Plain addresses: "unix:///path", "unix:path", "host:port", "[v6]:port", ":port" (all
     * interfaces), "dns:///host:port". Port 0 takes a free one. */
    const char *const *listen;
    uint32_t n_listen;
    uint32_t socket_mode;     /* permissions of unix sockets; 0: as the umask says */
    const char *socket_group; /* group of unix sockets; NULL: the process's */
    /* A further TCP address with TLS; NULL: none. Files are PEM and read again when they change.
     * tls_client_ca: clients must show a certificate that it signed. */
    const char *tls_listen, *tls_cert, *tls_key, *tls_client_ca;
    /* Calls over TCP and TLS need "authorization: Bearer TOKEN"; unix sockets rely on file
     * permissions unless token_on_unix. NULL: none. */
    const char *token;
    bool token_on_unix;
    uint64_t max_message_bytes;    /* RPC_MESSAGE_MAX_BYTES */
    uint32_t max_calls;            /* at once, waits included; half on one connection: 16384 */
    uint32_t max_bodies;           /* proof requests being received at once: 16 */
    uint32_t max_connections;      /* per process, TLS not counted: 1024 */
    uint32_t max_metadata_bytes;   /* of one call: 16 KiB */
    uint64_t body_timeout_ms;      /* for a request to arrive, an answer to be taken: 120 s */
    uint64_t handshake_timeout_ms; /* 10 s */
    uint64_t keepalive_ms;         /* ping idle clients: 60 s */
    uint64_t keepalive_timeout_ms; /* and drop those that do not answer: 20 s */
} rpc_server_config;

typedef struct rpc_server rpc_server;

/* Bind, start threads (7 and those of gRPC, whatever the load), answer calls. Health says
 * NOT_SERVING until set_serving.
 * Block SIGTERM, SIGINT and SIGHUP before (threads inherit the mask).
 * Memory: keeps e; gives *out (rpc_server_stop).
 * Errors: CUZK_E_INPUT (an address, a certificate), CUZK_E_IO (bind; the unix path is in use by
 * another process), CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status rpc_server_start(rpc_server **out, const rpc_server_config *cfg,
                                             engine *e);
/* Address of the idx-th listener (plain ones in order, then TLS) as a client would dial it, with
 * the real port: "127.0.0.1:41234", "unix:///run/curio/cuzk.sock". NULL beyond the last. Lives as
 * long as the server. */
const char *rpc_server_address(const rpc_server *s, uint32_t idx);
void rpc_server_set_serving(rpc_server *s, bool on);
/* False when a listener no longer accepts (checked every few seconds): the process should end with
 * an error, for its supervisor to start anew. */
bool rpc_server_is_alive(const rpc_server *s);

/* Snapshots of the engine have it too, for metrics. */
typedef engine_transport_view rpc_server_stats;
rpc_server_stats rpc_server_get_stats(rpc_server *s);

/* Close the listeners, let calls end for timeout_ms, then answer UNAVAILABLE to those that wait
 * (their jobs stay) and cancel the rest. Blocks no longer than timeout_ms + 2 s. */
void rpc_server_drain(rpc_server *s, uint64_t timeout_ms);
/* Drains with 0 ms when not drained; releases all. No engine callback is running afterwards. */
void rpc_server_stop(rpc_server *s);
#endif
