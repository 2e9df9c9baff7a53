/* Times of what evaluation-form keys are made of on the device, as JSON on standard output:
 * transforms of vectors of points, also of one in which three of four are infinite, products by index
 * and sums of products (twice as many points). Times are events on the stream (and the wall time of a
 * call with its wait); points lie in device memory. Left out: reading and decoding the key, changes of
 * order, the folding, encoding and writing. Products by index and the transform of 2^10 points are
 * compared with the CPU's before. Arguments: lg_n_max [build] */
#include "base/mem.h"
#include "gpu/gpu_g1_order.h"
#include "gpu/gpu_g1_transform.h"
#include "groth16/evkey_int.h"
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_SAMPLES_MAX 5
#define LG_CHECK 10u
static cudaStream_t stream;
static cudaEvent_t start, stop, slice;
static const char *device_name, *build;
static bool first_row = true;
static void *d_points;           /* 2^(lg_n_max + 1) */
static void *d_factors, *d_bits; /* 2^lg_n_max */
static gpu_run run;
static gpu_g1_work work;

static void need(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_gpu_evkey: %s failed\n", what);
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

/* As a prover does it: the host runs a slice ahead. */
static cuzk_status on_slice(void *ctx)
{
    (void)ctx;
    NEED_CUDA(cudaEventSynchronize(slice));
    NEED_CUDA(cudaEventRecord(slice, stream));
    return cuzk_ok();
}

typedef cuzk_status (*operation)(uint32_t lg_n);

static cuzk_status transformed(uint32_t lg_n) { return gpu_g1_transform(d_points, lg_n, &work); }
static cuzk_status by_index(uint32_t lg_n)
{
    return gpu_g1_times_index(d_points, lg_n, &FR_GENERATOR_INV, &work);
}
static cuzk_status summed(uint32_t lg_n)
{
    return gpu_g1_add_products(d_points, lg_n, d_factors, &FR_GENERATOR_INV, &work);
}
/* The mask, too: a pass through memory. */
static cuzk_status masked(uint32_t lg_n)
{
    char *d_out = (char *)d_points + (sizeof(g1_aff) << lg_n);
    CUZK_TRY(gpu_g1_mask(d_out, d_points, d_bits, lg_n, &run));
    return gpu_g1_transform(d_out, lg_n, &work);
}

/* Large ones take minutes: one sample, after the warming up by the sizes before. */
static void measure(const char *name, operation f, uint32_t lg_n)
{
    double ms[N_SAMPLES_MAX], wall[N_SAMPLES_MAX];
    int n = lg_n <= 22 ? N_SAMPLES_MAX : 1;
    for (int i = lg_n <= 20 ? -1 : 0; i < n; i++) {
        float event_ms;
        double t0 = now_ms();
        NEED_CUDA(cudaEventRecord(start, stream));
        need(f(lg_n).code == CUZK_OK, name);
        NEED_CUDA(cudaEventRecord(stop, stream));
        NEED_CUDA(cudaEventSynchronize(stop));
        NEED_CUDA(cudaEventElapsedTime(&event_ms, start, stop));
        if (i >= 0) {
            ms[i] = (double)event_ms;
            wall[i] = now_ms() - t0;
        }
    }
    qsort(ms, (size_t)n, sizeof *ms, by_value);
    qsort(wall, (size_t)n, sizeof *wall, by_value);
    printf("%s\n  {\"name\": \"%s\", \"n\": %llu, \"unit\": \"ms\", \"min\": %.3f, \"median\": "
           "%.3f, \"max\": %.3f, \"wall_median\": %.3f, \"samples\": %d, \"device\": \"%s\", "
           "\"build\": \"%s\"}",
           first_row ? "[" : ",", name, 1ULL << lg_n, ms[0], ms[n / 2], ms[n - 1], wall[n / 2], n,
           device_name, build);
    fflush(stdout);
    first_row = false;
}

/* Multiples of the generator, again and again; products by index make them all different. */
static void make_points(g1_aff *p, uint32_t lg_max)
{
    const size_t n = (size_t)1 << LG_CHECK;
    g1_jac walk;
    g1_jac_from_aff(&walk, &G1_GENERATOR);
    for (size_t i = 0; i < n; i++) {
        g1_jac_dbl(&walk, &walk);
        g1_jac_add_aff(&walk, &walk, &G1_GENERATOR);
        g1_jac_to_aff(&p[i], &walk);
    }
    for (size_t at = 0; at < (size_t)2 << lg_max; at += n)
        NEED_CUDA(cudaMemcpy((g1_aff *)d_points + at, p, n * sizeof *p, cudaMemcpyHostToDevice));
}

static void check(g1_aff *p)
{
    const size_t n = (size_t)1 << LG_CHECK;
    g16_ev_progress progress = {0};
    g1_aff *got = mem_alloc(n * sizeof *got, 64);
    need(got != NULL, "host memory");
    need(g16_g1_times_index(p, LG_CHECK, &FR_GENERATOR_INV, &progress, &(run_ctx){0}).code ==
             CUZK_OK,
         "the CPU's products");
    need(g16_g1_transform(p, LG_CHECK, &progress, &(run_ctx){0}).code == CUZK_OK,
         "the CPU's transform");
    need(by_index(LG_CHECK).code == CUZK_OK, "products");
    need(transformed(LG_CHECK).code == CUZK_OK, "the transform");
    NEED_CUDA(cudaStreamSynchronize(stream));
    NEED_CUDA(cudaMemcpy(got, d_points, n * sizeof *got, cudaMemcpyDeviceToHost));
    need(memcmp(got, p, n * sizeof *got) == 0, "the comparison with the CPU");
    mem_free(got);
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {12, 16, 20, 22, 24, 25, 26, 27};
    uint32_t lg_max = argc > 1 ? (uint32_t)atoi(argv[1]) : 22;
    struct cudaDeviceProp prop;
    build = argc > 2 ? argv[2] : "";
    need(lg_max >= 12 && lg_max <= 27, "lg_n_max of 12 to 27");
    NEED_CUDA(cudaGetDeviceProperties(&prop, 0));
    device_name = prop.name;
    NEED_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    NEED_CUDA(cudaEventCreate(&start));
    NEED_CUDA(cudaEventCreate(&stop));
    NEED_CUDA(cudaEventCreate(&slice));
    run = (gpu_run){.stream = stream, .slice = on_slice};
    work = (gpu_g1_work){.bytes = gpu_g1_work_bytes((uint64_t)2 << lg_max), .run = &run};
    NEED_CUDA(cudaMalloc(&work.d_ws, work.bytes));
    NEED_CUDA(cudaMalloc(&d_points, sizeof(g1_aff) << (lg_max + 1)));
    NEED_CUDA(cudaMalloc(&d_factors, sizeof(fr) << lg_max));
    NEED_CUDA(cudaMalloc(&d_bits, ((size_t)1 << lg_max) / 8));
    NEED_CUDA(cudaMemset(d_factors, 0x39, sizeof(fr) << lg_max)); /* below r */
    NEED_CUDA(cudaMemset(d_bits, 0x03, ((size_t)1 << lg_max) / 8));
    g1_aff *p = mem_alloc(sizeof *p << LG_CHECK, 64);
    need(p != NULL, "host memory");
    make_points(p, lg_max);
    check(p);
    make_points(p, lg_max);
    mem_free(p);
    need(by_index(lg_max + 1).code == CUZK_OK, "products");
    for (size_t i = 0; i < ARRAY_LEN(sizes) && sizes[i] <= lg_max; i++) {
        measure("g1_times_index", by_index, sizes[i]);
        measure("g1_transform", transformed, sizes[i]);
        measure("g1_transform_masked", masked, sizes[i]);
        measure("g1_add_products", summed, sizes[i]);
    }
    printf("\n]\n");
    NEED_CUDA(cudaFree(work.d_ws));
    NEED_CUDA(cudaFree(d_points));
    NEED_CUDA(cudaFree(d_factors));
    NEED_CUDA(cudaFree(d_bits));
    return 0;
}
