/* The device side of G1 multi-scalar multiplication and 0/1 sums: the lists for the tree sums. */
extern "C" {
#include "base/status.h"
}
#include "gpu/gpu_common.h"
#include "gpu/gpu_msm_int.h"
#include "gpu/gpu_point_io.cuh"
#include "gpu/gpu_tree.h"
#include <string.h>

#define WORDS 8

static __device__ __forceinline__ uint32_t window_width(uint32_t w, uint32_t n_windows)
{
    return (w + 1) * GPU_MSM_SCALAR_BITS / n_windows - w * GPU_MSM_SCALAR_BITS / n_windows;
}

struct words {
    uint32_t l[WORDS];
};

/* Thread i: record i. */
static __global__ void __launch_bounds__(256) k_prepare(uint4 *bases, size_t n)
{
    size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    gpu_g1 p;
    uint4 *r = bases + i * 6;
    gpu_load_fp(&p.x, r, 1);
    gpu_load_fp(&p.y, r + 3, 1);
    if (gpu_lz_is_zero(&p.x) && gpu_lz_is_zero(&p.y))
        p.x.l[GPU_FP_WORDS - 1] = GPU_G1_INF_BIT;
    gpu_store_fp(r + (i & 1) * 3, 1, &p.x);
    gpu_store_fp(r + 3 - (i & 1) * 3, 1, &p.y);
}

static __device__ __constant__ const uint32_t FR_R[WORDS] = {
    0x00000001, 0xffffffff, 0xfffe5bfe, 0x53bda402, 0x09a1d805, 0x3339d808, 0x299d7d48, 0x73eda753};
/* (r - 1) / 2 */
static __device__ __constant__ const uint32_t FR_HALF[WORDS] = {
    0x80000000, 0x7fffffff, 0x7fff2dff, 0xa9ded201, 0x04d0ec02, 0x199cec04, 0x94cebea4, 0x39f6d3a9};

/* |t| for t the scalar's representative next to 0, plus half a digit in every window: the digits
 * plus their halves are then plain bit fields. Returns the sign. */
static __device__ __forceinline__ bool recode(uint32_t *t, const uint4 *scalar, const words &halves)
{
    uint32_t u[WORDS];
    uint4 lo = scalar[0], hi = scalar[1];
    t[0] = lo.x, t[1] = lo.y, t[2] = lo.z, t[3] = lo.w;
    t[4] = hi.x, t[5] = hi.y, t[6] = hi.z, t[7] = hi.w;
    gpu_words_reduce_once(t, t, FR_R, WORDS);
    bool neg = gpu_words_sub(u, FR_HALF, t, WORDS) != 0;
    (void)gpu_words_sub(u, FR_R, t, WORDS);
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        t[i] = neg ? u[i] : t[i];
    (void)gpu_words_add(t, t, halves.l, WORDS);
    return neg;
}

/* Thread i: scalar i; its digits in windows [w0, w1), each to its own part of the list. */
static __global__ void __launch_bounds__(256)
    k_digits(uint32_t *keys, uint32_t *refs, const uint4 *scalars, uint32_t n, gpu_msm_plan p,
             uint32_t w0, uint32_t w1, words halves)
{
    uint32_t i = blockIdx.x * 256 + threadIdx.x, t[WORDS];
    if (i >= n)
        return;
    bool neg = recode(t, scalars + (size_t)i * 2, halves);
    for (uint32_t w = 0; w < w1; w++) {
        uint32_t width = window_width(w, p.n_windows);
        int32_t digit = (int32_t)(t[0] & ((1u << width) - 1)) - (int32_t)(1u << (width - 1));
#pragma unroll
        for (int k = 0; k < WORDS; k++)
            t[k] = __funnelshift_r(t[k], k + 1 < WORDS ? t[k + 1] : 0, width);
        if (w < w0)
            continue;
        size_t at = (size_t)(w - w0) * n + i;
        uint32_t abs = (uint32_t)(digit < 0 ? -digit : digit);
        keys[at] = abs == 0 ? (w1 - w0) * p.n_buckets : (w - w0) * p.n_buckets + abs - 1;
        refs[at] = i | ((digit < 0) != neg ? GPU_REF_NEG : 0);
    }
}

static __device__ __forceinline__ bool pool_is_inf(const uint4 *pool, uint32_t q)
{
    return (pool[gpu_pool_word(q) + 64].w & GPU_G1_INF_BIT) != 0;
}

/* Thread i: bucket i of all; one element for its row, one for its column. */
static __global__ void __launch_bounds__(256)
    k_lines(uint32_t *keys, uint32_t *refs, const uint4 *pool, gpu_msm_plan p)
{
    uint32_t i = blockIdx.x * 256 + threadIdx.x, n = p.n_windows * p.n_buckets;
    if (i >= n)
        return;
    uint32_t w = i / p.n_buckets, b = i % p.n_buckets;
    bool inf = pool_is_inf(pool, i);
    keys[i] = inf ? p.n_lines : w * p.n_rows + (b >> p.lg_cols);
    keys[n + i] = inf ? p.n_lines : (p.n_windows * p.n_rows + w * p.n_cols + (b & (p.n_cols - 1)));
    refs[i] = refs[n + i] = GPU_REF_POOL | i;
}

/* Thread i: row or column i of all; an element for every bit of its weight. */
static __global__ void __launch_bounds__(256)
    k_bits(uint32_t *keys, uint32_t *refs, const uint4 *pool, gpu_msm_plan p)
{
    uint32_t i = blockIdx.x * 256 + threadIdx.x, rows = p.n_windows * p.n_rows;
    if (i >= p.n_lines)
        return;
    bool is_col = i >= rows, inf = pool_is_inf(pool, p.first_lines + i);
    uint32_t w = is_col ? (i - rows) / p.n_cols : i / p.n_rows;
    uint32_t weight = is_col ? (i - rows) % p.n_cols + 1 : i % p.n_rows;
    for (uint32_t j = 0; j < p.n_bits; j++) {
        bool in = !inf && (weight >> j & 1);
        keys[j * p.n_lines + i] =
            ((in ? w : p.n_windows) * 2 + (in && is_col)) * p.n_bits + (in ? j : 0);
        refs[j * p.n_lines + i] = GPU_REF_POOL | (p.first_lines + i);
    }
}

/* Thread i: base i; its bits in all masks are its key. */
static __global__ void __launch_bounds__(256)
    k_mask_keys(uint32_t *keys, uint32_t *refs, const uint64_t *masks, uint32_t n, uint32_t n_masks)
{
    uint32_t i = blockIdx.x * 256 + threadIdx.x, key = 0;
    size_t n_words = ((size_t)n + 63) / 64;
    if (i >= n)
        return;
    for (uint32_t j = 0; j < n_masks; j++)
        key |= (uint32_t)(masks[j * n_words + i / 64] >> (i % 64) & 1) << j;
    keys[i] = key ? key - 1 : (1u << n_masks) - 1;
    refs[i] = i;
}

/* Thread i: class i of bases, in the masks of the bits of i + 1. */
static __global__ void __launch_bounds__(256)
    k_classes(uint32_t *keys, uint32_t *refs, const uint4 *pool, uint32_t n_masks)
{
    uint32_t i = blockIdx.x * 256 + threadIdx.x, n = (1u << n_masks) - 1;
    if (i >= n)
        return;
    bool inf = pool_is_inf(pool, i);
    for (uint32_t j = 0; j < n_masks; j++) {
        keys[j * n + i] = !inf && ((i + 1) >> j & 1) ? j : n_masks;
        refs[j * n + i] = GPU_REF_POOL | i;
    }
}

/* Thread i: pool point first + i as a g1_aff. */
static __global__ void __launch_bounds__(256)
    k_export(uint4 *out, const uint4 *pool, uint32_t first, uint32_t n)
{
    uint32_t i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    gpu_g1 p;
    gpu_load_point(&p, pool, pool, GPU_REF_POOL | (first + i));
    if (gpu_g1_is_inf(&p)) {
        gpu_fp_set_zero(&p.x);
        gpu_fp_set_zero(&p.y);
    }
    gpu_lz_canon(&p.x, &p.x);
    gpu_lz_canon(&p.y, &p.y);
    gpu_store_fp(out + (size_t)i * 6, 1, &p.x);
    gpu_store_fp(out + (size_t)i * 6 + 3, 1, &p.y);
}

static uint32_t blocks_of_256(size_t n) { return (uint32_t)((n + 255) / 256); }
extern "C" cuzk_status gpu_msm_prepare_bases(void *d_bases, size_t n, void *stream)
{
    if (n == 0)
        return cuzk_ok();
    k_prepare<<<blocks_of_256(n), 256, 0, (cudaStream_t)stream>>>((uint4 *)d_bases, n);
    return gpu_check_launch("k_prepare");
}

/* Fetch n pool points to the host. */
static cuzk_status export_points(void *out, gpu_tree *t, uint32_t first, uint32_t n)
{
    cudaStream_t s = (cudaStream_t)t->stream;
    k_export<<<blocks_of_256(n), 256, 0, s>>>((uint4 *)t->d_export, (const uint4 *)t->d_pool, first,
                                              n);
    CUZK_TRY(gpu_check_launch("k_export"));
    GPU_TRY(cudaMemcpyAsync(out, t->d_export, (size_t)n * 96, cudaMemcpyDeviceToHost, s));
    GPU_TRY(cudaStreamSynchronize(s));
    return cuzk_ok();
}

/* Bucket sums of all windows, group by group, to the front of the pool. */
static cuzk_status sum_buckets(gpu_tree *t, const gpu_msm_plan *p, const void *d_scalars, size_t n)
{
    words halves;
    memset(&halves, 0, sizeof halves);
    for (uint32_t w = 1; w <= p->n_windows; w++) {
        uint32_t bit = gpu_msm_window_start(w, p->n_windows) - 1;
        halves.l[bit / 32] |= 1u << (bit % 32);
    }
    for (uint32_t w0 = 0; w0 < p->n_windows; w0 += p->per_group) {
        uint32_t w1 = w0 + p->per_group < p->n_windows ? w0 + p->per_group : p->n_windows;
        k_digits<<<blocks_of_256(n), 256, 0, (cudaStream_t)t->stream>>>(
            t->list.keys, t->list.vals, (const uint4 *)d_scalars, (uint32_t)n, *p, w0, w1, halves);
        CUZK_TRY(gpu_check_launch("k_digits"));
        CUZK_TRY(gpu_tree_sum(t, (size_t)(w1 - w0) * n, (w1 - w0) * p->n_buckets, true,
                              w0 * p->n_buckets));
    }
    return cuzk_ok();
}

/* From bucket sums to one point per window, row or column, and bit of its number. */
static cuzk_status sum_weights(void *points, gpu_tree *t, const gpu_msm_plan *p)
{
    cudaStream_t s = (cudaStream_t)t->stream;
    uint32_t n_all = p->n_windows * p->n_buckets, n_final = p->n_windows * 2 * p->n_bits;
    k_lines<<<blocks_of_256(n_all), 256, 0, s>>>(t->list.keys, t->list.vals,
                                                 (const uint4 *)t->d_pool, *p);
    CUZK_TRY(gpu_check_launch("k_lines"));
    CUZK_TRY(gpu_tree_sum(t, (size_t)2 * n_all, p->n_lines, false, p->first_lines));
    k_bits<<<blocks_of_256(p->n_lines), 256, 0, s>>>(t->list.keys, t->list.vals,
                                                     (const uint4 *)t->d_pool, *p);
    CUZK_TRY(gpu_check_launch("k_bits"));
    CUZK_TRY(gpu_tree_sum(t, (size_t)p->n_lines * p->n_bits, n_final, false, p->first_final));
    return export_points(points, t, p->first_final, n_final);
}

extern "C" cuzk_status gpu_msm_run(void *points, const gpu_msm_plan *p, const void *d_bases,
                                   const void *d_scalars, size_t n, void *d_ws, void *stream)
{
    gpu_tree t;
    CUZK_TRY(gpu_tree_init(&t, d_ws, p->n_list, p->n_segments, p->n_dense, GPU_MSM_FINAL_MAX,
                           d_bases, stream));
    CUZK_TRY(sum_buckets(&t, p, d_scalars, n));
    return sum_weights(points, &t, p);
}

extern "C" cuzk_status gpu_msm_sums_run(void *points, size_t n_list, uint32_t n_masks,
                                        const void *d_bases, const uint64_t *d_masks, size_t n,
                                        void *d_ws, void *stream)
{
    gpu_tree t;
    cudaStream_t s = (cudaStream_t)stream;
    uint32_t n_classes = (1u << n_masks) - 1;
    CUZK_TRY(gpu_tree_init(&t, d_ws, n_list, n_classes, n_classes + n_masks, GPU_MSM_FINAL_MAX,
                           d_bases, stream));
    k_mask_keys<<<blocks_of_256(n), 256, 0, s>>>(t.list.keys, t.list.vals, d_masks, (uint32_t)n,
                                                 n_masks);
    CUZK_TRY(gpu_check_launch("k_mask_keys"));
    CUZK_TRY(gpu_tree_sum(&t, n, n_classes, true, 0));
    k_classes<<<blocks_of_256(n_classes), 256, 0, s>>>(t.list.keys, t.list.vals,
                                                       (const uint4 *)t.d_pool, n_masks);
    CUZK_TRY(gpu_check_launch("k_classes"));
    CUZK_TRY(gpu_tree_sum(&t, (size_t)n_classes * n_masks, n_masks, false, n_classes));
    return export_points(points, &t, n_classes, n_masks);
}
