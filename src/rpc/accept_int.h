/* Listening sockets of our own and the thread that accepts from them: gRPC's listener stops for ever
 * when the process once runs out of descriptors. Private to src/rpc. */
#ifndef RPC_ACCEPT_INT_H
#define RPC_ACCEPT_INT_H
#include "rpc/address.h"
#include "rpc/server.h"
#include <grpc/grpc.h>
#include <stdatomic.h>

typedef struct rpc_listener {
    rpc_address addr; /* with the real port */
    char text[RPC_TARGET_MAX];
    int fd, lock_fd;
    uint64_t inode; /* of the unix path: only our own is removed */
} rpc_listener;
/* {.fd = -1, .lock_fd = -1} is closed. Errors: CUZK_E_INPUT, CUZK_E_IO. */
CUZK_MUST_CHECK cuzk_status rpc_listener_open(rpc_listener *l, const char *text,
                                              const rpc_server_config *cfg);
void rpc_listener_close(rpc_listener *l);

typedef struct rpc_acceptor rpc_acceptor;
/* Where a new connection goes; takes fd. Called on the accepting thread. */
typedef void rpc_accept_fn(void *ctx, int fd, bool is_unix);
CUZK_MUST_CHECK cuzk_status rpc_acceptor_open(rpc_acceptor **out, const rpc_server_config *cfg);
CUZK_MUST_CHECK cuzk_status rpc_acceptor_start(rpc_acceptor *a, rpc_accept_fn *fn, void *ctx);
const rpc_listener *rpc_acceptor_listener(const rpc_acceptor *a, uint32_t idx); /* NULL: beyond */
void rpc_acceptor_count(const rpc_acceptor *a, uint64_t *accepted, uint64_t *refused);
/* Close the listeners; no fn afterwards. */
void rpc_acceptor_stop(rpc_acceptor *a);
void rpc_acceptor_destroy(rpc_acceptor *a); /* stops */

/* The TLS port, which gRPC's own listener serves. */
typedef struct rpc_tls rpc_tls;
/* Credentials that read the certificate again when its files change. */
CUZK_MUST_CHECK cuzk_status rpc_tls_open(rpc_tls **out, const rpc_server_config *cfg,
                                         grpc_server *server);
const char *rpc_tls_text(const rpc_tls *t);
/* One step of a check that the port still accepts, without waiting; call about every second. */
void rpc_tls_probe(rpc_tls *t);
bool rpc_tls_is_alive(const rpc_tls *t);
void rpc_tls_close(rpc_tls *t);
#endif
