/* The pretending engine: one thread moves jobs, calls watches and ends submissions. */
#include "rpc/fake_engine.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/run_ctx.h"
#include "hash/blake2.h"
#include "rpc/request.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEP_NS 20000000u

#if defined(__SANITIZE_THREAD__)
/* gRPC's library is not instrumented: what it orders inside, the sanitizer cannot see. Added to
 * TSAN_OPTIONS. */
const char *__tsan_default_options(void);
__attribute__((visibility("default"), used)) const char *__tsan_default_options(void)
{
    return "ignore_noninstrumented_modules=1";
}
#endif

typedef struct fake_job {
    struct fake_job *next;
    job_view v;
    uint8_t digest[32], proof[192];
    uint64_t begin_ns, end_ns; /* end 0: never */
    bool fails, cancel;
    uint64_t version, bytes;
} fake_job;

struct engine_watch {
    struct engine_watch *next;
    fake_job *job;
    bool only_end, is_running, was_final, is_gone;
    uint64_t seen;
    engine_watch_fn *fn;
    void *ctx;
};

typedef struct fake_task {
    struct fake_task *next;
    job_request req;
    engine_submit_fn *submit_done;
    engine_key_fn *key_done;
    char circuit[32];
    bool is_evict;
    uint64_t due_ns;
    void *ctx;
} fake_task;

struct engine {
    fake_options o;
    pthread_t thread;
    pthread_mutex_t mu;
    pthread_cond_t wake, idle;
    bool stop;
    fake_job *jobs; /* newest first */
    engine_watch *watches;
    fake_task *tasks, **last_task;
    engine_transport_fn *transport;
    void *transport_ctx;
    uint64_t reserved, n_submissions, next_id, completed, failed, cancelled;
    bool has_key;
    job_request last;
};

static uint64_t unix_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

/* ---- jobs ---- */

static fake_job *find(engine *e, const char *id)
{
    fake_job *j = e->jobs;
    while (j && strcmp(j->v.job_id, id) != 0)
        j = j->next;
    return j;
}

static cuzk_status not_found(const char *id)
{
    return cuzk_fail(CUZK_E_NOT_FOUND, "job not found: %.100s", id);
}

static void set_state(engine *e, fake_job *j, job_state s)
{
    j->v.state = s;
    j->version++;
    if (!job_state_is_final(s))
        return;
    j->v.finished_unix_ms = unix_ms();
    j->v.times.total_ms = (clock_now_ns() - j->begin_ns) / 1000000u;
    e->reserved -= j->bytes;
    j->bytes = 0;
    *(s == JOB_DONE ? &e->completed : s == JOB_FAILED ? &e->failed : &e->cancelled) += 1;
    if (s == JOB_DONE) {
        j->v.progress = j->v.n_partitions_done = 1;
        j->v.proof_bytes = 192;
    }
}

static void move_job(engine *e, fake_job *j, uint64_t now)
{
    if (job_state_is_final(j->v.state))
        return;
    if (j->cancel) {
        set_state(e, j, JOB_CANCELLED);
    } else if (j->v.state == JOB_QUEUED) {
        j->v.started_unix_ms = unix_ms();
        snprintf(j->v.device, sizeof j->v.device, "fake:3");
        set_state(e, j, JOB_PROVING);
    } else if (j->end_ns && now >= j->end_ns) {
        set_state(e, j, j->fails ? JOB_FAILED : JOB_DONE);
    } else if (j->end_ns) {
        j->v.progress = (double)(now - j->begin_ns) / (double)(j->end_ns - j->begin_ns);
        j->version++;
    }
}

static void script(fake_job *j, job_bytes text)
{
    char s[128] = "";
    size_t n = text.len < sizeof s - 1 ? text.len : sizeof s - 1;
    if (n)
        memcpy(s, text.p, n);
    s[n] = 0;
    j->begin_ns = j->end_ns = clock_now_ns();
    if (strncmp(s, "sleep:", 6) == 0)
        j->end_ns += strtoull(s + 6, NULL, 10) * 1000000u;
    if (strcmp(s, "hang") == 0)
        j->end_ns = 0;
    if (strncmp(s, "fail:", 5) == 0) {
        j->fails = true;
        j->v.error_code = CUZK_E_VERIFY;
        snprintf(j->v.error, sizeof j->v.error, "%s", s + 5);
    }
}

static job_bytes script_text(const job_request *r)
{
    return r->vanilla_proof.len || r->n_vanilla_proofs == 0 ? r->vanilla_proof
                                                            : r->vanilla_proofs[0];
}

static cuzk_status refuse(const job_request *r, uint64_t *retry_ms)
{
    job_bytes t = script_text(r);
    char s[128];
    snprintf(s, sizeof s, "%.*s", t.len < 100 ? (int)t.len : 100, t.len ? (const char *)t.p : "");
    if (strncmp(s, "invalid:", 8) == 0)
        return cuzk_fail(CUZK_E_INPUT, "%s", s + 8);
    if (strncmp(s, "impossible:", 11) == 0)
        return cuzk_fail(CUZK_E_IMPOSSIBLE, "%s", s + 11);
    if (strncmp(s, "busy:", 5) == 0) {
        *retry_ms = strtoull(s + 5, NULL, 10);
        return cuzk_fail(CUZK_E_BUSY, "the queue is full");
    }
    return cuzk_ok();
}

static void hash_proofs(uint8_t out[192], const job_request *r)
{
    blake2 *h;
    memset(out, 0, 192);
    if (blake2_create(&h, BLAKE2B_512, NULL, 0).code != CUZK_OK)
        abort();
    blake2_update(h, r->vanilla_proof.p, r->vanilla_proof.len);
    for (size_t i = 0; i < r->n_vanilla_proofs; i++)
        blake2_update(h, r->vanilla_proofs[i].p, r->vanilla_proofs[i].len);
    if (blake2_final(h, out).code != CUZK_OK)
        abort();
    blake2_destroy(h);
}

static fake_job *make_job(const job_request *r)
{
    fake_job *j = mem_zalloc(sizeof *j, 16);
    if (!j)
        abort();
    j->v.kind = r->kind;
    j->v.priority = r->priority;
    j->v.sector_size = r->sector_size;
    j->v.sector_number = r->sector_number;
    j->v.miner_id = r->miner_id;
    j->v.deadline_unix_ms = r->deadline_unix_ms;
    j->v.n_partitions = 1;
    j->v.created_unix_ms = unix_ms();
    j->v.times = (job_times){
        .queue_wait_ms = 1, .key_load_ms = 2, .witness_ms = 3, .device_ms = 4, .verify_ms = 5};
    snprintf(j->v.circuit_id, sizeof j->v.circuit_id, "porep-2k");
    snprintf(j->v.request_id, sizeof j->v.request_id, "%s", r->request_id);
    job_request_digest(j->digest, r);
    hash_proofs(j->proof, r);
    script(j, script_text(r));
    return j;
}

static void name_job(engine *e, fake_job *j)
{
    if (j->v.request_id[0] == 0)
        snprintf(j->v.job_id, sizeof j->v.job_id, "job-%llu", (unsigned long long)++e->next_id);
    else if (find(e, j->v.request_id))
        snprintf(j->v.job_id, sizeof j->v.job_id, "%s~%02x%02x%02x%02x", j->v.request_id,
                 j->digest[0], j->digest[1], j->digest[2], j->digest[3]);
    else
        snprintf(j->v.job_id, sizeof j->v.job_id, "%s", j->v.request_id);
}

static fake_job *find_same(engine *e, const fake_job *like)
{
    fake_job *j = like->v.request_id[0] ? e->jobs : NULL;
    while (j && (strcmp(j->v.request_id, like->v.request_id) != 0 ||
                 memcmp(j->digest, like->digest, 32) != 0))
        j = j->next;
    return j;
}

/* Not holding mu. */
static void run_submit(engine *e, fake_task *t)
{
    engine_submitted out = {.st = refuse(&t->req, &out.retry_after_ms)};
    uint64_t bytes = request_payload_bytes(&t->req);
    fake_job *j = out.st.code == CUZK_OK ? make_job(&t->req) : NULL;
    pthread_mutex_lock(&e->mu);
    e->last = t->req;
    fake_job *same = j ? find_same(e, j) : NULL;
    if (same) {
        mem_free(j);
        out.existing = true;
        out.view = same->v;
    } else if (j) {
        name_job(e, j);
        j->bytes = bytes;
        bytes = 0;
        j->next = e->jobs;
        e->jobs = j;
        out.view = j->v;
    }
    e->reserved -= bytes;
    pthread_mutex_unlock(&e->mu);
    job_request_fini(&t->req);
    t->submit_done(t->ctx, &out);
}

static void run_key(engine *e, fake_task *t)
{
    cuzk_status st = cuzk_ok();
    pthread_mutex_lock(&e->mu);
    bool was = e->has_key;
    if (strcmp(t->circuit, "porep-2k") != 0)
        st = cuzk_bad_input("circuit_id", "a known circuit", "\"%s\"", t->circuit);
    else
        e->has_key = !t->is_evict;
    pthread_mutex_unlock(&e->mu);
    t->key_done(t->ctx, st, was, was || t->is_evict ? 0 : 7, was && !t->is_evict ? 0 : 1000);
}

/* ---- the thread ---- */

static engine_watch *due_watch(engine *e)
{
    for (engine_watch *w = e->watches; w; w = w->next)
        if (!w->is_gone && !w->was_final && w->seen != w->job->version &&
            (!w->only_end || job_state_is_final(w->job->v.state)))
            return w;
    return NULL;
}

static void call_watch(engine *e, engine_watch *w)
{
    job_view v = w->job->v;
    w->seen = w->job->version;
    w->was_final = job_state_is_final(v.state);
    w->is_running = true;
    pthread_mutex_unlock(&e->mu);
    w->fn(w->ctx, &v);
    pthread_mutex_lock(&e->mu);
    w->is_running = false;
    pthread_cond_broadcast(&e->idle);
}

static fake_task *due_task(engine *e, uint64_t now)
{
    for (fake_task **at = &e->tasks; *at; at = &(*at)->next) {
        fake_task *t = *at;
        if (t->due_ns > now)
            continue;
        *at = t->next;
        if (!t->next)
            e->last_task = at;
        return t;
    }
    return NULL;
}

static void *run(void *arg)
{
    engine *e = arg;
    uint64_t next_step = 0;
    pthread_mutex_lock(&e->mu);
    while (!e->stop) {
        uint64_t now = clock_now_ns();
        fake_task *t = due_task(e, now);
        engine_watch *w = t ? NULL : due_watch(e);
        if (t) {
            pthread_mutex_unlock(&e->mu);
            if (t->submit_done)
                run_submit(e, t);
            else
                run_key(e, t);
            mem_free(t);
            pthread_mutex_lock(&e->mu);
            next_step = 0;
        } else if (w) {
            call_watch(e, w);
        } else if (now >= next_step) {
            for (fake_job *j = e->jobs; j; j = j->next)
                move_job(e, j, now);
            next_step = now + STEP_NS / 4;
        } else {
            struct timespec until = {.tv_sec = (time_t)(next_step / 1000000000u),
                                     .tv_nsec = (long)(next_step % 1000000000u)};
            pthread_cond_timedwait(&e->wake, &e->mu, &until);
        }
    }
    pthread_mutex_unlock(&e->mu);
    return NULL;
}

static void push_task(engine *e, const fake_task *like)
{
    fake_task *t = mem_alloc(sizeof *t, 16);
    if (!t)
        abort();
    *t = *like;
    pthread_mutex_lock(&e->mu);
    *e->last_task = t;
    e->last_task = &t->next;
    if (t->submit_done)
        e->n_submissions++;
    pthread_cond_signal(&e->wake);
    pthread_mutex_unlock(&e->mu);
}

engine *fake_engine_create(const fake_options *o)
{
    engine *e = mem_zalloc(sizeof *e, 64);
    pthread_condattr_t monotonic;
    if (!e)
        abort();
    e->o = *o;
    e->last_task = &e->tasks;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&e->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_cond_init(&e->idle, NULL);
    pthread_mutex_init(&e->mu, NULL);
    if (pthread_create(&e->thread, NULL, run, e) != 0)
        abort();
    return e;
}

void fake_engine_destroy(engine *e)
{
    pthread_mutex_lock(&e->mu);
    e->stop = true;
    pthread_cond_signal(&e->wake);
    pthread_mutex_unlock(&e->mu);
    pthread_join(e->thread, NULL);
    if (e->watches || e->tasks)
        abort();
    while (e->jobs) {
        fake_job *j = e->jobs;
        e->jobs = j->next;
        e->reserved -= j->bytes;
        mem_free(j);
    }
    if (e->reserved)
        abort();
    pthread_cond_destroy(&e->wake);
    pthread_cond_destroy(&e->idle);
    pthread_mutex_destroy(&e->mu);
    mem_free(e);
}

/* ---- engine.h ---- */

void engine_submit(engine *e, job_request *req, engine_submit_fn *done, void *ctx)
{
    push_task(e, &(fake_task){.req = *req, .submit_done = done, .ctx = ctx});
    *req = (job_request){.kind = PROOF_POREP};
}

cuzk_status engine_reserve_request(engine *e, uint64_t bytes, uint64_t *retry_after_ms)
{
    *retry_after_ms = 0;
    uint64_t max = e->o.max_request_bytes ? e->o.max_request_bytes : UINT64_MAX;
    if (bytes > max)
        return cuzk_fail(CUZK_E_IMPOSSIBLE, "request of %zu bytes, at most %zu", bytes, max);
    pthread_mutex_lock(&e->mu);
    bool ok = bytes <= max - e->reserved;
    e->reserved += ok ? bytes : 0;
    pthread_mutex_unlock(&e->mu);
    if (ok)
        return cuzk_ok();
    *retry_after_ms = FAKE_RESERVE_RETRY_MS;
    return cuzk_fail(CUZK_E_BUSY, "too many bytes of requests in memory");
}

void engine_release_request(engine *e, uint64_t bytes)
{
    pthread_mutex_lock(&e->mu);
    e->reserved -= bytes;
    pthread_mutex_unlock(&e->mu);
}

cuzk_status engine_watch_job(engine *e, const char *id, bool only_end, engine_watch_fn *fn,
                             void *ctx, engine_watch **out)
{
    engine_watch *w = mem_zalloc(sizeof *w, 16);
    if (!w)
        return cuzk_fail(CUZK_E_NOMEM, "watch");
    *w = (engine_watch){.only_end = only_end, .fn = fn, .ctx = ctx};
    pthread_mutex_lock(&e->mu);
    w->job = find(e, id);
    if (w->job) {
        w->seen = job_state_is_final(w->job->v.state) ? 0 : w->job->version;
        w->next = e->watches;
        e->watches = w;
        pthread_cond_signal(&e->wake);
    }
    pthread_mutex_unlock(&e->mu);
    if (!w->job) {
        mem_free(w);
        return not_found(id);
    }
    *out = w;
    return cuzk_ok();
}

bool engine_unwatch(engine *e, engine_watch *w)
{
    pthread_mutex_lock(&e->mu);
    w->is_gone = true;
    while (w->is_running)
        pthread_cond_wait(&e->idle, &e->mu);
    engine_watch **at = &e->watches;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    bool open = !w->was_final;
    pthread_mutex_unlock(&e->mu);
    mem_free(w);
    return open;
}

cuzk_status engine_get_job(engine *e, const char *id, job_view *out)
{
    pthread_mutex_lock(&e->mu);
    fake_job *j = find(e, id);
    if (j)
        *out = j->v;
    pthread_mutex_unlock(&e->mu);
    return j ? cuzk_ok() : not_found(id);
}

cuzk_status engine_get_proof(engine *e, const char *id, uint8_t **proof, size_t *len)
{
    pthread_mutex_lock(&e->mu);
    fake_job *j = find(e, id);
    *len = 192;
    *proof = j ? mem_alloc(192, 16) : NULL;
    if (*proof)
        memcpy(*proof, j->proof, 192);
    pthread_mutex_unlock(&e->mu);
    return *proof ? cuzk_ok() : not_found(id);
}

cuzk_status engine_list_jobs(engine *e, int state, uint32_t limit, job_view **out, uint32_t *n)
{
    *n = 0;
    *out = mem_alloc(((size_t)limit + 1) * sizeof **out, 16);
    if (!*out)
        return cuzk_fail(CUZK_E_NOMEM, "list");
    pthread_mutex_lock(&e->mu);
    for (fake_job *j = e->jobs; j && *n < limit; j = j->next)
        if (state < 0 || (int)j->v.state == state)
            (*out)[(*n)++] = j->v;
    pthread_mutex_unlock(&e->mu);
    return cuzk_ok();
}

cuzk_status engine_cancel(engine *e, const char *id, bool *was_live)
{
    pthread_mutex_lock(&e->mu);
    fake_job *j = find(e, id);
    *was_live = j && !job_state_is_final(j->v.state);
    if (j)
        j->cancel = true;
    pthread_mutex_unlock(&e->mu);
    return j ? cuzk_ok() : not_found(id);
}

cuzk_status engine_get_timeline(engine *e, const char *id, char **json)
{
    job_view v;
    CUZK_TRY(engine_get_job(e, id, &v));
    *json = mem_strdup(
        "{\"job_id\":\"x\",\"spans\":[{\"id\":1,\"parent\":0,\"name\":\"job\",\"partition\":-1,"
        "\"device\":\"\",\"start_ms\":0,\"end_ms\":10,\"bytes\":0,\"unaccounted_ms\":0}]}");
    return *json ? cuzk_ok() : cuzk_fail(CUZK_E_NOMEM, "timeline");
}

static void push_key(engine *e, const char *circuit, bool is_evict, engine_key_fn *done, void *ctx)
{
    fake_task t = {
        .key_done = done, .ctx = ctx, .is_evict = is_evict, .due_ns = clock_now_ns() + STEP_NS};
    snprintf(t.circuit, sizeof t.circuit, "%s", circuit);
    push_task(e, &t);
}

void engine_preload(engine *e, const char *circuit, engine_key_fn *done, void *ctx)
{
    push_key(e, circuit, false, done, ctx);
}

void engine_evict(engine *e, const char *circuit, engine_key_fn *done, void *ctx)
{
    push_key(e, circuit, true, done, ctx);
}

cuzk_status engine_get_snapshot(engine *e, engine_snapshot *out)
{
    *out = (engine_snapshot){.uptime_seconds = 12, .is_ready = true, .memory_budget = 1 << 30};
    out->devices = mem_zalloc(sizeof *out->devices, 16);
    out->keys = mem_zalloc(sizeof *out->keys, 16);
    if (!out->devices || !out->keys)
        abort();
    out->n_devices = out->n_keys = 1;
    out->devices[0] = (engine_device_view){.name = "fake:3",
                                           .model = "A model",
                                           .memory_total = 1 << 20,
                                           .is_healthy = !e->o.device_is_silent,
                                           .is_silent = e->o.device_is_silent};
    out->keys[0] = (engine_key_view){.circuit_id = "porep-2k", .host_bytes = 5, .device_bytes = 7};
    pthread_mutex_lock(&e->mu);
    for (fake_job *j = e->jobs; j; j = j->next)
        if (!job_state_is_final(j->v.state))
            out->running[j->v.kind]++;
    out->completed[PROOF_POREP] = e->completed;
    out->failed[PROOF_POREP] = e->failed;
    out->cancelled[PROOF_POREP] = e->cancelled;
    out->request_bytes = e->reserved;
    engine_transport_fn *transport = e->transport;
    void *ctx = e->transport_ctx;
    pthread_mutex_unlock(&e->mu);
    if (transport)
        transport(ctx, &out->transport);
    return cuzk_ok();
}

void engine_set_transport(engine *e, engine_transport_fn *fn, void *ctx)
{
    pthread_mutex_lock(&e->mu);
    e->transport = fn;
    e->transport_ctx = ctx;
    pthread_mutex_unlock(&e->mu);
}

void engine_snapshot_fini(engine_snapshot *s)
{
    mem_free(s->devices);
    mem_free(s->keys);
    s->devices = NULL;
    s->keys = NULL;
}

/* ---- for tests ---- */

fake_view fake_engine_look(engine *e)
{
    pthread_mutex_lock(&e->mu);
    fake_view v = {.reserved = e->reserved, .n_submissions = e->n_submissions, .last = e->last};
    for (engine_watch *w = e->watches; w; w = w->next)
        v.n_watches++;
    pthread_mutex_unlock(&e->mu);
    return v;
}
