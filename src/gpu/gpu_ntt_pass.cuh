/* What the passes of a transform are made of: butterflies on eight elements in registers, the places
 * of threads in a matrix of 512 rows, exchanges through shared memory.
 *
 * Forward is the block-twiddle Cooley-Tukey network: node B of level L, 2^(lg_n - L) elements from
 * B * 2^(lg_n - L) on, splits X^len - T^2 = (X^(len/2) - T)(X^(len/2) + T) with T = tw[B]. The
 * inverse is its mirror. A transform on the coset of a root of unity of order 2n is the right half of
 * the one of twice the size: node B of its level L is node 2^L + B of level L + 1 there.
 *
 * A pass sees a node of its first level as a matrix of 512 rows and S columns (S = the distance of
 * neighbouring rows) and transforms columns. Passes of fewer than nine levels take the rows of nine
 * and leave the first `skip` levels out.
 *
 * A thread has 2^LG_R rows of a column in registers: those that differ in a window of LG_R bits of
 * the row number, whose lowest bit is `lo`. Windows go down from lo = 9 - LG_R to 0 in steps of LG_R
 * (the last step may be shorter and then repeats levels, which are left out), or up again. */
#ifndef GPU_NTT_PASS_CUH
#define GPU_NTT_PASS_CUH
#include "gpu/gpu_ntt_int.h"

#define LG_ROWS 9u

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

/* (x, y) <- (x + y, (x - y) / w), lazy; neg_w_inv = -1/w. */
static __device__ __forceinline__ void gs(gpu_fr *x, gpu_fr *y, const gpu_fr_fixed *neg_w_inv)
{
    gpu_fr_sum_diff(y, x); /* y = sum, x = y - x */
    gpu_fr t = *y;
    gpu_fr_mul_fixed(y, x, neg_w_inv);
    *x = t;
}

/* LG_R levels below `node` on the 2^LG_R elements of a thread; levels before `skip` are left out. */
template <uint32_t LG_R>
static __device__ __forceinline__ void down(gpu_fr *v, const gpu_fr_fixed *tw, uint32_t node,
                                            int skip)
{
#pragma unroll
    for (int l = 0; l < (int)LG_R; l++) {
        if (skip > l)
            continue;
#pragma unroll
        for (int b = 0; b < 1 << l; b++) {
            const int half = 1 << (LG_R - 1 - l);
            gpu_fr_fixed w;
            fixed_load(&w, tw + ((uint64_t)node << l) + b);
#pragma unroll
            for (int j = 2 * half * b; j < 2 * half * b + half; j++)
                ct(&v[j], &v[j + half], &w);
        }
    }
}

template <uint32_t LG_R>
static __device__ __forceinline__ void up(gpu_fr *v, const gpu_fr_fixed *tw, uint32_t node,
                                          int skip)
{
#pragma unroll
    for (int l = (int)LG_R - 1; l >= 0; l--) {
        if (skip > l)
            continue;
#pragma unroll
        for (int b = 0; b < 1 << l; b++) {
            const int half = 1 << (LG_R - 1 - l);
            gpu_fr_fixed w;
            fixed_load(&w, tw + inverse_index((node << l) + b));
#pragma unroll
            for (int j = 2 * half * b; j < 2 * half * b + half; j++)
                gs(&v[j], &v[j + half], &w);
        }
    }
}

/* Where a thread works. Strided passes: 2^LG_COLS neighbouring columns of one node, the column in the
 * low bits of the thread. Contiguous ones (S = 1): as many neighbouring nodes, the row in the low
 * bits. */
struct place {
    size_t at;       /* row 0 of this thread's column */
    uint32_t lg_row; /* log2 of the distance of rows */
    uint32_t node;   /* of the twiddle table */
    uint32_t q, slot, lg_slot;
};

template <uint32_t LG_R, uint32_t LG_COLS, bool CONTIGUOUS>
static __device__ __forceinline__ place place_get(const gpu_ntt_pass &p)
{
    place t;
    uint32_t tid = threadIdx.x, node;
    t.lg_row = p.lg_n - p.level - LG_ROWS;
    if (CONTIGUOUS) {
        t.q = tid & ((1u << (LG_ROWS - LG_R)) - 1);
        node = (blockIdx.x << LG_COLS) + (tid >> (LG_ROWS - LG_R));
        t.at = (size_t)node << LG_ROWS;
        t.slot = (tid >> (LG_ROWS - LG_R)) << LG_ROWS;
        t.lg_slot = 0;
    } else {
        uint32_t lg_groups = t.lg_row - LG_COLS, c = tid & ((1u << LG_COLS) - 1);
        t.q = tid >> LG_COLS;
        node = blockIdx.x >> lg_groups;
        t.at = ((size_t)node << (t.lg_row + LG_ROWS)) +
               ((blockIdx.x & ((1u << lg_groups) - 1)) << LG_COLS) + c;
        t.slot = c;
        t.lg_slot = LG_COLS;
    }
    t.node = node | p.coset << p.level;
    return t;
}

/* Row j of thread q in the window from bit lo on. */
template <uint32_t LG_R>
static __device__ __forceinline__ uint32_t row_of(uint32_t q, uint32_t j, uint32_t lo)
{
    return (q >> lo) << (lo + LG_R) | j << lo | (q & ((1u << lo) - 1));
}

/* The node a thread's elements lie in at the first level of a window. */
template <uint32_t LG_R>
static __device__ __forceinline__ uint32_t node_of(const place &t, uint32_t lo)
{
    return (t.node << (LG_ROWS - LG_R - lo)) + (t.q >> lo);
}

/* Levels of a window that are left out: those before p.skip, and those that the window shares with
 * the longer one above it. */
template <uint32_t LG_R, bool SKIP>
static __device__ __forceinline__ int skip_of(const gpu_ntt_pass &p, uint32_t lo)
{
    int skip = lo == 0 && LG_ROWS % LG_R ? (int)(LG_R - LG_ROWS % LG_R) : 0;
    if (SKIP) {
        int more = (int)p.skip - (int)(LG_ROWS - LG_R - lo);
        skip = more > skip ? more : skip;
    }
    return skip;
}

/* The window after and before one. */
template <uint32_t LG_R> static __device__ __forceinline__ uint32_t lo_below(uint32_t lo)
{
    return lo > LG_R ? lo - LG_R : 0;
}
template <uint32_t LG_R> static __device__ __forceinline__ uint32_t lo_above(uint32_t lo)
{
    return lo || LG_ROWS % LG_R == 0 ? lo + LG_R : LG_ROWS % LG_R;
}

/* Global accesses of contiguous passes at their last level: the rows of a warp follow each other,
 * and so do those of its lanes. */
#define LO_LANES 5u

/* Shared memory: two planes of 16-byte halves. Eight lanes of an access lie in eight different bank
 * groups: rows are permuted within eight by their next digit. */
static __device__ __forceinline__ uint32_t slot_of(const place &t, uint32_t row)
{
    return t.slot + ((row ^ (row >> 3 & 7)) << t.lg_slot);
}

template <uint32_t LG_R, uint32_t LG_COLS>
static __device__ __forceinline__ void tile_put(uint4 *tile, const place &t, const gpu_fr *v,
                                                uint32_t lo)
{
#pragma unroll
    for (int j = 0; j < 1 << LG_R; j++) {
        uint32_t k = slot_of(t, row_of<LG_R>(t.q, j, lo));
        tile[k] = make_uint4(v[j].l[0], v[j].l[1], v[j].l[2], v[j].l[3]);
        tile[k + (1u << (LG_ROWS + LG_COLS))] =
            make_uint4(v[j].l[4], v[j].l[5], v[j].l[6], v[j].l[7]);
    }
}

template <uint32_t LG_R, uint32_t LG_COLS>
static __device__ __forceinline__ void tile_get(gpu_fr *v, const uint4 *tile, const place &t,
                                                uint32_t lo)
{
#pragma unroll
    for (int j = 0; j < 1 << LG_R; j++) {
        uint32_t k = slot_of(t, row_of<LG_R>(t.q, j, lo));
        uint4 x = tile[k], y = tile[k + (1u << (LG_ROWS + LG_COLS))];
        v[j].l[0] = x.x, v[j].l[1] = x.y, v[j].l[2] = x.z, v[j].l[3] = x.w;
        v[j].l[4] = y.x, v[j].l[5] = y.y, v[j].l[6] = y.z, v[j].l[7] = y.w;
    }
}

/* From one window to another. A thread writes the slots it read, so one barrier is enough; windows
 * below the highest of a strided pass, and up to LO_LANES of a contiguous one, keep to the rows of
 * their warp (four columns leave eight q to it, whose three bits the windows 3 and 0 cover). */
template <uint32_t LG_R, uint32_t LG_COLS>
static __device__ __forceinline__ void exchange(uint4 *tile, const place &t, gpu_fr *v, uint32_t lo,
                                                uint32_t to)
{
    tile_put<LG_R, LG_COLS>(tile, t, v, lo);
    if (lo == LG_ROWS - LG_R || to == LG_ROWS - LG_R)
        __syncthreads();
    else
        __syncwarp();
    tile_get<LG_R, LG_COLS>(v, tile, t, to);
}

template <uint32_t LG_R>
static __device__ __forceinline__ void rows_load(gpu_fr *v, const gpu_fr *a, const place &t,
                                                 uint32_t lo)
{
#pragma unroll
    for (int j = 0; j < 1 << LG_R; j++)
        fr_load(&v[j], a + t.at + ((size_t)row_of<LG_R>(t.q, j, lo) << t.lg_row));
}

template <uint32_t LG_R>
static __device__ __forceinline__ void rows_store(gpu_fr *a, const gpu_fr *v, const place &t,
                                                  uint32_t lo)
{
#pragma unroll
    for (int j = 0; j < 1 << LG_R; j++)
        fr_store(a + t.at + ((size_t)row_of<LG_R>(t.q, j, lo) << t.lg_row), &v[j]);
}

/* A block's threads. */
#define PASS_THREADS(lg_r, lg_cols) (1u << (LG_ROWS - (lg_r) + (lg_cols)))

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
#endif
