/* Times of the row evaluations of whole circuits on the device as JSON on standard output: image,
 * witness and outputs lie in device memory, times are events on the stream. Witness values are random
 * ones of the right types. Samples of the output are checked against the host's evaluation of the
 * image. Arguments: build circuit... */
#include "base/mem.h"
#include "circuit/circuit.h"
#include "gpu/gpu_shape_eval.cuh"
#include "random_shape.h"
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define N_SAMPLES 9
#define N_CHECKS 100000u
static cudaStream_t stream;
static bool first_row = true;

static void need(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_gpu_shape: %s failed\n", what);
        exit(1);
    }
}
#define NEED_CUDA(call) need((call) == cudaSuccess, #call)

static void *to_device(const void *p, size_t bytes)
{
    void *d;
    NEED_CUDA(cudaMalloc(&d, bytes + 256));
    NEED_CUDA(cudaMemcpyAsync(d, p, bytes, cudaMemcpyHostToDevice, stream));
    NEED_CUDA(cudaStreamSynchronize(stream));
    return d;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check(const gpu_shape *g, const witness *w, void *const d_out[2], uint32_t lg_m)
{
    gpu_shape_view v = gpu_shape_host_view(g);
    gpu_shape_values val = {(const gpu_fr *)(const void *)w->inputs,
                            (const uint32_t *)(const void *)w->bits,
                            (const gpu_fr *)(const void *)w->dense};
    uint64_t s = 1;
    for (uint32_t k = 0; k < N_CHECKS; k++) {
        uint32_t row = (uint32_t)(random_shape_u64(&s) % v.n_rows), side = k & 1, from, to, at = 0;
        gpu_shape_segment seg = v.segments[gpu_shape_segment_of(&v, row)];
        gpu_row_sum sum;
        gpu_fr want, got;
        gpu_shape_terms_of(&v, &seg, row, side, &from, &to);
        gpu_row_sum_start(&sum);
        gpu_row_sum_terms(&sum, &v, &seg, &val, from, to, 1);
        gpu_row_sum_finish(&want, &sum, &v);
        for (uint32_t b = 0; b < lg_m; b++)
            at |= (row >> b & 1) << (lg_m - 1 - b);
        NEED_CUDA(cudaMemcpy(&got, (gpu_fr *)d_out[side] + at, sizeof got, cudaMemcpyDeviceToHost));
        need(memcmp(&want, &got, sizeof got) == 0, "a sample");
    }
}

static void measure(const char *name, const char *build, const r1cs_shape *s)
{
    const r1cs_counts *n = r1cs_shape_counts(s);
    gpu_run run = {.stream = stream};
    gpu_shape *g;
    witness w;
    void *d_out[2];
    double ms[N_SAMPLES];
    cudaEvent_t start, stop;
    struct cudaDeviceProp prop;
    need(gpu_shape_create(&g, s, false).code == CUZK_OK, "the image");
    need(random_shape_witness(&w, s, 5).code == CUZK_OK, "the witness");
    gpu_shape_bind(g, to_device(gpu_shape_image(g), gpu_shape_bytes(g)));
    gpu_witness dw = {to_device(w.inputs, w.n_inputs * sizeof(fr)),
                      to_device(w.bits, (w.n_aux + 63) / 64 * 8),
                      to_device(w.dense, w.n_dense * sizeof(fr))};
    for (int k = 0; k < 2; k++)
        NEED_CUDA(cudaMalloc(&d_out[k], sizeof(fr) << n->lg_m));
    NEED_CUDA(cudaEventCreate(&start));
    NEED_CUDA(cudaEventCreate(&stop));
    for (int i = -1; i < N_SAMPLES; i++) {
        float event_ms;
        NEED_CUDA(cudaEventRecord(start, stream));
        need(gpu_shape_eval(g, d_out[0], d_out[1], &dw, n->lg_m, &run).code == CUZK_OK, "eval");
        NEED_CUDA(cudaEventRecord(stop, stream));
        NEED_CUDA(cudaEventSynchronize(stop));
        NEED_CUDA(cudaEventElapsedTime(&event_ms, start, stop));
        if (i >= 0)
            ms[i] = (double)event_ms;
    }
    check(g, &w, d_out, n->lg_m);
    qsort(ms, N_SAMPLES, sizeof *ms, by_value);
    NEED_CUDA(cudaGetDeviceProperties(&prop, 0));
    printf(
        "%s\n  {\"name\": \"gpu_shape_eval\", \"circuit\": \"%s\", \"n\": %llu, \"terms\": %llu, "
        "\"image_bytes\": %zu, \"unit\": \"ms\", \"min\": %.3f, \"median\": %.3f, \"max\": "
        "%.3f, \"samples\": %d, \"device\": \"%s\", \"build\": \"%s\"}",
        first_row ? "[" : ",", name, (unsigned long long)n->n_rows,
        (unsigned long long)(n->nnz_a + n->nnz_b), gpu_shape_bytes(g), ms[0], ms[N_SAMPLES / 2],
        ms[N_SAMPLES - 1], N_SAMPLES, prop.name, build);
    fflush(stdout);
    first_row = false;
    cudaFree(d_out[0]);
    cudaFree(d_out[1]);
    cudaFree((void *)(uintptr_t)dw.d_dense);
    witness_fini(&w);
    gpu_shape_destroy(g);
}

int main(int argc, char **argv)
{
    NEED_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 2; i < argc; i++) {
        r1cs_shape *s;
        need(circuit_shape(&s, argv[i]).code == CUZK_OK, argv[i]);
        measure(argv[i], argv[1], s);
        r1cs_shape_destroy(s);
    }
    printf("\n]\n");
    return 0;
}
