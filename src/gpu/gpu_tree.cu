/* Segmented affine tree sum. Per level: scan the numbers of pairs, write the pair list, add. */
extern "C" {
#include "base/span_names.h"
#include "base/status.h"
}
#include "gpu/gpu_common.h"
#include "gpu/gpu_tree_int.h"
#include "gpu/gpu_tree_list.h"
#include <string.h>

/* Additions that share an inversion: more is better up to here (H200, 2^26 points: 3.82, 3.91,
 * 3.94, 3.96 G/s for 128, 256, 512, 1024), and 1.7 GB of running products are enough. */
#define ADD_K_MAX 512u
#define N_LEVELS_MAX 32u
/* Estimates for run->slice: H200, picoseconds per element of a list (sort, bounds, pairs), per level
 * whatever it holds; and how much may be queued between two calls. */
#define LIST_PS 45u
#define LEVEL_PS 100000000u
#define SLICE_PS 45000000000u
/* Where the counts come back to in the pinned memory, after the points. */
#define PIN_COUNTS (GPU_MSM_PIN_BYTES - 256)

static __global__ void k_open(gpu_tree_counts *c, uint32_t pool_first)
{
    c->n_pairs = c->n_exceptions = c->longest = c->pool_prev = 0;
    c->pool_first = pool_first;
}

/* Thread i: elements 4i to 4i + 3 of the sorted list; writes where segments start and end. */
static __global__ void __launch_bounds__(256)
    k_bounds(uint32_t *start, uint32_t *end, const uint32_t *keys, uint32_t n, uint32_t n_seg)
{
    uint32_t i = (blockIdx.x * 256 + threadIdx.x) * 4;
    if (i >= n)
        return;
    uint4 q = *(const uint4 *)(keys + i);
    uint32_t k[6] = {i > 0 ? keys[i - 1] : 0, q.x, q.y, q.z, q.w, i + 4 < n ? keys[i + 4] : 0};
#pragma unroll
    for (uint32_t u = 0; u < 4; u++) {
        if (i + u >= n || k[u + 1] >= n_seg)
            break;
        if (i + u == 0 || k[u] != k[u + 1])
            start[k[u + 1]] = i + u;
        if (i + u == n - 1 || k[u + 2] != k[u + 1])
            end[k[u + 1]] = i + u + 1;
    }
}

/* Thread s: segment s; ends become lengths, 0 staying for the empty ones and the ignored one. */
static __global__ void __launch_bounds__(256)
    k_lengths(uint32_t *len, gpu_tree_counts *c, const uint32_t *start, uint32_t n_seg)
{
    uint32_t s = blockIdx.x * 256 + threadIdx.x, l = 0;
    if (s < n_seg && len[s] > 0)
        len[s] = l = len[s] - start[s];
    l = __reduce_max_sync(0xffffffffu, l);
    if ((threadIdx.x & 31) == 0)
        gpu_tree_longest(c, l);
}

/* Thread i: where tile i of segments and pairs begins. The first one opens the level. */
static __global__ void __launch_bounds__(256)
    k_split(uint32_t *split, gpu_tree_counts *c, const uint32_t *pair_at, uint32_t n_seg,
            uint32_t n_splits)
{
    uint32_t i = blockIdx.x * 256 + threadIdx.x, n_pairs = pair_at[n_seg];
    if (i == 0) {
        c->pool_prev = c->pool_first;
        c->pool_first =
            (c->pool_first + c->n_pairs + GPU_POOL_BLOCK - 1) & ~(GPU_POOL_BLOCK - 1);
        c->n_pairs = n_pairs;
        c->n_exceptions = 0;
    }
    if (i < n_splits)
        split[i] = gpu_tree_split(pair_at, n_seg, min(i * GPU_TREE_TILE, n_seg + n_pairs));
}

struct pairs_args {
    uint2 *pairs;
    uint32_t *left;
    const uint32_t *pair_at, *split;
    const gpu_tree_counts *c;
    gpu_tree_list list;
    uint32_t n_seg;
};

/* Block i: tile i of segments and pairs, whatever the segments' lengths. Segments keep what they
 * leave over, pairs are written out. 8 KiB of shared memory. */
static __global__ void __launch_bounds__(256) k_pairs(pairs_args a)
{
    __shared__ uint32_t at[GPU_TREE_TILE + 1];
    const uint32_t d0 = blockIdx.x * GPU_TREE_TILE, total = a.n_seg + a.c->n_pairs;
    if (d0 >= total)
        return;
    const uint32_t d1 = min(d0 + GPU_TREE_TILE, total);
    const uint32_t s0 = a.split[blockIdx.x], s1 = a.split[blockIdx.x + 1];
    const uint32_t from = s0 > 0 ? s0 - 1 : 0, m = s1 - from; /* the last of the tile before, too */
    a.list.pool_first = a.c->pool_prev;
    for (uint32_t k = threadIdx.x; k < m; k += 256)
        at[k] = a.pair_at[from + k];
    for (uint32_t s = s0 + threadIdx.x; s < s1; s += 256) {
        uint32_t len = a.list.len[s];
        if (gpu_tree_leaves(len, a.list.level))
            a.left[s] =
                gpu_tree_element(&a.list, s, len, gpu_tree_len_at(len, a.list.level) - 1);
    }
    __syncthreads();
    for (uint32_t j = d0 - s0 + threadIdx.x; j < d1 - s1; j += 256) {
        uint32_t k = gpu_tree_owner(at, m, j), s = from + k, i = 2 * (j - at[k]);
        uint32_t len = a.list.len[s];
        a.pairs[j] = make_uint2(gpu_tree_element(&a.list, s, len, i),
                                gpu_tree_element(&a.list, s, len, i + 1));
    }
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
static size_t carve(gpu_tree *t, char *base)
{
    size_t n = t->size.n_list, seg = t->size.n_segments + 1, at = 0;
    size_t pool =
        round_up(t->size.n_dense, GPU_POOL_BLOCK) + n + (N_LEVELS_MAX + 1) * (size_t)GPU_POOL_BLOCK;
#define TAKE(field, type, bytes)              \
    do {                                      \
        t->field = (type)(void *)(base + at); \
        at += round_up((bytes), 256);         \
    } while (0)
    TAKE(d_pool, void *, round_up(pool, GPU_POOL_BLOCK) * t->ops->point_bytes);
    TAKE(d_products, void *,
         (size_t)t->n_blocks * t->ops->add_threads * t->k_max * (t->ops->point_bytes / 2));
    TAKE(list.keys, uint32_t *, n * 4);
    TAKE(list.keys_alt, uint32_t *, n * 4);
    TAKE(list.vals, uint32_t *, n * 4);
    TAKE(list.vals_alt, uint32_t *, n * 4);
    TAKE(d_pairs, uint32_t *, (n / 2 + 1) * 8);
    TAKE(d_exceptions, uint32_t *, (n / 2 + 1) * 4);
    TAKE(d_start, uint32_t *, seg * 4);
    TAKE(d_start_alt, uint32_t *, seg * 4);
    TAKE(d_len, uint32_t *, seg * 4);
    TAKE(d_left, uint32_t *, seg * 4);
    TAKE(d_split, uint32_t *, (gpu_tree_tiles(n / 2, seg) + 1) * 4);
    TAKE(d_counts, uint32_t *, sizeof(gpu_tree_counts));
    TAKE(d_export, void *, t->size.n_export * t->ops->point_bytes);
    TAKE(d_temp, void *, t->temp_bytes);
#undef TAKE
    return at;
}

static bool shape(gpu_tree *t, const gpu_tree_size *s)
{
    memset(t, 0, sizeof *t);
    if (s->n_list + s->n_dense + (N_LEVELS_MAX + 2) * GPU_POOL_BLOCK > GPU_REF_INDEX ||
        s->n_segments > GPU_REF_INDEX)
        return false;
    t->size = *s;
    t->ops = s->group == GPU_MSM_G2 ? &GPU_TREE_OPS_G2 : &GPU_TREE_OPS_G1;
    t->n_blocks = n_multiprocessors();
    if (t->n_blocks == 0)
        return false;
    size_t k = s->n_list / 2 / (t->n_blocks * t->ops->add_threads) + 1;
    t->k_max = k < ADD_K_MAX ? (uint32_t)k : ADD_K_MAX;
    t->temp_bytes = gpu_sort_temp_bytes(s->n_list, s->n_segments + 1);
    return true;
}

extern "C" size_t gpu_tree_bytes(const gpu_tree_size *s)
{
    gpu_tree t;
    return shape(&t, s) ? carve(&t, NULL) : 0;
}

extern "C" cuzk_status gpu_tree_spend(gpu_tree *t, uint64_t ps)
{
    if (t->queued_ps > 0 && t->queued_ps + ps > SLICE_PS) {
        CUZK_TRY(gpu_run_slice(t->run));
        t->queued_ps = 0;
    }
    t->queued_ps += ps;
    return cuzk_ok();
}

extern "C" cuzk_status gpu_tree_init(gpu_tree *t, const gpu_tree_size *s, const void *d_bases,
                                     const gpu_msm_ws *ws)
{
    if (!shape(t, s))
        return cuzk_fail(CUZK_E_RANGE, "%zu references in %zu segments, want fewer than 2^30",
                         s->n_list, s->n_segments);
    size_t need = carve(t, (char *)ws->d_ws);
    if (need > ws->bytes)
        return cuzk_fail(CUZK_E_RANGE, "a workspace of %zu bytes, want %zu", ws->bytes, need);
    t->d_bases = d_bases;
    t->run = ws->run;
    t->pin = ws->pin;
    return gpu_run_slice(t->run);
}

extern "C" cuzk_status gpu_tree_open(gpu_tree *t)
{
    k_open<<<1, 1, 0, (cudaStream_t)t->run->stream>>>(
        (gpu_tree_counts *)(void *)t->d_counts,
        (uint32_t)round_up(t->size.n_dense, GPU_POOL_BLOCK));
    return gpu_check_launch("k_open");
}

/* Sort the list and find its segments. */
static cuzk_status find_segments(gpu_tree *t, size_t n, uint32_t n_seg)
{
    cudaStream_t s = (cudaStream_t)t->run->stream;
    unsigned bits = 1;
    while (bits < 32 && n_seg >> bits)
        bits++;
    CUZK_TRY(gpu_tree_spend(t, n * LIST_PS));
    gpu_tree_part(t, SPAN_ORDER);
    CUZK_TRY(gpu_tree_open(t));
    CUZK_TRY(gpu_sort_pairs(&t->list, n, bits, t->d_temp, t->temp_bytes, s));
    GPU_TRY(cudaMemsetAsync(t->d_len, 0, (size_t)n_seg * 4, s));
    k_bounds<<<gpu_blocks_for(n, 1024, UINT32_MAX), 256, 0, s>>>(t->d_start, t->d_len, t->list.keys,
                                                                 (uint32_t)n, n_seg);
    CUZK_TRY(gpu_check_launch("k_bounds"));
    k_lengths<<<gpu_blocks_for(n_seg, 256, UINT32_MAX), 256, 0, s>>>(
        t->d_len, (gpu_tree_counts *)(void *)t->d_counts, t->d_start, n_seg);
    return gpu_check_launch("k_lengths");
}

/* The length of the longest segment of the list in order. */
static cuzk_status longest_segment(uint32_t *longest, const gpu_tree *t)
{
    cudaStream_t s = (cudaStream_t)t->run->stream;
    gpu_tree_counts *c = (gpu_tree_counts *)(void *)((char *)t->pin + PIN_COUNTS);
    GPU_TRY(cudaMemcpyAsync(c, t->d_counts, sizeof *c, cudaMemcpyDeviceToHost, s));
    GPU_TRY(cudaStreamSynchronize(s));
    *longest = c->longest;
    return cuzk_ok();
}

/* The list as it is before that level. */
static gpu_tree_list list_at(const gpu_tree *t, uint32_t level)
{
    gpu_tree_list l = {t->list.vals, t->d_start, t->d_len, t->d_left, 0, level};
    return l;
}

/* The level's pairs, n_max at most, to t->d_pairs. */
static cuzk_status write_pairs(gpu_tree *t, uint32_t n_seg, uint32_t level, size_t n_max)
{
    cudaStream_t s = (cudaStream_t)t->run->stream;
    gpu_tree_counts *c = (gpu_tree_counts *)(void *)t->d_counts;
    uint32_t n_tiles = (uint32_t)gpu_tree_tiles(n_max, n_seg);
    CUZK_TRY(gpu_scan_pairs(t->d_start_alt, t->d_len, (size_t)n_seg + 1, level, t->d_temp,
                            t->temp_bytes, s));
    k_split<<<gpu_blocks_for((size_t)n_tiles + 1, 256, UINT32_MAX), 256, 0, s>>>(
        t->d_split, c, t->d_start_alt, n_seg, n_tiles + 1);
    CUZK_TRY(gpu_check_launch("k_split"));
    pairs_args a = {(uint2 *)(void *)t->d_pairs, t->d_left,         t->d_start_alt, t->d_split, c,
                    list_at(t, level),           n_seg};
    k_pairs<<<n_tiles, 256, 0, s>>>(a);
    return gpu_check_launch("k_pairs");
}

static cuzk_status add_level(gpu_tree *t, size_t n, uint32_t n_seg, uint32_t level, bool all_bases)
{
    cudaStream_t s = (cudaStream_t)t->run->stream;
    size_t n_max = gpu_tree_pairs_max(n, n_seg, level);
    CUZK_TRY(gpu_tree_spend(t, n_max * (2 * LIST_PS + t->ops->add_ps) + LEVEL_PS));
    gpu_tree_part(t, SPAN_PAIRS);
    CUZK_TRY(write_pairs(t, n_seg, level, n_max));
    gpu_tree_part(t, SPAN_ADD);
    gpu_tree_args a = {(const uint4 *)t->d_bases,
                       (uint4 *)t->d_pool,
                       (const uint2 *)(void *)t->d_pairs,
                       (uint4 *)t->d_products,
                       t->d_exceptions,
                       (gpu_tree_counts *)(void *)t->d_counts,
                       t->k_max};
    CUZK_TRY(t->ops->add(&a, t->n_blocks, all_bases && level == 0, s));
    CUZK_TRY(t->ops->exceptions(&a, gpu_blocks_for(n_max, 128, t->n_blocks * 4), s));
    uint32_t *start = t->d_start;
    t->d_start = t->d_start_alt;
    t->d_start_alt = start;
    return cuzk_ok();
}

extern "C" cuzk_status gpu_tree_sum_ordered(gpu_tree *t, size_t n, uint32_t n_segments,
                                            bool all_bases, uint32_t out_first)
{
    uint32_t longest = 0, level = 0;
    CUZK_ASSERT(n >= 1 && n <= t->size.n_list && n_segments <= t->size.n_segments);
    CUZK_ASSERT(out_first + (size_t)n_segments <= t->size.n_dense);
    CUZK_TRY(longest_segment(&longest, t));
    for (uint64_t len = longest; len > 1; len = (len + 1) / 2, level++)
        CUZK_TRY(add_level(t, n, n_segments, level, all_bases));
    gpu_tree_part(t, SPAN_COLLECT);
    gpu_tree_ends e = {list_at(t, level), (const gpu_tree_counts *)(const void *)t->d_counts,
                       n_segments, out_first};
    return t->ops->collect((uint4 *)t->d_pool, (const uint4 *)t->d_bases, &e,
                           (cudaStream_t)t->run->stream);
}

extern "C" cuzk_status gpu_tree_sum(gpu_tree *t, size_t n, uint32_t n_segments, bool all_bases,
                                    uint32_t out_first)
{
    CUZK_ASSERT(n >= 1 && n <= t->size.n_list && n_segments <= t->size.n_segments);
    CUZK_TRY(find_segments(t, n, n_segments));
    return gpu_tree_sum_ordered(t, n, n_segments, all_bases, out_first);
}

extern "C" cuzk_status gpu_tree_export(gpu_tree *t, uint32_t first, uint32_t n)
{
    cudaStream_t s = (cudaStream_t)t->run->stream;
    CUZK_ASSERT(n <= t->size.n_export && n * t->ops->point_bytes <= PIN_COUNTS);
    CUZK_TRY(t->ops->export_points(t, first, n, s));
    GPU_TRY(cudaMemcpyAsync(t->pin, t->d_export, (size_t)n * t->ops->point_bytes,
                            cudaMemcpyDeviceToHost, s));
    GPU_TRY(cudaStreamSynchronize(s));
    t->queued_ps = 0;
    return cuzk_ok();
}

extern "C" cuzk_status gpu_tree_records(gpu_tree *t, void *d_out, uint32_t first, uint32_t n)
{
    gpu_tree to = *t;
    to.d_export = d_out;
    return t->ops->export_points(&to, first, n, (cudaStream_t)t->run->stream);
}
