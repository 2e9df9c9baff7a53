/* The device side of multi-scalar multiplication and 0/1 sums: the lists for the tree sums. */
extern "C" {
#include "base/status.h"
}
#include "gpu/gpu_common.h"
#include "gpu/gpu_msm_int.h"
#include "gpu/gpu_ec.cuh"
#include "gpu/gpu_tree_int.h"
#include <string.h>

#define WORDS 8

static __device__ __forceinline__ uint32_t window_width(uint32_t w, uint32_t n_windows)
{
    return (w + 1) * GPU_MSM_SCALAR_BITS / n_windows - w * GPU_MSM_SCALAR_BITS / n_windows;
}

struct words {
    uint32_t l[WORDS];
};

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

/* Digits of windows [w0, w1) of one partition, to the parts of the list from number `part` on. */
struct digit_args {
    uint32_t *keys, *refs;
    const uint4 *scalars;
    const uint32_t *idx;
    uint32_t n, n_windows, n_buckets, w0, w1, part, ignored;
};

/* Thread i: scalar i; a part of n elements for every window. */
static __global__ void __launch_bounds__(256) k_digits(digit_args a, words halves)
{
    uint32_t i = blockIdx.x * 256 + threadIdx.x, t[WORDS];
    if (i >= a.n)
        return;
    bool neg = recode(t, a.scalars + (size_t)i * 2, halves);
    uint32_t base = a.idx ? a.idx[i] : i;
    for (uint32_t w = 0; w < a.w1; w++) {
        uint32_t width = window_width(w, a.n_windows);
        int32_t digit = (int32_t)(t[0] & ((1u << width) - 1)) - (int32_t)(1u << (width - 1));
#pragma unroll
        for (int k = 0; k < WORDS; k++)
            t[k] = __funnelshift_r(t[k], k + 1 < WORDS ? t[k + 1] : 0, width);
        if (w < a.w0)
            continue;
        uint32_t part = a.part + w - a.w0;
        size_t at = (size_t)part * a.n + i;
        uint32_t abs = (uint32_t)(digit < 0 ? -digit : digit);
        a.keys[at] = abs == 0 ? a.ignored : part * a.n_buckets + abs - 1;
        a.refs[at] = base | ((digit < 0) != neg ? GPU_REF_NEG : 0);
    }
}

/* The pool, for its infinities: they are marked in the third plane in both groups. */
struct pool_view {
    const uint4 *pool;
    uint32_t block_words;
    __device__ __forceinline__ bool is_inf(uint32_t q) const
    {
        return (pool[(size_t)(q >> 5) * block_words + (q & 31) + 64].w & GPU_G1_INF_BIT) != 0;
    }
};

/* Thread i: bucket i of all; one element for its row, one for its column. */
static __global__ void __launch_bounds__(256)
    k_lines(uint32_t *keys, uint32_t *refs, pool_view pool, gpu_msm_plan p)
{
    uint32_t i = blockIdx.x * 256 + threadIdx.x, n = p.n_units * p.n_buckets;
    if (i >= n)
        return;
    uint32_t u = i / p.n_buckets, b = i % p.n_buckets;
    bool inf = pool.is_inf(i);
    keys[i] = inf ? p.n_lines : u * p.n_rows + (b >> p.lg_cols);
    keys[n + i] = inf ? p.n_lines : (p.n_units * p.n_rows + u * p.n_cols + (b & (p.n_cols - 1)));
    refs[i] = refs[n + i] = GPU_REF_POOL | i;
}

/* Thread i: row or column i of all; an element for every bit of its weight. */
static __global__ void __launch_bounds__(256)
    k_bits(uint32_t *keys, uint32_t *refs, pool_view pool, gpu_msm_plan p)
{
    uint32_t i = blockIdx.x * 256 + threadIdx.x, rows = p.n_units * p.n_rows;
    if (i >= p.n_lines)
        return;
    bool is_col = i >= rows, inf = pool.is_inf(p.first_lines + i);
    uint32_t u = is_col ? (i - rows) / p.n_cols : i / p.n_rows;
    uint32_t weight = is_col ? (i - rows) % p.n_cols + 1 : i % p.n_rows;
    for (uint32_t j = 0; j < p.n_bits; j++) {
        bool in = !inf && (weight >> j & 1);
        keys[j * p.n_lines + i] =
            ((in ? u : p.n_units) * 2 + (in && is_col)) * p.n_bits + (in ? j : 0);
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
    k_classes(uint32_t *keys, uint32_t *refs, pool_view pool, uint32_t n_masks)
{
    uint32_t i = blockIdx.x * 256 + threadIdx.x, n = (1u << n_masks) - 1;
    if (i >= n)
        return;
    bool inf = pool.is_inf(i);
    for (uint32_t j = 0; j < n_masks; j++) {
        keys[j * n + i] = !inf && ((i + 1) >> j & 1) ? j : n_masks;
        refs[j * n + i] = GPU_REF_POOL | i;
    }
}

static uint32_t blocks_of_256(size_t n) { return (uint32_t)((n + 255) / 256); }

static pool_view view_of(const gpu_tree *t)
{
    return pool_view{(const uint4 *)t->d_pool, t->ops->point_bytes / 16 * GPU_POOL_BLOCK};
}

/* Fill the list for units [u0, u1). */
static cuzk_status put_digits(gpu_tree *t, const gpu_msm_plan *p, const gpu_msm_input *in,
                              uint32_t u0, uint32_t u1)
{
    words halves;
    uint32_t n_windows = p->n_windows;
    memset(&halves, 0, sizeof halves);
    for (uint32_t w = 1; w <= n_windows; w++) {
        uint32_t bit = gpu_msm_window_start(w, n_windows) - 1;
        halves.l[bit / 32] |= 1u << (bit % 32);
    }
    digit_args a;
    memset(&a, 0, sizeof a);
    a.keys = t->list.keys;
    a.refs = t->list.vals;
    a.idx = in->tails->d_idx;
    a.n = (uint32_t)in->n;
    a.n_windows = n_windows;
    a.n_buckets = p->n_buckets;
    a.ignored = (u1 - u0) * p->n_buckets;
    for (uint32_t u = u0; u < u1; u += a.w1 - a.w0) {
        uint32_t k = u / n_windows, end = (k + 1) * n_windows;
        a.scalars = (const uint4 *)in->tails->d_scalars[k];
        a.w0 = u - k * n_windows;
        a.w1 = (end < u1 ? end : u1) - k * n_windows;
        a.part = u - u0;
        k_digits<<<blocks_of_256(in->n), 256, 0, (cudaStream_t)t->run->stream>>>(a, halves);
        CUZK_TRY(gpu_check_launch("k_digits"));
    }
    return cuzk_ok();
}

/* From bucket sums to one point per unit, row or column, and bit of its number. */
static cuzk_status sum_weights(gpu_tree *t, const gpu_msm_plan *p)
{
    cudaStream_t s = (cudaStream_t)t->run->stream;
    uint32_t n_all = p->n_units * p->n_buckets;
    k_lines<<<blocks_of_256(n_all), 256, 0, s>>>(t->list.keys, t->list.vals, view_of(t), *p);
    CUZK_TRY(gpu_check_launch("k_lines"));
    CUZK_TRY(gpu_tree_sum(t, (size_t)2 * n_all, p->n_lines, false, p->first_lines));
    k_bits<<<blocks_of_256(p->n_lines), 256, 0, s>>>(t->list.keys, t->list.vals, view_of(t), *p);
    CUZK_TRY(gpu_check_launch("k_bits"));
    CUZK_TRY(gpu_tree_sum(t, (size_t)p->n_lines * p->n_bits, p->n_final, false, p->first_final));
    return gpu_tree_export(t, p->first_final, p->n_final);
}

extern "C" cuzk_status gpu_msm_run(const gpu_msm_input *in, const gpu_msm_plan *p,
                                   const gpu_msm_ws *ws)
{
    gpu_tree t;
    gpu_tree_size size = {in->group, p->n_list, p->n_segments, p->n_dense, p->n_final};
    CUZK_TRY(gpu_tree_init(&t, &size, in->d_bases, ws));
    for (uint32_t u0 = 0; u0 < p->n_units; u0 += p->per_group) {
        uint32_t u1 = u0 + p->per_group < p->n_units ? u0 + p->per_group : p->n_units;
        CUZK_TRY(put_digits(&t, p, in, u0, u1));
        CUZK_TRY(gpu_tree_sum(&t, (size_t)(u1 - u0) * in->n, (u1 - u0) * p->n_buckets, true,
                              u0 * p->n_buckets));
    }
    return sum_weights(&t, p);
}

extern "C" cuzk_status gpu_msm_sums_run(const gpu_msm_input *in, size_t n_list,
                                        const gpu_msm_ws *ws)
{
    gpu_tree t;
    uint32_t n = (uint32_t)in->n, n_masks = in->n_masks, n_classes = (1u << n_masks) - 1;
    cudaStream_t s = (cudaStream_t)ws->run->stream;
    gpu_tree_size size = {in->group, n_list, n_classes, n_classes + n_masks, n_masks};
    CUZK_TRY(gpu_tree_init(&t, &size, in->d_bases, ws));
    k_mask_keys<<<blocks_of_256(n), 256, 0, s>>>(t.list.keys, t.list.vals, in->d_masks, n, n_masks);
    CUZK_TRY(gpu_check_launch("k_mask_keys"));
    CUZK_TRY(gpu_tree_sum(&t, n, n_classes, true, 0));
    k_classes<<<blocks_of_256(n_classes), 256, 0, s>>>(t.list.keys, t.list.vals, view_of(&t),
                                                       n_masks);
    CUZK_TRY(gpu_check_launch("k_classes"));
    CUZK_TRY(gpu_tree_sum(&t, (size_t)n_classes * n_masks, n_masks, false, n_classes));
    return gpu_tree_export(&t, n_classes, n_masks);
}
