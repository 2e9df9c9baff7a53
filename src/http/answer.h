/* From a request to its answer, without any transport: paths, methods, token, caching. */
#ifndef HTTP_ANSWER_H
#define HTTP_ANSWER_H
#include "engine/engine.h"

typedef struct http_service {
    engine *e;
    const char *bearer_token; /* NULL: open */
    uint32_t max_jobs_listed;
} http_service;

/* What counts of a request; header values are NULL when absent. */
typedef struct http_request {
    const char *method, *target, *authorization, *if_none_match;
} http_request;

/* {0} is empty; http_answer_fini frees an owned body. */
typedef struct http_answer {
    unsigned status;
    const char *media_type;
    const void *body;
    size_t len;
    bool is_owned;        /* body came from mem_alloc; else static */
    const char *etag;     /* static; NULL: must not be stored */
    const char *allow;    /* with 405 */
    bool asks_token;      /* with 401 */
    bool allows_any_site; /* readable by pages of other origins */
    bool is_retry_later;  /* with 503 */
    char download[128];   /* file name to save under; "" shows it */
} http_answer;

/* Always gives a complete answer; when memory is short it is a static 503. Threads: safe. */
void http_answer_make(http_answer *out, const http_service *s, const http_request *r);
void http_answer_fini(http_answer *a);
#endif
