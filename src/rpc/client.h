/* Blocking client of a daemon (proto/cuzk/v1/proving.proto), for the command line and tests.
 *
 * Errors of every call, by what the daemon or the connection answered: CUZK_E_INPUT, CUZK_E_NOT_FOUND,
 * CUZK_E_BUSY, CUZK_E_IMPOSSIBLE, CUZK_E_UNSUPPORTED, CUZK_E_INTERNAL as the daemon says;
 * CUZK_E_USAGE (the token), CUZK_E_IO (cannot be reached, went away, deadline passed),
 * CUZK_E_CANCELLED (the caller's cancel). */
#ifndef RPC_CLIENT_H
#define RPC_CLIENT_H
#include "engine/engine.h"

typedef struct rpc_client_config {
    const char *address; /* as rpc_server_config.listen */
    const char *token;   /* NULL: none */
    bool tls;
    const char *tls_ca;             /* PEM file; NULL: the system's roots */
    const char *tls_cert, *tls_key; /* PEM files, for servers that ask; NULL: none */
    const char *tls_name;         /* name in the server's certificate, when it is not the host's */
    bool (*cancelled)(void *ctx); /* polled while waiting; may be NULL */
    void *cancel_ctx;
} rpc_client_config;

/* Threads: locked; any number of calls at once. */
typedef struct rpc_client rpc_client;
/* Does not connect yet. Strings are copied. Errors: CUZK_E_INPUT (address, PEM files), CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status rpc_client_open(rpc_client **out, const rpc_client_config *cfg);
void rpc_client_close(rpc_client *c);

typedef struct rpc_submitted {
    char job_id[JOB_ID_MAX];
    uint32_t queue_position;
    bool existing;
    job_view view;
    uint64_t retry_after_ms; /* with CUZK_E_BUSY: the daemon's hint, 0 when it gave none */
} rpc_submitted;
CUZK_MUST_CHECK cuzk_status rpc_client_submit(rpc_client *c, const job_request *r,
                                              rpc_submitted *out);

typedef enum rpc_outcome {
    RPC_OUTCOME_UNKNOWN,
    RPC_OUTCOME_COMPLETED,
    RPC_OUTCOME_FAILED,
    RPC_OUTCOME_CANCELLED,
    RPC_OUTCOME_TIMEOUT
} rpc_outcome;
extern const char *const RPC_OUTCOME_NAMES[RPC_OUTCOME_TIMEOUT + 1]; /* "completed", ... */

typedef struct rpc_result {
    rpc_outcome outcome;
    job_view view;  /* error text in view.error */
    uint8_t *proof; /* rpc_result_fini */
    size_t proof_len;
    uint64_t retry_after_ms;
} rpc_result;
void rpc_result_fini(rpc_result *r);
/* timeout_ms 0: no limit. */
CUZK_MUST_CHECK cuzk_status rpc_client_await(rpc_client *c, const char *job_id, uint64_t timeout_ms,
                                             rpc_result *out);
/* deadline_ms 0: none; the job goes on when it passes. */
CUZK_MUST_CHECK cuzk_status rpc_client_prove(rpc_client *c, const job_request *r,
                                             uint64_t deadline_ms, rpc_result *out);

/* False ends the watch early. */
typedef bool rpc_watch_fn(void *ctx, const job_view *v);
/* Returns after the job's end. */
CUZK_MUST_CHECK cuzk_status rpc_client_watch(rpc_client *c, const char *job_id, rpc_watch_fn *fn,
                                             void *ctx);
CUZK_MUST_CHECK cuzk_status rpc_client_cancel(rpc_client *c, const char *job_id, bool *was_live);
CUZK_MUST_CHECK cuzk_status rpc_client_get_job(rpc_client *c, const char *job_id, job_view *out);
/* Newest first; state < 0: all. Gives *out (mem_free). */
CUZK_MUST_CHECK cuzk_status rpc_client_list(rpc_client *c, int state, uint32_t limit,
                                            job_view **out, uint32_t *n);
/* Gives *json (mem_free): what src/engine/timeline.h reads. */
CUZK_MUST_CHECK cuzk_status rpc_client_timeline(rpc_client *c, const char *job_id, char **json);

typedef struct rpc_key_result {
    bool was_loaded;
    uint64_t load_ms, bytes;
} rpc_key_result;
CUZK_MUST_CHECK cuzk_status rpc_client_preload(rpc_client *c, const char *circuit_id,
                                               rpc_key_result *out);
CUZK_MUST_CHECK cuzk_status rpc_client_evict(rpc_client *c, const char *circuit_id,
                                             rpc_key_result *out);
/* Prometheus text; gives *text (mem_free). */
CUZK_MUST_CHECK cuzk_status rpc_client_metrics(rpc_client *c, char **text);

/* What GetStatus tells; members of snap that it does not tell are 0. */
typedef struct rpc_status {
    engine_snapshot snap;
    job_view *jobs; /* live ones */
    uint32_t n_jobs;
    char *json; /* with_json: as GET /status of the daemon's HTTP port */
} rpc_status;
CUZK_MUST_CHECK cuzk_status rpc_client_status(rpc_client *c, bool with_json, rpc_status *out);
void rpc_status_fini(rpc_status *s);
#endif
