#include "http/server.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/span.h"
#include "http/answer.h"
#include "http/listen.h"
#include "http/target.h"
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define DEFAULT_CONNECTIONS 128u
#define DEFAULT_IDLE_S 15u
#define DEFAULT_JOBS_LISTED 1000u
#define CONNECTION_MEMORY ((size_t)16 << 10) /* for the header of a request */
#define BODY_MAX 65536u                      /* of requests, where it means nothing */
/* Answers that slow readers have not fetched yet; beyond that new ones are put off. */
#define PENDING_MAX_BYTES ((uint64_t)64 << 20)
/* Connections told to close, but not closed yet, beside max_connections. */
#define CLOSING_MAX 16u

/* Nothing may be loaded from elsewhere or embedded elsewhere, no inline script or style, and script
 * cannot turn text into HTML. */
static const char content_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

/* An open connection. since_ns: when it was opened or its last request ended. */
typedef struct slot {
    int fd; /* -1: free */
    bool is_closing;
    uint64_t since_ns;
} slot;

/* slots, n_open and pending_bytes belong to the thread of the MHD daemon. */
struct http_server {
    http_listener listener;
    struct MHD_Daemon *mhd;
    http_service service;
    char *token;
    slot *slots;
    uint32_t n_slots, n_open, max_connections;
    uint64_t pending_bytes;
};

/* One request; made when its first line was read. */
typedef struct exchange {
    bool is_begun, is_refused;
    uint64_t n_body;
    char target[HTTP_TARGET_MAX + 2]; /* one longer than allowed: still seen as too long */
} exchange;

/* ---- connections ---- */

/* Close the connection that has waited longest for a request to end. */
static void close_oldest(http_server *s)
{
    slot *oldest = NULL;
    for (uint32_t i = 0; i < s->n_slots; i++) {
        slot *k = &s->slots[i];
        if (k->fd >= 0 && !k->is_closing && (!oldest || k->since_ns < oldest->since_ns))
            oldest = k;
    }
    if (!oldest)
        return;
    oldest->is_closing = true;
    s->n_open--;
    shutdown(oldest->fd, SHUT_RDWR); /* the daemon sees the end and closes it */
}

static slot *take_slot(http_server *s, int fd)
{
    if (s->n_open >= s->max_connections)
        close_oldest(s);
    for (uint32_t i = 0; i < s->n_slots; i++) {
        if (s->slots[i].fd >= 0)
            continue;
        s->slots[i] = (slot){.fd = fd, .since_ns = clock_now_ns()};
        s->n_open++;
        return &s->slots[i];
    }
    return NULL; /* not reached: the daemon accepts no more than n_slots */
}

static void on_connection(void *cls, struct MHD_Connection *c, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    http_server *s = cls;
    slot *k = *socket_context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        *socket_context = info ? take_slot(s, info->connect_fd) : NULL;
    } else if (k) {
        if (!k->is_closing)
            s->n_open--;
        k->fd = -1;
        *socket_context = NULL;
    }
}

static void on_completed(void *cls, struct MHD_Connection *c, void **con_cls,
                         enum MHD_RequestTerminationCode code)
{
    (void)cls;
    (void)code;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    slot *k = info ? info->socket_context : NULL;
    if (k)
        k->since_ns = clock_now_ns();
    mem_free(*con_cls);
    *con_cls = NULL;
}

/* The target as sent; the daemon's own decoding would hide an encoded slash. */
static void *on_target(void *cls, const char *uri, struct MHD_Connection *c)
{
    (void)cls;
    (void)c;
    exchange *x = mem_zalloc(sizeof *x, 16);
    if (!x)
        return NULL;
    size_t n = strnlen(uri, sizeof x->target - 1);
    memcpy(x->target, uri, n);
    return x;
}

/* ---- answers ---- */

/* Body of an answer on its way out. */
typedef struct pending {
    http_server *s;
    http_answer answer;
} pending;

static void free_pending(void *cls)
{
    pending *p = cls;
    p->s->pending_bytes -= p->answer.len;
    http_answer_fini(&p->answer);
    mem_free(p);
}

/* Takes a. */
static struct MHD_Response *make_response(http_server *s, http_answer *a)
{
    struct MHD_Response *r;
    if (!a->is_owned)
        return MHD_create_response_from_buffer(a->len, (void *)(uintptr_t)a->body,
                                               MHD_RESPMEM_PERSISTENT);
    pending *p = mem_alloc(sizeof *p, 16);
    if (!p) {
        http_answer_fini(a);
        return NULL;
    }
    *p = (pending){.s = s, .answer = *a};
    s->pending_bytes += a->len;
    r = MHD_create_response_from_buffer_with_free_callback_cls(a->len, (void *)(uintptr_t)a->body,
                                                               free_pending, p);
    if (!r)
        free_pending(p);
    return r;
}

static void add_headers(struct MHD_Response *r, const http_answer *a)
{
    char disposition[sizeof a->download + 32];
    snprintf(disposition, sizeof disposition, "attachment; filename=\"%s\"", a->download);
    const struct {
        bool is_sent;
        const char *name, *value;
    } headers[] = {
        {true, "X-Content-Type-Options", "nosniff"},
        {true, "Referrer-Policy", "no-referrer"},
        {true, "Content-Security-Policy", content_policy},
        {true, "Cross-Origin-Resource-Policy", a->allows_any_site ? "cross-origin" : "same-origin"},
        {true, MHD_HTTP_HEADER_CACHE_CONTROL, a->etag ? "no-cache" : "no-store"},
        {a->media_type && a->status != MHD_HTTP_NOT_MODIFIED, MHD_HTTP_HEADER_CONTENT_TYPE,
         a->media_type},
        {a->etag != NULL, MHD_HTTP_HEADER_ETAG, a->etag},
        {a->allow != NULL, MHD_HTTP_HEADER_ALLOW, a->allow},
        {a->asks_token, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"cuzk\""},
        {a->allows_any_site, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, "*"},
        {a->is_retry_later, MHD_HTTP_HEADER_RETRY_AFTER, "5"},
        {a->download[0] != 0, MHD_HTTP_HEADER_CONTENT_DISPOSITION, disposition},
    };
    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        if (headers[i].is_sent)
            MHD_add_response_header(r, headers[i].name, headers[i].value);
}

static const char *header(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static enum MHD_Result send_answer(http_server *s, struct MHD_Connection *c, const char *method,
                                   const char *target)
{
    http_answer a = {0};
    if (s->pending_bytes > PENDING_MAX_BYTES) {
        static const char text[] = "too many answers wait for slow readers\n";
        a = (http_answer){.status = 503, .media_type = "text/plain", .is_retry_later = true};
        a.body = text;
        a.len = sizeof text - 1;
    } else {
        http_request r = {.method = method,
                          .target = target,
                          .authorization = header(c, MHD_HTTP_HEADER_AUTHORIZATION),
                          .if_none_match = header(c, MHD_HTTP_HEADER_IF_NONE_MATCH)};
        http_answer_make(&a, &s->service, &r);
    }
    http_answer head = a; /* body belongs to the response from here on */
    struct MHD_Response *response = make_response(s, &a);
    if (!response)
        return MHD_NO;
    add_headers(response, &head);
    enum MHD_Result rc = MHD_queue_response(c, head.status, response);
    MHD_destroy_response(response);
    return rc;
}

static bool is_read_method(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/* Called with the header, for each piece of a body, and at its end. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **con_cls)
{
    http_server *s = cls;
    exchange *x = *con_cls;
    (void)url;
    (void)version;
    (void)upload;
    if (!x)
        return MHD_NO; /* out of memory */
    if (!x->is_begun) {
        x->is_begun = true;
        if (is_read_method(method))
            return MHD_YES;
        x->is_refused = true; /* at once, without reading a body */
        return send_answer(s, c, method, x->target);
    }
    if (*upload_size > 0) {
        x->n_body += *upload_size;
        *upload_size = 0;
        return x->n_body > BODY_MAX ? MHD_NO : MHD_YES;
    }
    return x->is_refused ? MHD_YES : send_answer(s, c, method, x->target);
}

/* ---- start and stop ---- */

static void on_log(void *cls, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
static void on_log(void *cls, const char *fmt, va_list ap)
{
    char text[256];
    (void)cls;
    vsnprintf(text, sizeof text, fmt, ap);
    text[strcspn(text, "\n")] = 0;
    log_debug("http_library", LOG_STR("message", text)); /* mostly about clients that went away */
}

static cuzk_status copy_token(http_server *s, const char *token)
{
    if (!token || !*token)
        return cuzk_ok();
    for (const char *p = token; *p; p++)
        if (*p <= ' ' || *p >= 0x7f)
            return cuzk_fail(CUZK_E_USAGE, "bearer token: expected printable ASCII without spaces");
    s->token = mem_strdup(token);
    if (!s->token)
        return cuzk_fail(CUZK_E_NOMEM, "bearer token");
    s->service.bearer_token = s->token;
    return cuzk_ok();
}

static cuzk_status build(http_server *s, const http_config *cfg, engine *e)
{
    s->max_connections = cfg->max_connections ? cfg->max_connections : DEFAULT_CONNECTIONS;
    s->n_slots = s->max_connections + CLOSING_MAX;
    s->service.e = e;
    s->service.max_jobs_listed = cfg->max_jobs_listed ? cfg->max_jobs_listed : DEFAULT_JOBS_LISTED;
    CUZK_TRY(copy_token(s, cfg->bearer_token));
    s->slots = mem_alloc(s->n_slots * sizeof *s->slots, 16);
    if (!s->slots)
        return cuzk_fail(CUZK_E_NOMEM, "%u connections", s->n_slots);
    for (uint32_t i = 0; i < s->n_slots; i++)
        s->slots[i] = (slot){.fd = -1};
    CUZK_TRY(http_listen(&s->listener, cfg->listen));
    unsigned idle_s = cfg->idle_timeout_s ? cfg->idle_timeout_s : DEFAULT_IDLE_S;
    /* Not epoll: edge-triggered, it misses the end of a stream that comes along with data, and the
     * connection then stays until its time is up. */
    s->mhd = MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request,
        s, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_LISTEN_SOCKET, s->listener.fd,
        MHD_OPTION_CONNECTION_LIMIT, s->n_slots, MHD_OPTION_CONNECTION_TIMEOUT, idle_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, s, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_URI_LOG_CALLBACK,
        on_target, s, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (!s->mhd)
        return cuzk_fail(CUZK_E_IO, "listen on %s: the HTTP server did not start", cfg->listen);
    s->listener.fd = -1; /* now the daemon's */
    return cuzk_ok();
}

cuzk_status http_server_start(http_server **out, const http_config *cfg, engine *e)
{
    *out = NULL;
    http_server *s = mem_zalloc(sizeof *s, 64);
    if (!s)
        return cuzk_fail(CUZK_E_NOMEM, "HTTP server");
    s->listener.fd = -1;
    cuzk_status st = build(s, cfg, e);
    if (st.code != CUZK_OK)
        http_server_stop(s);
    else
        *out = s;
    return st;
}

uint16_t http_server_port(const http_server *s) { return s->listener.port; }

void http_server_stop(http_server *s)
{
    if (!s)
        return;
    if (s->mhd)
        MHD_stop_daemon(s->mhd);
    http_listener_close(&s->listener);
    if (s->token)
        mem_wipe(s->token, strlen(s->token));
    mem_free(s->token);
    mem_free(s->slots);
    mem_free(s);
}
