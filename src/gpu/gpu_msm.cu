/* The device side of multi-scalar multiplication and 0/1 sums: the lists for the tree sums. */
extern "C" {
#include "base/span_names.h"
#include "base/status.h"
}
#include "gpu/gpu_common.h"
#include "gpu/gpu_msm_digit.cuh"
#include "gpu/gpu_msm_order.h"
#include "gpu/gpu_ec.cuh"
#include "gpu/gpu_tree_int.h"
#include <string.h>

#define WORDS ((int)GPU_MSM_WORDS)

struct words {
    uint32_t l[WORDS];
};

static __device__ __constant__ const uint32_t FR_R[WORDS] = {
    0x00000001, 0xffffffff, 0xfffe5bfe, 0x53bda402, 0x09a1d805, 0x3339d808, 0x299d7d48, 0x73eda753};
/* (r - 1) / 2 */
static __device__ __constant__ const uint32_t FR_HALF[WORDS] = {
    0x80000000, 0x7fffffff, 0x7fff2dff, 0xa9ded201, 0x04d0ec02, 0x199cec04, 0x94cebea4, 0x39f6d3a9};

/* Thread i: scalar i. |t| for t the representative next to 0, plus half a digit in every window: the
 * digits plus their halves are then plain bit fields, and bit 255 is t's sign. Word by word, n words
 * apart, so that a window reads only its own. */
static __global__ void __launch_bounds__(256)
    k_recode(uint32_t *planes, const uint4 *scalars, uint32_t n, words halves)
{
    uint32_t i = blockIdx.x * 256 + threadIdx.x, t[WORDS], u[WORDS];
    if (i >= n)
        return;
    uint4 lo = scalars[(size_t)i * 2], hi = scalars[(size_t)i * 2 + 1];
    t[0] = lo.x, t[1] = lo.y, t[2] = lo.z, t[3] = lo.w;
    t[4] = hi.x, t[5] = hi.y, t[6] = hi.z, t[7] = hi.w;
    gpu_words_reduce_once(t, t, FR_R, WORDS);
    bool neg = gpu_words_sub(u, FR_HALF, t, WORDS) != 0;
    (void)gpu_words_sub(u, FR_R, t, WORDS);
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        t[k] = neg ? u[k] : t[k];
    (void)gpu_words_add(t, t, halves.l, WORDS);
    t[WORDS - 1] |= neg ? 0x80000000u : 0;
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        planes[(size_t)k * n + i] = t[k];
}

/* Digits of windows [w0, w1) of one partition, to the parts of the list from number `part` on. */
struct digit_args {
    uint32_t *keys, *refs;
    gpu_msm_scalars k;
    uint32_t n_windows, w0, w1, part, first, ignored; /* first: window w0's first segment */
};

/* Thread i: scalar i; a part of n elements for every window. */
static __global__ void __launch_bounds__(256) k_digits(digit_args a)
{
    uint32_t i = blockIdx.x * 256 + threadIdx.x, n = a.k.n;
    if (i >= n)
        return;
    bool neg = gpu_msm_load_sign(a.k.planes, n, i);
    uint32_t base = a.k.idx ? a.k.idx[i] : i, first = a.first;
    for (uint32_t w = a.w0; w < a.w1; w++) {
        uint32_t width =
            gpu_msm_window_start(w + 1, a.n_windows) - gpu_msm_window_start(w, a.n_windows);
        int32_t digit = gpu_msm_load_digit(a.k.planes, n, i, w, a.n_windows);
        uint32_t abs = (uint32_t)(digit < 0 ? -digit : digit);
        size_t at = (size_t)(a.part + w - a.w0) * n + i;
        a.keys[at] = abs == 0 ? a.ignored : first + abs - 1;
        first += 1u << (width - 1);
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

/* The list of all lines, in order (gpu_tree_sum_ordered). */
struct lines_args {
    uint32_t *refs, *start, *len;
    gpu_tree_counts *c;
    pool_view pool;
    gpu_msm_plan p;
};

static __device__ __forceinline__ void put_line(const lines_args &a, uint32_t i, uint32_t at,
                                                uint32_t n)
{
    a.start[i] = at;
    a.len[i] = n;
    gpu_tree_longest(a.c, n);
}

/* Warp i: row i of all; its buckets but the infinite ones. */
static __global__ void __launch_bounds__(256) k_rows(lines_args a)
{
    const uint32_t i = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (i >= a.p.n_units * a.p.n_rows)
        return;
    const gpu_msm_buckets x = gpu_msm_buckets_of(&a.p, i);
    uint32_t n = 0;
    for (uint32_t k = 0; k < x.n; k += 32) {
        bool has = k + lane < x.n && !a.pool.is_inf(x.q + k + lane);
        uint32_t all = __ballot_sync(0xffffffffu, has);
        if (has)
            a.refs[x.at + n + __popc(all & ((1u << lane) - 1))] = GPU_REF_POOL | (x.q + k + lane);
        n += __popc(all);
    }
    if (lane == 0)
        put_line(a, i, x.at, n);
}

/* Block i: 32 neighbouring columns of a unit, a lane each; warp w has the w-th eighth of their
 * rows. Flags are read twice: to count, then to write. */
static __global__ void __launch_bounds__(256) k_columns(lines_args a)
{
    __shared__ uint32_t count[8][32];
    const uint32_t tiles = (a.p.n_cols + 31) / 32, u = blockIdx.x / tiles;
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t col = blockIdx.x % tiles * 32 + lane;
    const uint32_t i = a.p.n_units * a.p.n_rows + u * a.p.n_cols + col;
    gpu_msm_buckets x = {0, 0, 0, 0};
    if (col < a.p.n_cols)
        x = gpu_msm_buckets_of(&a.p, i);
    const uint32_t k0 = x.n * warp / 8, k1 = x.n * (warp + 1) / 8;
    uint32_t n = 0, before = 0, all = 0;
#pragma unroll 8
    for (uint32_t k = k0; k < k1; k++)
        n += !a.pool.is_inf(x.q + k * x.step);
    count[warp][lane] = n;
    __syncthreads();
    for (uint32_t w = 0; w < 8; w++) {
        before += w < warp ? count[w][lane] : 0;
        all += count[w][lane];
    }
    uint32_t *refs = a.refs + x.at + before;
#pragma unroll 8
    for (uint32_t k = k0; k < k1; k++)
        if (!a.pool.is_inf(x.q + k * x.step))
            *refs++ = GPU_REF_POOL | (x.q + k * x.step);
    if (warp == 0 && col < a.p.n_cols)
        put_line(a, i, x.at, all);
}

/* Thread i: row or column i of all; an element for every bit of its weight. */
static __global__ void __launch_bounds__(256)
    k_bits(uint32_t *keys, uint32_t *refs, pool_view pool, gpu_msm_plan p)
{
    uint32_t i = blockIdx.x * 256 + threadIdx.x;
    if (i >= p.n_lines)
        return;
    gpu_msm_line l = gpu_msm_line_of(&p, i);
    if (pool.is_inf(p.first_lines + i))
        l.weight = 0;
    for (uint32_t j = 0; j < p.n_bits; j++) {
        keys[j * p.n_lines + i] = l.weight >> j & 1 ? l.first_bit + j : p.n_final;
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

/* The scalars of all partitions, recoded, after the tree's part of the workspace. */
static cuzk_status recode(uint32_t *planes, const gpu_msm_plan *p, const gpu_msm_input *in,
                          cudaStream_t s)
{
    words halves;
    memset(&halves, 0, sizeof halves);
    for (uint32_t w = 1; w <= p->n_windows; w++) {
        uint32_t bit = gpu_msm_window_start(w, p->n_windows) - 1;
        halves.l[bit / 32] |= 1u << (bit % 32);
    }
    for (unsigned k = 0; k < in->tails->n_batch; k++) {
        k_recode<<<blocks_of_256(in->n), 256, 0, s>>>(planes + (size_t)k * WORDS * in->n,
                                                      (const uint4 *)in->tails->d_scalars[k],
                                                      (uint32_t)in->n, halves);
        CUZK_TRY(gpu_check_launch("k_recode"));
    }
    return cuzk_ok();
}

/* Fill the list for units [u0, u1). */
static cuzk_status put_digits(gpu_tree *t, const gpu_msm_plan *p, digit_args a, uint32_t u0,
                              uint32_t u1)
{
    const uint32_t *planes = a.k.planes;
    a.keys = t->list.keys;
    a.refs = t->list.vals;
    a.ignored = gpu_msm_unit_bucket(p, u1) - gpu_msm_unit_bucket(p, u0);
    for (uint32_t u = u0; u < u1; u += a.w1 - a.w0) {
        uint32_t k = u / p->n_windows, end = (k + 1) * p->n_windows;
        a.k.planes = planes + (size_t)k * WORDS * a.k.n;
        a.w0 = u - k * p->n_windows;
        a.w1 = (end < u1 ? end : u1) - k * p->n_windows;
        a.part = u - u0;
        a.first = gpu_msm_unit_bucket(p, u) - gpu_msm_unit_bucket(p, u0);
        k_digits<<<blocks_of_256(a.k.n), 256, 0, (cudaStream_t)t->run->stream>>>(a);
        CUZK_TRY(gpu_check_launch("k_digits"));
    }
    return cuzk_ok();
}

/* From bucket sums to one point per unit, row or column, and bit of its number. */
static cuzk_status sum_weights(gpu_tree *t, const gpu_msm_plan *p)
{
    cudaStream_t s = (cudaStream_t)t->run->stream;
    t->part = SPAN_REDUCE;
    gpu_tree_part(t, NULL);
    CUZK_TRY(gpu_tree_open(t));
    lines_args a = {t->list.vals, t->d_start, t->d_len, (gpu_tree_counts *)(void *)t->d_counts,
                    view_of(t),   *p};
    k_rows<<<gpu_blocks_for((size_t)p->n_units * p->n_rows, 8, UINT32_MAX), 256, 0, s>>>(a);
    CUZK_TRY(gpu_check_launch("k_rows"));
    k_columns<<<p->n_units *((p->n_cols + 31) / 32), 256, 0, s>>>(a);
    CUZK_TRY(gpu_check_launch("k_columns"));
    CUZK_TRY(gpu_tree_sum_ordered(t, (size_t)2 * p->n_all, p->n_lines, false, p->first_lines));
    k_bits<<<blocks_of_256(p->n_lines), 256, 0, s>>>(t->list.keys, t->list.vals, view_of(t), *p);
    CUZK_TRY(gpu_check_launch("k_bits"));
    CUZK_TRY(gpu_tree_sum(t, (size_t)p->n_lines * p->n_bits, p->n_final, false, p->first_final));
    return gpu_tree_export(t, p->first_final, p->n_final);
}

/* Bucket sums of the group of units from u0 on. o: its counts, or NULL. */
static cuzk_status sum_group(gpu_tree *t, const gpu_msm_plan *p, const digit_args *a, uint32_t u0,
                             const gpu_msm_order *o)
{
    uint32_t u1 = u0 + p->per_group < p->n_units ? u0 + p->per_group : p->n_units;
    uint32_t first = gpu_msm_unit_bucket(p, u0), end = gpu_msm_unit_bucket(p, u1);
    size_t n = (size_t)(u1 - u0) * a->k.n;
    if (o && gpu_msm_order_fits(o, p, u0)) {
        CUZK_TRY(gpu_msm_order_list(o, t, p, &a->k, u0));
        return gpu_tree_sum_ordered(t, n, end - first, true, first);
    }
    gpu_tree_part(t, SPAN_ORDER);
    CUZK_TRY(put_digits(t, p, *a, u0, u1));
    return gpu_tree_sum(t, n, end - first, true, first);
}

extern "C" cuzk_status gpu_msm_run(const gpu_msm_input *in, const gpu_msm_plan *p,
                                   const gpu_msm_ws *ws)
{
    gpu_tree t;
    gpu_msm_order order;
    gpu_tree_size size = {in->group, p->n_list, p->n_segments, p->n_dense, p->n_final};
    uint32_t *planes = (uint32_t *)(void *)((char *)ws->d_ws + gpu_tree_bytes(&size));
    digit_args a;
    memset(&a, 0, sizeof a);
    a.k.planes = planes;
    a.k.idx = in->tails->d_idx;
    a.k.n = (uint32_t)in->n;
    a.n_windows = p->n_windows;
    CUZK_TRY(gpu_tree_init(&t, &size, in->d_bases, ws));
    gpu_tree_part(&t, SPAN_RECODE);
    CUZK_TRY(recode(planes, p, in, (cudaStream_t)t.run->stream));
    bool ordered = p->order_bytes > 0 && gpu_msm_order_works(p);
    if (ordered)
        CUZK_TRY(
            gpu_msm_order_count(&order, planes + in->n * in->tails->n_batch * WORDS, &t, p, &a.k));
    for (uint32_t u0 = 0; u0 < p->n_units; u0 += p->per_group)
        CUZK_TRY(sum_group(&t, p, &a, u0, ordered ? &order : nullptr));
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
    gpu_tree_part(&t, SPAN_ORDER);
    k_mask_keys<<<blocks_of_256(n), 256, 0, s>>>(t.list.keys, t.list.vals, in->d_masks, n, n_masks);
    CUZK_TRY(gpu_check_launch("k_mask_keys"));
    CUZK_TRY(gpu_tree_sum(&t, n, n_classes, true, 0));
    t.part = SPAN_REDUCE;
    gpu_tree_part(&t, NULL);
    k_classes<<<blocks_of_256(n_classes), 256, 0, s>>>(t.list.keys, t.list.vals, view_of(&t),
                                                       n_masks);
    CUZK_TRY(gpu_check_launch("k_classes"));
    CUZK_TRY(gpu_tree_sum(&t, (size_t)n_classes * n_masks, n_masks, false, n_classes));
    return gpu_tree_export(&t, n_classes, n_masks);
}
