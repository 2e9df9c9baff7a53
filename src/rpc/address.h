/* Addresses as the configuration and the command line name them. */
#ifndef RPC_ADDRESS_H
#define RPC_ADDRESS_H
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct rpc_address {
    bool is_unix;
    char path[108]; /* as sockaddr_un has it */
    char host[256]; /* "": all interfaces; IPv6 without brackets */
    uint16_t port;
} rpc_address;
/* "unix:///path", "unix:path", "host:port", "[v6]:port", ":port", "dns:///host:port".
 * Errors: CUZK_E_INPUT. */
CUZK_MUST_CHECK cuzk_status rpc_address_parse(rpc_address *out, const char *text);
/* As gRPC's library dials it: "unix:/path", "dns:///host:port". */
#define RPC_TARGET_MAX 300u
void rpc_address_target(char out[RPC_TARGET_MAX], const rpc_address *a);
/* As a client is told: "unix:///path", "host:port". */
void rpc_address_format(char out[RPC_TARGET_MAX], const rpc_address *a);
#endif
