/* Times of single device operations, each result checked, on the device of a backend that uses the
 * driver in this process (g16_cuda_config.in_process). */
#ifndef GPU_BACKEND_BENCH_H
#define GPU_BACKEND_BENCH_H
#include "base/run_ctx.h"
#include "base/status.h"
#include "groth16/backend.h"
#include "r1cs/shape.h"

/* Out: n_samples times in ms each; kernels only, by device events.
 * Errors: CUZK_E_NOMEM, CUZK_E_RANGE (lg_n from 8 on), CUZK_E_INTERNAL (a wrong result), device
 * errors. */
CUZK_MUST_CHECK cuzk_status gpu_bench_ntt(double *forward_ms, double *inverse_ms,
                                          unsigned n_samples, uint32_t lg_n, g16_backend *b);

typedef enum gpu_bench_sum {
    GPU_BENCH_UNIFORM,  /* random scalars */
    GPU_BENCH_BITS,     /* one 0/1 sum */
    GPU_BENCH_TEN_BITS, /* ten of them over the same points */
    GPU_BENCH_N_SUMS
} gpu_bench_sum;
/* Out: wall times of the whole call, down to a point on the host; transfers and preparing the points
 * are left out. g2: in G2, with points of 192 bytes. */
CUZK_MUST_CHECK cuzk_status gpu_bench_msm(double *ms[GPU_BENCH_N_SUMS], unsigned n_samples,
                                          uint32_t lg_n, bool g2, g16_backend *b);

typedef struct gpu_bench_rows {
    const r1cs_shape *shape;
    const witness *w;
    const fr *a, *b; /* 2^lg_m each: what r1cs_eval gives, and the device has to give */
    const run_ctx *rc;
} gpu_bench_rows;
/* A.w and B.w by row. Out: n_samples times in ms, kernels only, by device events; the witness is in
 * device memory before. */
CUZK_MUST_CHECK cuzk_status gpu_bench_spmv(double *ms, unsigned n_samples, const gpu_bench_rows *in,
                                           g16_backend *b);
#endif
