/* Metrics text and status JSON from snapshots. */
#include "unit/engine/prom_check.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "engine/metrics.h"
#include <time.h>

static prom_text parsed; /* too large for the stack */

static void parse_metrics(const engine_snapshot *s)
{
    char *text;
    size_t len;
    assert_ok(engine_metrics_text(s, &text, &len));
    prom_parse(&parsed, text, len);
    mem_free(text);
}

static void test_empty_snapshot_gives_well_formed_text(void **state)
{
    (void)state;
    engine_snapshot s = {0};
    parse_metrics(&s);
    assert_true(prom_value(&parsed, "cuzk_proofs_completed_total") == 0);
    assert_true(prom_value(&parsed, "cuzk_proofs_completed{proof_kind=\"snap_update\"}") == 0);
    prom_fini(&parsed);
}

static void test_names_of_the_existing_daemon_are_kept(void **state)
{
    static const struct {
        const char *name, *type;
    } names[] = {
        {"cuzk_proofs_completed_total", "counter"},
        {"cuzk_proofs_failed_total", "counter"},
        {"cuzk_uptime_seconds", "gauge"},
        {"cuzk_queue_depth", "gauge"},
        {"cuzk_proofs_completed", "counter"},
        {"cuzk_proofs_failed", "counter"},
        {"cuzk_proof_duration_seconds", "summary"},
        {"cuzk_running_jobs", "gauge"},
        {"cuzk_gpu_workers", "gauge"},
    };
    (void)state;
    engine_snapshot s = {0};
    parse_metrics(&s);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_string_equal(prom_type(&parsed, names[i].name), names[i].type);
    prom_fini(&parsed);
}

/* Every number of the snapshot has a value of its own, so a mix-up shows. */
static engine_preload_view preloads[] = {
    {.circuit_id = "winning-32g", .state = ENGINE_PRELOAD_READY},
    {.circuit_id = "wpost-32g", .state = ENGINE_PRELOAD_LOADING, .error = "no \"such\" file"}};

static void fill(engine_snapshot *s, engine_device_view *devices, engine_key_view *keys)
{
    *s = (engine_snapshot){.uptime_seconds = 1000.75,
                           .is_ready = true,
                           .is_draining = true,
                           .n_threads = 3,
                           .rejected_invalid = 101,
                           .rejected_busy = 102,
                           .transport = {.calls_started = 111,
                                         .calls_live = 112,
                                         .bodies_live = 113,
                                         .bodies_waiting = 114,
                                         .refused_token = 115,
                                         .refused_busy = 116,
                                         .refused_invalid = 117,
                                         .cancelled = 118,
                                         .connections_accepted = 119,
                                         .connections_refused = 120},
                           .deduplicated = 103,
                           .self_check_failures = 104,
                           .partition_retries = 105,
                           .device_faults = 106,
                           .unaccounted_seconds = 1.0625,
                           .memory_budget = 201,
                           .memory_used = 202,
                           .memory_rss = 203,
                           .request_bytes = 204,
                           .key_hits = 301,
                           .key_misses = 302,
                           .key_evictions = 303,
                           .store_bytes = 304,
                           .devices = devices,
                           .n_devices = 2,
                           .keys = keys,
                           .n_keys = 1,
                           .preloads = preloads,
                           .n_preloads = ARRAY_LEN(preloads)};
    for (uint32_t k = 0; k < PROOF_N_KINDS; k++) {
        s->running[k] = 10 + k;
        s->completed[k] = 1000 * (k + 1);
        s->failed[k] = 20 + k;
        s->cancelled[k] = 30 + k;
        for (uint32_t i = 0; i < JOB_N_PRIORITIES; i++)
            s->queued[k][i] = 40 + 10 * k + i;
        for (uint32_t i = 0; i < ENGINE_N_STAGES; i++) {
            engine_hist *h = &s->stages[k][i];
            for (uint32_t b = 0; b <= ENGINE_HIST_BUCKETS; b++)
                h->count[b] = k + i + b;
            h->sum = 100.0 * k + i + 0.5;
        }
    }
    devices[0] = (engine_device_view){.name = "cuda:0",
                                      .description = "a \"card\" \\ with\nall of it",
                                      .memory_total = 401,
                                      .memory_used = 402,
                                      .busy_seconds = 250.1875,
                                      .is_healthy = true,
                                      .n_faults = 403,
                                      .n_partitions = 404,
                                      .job_id = "job-1",
                                      .kind = PROOF_SNAP,
                                      .partition = 2};
    devices[1] = (engine_device_view){.name = "cpu", .description = "slow", .is_silent = true};
    keys[0] = (engine_key_view){.circuit_id = "porep-32g",
                                .host_bytes = 501,
                                .device_bytes = 502,
                                .last_used_unix_ms = 503500,
                                .load_ms = 504250,
                                .n_users = 5,
                                .is_loading = true};
}

static void test_every_number_appears_under_its_name(void **state)
{
    static const struct {
        const char *series;
        double value;
    } want[] = {
        {"cuzk_uptime_seconds", 1000},
        {"cuzk_ready", 1},
        {"cuzk_draining", 1},
        {"cuzk_threads", 3},
        {"cuzk_gpu_workers", 2},
        {"cuzk_proofs_completed_total", 10000},
        {"cuzk_proofs_failed_total", 86},
        {"cuzk_queue_depth", 904},
        {"cuzk_running_jobs", 46},
        {"cuzk_active_jobs{proof_kind=\"window_post\"}", 12},
        {"cuzk_proofs_completed{proof_kind=\"porep_c2\"}", 1000},
        {"cuzk_proofs_completed{proof_kind=\"winning_post\"}", 2000},
        {"cuzk_proofs_failed{proof_kind=\"window_post\"}", 22},
        {"cuzk_proofs_cancelled{proof_kind=\"snap_update\"}", 33},
        {"cuzk_queued_jobs{proof_kind=\"winning_post\",priority=\"critical\"}", 53},
        {"cuzk_queued_jobs{proof_kind=\"snap_update\",priority=\"low\"}", 70},
        {"cuzk_requests_rejected_total{reason=\"invalid\"}", 101},
        {"cuzk_requests_rejected_total{reason=\"busy\"}", 102},
        {"cuzk_requests_deduplicated_total", 103},
        {"cuzk_self_check_failures_total", 104},
        {"cuzk_partition_retries_total", 105},
        {"cuzk_device_faults_total", 106},
        {"cuzk_unaccounted_seconds_total", 1.0625},
        {"cuzk_memory_budget_bytes", 201},
        {"cuzk_memory_used_bytes", 202},
        {"process_resident_memory_bytes", 203},
        {"cuzk_request_bytes", 204},
        {"cuzk_rpc_calls_total", 111},
        {"cuzk_rpc_calls", 112},
        {"cuzk_rpc_bodies", 113},
        {"cuzk_rpc_bodies_waiting", 114},
        {"cuzk_rpc_refused_total{reason=\"token\"}", 115},
        {"cuzk_rpc_refused_total{reason=\"busy\"}", 116},
        {"cuzk_rpc_refused_total{reason=\"invalid\"}", 117},
        {"cuzk_rpc_calls_cancelled_total", 118},
        {"cuzk_rpc_connections_total", 119},
        {"cuzk_rpc_connections_refused_total", 120},
        {"cuzk_key_cache_hits_total", 301},
        {"cuzk_key_cache_misses_total", 302},
        {"cuzk_key_cache_evictions_total", 303},
        {"cuzk_store_bytes", 304},
        {"cuzk_device_info{device=\"cuda:0\",description=\"a \\\"card\\\" \\\\ with\\nall of it\"}",
         1},
        {"cuzk_device_memory_bytes{device=\"cuda:0\"}", 401},
        {"cuzk_device_memory_used_bytes{device=\"cuda:0\"}", 402},
        {"cuzk_device_errors_total{device=\"cuda:0\"}", 403},
        {"cuzk_device_partitions_total{device=\"cuda:0\"}", 404},
        {"cuzk_device_busy_seconds_total{device=\"cuda:0\"}", 250.1875},
        {"cuzk_device_busy_ratio{device=\"cuda:0\"}", 0.25},
        {"cuzk_device_proving{device=\"cuda:0\"}", 1},
        {"cuzk_device_proving{device=\"cpu\"}", 0},
        {"cuzk_device_healthy{device=\"cuda:0\"}", 1},
        {"cuzk_device_healthy{device=\"cpu\"}", 0},
        {"cuzk_device_silent{device=\"cuda:0\"}", 0},
        {"cuzk_device_silent{device=\"cpu\"}", 1},
        {"cuzk_key_host_bytes{circuit_id=\"porep-32g\"}", 501},
        {"cuzk_key_device_bytes{circuit_id=\"porep-32g\"}", 502},
        {"cuzk_key_last_used_timestamp_seconds{circuit_id=\"porep-32g\"}", 503.5},
        {"cuzk_key_load_seconds{circuit_id=\"porep-32g\"}", 504.25},
        {"cuzk_key_users{circuit_id=\"porep-32g\"}", 5},
        {"cuzk_key_loading{circuit_id=\"porep-32g\"}", 1},
        {"cuzk_preload_ready{circuit_id=\"winning-32g\"}", 1},
        {"cuzk_preload_failed{circuit_id=\"winning-32g\"}", 0},
        {"cuzk_preload_ready{circuit_id=\"wpost-32g\"}", 0},
        {"cuzk_preload_failed{circuit_id=\"wpost-32g\"}", 1},
        {"cuzk_proof_duration_seconds_sum{proof_kind=\"winning_post\"}", 107.5},
        {"cuzk_proof_duration_seconds_count{proof_kind=\"winning_post\"}", 21 * 8 + 210},
        {"cuzk_job_duration_seconds_count{proof_kind=\"winning_post\"}", 21 * 8 + 210},
        {"cuzk_job_duration_seconds_bucket{proof_kind=\"porep_c2\",le=\"0.001\"}", 7},
        {"cuzk_queue_wait_seconds_sum{proof_kind=\"snap_update\"}", 301.5},
        {"cuzk_queue_wait_seconds_bucket{proof_kind=\"snap_update\",le=\"0.0025\"}", 4 + 5},
        {"cuzk_stage_duration_seconds_sum{proof_kind=\"window_post\",stage=\"device\"}", 204.5},
        {"cuzk_stage_duration_seconds_bucket{proof_kind=\"porep_c2\",stage=\"decode\",le=\"25\"}",
         13 * 14 / 2},
    };
    (void)state;
    engine_snapshot s;
    engine_device_view devices[2];
    engine_key_view keys[1];
    fill(&s, devices, keys);
    parse_metrics(&s);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        double got = prom_value(&parsed, want[i].series);
        if (got != want[i].value && !strstr(want[i].series, "ratio"))
            fail_msg("%s is %.17g, want %.17g", want[i].series, got, want[i].value);
        assert_true(got - want[i].value < 1e-3 && want[i].value - got < 1e-3);
    }
    for (uint32_t i = 0; i < parsed.n_families; i++)
        assert_true(parsed.families[i].has_samples);
    prom_fini(&parsed);
}

static void test_metrics_survive_every_failed_allocation(void **state)
{
    (void)state;
    engine_snapshot s = {0};
    uint64_t before = mem_get_stats().live_bytes;
    for (uint64_t n = 1;; n++) {
        char *text;
        size_t len;
        mem_fail_nth(n);
        cuzk_status st = engine_metrics_text(&s, &text, &len);
        mem_fail_nth(0);
        if (st.code == CUZK_OK) {
            assert_true(n > 2);
            mem_free(text);
            break;
        }
        assert_int_equal(st.code, CUZK_E_NOMEM);
        assert_null(text);
        assert_int_equal(len, 0);
    }
    assert_int_equal(mem_get_stats().live_bytes, before);
}

static void test_bounds_ascend(void **state)
{
    (void)state;
    for (size_t i = 1; i < ENGINE_HIST_BUCKETS; i++)
        assert_true(ENGINE_HIST_BOUNDS[i] > ENGINE_HIST_BOUNDS[i - 1]);
}

static void assert_near(double got, double want)
{
    if (got < want - 1e-9 || got > want + 1e-9)
        fail_msg("%.17g, want %.17g", got, want);
}

static void test_quantiles_lie_in_their_bucket(void **state)
{
    (void)state;
    engine_hist h = {0};
    assert_near(engine_hist_quantile(&h, 0.5), 0);
    h.count[0] = 10; /* up to 1 ms */
    assert_near(engine_hist_quantile(&h, 0.5), 0.0005);
    h.count[10] = 10; /* 1 to 2.5 s */
    assert_near(engine_hist_quantile(&h, 0.5), 0.001);
    assert_near(engine_hist_quantile(&h, 0.75), 1.75);
    h.count[ENGINE_HIST_BUCKETS] = 1000; /* above all */
    assert_near(engine_hist_quantile(&h, 0.99), ENGINE_HIST_BOUNDS[ENGINE_HIST_BUCKETS - 1]);
    assert_int_equal(engine_hist_count(&h), 1020);
}

/* ---- status ---- */

/* Text and document of the last status_of. */
static json_writer status_text;
static json_doc status_doc;

static void status_of(const engine_snapshot *s, const job_view *jobs, uint32_t n)
{
    json_write_init(&status_text, NULL, false);
    engine_status_json(&status_text, s, jobs, n);
    assert_ok(json_write_finish(&status_text));
    assert_ok(json_parse(&status_doc, status_text.buf, status_text.len));
}

static void status_fini(void)
{
    json_fini(&status_doc);
    json_write_fini(&status_text);
}

/* "a.b.0.c" from the root. */
static json_val at(const char *path)
{
    json_val v = json_root(&status_doc);
    char copy[128], *save = NULL;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *part = strtok_r(copy, ".", &save); part; part = strtok_r(NULL, ".", &save)) {
        if (json_val_kind(v) == JSON_ARRAY) {
            json_iter it;
            assert_ok(json_array(&it, v));
            for (long i = strtol(part, NULL, 10); i >= 0; i--)
                if (!json_next(&it, &v))
                    fail_msg("%s: too short", path);
        } else if (!json_member(&v, v, part)) {
            fail_msg("%s: no %s", path, part);
        }
    }
    return v;
}

static double number_at(const char *path)
{
    double d;
    assert_ok(json_get_double(&d, at(path)));
    return d;
}

static size_t length_at(const char *path)
{
    json_iter it;
    assert_ok(json_array(&it, at(path)));
    return it.n;
}

static uint64_t unix_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void test_status_has_every_existing_field(void **state)
{
    static const struct {
        const char *path;
        json_kind kind;
    } fields[] = {
        {"uptime_secs", JSON_NUMBER},
        {"memory.total_bytes", JSON_NUMBER},
        {"memory.used_bytes", JSON_NUMBER},
        {"memory.available_bytes", JSON_NUMBER},
        {"synthesis.max_concurrent", JSON_NUMBER},
        {"synthesis.active", JSON_NUMBER},
        {"pipelines.0.job_id", JSON_STRING},
        {"pipelines.0.proof_kind", JSON_STRING},
        {"pipelines.0.started_secs_ago", JSON_NUMBER},
        {"pipelines.0.total_partitions", JSON_NUMBER},
        {"pipelines.0.partitions_done", JSON_NUMBER},
        {"pipelines.0.partitions.0.index", JSON_NUMBER},
        {"pipelines.0.partitions.0.state", JSON_STRING},
        {"pipelines.0.partitions.0.synth_ms", JSON_NUMBER},
        {"pipelines.0.partitions.0.gpu_ms", JSON_NUMBER},
        {"pipelines.0.partitions.1.gpu_ms", JSON_NULL},
        {"pipelines.0.partitions.3.synth_ms", JSON_NULL},
        {"gpu_workers.0.worker_id", JSON_NUMBER},
        {"gpu_workers.0.gpu_ordinal", JSON_NUMBER},
        {"gpu_workers.0.state", JSON_STRING},
        {"gpu_workers.0.current_job", JSON_STRING},
        {"gpu_workers.0.current_partition", JSON_NUMBER},
        {"gpu_workers.0.busy_secs", JSON_NUMBER},
        {"gpu_workers.1.current_job", JSON_NULL},
        {"gpu_workers.1.current_partition", JSON_NULL},
        {"gpu_workers.1.busy_secs", JSON_NULL},
        {"allocations.srs.0.circuit_id", JSON_STRING},
        {"allocations.srs.0.bytes", JSON_NUMBER},
        {"allocations.srs.0.last_used_secs_ago", JSON_NUMBER},
        {"allocations.srs.0.evictable", JSON_FALSE},
        {"allocations.pce", JSON_ARRAY},
        {"counters.total_completed", JSON_NUMBER},
        {"counters.total_failed", JSON_NUMBER},
        {"counters.completed_by_kind.porep-c2", JSON_NUMBER},
        {"counters.failed_by_kind.snap-update", JSON_NUMBER},
        {"counters.queue_depth", JSON_NUMBER},
        {"buffers.synth_in_flight", JSON_NUMBER},
        {"buffers.provers_in_flight", JSON_NUMBER},
        {"buffers.aux_in_flight", JSON_NUMBER},
        {"buffers.shells_in_flight", JSON_NUMBER},
        {"buffers.pending_handles", JSON_NUMBER},
    };
    (void)state;
    engine_snapshot s;
    engine_device_view devices[2];
    engine_key_view keys[1];
    fill(&s, devices, keys);
    job_view job = {.job_id = "job-1", .kind = PROOF_SNAP, .state = JOB_PROVING};
    job.n_partitions = 4;
    job.n_partitions_done = 1;
    job.started_unix_ms = unix_ms() - 5000;
    engine_part_view parts[] = {{ENGINE_PART_DONE, 1, 1}, /* another job's */
                                {ENGINE_PART_DONE, 210, 3080},
                                {ENGINE_PART_READY, 190, ENGINE_NO_TIME},
                                {ENGINE_PART_DEVICE, 200, 70},
                                {ENGINE_PART_PENDING, ENGINE_NO_TIME, ENGINE_NO_TIME}};
    engine_job_parts of[] = {{.job_id = "job-0", .first = 0, .n = 1},
                             {.job_id = "job-1", .first = 1, .n = 4}};
    s.parts = parts;
    s.job_parts = of;
    s.n_job_parts = 2;
    status_of(&s, &job, 1);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (json_val_kind(at(fields[i].path)) != fields[i].kind)
            fail_msg("%s has another type", fields[i].path);
    static const char *const states[] = {"done", "synth_done", "gpu", "pending"};
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        char path[64];
        snprintf(path, sizeof path, "pipelines.0.partitions.%zu.state", i);
        assert_true(json_string_is(at(path), states[i]));
    }
    assert_true(number_at("pipelines.0.partitions.0.synth_ms") == 210);
    assert_true(number_at("pipelines.0.partitions.0.gpu_ms") == 3080);
    assert_true(number_at("pipelines.0.started_secs_ago") >= 5);
    assert_true(number_at("gpu_workers.0.busy_secs") >= 5);
    assert_true(number_at("memory.available_bytes") == 0); /* used more than the budget */
    assert_true(number_at("queues.3.queued.low") == 70);
    assert_true(number_at("devices.0.busy_seconds") == 250.1875);
    assert_true(json_string_is(at("preloads.0.circuit_id"), "winning-32g"));
    assert_true(json_string_is(at("preloads.0.state"), "ready"));
    assert_int_equal(json_val_kind(at("preloads.0.error")), JSON_NULL);
    assert_true(json_string_is(at("preloads.1.state"), "loading"));
    assert_true(json_string_is(at("preloads.1.error"), "no \"such\" file"));
    assert_int_equal(length_at("throughput_per_minute"), 60);
    assert_int_equal(length_at("stages"), PROOF_N_KINDS * ENGINE_N_STAGES);
    status_fini();
}

static void test_status_of_an_idle_engine(void **state)
{
    (void)state;
    engine_snapshot s = {.memory_budget = 100, .memory_used = 30};
    status_of(&s, NULL, 0);
    assert_true(number_at("memory.available_bytes") == 70);
    assert_int_equal(length_at("pipelines"), 0);
    assert_int_equal(length_at("gpu_workers"), 0);
    assert_int_equal(length_at("stages"), 0);
    status_fini();
}

static void test_pipelines_hold_what_runs_or_just_ended(void **state)
{
    (void)state;
    engine_snapshot s = {0};
    uint64_t now = unix_ms();
    job_view jobs[4] = {
        {.job_id = "waiting", .state = JOB_QUEUED},
        {.job_id = "running", .state = JOB_VERIFYING, .n_partitions = 1},
        {.job_id = "just", .state = JOB_FAILED, .n_partitions = 2, .n_partitions_done = 1},
        {.job_id = "before", .state = JOB_DONE, .n_partitions = 1},
    };
    jobs[2].finished_unix_ms = now - 1000;
    jobs[3].finished_unix_ms = now - 60000;
    status_of(&s, jobs, 4);
    assert_int_equal(length_at("pipelines"), 2);
    assert_true(json_string_is(at("pipelines.0.job_id"), "running"));
    assert_true(json_string_is(at("pipelines.1.job_id"), "just"));
    assert_true(json_string_is(at("pipelines.1.partitions.0.state"), "done"));
    assert_true(json_string_is(at("pipelines.1.partitions.1.state"), "failed"));
    assert_int_equal(json_val_kind(at("pipelines.1.partitions.0.gpu_ms")), JSON_NULL);
    status_fini();
}

static void test_job_json_is_valid_whatever_the_text(void **state)
{
    (void)state;
    job_view v = {.state = JOB_FAILED, .error_code = CUZK_E_VERIFY, .progress = 0.5};
    memset(v.job_id, 0xff, sizeof v.job_id - 1);
    strcpy(v.error, "a \"quote\", a \\, a \x01 and </script>");
    json_write_init(&status_text, NULL, false);
    engine_job_json(&status_text, &v);
    assert_ok(json_write_finish(&status_text));
    assert_ok(json_parse(&status_doc, status_text.buf, status_text.len));
    assert_true(json_string_is(at("error"), v.error));
    assert_true(json_string_is(at("error_code"), "CUZK_E_VERIFY"));
    assert_true(json_string_is(at("state"), "failed"));
    assert_true(json_val_kind(at("device")) == JSON_NULL);
    assert_true(number_at("progress") == 0.5);
    assert_true(number_at("times.total_ms") == 0);
    status_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_snapshot_gives_well_formed_text),
        cmocka_unit_test(test_names_of_the_existing_daemon_are_kept),
        cmocka_unit_test(test_every_number_appears_under_its_name),
        cmocka_unit_test(test_metrics_survive_every_failed_allocation),
        cmocka_unit_test(test_bounds_ascend),
        cmocka_unit_test(test_quantiles_lie_in_their_bucket),
        cmocka_unit_test(test_status_has_every_existing_field),
        cmocka_unit_test(test_status_of_an_idle_engine),
        cmocka_unit_test(test_pipelines_hold_what_runs_or_just_ended),
        cmocka_unit_test(test_job_json_is_valid_whatever_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
