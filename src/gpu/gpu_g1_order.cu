/* Points in other places: as fast as the memory is, a quad of 16 bytes a thread. */
extern "C" {
#include "base/status.h"
}
#include "gpu/gpu_common.h"
#include "gpu/gpu_g1_order.h"

#define THREADS 256u
#define RECORD_QUADS 6u

static __device__ __forceinline__ uint32_t reversed_bits(uint32_t i, uint32_t lg_n)
{
    return lg_n > 0 ? __brev(i) >> (32 - lg_n) : 0;
}

/* Number of the thread's record and quad, or false. */
static __device__ __forceinline__ bool my_quad(uint32_t *record, uint32_t *quad, uint64_t n)
{
    uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    *record = (uint32_t)(i / RECORD_QUADS);
    *quad = (uint32_t)(i % RECORD_QUADS);
    return i < n * RECORD_QUADS;
}

/* Of all kernels, thread i: quad i mod 6 of record i / 6. */
static __global__ void __launch_bounds__(THREADS)
    k_reversed(uint4 *out, const uint4 *points, uint32_t first, uint32_t n, uint32_t lg_n)
{
    uint32_t i, quad;
    if (!my_quad(&i, &quad, n))
        return;
    size_t from = reversed_bits(first + i, lg_n);
    out[(size_t)i * RECORD_QUADS + quad] = points[from * RECORD_QUADS + quad];
}

/* Of the lower one of two records. */
static __global__ void __launch_bounds__(THREADS) k_reverse(uint4 *points, uint32_t lg_n)
{
    uint32_t i, quad;
    if (!my_quad(&i, &quad, (uint64_t)1 << lg_n))
        return;
    uint32_t j = reversed_bits(i, lg_n);
    if (i >= j)
        return;
    uint4 *at_i = points + (size_t)i * RECORD_QUADS + quad;
    uint4 *at_j = points + (size_t)j * RECORD_QUADS + quad;
    uint4 a = *at_i;
    *at_i = *at_j;
    *at_j = a;
}

static __global__ void __launch_bounds__(THREADS)
    k_mask(uint4 *out, const uint4 *points, const uint64_t *bits, uint32_t lg_n)
{
    uint32_t i, quad;
    if (!my_quad(&i, &quad, (uint64_t)1 << lg_n))
        return;
    uint32_t j = (0u - i) & ((1u << lg_n) - 1);
    uint4 a = make_uint4(0, 0, 0, 0);
    if (bits[j / 64] >> (j % 64) & 1)
        a = points[(size_t)reversed_bits(j, lg_n) * RECORD_QUADS + quad];
    out[(size_t)i * RECORD_QUADS + quad] = a;
}

static uint32_t blocks_for(uint64_t n)
{
    return (uint32_t)((n * RECORD_QUADS + THREADS - 1) / THREADS);
}

extern "C" cuzk_status gpu_g1_reversed(void *d_out, const void *d_points, uint64_t first,
                                       uint64_t n_out, uint32_t lg_n, const gpu_run *run)
{
    CUZK_ASSERT(lg_n <= 31 && first + n_out <= (uint64_t)1 << lg_n);
    if (n_out == 0)
        return cuzk_ok();
    k_reversed<<<blocks_for(n_out), THREADS, 0, (cudaStream_t)run->stream>>>(
        (uint4 *)d_out, (const uint4 *)d_points, (uint32_t)first, (uint32_t)n_out, lg_n);
    return gpu_check_launch("k_reversed");
}

extern "C" cuzk_status gpu_g1_reverse(void *d_points, uint32_t lg_n, const gpu_run *run)
{
    CUZK_ASSERT(lg_n <= 31);
    k_reverse<<<blocks_for((uint64_t)1 << lg_n), THREADS, 0, (cudaStream_t)run->stream>>>(
        (uint4 *)d_points, lg_n);
    return gpu_check_launch("k_reverse");
}

extern "C" cuzk_status gpu_g1_mask(void *d_out, const void *d_points, const uint64_t *d_bits,
                                   uint32_t lg_n, const gpu_run *run)
{
    CUZK_ASSERT(lg_n <= 31);
    k_mask<<<blocks_for((uint64_t)1 << lg_n), THREADS, 0, (cudaStream_t)run->stream>>>(
        (uint4 *)d_out, (const uint4 *)d_points, d_bits, lg_n);
    return gpu_check_launch("k_mask");
}
