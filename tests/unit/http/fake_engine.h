/* An engine that only shows: a busy afternoon of a proving machine, made up from the clock, so that
 * running jobs move. Defines the calls of engine.h that src/http uses; a test program includes it
 * once, and the linker then leaves the real ones out. */
#ifndef FAKE_ENGINE_H
#define FAKE_ENGINE_H
#include "base/mem.h"
#include "engine/engine.h"
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FAKE_PARTITIONS 10u
#define FAKE_CYCLE_MS 12000.0 /* the running proof starts again after this long */
#define FAKE_N_DONE 44u

typedef enum fake_scene {
    FAKE_BUSY,
    FAKE_EMPTY, /* no devices, no keys, no jobs */
    FAKE_CROWD, /* a long queue, many partitions, a timeline of thousands of spans */
} fake_scene;

struct engine {
    fake_scene scene;
    bool is_ready, is_draining, is_frozen; /* frozen: every answer is the same */
    cuzk_code fails_with;                  /* instead of any answer */
    uint64_t start_ms;
    uint32_t n_hidden; /* queued jobs that are counted, but gone from the list */
};

static uint64_t fake_now_ms(const engine *e)
{
    struct timespec ts;
    if (e->is_frozen)
        return e->start_ms + 9000;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static engine fake_engine_make(bool is_frozen)
{
    engine e = {.is_ready = true};
    e.start_ms = fake_now_ms(&e);
    e.is_frozen = is_frozen;
    return e;
}

static cuzk_status fake_fail(const engine *e)
{
    return e->fails_with == CUZK_OK ? cuzk_ok() : cuzk_fail(e->fails_with, "made to fail");
}

/* ---- spans ---- */

typedef struct fake_timeline {
    json_writer w;
    uint64_t n;
    double now_ms; /* spans that start later are left out, later ends are cut */
} fake_timeline;

typedef struct fake_span {
    uint64_t parent;
    const char *name;
    double start_ms, end_ms;
    int partition;
    const char *device;
    double unaccounted_ms;
    uint64_t bytes;
} fake_span;

static uint64_t fake_put(fake_timeline *t, fake_span s)
{
    if (s.start_ms > t->now_ms)
        return 0;
    json_writer *w = &t->w;
    json_begin_object(w);
    json_kv_u64(w, "id", ++t->n);
    json_kv_u64(w, "parent", s.parent);
    json_kv_str(w, "name", s.name);
    json_kv_f64(w, "partition", s.partition);
    json_kv_str(w, "device", s.device ? s.device : "");
    json_kv_u64(w, "thread", s.partition >= 0 ? (uint64_t)s.partition + 1 : 0);
    json_kv_f64(w, "start_ms", s.start_ms);
    json_kv_f64(w, "end_ms", s.end_ms < t->now_ms ? s.end_ms : t->now_ms);
    json_kv_u64(w, "bytes", s.bytes);
    json_kv_f64(w, "unaccounted_ms", s.end_ms < t->now_ms ? s.unaccounted_ms : 0);
    json_end_object(w);
    return t->n;
}

/* One partition: witness on the CPU, slices on a device, verification; starts at `at`. */
static void fake_partition(fake_timeline *t, uint64_t root, uint32_t k, double at, double device_at)
{
    static const struct {
        const char *name;
        double ms;
    } slices[] = {{"upload", 14}, {"eval", 31},   {"ntt", 104},   {"msm_h", 212},  {"msm_l", 58},
                  {"msm_a", 41},  {"msm_b1", 44}, {"msm_b2", 77}, {"assemble", 19}};
    double wit = at + 120 + 11.0 * (k % 4);
    if (device_at < wit)
        device_at = wit;
    const char *device = k % 2 ? "cuda:1" : "cuda:0";
    int p = (int)k;
    double gap = k == 6 ? 182 : 0; /* one partition waits for something nobody measured */
    double end = device_at + 600 + gap;
    uint64_t id = fake_put(t, (fake_span){root, "partition", at, end + 24, p, NULL, 0, 0});
    fake_put(t, (fake_span){id, "witness", at, wit, p, NULL, 0, 62914560});
    fake_put(t, (fake_span){id, "device_wait", wit, device_at, p, NULL, 0, 0});
    uint64_t prove = fake_put(t, (fake_span){id, "prove", device_at, end, p, device, gap, 0});
    double x = device_at;
    for (size_t i = 0; i < ARRAY_LEN(slices); i++) {
        if (i == 4)
            x += gap;
        fake_put(t, (fake_span){prove, slices[i].name, x, x + slices[i].ms, p, device, 0,
                                i == 0 ? 62914560 : 0});
        x += slices[i].ms;
    }
    fake_put(t, (fake_span){id, "verify", end, end + 24, p, NULL, 0, 192});
}

static cuzk_status fake_porep_timeline(char **json, const char *job_id, double now_ms)
{
    fake_timeline t = {.now_ms = now_ms};
    json_write_init(&t.w, NULL, false);
    json_begin_object(&t.w);
    json_kv_str(&t.w, "job_id", job_id);
    json_kv_u64(&t.w, "dropped_spans", 0);
    json_key(&t.w, "spans");
    json_begin_array(&t.w);
    double device_at[2] = {2300, 2300}, end = 0;
    double total = 2300 + 5 * 640 + 182 + 120;
    uint64_t root = fake_put(&t, (fake_span){0, "job", 0, total, -1, NULL, 16, 0});
    fake_put(&t, (fake_span){root, "request", 0, 88, -1, NULL, 0, 52428800});
    fake_put(&t, (fake_span){root, "decode", 88, 431, -1, NULL, 0, 52428800});
    fake_put(&t, (fake_span){root, "queue", 431, 1290, -1, NULL, 0, 0});
    fake_put(&t, (fake_span){root, "key_load", 1290, 2104, -1, "cuda:0", 0, 48318382080});
    for (uint32_t k = 0; k < FAKE_PARTITIONS; k++) {
        double *d = &device_at[k % 2];
        fake_partition(&t, root, k, 2120 + 148.0 * k, *d + (k % 2 ? 90 : 0));
        *d += 640 + (k == 6 ? 182 : 0);
        end = *d > end ? *d : end;
    }
    fake_put(&t, (fake_span){root, "journal", end + 20, total, -1, NULL, 0, 1920});
    json_end_array(&t.w);
    json_end_object(&t.w);
    cuzk_status st = json_write_finish(&t.w);
    if (st.code == CUZK_OK)
        *json = t.w.buf;
    else
        json_write_fini(&t.w);
    return st;
}

/* ---- jobs ---- */

/* A device that says a lot: CROWD_SPANS spans, shorter than a pixel when all are seen. */
#define FAKE_CROWD_SPANS 10000u
#define FAKE_CROWD_PARTITIONS 64u

static cuzk_status fake_crowd_timeline(char **json, const char *job_id)
{
    static const char *const names[] = {"ntt", "msm_h", "msm_l", "msm_a", "msm_b1", "msm_b2"};
    fake_timeline t = {.now_ms = 1e9};
    json_write_init(&t.w, NULL, false);
    json_begin_object(&t.w);
    json_kv_str(&t.w, "job_id", job_id);
    json_kv_u64(&t.w, "dropped_spans", 1234);
    json_key(&t.w, "spans");
    json_begin_array(&t.w);
    uint32_t n_each = FAKE_CROWD_SPANS / FAKE_CROWD_PARTITIONS - 2;
    double total = 400 + 900.0 * FAKE_CROWD_PARTITIONS / 2;
    uint64_t root = fake_put(&t, (fake_span){0, "job", 0, total, -1, NULL, 0, 0});
    for (uint32_t k = 0; k < FAKE_CROWD_PARTITIONS; k++) {
        double at = 400 + 900.0 * (k / 2);
        const char *device = k % 2 ? "cuda:1" : "cuda:0";
        fake_put(&t, (fake_span){root, "witness", 10 + 30 * k, 190 + 30 * k, (int)k, NULL, 0, 0});
        uint64_t p = fake_put(&t, (fake_span){root, "prove", at, at + 890, (int)k, device, 0, 0});
        for (uint32_t i = 0; i < n_each; i++)
            fake_put(&t, (fake_span){p, names[i % ARRAY_LEN(names)], at + 890.0 * i / n_each,
                                     at + 890.0 * (i + 1) / n_each, (int)k, device, 0, 0});
    }
    json_end_array(&t.w);
    json_end_object(&t.w);
    cuzk_status st = json_write_finish(&t.w);
    if (st.code == CUZK_OK)
        *json = t.w.buf;
    else
        json_write_fini(&t.w);
    return st;
}

#define FAKE_RUNNING_ID "porep-1000-4213"
#define FAKE_DONE_ID "porep-1000-4212"
#define FAKE_FAILED_ID "snap-1000-<b>77</b>"
#define FAKE_ODD_ID "wdpost-1000-0-[12 7 200 9 1 88 3 41]"
#define FAKE_SLASH_ID "a/b?c=\xc3\xa9&d%2F"

static double fake_cycle_ms(const engine *e)
{
    double t = (double)(fake_now_ms(e) - e->start_ms) - 5000;
    while (t >= FAKE_CYCLE_MS)
        t -= FAKE_CYCLE_MS;
    return t > 0 ? t : 0;
}

static void fake_name(job_view *v, const char *job_id)
{
    snprintf(v->job_id, sizeof v->job_id, "%s", job_id);
    snprintf(v->request_id, sizeof v->request_id, "%s", job_id);
}

static job_view fake_done(const engine *e, uint32_t i)
{
    job_view v = {.kind = PROOF_POREP, .priority = JOB_NORMAL, .state = JOB_DONE};
    char id[64];
    snprintf(id, sizeof id, "porep-1000-%u", 4212 - i);
    fake_name(&v, id);
    strcpy(v.circuit_id, "porep-32g");
    strcpy(v.device, i % 2 ? "cuda:1" : "cuda:0");
    v.n_partitions = v.n_partitions_done = FAKE_PARTITIONS;
    v.sector_size = (uint64_t)32 << 30;
    v.sector_number = 4212 - i;
    v.miner_id = 1000;
    v.progress = 1;
    v.n_retries = i == 3;
    v.created_unix_ms = e->start_ms - 30000 - 61000 * (uint64_t)i;
    v.started_unix_ms = v.created_unix_ms + 1290;
    v.finished_unix_ms = v.created_unix_ms + 5802;
    v.proof_bytes = (size_t)192 * FAKE_PARTITIONS;
    v.times = (job_times){859, 814, 216, 3402, 240, 5802};
    if (i % 5 == 4) {
        v.kind = PROOF_WINDOW;
        v.priority = JOB_HIGH;
        strcpy(v.circuit_id, "window-32g");
        v.n_partitions = v.n_partitions_done = 1;
        v.times = (job_times){40, 0, 210, 3080, 11, 3420};
        v.finished_unix_ms = v.created_unix_ms + 3420;
        v.proof_bytes = 192;
    }
    return v;
}

static job_view fake_running(const engine *e)
{
    job_view v = fake_done(e, 0);
    double t = fake_cycle_ms(e);
    fake_name(&v, FAKE_RUNNING_ID);
    v.sector_number = 4213;
    v.state = t < 431 ? JOB_DECODING : t < 5500 ? JOB_PROVING : JOB_VERIFYING;
    double done = (t - 2300) / 320;
    v.n_partitions_done = done < 0 ? 0 : done > 10 ? FAKE_PARTITIONS : (uint32_t)done;
    v.progress = t / FAKE_CYCLE_MS;
    v.created_unix_ms = fake_now_ms(e) - (uint64_t)t;
    v.started_unix_ms = v.created_unix_ms + 431;
    v.finished_unix_ms = 0;
    v.proof_bytes = 0;
    v.n_retries = 0;
    v.times = (job_times){859, 814, 0, 0, 0, (uint64_t)t};
    if (e->scene == FAKE_CROWD) {
        v.n_partitions = FAKE_CROWD_PARTITIONS;
        v.n_partitions_done = (uint32_t)(v.progress * FAKE_CROWD_PARTITIONS);
    }
    return v;
}

static job_view fake_queued(const engine *e, uint32_t i)
{
    job_view v = fake_done(e, 0);
    char id[64];
    snprintf(id, sizeof id, "porep-1000-%u", 4214 + i);
    fake_name(&v, id);
    v.state = JOB_QUEUED;
    v.sector_number = 4214 + i;
    v.queue_position = i + 1;
    v.n_partitions_done = 0;
    v.progress = 0;
    v.created_unix_ms = e->start_ms - 9000 + 700 * (uint64_t)i;
    v.started_unix_ms = v.finished_unix_ms = 0;
    v.proof_bytes = 0;
    v.device[0] = 0;
    v.times = (job_times){0};
    return v;
}

static job_view fake_failed(const engine *e)
{
    job_view v = fake_done(e, 2);
    fake_name(&v, FAKE_FAILED_ID);
    v.kind = PROOF_SNAP;
    v.priority = JOB_LOW;
    v.state = JOB_FAILED;
    strcpy(v.circuit_id, "snap-32g");
    v.n_partitions = 16;
    v.n_partitions_done = 3;
    v.progress = 0.2;
    v.created_unix_ms += 7;
    v.proof_bytes = 0;
    v.n_retries = 1;
    v.error_code = CUZK_E_VERIFY;
    strcpy(v.error, "snap 32GiB, sector 77, partition 3, stage verify: proof does not verify on "
                    "cuda:1 nor on cpu <img src=x onerror=\"document.title='owned'\">");
    return v;
}

static job_view fake_odd(const engine *e, const char *id, job_state state)
{
    job_view v = fake_done(e, 4);
    fake_name(&v, id);
    v.state = state;
    v.kind = PROOF_WINDOW;
    v.created_unix_ms += 11;
    if (state == JOB_CANCELLED) {
        v.error_code = CUZK_E_CANCELLED;
        strcpy(v.error, "cancelled by the client");
        v.n_partitions_done = 0;
        v.progress = 0;
    }
    return v;
}

#define FAKE_N_QUEUED 7u
#define FAKE_N_CROWD 500u
#define FAKE_N_JOBS (1 + FAKE_N_QUEUED + 3 + FAKE_N_DONE) /* of a busy machine */
#define FAKE_JOBS_MAX (1 + FAKE_N_CROWD + 3 + FAKE_N_DONE)

static uint32_t fake_n_queued(const engine *e)
{
    return e->scene == FAKE_CROWD ? FAKE_N_CROWD : FAKE_N_QUEUED;
}

static int fake_newest_first(const void *a, const void *b)
{
    const job_view *x = a, *y = b;
    return (x->created_unix_ms < y->created_unix_ms) - (x->created_unix_ms > y->created_unix_ms);
}

/* Returns how many. */
static uint32_t fake_jobs(const engine *e, job_view out[FAKE_JOBS_MAX])
{
    uint32_t n = 0;
    if (e->scene == FAKE_EMPTY)
        return 0;
    out[n++] = fake_running(e);
    for (uint32_t i = fake_n_queued(e); i-- > 0;)
        out[n++] = fake_queued(e, i);
    out[n++] = fake_done(e, 0);
    out[n++] = fake_failed(e);
    out[n++] = fake_odd(e, FAKE_ODD_ID, JOB_DONE);
    out[n++] = fake_odd(e, FAKE_SLASH_ID, JOB_CANCELLED);
    for (uint32_t i = 1; i < FAKE_N_DONE; i++)
        out[n++] = fake_done(e, i);
    qsort(out, n, sizeof *out, fake_newest_first);
    return n;
}

bool engine_is_ready(const engine *e) { return e->is_ready; }

cuzk_status engine_list_jobs(engine *e, int state, uint32_t limit, job_view **out, uint32_t *n)
{
    static job_view all[FAKE_JOBS_MAX];
    *out = NULL;
    *n = 0;
    CUZK_TRY(fake_fail(e));
    uint32_t n_all = fake_jobs(e, all);
    job_view *jobs = mem_alloc(sizeof all, 16);
    if (!jobs)
        return cuzk_fail(CUZK_E_NOMEM, "job list");
    for (uint32_t i = 0; i < n_all && (!limit || *n < limit); i++)
        if (state < 0 || all[i].state == (job_state)state)
            jobs[(*n)++] = all[i];
    *out = jobs;
    return cuzk_ok();
}

cuzk_status engine_get_job(engine *e, const char *job_id, job_view *out)
{
    static job_view all[FAKE_JOBS_MAX];
    CUZK_TRY(fake_fail(e));
    uint32_t n_all = fake_jobs(e, all);
    for (uint32_t i = 0; i < n_all; i++)
        if (strcmp(all[i].job_id, job_id) == 0) {
            *out = all[i];
            return cuzk_ok();
        }
    return cuzk_fail(CUZK_E_NOT_FOUND, "job %s is not known", job_id);
}

cuzk_status engine_get_timeline(engine *e, const char *job_id, char **json)
{
    job_view v;
    *json = NULL;
    CUZK_TRY(engine_get_job(e, job_id, &v));
    if (v.state == JOB_QUEUED || v.state == JOB_CANCELLED)
        return cuzk_fail(CUZK_E_NOT_FOUND, "job %s has no timeline", job_id);
    if (e->scene == FAKE_CROWD && v.state == JOB_DONE)
        return fake_crowd_timeline(json, job_id);
    return fake_porep_timeline(json, job_id, v.state == JOB_DONE ? 1e9 : fake_cycle_ms(e));
}

/* ---- snapshot ---- */

static void fake_hist(engine_hist *h, double around_s, uint64_t n)
{
    for (size_t i = 0; i < ENGINE_HIST_BUCKETS; i++)
        if (ENGINE_HIST_BOUNDS[i] >= around_s) {
            h->count[i] += n - n / 8;
            h->count[i + 1] += n / 8;
            break;
        }
    h->sum += around_s * (double)n;
}

static void fake_histograms(engine_snapshot *s)
{
    static const double around[PROOF_N_KINDS][ENGINE_N_STAGES] = {
        {0.34, 0.86, 0.8, 1.4, 3.4, 0.24, 0.012, 5.8},
        {0.004, 0.003, 0, 0.02, 0.09, 0.005, 0.008, 0.14},
        {0.02, 0.04, 0, 0.21, 3.1, 0.01, 0.009, 3.4},
        {0.3, 4.2, 0.8, 1.2, 4.1, 0.3, 0.011, 11.2},
    };
    for (uint32_t k = 0; k < PROOF_N_KINDS; k++)
        for (uint32_t i = 0; i < ENGINE_N_STAGES; i++)
            if (around[k][i] > 0)
                fake_hist(&s->stages[k][i], around[k][i], s->completed[k]);
}

static void fake_devices(const engine *e, engine_snapshot *s)
{
    static const char *const names[] = {"cuda:0", "cuda:1", "cpu"};
    double t = fake_cycle_ms(e);
    for (uint32_t i = 0; i < 3; i++) {
        engine_device_view *d = &s->devices[i];
        strcpy(d->name, names[i]);
        strcpy(d->description,
               i < 2 ? "NVIDIA H200, 141 GB, driver 570" : "2 threads, AVX-512 IFMA");
        d->memory_total = i < 2 ? (uint64_t)140 << 30 : 0;
        d->memory_used = i < 2 ? (uint64_t)(i ? 52 : 97) << 30 : 0;
        d->busy_seconds = s->uptime_seconds * (i == 0 ? 0.81 : i == 1 ? 0.64 : 0.02);
        d->is_healthy = i != 1;
        d->n_faults = i == 1 ? 2 : 0;
        d->n_partitions = i == 0 ? 21873 : i == 1 ? 18211 : 12;
        if (i < 2 && t > 2300 && t < 5500) {
            strcpy(d->job_id, FAKE_RUNNING_ID);
            d->kind = PROOF_POREP;
            d->partition = (uint32_t)((t - 2300) / 640) * 2 + i;
        }
    }
}

static void fake_keys(const engine *e, engine_snapshot *s)
{
    static const struct {
        const char *id;
        uint64_t mib;
    } keys[] = {
        {"porep-32g", 46080}, {"winning-32g", 184}, {"window-32g", 57344}, {"snap-32g", 33792}};
    for (uint32_t i = 0; i < 4; i++) {
        engine_key_view *k = &s->keys[i];
        strcpy(k->circuit_id, keys[i].id);
        k->host_bytes = keys[i].mib << (i == 3 ? 20 : 15);
        k->device_bytes = i == 3 ? 0 : keys[i].mib << 20;
        k->last_used_unix_ms = fake_now_ms(e) - 41000 * (uint64_t)i;
        k->load_ms = keys[i].mib / 14;
        k->n_users = i == 0 ? 3 : 0;
        k->is_loading = i == 3;
    }
}

/* The running job's partitions, as its view has them. */
static void fake_parts(const engine *e, engine_snapshot *s)
{
    job_view v = fake_running(e);
    double t = fake_cycle_ms(e);
    strcpy(s->job_parts[0].job_id, v.job_id);
    s->job_parts[0].n = v.n_partitions;
    s->n_job_parts = 1;
    for (uint32_t k = 0; k < v.n_partitions; k++) {
        double begun = 2120 + 148.0 * k;
        engine_part_view *p = &s->parts[k];
        *p = (engine_part_view){ENGINE_PART_PENDING, ENGINE_NO_TIME, ENGINE_NO_TIME};
        if (t < begun)
            continue;
        bool has_witness = t > begun + 120 || k < v.n_partitions_done;
        p->state = has_witness ? ENGINE_PART_READY : ENGINE_PART_WITNESS;
        p->witness_ms = has_witness ? 120 + 11 * (k % 4) : (uint64_t)(t - begun);
        if (k < v.n_partitions_done) {
            p->state = ENGINE_PART_DONE;
            p->device_ms = 600 + (k == 6 ? 182 : 0);
        } else if (k < v.n_partitions_done + 2 && has_witness) {
            p->state = ENGINE_PART_DEVICE;
            p->device_ms = (uint64_t)t % 600;
        }
    }
}

cuzk_status engine_get_snapshot(engine *e, engine_snapshot *out)
{
    *out = (engine_snapshot){0};
    CUZK_TRY(fake_fail(e));
    if (e->scene == FAKE_EMPTY) {
        *out = (engine_snapshot){.is_ready = e->is_ready, .memory_budget = (uint64_t)8 << 30};
        out->preloads = mem_zalloc(sizeof *out->preloads, 16);
        if (!out->preloads)
            return cuzk_fail(CUZK_E_NOMEM, "snapshot");
        out->n_preloads = 1;
        strcpy(out->preloads[0].circuit_id, "snap-32g");
        out->preloads[0].state = ENGINE_PRELOAD_FAILED;
        strcpy(out->preloads[0].error, "no file <b>v28</b>");
        return cuzk_ok();
    }
    out->job_parts = mem_zalloc(sizeof *out->job_parts, 16);
    out->parts = mem_zalloc(FAKE_CROWD_PARTITIONS * sizeof *out->parts, 16);
    out->devices = mem_zalloc(3 * sizeof *out->devices, 16);
    out->keys = mem_zalloc(4 * sizeof *out->keys, 16);
    if (!out->devices || !out->keys || !out->job_parts || !out->parts) {
        engine_snapshot_fini(out);
        return cuzk_fail(CUZK_E_NOMEM, "snapshot");
    }
    out->n_devices = 3;
    out->n_keys = 4;
    out->uptime_seconds = 93784.2 + (double)(fake_now_ms(e) - e->start_ms) / 1000;
    out->is_ready = e->is_ready;
    out->is_draining = e->is_draining;
    out->n_threads = 32;
    out->queued[PROOF_POREP][JOB_NORMAL] = fake_n_queued(e) + e->n_hidden;
    out->running[PROOF_POREP] = 1;
    memcpy(out->completed, (uint64_t[]){3911, 212, 480, 96}, sizeof out->completed);
    memcpy(out->failed, (uint64_t[]){2, 0, 0, 1}, sizeof out->failed);
    out->cancelled[PROOF_WINDOW] = 1;
    out->rejected_invalid = 4;
    out->rejected_busy = 1;
    out->deduplicated = 17;
    out->self_check_failures = 1;
    out->partition_retries = 3;
    out->device_faults = 2;
    out->unaccounted_seconds = 1.284;
    out->memory_budget = (uint64_t)64 << 30;
    out->memory_used = (uint64_t)19 << 30;
    out->memory_rss = (uint64_t)4407 << 20;
    out->request_bytes = (uint64_t)310 << 20;
    out->key_hits = 4675;
    out->key_misses = 9;
    out->key_evictions = 5;
    out->store_bytes = (uint64_t)212 << 20;
    for (uint32_t i = 0; i < 60; i++)
        out->per_minute[i] = i > 22 && i < 27 ? 0 : 6 + i * 7 % 5 + (i > 40 ? 3 : 0);
    fake_histograms(out);
    fake_devices(e, out);
    fake_keys(e, out);
    fake_parts(e, out);
    return cuzk_ok();
}

void engine_snapshot_fini(engine_snapshot *s)
{
    mem_free(s->devices);
    mem_free(s->keys);
    mem_free(s->job_parts);
    mem_free(s->preloads);
    mem_free(s->parts);
    *s = (engine_snapshot){0};
}
#endif
