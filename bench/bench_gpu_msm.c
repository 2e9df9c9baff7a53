/* Times of the device MSM and 0/1 sums, as JSON on standard output. Bases (i + 1) G and scalars
 * lie in device memory; times are wall times of the whole call, down to one point on the host.
 * Left out: transfers, gpu_msm_prepare_bases. Every result is checked. Arguments: lg_n_max
 * [build] */
#include "base/mem.h"
#include "gpu/gpu_msm.h"
#include "msm_fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_SAMPLES 7u

static const char *device_name, *build;
static bool first_row = true;

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

static void row(const char *name, size_t n, double *ms, size_t ws_bytes)
{
    qsort(ms, N_SAMPLES, sizeof *ms, by_value);
    printf(
        "%s\n  {\"name\": \"%s\", \"n\": %zu, \"unit\": \"ms\", \"min\": %.3f, \"median\": %.3f, "
        "\"max\": %.3f, \"samples\": %u, \"workspace_bytes\": %zu, \"device\": \"%s\", \"build\": "
        "\"%s\"}",
        first_row ? "[" : ",", name, n, ms[0], ms[N_SAMPLES / 2], ms[N_SAMPLES - 1], N_SAMPLES,
        ws_bytes, device_name, build);
    first_row = false;
    fflush(stdout);
}

static void must_be(const g1_jac *got, const g1_jac *want, cuzk_status st)
{
    fixture_need(st.code == CUZK_OK, st.msg);
    fixture_need(g1_jac_eq(got, want), "the result is right");
}

static void bench_msm(const void *d_bases, void *d_scalars, const fr_int *k, size_t n,
                      gpu_msm_ws ws)
{
    double ms[N_SAMPLES];
    g1_jac got, want;
    ws.bytes = gpu_msm_workspace_bytes(n, ws.bytes);
    FIXTURE_NEED(cudaMemcpy(d_scalars, k, n * sizeof *k, cudaMemcpyHostToDevice));
    fixture_expect(&want, k, n);
    for (unsigned i = 0; i <= N_SAMPLES; i++) { /* the first one warms up */
        double t0 = now_ms();
        cuzk_status st = gpu_msm_g1_sync(&got, d_bases, d_scalars, n, &ws);
        ms[i > 0 ? i - 1 : 0] = now_ms() - t0;
        must_be(&got, &want, st);
    }
    row("gpu_msm_g1", n, ms, ws.bytes);
}

/* Masks of random bits; the scalars' words serve. */
static void bench_sums(const void *d_bases, void *d_masks, fr_int *k, size_t n, unsigned n_masks,
                       gpu_msm_ws ws)
{
    double ms[N_SAMPLES];
    g1_jac got[GPU_MSM_MASKS_MAX], want[GPU_MSM_MASKS_MAX];
    size_t words = (n + 63) / 64;
    uint64_t *masks = mem_alloc(words * n_masks * 8, 64);
    fixture_need(masks, "memory");
    ws.bytes = gpu_msm_sums_workspace_bytes(n, n_masks);
    for (size_t i = 0; i < words * n_masks; i++)
        masks[i] = fixture_rng();
    for (unsigned j = 0; j < n_masks; j++) {
        memset(k, 0, n * sizeof *k);
        for (size_t i = 0; i < n; i++)
            k[i].l[0] = masks[j * words + i / 64] >> (i % 64) & 1;
        fixture_expect(&want[j], k, n);
    }
    FIXTURE_NEED(cudaMemcpy(d_masks, masks, words * n_masks * 8, cudaMemcpyHostToDevice));
    for (unsigned i = 0; i <= N_SAMPLES; i++) {
        double t0 = now_ms();
        cuzk_status st = gpu_msm_g1_sums_sync(got, d_bases, d_masks, n, n_masks, &ws);
        ms[i > 0 ? i - 1 : 0] = now_ms() - t0;
        for (unsigned j = 0; j < n_masks; j++)
            must_be(&got[j], &want[j], st);
    }
    row(n_masks == 1 ? "gpu_msm_g1_sum_half" : "gpu_msm_g1_sums_half_x10", n, ms, ws.bytes);
    mem_free(masks);
}

int main(int argc, char **argv)
{
    unsigned lg_max = argc > 1 ? (unsigned)atoi(argv[1]) : 24;
    build = argc > 2 ? argv[2] : "unknown";
    lg_max = lg_max < 20 ? 20 : lg_max > 27 ? 27 : lg_max;
    struct cudaDeviceProp prop;
    FIXTURE_NEED(cudaGetDeviceProperties(&prop, 0));
    device_name = prop.name;
    size_t n_max = (size_t)1 << lg_max, free_bytes, total;
    void *d_bases, *d_scalars;
    gpu_msm_ws ws = {NULL, 0, NULL};
    FIXTURE_NEED(cudaMalloc(&d_bases, n_max * 96));
    FIXTURE_NEED(cudaMalloc(&d_scalars, n_max * 32));
    FIXTURE_NEED(cudaMemGetInfo(&free_bytes, &total));
    ws.bytes = free_bytes - ((size_t)1 << 30);
    FIXTURE_NEED(cudaMalloc(&ws.d_ws, ws.bytes));
    fr_int *k = mem_alloc(n_max * sizeof *k, 64);
    fixture_need(k, "memory");
    fixture_multiples(d_bases, lg_max);
    cuzk_status st = gpu_msm_prepare_bases(d_bases, n_max, NULL);
    fixture_need(st.code == CUZK_OK, st.msg);
    fixture_seed(1);
    for (size_t i = 0; i < n_max; i++)
        fixture_scalar(&k[i]);
    for (unsigned lg = 20; lg <= lg_max; lg += 2)
        bench_msm(d_bases, d_scalars, k, (size_t)1 << lg, ws);
    for (unsigned lg = 20; lg <= lg_max; lg += 2)
        bench_sums(d_bases, d_scalars, k, (size_t)1 << lg, 1, ws);
    bench_sums(d_bases, d_scalars, k, n_max, GPU_MSM_MASKS_MAX, ws);
    printf("\n]\n");
    return 0;
}
