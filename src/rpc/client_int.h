/* One call of the client. Private to src/rpc. */
#ifndef RPC_CLIENT_INT_H
#define RPC_CLIENT_INT_H
#include "rpc/client.h"
#include "rpc/transport.h"
#include <protobuf-c/protobuf-c.h>

typedef struct rpc_exchange {
    const char *method; /* "SubmitProof" */
    /* The request: a message, or a size and a function that writes it. */
    const void *message;
    size_t len;
    rpc_fill *fill;
    void *fill_ctx;
    const ProtobufCMessageDescriptor *answer;
    uint64_t deadline_ms; /* 0: none */
    /* Filled: */
    uint64_t retry_after_ms;
} rpc_exchange;
/* One message there, one back. Gives *answer (wire_free). */
CUZK_MUST_CHECK cuzk_status rpc_exchange_unary(rpc_client *c, rpc_exchange *x, void **answer);
/* One message there, many back; fn borrows each and returns false to stop. */
typedef bool rpc_exchange_fn(void *ctx, const void *answer);
CUZK_MUST_CHECK cuzk_status rpc_exchange_stream(rpc_client *c, rpc_exchange *x, rpc_exchange_fn *fn,
                                                void *ctx);
#endif
