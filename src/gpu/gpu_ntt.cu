/* The table of twiddles, small transforms, the public entries. */
#include "gpu/gpu_ntt_pass.cuh"
#include <string.h>
extern "C" {
#include "ff/fr.h"
}

#define N_THREADS 256u
#define N_SMALL_THREADS 512u

static __device__ __forceinline__ void small_end(const gpu_ntt_pass &p, gpu_fr *v, uint32_t i)
{
    gpu_fr x;
    gpu_fr_mul_fixed(v, v, &p.scale[0]);
    if (p.add) {
        gpu_fr_reduce(v, v);
        fr_load(&x, &p.add[i]);
        gpu_fr_add(v, v, &x);
    }
}

/* All levels of up to 2^11 points in one block: a thread takes every 512th butterfly of a level. */
static __global__ __launch_bounds__(N_SMALL_THREADS) void k_ntt_small(gpu_ntt_pass p, bool inverse,
                                                                      bool scale)
{
    extern __shared__ uint4 tile[];
    gpu_fr *x = (gpu_fr *)tile;
    uint32_t n = 1u << p.lg_n;
    for (uint32_t i = threadIdx.x; i < n; i += N_SMALL_THREADS) {
        gpu_fr v, u;
        fr_load(&v, inverse ? &p.in[i] : &p.a[i]);
        if (inverse && p.mul) {
            fr_load(&u, &p.mul[i]);
            gpu_fr_mul(&v, &v, &u);
        }
        x[i] = v;
    }
    __syncthreads();
#pragma unroll 1
    for (uint32_t l = 0; l < p.lg_n; l++) {
        uint32_t lg_half = inverse ? l : p.lg_n - 1 - l;
        for (uint32_t i = threadIdx.x; i < n / 2; i += N_SMALL_THREADS) {
            uint32_t node = i >> lg_half, at = i + (node << lg_half);
            gpu_fr_fixed w;
            gpu_fr u = x[at], v = x[at + (1u << lg_half)];
            node |= p.coset << (p.lg_n - 1 - lg_half);
            fixed_load(&w, p.tw + (inverse ? inverse_index(node) : (int64_t)node));
            if (inverse)
                gs(&u, &v, &w);
            else
                ct(&u, &v, &w);
            x[at] = u;
            x[at + (1u << lg_half)] = v;
        }
        __syncthreads();
    }
    for (uint32_t i = threadIdx.x; i < n; i += N_SMALL_THREADS) {
        gpu_fr v = x[i];
        if (scale)
            small_end(p, &v, i);
        else if (inverse && p.theta)
            gpu_fr_mul_word(&v, &v, i);
        gpu_fr_reduce(&v, &v);
        fr_store(&p.a[i], &v);
    }
}

cuzk_status gpu_ntt_small(const gpu_ntt_pass *p, bool inverse, bool scale, cudaStream_t stream)
{
    size_t tile_bytes = sizeof(gpu_fr) << p->lg_n;
    CUZK_TRY(gpu_ntt_allow_tile((const void *)k_ntt_small, tile_bytes));
    k_ntt_small<<<1, N_SMALL_THREADS, tile_bytes, stream>>>(*p, inverse, scale);
    return gpu_check_launch("k_ntt_small");
}

/* tw[-1] and tw[0]. */
static __global__ void k_table_start(gpu_fr_fixed *tw)
{
    gpu_fr one = {{1}}, minus_one;
#pragma unroll
    for (int i = 0; i < GPU_FR_WORDS; i++)
        minus_one.l[i] = GPU_CONST(GPU_FR_R)[i];
    minus_one.l[0]--;
    gpu_fr_fixed_set(&tw[0], &one);
    gpu_fr_fixed_set(&tw[-1], &minus_one);
}

/* tw[n + i] = tw[i] * w for i < n, n a power of two and w of order 4n: each bit of an index stands
 * for a factor. One thread per entry. */
static __global__ __launch_bounds__(N_THREADS) void k_table_double(gpu_fr_fixed *tw, uint32_t n,
                                                                   gpu_fr w_mont)
{
    uint32_t i = blockIdx.x * N_THREADS + threadIdx.x;
    if (i >= n)
        return;
    gpu_fr w;
    gpu_fr_fixed f;
    fr_load(&w, &tw[i].w);
    gpu_fr_mul(&w, &w, &w_mont);
    gpu_fr_fixed_set(&f, &w);
    fr_store(&tw[n + i].w, &f.w);
    fr_store(&tw[n + i].v, &f.v);
}

/* The entry before tw[0] takes a line of its own, so that tw stays aligned. */
static gpu_fr_fixed *table_tw(void *d_table) { return (gpu_fr_fixed *)d_table + 1; }

size_t gpu_ntt_table_bytes(uint32_t lg_n)
{
    return sizeof(gpu_fr_fixed) * (1 + ((size_t)1 << (lg_n ? lg_n - 1 : 0)));
}

cuzk_status gpu_ntt_table_build(gpu_ntt_table *t, void *d_table, uint32_t lg_n, void *stream)
{
    gpu_fr_fixed *tw = table_tw(d_table);
    t->d_table = NULL;
    t->lg_n = 0;
    if (lg_n > GPU_NTT_TABLE_LG_MAX)
        return cuzk_fail(CUZK_E_RANGE, "lg_n is %u, want 0 to %u", lg_n, GPU_NTT_TABLE_LG_MAX);
    k_table_start<<<1, 1, 0, (cudaStream_t)stream>>>(tw);
    CUZK_TRY(gpu_check_launch("k_table_start"));
    for (uint32_t j = 0; j + 1 < lg_n; j++) {
        fr root;
        gpu_fr w;
        fr_root_of_unity(&root, j + 2);
        memcpy(&w, &root, sizeof w);
        uint32_t n = 1u << j;
        k_table_double<<<(n + N_THREADS - 1) / N_THREADS, N_THREADS, 0, (cudaStream_t)stream>>>(
            tw, n, w);
        CUZK_TRY(gpu_check_launch("k_table_double"));
    }
    t->d_table = d_table;
    t->lg_n = lg_n;
    return cuzk_ok();
}

/* 1/2^lg_n as a fixed operand. */
static gpu_fr_fixed size_inverse(uint32_t lg_n)
{
    fr n;
    fr_int plain;
    gpu_fr w;
    gpu_fr_fixed f;
    fr_from_u64(&n, (uint64_t)1 << lg_n);
    fr_inv(&n, &n);
    fr_to_int(&plain, &n);
    memcpy(&w, &plain, sizeof w);
    gpu_fr_fixed_set(&f, &w);
    return f;
}

cuzk_status gpu_ntt_allow_tile(const void *kernel, size_t bytes)
{
    GPU_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    return cuzk_ok();
}

uint32_t gpu_ntt_plan(uint32_t lg_n, uint32_t first[5])
{
    uint32_t rest = lg_n - LG_ROWS, n = (rest + LG_ROWS - 1) / LG_ROWS;
    first[0] = 0;
    for (uint32_t i = 0; i <= n; i++)
        first[i + 1] = LG_ROWS + (rest * i + n - 1) / n;
    return n + 1;
}

gpu_ntt_pass gpu_ntt_pass_get(const gpu_ntt_table *t, void *d_a, uint32_t lg_n, uint32_t coset,
                              const uint32_t *first)
{
    gpu_ntt_pass p;
    memset(&p, 0, sizeof p);
    p.a = (gpu_fr *)d_a;
    p.in = p.a;
    p.tw = table_tw(t->d_table);
    p.lg_n = lg_n;
    p.level = first[1] > LG_ROWS ? first[1] - LG_ROWS : 0;
    p.skip = first[0] - p.level;
    p.coset = coset;
    return p;
}

cuzk_status gpu_ntt_check(const gpu_ntt_table *t, uint32_t lg_n, uint32_t coset)
{
    if (!t->d_table || lg_n > GPU_NTT_LG_N_MAX || lg_n + coset > t->lg_n)
        return cuzk_fail(CUZK_E_RANGE, "2^%u points%s, the table serves up to 2^%u", lg_n,
                         coset ? " of a coset" : "", t->lg_n);
    return cuzk_ok();
}

cuzk_status gpu_ntt_forward(const gpu_ntt_table *t, void *d_a, uint32_t lg_n, void *stream)
{
    gpu_ntt_kind kind = {0, false};
    return gpu_ntt_down(t, d_a, lg_n, kind, (cudaStream_t)stream);
}

cuzk_status gpu_ntt_inverse(const gpu_ntt_table *t, void *d_a, uint32_t lg_n, void *stream)
{
    gpu_fr_fixed scale = size_inverse(lg_n);
    gpu_ntt_ends ends = {NULL, NULL, &scale, NULL};
    return gpu_ntt_up(t, d_a, lg_n, 0, &ends, (cudaStream_t)stream);
}
