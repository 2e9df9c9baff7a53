/* Segmented affine tree sum. Per level: scan the halved lengths, write the pair list, add. */
extern "C" {
#include "base/status.h"
}
#include "gpu/gpu_common.h"
#include "gpu/gpu_point_io.cuh"
#include "gpu/gpu_tree.h"
#include <string.h>

#define ADD_THREADS 512
/* Additions that share an inversion: more is better up to here (H200, 2^26 points: 3.82, 3.91,
 * 3.94, 3.96 G/s for 128, 256, 512, 1024), and 1.7 GB of running products are enough. */
#define ADD_K_MAX 512u
#define N_LEVELS_MAX 32u
#define POOL_BLOCK 32u

struct counts {
    uint32_t n_in, n_pairs, pool_first, n_exceptions, longest;
};

struct add_args {
    const uint4 *bases;
    uint4 *pool;
    const uint2 *pairs;
    uint4 *products;
    uint32_t *exceptions;
    counts *c;
    uint32_t k_max;
};

/* Thread i: element i of the sorted list; writes where segments start and end. */
static __global__ void __launch_bounds__(256)
    k_bounds(uint32_t *start, uint32_t *end, const uint32_t *keys, uint32_t n, uint32_t n_seg)
{
    uint32_t i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    uint32_t k = keys[i];
    if (i == 0 || keys[i - 1] != k)
        start[k] = i;
    if (i == n - 1 || keys[i + 1] != k)
        end[k] = i + 1;
    if (i == n - 1 && k != n_seg)
        start[n_seg] = n; /* nothing is ignored: the ignored ones start at the end */
}

/* Thread s: segment s; ends become lengths, the ignored segment gets 0. */
static __global__ void __launch_bounds__(256)
    k_lengths(uint32_t *len, counts *c, const uint32_t *start, uint32_t n_seg)
{
    uint32_t s = blockIdx.x * 256 + threadIdx.x, l = 0;
    if (s < n_seg)
        l = len[s] - start[s];
    if (s <= n_seg)
        len[s] = l;
    l = __reduce_max_sync(0xffffffffu, l);
    if ((threadIdx.x & 31) == 0 && l > 1)
        atomicMax(&c->longest, l);
}

static __global__ void k_level(counts *c, const uint32_t *start_in, const uint32_t *start_out,
                               uint32_t n_seg)
{
    c->pool_first = (c->pool_first + c->n_pairs + POOL_BLOCK - 1) & ~(POOL_BLOCK - 1);
    c->n_in = start_in[n_seg];
    c->n_pairs = start_in[n_seg] - start_out[n_seg];
    c->n_exceptions = 0;
}

struct map_args {
    uint2 *pairs;
    uint32_t *keys_out, *refs_out;
    const uint32_t *keys, *refs, *start_in, *start_out, *len;
    const counts *c;
    uint32_t level;
};

/* Grid-stride over the elements of the list; even ones of a segment write a pair or go on alone.
 * Each element knows its segment, so long and short segments cost the same. */
static __global__ void __launch_bounds__(256) k_map(map_args a)
{
    uint32_t n = a.c->n_in, first = a.c->pool_first;
    for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        uint32_t key = a.keys[i], in = a.start_in[key], k = i - in;
        if (k & 1)
            continue;
        uint32_t out = a.start_out[key], ref = a.refs[i];
        uint32_t len = (uint32_t)(((uint64_t)a.len[key] + ((uint64_t)1 << a.level) - 1) >> a.level);
        if (k + 1 < len) {
            uint32_t p = in - out + k / 2;
            a.pairs[p] = make_uint2(ref, a.refs[i + 1]);
            ref = GPU_REF_POOL | (first + p);
        }
        a.keys_out[out + k / 2] = key;
        a.refs_out[out + k / 2] = ref;
    }
}

/* d = x2 - x1, or 1 and true for a pair that may be a rare case: an infinity, or x1 = x2 (d = 0
 * or p; told by the low word alone, so falsely once in 2^31). */
template <bool ALL_BASES>
static __device__ __forceinline__ bool x_difference(gpu_fp *d, gpu_fp *x1, gpu_fp *x2, uint2 pair,
                                                    const add_args &a)
{
    gpu_load_x<ALL_BASES>(x1, a.bases, a.pool, pair.x);
    gpu_load_x<ALL_BASES>(x2, a.bases, a.pool, pair.y);
    gpu_lz_sub(d, x2, x1);
    bool rare =
        d->l[0] == 0 || d->l[0] == GPU_FP_P[0] || ((x1->l[11] | x2->l[11]) & GPU_G1_INF_BIT) != 0;
    if (rare) {
#pragma unroll
        for (int i = 0; i < GPU_FP_WORDS; i++)
            d->l[i] = i == 0;
    }
    return rare;
}

/* Pair p goes to thread p mod T, T threads in all, warps dealt round-robin to the
 * multiprocessors; up to k_max pairs of a thread share an inversion (Montgomery's trick): 5
 * products and 1 square a pair. The first slices of the 4 warps of a scheduler differ in length,
 * so that the memory pass of one overlaps the arithmetic of another. One block of 512 threads at
 * 128 registers per multiprocessor. */
template <bool ALL_BASES> static __global__ void __launch_bounds__(ADD_THREADS, 1) k_add(add_args a)
{
    const uint32_t n = a.c->n_pairs, first = a.c->pool_first, n_threads = gridDim.x * ADD_THREADS;
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint32_t w = warp * gridDim.x + blockIdx.x, t = w * 32 + lane;
    if (w * 32 >= n)
        return;
    const uint32_t m = (n - w * 32 + n_threads - 1) / n_threads;
    uint4 *prod = a.products + (size_t)w * 96 + lane;
    const size_t prod_step = (size_t)gridDim.x * (ADD_THREADS / 32) * 96;
    uint32_t slice = m >= 2 * a.k_max ? a.k_max * ((warp >> 2) + 1) / 4 : a.k_max;
    for (uint32_t k0 = 0, k1; k0 < m; k0 = k1, slice = a.k_max) {
        k1 = min(k0 + slice, m);
        gpu_fp run, d, x1, x2;
        gpu_fp_set_one(&run);
        for (uint32_t k = k0; k < k1; k++) {
            uint32_t p = k * n_threads + t;
            if (p < n) {
                x_difference<ALL_BASES>(&d, &x1, &x2, a.pairs[p], a);
                gpu_store_fp(prod + (k - k0) * prod_step, 32, &run);
                gpu_lz_mul(&run, &run, &d);
            }
        }
        gpu_lz_inv(&run, &run);
        for (uint32_t k = k1; k-- > k0;) {
            uint32_t p = k * n_threads + t;
            if (p >= n)
                continue;
            uint2 pair = a.pairs[p];
            gpu_fp dinv;
            bool rare = x_difference<ALL_BASES>(&d, &x1, &x2, pair, a);
            gpu_load_fp(&dinv, prod + (k - k0) * prod_step, 32);
            gpu_lz_mul(&dinv, &dinv, &run);
            gpu_lz_mul(&run, &run, &d);
            gpu_g1 p1;
            gpu_load_y<ALL_BASES>(&p1.y, a.bases, a.pool, pair.x);
            gpu_load_y<ALL_BASES>(&d, a.bases, a.pool, pair.y);
            gpu_lz_sub_wide(&d, &d, &p1.y);
            gpu_lz_mul(&dinv, &dinv, &d); /* the slope */
            p1.x = x1;
            gpu_g1_on_line(&p1, &p1, &x2, &dinv);
            gpu_store_pool(a.pool, first + p, &p1);
            if (rare)
                a.exceptions[atomicAdd(&a.c->n_exceptions, 1)] = p;
        }
    }
}

/* Grid-stride over the pairs set aside. */
static __global__ void __launch_bounds__(128) k_exceptions(add_args a)
{
    for (uint32_t i = blockIdx.x * 128 + threadIdx.x; i < a.c->n_exceptions; i += gridDim.x * 128) {
        uint32_t p = a.exceptions[i];
        gpu_g1 x, y;
        gpu_load_point(&x, a.bases, a.pool, a.pairs[p].x);
        gpu_load_point(&y, a.bases, a.pool, a.pairs[p].y);
        gpu_g1_add(&x, &x, &y);
        gpu_store_pool(a.pool, a.c->pool_first + p, &x);
    }
}

/* Thread s: segment s, by now of at most one element. */
static __global__ void __launch_bounds__(256)
    k_collect(uint4 *pool, const uint4 *bases, const uint32_t *refs, const uint32_t *start,
              const uint32_t *len, uint32_t n_seg, uint32_t out_first)
{
    uint32_t s = blockIdx.x * 256 + threadIdx.x;
    if (s >= n_seg)
        return;
    gpu_g1 p;
    if (len[s] == 0)
        gpu_g1_set_inf(&p);
    else
        gpu_load_point(&p, bases, pool, refs[start[s]]);
    gpu_store_pool(pool, out_first + s, &p);
}

static uint32_t blocks_for(size_t n, uint32_t threads, uint32_t max)
{
    size_t b = (n + threads - 1) / threads;
    return b < 1 ? 1 : b < max ? (uint32_t)b : max;
}

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* One device has all blocks of k_add resident at once, as many as it has multiprocessors. */
static uint32_t n_multiprocessors(void)
{
    int dev, n;
    if (cudaGetDevice(&dev) != cudaSuccess ||
        cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, dev) != cudaSuccess)
        return 0;
    return (uint32_t)n;
}

/* Lay the parts out from base (NULL: only count); returns the end. */
static size_t carve(gpu_tree *t, char *base, size_t n_export)
{
    size_t n = t->n_list_max, seg = t->n_segments_max + 1, at = 0;
    size_t pool = round_up(t->n_dense, POOL_BLOCK) + n + (N_LEVELS_MAX + 1) * POOL_BLOCK;
#define TAKE(field, type, bytes)              \
    do {                                      \
        t->field = (type)(void *)(base + at); \
        at += round_up((bytes), 256);         \
    } while (0)
    TAKE(d_pool, void *, round_up(pool, POOL_BLOCK) * 96);
    TAKE(d_products, void *, (size_t)t->n_blocks *ADD_THREADS * t->k_max * 48);
    TAKE(list.keys, uint32_t *, n * 4);
    TAKE(list.keys_alt, uint32_t *, n * 4);
    TAKE(list.vals, uint32_t *, n * 4);
    TAKE(list.vals_alt, uint32_t *, n * 4);
    TAKE(d_pairs, uint32_t *, (n / 2 + 1) * 8);
    TAKE(d_exceptions, uint32_t *, (n / 2 + 1) * 4);
    TAKE(d_start, uint32_t *, seg * 4);
    TAKE(d_start_alt, uint32_t *, seg * 4);
    TAKE(d_len, uint32_t *, seg * 4);
    TAKE(d_counts, uint32_t *, sizeof(counts));
    TAKE(d_export, void *, n_export * 96);
    TAKE(d_temp, void *, t->temp_bytes);
#undef TAKE
    return at;
}

static bool shape(gpu_tree *t, size_t n_list, size_t n_segments, size_t n_dense)
{
    memset(t, 0, sizeof *t);
    if (n_list + n_dense + (N_LEVELS_MAX + 2) * POOL_BLOCK > GPU_REF_INDEX ||
        n_segments > GPU_REF_INDEX)
        return false;
    t->n_blocks = n_multiprocessors();
    if (t->n_blocks == 0)
        return false;
    size_t k = n_list / 2 / (t->n_blocks * ADD_THREADS) + 1;
    t->k_max = k < ADD_K_MAX ? (uint32_t)k : ADD_K_MAX;
    t->n_list_max = n_list;
    t->n_segments_max = n_segments;
    t->n_dense = n_dense;
    t->temp_bytes = gpu_sort_temp_bytes(n_list, n_segments + 1);
    return true;
}

extern "C" size_t gpu_tree_bytes(size_t n_list, size_t n_segments, size_t n_dense, size_t n_export)
{
    gpu_tree t;
    return shape(&t, n_list, n_segments, n_dense) ? carve(&t, NULL, n_export) : 0;
}

extern "C" cuzk_status gpu_tree_init(gpu_tree *t, void *d_ws, size_t n_list, size_t n_segments,
                                     size_t n_dense, size_t n_export, const void *d_bases,
                                     void *stream)
{
    if (!shape(t, n_list, n_segments, n_dense))
        return cuzk_fail(CUZK_E_RANGE, "%zu references in %zu segments, want fewer than 2^30",
                         n_list, n_segments);
    (void)carve(t, (char *)d_ws, n_export);
    t->d_bases = d_bases;
    t->stream = stream;
    return cuzk_ok();
}

/* Sort the list and find its segments; *longest is the longest one's length. */
static cuzk_status find_segments(gpu_tree *t, size_t n, uint32_t n_seg, uint32_t *longest)
{
    cudaStream_t s = (cudaStream_t)t->stream;
    counts c = {0, 0, (uint32_t)round_up(t->n_dense, POOL_BLOCK), 0, 0};
    counts *d_c = (counts *)(void *)t->d_counts;
    unsigned bits = 1;
    while (bits < 32 && n_seg >> bits)
        bits++;
    CUZK_TRY(gpu_sort_pairs(&t->list, n, bits, t->d_temp, t->temp_bytes, t->stream));
    GPU_TRY(cudaMemsetAsync(t->d_start, 0, ((size_t)n_seg + 1) * 4, s));
    GPU_TRY(cudaMemsetAsync(t->d_len, 0, ((size_t)n_seg + 1) * 4, s));
    GPU_TRY(cudaMemcpyAsync(d_c, &c, sizeof c, cudaMemcpyHostToDevice, s));
    k_bounds<<<blocks_for(n, 256, UINT32_MAX), 256, 0, s>>>(t->d_start, t->d_len, t->list.keys,
                                                            (uint32_t)n, n_seg);
    CUZK_TRY(gpu_check_launch("k_bounds"));
    k_lengths<<<blocks_for((size_t)n_seg + 1, 256, UINT32_MAX), 256, 0, s>>>(t->d_len, d_c,
                                                                             t->d_start, n_seg);
    CUZK_TRY(gpu_check_launch("k_lengths"));
    GPU_TRY(cudaMemcpyAsync(&c, d_c, sizeof c, cudaMemcpyDeviceToHost, s));
    GPU_TRY(cudaStreamSynchronize(s));
    *longest = c.longest;
    return cuzk_ok();
}

/* n_max bounds the elements left at this level. */
static cuzk_status add_level(gpu_tree *t, uint32_t n_seg, uint32_t level, size_t n_max,
                             bool all_bases)
{
    cudaStream_t s = (cudaStream_t)t->stream;
    counts *c = (counts *)(void *)t->d_counts;
    CUZK_TRY(gpu_scan_halves(t->d_start_alt, t->d_len, (size_t)n_seg + 1, level, t->d_temp,
                             t->temp_bytes, t->stream));
    k_level<<<1, 1, 0, s>>>(c, t->d_start, t->d_start_alt, n_seg);
    CUZK_TRY(gpu_check_launch("k_level"));
    map_args m = {(uint2 *)(void *)t->d_pairs,
                  t->list.keys_alt,
                  t->list.vals_alt,
                  t->list.keys,
                  t->list.vals,
                  t->d_start,
                  t->d_start_alt,
                  t->d_len,
                  c,
                  level};
    k_map<<<blocks_for(n_max, 256, t->n_blocks * 64), 256, 0, s>>>(m);
    CUZK_TRY(gpu_check_launch("k_map"));
    add_args a = {(const uint4 *)t->d_bases,
                  (uint4 *)t->d_pool,
                  m.pairs,
                  (uint4 *)t->d_products,
                  t->d_exceptions,
                  c,
                  t->k_max};
    if (all_bases && level == 0)
        k_add<true><<<t->n_blocks, ADD_THREADS, 0, s>>>(a);
    else
        k_add<false><<<t->n_blocks, ADD_THREADS, 0, s>>>(a);
    CUZK_TRY(gpu_check_launch("k_add"));
    k_exceptions<<<blocks_for(n_max / 2, 128, t->n_blocks * 4), 128, 0, s>>>(a);
    CUZK_TRY(gpu_check_launch("k_exceptions"));
    gpu_pairs l = t->list;
    t->list = (gpu_pairs){l.keys_alt, l.keys, l.vals_alt, l.vals};
    uint32_t *start = t->d_start;
    t->d_start = t->d_start_alt;
    t->d_start_alt = start;
    return cuzk_ok();
}

extern "C" cuzk_status gpu_tree_sum(gpu_tree *t, size_t n, uint32_t n_segments, bool all_bases,
                                    uint32_t out_first)
{
    uint32_t longest = 0, level = 0;
    CUZK_ASSERT(n >= 1 && n <= t->n_list_max && n_segments <= t->n_segments_max);
    CUZK_ASSERT(out_first + (size_t)n_segments <= t->n_dense);
    CUZK_TRY(find_segments(t, n, n_segments, &longest));
    for (uint64_t len = longest; len > 1; len = (len + 1) / 2, level++) {
        size_t n_max = (n >> level) + n_segments + 1;
        CUZK_TRY(add_level(t, n_segments, level, n_max < n ? n_max : n, all_bases));
    }
    k_collect<<<blocks_for(n_segments, 256, UINT32_MAX), 256, 0, (cudaStream_t)t->stream>>>(
        (uint4 *)t->d_pool, (const uint4 *)t->d_bases, t->list.vals, t->d_start, t->d_len,
        n_segments, out_first);
    return gpu_check_launch("k_collect");
}
