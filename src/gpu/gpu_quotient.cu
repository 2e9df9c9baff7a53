/* The quotient: a, b and c to coefficients, a and b to the coset, their product back. Factors 1/m of
 * the inverses are left out until the last pass: then the values are m a, m b, m c, and m^3 a b. In
 * evaluation form the product on the coset is the last step, and m^2 a b. */
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

/* a and b from values on the domain to values on the coset, m times as large; b's are lazy. */
static cuzk_status to_coset(const gpu_ntt_table *ntt, gpu_fr *const v[2], uint32_t lg_m,
                            const gpu_run *run)
{
    cudaStream_t s = (cudaStream_t)run->stream;
    const gpu_ntt_ends plain = {NULL, NULL, NULL, NULL};
    for (int i = 0; i < 2; i++) {
        CUZK_TRY(gpu_run_slice(run));
        CUZK_TRY(gpu_ntt_up(ntt, v[i], lg_m, 0, &plain, s));
        CUZK_TRY(gpu_run_slice(run));
        gpu_ntt_kind kind = {1, i == 1}; /* one factor of a product may be lazy */
        CUZK_TRY(gpu_ntt_down(ntt, v[i], lg_m, kind, s));
    }
    return gpu_run_slice(run);
}

static cuzk_status quotient(const gpu_ntt_table *ntt, gpu_fr *const v[3], uint32_t lg_m,
                            const gpu_run *run)
{
    cudaStream_t s = (cudaStream_t)run->stream;
    gpu_fr_fixed scale_ab, scale_c;
    scales_get(&scale_ab, &scale_c, lg_m);
    gpu_ntt_ends c = {v[0], v[1], &scale_c, NULL};
    gpu_ntt_ends ab = {NULL, v[1], &scale_ab, v[2]};
    CUZK_TRY(gpu_ntt_up(ntt, v[2], lg_m, 0, &c, s));
    CUZK_TRY(to_coset(ntt, v, lg_m, run));
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

/* a <- scale a b, canonical; a is reduced, b lazy. Two products for 96 bytes: 3 ms at 2^27 (H200). */
static __global__ void __launch_bounds__(THREADS)
    k_multiply(gpu_fr *a, const gpu_fr *b, gpu_fr_fixed scale, uint32_t n)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n)
        return;
    gpu_fr x, y;
    fr_load(&x, a + i);
    fr_load(&y, b + i);
    gpu_fr_mul(&x, &x, &y);
    gpu_fr_mul_fixed(&x, &x, &scale);
    gpu_fr_reduce(&x, &x);
    fr_store(a + i, &x);
}

static cuzk_status multiply(gpu_fr *a, const gpu_fr *b, uint32_t lg_m, const gpu_run *run)
{
    uint32_t n = 1u << lg_m;
    fr m;
    fr_from_u64(&m, (uint64_t)1 << lg_m);
    fr_inv(&m, &m);
    fr_sqr(&m, &m);
    gpu_fr_fixed scale = fixed_out_of_mont(&m);
    k_multiply<<<(n + THREADS - 1) / THREADS, THREADS, 0, (cudaStream_t)run->stream>>>(a, b, scale,
                                                                                      n);
    return gpu_check_launch("k_multiply");
}

extern "C" cuzk_status gpu_coset_product(const gpu_ntt_table *ntt, void *d_a, void *d_b,
                                         uint32_t lg_m, const gpu_run *run)
{
    gpu_fr *const v[2] = {(gpu_fr *)d_a, (gpu_fr *)d_b};
    gpu_run_group(run, SPAN_NTT);
    cuzk_status st = to_coset(ntt, v, lg_m, run);
    if (st.code == CUZK_OK)
        st = multiply(v[0], v[1], lg_m, run);
    gpu_run_group(run, NULL);
    return st;
}
