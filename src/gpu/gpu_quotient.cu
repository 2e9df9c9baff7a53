/* The quotient: a, b and c to coefficients, a and b to the coset, their product back. Factors 1/m of
 * the inverses are left out until the last pass: then the values are m a, m b, m c, and m^3 a b. */
#include "gpu/gpu_ntt_pass.cuh"
#include <string.h>
extern "C" {
#include "base/span_names.h"
#include "ff/fr.h"
#include "gpu/gpu_quotient.h"
}

/* x / R as a fixed operand: what it multiplies leaves Montgomery form. */
static gpu_fr_fixed fixed_out_of_mont(const fr *x)
{
    fr_int one = {{1, 0, 0, 0}};
    fr plain, v;
    gpu_fr w;
    gpu_fr_fixed f;
    memcpy(&plain, &one, sizeof plain); /* 1 read as Montgomery form is 1/R */
    fr_mul(&v, x, &plain);              /* x / R in Montgomery form */
    fr_mul(&v, &v, &plain);             /* and in plain form */
    memcpy(&w, &v, sizeof w);
    gpu_fr_fixed_set(&f, &w);
    return f;
}

/* h = (a b - c) / (g^m - 1) with g^m = -1: -1/(2 m^3) for m^3 a b, 1/(2 m) for m c. */
static void scales_get(gpu_fr_fixed *ab, gpu_fr_fixed *c, uint32_t lg_m)
{
    fr m, x;
    fr_from_u64(&m, (uint64_t)1 << lg_m);
    fr_dbl(&x, &m);
    fr_inv(&x, &x);
    *c = fixed_out_of_mont(&x);
    fr_inv(&m, &m);
    fr_mul(&x, &x, &m);
    fr_mul(&x, &x, &m);
    fr_neg(&x, &x);
    *ab = fixed_out_of_mont(&x);
}

static cuzk_status quotient(const gpu_ntt_table *ntt, gpu_fr *const v[3], uint32_t lg_m,
                            const gpu_run *run)
{
    cudaStream_t s = (cudaStream_t)run->stream;
    gpu_fr_fixed scale_ab, scale_c;
    scales_get(&scale_ab, &scale_c, lg_m);
    gpu_ntt_ends c = {v[0], v[1], &scale_c, NULL}, plain = {NULL, NULL, NULL, NULL};
    gpu_ntt_ends ab = {NULL, v[1], &scale_ab, v[2]};
    CUZK_TRY(gpu_ntt_up(ntt, v[2], lg_m, 0, &c, s));
    for (int i = 0; i < 2; i++) {
        CUZK_TRY(gpu_run_slice(run));
        CUZK_TRY(gpu_ntt_up(ntt, v[i], lg_m, 0, &plain, s));
        CUZK_TRY(gpu_run_slice(run));
        gpu_ntt_kind kind = {1, i == 1}; /* one factor of a product may be lazy */
        CUZK_TRY(gpu_ntt_down(ntt, v[i], lg_m, kind, s));
    }
    CUZK_TRY(gpu_run_slice(run));
    return gpu_ntt_up(ntt, v[0], lg_m, 1, &ab, s);
}

extern "C" cuzk_status gpu_quotient(const gpu_ntt_table *ntt, void *d_a, void *d_b, void *d_c,
                                    uint32_t lg_m, const gpu_run *run)
{
    gpu_fr *const v[3] = {(gpu_fr *)d_a, (gpu_fr *)d_b, (gpu_fr *)d_c};
    gpu_run_group(run, SPAN_NTT);
    cuzk_status st = quotient(ntt, v, lg_m, run);
    gpu_run_group(run, NULL);
    return st;
}

#define THREADS 256

static uint32_t blocks_for(uint32_t lg_m) { return ((1u << lg_m) + THREADS - 1) / THREADS; }

static __global__ void __launch_bounds__(THREADS) k_theta(gpu_fr *a, uint32_t lg_m, bool reversed)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    gpu_fr x;
    if (i >> lg_m)
        return;
    fr_load(&x, a + i);
    gpu_fr_mul_word(&x, &x, reversed ? (0u - i) & ((1u << lg_m) - 1) : i);
    fr_store(a + i, &x);
}

extern "C" cuzk_status gpu_theta(void *d_a, uint32_t lg_m, bool reversed, const gpu_run *run)
{
    k_theta<<<blocks_for(lg_m), THREADS, 0, (cudaStream_t)run->stream>>>((gpu_fr *)d_a, lg_m,
                                                                         reversed);
    return gpu_check_launch("k_theta");
}

/* t <- a t; a is reduced, t lazy. */
static __global__ void __launch_bounds__(THREADS) k_multiply(gpu_fr *t, const gpu_fr *a, uint32_t n)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n)
        return;
    gpu_fr x, y;
    fr_load(&x, a + i);
    fr_load(&y, t + i);
    gpu_fr_mul(&x, &x, &y);
    fr_store(t + i, &x);
}

/* a <- scale (t + a b), canonical; b and t are reduced, a lazy. */
static __global__ void __launch_bounds__(THREADS)
    k_finish(gpu_fr *a, const gpu_fr *b, const gpu_fr *t, gpu_fr_fixed scale, uint32_t n)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n)
        return;
    gpu_fr x, y;
    fr_load(&x, b + i);
    fr_load(&y, a + i);
    gpu_fr_mul(&x, &x, &y);
    fr_load(&y, t + i);
    gpu_fr_add(&x, &x, &y);
    gpu_fr_mul_fixed(&x, &x, &scale);
    gpu_fr_reduce(&x, &x);
    fr_store(a + i, &x);
}

/* 2^32 / m^3: 1/m^2, 1/m of an inverse, and what theta divides by; out of Montgomery form. */
static gpu_fr_fixed derivative_scale(uint32_t lg_m)
{
    fr m, x, two32;
    fr_from_u64(&m, (uint64_t)1 << lg_m);
    fr_inv(&m, &m);
    fr_sqr(&x, &m);
    fr_mul(&x, &x, &m);
    fr_from_u64(&two32, (uint64_t)1 << 32);
    fr_mul(&x, &x, &two32);
    return fixed_out_of_mont(&x);
}

/* From values to values of theta times the polynomial, m/2^32 times as large and lazy. */
static cuzk_status derive(const gpu_ntt_table *ntt, gpu_fr *to, const gpu_fr *from, uint32_t lg_m,
                          const gpu_run *run)
{
    cudaStream_t s = (cudaStream_t)run->stream;
    const gpu_ntt_ends ends = {from == to ? NULL : from, NULL, NULL, NULL, true};
    const gpu_ntt_kind kind = {0, true};
    CUZK_TRY(gpu_ntt_up(ntt, to, lg_m, 0, &ends, s));
    CUZK_TRY(gpu_run_slice(run));
    CUZK_TRY(gpu_ntt_down(ntt, to, lg_m, kind, s));
    return gpu_run_slice(run);
}

static cuzk_status derivative_product(const gpu_ntt_table *ntt, gpu_fr *const v[3], uint32_t lg_m,
                                      const gpu_run *run)
{
    cudaStream_t s = (cudaStream_t)run->stream;
    CUZK_TRY(derive(ntt, v[2], v[1], lg_m, run));
    k_multiply<<<blocks_for(lg_m), THREADS, 0, s>>>(v[2], v[0], 1u << lg_m);
    CUZK_TRY(gpu_check_launch("k_multiply"));
    CUZK_TRY(derive(ntt, v[0], v[0], lg_m, run));
    k_finish<<<blocks_for(lg_m), THREADS, 0, s>>>(v[0], v[1], v[2], derivative_scale(lg_m),
                                                  1u << lg_m);
    return gpu_check_launch("k_finish");
}

extern "C" cuzk_status gpu_derivative_product(const gpu_ntt_table *ntt, void *d_a, void *d_b,
                                              void *d_c, uint32_t lg_m, const gpu_run *run)
{
    gpu_fr *const v[3] = {(gpu_fr *)d_a, (gpu_fr *)d_b, (gpu_fr *)d_c};
    gpu_run_group(run, SPAN_NTT);
    cuzk_status st = derivative_product(ntt, v, lg_m, run);
    gpu_run_group(run, NULL);
    return st;
}
