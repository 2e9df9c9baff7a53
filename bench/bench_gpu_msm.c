/* Times of the device MSM, tails and 0/1 sums, as JSON on standard output. Bases (i + 1) G and
 * scalars lie in device memory; times are wall times of the whole call, down to one point on the
 * host. Left out: transfers, preparing the bases. Every result is checked. Arguments: lg_n_max
 * [build [workspace_GiB [lg_n_min]]] */
#include "base/mem.h"
#include "msm_fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_SAMPLES 5u
#define LG_N_G2_MAX 25u
#define N_BATCH 10u

static const char *device_name, *build;
static unsigned lg_min = 20;
static bool first_row = true;

/* One group: bases and workspace on the device, a page of scalars or masks on both sides. */
typedef struct bench {
    const fixture_group *g;
    void *d_bases, *d_scalars, *pin;
    uint32_t *d_idx;
    fr_int *k;
    size_t n_max, ws_bytes;
    void *d_ws;
    gpu_run run;
} bench;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void row(const bench *b, const char *name, size_t n, double *ms, unsigned n_samples,
                size_t ws_bytes)
{
    qsort(ms, n_samples, sizeof *ms, by_value);
    printf("%s\n  {\"name\": \"gpu_msm_%s_%s\", \"n\": %zu, \"unit\": \"ms\", \"min\": %.3f, "
           "\"median\": %.3f, \"max\": %.3f, \"samples\": %u, \"workspace_bytes\": %zu, "
           "\"device\": \"%s\", \"build\": \"%s\"}",
           first_row ? "[" : ",", b->g->id == GPU_MSM_G1 ? "g1" : "g2", name, n, ms[0],
           ms[n_samples / 2], ms[n_samples - 1], n_samples, ws_bytes, device_name, build);
    first_row = false;
    fflush(stdout);
}

/* Where a call's device time goes: an event where each part of a sum begins, and one at the end. Times
 * between events hold the waits for the host, too. */
#define N_MARKS_MAX 1024u
#define N_PARTS_MAX 8u
typedef struct parts {
    void *stream;
    cudaEvent_t at[N_MARKS_MAX];
    const char *of[N_MARKS_MAX];
    unsigned n;
} parts;
static parts marks;

static void mark(void *ctx, const char *name)
{
    parts *p = ctx;
    fixture_need(p->n < N_MARKS_MAX, "fewer parts");
    if (!p->at[p->n])
        FIXTURE_NEED(cudaEventCreate(&p->at[p->n]));
    FIXTURE_NEED(cudaEventRecord(p->at[p->n], (cudaStream_t)p->stream));
    p->of[p->n++] = name;
}

/* A row per part of what happened since marks.n was 0. */
static void part_rows(const bench *b, const char *what, size_t n, size_t ws_bytes)
{
    parts *p = &marks;
    const char *names[N_PARTS_MAX] = {NULL};
    double ms[N_PARTS_MAX] = {0};
    mark(p, "end");
    FIXTURE_NEED(cudaStreamSynchronize((cudaStream_t)p->stream));
    for (unsigned i = 0; i + 1 < p->n; i++) {
        float t;
        unsigned k = 0;
        FIXTURE_NEED(cudaEventElapsedTime(&t, p->at[i], p->at[i + 1]));
        while (names[k] && strcmp(names[k], p->of[i]) != 0)
            fixture_need(++k < N_PARTS_MAX, "room for a part's name");
        names[k] = p->of[i];
        ms[k] += (double)t;
    }
    for (unsigned k = 0; k < N_PARTS_MAX && names[k]; k++) {
        char name[64];
        snprintf(name, sizeof name, "%s_%s", what, names[k]);
        row(b, name, n, &ms[k], 1, ws_bytes);
    }
}

static void must_be(const bench *b, const void *got, const void *want, cuzk_status st)
{
    fixture_need_ok(st);
    fixture_need(b->g->eq(got, want), "the result is right");
}

static gpu_msm_ws workspace(const bench *b, size_t bytes)
{
    fixture_need(bytes > 0 && bytes <= b->ws_bytes, "workspace");
    return (gpu_msm_ws){b->d_ws, bytes, b->pin, &b->run};
}

static void bench_msm(const bench *b, size_t n)
{
    double ms[N_SAMPLES];
    fixture_point got, want;
    gpu_msm_ws ws = workspace(b, gpu_msm_workspace_bytes(b->g->id, n, 1, b->ws_bytes));
    fixture_put(b->d_scalars, b->k, n * sizeof *b->k);
    fixture_expect(b->g, &want, b->k, NULL, n);
    for (unsigned i = 0; i <= N_SAMPLES; i++) { /* the first one warms up */
        double t0 = now_ms();
        cuzk_status st = b->g->msm(&got, b->d_bases, b->d_scalars, n, &ws);
        ms[i > 0 ? i - 1 : 0] = now_ms() - t0;
        must_be(b, &got, &want, st);
    }
    row(b, "dense", n, ms, N_SAMPLES, ws.bytes);
    gpu_run run = {.stream = b->run.stream, .part = mark, .ctx = &marks};
    marks.stream = b->run.stream;
    marks.n = 0;
    ws.run = &run;
    must_be(b, &got, &want, b->g->msm(&got, b->d_bases, b->d_scalars, n, &ws));
    part_rows(b, "dense", n, ws.bytes);
}

/* Ten partitions with the same n scalars, at every so many-th base. */
static void bench_tails(const bench *b, size_t n)
{
    double ms[N_SAMPLES];
    fixture_point got[N_BATCH], want;
    size_t step = b->n_max / n;
    uint32_t *idx = mem_alloc(n * sizeof *idx, 64);
    const void *d_scalars[N_BATCH];
    fixture_need(idx != NULL, "memory");
    for (size_t j = 0; j < n; j++)
        idx[j] = (uint32_t)(j * step);
    for (unsigned i = 0; i < N_BATCH; i++)
        d_scalars[i] = b->d_scalars;
    gpu_msm_ws ws = workspace(b, gpu_msm_workspace_bytes(b->g->id, n, N_BATCH, b->ws_bytes));
    fixture_put(b->d_scalars, b->k, n * sizeof *b->k);
    fixture_put(b->d_idx, idx, n * sizeof *idx);
    fixture_expect(b->g, &want, b->k, idx, n);
    gpu_msm_tails t = {b->d_idx, n, d_scalars, N_BATCH};
    for (unsigned i = 0; i <= N_SAMPLES; i++) {
        double t0 = now_ms();
        cuzk_status st = b->g->tails(got, b->d_bases, &t, &ws);
        ms[i > 0 ? i - 1 : 0] = now_ms() - t0;
        for (unsigned j = 0; j < N_BATCH; j++)
            must_be(b, (char *)got + j * b->g->jac_bytes, &want, st);
    }
    row(b, "tails_x10", n, ms, N_SAMPLES, ws.bytes);
    gpu_run run = {.stream = b->run.stream, .part = mark, .ctx = &marks};
    marks.stream = b->run.stream;
    marks.n = 0;
    ws.run = &run;
    must_be(b, got, &want, b->g->tails(got, b->d_bases, &t, &ws));
    part_rows(b, "tails_x10", n, ws.bytes);
    mem_free(idx);
}

/* *want = the sum over the set bits of a mask of n_words words. */
static void expect_sum(const bench *b, void *want, const uint64_t *mask, size_t n_words)
{
    fr_int sum = {{0, 0, 0, 0}};
    for (size_t i = 0; i < n_words; i++) {
        for (uint64_t m = mask[i]; m; m &= m - 1)
            sum.l[0] += i * 64 + (unsigned)__builtin_ctzll(m) + 1;
    }
    fixture_expect(b->g, want, &sum, NULL, 1);
}

/* Masks of random bits; n is a multiple of 64. */
static void bench_sums(const bench *b, size_t n, unsigned n_masks)
{
    double ms[N_SAMPLES];
    fixture_point got[GPU_MSM_MASKS_MAX], want[GPU_MSM_MASKS_MAX];
    size_t words = (n + 63) / 64;
    uint64_t *masks = mem_alloc(words * n_masks * 8, 64);
    fixture_need(masks != NULL, "memory");
    gpu_msm_ws ws = workspace(b, gpu_msm_sums_workspace_bytes(b->g->id, n, n_masks));
    for (size_t i = 0; i < words * n_masks; i++)
        masks[i] = fixture_rng();
    for (unsigned j = 0; j < n_masks; j++)
        expect_sum(b, &want[j], masks + j * words, words);
    fixture_put(b->d_scalars, masks, words * n_masks * 8);
    for (unsigned i = 0; i <= N_SAMPLES; i++) {
        double t0 = now_ms();
        cuzk_status st = b->g->sums(got, b->d_bases, b->d_scalars, n, n_masks, &ws);
        ms[i > 0 ? i - 1 : 0] = now_ms() - t0;
        for (unsigned j = 0; j < n_masks; j++)
            must_be(b, (char *)got + j * b->g->jac_bytes, &want[j], st);
    }
    row(b, n_masks == 1 ? "sum_half" : "sums_half_x10", n, ms, N_SAMPLES, ws.bytes);
    mem_free(masks);
}

static void run_group(const fixture_group *g, unsigned lg_max, size_t ws_max)
{
    bench b = {.g = g, .n_max = (size_t)1 << lg_max};
    size_t free_bytes, total;
    fixture_run(&b.run);
    FIXTURE_NEED(cudaMallocHost(&b.pin, GPU_MSM_PIN_BYTES));
    FIXTURE_NEED(cudaMalloc(&b.d_bases, b.n_max * g->aff_bytes));
    FIXTURE_NEED(cudaMalloc(&b.d_scalars, b.n_max * 32));
    FIXTURE_NEED(cudaMalloc((void **)&b.d_idx, b.n_max * 4));
    FIXTURE_NEED(cudaMemGetInfo(&free_bytes, &total));
    b.ws_bytes = free_bytes - ((size_t)1 << 30);
    b.ws_bytes = b.ws_bytes < ws_max ? b.ws_bytes : ws_max;
    FIXTURE_NEED(cudaMalloc(&b.d_ws, b.ws_bytes));
    b.k = mem_alloc(b.n_max * sizeof *b.k, 64);
    fixture_need(b.k != NULL, "memory");
    fixture_multiples(g, b.d_bases, lg_max);
    fixture_need_ok(g->prepare(b.d_bases, 0, b.n_max, &b.run));
    for (size_t i = 0; i < b.n_max; i++)
        fixture_scalar(&b.k[i]);
    for (unsigned lg = lg_min; lg <= lg_max; lg += lg == 26 ? 1 : 2)
        bench_msm(&b, (size_t)1 << lg);
    for (unsigned lg = 18; lg <= 20; lg += 2)
        bench_tails(&b, (size_t)1 << lg);
    bench_sums(&b, b.n_max, 1);
    bench_sums(&b, b.n_max, GPU_MSM_MASKS_MAX);
    void *device_parts[] = {b.d_bases, b.d_scalars, b.d_idx, b.d_ws};
    for (size_t i = 0; i < ARRAY_LEN(device_parts); i++)
        FIXTURE_NEED(cudaFree(device_parts[i]));
    FIXTURE_NEED(cudaFreeHost(b.pin));
    mem_free(b.k);
}

int main(int argc, char **argv)
{
    unsigned lg_max = argc > 1 ? (unsigned)atoi(argv[1]) : 24;
    build = argc > 2 ? argv[2] : "unknown";
    size_t ws_max = argc > 3 ? strtoull(argv[3], NULL, 10) << 30 : SIZE_MAX;
    lg_min = argc > 4 ? (unsigned)atoi(argv[4]) : lg_min;
    lg_max = lg_max < 20 ? 20 : lg_max > 27 ? 27 : lg_max;
    struct cudaDeviceProp prop;
    FIXTURE_NEED(cudaGetDeviceProperties(&prop, 0));
    device_name = prop.name;
    fixture_seed(1);
    run_group(&FIXTURE_GROUPS[GPU_MSM_G1], lg_max, ws_max);
    run_group(&FIXTURE_GROUPS[GPU_MSM_G2], lg_max < LG_N_G2_MAX ? lg_max : LG_N_G2_MAX, ws_max);
    printf("\n]\n");
    return 0;
}
