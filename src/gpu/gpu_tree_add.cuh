/* The tree's kernels over one group C (gpu_point_io.cuh), and the table gpu_tree.cu calls them by.
 * One instance a file: they take minutes to compile. */
#ifndef GPU_TREE_ADD_CUH
#define GPU_TREE_ADD_CUH
#include "gpu/gpu_point_io.cuh"
#include "gpu/gpu_tree_int.h"

/* d = x2 - x1, or 1 and true for a pair that may be a rare case: an infinity, or x1 = x2 (told by
 * low words, so falsely once in 2^31). */
template <class C, bool ALL_BASES>
static __device__ __forceinline__ bool gpu_x_difference(typename C::fe *d, typename C::fe *x1,
                                                        typename C::fe *x2, uint2 pair,
                                                        const gpu_tree_args &a)
{
    gpu_load_x<C, ALL_BASES>(x1, a.bases, a.pool, pair.x);
    gpu_load_x<C, ALL_BASES>(x2, a.bases, a.pool, pair.y);
    C::sub(d, x2, x1);
    bool rare = C::maybe_zero(d) || gpu_x_is_inf<C>(x1) || gpu_x_is_inf<C>(x2);
    if (rare)
        C::set_raw_one(d);
    return rare;
}

/* Pair p goes to thread p mod T, T threads in all, warps dealt round-robin to the
 * multiprocessors; up to k_max pairs of a thread share an inversion (Montgomery's trick): 5
 * products and 1 square a pair. The first slices of the warps of a scheduler differ in length, so
 * that the memory pass of one overlaps the arithmetic of another. One block per multiprocessor,
 * of as many threads as their registers allow. */
template <class C, bool ALL_BASES>
static __global__ void __launch_bounds__(C::ADD_THREADS, 1) k_add(gpu_tree_args a)
{
    enum { WARP_SLOT = 32 * C::FE_QUADS, PHASES = C::ADD_THREADS / 128 };
    const uint32_t n = a.c->n_pairs, first = a.c->pool_first,
                   n_threads = gridDim.x * C::ADD_THREADS;
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint32_t w = warp * gridDim.x + blockIdx.x, t = w * 32 + lane;
    if (w * 32 >= n)
        return;
    const uint32_t m = (n - w * 32 + n_threads - 1) / n_threads;
    uint4 *prod = a.products + (size_t)w * WARP_SLOT + lane;
    const size_t prod_step = (size_t)gridDim.x * (C::ADD_THREADS / 32) * WARP_SLOT;
    uint32_t slice = m >= 2 * a.k_max ? a.k_max * ((warp >> 2) + 1) / PHASES : a.k_max;
    for (uint32_t k0 = 0, k1; k0 < m; k0 = k1, slice = a.k_max) {
        k1 = min(k0 + slice, m);
        typename C::fe run, d, x1, x2;
        C::set_raw_one(&run);
        for (uint32_t k = k0; k < k1; k++) {
            uint32_t p = k * n_threads + t;
            if (p < n) {
                gpu_x_difference<C, ALL_BASES>(&d, &x1, &x2, a.pairs[p], a);
                gpu_store_fe(prod + (k - k0) * prod_step, 32, &run);
                C::mul(&run, &run, &d);
            }
        }
        C::inv(&run, &run);
        for (uint32_t k = k1; k-- > k0;) {
            uint32_t p = k * n_threads + t;
            if (p >= n)
                continue;
            uint2 pair = a.pairs[p];
            typename C::fe dinv;
            bool rare = gpu_x_difference<C, ALL_BASES>(&d, &x1, &x2, pair, a);
            gpu_load_fe(&dinv, prod + (k - k0) * prod_step, 32);
            C::mul(&dinv, &dinv, &run);
            C::mul(&run, &run, &d);
            typename C::point p1;
            gpu_load_y<C, ALL_BASES>(&p1.y, a.bases, a.pool, pair.x);
            gpu_load_y<C, ALL_BASES>(&d, a.bases, a.pool, pair.y);
            C::sub_factor(&d, &d, &p1.y);
            C::mul(&dinv, &dinv, &d); /* the slope */
            p1.x = x1;
            C::on_line(&p1, &p1, &x2, &dinv);
            gpu_store_pool<C>(a.pool, first + p, &p1);
            if (rare)
                a.exceptions[atomicAdd(&a.c->n_exceptions, 1)] = p;
        }
    }
}

/* Grid-stride over the pairs set aside. */
template <class C> static __global__ void __launch_bounds__(128) k_exceptions(gpu_tree_args a)
{
    for (uint32_t i = blockIdx.x * 128 + threadIdx.x; i < a.c->n_exceptions; i += gridDim.x * 128) {
        uint32_t p = a.exceptions[i];
        typename C::point x, y;
        gpu_load_point<C>(&x, a.bases, a.pool, a.pairs[p].x);
        gpu_load_point<C>(&y, a.bases, a.pool, a.pairs[p].y);
        C::add(&x, &x, &y);
        gpu_store_pool<C>(a.pool, a.c->pool_first + p, &x);
    }
}

/* Thread s: segment s, by now of at most one element. */
template <class C>
static __global__ void __launch_bounds__(256)
    k_collect(uint4 *pool, const uint4 *bases, gpu_tree_ends e)
{
    uint32_t s = blockIdx.x * 256 + threadIdx.x;
    if (s >= e.n_segments)
        return;
    typename C::point p;
    uint32_t len = e.list.len[s];
    e.list.pool_first = e.c->pool_first;
    if (len == 0)
        C::set_inf(&p);
    else
        gpu_load_point<C>(&p, bases, pool, gpu_tree_element(&e.list, s, len, 0));
    gpu_store_pool<C>(pool, e.out_first + s, &p);
}

/* Thread i: pool point first + i as a plain record. */
template <class C>
static __global__ void __launch_bounds__(256)
    k_export(uint4 *out, const uint4 *pool, uint32_t first, uint32_t n)
{
    uint32_t i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    typename C::point p;
    gpu_load_point<C>(&p, pool, pool, GPU_REF_POOL | (first + i));
    if (gpu_x_is_inf<C>(&p.x)) {
        C::set_inf(&p);
        C::top(&p.x) = 0;
    }
    C::canon(&p.x);
    C::canon(&p.y);
    out += (size_t)i * (2 * C::FE_QUADS);
    gpu_store_fe(out, 1, &p.x);
    gpu_store_fe(out + C::FE_QUADS, 1, &p.y);
}

template <class C> struct gpu_tree_launch {
    static cuzk_status add(const gpu_tree_args *a, uint32_t n_blocks, bool all_bases,
                           cudaStream_t s)
    {
        if (all_bases)
            k_add<C, true><<<n_blocks, C::ADD_THREADS, 0, s>>>(*a);
        else
            k_add<C, false><<<n_blocks, C::ADD_THREADS, 0, s>>>(*a);
        return gpu_check_launch("k_add");
    }
    static cuzk_status exceptions(const gpu_tree_args *a, uint32_t n_blocks, cudaStream_t s)
    {
        k_exceptions<C><<<n_blocks, 128, 0, s>>>(*a);
        return gpu_check_launch("k_exceptions");
    }
    static cuzk_status collect(uint4 *pool, const uint4 *bases, const gpu_tree_ends *e,
                               cudaStream_t s)
    {
        k_collect<C>
            <<<gpu_blocks_for(e->n_segments, 256, UINT32_MAX), 256, 0, s>>>(pool, bases, *e);
        return gpu_check_launch("k_collect");
    }
    static cuzk_status export_points(gpu_tree *t, uint32_t first, uint32_t n, cudaStream_t s)
    {
        k_export<C><<<gpu_blocks_for(n, 256, UINT32_MAX), 256, 0, s>>>(
            (uint4 *)t->d_export, (const uint4 *)t->d_pool, first, n);
        return gpu_check_launch("k_export");
    }
};

#define GPU_TREE_OPS_OF(C)                                                    \
    {                                                                         \
        32 * C::FE_QUADS, C::ADD_THREADS, C::ADD_PS, gpu_tree_launch<C>::add, \
            gpu_tree_launch<C>::exceptions, gpu_tree_launch<C>::collect,      \
            gpu_tree_launch<C>::export_points                                 \
    }
#endif
