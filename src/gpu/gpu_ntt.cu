/* Transforms of 2^12 points and more: passes of up to nine levels through shared memory. Forward is
 * the block-twiddle Cooley-Tukey network: node B of level L, 2^(lg_n - L) elements from
 * B * 2^(lg_n - L) on, splits X^len - T^2 = (X^(len/2) - T)(X^(len/2) + T) with T = tw[B]. The
 * inverse is its mirror. Sizes below run in one block, level by level.
 *
 * A pass sees a node of its first level as a matrix of 512 rows and S columns (S = the distance of
 * neighbouring rows) and transforms columns. Passes of fewer than nine levels take the rows of nine
 * and leave the first `skip` levels out. */
#include "gpu/gpu_ntt.h"
#include "gpu/gpu_common.h"
#include "gpu/gpu_fr.cuh"
#include <string.h>
extern "C" {
#include "ff/fr.h"
}

#define LG_ROWS 9u
#define LG_COLS 2u /* columns per block: rows of 128 bytes */
#define N_THREADS 256u
#define LG_SMALL_MAX 11u
#define N_SMALL_THREADS 512u
#define TILE_BYTES ((size_t)sizeof(gpu_fr) << (LG_ROWS + LG_COLS))

/* tw[1], tw[2], tw[3]: a primitive 4th and 8th root of unity and their product. */
static __device__ __constant__ gpu_fr_fixed k_tw_first[3] = {
    {{{0x00000000u, 0x00010000u, 0x76030000u, 0xec030002u, 0x760304d0u, 0x8d51ccceu, 0x00000000u,
       0x00000000u}},
     {{0x5576304fu, 0x61c5d9dau, 0x3e76ec2au, 0x33cfcc0du, 0x56cd56b5u, 0x381204cau, 0x00000001u,
       0x00000000u}}},
    {{{0x97743f7au, 0x7228fd33u, 0x8713b700u, 0xb38b21c2u, 0x70d77ce2u, 0x8c0625cdu, 0x03fa66e7u,
       0x345766f6u}},
     {{0xd3bd1008u, 0x64edc672u, 0x1999fc23u, 0x21f5db5du, 0x424ba5cdu, 0x310b6160u, 0x543596b7u,
       0x73956000u}}},
    {{{0xae99502eu, 0x6037fe81u, 0x94b04fd8u, 0x8e749036u, 0xca86bf65u, 0xbabc5affu, 0x5ce11044u,
       0x1333b22eu}},
     {{0xc14d5723u, 0xb02dbee0u, 0xe537c9c3u, 0x0585acd9u, 0xaa0ea4ecu, 0xd04eec17u, 0xbe7677a2u,
       0x2a672393u}}},
};

struct pass {
    gpu_fr *a;
    const gpu_fr_fixed *tw; /* tw[-1] is -1, tw[0] is 1 */
    uint32_t lg_n, level, skip;
};

static __device__ __forceinline__ void fr_load(gpu_fr *o, const gpu_fr *p)
{
    const uint4 *q = (const uint4 *)p;
    uint4 lo = q[0], hi = q[1];
    o->l[0] = lo.x, o->l[1] = lo.y, o->l[2] = lo.z, o->l[3] = lo.w;
    o->l[4] = hi.x, o->l[5] = hi.y, o->l[6] = hi.z, o->l[7] = hi.w;
}

static __device__ __forceinline__ void fr_store(gpu_fr *p, const gpu_fr *a)
{
    uint4 *q = (uint4 *)p;
    q[0] = make_uint4(a->l[0], a->l[1], a->l[2], a->l[3]);
    q[1] = make_uint4(a->l[4], a->l[5], a->l[6], a->l[7]);
}

static __device__ __forceinline__ void fixed_load(gpu_fr_fixed *o, const gpu_fr_fixed *p)
{
    const uint4 *q = (const uint4 *)p;
    uint4 w[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        w[i] = __ldg(q + i);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        o->w.l[4 * i] = w[i].x, o->w.l[4 * i + 1] = w[i].y;
        o->w.l[4 * i + 2] = w[i].z, o->w.l[4 * i + 3] = w[i].w;
        o->v.l[4 * i] = w[i + 2].x, o->v.l[4 * i + 1] = w[i + 2].y;
        o->v.l[4 * i + 2] = w[i + 2].z, o->v.l[4 * i + 3] = w[i + 2].w;
    }
}

/* The place of -1/tw[node] in the table: tw[node]^-1 = -tw[node ^ (2^j - 1)] for 2^j <= node <
 * 2^(j+1), and the entry before the first for node 0. */
static __device__ __forceinline__ int64_t inverse_index(uint32_t node)
{
    return node ? (int64_t)(node ^ ((0x80000000u >> __clz((int)node)) - 1)) : -1;
}

/* (x, y) <- (x + w y, x - w y), lazy. */
static __device__ __forceinline__ void ct(gpu_fr *x, gpu_fr *y, const gpu_fr_fixed *w)
{
    gpu_fr t;
    gpu_fr_mul_fixed(&t, y, w);
    gpu_fr_butterfly(x, y, &t);
}

/* (x, y) <- (x + y, (x - y) / w) in [0, 2r); neg_w_inv = -1/w. */
static __device__ __forceinline__ void gs(gpu_fr *x, gpu_fr *y, const gpu_fr_fixed *neg_w_inv)
{
    gpu_fr_sum_diff(y, x); /* y = sum, x = y - x */
    gpu_fr t = *y;
    gpu_fr_mul_fixed(y, x, neg_w_inv);
    *x = t;
}

/* Three levels below `node` on the eight elements of a thread; levels before `skip` are left out. */
static __device__ __forceinline__ void down8(gpu_fr v[8], const gpu_fr_fixed *tw, uint32_t node,
                                             int skip)
{
    gpu_fr_fixed w;
    if (skip <= 0) {
        fixed_load(&w, tw + node);
#pragma unroll
        for (int j = 0; j < 4; j++)
            ct(&v[j], &v[j + 4], &w);
    }
    if (skip <= 1) {
#pragma unroll
        for (int j = 0; j < 8; j += 4) {
            fixed_load(&w, tw + 2 * (uint64_t)node + j / 4);
            ct(&v[j], &v[j + 2], &w);
            ct(&v[j + 1], &v[j + 3], &w);
        }
    }
    if (skip <= 2) {
#pragma unroll
        for (int j = 0; j < 8; j += 2) {
            fixed_load(&w, tw + 4 * (uint64_t)node + j / 2);
            ct(&v[j], &v[j + 1], &w);
        }
    }
}

static __device__ __forceinline__ void up8(gpu_fr v[8], const gpu_fr_fixed *tw, uint32_t node,
                                           int skip)
{
    gpu_fr_fixed w;
    if (skip <= 2) {
#pragma unroll
        for (int j = 0; j < 8; j += 2) {
            fixed_load(&w, tw + inverse_index(4 * node + j / 2));
            gs(&v[j], &v[j + 1], &w);
        }
    }
    if (skip <= 1) {
#pragma unroll
        for (int j = 0; j < 8; j += 4) {
            fixed_load(&w, tw + inverse_index(2 * node + j / 4));
            gs(&v[j], &v[j + 2], &w);
            gs(&v[j + 1], &v[j + 3], &w);
        }
    }
    if (skip <= 0) {
        fixed_load(&w, tw + inverse_index(node));
#pragma unroll
        for (int j = 0; j < 4; j++)
            gs(&v[j], &v[j + 4], &w);
    }
}

/* A butterfly of the trivial twiddle, which no product brings below 2r. */
static __device__ __forceinline__ void ct_plain(gpu_fr *x, gpu_fr *y)
{
    gpu_fr t;
    gpu_fr_reduce_2r(&t, y);
    gpu_fr_butterfly(x, y, &t);
}

/* down8 at the root: five products in place of twelve. In: reduced. */
static __device__ __forceinline__ void down8_root(gpu_fr v[8])
{
#pragma unroll
    for (int j = 0; j < 4; j++) {
        gpu_fr t = v[j + 4];
        gpu_fr_butterfly(&v[j], &v[j + 4], &t);
    }
    ct_plain(&v[0], &v[2]);
    ct_plain(&v[1], &v[3]);
    ct(&v[4], &v[6], &k_tw_first[0]);
    ct(&v[5], &v[7], &k_tw_first[0]);
    ct_plain(&v[0], &v[1]);
    ct(&v[2], &v[3], &k_tw_first[0]);
    ct(&v[4], &v[5], &k_tw_first[1]);
    ct(&v[6], &v[7], &k_tw_first[2]);
}

static __device__ __forceinline__ void up8_root(gpu_fr v[8])
{
    gpu_fr_sum_diff(&v[0], &v[1]);
    gs(&v[2], &v[3], &k_tw_first[0]);
    gs(&v[4], &v[5], &k_tw_first[2]);
    gs(&v[6], &v[7], &k_tw_first[1]);
    gpu_fr_sum_diff(&v[0], &v[2]);
    gpu_fr_sum_diff(&v[1], &v[3]);
    gs(&v[4], &v[6], &k_tw_first[0]);
    gs(&v[5], &v[7], &k_tw_first[0]);
#pragma unroll
    for (int j = 0; j < 4; j++)
        gpu_fr_sum_diff(&v[j], &v[j + 4]);
}

/* Where a thread works. Strided passes: four neighbouring columns of one node, the column in the low
 * bits of the thread. Contiguous ones (S = 1): four neighbouring nodes, the row in the low bits. */
struct place {
    gpu_fr *base;    /* row 0 of this thread's column */
    uint32_t lg_row; /* log2 of the distance of rows */
    uint32_t node, q, slot, lg_slot;
};

template <bool CONTIGUOUS> static __device__ __forceinline__ place place_get(const pass &p)
{
    place t;
    uint32_t tid = threadIdx.x;
    t.lg_row = p.lg_n - p.level - LG_ROWS;
    if (CONTIGUOUS) {
        t.q = tid & 63;
        t.node = (blockIdx.x << LG_COLS) + (tid >> 6);
        t.base = p.a + ((size_t)t.node << LG_ROWS);
        t.slot = (tid >> 6) << LG_ROWS;
        t.lg_slot = 0;
    } else {
        uint32_t lg_groups = t.lg_row - LG_COLS, c = tid & 3;
        t.q = tid >> LG_COLS;
        t.node = blockIdx.x >> lg_groups;
        size_t col = ((blockIdx.x & ((1u << lg_groups) - 1)) << LG_COLS) + c;
        t.base = p.a + ((size_t)t.node << (t.lg_row + LG_ROWS)) + col;
        t.slot = c;
        t.lg_slot = LG_COLS;
    }
    return t;
}

/* Row j of the eight of thread q in stage s: digits of three bits, j in place s. */
static __device__ __forceinline__ uint32_t row_of(uint32_t q, uint32_t j, uint32_t s)
{
    uint32_t lg_lo = 6 - 3 * s, lo = q & ((1u << lg_lo) - 1);
    return (q >> lg_lo) << (lg_lo + 3) | j << lg_lo | lo;
}

/* Shared memory: two planes of 16-byte halves. Eight lanes of an access lie in eight different bank
 * groups: rows are permuted within eight by their next digit. */
static __device__ __forceinline__ uint32_t slot_of(const place &t, uint32_t row)
{
    return t.slot + ((row ^ (row >> 3 & 7)) << t.lg_slot);
}

static __device__ __forceinline__ void tile_put(uint4 *tile, const place &t, const gpu_fr v[8],
                                                uint32_t s)
{
#pragma unroll
    for (int j = 0; j < 8; j++) {
        uint32_t k = slot_of(t, row_of(t.q, j, s));
        tile[k] = make_uint4(v[j].l[0], v[j].l[1], v[j].l[2], v[j].l[3]);
        tile[k + 2048] = make_uint4(v[j].l[4], v[j].l[5], v[j].l[6], v[j].l[7]);
    }
}

static __device__ __forceinline__ void tile_get(gpu_fr v[8], const uint4 *tile, const place &t,
                                                uint32_t s)
{
#pragma unroll
    for (int j = 0; j < 8; j++) {
        uint32_t k = slot_of(t, row_of(t.q, j, s));
        uint4 lo = tile[k], hi = tile[k + 2048];
        v[j].l[0] = lo.x, v[j].l[1] = lo.y, v[j].l[2] = lo.z, v[j].l[3] = lo.w;
        v[j].l[4] = hi.x, v[j].l[5] = hi.y, v[j].l[6] = hi.z, v[j].l[7] = hi.w;
    }
}

static __device__ __forceinline__ void rows_load(gpu_fr v[8], const place &t, uint32_t s)
{
#pragma unroll
    for (int j = 0; j < 8; j++)
        fr_load(&v[j], t.base + ((size_t)row_of(t.q, j, s) << t.lg_row));
}

static __device__ __forceinline__ void rows_store(const gpu_fr v[8], const place &t, uint32_t s)
{
#pragma unroll
    for (int j = 0; j < 8; j++)
        fr_store(t.base + ((size_t)row_of(t.q, j, s) << t.lg_row), &v[j]);
}

/* One forward pass. A block: 256 threads, eight elements each in registers, three stages of three
 * levels, 64 KiB of shared memory; two blocks per SM at 128 registers. A thread writes the slots it
 * read, so each exchange costs one barrier. The stage loop is rolled: unrolled code outgrows the
 * instruction cache. ROOT: the pass that begins at level 0. CONTIGUOUS: the pass that ends at the
 * last level, whose output is reduced. */
template <bool ROOT, bool CONTIGUOUS>
static __global__ __launch_bounds__(N_THREADS, 2) void k_ntt_down(pass p)
{
    extern __shared__ uint4 tile[];
    gpu_fr v[8];
    place t = place_get<CONTIGUOUS>(p);
    rows_load(v, t, 0);
    uint32_t s = 0;
    if (ROOT) {
        down8_root(v);
        tile_put(tile, t, v, 0);
        __syncthreads();
        tile_get(v, tile, t, 1);
        s = 1;
    }
#pragma unroll 1
    for (;; s++) {
        down8(v, p.tw, (t.node << (3 * s)) + (t.q >> (6 - 3 * s)), (int)p.skip - 3 * (int)s);
        if (s == 2)
            break;
        tile_put(tile, t, v, s);
        __syncthreads();
        tile_get(v, tile, t, s + 1);
    }
    if (CONTIGUOUS) {
#pragma unroll
        for (int j = 0; j < 8; j++)
            gpu_fr_reduce(&v[j], &v[j]);
        tile_put(tile, t, v, 2);
        __syncthreads();
        tile_get(v, tile, t, 0);
        rows_store(v, t, 0);
    } else {
        rows_store(v, t, 2);
    }
}

/* One inverse pass: the mirror. The root pass multiplies by `scale` and reduces. */
template <bool ROOT, bool CONTIGUOUS>
static __global__ __launch_bounds__(N_THREADS, 2) void k_ntt_up(pass p, gpu_fr_fixed scale)
{
    extern __shared__ uint4 tile[];
    gpu_fr v[8];
    place t = place_get<CONTIGUOUS>(p);
    if (CONTIGUOUS) {
        rows_load(v, t, 0);
        tile_put(tile, t, v, 0);
        __syncthreads();
        tile_get(v, tile, t, 2);
    } else {
        rows_load(v, t, 2);
    }
#pragma unroll 1
    for (uint32_t s = 2;; s--) {
        up8(v, p.tw, (t.node << (3 * s)) + (t.q >> (6 - 3 * s)), (int)p.skip - 3 * (int)s);
        if (s == (ROOT ? 1 : 0))
            break;
        tile_put(tile, t, v, s);
        __syncthreads();
        tile_get(v, tile, t, s - 1);
    }
    if (ROOT) {
        tile_put(tile, t, v, 1);
        __syncthreads();
        tile_get(v, tile, t, 0);
        up8_root(v);
#pragma unroll 1
        for (int j = 0; j < 8; j++) {
            gpu_fr_mul_fixed(&v[0], &v[0], &scale);
            gpu_fr_reduce(&v[0], &v[0]);
            gpu_fr u = v[0];
#pragma unroll
            for (int k = 0; k < 7; k++)
                v[k] = v[k + 1];
            v[7] = u;
        }
    }
    rows_store(v, t, 0);
}

/* All levels of up to 2^11 points in one block: a thread takes every 512th butterfly of a level. */
static __global__ __launch_bounds__(N_SMALL_THREADS) void k_ntt_small(pass p, gpu_fr_fixed scale,
                                                                      bool inverse)
{
    extern __shared__ uint4 tile[];
    gpu_fr *x = (gpu_fr *)tile;
    uint32_t n = 1u << p.lg_n;
    for (uint32_t i = threadIdx.x; i < n; i += N_SMALL_THREADS)
        fr_load(&x[i], &p.a[i]);
    __syncthreads();
#pragma unroll 1
    for (uint32_t l = 0; l < p.lg_n; l++) {
        uint32_t lg_half = inverse ? l : p.lg_n - 1 - l;
        for (uint32_t i = threadIdx.x; i < n / 2; i += N_SMALL_THREADS) {
            uint32_t node = i >> lg_half, at = i + (node << lg_half);
            gpu_fr_fixed w;
            gpu_fr u = x[at], v = x[at + (1u << lg_half)];
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
        if (inverse)
            gpu_fr_mul_fixed(&v, &v, &scale);
        gpu_fr_reduce(&v, &v);
        fr_store(&p.a[i], &v);
    }
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
    if (lg_n > GPU_NTT_LG_N_MAX)
        return cuzk_fail(CUZK_E_RANGE, "lg_n is %u, want 0 to %u", lg_n, GPU_NTT_LG_N_MAX);
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

typedef void (*down_kernel)(pass);
typedef void (*up_kernel)(pass, gpu_fr_fixed);

static cuzk_status tile_allow(const void *kernel)
{
    GPU_TRY(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)TILE_BYTES));
    return cuzk_ok();
}

/* First levels of the passes of a size: nine levels, then the rest in equal parts; the last entry is
 * lg_n. Returns the number of passes. */
static uint32_t passes_plan(uint32_t lg_n, uint32_t first[5])
{
    uint32_t rest = lg_n - LG_ROWS, n = (rest + LG_ROWS - 1) / LG_ROWS;
    first[0] = 0;
    for (uint32_t i = 0; i <= n; i++)
        first[i + 1] = LG_ROWS + (rest * i + n - 1) / n;
    return n + 1;
}

static pass pass_get(const gpu_ntt_table *t, void *d_a, uint32_t lg_n, const uint32_t *first)
{
    pass p;
    p.a = (gpu_fr *)d_a;
    p.tw = table_tw(t->d_table);
    p.lg_n = lg_n;
    p.level = first[1] - LG_ROWS;
    p.skip = first[0] - p.level;
    return p;
}

static cuzk_status small(const gpu_ntt_table *t, void *d_a, uint32_t lg_n, bool inverse,
                         cudaStream_t stream)
{
    pass p = {(gpu_fr *)d_a, table_tw(t->d_table), lg_n, 0, 0};
    CUZK_TRY(tile_allow((const void *)k_ntt_small));
    k_ntt_small<<<1, N_SMALL_THREADS, sizeof(gpu_fr) << lg_n, stream>>>(p, size_inverse(lg_n),
                                                                        inverse);
    return gpu_check_launch("k_ntt_small");
}

static cuzk_status size_check(const gpu_ntt_table *t, uint32_t lg_n)
{
    if (!t->d_table || lg_n > t->lg_n)
        return cuzk_fail(CUZK_E_RANGE, "2^%u points, the table serves up to 2^%u", lg_n, t->lg_n);
    return cuzk_ok();
}

cuzk_status gpu_ntt_forward(const gpu_ntt_table *t, void *d_a, uint32_t lg_n, void *stream)
{
    CUZK_TRY(size_check(t, lg_n));
    if (lg_n <= LG_SMALL_MAX)
        return small(t, d_a, lg_n, false, (cudaStream_t)stream);
    uint32_t first[5], n_passes = passes_plan(lg_n, first);
    uint32_t n_blocks = 1u << (lg_n - LG_ROWS - LG_COLS);
    for (uint32_t i = 0; i < n_passes; i++) {
        down_kernel k = i == 0              ? k_ntt_down<true, false>
                        : i + 1 == n_passes ? k_ntt_down<false, true>
                                            : k_ntt_down<false, false>;
        CUZK_TRY(tile_allow((const void *)k));
        k<<<n_blocks, N_THREADS, TILE_BYTES, (cudaStream_t)stream>>>(
            pass_get(t, d_a, lg_n, first + i));
        CUZK_TRY(gpu_check_launch("k_ntt_down"));
    }
    return cuzk_ok();
}

cuzk_status gpu_ntt_inverse(const gpu_ntt_table *t, void *d_a, uint32_t lg_n, void *stream)
{
    CUZK_TRY(size_check(t, lg_n));
    if (lg_n <= LG_SMALL_MAX)
        return small(t, d_a, lg_n, true, (cudaStream_t)stream);
    gpu_fr_fixed scale = size_inverse(lg_n);
    uint32_t first[5], n_passes = passes_plan(lg_n, first);
    uint32_t n_blocks = 1u << (lg_n - LG_ROWS - LG_COLS);
    for (uint32_t i = n_passes; i-- > 0;) {
        up_kernel k = i == 0              ? k_ntt_up<true, false>
                      : i + 1 == n_passes ? k_ntt_up<false, true>
                                          : k_ntt_up<false, false>;
        CUZK_TRY(tile_allow((const void *)k));
        k<<<n_blocks, N_THREADS, TILE_BYTES, (cudaStream_t)stream>>>(
            pass_get(t, d_a, lg_n, first + i), scale);
        CUZK_TRY(gpu_check_launch("k_ntt_up"));
    }
    return cuzk_ok();
}
