/* cuzk bench e2e: many proofs through a daemon, as its clients make them. */
#include "base/mem.h"
#include "base/pool.h"
#include "cli/client.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define INPUTS_MAX 64u
#define COUNT_MAX 1000000u
#define CONCURRENCY_MAX 1024u
#define BUSY_PAUSE_MS 1000u
#define PROOF_BYTES 192u

/* One kind of request of the mix. */
typedef struct bench_input {
    char name[64];
    uint64_t weight;
    job_request request;
} bench_input;

typedef struct bench_sample {
    double ms;
    uint32_t input;
    bool ok;
    job_times times;
} bench_sample;

typedef struct bench_args {
    const char *count, *concurrency, *timeout, *inputs[INPUTS_MAX];
    size_t n_inputs;
    cli_common common;
    cli_server server;
} bench_args;

typedef struct bench {
    const bench_args *a;
    cli_env *e;
    rpc_client *c;
    bench_input inputs[INPUTS_MAX];
    uint32_t n_inputs;
    uint64_t total_weight, count, concurrency, timeout_ms, run_id;
    bench_sample *samples;
    atomic_uint_fast64_t n_done, n_busy;
    pthread_mutex_t mu; /* guards first_error */
    char first_error[300];
    double seconds;
} bench;

/* ---- inputs ---- */

/* PATH or PATH:WEIGHT. */
static cuzk_status split_weight(char path[4096], uint64_t *weight, const char *text)
{
    const char *colon = strrchr(text, ':');
    size_t len = strlen(text);
    *weight = 1;
    if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
        CUZK_TRY(cli_parse_u64(weight, "weight", colon + 1, 1000));
        len = (size_t)(colon - text);
    }
    if (len >= 4096 || *weight == 0)
        return cuzk_fail(CUZK_E_USAGE, "expected PATH or PATH:WEIGHT, found \"%.60s\"", text);
    memcpy(path, text, len);
    path[len] = 0;
    return cuzk_ok();
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* A folder of `cuzk gen`, a request.json, or a C1 file. */
static cuzk_status load_input(bench *b, const char *text)
{
    bench_input *in = &b->inputs[b->n_inputs];
    char path[4096], request[4200];
    struct stat s;
    const char *files[1] = {path};
    cli_input from = {.files = files, .n_files = 1};
    CUZK_TRY(split_weight(path, &in->weight, text));
    bool is_folder = stat(path, &s) == 0 && S_ISDIR(s.st_mode);
    snprintf(request, sizeof request, is_folder ? "%s/request.json" : "%s", path);
    if (is_folder || ends_with(path, "request.json"))
        from = (cli_input){.request = request};
    CUZK_TRY(cli_make_request(b->e, &from, &in->request));
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        path[--len] = 0;
    const char *slash = strrchr(path, '/');
    cli_format_text(in->name, sizeof in->name, slash ? slash + 1 : path);
    b->total_weight += in->weight;
    b->n_inputs++;
    return cuzk_ok();
}

static uint32_t input_of(const bench *b, uint64_t i)
{
    uint64_t at = i % b->total_weight;
    uint32_t k = 0;
    while (at >= b->inputs[k].weight)
        at -= b->inputs[k++].weight;
    return k;
}

/* ---- running ---- */

static void keep_error(bench *b, const char *input, const char *text)
{
    pthread_mutex_lock(&b->mu);
    if (!b->first_error[0])
        snprintf(b->first_error, sizeof b->first_error, "%s: %.220s", input, text);
    pthread_mutex_unlock(&b->mu);
}

static void pause_ms(const bench *b, uint64_t ms)
{
    const struct timespec step = {.tv_nsec = 20000000};
    for (uint64_t t = 0; t < ms && !run_cancelled(&b->e->rc); t += 20)
        nanosleep(&step, NULL);
}

/* A busy daemon says when to come again. */
static cuzk_status prove_patiently(bench *b, const job_request *r, rpc_result *out)
{
    for (;;) {
        cuzk_status st = rpc_client_prove(b->c, r, b->timeout_ms, out);
        if (st.code != CUZK_E_BUSY || run_cancelled(&b->e->rc))
            return st;
        atomic_fetch_add_explicit(&b->n_busy, 1, memory_order_relaxed);
        pause_ms(b, out->retry_after_ms ? out->retry_after_ms : BUSY_PAUSE_MS);
    }
}

static void prove_one(void *ctx, size_t i, unsigned thread_idx)
{
    bench *b = ctx;
    bench_sample *s = &b->samples[i];
    s->input = input_of(b, i);
    if (run_cancelled(&b->e->rc))
        return;
    const bench_input *in = &b->inputs[s->input];
    job_request r = in->request; /* borrows its bytes */
    rpc_result out;
    snprintf(r.request_id, sizeof r.request_id, "bench-%llu-%zu", (unsigned long long)b->run_id, i);
    uint64_t t0 = clock_now_ns();
    cuzk_status st = prove_patiently(b, &r, &out);
    s->ms = (double)(clock_now_ns() - t0) / 1e6;
    s->ok = st.code == CUZK_OK && out.outcome == RPC_OUTCOME_COMPLETED && out.proof_len > 0 &&
            out.proof_len % PROOF_BYTES == 0;
    s->times = out.view.times;
    if (!s->ok)
        keep_error(b, in->name,
                   st.code != CUZK_OK       ? st.msg
                   : out.view.error[0] != 0 ? out.view.error
                                            : RPC_OUTCOME_NAMES[out.outcome]);
    rpc_result_fini(&out);
    uint64_t done = atomic_fetch_add_explicit(&b->n_done, 1, memory_order_relaxed) + 1;
    if (thread_idx == 0)
        run_progress(&b->e->rc, "proofs", (double)done / (double)b->count);
}

static cuzk_status run_all(bench *b)
{
    pool *clients;
    CUZK_TRY(pool_create(&clients, (unsigned)b->concurrency));
    uint64_t t0 = clock_now_ns();
    pool_for(clients, b->count, prove_one, b);
    b->seconds = (double)(clock_now_ns() - t0) / 1e9;
    pool_destroy(clients);
    return run_cancelled(&b->e->rc) ? cuzk_fail(CUZK_E_CANCELLED, "interrupted") : cuzk_ok();
}

/* ---- report ---- */

typedef struct bench_row {
    const char *name, *kind;
    uint64_t n, failed;
    double min, p50, p95, p99, max, queue, witness, device, verify; /* ms; the last four means */
} bench_row;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nearest rank. */
static double percentile(const double *sorted, uint64_t n, unsigned p)
{
    return n ? sorted[(n * p + 99) / 100 - 1] : 0;
}

/* input == n_inputs: all. scratch holds count values. */
static bench_row make_row(const bench *b, uint32_t input, double *scratch)
{
    bool all = input == b->n_inputs;
    bench_row r = {.name = all ? "all" : b->inputs[input].name,
                   .kind = all ? "-" : PROOF_KIND_NAMES[b->inputs[input].request.kind]};
    uint64_t n = 0;
    for (uint64_t i = 0; i < b->count; i++) {
        const bench_sample *s = &b->samples[i];
        if (!all && s->input != input)
            continue;
        r.n++;
        r.failed += !s->ok;
        if (!s->ok)
            continue;
        scratch[n++] = s->ms;
        r.queue += (double)s->times.queue_wait_ms;
        r.witness += (double)s->times.witness_ms;
        r.device += (double)s->times.device_ms;
        r.verify += (double)s->times.verify_ms;
    }
    if (n == 0)
        return r;
    qsort(scratch, n, sizeof *scratch, by_value);
    r.min = scratch[0];
    r.max = scratch[n - 1];
    r.p50 = percentile(scratch, n, 50);
    r.p95 = percentile(scratch, n, 95);
    r.p99 = percentile(scratch, n, 99);
    r.queue /= (double)n;
    r.witness /= (double)n;
    r.device /= (double)n;
    r.verify /= (double)n;
    return r;
}

static double per_minute(const bench *b, uint64_t failed)
{
    return b->seconds > 0 ? (double)(b->count - failed) * 60 / b->seconds : 0;
}

static void json_row(json_writer *w, const bench_row *r)
{
    const struct {
        const char *name;
        double v;
    } values[] = {{"min_ms", r->min},
                  {"p50_ms", r->p50},
                  {"p95_ms", r->p95},
                  {"p99_ms", r->p99},
                  {"max_ms", r->max},
                  {"mean_queue_ms", r->queue},
                  {"mean_witness_ms", r->witness},
                  {"mean_device_ms", r->device},
                  {"mean_verify_ms", r->verify}};
    json_begin_object(w);
    json_kv_str(w, "input", r->name);
    json_kv_str(w, "kind", r->kind);
    json_kv_u64(w, "n", r->n);
    json_kv_u64(w, "failed", r->failed);
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        json_kv_f64(w, values[i].name, values[i].v);
    json_end_object(w);
}

static cuzk_status print_json(const bench *b, const bench_row *rows)
{
    json_writer w;
    const bench_row *all = &rows[b->n_inputs];
    json_write_init(&w, stdout, true);
    json_begin_object(&w);
    json_kv_str(&w, "name", "e2e");
    json_kv_u64(&w, "count", b->count);
    json_kv_u64(&w, "concurrency", b->concurrency);
    json_kv_f64(&w, "seconds", b->seconds);
    json_kv_f64(&w, "proofs_per_minute", per_minute(b, all->failed));
    json_kv_u64(&w, "failed", all->failed);
    json_kv_u64(&w, "busy_answers",
                atomic_load_explicit(&((bench *)(uintptr_t)b)->n_busy, memory_order_relaxed));
    json_kv_str(&w, "first_error", b->first_error[0] ? b->first_error : NULL);
    json_key(&w, "rows");
    json_begin_array(&w);
    for (uint32_t i = 0; i <= b->n_inputs; i++)
        json_row(&w, &rows[i]);
    json_end_array(&w);
    json_end_object(&w);
    return json_write_finish(&w);
}

static cuzk_status print_text(const bench *b, const bench_row *rows)
{
    printf("%-24s %-8s %6s %6s %10s %10s %10s %10s %10s %10s\n", "input (ms)", "kind", "n",
           "failed", "p50", "p95", "p99", "max", "queue", "device");
    for (uint32_t i = 0; i <= b->n_inputs; i++) {
        const bench_row *r = &rows[i];
        printf("%-24.24s %-8s %6llu %6llu %10.1f %10.1f %10.1f %10.1f %10.1f %10.1f\n", r->name,
               r->kind, (unsigned long long)r->n, (unsigned long long)r->failed, r->p50, r->p95,
               r->p99, r->max, r->queue, r->device);
    }
    printf("%.2f s, %llu at once, %.2f proofs a minute\n", b->seconds,
           (unsigned long long)b->concurrency, per_minute(b, rows[b->n_inputs].failed));
    return cuzk_ok();
}

static cuzk_status report(const bench *b, int *exit_code)
{
    bench_row rows[INPUTS_MAX + 1];
    double *scratch = mem_alloc(b->count * sizeof *scratch, 16);
    if (!scratch)
        return cuzk_fail(CUZK_E_NOMEM, "%llu samples", (unsigned long long)b->count);
    for (uint32_t i = 0; i <= b->n_inputs; i++)
        rows[i] = make_row(b, i, scratch);
    mem_free(scratch);
    if (rows[b->n_inputs].failed) {
        *exit_code = CLI_INTERNAL;
        fprintf(stderr, "cuzk bench e2e: %llu of %llu proofs failed; the first: %s\n",
                (unsigned long long)rows[b->n_inputs].failed, (unsigned long long)b->count,
                b->first_error);
    }
    return b->a->common.json ? print_json(b, rows) : print_text(b, rows);
}

/* ---- command ---- */

static cuzk_status prepare(bench *b)
{
    const bench_args *a = b->a;
    b->count = 10;
    b->concurrency = 1;
    if (a->count)
        CUZK_TRY(cli_parse_u64(&b->count, "--count", a->count, COUNT_MAX));
    if (a->concurrency)
        CUZK_TRY(cli_parse_u64(&b->concurrency, "--concurrency", a->concurrency, CONCURRENCY_MAX));
    if (a->timeout)
        CUZK_TRY(cli_parse_duration(&b->timeout_ms, "--timeout", a->timeout));
    if (b->count == 0 || b->concurrency == 0)
        return cuzk_fail(CUZK_E_USAGE, "--count, --concurrency: expected at least 1, found 0");
    for (size_t i = 0; i < a->n_inputs; i++)
        CUZK_TRY(load_input(b, a->inputs[i]));
    b->samples = mem_zalloc(b->count * sizeof *b->samples, 16);
    return b->samples ? cuzk_ok()
                      : cuzk_fail(CUZK_E_NOMEM, "%llu samples", (unsigned long long)b->count);
}

static cuzk_status bench_run(void *ctx, cli_env *e, rpc_client *c, int *exit_code)
{
    struct timespec now;
    bench *b = mem_zalloc(sizeof *b, 16);
    if (!b)
        return cuzk_fail(CUZK_E_NOMEM, "bench");
    clock_gettime(CLOCK_REALTIME, &now);
    b->a = ctx;
    b->e = e;
    b->c = c;
    b->run_id = (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
    pthread_mutex_init(&b->mu, NULL);
    cuzk_status st = prepare(b);
    if (st.code == CUZK_OK)
        st = run_all(b);
    if (st.code == CUZK_OK)
        st = report(b, exit_code);
    for (uint32_t i = 0; i < b->n_inputs; i++)
        job_request_fini(&b->inputs[i].request);
    pthread_mutex_destroy(&b->mu);
    mem_free(b->samples);
    mem_free(b);
    return st;
}

static const cli_cmd bench_e2e = {"bench e2e", "INPUT[:WEIGHT]...",
                                  "Prove through a daemon and measure from the client's side.",
                                  "INPUT is a folder that `cuzk gen` wrote, a request.json, or a "
                                  "C1 file; with several, each comes as "
                                  "often as its weight\nsays. Every proof is a job of its own. "
                                  "Times are from sending the request to "
                                  "having the proof; queue and device are\nthe daemon's own means. "
                                  "Exit code 1 when a proof failed.",
                                  cli_bench_e2e};

int cli_bench_e2e(int argc, char **argv)
{
    bench_args a = {0};
    const cli_opt opts[] = {
        {"count", "N", "proofs in all (default 10)", &a.count, NULL},
        {"concurrency", "N", "at once, at most 1024 (default 1)", &a.concurrency, NULL},
        {"timeout", "TIME", "for one proof (default: none)", &a.timeout, NULL},
    };
    return cli_client_run(&(cli_client_cmd){.cmd = &bench_e2e,
                                            .opts = opts,
                                            .n_opts = ARRAY_LEN(opts),
                                            .common = &a.common,
                                            .server = &a.server,
                                            .args = a.inputs,
                                            .n_args = &a.n_inputs,
                                            .max_args = INPUTS_MAX,
                                            .min_args = 1},
                          argc, argv, bench_run, &a);
}
