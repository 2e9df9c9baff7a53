/* Status codes of libcuzk. Installed header: stable names and values, no dependencies. */
#ifndef CUZK_STATUS_H
#define CUZK_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, text, grpc): value is stable across releases; grpc is the canonical gRPC code the
 * daemon answers with. */
#define CUZK_CODES(X)                                \
    X(CUZK_OK, 0, "ok", 0)                           \
    X(CUZK_E_INTERNAL, 1, "internal error", 13)      \
    X(CUZK_E_INPUT, 2, "bad input", 3)               \
    X(CUZK_E_RANGE, 3, "out of range", 3)            \
    X(CUZK_E_VERIFY, 4, "proof does not verify", 13) \
    X(CUZK_E_NOMEM, 5, "out of memory", 8)           \
    X(CUZK_E_IO, 6, "input/output error", 14)        \
    X(CUZK_E_NOT_FOUND, 7, "not found", 5)           \
    X(CUZK_E_UNSUPPORTED, 8, "not supported", 12)    \
    X(CUZK_E_CANCELLED, 9, "cancelled", 1)           \
    X(CUZK_E_DEVICE, 10, "device error", 13)         \
    X(CUZK_E_DEVICE_LOST, 11, "device lost", 14)     \
    X(CUZK_E_USAGE, 12, "usage", 3)                  \
    X(CUZK_E_BUSY, 13, "busy, try later", 8)         \
    X(CUZK_E_IMPOSSIBLE, 14, "cannot run here", 9)

typedef enum cuzk_code {
#define CUZK_CODE_ENUM(name, value, text, grpc) name = value,
    CUZK_CODES(CUZK_CODE_ENUM)
#undef CUZK_CODE_ENUM
} cuzk_code;

/* Returned by value everywhere. msg is NUL-terminated, empty on success: what was seen, what was
 * expected, where. */
typedef struct cuzk_status {
    cuzk_code code;
    char msg[252];
} cuzk_status;

#ifdef __cplusplus
}
#endif
#endif
