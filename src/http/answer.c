#include "http/answer.h"
#include "base/mem.h"
#include "engine/metrics.h"
#include "engine/timeline.h"
#include "http/assets.h"
#include "http/target.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define TEXT_PLAIN "text/plain; charset=utf-8"
#define TEXT_METRICS "text/plain; version=0.0.4; charset=utf-8"
#define JSON "application/json"

#define DEFAULT_JOBS_LISTED 100u
/* Finished jobs that /status looks at for those that ended just now. */
#define STATUS_N_FINAL 64u

static void answer_text(http_answer *a, unsigned status, const char *text)
{
    http_answer_fini(a);
    *a = (http_answer){.status = status, .media_type = TEXT_PLAIN, .body = text};
    a->len = strlen(text);
}

static void answer_no_memory(http_answer *a)
{
    answer_text(a, 503, "out of memory\n");
    a->is_retry_later = true;
}

/* Finish w and make its text the body. */
static void answer_json(http_answer *a, unsigned status, json_writer *w)
{
    cuzk_status st = json_write_finish(w);
    if (st.code != CUZK_OK) {
        json_write_fini(w);
        answer_no_memory(a);
        return;
    }
    http_answer_fini(a);
    *a = (http_answer){
        .status = status, .media_type = JSON, .body = w->buf, .len = w->len, .is_owned = true};
    *w = (json_writer){0}; /* buf now belongs to the answer */
}

static void answer_error(http_answer *a, unsigned status, const char *text)
{
    json_writer w;
    json_write_init(&w, NULL, false);
    json_begin_object(&w);
    json_kv_str(&w, "error", text);
    json_end_object(&w);
    answer_json(a, status, &w);
}

static void answer_status(http_answer *a, cuzk_status st)
{
    unsigned status = 500;
    switch (st.code) {
    case CUZK_E_NOMEM:
        answer_no_memory(a);
        return;
    case CUZK_E_NOT_FOUND:
        status = 404;
        break;
    case CUZK_E_INPUT:
    case CUZK_E_RANGE:
    case CUZK_E_USAGE:
        status = 400;
        break;
    case CUZK_E_BUSY:
        status = 503;
        break;
    default:
        break;
    }
    answer_error(a, status, st.msg);
    a->is_retry_later = status == 503;
}

static uint64_t now_unix_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* ---- lists of jobs ---- */

#define STATE_BIT(s) ((uint32_t)1 << (s))
#define STATES_RUNNING (STATE_BIT(JOB_DECODING) | STATE_BIT(JOB_PROVING) | STATE_BIT(JOB_VERIFYING))
#define STATES_LIVE (STATE_BIT(JOB_QUEUED) | STATES_RUNNING)
#define STATES_FINAL (STATE_BIT(JOB_DONE) | STATE_BIT(JOB_FAILED) | STATE_BIT(JOB_CANCELLED))

typedef struct job_list {
    job_view *jobs;
    uint32_t n;
} job_list;

static cuzk_status count_live(uint64_t *out, engine *e)
{
    engine_snapshot snap;
    CUZK_TRY(engine_get_snapshot(e, &snap));
    *out = 0;
    for (uint32_t k = 0; k < PROOF_N_KINDS; k++) {
        *out += snap.running[k];
        for (uint32_t i = 0; i < JOB_N_PRIORITIES; i++)
            *out += snap.queued[k][i];
    }
    engine_snapshot_fini(&snap);
    return cuzk_ok();
}

/* Keep the newest `limit` jobs in one of the states; returns how many live ones there were. */
static uint64_t filter(job_list *l, uint32_t states, uint32_t limit)
{
    uint64_t n_live = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        n_live += !job_state_is_final(l->jobs[i].state);
        if (states >> l->jobs[i].state & 1 && kept < limit)
            l->jobs[kept++] = l->jobs[i];
    }
    l->n = kept;
    return n_live;
}

/* The newest `limit` jobs in any of the states; all live ones and at least n_final finished ones
 * are considered. Live jobs may be older than many finished ones, so the list is read as far back
 * as it takes to have seen all of them. */
static cuzk_status list_states(job_list *l, engine *e, uint32_t states, uint32_t limit,
                               uint32_t n_final)
{
    uint64_t n_live = 0;
    *l = (job_list){0};
    CUZK_TRY(count_live(&n_live, e));
    if (n_live + n_final == 0) /* to the list, 0 would be no limit */
        return cuzk_ok();
    for (uint64_t window = n_live + n_final;; window *= 4) {
        uint32_t most = window < INT32_MAX ? (uint32_t)window : INT32_MAX;
        CUZK_TRY(engine_list_jobs(e, -1, most, &l->jobs, &l->n));
        bool is_all = l->n < most || most == INT32_MAX;
        bool has_live = filter(l, states, limit) >= n_live;
        if (is_all || l->n == limit || has_live)
            return cuzk_ok();
        mem_free(l->jobs);
        *l = (job_list){0};
    }
}

static int by_turn(const void *a, const void *b)
{
    const job_view *x = a, *y = b;
    return (x->queue_position > y->queue_position) - (x->queue_position < y->queue_position);
}

/* The `limit` queued jobs whose turn comes first: the newest of a long queue tell little. */
static cuzk_status list_queued(job_list *l, engine *e, uint32_t limit)
{
    *l = (job_list){0};
    CUZK_TRY(engine_list_jobs(e, JOB_QUEUED, 0, &l->jobs, &l->n)); /* from memory */
    qsort(l->jobs, l->n, sizeof *l->jobs, by_turn);
    l->n = l->n < limit ? l->n : limit;
    return cuzk_ok();
}

/* A state's name, or "running", "live", "final"; 0 when it is none. */
static uint32_t parse_states(const char *name)
{
    for (int s = 0; s < JOB_N_STATES; s++)
        if (strcmp(name, JOB_STATE_NAMES[s]) == 0)
            return STATE_BIT(s);
    if (strcmp(name, "running") == 0)
        return STATES_RUNNING;
    if (strcmp(name, "live") == 0)
        return STATES_LIVE;
    return strcmp(name, "final") == 0 ? STATES_FINAL : 0;
}

/* The journal finds jobs that ended in one way by itself; -1: not such a set. */
static int one_final_state(uint32_t states)
{
    for (int s = JOB_DONE; s < JOB_N_STATES; s++)
        if (states == STATE_BIT(s))
            return s;
    return -1;
}

/* Decimal in [1, max]; 0 when it is not. */
static uint32_t parse_limit(const char *s, uint32_t max)
{
    uint64_t v = 0;
    for (; *s; s++) {
        if (*s < '0' || *s > '9' || v > max)
            return 0;
        v = 10 * v + (uint64_t)(*s - '0');
    }
    return v <= max ? (uint32_t)v : 0;
}

/* ---- what is behind each path ---- */

static void get_metrics(http_answer *a, const http_service *s)
{
    engine_snapshot snap;
    char *text;
    size_t len;
    cuzk_status st = engine_get_snapshot(s->e, &snap);
    if (st.code == CUZK_OK) {
        st = engine_metrics_text(&snap, &text, &len);
        engine_snapshot_fini(&snap);
    }
    if (st.code != CUZK_OK)
        answer_status(a, st);
    else
        *a = (http_answer){
            .status = 200, .media_type = TEXT_METRICS, .body = text, .len = len, .is_owned = true};
}

static void get_status(http_answer *a, const http_service *s)
{
    engine_snapshot snap;
    job_list jobs = {0};
    cuzk_status st = engine_get_snapshot(s->e, &snap);
    if (st.code != CUZK_OK) {
        answer_status(a, st);
        return;
    }
    st = list_states(&jobs, s->e, STATES_RUNNING | STATES_FINAL, UINT32_MAX, STATUS_N_FINAL);
    if (st.code == CUZK_OK) {
        json_writer w;
        json_write_init(&w, NULL, false);
        engine_status_json(&w, &snap, jobs.jobs, jobs.n);
        answer_json(a, 200, &w);
    } else {
        answer_status(a, st);
    }
    mem_free(jobs.jobs);
    engine_snapshot_fini(&snap);
    /* Pages elsewhere could always read this; with a token they cannot. */
    a->allows_any_site = !s->bearer_token;
}

/* What keeps it from being ready: the circuits of srs.preload that are not loaded. */
static void answer_not_ready(http_answer *a, const engine_snapshot *s)
{
    char text[4096] = "warming up\n";
    size_t len = strlen(text);
    for (uint32_t i = 0; i < s->n_preloads && len < sizeof text; i++) {
        const engine_preload_view *p = &s->preloads[i];
        if (p->state == ENGINE_PRELOAD_READY)
            continue;
        len += (size_t)snprintf(text + len, sizeof text - len, "%s: %s\n", p->circuit_id,
                                p->error[0] ? p->error : "loading");
    }
    answer_text(a, 503, text);
}

static void get_ready(http_answer *a, const http_service *s)
{
    engine_snapshot snap;
    cuzk_status st = engine_get_snapshot(s->e, &snap);
    if (st.code != CUZK_OK) {
        answer_status(a, st);
        return;
    }
    if (snap.is_draining)
        answer_text(a, 503, "draining\n");
    else if (!engine_is_ready(s->e))
        answer_not_ready(a, &snap);
    else
        answer_text(a, 200, "ready\n");
    engine_snapshot_fini(&snap);
}

static void get_jobs(http_answer *a, const http_service *s, const http_target *t)
{
    uint32_t states = STATES_LIVE | STATES_FINAL, limit = DEFAULT_JOBS_LISTED;
    if (limit > s->max_jobs_listed)
        limit = s->max_jobs_listed;
    for (uint32_t i = 0; i < t->n_params; i++) {
        const char *key = t->params[i].key, *value = t->params[i].value;
        if (strcmp(key, "state") == 0) {
            states = parse_states(value);
        } else if (strcmp(key, "limit") == 0) {
            limit = parse_limit(value, s->max_jobs_listed);
        } else {
            answer_error(a, 400, "unknown parameter: state and limit are known");
            return;
        }
    }
    if (states == 0 || limit == 0) {
        answer_error(a, 400,
                     states == 0 ? "state: expected queued, decoding, proving, verifying, done, "
                                   "failed, cancelled, running, live or final"
                                 : "limit: expected a number from 1 to the largest list");
        return;
    }
    job_list jobs = {0};
    int only = one_final_state(states);
    cuzk_status st;
    if (states == STATE_BIT(JOB_QUEUED))
        st = list_queued(&jobs, s->e, limit);
    else if (states == (STATES_LIVE | STATES_FINAL) || only >= 0)
        st = engine_list_jobs(s->e, only, limit, &jobs.jobs, &jobs.n);
    else
        st = list_states(&jobs, s->e, states, limit, limit);
    if (st.code != CUZK_OK) {
        answer_status(a, st);
        return;
    }
    json_writer w;
    json_write_init(&w, NULL, false);
    json_begin_object(&w);
    json_kv_u64(&w, "now_unix_ms", now_unix_ms());
    json_kv_u64(&w, "limit", limit);
    json_key(&w, "jobs");
    json_begin_array(&w);
    for (uint32_t i = 0; i < jobs.n; i++)
        engine_job_json(&w, &jobs.jobs[i]);
    json_end_array(&w);
    json_end_object(&w);
    mem_free(jobs.jobs);
    answer_json(a, 200, &w);
}

static void get_job(http_answer *a, const http_service *s, const char *job_id)
{
    job_view view;
    cuzk_status st = engine_get_job(s->e, job_id, &view);
    if (st.code != CUZK_OK) {
        answer_status(a, st);
        return;
    }
    json_writer w;
    json_write_init(&w, NULL, false);
    engine_job_json(&w, &view);
    answer_json(a, 200, &w);
}

/* File name of a downloaded trace: what may be unsafe in a header or a folder becomes '_'. */
static void set_download_name(http_answer *a, const char *job_id)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    size_t at = 0;
    for (const char *p = "cuzk-"; *p; p++)
        a->download[at++] = *p;
    for (const char *p = job_id; *p && at + sizeof ".json" < sizeof a->download; p++)
        a->download[at++] = strchr(safe, *p) ? *p : '_';
    memcpy(a->download + at, ".json", sizeof ".json");
}

/* The span tree as a trace; gives *out. */
static cuzk_status make_trace(char **out, size_t *len, const char *json)
{
    timeline t;
    char *text = NULL;
    *out = NULL;
    CUZK_TRY(timeline_parse(&t, json, strlen(json)));
    cuzk_status st = cuzk_fail(CUZK_E_NOMEM, "trace of %u spans", t.n_spans);
    FILE *f = open_memstream(&text, len);
    if (f) {
        cuzk_status written = timeline_write_chrome(&t, f);
        bool is_whole = fclose(f) == 0; /* fails when memory is short */
        *out = is_whole && written.code == CUZK_OK ? mem_alloc(*len + 1, 16) : NULL;
        if (*out)
            memcpy(*out, text, *len);
        if (*out || (is_whole && written.code != CUZK_OK))
            st = written;
    }
    free(text);
    timeline_fini(&t);
    return st;
}

static void get_timeline(http_answer *a, const http_service *s, const http_target *t)
{
    bool as_trace = false;
    for (uint32_t i = 0; i < t->n_params; i++) {
        as_trace = strcmp(t->params[i].value, "perfetto") == 0;
        if (strcmp(t->params[i].key, "format") != 0 ||
            (!as_trace && strcmp(t->params[i].value, "spans") != 0)) {
            answer_error(a, 400, "format: expected spans or perfetto");
            return;
        }
    }
    char *json = NULL, *trace = NULL;
    size_t len = 0;
    cuzk_status st = engine_get_timeline(s->e, t->segments[2], &json);
    if (st.code == CUZK_OK && as_trace) {
        st = make_trace(&trace, &len, json);
        mem_free(json);
    } else if (st.code == CUZK_OK) {
        len = strlen(json);
    }
    if (st.code != CUZK_OK) {
        answer_status(a, st);
        return;
    }
    *a = (http_answer){.status = 200,
                       .media_type = JSON,
                       .body = as_trace ? trace : json,
                       .len = len,
                       .is_owned = true};
    if (as_trace)
        set_download_name(a, t->segments[2]);
}

static void get_asset(http_answer *a, const http_asset *asset, const char *if_none_match)
{
    *a = (http_answer){.status = 200,
                       .media_type = asset->media_type,
                       .body = asset->bytes,
                       .len = asset->len,
                       .etag = asset->etag};
    /* Our tags are hex, so finding one inside a list of tags is exact enough. */
    if (if_none_match && (strstr(if_none_match, asset->etag) || strcmp(if_none_match, "*") == 0)) {
        a->status = 304;
        a->body = "";
        a->len = 0;
    }
}

/* Without an early exit: the time does not tell how much of a guess was right. */
static bool is_equal_ct(const char *a, const char *b, size_t n)
{
    unsigned char diff = 0;
    for (size_t i = 0; i < n; i++)
        diff |= (unsigned char)(a[i] ^ b[i]);
    return diff == 0;
}

static bool has_token(const http_service *s, const char *authorization)
{
    static const char scheme[] = "bearer ";
    size_t len = s->bearer_token ? strlen(s->bearer_token) : 0;
    if (!s->bearer_token)
        return true;
    if (!authorization || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0)
        return false;
    const char *given = authorization + sizeof scheme - 1;
    return strlen(given) == len && is_equal_ct(given, s->bearer_token, len);
}

typedef enum path_id {
    PATH_NONE,
    PATH_ASSET,
    PATH_HEALTHZ,
    PATH_READYZ,
    PATH_METRICS,
    PATH_STATUS,
    PATH_JOBS,
    PATH_JOB,
    PATH_TIMELINE,
} path_id;

static path_id find_path(const http_target *t, const http_asset **asset)
{
    static const struct {
        const char *name;
        path_id id;
    } names[] = {
        {"metrics", PATH_METRICS},
        {"status", PATH_STATUS},
        {"healthz", PATH_HEALTHZ},
        {"readyz", PATH_READYZ},
    };
    const char *const *seg = t->segments;
    if (t->n_segments == 1) {
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            if (strcmp(seg[0], names[i].name) == 0)
                return names[i].id;
        *asset = http_find_asset(seg[0]);
        return *asset ? PATH_ASSET : PATH_NONE;
    }
    if (t->n_segments < 2 || strcmp(seg[0], "api") != 0 || strcmp(seg[1], "jobs") != 0)
        return PATH_NONE;
    if (t->n_segments == 2)
        return PATH_JOBS;
    if (!*seg[2])
        return PATH_NONE;
    if (t->n_segments == 3)
        return PATH_JOB;
    return t->n_segments == 4 && strcmp(seg[3], "timeline") == 0 ? PATH_TIMELINE : PATH_NONE;
}

static void answer_path(http_answer *a, const http_service *s, const http_target *t, path_id path)
{
    switch (path) {
    case PATH_HEALTHZ:
        answer_text(a, 200, "ok\n");
        break;
    case PATH_READYZ:
        get_ready(a, s);
        break;
    case PATH_METRICS:
        get_metrics(a, s);
        break;
    case PATH_STATUS:
        get_status(a, s);
        break;
    case PATH_JOBS:
        get_jobs(a, s, t);
        break;
    case PATH_JOB:
        get_job(a, s, t->segments[2]);
        break;
    case PATH_TIMELINE:
        get_timeline(a, s, t);
        break;
    case PATH_NONE:
    case PATH_ASSET:
        break;
    }
}

void http_answer_make(http_answer *out, const http_service *s, const http_request *r)
{
    http_target t;
    const http_asset *asset = NULL;
    *out = (http_answer){0};
    cuzk_status st = http_target_parse(&t, r->target);
    if (st.code != CUZK_OK) {
        answer_error(out, st.code == CUZK_E_RANGE ? 414 : 400, st.msg);
        return;
    }
    path_id path = find_path(&t, &asset);
    if (path == PATH_NONE) {
        answer_text(out, 404, "404 Not Found\n");
    } else if (strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0) {
        answer_text(out, 405, "only GET and HEAD\n");
        out->allow = "GET, HEAD";
    } else if (path == PATH_ASSET) {
        get_asset(out, asset, r->if_none_match); /* holds no data, so it needs no token */
    } else if (path > PATH_READYZ && !has_token(s, r->authorization)) {
        answer_error(out, 401, "a bearer token is needed");
        out->asks_token = true;
    } else {
        answer_path(out, s, &t, path);
    }
}

void http_answer_fini(http_answer *a)
{
    if (a->is_owned)
        mem_free((void *)(uintptr_t)a->body);
    *a = (http_answer){0};
}
