/* Parsing of a request target (RFC 9112 section 3.2, RFC 3986): path segments and query, decoded. */
#ifndef HTTP_TARGET_H
#define HTTP_TARGET_H
#include "base/status.h"
#include <stdint.h>

/* A job id of 319 bytes, all percent-encoded, fits twice. */
#define HTTP_TARGET_MAX 2048u
#define HTTP_SEGMENTS_MAX 6u
#define HTTP_PARAMS_MAX 8u

typedef struct http_param {
    const char *key, *value; /* value "" when there is none */
} http_param;

/* Pointers lie in text; do not copy the struct. "/" has one segment, "". Decoded parts hold no NUL
 * and no other control character. */
typedef struct http_target {
    char text[HTTP_TARGET_MAX + 1];
    const char *segments[HTTP_SEGMENTS_MAX];
    http_param params[HTTP_PARAMS_MAX];
    uint32_t n_segments, n_params;
} http_target;

/* Errors: CUZK_E_RANGE (longer than HTTP_TARGET_MAX), CUZK_E_INPUT (not absolute, bad escape,
 * control or non-ASCII character, too many parameters). More segments than there is room for are a
 * path nobody serves: n_segments is then 0. */
CUZK_MUST_CHECK cuzk_status http_target_parse(http_target *out, const char *raw);
/* Value of a parameter; NULL when absent. */
const char *http_target_param(const http_target *t, const char *key);
#endif
