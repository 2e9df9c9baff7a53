/* Times of the device transforms and quotients as JSON on standard output: data and table lie in
 * device memory, times are events on the stream (and the wall time of a call with its wait). Left
 * out: transfers and the table, which has a row of its own. Every round trip is checked (quotients
 * are by tests/gpu/test_gpu_quotient.c). Arguments: lg_n_max [build [lg_n_min]] */
#include "base/mem.h"
#include "ff/fr.h"
#include "gpu/gpu_quotient.h"
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N_SAMPLES 9
static cudaStream_t stream;
static cudaEvent_t start, stop;
static const char *device_name, *build;
static bool first_row = true;
static void *d_b, *d_c; /* of quotients */

static void need(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_gpu_ntt: %s failed\n", what);
        exit(1);
    }
}
#define NEED_CUDA(call) need((call) == cudaSuccess, #call)

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

typedef cuzk_status (*transform)(const gpu_ntt_table *t, void *d_a, uint32_t lg_n, void *s);

static cuzk_status table_again(const gpu_ntt_table *t, void *d_a, uint32_t lg_n, void *s)
{
    gpu_ntt_table again;
    (void)d_a;
    return gpu_ntt_table_build(&again, t->d_table, lg_n, s);
}

static cuzk_status quotient(const gpu_ntt_table *t, void *d_a, uint32_t lg_n, void *s)
{
    gpu_run run = {.stream = s};
    return gpu_quotient(t, d_a, d_b, d_c, lg_n, &run);
}

static cuzk_status derivative_product(const gpu_ntt_table *t, void *a, uint32_t lg_n, void *s)
{
    gpu_run run = {.stream = s};
    return gpu_derivative_product(t, a, d_b, d_c, lg_n, &run);
}

static void measure(const char *name, transform f, const gpu_ntt_table *t, void *d_a, uint32_t lg_n)
{
    double ms[N_SAMPLES], wall[N_SAMPLES];
    for (int i = -1; i < N_SAMPLES; i++) {
        float event_ms;
        double t0 = now_ms();
        NEED_CUDA(cudaEventRecord(start, stream));
        need(f(t, d_a, lg_n, stream).code == CUZK_OK, name);
        NEED_CUDA(cudaEventRecord(stop, stream));
        NEED_CUDA(cudaEventSynchronize(stop));
        NEED_CUDA(cudaEventElapsedTime(&event_ms, start, stop));
        if (i >= 0) {
            ms[i] = (double)event_ms;
            wall[i] = now_ms() - t0;
        }
    }
    qsort(ms, N_SAMPLES, sizeof *ms, by_value);
    qsort(wall, N_SAMPLES, sizeof *wall, by_value);
    printf("%s\n  {\"name\": \"%s\", \"n\": %llu, \"unit\": \"ms\", \"min\": %.3f, \"median\": "
           "%.3f, \"max\": %.3f, \"wall_median\": %.3f, \"samples\": %d, \"device\": \"%s\", "
           "\"build\": \"%s\"}",
           first_row ? "[" : ",", name, 1ULL << lg_n, ms[0], ms[N_SAMPLES / 2], ms[N_SAMPLES - 1],
           wall[N_SAMPLES / 2], N_SAMPLES, device_name, build);
    fflush(stdout);
    first_row = false;
}

/* As many forward as inverse transforms were run: the data must be back, in 2^16 samples. */
static void check(const fr *a, const void *d_a, size_t n)
{
    size_t step = n >> 16 ? n >> 16 : 1;
    fr got;
    for (size_t i = 0; i < n; i += step * 64) {
        NEED_CUDA(cudaMemcpy(&got, (const fr *)d_a + i, sizeof got, cudaMemcpyDeviceToHost));
        need(fr_eq(&got, &a[i]), "the round trip");
    }
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {12, 16, 20, 22, 24, 25, 26, 27, 28};
    uint32_t lg_max = argc > 1 ? (uint32_t)atoi(argv[1]) : 27,
             lg_min = argc > 3 ? (uint32_t)atoi(argv[3]) : 0;
    struct cudaDeviceProp prop;
    gpu_ntt_table t;
    void *d_table, *d_a;
    build = argc > 2 ? argv[2] : "";
    need(lg_max <= GPU_NTT_LG_N_MAX, "lg_n_max <= 28");
    size_t n_max = (size_t)1 << lg_max;
    fr *a = mem_alloc(n_max * sizeof *a, 64);
    need(a != NULL, "host memory");
    for (size_t i = 0; i < n_max; i++) /* any words below r */
        for (uint64_t k = 0; k < 4; k++)
            a[i].l[k] = (i * 4 + k + 1) * 0x9e3779b97f4a7c15u >> (k == 3 ? 2 : 0);
    NEED_CUDA(cudaGetDeviceProperties(&prop, 0));
    device_name = prop.name;
    NEED_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    NEED_CUDA(cudaEventCreate(&start));
    NEED_CUDA(cudaEventCreate(&stop));
    NEED_CUDA(cudaMalloc(&d_a, n_max * sizeof *a));
    NEED_CUDA(cudaMalloc(&d_b, n_max * sizeof *a));
    NEED_CUDA(cudaMalloc(&d_c, n_max * sizeof *a));
    NEED_CUDA(cudaMalloc(&d_table, gpu_ntt_table_bytes(lg_max + 1)));
    need(gpu_ntt_table_build(&t, d_table, lg_max + 1, stream).code == CUZK_OK, "the table");
    measure("gpu_ntt_table", table_again, &t, NULL, lg_max + 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= lg_max; i++) {
        if (sizes[i] < lg_min)
            continue;
        size_t n = (size_t)1 << sizes[i];
        NEED_CUDA(cudaMemcpyAsync(d_a, a, n * sizeof *a, cudaMemcpyHostToDevice, stream));
        measure("gpu_ntt_forward", gpu_ntt_forward, &t, d_a, sizes[i]);
        measure("gpu_ntt_inverse", gpu_ntt_inverse, &t, d_a, sizes[i]);
        check(a, d_a, n);
        NEED_CUDA(cudaMemcpyAsync(d_b, d_a, n * sizeof *a, cudaMemcpyDeviceToDevice, stream));
        measure("gpu_quotient", quotient, &t, d_a, sizes[i]);
        measure("gpu_derivative_product", derivative_product, &t, d_a, sizes[i]);
    }
    printf("\n]\n");
    mem_free(a);
    return 0;
}
