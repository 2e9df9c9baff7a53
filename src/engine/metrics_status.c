/* The status JSON (docs/http.md): the fields existing clients read, then ours. */
#include "engine/metrics.h"
#include "build_facts.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t now_unix_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static double secs_since(uint64_t now_ms, uint64_t then_ms)
{
    return then_ms && then_ms < now_ms ? (double)(now_ms - then_ms) / 1000 : 0;
}

static void kv_str_or_null(json_writer *w, const char *key, const char *s)
{
    json_kv_str(w, key, s[0] ? s : NULL);
}

static uint64_t sum_kinds(const uint64_t v[PROOF_N_KINDS])
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < PROOF_N_KINDS; k++)
        sum += v[k];
    return sum;
}

static uint64_t sum_priorities(const uint64_t v[JOB_N_PRIORITIES])
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < JOB_N_PRIORITIES; i++)
        sum += v[i];
    return sum;
}

static uint32_t count_busy(const engine_snapshot *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_devices; i++)
        n += s->devices[i].job_id[0] != 0;
    return n;
}

void engine_job_json(json_writer *w, const job_view *v)
{
    json_begin_object(w);
    json_kv_str(w, "job_id", v->job_id);
    json_kv_str(w, "request_id", v->request_id);
    json_kv_str(w, "proof_kind", ENGINE_KIND_LABELS[v->kind]);
    json_kv_str(w, "circuit_id", v->circuit_id);
    json_kv_str(w, "priority", JOB_PRIORITY_NAMES[v->priority]);
    json_kv_str(w, "state", JOB_STATE_NAMES[v->state]);
    json_kv_u64(w, "sector_size", v->sector_size);
    json_kv_u64(w, "sector_number", v->sector_number);
    json_kv_u64(w, "miner_id", v->miner_id);
    json_kv_f64(w, "progress", v->progress);
    json_kv_u64(w, "total_partitions", v->n_partitions);
    json_kv_u64(w, "partitions_done", v->n_partitions_done);
    json_kv_u64(w, "retries", v->n_retries);
    json_kv_u64(w, "queue_position", v->queue_position);
    json_kv_u64(w, "created_unix_ms", v->created_unix_ms);
    json_kv_u64(w, "started_unix_ms", v->started_unix_ms);
    json_kv_u64(w, "finished_unix_ms", v->finished_unix_ms);
    json_kv_u64(w, "deadline_unix_ms", v->deadline_unix_ms);
    json_key(w, "times");
    json_begin_object(w);
    json_kv_u64(w, "queue_wait_ms", v->times.queue_wait_ms);
    json_kv_u64(w, "key_load_ms", v->times.key_load_ms);
    json_kv_u64(w, "witness_ms", v->times.witness_ms);
    json_kv_u64(w, "device_ms", v->times.device_ms);
    json_kv_u64(w, "verify_ms", v->times.verify_ms);
    json_kv_u64(w, "total_ms", v->times.total_ms);
    json_end_object(w);
    json_kv_u64(w, "proof_bytes", v->proof_bytes);
    kv_str_or_null(w, "device", v->device);
    json_kv_str(w, "error_code", v->error_code == CUZK_OK ? NULL : cuzk_code_name(v->error_code));
    kv_str_or_null(w, "error", v->error);
    json_end_object(w);
}

static const char *const PART_STATE_NAMES[ENGINE_PART_N_STATES] = {
    [ENGINE_PART_PENDING] = "pending",  [ENGINE_PART_WITNESS] = "synthesizing",
    [ENGINE_PART_READY] = "synth_done", [ENGINE_PART_DEVICE] = "gpu",
    [ENGINE_PART_DONE] = "done",        [ENGINE_PART_FAILED] = "failed",
};

static void put_partition(json_writer *w, uint32_t k, const engine_part_view *p)
{
    json_begin_object(w);
    json_kv_u64(w, "index", k);
    json_kv_str(w, "state", PART_STATE_NAMES[p->state]);
    json_key(w, "synth_ms");
    if (p->witness_ms == ENGINE_NO_TIME)
        json_null(w);
    else
        json_u64(w, p->witness_ms);
    json_key(w, "gpu_ms");
    if (p->device_ms == ENGINE_NO_TIME)
        json_null(w);
    else
        json_u64(w, p->device_ms);
    json_end_object(w);
}

/* A job that memory holds no more (or not yet) tells how many partitions are done, not which: they
 * are shown from the lowest number up. */
static engine_part_view guess_partition(const job_view *v, uint32_t k)
{
    uint32_t n_done = v->state == JOB_DONE ? v->n_partitions : v->n_partitions_done;
    engine_part_state rest =
        job_state_is_final(v->state) ? ENGINE_PART_FAILED : ENGINE_PART_PENDING;
    return (engine_part_view){.state = k < n_done ? ENGINE_PART_DONE : rest,
                              .witness_ms = ENGINE_NO_TIME,
                              .device_ms = ENGINE_NO_TIME};
}

static void put_partitions(json_writer *w, const engine_snapshot *s, const job_view *v)
{
    const engine_part_view *parts = NULL;
    for (uint32_t i = 0; i < s->n_job_parts && !parts; i++)
        if (strcmp(s->job_parts[i].job_id, v->job_id) == 0 && s->job_parts[i].n == v->n_partitions)
            parts = &s->parts[s->job_parts[i].first];
    json_begin_array(w);
    for (uint32_t k = 0; k < v->n_partitions && k < JOB_PARTITIONS_MAX; k++) {
        engine_part_view p = parts ? parts[k] : guess_partition(v, k);
        put_partition(w, k, &p);
    }
    json_end_array(w);
}

static void put_pipelines(json_writer *w, const engine_snapshot *s, const job_view *jobs,
                          uint32_t n_jobs)
{
    uint64_t now = now_unix_ms();
    json_begin_array(w);
    for (uint32_t i = 0; i < n_jobs; i++) {
        const job_view *v = &jobs[i];
        if (v->state == JOB_QUEUED ||
            (job_state_is_final(v->state) && v->finished_unix_ms + ENGINE_ENDED_SHOWN_MS < now))
            continue;
        json_begin_object(w);
        json_kv_str(w, "job_id", v->job_id);
        json_kv_str(w, "proof_kind", ENGINE_KIND_LABELS[v->kind]);
        json_kv_f64(w, "started_secs_ago", secs_since(now, v->started_unix_ms));
        json_kv_u64(w, "total_partitions", v->n_partitions);
        json_kv_u64(w, "partitions_done", v->n_partitions_done);
        json_key(w, "partitions");
        put_partitions(w, s, v);
        json_kv_str(w, "state", JOB_STATE_NAMES[v->state]);
        json_kv_str(w, "priority", JOB_PRIORITY_NAMES[v->priority]);
        json_kv_f64(w, "progress", v->progress);
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_gpu_workers(json_writer *w, const engine_snapshot *s, const job_view *jobs,
                            uint32_t n_jobs)
{
    uint64_t now = now_unix_ms();
    json_begin_array(w);
    for (uint32_t i = 0; i < s->n_devices; i++) {
        const engine_device_view *d = &s->devices[i];
        const char *colon = strchr(d->name, ':');
        bool busy = d->job_id[0] != 0;
        const job_view *job = NULL;
        for (uint32_t j = 0; busy && !job && j < n_jobs; j++)
            if (strcmp(jobs[j].job_id, d->job_id) == 0)
                job = &jobs[j];
        json_begin_object(w);
        json_kv_u64(w, "worker_id", i);
        json_kv_u64(w, "gpu_ordinal", colon ? strtoul(colon + 1, NULL, 10) : 0);
        json_kv_str(w, "state", busy ? "proving" : "idle");
        kv_str_or_null(w, "current_job", d->job_id);
        json_key(w, "current_partition");
        if (busy)
            json_u64(w, d->partition);
        else
            json_null(w);
        json_key(w, "busy_secs");
        if (job)
            json_f64(w, secs_since(now, job->started_unix_ms));
        else
            json_null(w);
        json_kv_str(w, "device", d->name);
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_allocations(json_writer *w, const engine_snapshot *s)
{
    uint64_t now = now_unix_ms();
    json_begin_object(w);
    json_key(w, "srs");
    json_begin_array(w);
    for (uint32_t i = 0; i < s->n_keys; i++) {
        const engine_key_view *k = &s->keys[i];
        json_begin_object(w);
        json_kv_str(w, "circuit_id", k->circuit_id);
        json_kv_u64(w, "bytes", k->host_bytes + k->device_bytes);
        json_kv_f64(w, "last_used_secs_ago",
                    k->n_users ? 0 : secs_since(now, k->last_used_unix_ms));
        json_kv_bool(w, "evictable", k->n_users == 0 && !k->is_loading);
        json_kv_u64(w, "host_bytes", k->host_bytes);
        json_kv_u64(w, "device_bytes", k->device_bytes);
        json_kv_u64(w, "users", k->n_users);
        json_kv_bool(w, "loading", k->is_loading);
        json_kv_u64(w, "load_ms", k->load_ms);
        json_end_object(w);
    }
    json_end_array(w);
    json_key(w, "pce"); /* circuits are not cached in files here */
    json_begin_array(w);
    json_end_array(w);
    json_end_object(w);
}

static void put_by_kind(json_writer *w, const char *key, const uint64_t v[PROOF_N_KINDS])
{
    json_key(w, key);
    json_begin_object(w);
    for (uint32_t k = 0; k < PROOF_N_KINDS; k++)
        json_kv_u64(w, ENGINE_KIND_LABELS[k], v[k]);
    json_end_object(w);
}

static void put_counters(json_writer *w, const engine_snapshot *s)
{
    uint64_t queued = 0;
    for (uint32_t k = 0; k < PROOF_N_KINDS; k++)
        queued += sum_priorities(s->queued[k]);
    json_begin_object(w);
    json_kv_u64(w, "total_completed", sum_kinds(s->completed));
    json_kv_u64(w, "total_failed", sum_kinds(s->failed));
    put_by_kind(w, "completed_by_kind", s->completed);
    put_by_kind(w, "failed_by_kind", s->failed);
    json_kv_u64(w, "queue_depth", queued);
    json_kv_u64(w, "total_cancelled", sum_kinds(s->cancelled));
    put_by_kind(w, "cancelled_by_kind", s->cancelled);
    json_kv_u64(w, "rejected_invalid", s->rejected_invalid);
    json_kv_u64(w, "rejected_busy", s->rejected_busy);
    json_kv_u64(w, "deduplicated", s->deduplicated);
    json_kv_u64(w, "self_check_failures", s->self_check_failures);
    json_kv_u64(w, "partition_retries", s->partition_retries);
    json_kv_u64(w, "device_faults", s->device_faults);
    json_kv_u64(w, "key_hits", s->key_hits);
    json_kv_u64(w, "key_misses", s->key_misses);
    json_kv_u64(w, "key_evictions", s->key_evictions);
    json_kv_f64(w, "unaccounted_secs", s->unaccounted_seconds);
    json_end_object(w);
}

/* The sections existing clients read. */
static void put_existing(json_writer *w, const engine_snapshot *s, const job_view *jobs,
                         uint32_t n_jobs)
{
    uint32_t n_busy = count_busy(s);
    uint64_t running = sum_kinds(s->running);
    uint64_t on_cpu = running > n_busy ? running - n_busy : 0;
    json_kv_f64(w, "uptime_secs", s->uptime_seconds);
    json_key(w, "memory");
    json_begin_object(w);
    json_kv_u64(w, "total_bytes", s->memory_budget);
    json_kv_u64(w, "used_bytes", s->memory_used);
    json_kv_u64(w, "available_bytes",
                s->memory_budget > s->memory_used ? s->memory_budget - s->memory_used : 0);
    json_kv_u64(w, "rss_bytes", s->memory_rss);
    json_kv_u64(w, "request_bytes", s->request_bytes);
    json_kv_u64(w, "store_bytes", s->store_bytes);
    json_end_object(w);
    json_key(w, "synthesis");
    json_begin_object(w);
    json_kv_u64(w, "max_concurrent", s->n_threads);
    json_kv_u64(w, "active", on_cpu);
    json_end_object(w);
    json_key(w, "pipelines");
    put_pipelines(w, s, jobs, n_jobs);
    json_key(w, "gpu_workers");
    put_gpu_workers(w, s, jobs, n_jobs);
    json_key(w, "allocations");
    put_allocations(w, s);
    json_key(w, "counters");
    put_counters(w, s);
    json_key(w, "buffers"); /* inner buffers of the existing daemon; ours are pools */
    json_begin_object(w);
    json_kv_u64(w, "synth_in_flight", on_cpu);
    json_kv_u64(w, "provers_in_flight", n_busy);
    json_kv_u64(w, "aux_in_flight", 0);
    json_kv_u64(w, "shells_in_flight", 0);
    json_kv_u64(w, "pending_handles", 0);
    json_end_object(w);
}

static void put_queues(json_writer *w, const engine_snapshot *s)
{
    json_begin_array(w);
    for (uint32_t k = 0; k < PROOF_N_KINDS; k++) {
        json_begin_object(w);
        json_kv_str(w, "proof_kind", ENGINE_KIND_LABELS[k]);
        json_key(w, "queued");
        json_begin_object(w);
        for (uint32_t i = 0; i < JOB_N_PRIORITIES; i++)
            json_kv_u64(w, JOB_PRIORITY_NAMES[i], s->queued[k][i]);
        json_end_object(w);
        json_kv_u64(w, "running", s->running[k]);
        json_kv_u64(w, "completed", s->completed[k]);
        json_kv_u64(w, "failed", s->failed[k]);
        json_kv_u64(w, "cancelled", s->cancelled[k]);
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_devices(json_writer *w, const engine_snapshot *s)
{
    json_begin_array(w);
    for (uint32_t i = 0; i < s->n_devices; i++) {
        const engine_device_view *d = &s->devices[i];
        bool busy = d->job_id[0] != 0;
        json_begin_object(w);
        json_kv_str(w, "name", d->name);
        json_kv_str(w, "description", d->description);
        json_kv_u64(w, "memory_total_bytes", d->memory_total);
        json_kv_u64(w, "memory_used_bytes", d->memory_used);
        json_kv_f64(w, "busy_seconds", d->busy_seconds);
        json_kv_bool(w, "healthy", d->is_healthy);
        json_kv_bool(w, "silent", d->is_silent);
        json_kv_u64(w, "faults", d->n_faults);
        json_kv_u64(w, "partitions", d->n_partitions);
        kv_str_or_null(w, "current_job", d->job_id);
        json_kv_str(w, "current_kind", busy ? ENGINE_KIND_LABELS[d->kind] : NULL);
        json_key(w, "current_partition");
        if (busy)
            json_u64(w, d->partition);
        else
            json_null(w);
        json_end_object(w);
    }
    json_end_array(w);
}

static void put_stages(json_writer *w, const engine_snapshot *s)
{
    json_begin_array(w);
    for (uint32_t k = 0; k < PROOF_N_KINDS; k++)
        for (uint32_t i = 0; i < ENGINE_N_STAGES; i++) {
            const engine_hist *h = &s->stages[k][i];
            uint64_t n = engine_hist_count(h);
            if (n == 0)
                continue;
            json_begin_object(w);
            json_kv_str(w, "proof_kind", ENGINE_KIND_LABELS[k]);
            json_kv_str(w, "stage", ENGINE_STAGE_NAMES[i]);
            json_kv_u64(w, "count", n);
            json_kv_f64(w, "mean_secs", h->sum / (double)n);
            json_kv_f64(w, "p50_secs", engine_hist_quantile(h, 0.5));
            json_kv_f64(w, "p95_secs", engine_hist_quantile(h, 0.95));
            json_kv_f64(w, "p99_secs", engine_hist_quantile(h, 0.99));
            json_end_object(w);
        }
    json_end_array(w);
}

static void put_preloads(json_writer *w, const engine_snapshot *s)
{
    json_begin_array(w);
    for (uint32_t i = 0; i < s->n_preloads; i++) {
        json_begin_object(w);
        json_kv_str(w, "circuit_id", s->preloads[i].circuit_id);
        json_kv_str(w, "state", ENGINE_PRELOAD_STATE_NAMES[s->preloads[i].state]);
        kv_str_or_null(w, "error", s->preloads[i].error);
        json_end_object(w);
    }
    json_end_array(w);
}

void engine_status_json(json_writer *w, const engine_snapshot *s, const job_view *jobs,
                        uint32_t n_jobs)
{
    json_begin_object(w);
    put_existing(w, s, jobs, n_jobs);
    json_kv_u64(w, "now_unix_ms", now_unix_ms());
    json_kv_str(w, "version", CUZK_VERSION);
    json_kv_str(w, "commit", CUZK_GIT_COMMIT);
    json_kv_bool(w, "ready", s->is_ready);
    json_kv_bool(w, "draining", s->is_draining);
    json_kv_u64(w, "threads", s->n_threads);
    json_key(w, "queues");
    put_queues(w, s);
    json_key(w, "devices");
    put_devices(w, s);
    json_key(w, "preloads");
    put_preloads(w, s);
    json_key(w, "stages");
    put_stages(w, s);
    json_key(w, "throughput_per_minute");
    json_begin_array(w);
    for (size_t i = 0; i < ARRAY_LEN(s->per_minute); i++)
        json_u64(w, s->per_minute[i]);
    json_end_array(w);
    json_end_object(w);
}
