/* Ordering an MSM's lists by parts. */
extern "C" {
#include "base/span_names.h"
#include "base/status.h"
}
#include "gpu/gpu_msm_digit.cuh"
#include "gpu/gpu_msm_order.h"
#include "gpu/gpu_tree_int.h"
#include <string.h>

#define THREADS 1024u
/* Scalars that a block of k_spread takes together: the more, the more of a part are neighbours. Numbers
 * in a tile, places in a part and a sign share a word; numbers of parts take half of one. */
#define SPREAD_ITEMS 16u
#define SPREAD_LG_TILE 14u
#define SPREAD_TILE (SPREAD_ITEMS * THREADS)
static_assert(SPREAD_TILE == 1u << SPREAD_LG_TILE && SPREAD_LG_TILE + GPU_MSM_LG_PART_MAX < 31 &&
                  GPU_MSM_PARTS_MAX <= 1u << 16,
              "elements of a tile");
/* Device time per element of a list, picoseconds (estimate). */
#define COUNT_PS 4u
#define ORDER_PS 20u
#define NO_KEY 0xffffffffu
#define COUNT_BYTES_MAX (112u << 10)
/* Loads that a thread of k_part has under way. */
#define BATCH 8u

struct order_args {
    gpu_msm_plan p;
    gpu_msm_scalars k;
    uint32_t *next;
    uint2 *out;
    uint32_t u0;
};

/* A unit's window, scalars and parts. */
struct unit {
    const uint32_t *planes;
    uint32_t w, part0, n_parts;
};

static __device__ __forceinline__ unit unit_of(const order_args &a, uint32_t u)
{
    const uint32_t k = u / a.p.n_windows, w = u % a.p.n_windows, lg = a.p.lg_part;
    const uint32_t before = k * a.p.first_bucket[a.p.n_windows];
    unit o = {a.k.planes + (size_t)k * GPU_MSM_WORDS * a.k.n, w,
              (before + a.p.first_bucket[w]) >> lg,
              (a.p.first_bucket[w + 1] - a.p.first_bucket[w]) >> lg};
    return o;
}

/* |digit| - 1, or NO_KEY for digit 0. */
static __device__ __forceinline__ uint32_t key_of_digit(int32_t digit)
{
    return digit == 0 ? NO_KEY : (uint32_t)(digit < 0 ? -digit : digit) - 1;
}

/* That, with the sign of the product in the top bit. */
static __device__ __forceinline__ uint32_t key_of(const order_args &a, const unit &x, uint32_t i)
{
    int32_t digit = gpu_msm_load_digit(x.planes, a.k.n, i, x.w, a.p.n_windows);
    bool neg = gpu_msm_load_sign(x.planes, a.k.n, i) != (digit < 0);
    uint32_t key = key_of_digit(digit);
    return key != NO_KEY && neg ? key | GPU_REF_NEG : key;
}

/* Grid: blocks over the scalars, by chunks of n_chunk windows of a partition, so that a word is read
 * once for all of a chunk. Adds the windows' parts to next. Shared memory: a word a part of the
 * chunk, little enough for two blocks to share a multiprocessor. */
static __global__ void __launch_bounds__(THREADS, 2) k_count(order_args a, uint32_t n_chunk)
{
    extern __shared__ uint32_t count[];
    const uint32_t n_chunks = (a.p.n_windows + n_chunk - 1) / n_chunk, lg = a.p.lg_part;
    const uint32_t w0 = blockIdx.y % n_chunks * n_chunk, w1 = min(w0 + n_chunk, a.p.n_windows);
    const unit x = unit_of(a, blockIdx.y / n_chunks * a.p.n_windows + w0);
    const uint32_t n_parts = (a.p.first_bucket[w1] - a.p.first_bucket[w0]) >> lg;
    for (uint32_t b = threadIdx.x; b < n_parts; b += THREADS)
        count[b] = 0;
    __syncthreads();
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < a.k.n; i += gridDim.x * THREADS) {
#pragma unroll 2
        for (uint32_t w = w0; w < w1; w++) {
            uint32_t key = key_of_digit(gpu_msm_load_digit(x.planes, a.k.n, i, w, a.p.n_windows));
            uint32_t part = (a.p.first_bucket[w] - a.p.first_bucket[w0] + key) >> lg;
            if (key != NO_KEY)
                atomicAdd(&count[part], 1u);
        }
    }
    __syncthreads();
    for (uint32_t b = threadIdx.x; b < n_parts; b += THREADS)
        if (count[b] > 0)
            atomicAdd(&a.next[x.part0 + b], count[b]);
}

/* The sum of v over the threads before, and over all. sums: a word a warp. */
static __device__ __forceinline__ uint32_t block_scan(uint32_t *all, uint32_t *sums, uint32_t v)
{
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t x = v, before = 0, total = 0;
#pragma unroll
    for (uint32_t d = 1; d < 32; d *= 2) {
        uint32_t y = __shfl_up_sync(0xffffffffu, x, d);
        x += lane >= d ? y : 0;
    }
    if (lane == 31)
        sums[warp] = x;
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < THREADS / 32; k++) {
        before += k < warp ? sums[k] : 0;
        total += sums[k];
    }
    __syncthreads();
    *all = total;
    return before + x - v;
}

/* Block g: group g of units. Counts of parts become their places in the group's list. */
static __global__ void __launch_bounds__(THREADS)
    k_places(uint32_t *next, uint32_t *begin, uint32_t *largest, gpu_msm_plan p)
{
    __shared__ uint32_t sums[THREADS / 32];
    const uint32_t g = blockIdx.x;
    const uint32_t from = gpu_msm_unit_bucket(&p, g * p.per_group) >> p.lg_part;
    const uint32_t to = gpu_msm_unit_bucket(&p, min((g + 1) * p.per_group, p.n_units)) >> p.lg_part;
    uint32_t at = 0, most = 0, all;
    begin += from + g;
    for (uint32_t b = from; b < to; b += THREADS) {
        uint32_t i = b + threadIdx.x, n = i < to ? next[i] : 0;
        uint32_t mine = at + block_scan(&all, sums, n);
        if (i < to)
            begin[i - from] = next[i] = mine;
        most = max(most, n);
        at += all;
    }
    if (threadIdx.x == 0)
        begin[to - from] = at;
    most = __reduce_max_sync(0xffffffffu, most);
    if ((threadIdx.x & 31) == 0)
        atomicMax(&largest[g], most);
}

/* What k_spread knows of a tile's parts and elements, in shared memory. */
struct spread_tile {
    uint32_t *offset,
        *base;        /* of each part: its first element here; minus that, its place outside */
    uint32_t *sorted; /* elements by part: sign, place in the part, number in the tile */
    uint16_t *part_of;
};

static __device__ __forceinline__ spread_tile tile_get(uint32_t *shared, uint32_t n_parts)
{
    spread_tile t = {shared, shared + n_parts, shared + 2 * n_parts, nullptr};
    t.part_of = (uint16_t *)(t.sorted + SPREAD_TILE);
    return t;
}

/* Counts of parts in t.offset become their offsets, with places reserved for them outside. Returns the
 * number of elements. */
static __device__ __forceinline__ uint32_t reserve(const spread_tile &t, uint32_t *sums,
                                                   uint32_t *next, uint32_t n_parts)
{
    uint32_t at = 0, all;
    for (uint32_t b = 0; b < n_parts; b += THREADS) {
        uint32_t i = b + threadIdx.x, n = i < n_parts ? t.offset[i] : 0;
        uint32_t mine = at + block_scan(&all, sums, n);
        if (i < n_parts) {
            t.base[i] = (n > 0 ? atomicAdd(&next[i], n) : 0) - mine;
            t.offset[i] = mine;
        }
        at += all;
    }
    return at;
}

/* Grid: tiles of scalars, by the units of a group. Every block puts its elements in the order of parts,
 * so that neighbours go to neighbouring places (one by one, 33 G a second is all that the memory
 * takes on an H200): place in the part's segments, reference. */
static __global__ void __launch_bounds__(THREADS, 1) k_spread(order_args a)
{
    extern __shared__ uint32_t shared[];
    __shared__ uint32_t sums[THREADS / 32];
    const uint32_t lg = a.p.lg_part, first = blockIdx.x * SPREAD_TILE;
    const uint32_t n = min(a.k.n - first, SPREAD_TILE), mask = (1u << lg) - 1;
    const unit x = unit_of(a, a.u0 + blockIdx.y);
    const spread_tile t = tile_get(shared, a.p.n_buckets >> lg);
    uint32_t key[SPREAD_ITEMS], rank[SPREAD_ITEMS];
    for (uint32_t b = threadIdx.x; b < x.n_parts; b += THREADS)
        t.offset[b] = 0;
    __syncthreads();
#pragma unroll
    for (uint32_t u = 0; u < SPREAD_ITEMS; u++) {
        uint32_t i = u * THREADS + threadIdx.x;
        key[u] = i < n ? key_of(a, x, first + i) : NO_KEY;
    }
#pragma unroll
    for (uint32_t u = 0; u < SPREAD_ITEMS; u++)
        rank[u] = key[u] != NO_KEY ? atomicAdd(&t.offset[(key[u] & ~GPU_REF_NEG) >> lg], 1u) : 0;
    __syncthreads();
    const uint32_t n_here = reserve(t, sums, a.next + x.part0, x.n_parts);
    __syncthreads();
#pragma unroll
    for (uint32_t u = 0; u < SPREAD_ITEMS; u++) {
        uint32_t part = (key[u] & ~GPU_REF_NEG) >> lg;
        if (key[u] == NO_KEY)
            continue;
        uint32_t at = t.offset[part] + rank[u];
        t.sorted[at] = (key[u] & GPU_REF_NEG) | (key[u] & mask) << SPREAD_LG_TILE |
                       (u * THREADS + threadIdx.x);
        t.part_of[at] = (uint16_t)part;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < n_here; i += THREADS) {
        uint32_t e = t.sorted[i], k = first + (e & (SPREAD_TILE - 1));
        uint32_t ref = (a.k.idx ? a.k.idx[k] : k) | (e & GPU_REF_NEG);
        a.out[t.base[t.part_of[i]] + i] = make_uint2(e >> SPREAD_LG_TILE & mask, ref);
    }
}

struct part_args {
    uint32_t *refs, *start, *len;
    gpu_tree_counts *c;
    const uint2 *in;
    const uint32_t *begin;
    uint32_t lg_part;
};

/* Block b: part b, of GPU_MSM_PART_MAX elements at most, in order: references, and where the
 * segments start. It is read twice, the second time from L2. Shared memory: a word an element. */
static __global__ void __launch_bounds__(THREADS) k_part(part_args a)
{
    extern __shared__ uint32_t refs[];
    __shared__ uint32_t next[1u << GPU_MSM_LG_PART_MAX], sums[THREADS / 32];
    static_assert(1u << GPU_MSM_LG_PART_MAX == THREADS, "thread t has segment t");
    const uint32_t b = blockIdx.x, first = a.begin[b], n = a.begin[b + 1] - first;
    const uint32_t t = threadIdx.x, s = (b << a.lg_part) + t;
    const uint2 *in = a.in + first;
    uint32_t all;
    next[t] = 0;
    __syncthreads();
    for (uint32_t i = t; i < n; i += BATCH * THREADS) {
        uint32_t x[BATCH];
#pragma unroll
        for (uint32_t u = 0; u < BATCH; u++)
            x[u] = i + u * THREADS < n ? in[i + u * THREADS].x : NO_KEY;
#pragma unroll
        for (uint32_t u = 0; u < BATCH; u++)
            if (x[u] != NO_KEY)
                atomicAdd(&next[x[u]], 1u);
    }
    __syncthreads();
    uint32_t len = next[t], at = block_scan(&all, sums, len);
    next[t] = at;
    if (t < 1u << a.lg_part) {
        a.start[s] = first + at;
        a.len[s] = len;
    }
    len = __reduce_max_sync(0xffffffffu, len);
    if ((t & 31) == 0)
        gpu_tree_longest(a.c, len);
    __syncthreads();
    for (uint32_t i = t; i < n; i += BATCH * THREADS) {
        uint2 e[BATCH];
#pragma unroll
        for (uint32_t u = 0; u < BATCH; u++)
            e[u] = i + u * THREADS < n ? in[i + u * THREADS] : make_uint2(NO_KEY, 0);
#pragma unroll
        for (uint32_t u = 0; u < BATCH; u++)
            if (e[u].x != NO_KEY)
                refs[atomicAdd(&next[e[u].x], 1u)] = e[u].y;
    }
    __syncthreads();
    for (uint32_t i = t; i < n; i += THREADS)
        a.refs[first + i] = refs[i];
}

/* Shared memory of k_count with chunks of that many windows. */
static uint32_t count_bytes(const gpu_msm_plan *p, uint32_t n_chunk)
{
    uint32_t most = 0;
    for (uint32_t w0 = 0, w1; w0 < p->n_windows; w0 = w1) {
        w1 = w0 + n_chunk < p->n_windows ? w0 + n_chunk : p->n_windows;
        uint32_t n_parts = (p->first_bucket[w1] - p->first_bucket[w0]) >> p->lg_part;
        most = n_parts > most ? n_parts : most;
    }
    return most * 4;
}

/* All windows in one chunk, or else as few chunks as shared memory allows. */
static cuzk_status count_parts(const gpu_msm_order *o, const gpu_tree *t, const gpu_msm_plan *p,
                               const gpu_msm_scalars *k)
{
    uint32_t n_chunks = 1, n_chunk = p->n_windows;
    while (count_bytes(p, n_chunk) > COUNT_BYTES_MAX && n_chunk > 1)
        n_chunk = (p->n_windows + n_chunks) / (n_chunks + 1), n_chunks++; /* rounded up */
    n_chunks = (p->n_windows + n_chunk - 1) / n_chunk;
    uint32_t bytes = count_bytes(p, n_chunk);
    order_args a = {*p, *k, o->d_next, nullptr, 0};
    dim3 grid(gpu_blocks_for(k->n, 16 * THREADS, t->n_blocks * 2),
              p->n_units / p->n_windows * n_chunks);
    GPU_TRY(cudaFuncSetAttribute(k_count, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    k_count<<<grid, THREADS, bytes, (cudaStream_t)t->run->stream>>>(a, n_chunk);
    return gpu_check_launch("k_count");
}

static uint32_t spread_bytes(const gpu_msm_plan *p)
{
    return SPREAD_TILE * 6 + (p->n_buckets >> p->lg_part) * 8;
}

extern "C" bool gpu_msm_order_works(const gpu_msm_plan *p)
{
    int device, most = 0;
    uint32_t part = GPU_MSM_PART_MAX * 4 + (4u << GPU_MSM_LG_PART_MAX), spread = spread_bytes(p);
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) !=
            cudaSuccess)
        return false;
    /* and the sums of a scan; k_count takes less than k_part */
    static_assert(COUNT_BYTES_MAX < GPU_MSM_PART_MAX * 4, "k_part wants most");
    return (part > spread ? part : spread) + THREADS / 32 * 4 <= (uint32_t)most;
}

extern "C" cuzk_status gpu_msm_order_count(gpu_msm_order *o, void *d_ws, gpu_tree *t,
                                           const gpu_msm_plan *p, const gpu_msm_scalars *k)
{
    cudaStream_t s = (cudaStream_t)t->run->stream;
    uint32_t *d_all = (uint32_t *)d_ws, n_parts = p->n_all >> p->lg_part;
    uint32_t groups = (p->n_units + p->per_group - 1) / p->per_group;
    static_assert(sizeof o->largest <= GPU_MSM_PIN_BYTES, "sizes go through pinned memory");
    o->d_next = d_all;
    o->d_begin = d_all + n_parts;
    o->d_largest = o->d_begin + n_parts + groups;
    CUZK_TRY(gpu_tree_spend(t, (uint64_t)k->n * p->n_units * COUNT_PS));
    GPU_TRY(cudaMemsetAsync(d_all, 0, p->order_bytes, s));
    CUZK_TRY(count_parts(o, t, p, k));
    k_places<<<groups, THREADS, 0, s>>>(o->d_next, o->d_begin, o->d_largest, *p);
    CUZK_TRY(gpu_check_launch("k_places"));
    GPU_TRY(cudaMemcpyAsync(t->pin, o->d_largest, groups * 4, cudaMemcpyDeviceToHost, s));
    GPU_TRY(cudaStreamSynchronize(s));
    memcpy(o->largest, t->pin, groups * 4);
    return cuzk_ok();
}

/* Elements to where their parts are: pairs of place in the part and reference, to the key buffers,
 * which are neighbours, whichever is first now. */
static cuzk_status spread(order_args *a, const gpu_tree *t, uint32_t n_units)
{
    uint32_t bytes = spread_bytes(&a->p);
    dim3 grid((a->k.n + SPREAD_TILE - 1) / SPREAD_TILE, n_units);
    a->out = (uint2 *)(void *)(t->list.keys < t->list.keys_alt ? t->list.keys : t->list.keys_alt);
    GPU_TRY(
        cudaFuncSetAttribute(k_spread, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    k_spread<<<grid, THREADS, bytes, (cudaStream_t)t->run->stream>>>(*a);
    return gpu_check_launch("k_spread");
}

extern "C" cuzk_status gpu_msm_order_list(const gpu_msm_order *o, gpu_tree *t,
                                          const gpu_msm_plan *p, const gpu_msm_scalars *k,
                                          uint32_t u0)
{
    uint32_t g = u0 / p->per_group;
    uint32_t u1 = u0 + p->per_group < p->n_units ? u0 + p->per_group : p->n_units;
    uint32_t from = gpu_msm_unit_bucket(p, u0) >> p->lg_part;
    uint32_t to = gpu_msm_unit_bucket(p, u1) >> p->lg_part;
    order_args a = {*p, *k, o->d_next, nullptr, u0};
    CUZK_TRY(gpu_tree_spend(t, (uint64_t)k->n * (u1 - u0) * ORDER_PS));
    gpu_tree_part(t, SPAN_ORDER);
    CUZK_TRY(gpu_tree_open(t));
    CUZK_TRY(spread(&a, t, u1 - u0));
    GPU_TRY(cudaFuncSetAttribute(k_part, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)GPU_MSM_PART_MAX * 4));
    gpu_tree_counts *c = (gpu_tree_counts *)(void *)t->d_counts;
    part_args q = {t->list.vals, t->d_start, t->d_len, c, a.out, o->d_begin + from + g, p->lg_part};
    k_part<<<to - from, THREADS, o->largest[g] * 4, (cudaStream_t)t->run->stream>>>(q);
    return gpu_check_launch("k_part");
}
