/* Loading and storing points by reference: bases in records, pool points in blocks of planes; and
 * the two groups as types (gpu_curve_g1, gpu_curve_g2) for kernels that serve both. */
#ifndef GPU_POINT_IO_CUH
#define GPU_POINT_IO_CUH
#include "gpu/gpu_ec2.cuh"
#include "gpu/gpu_tree.h"

/* 48 bytes as three 16-byte words, `stride` of them apart. */
static __device__ __forceinline__ void gpu_load_fe(gpu_fp *o, const uint4 *p, size_t stride)
{
#pragma unroll
    for (int i = 0; i < 3; i++) {
        uint4 v = p[i * stride];
        o->l[4 * i] = v.x;
        o->l[4 * i + 1] = v.y;
        o->l[4 * i + 2] = v.z;
        o->l[4 * i + 3] = v.w;
    }
}

static __device__ __forceinline__ void gpu_store_fe(uint4 *p, size_t stride, const gpu_fp *a)
{
#pragma unroll
    for (int i = 0; i < 3; i++)
        p[i * stride] = make_uint4(a->l[4 * i], a->l[4 * i + 1], a->l[4 * i + 2], a->l[4 * i + 3]);
}

static __device__ __forceinline__ void gpu_load_fe(gpu_fp2 *o, const uint4 *p, size_t stride)
{
    gpu_load_fe(&o->c0, p, stride);
    gpu_load_fe(&o->c1, p + 3 * stride, stride);
}

static __device__ __forceinline__ void gpu_store_fe(uint4 *p, size_t stride, const gpu_fp2 *a)
{
    gpu_store_fe(p, stride, &a->c0);
    gpu_store_fe(p + 3 * stride, stride, &a->c1);
}

/* Any coordinate of a base field element can be told from 0 by its low word but once in 2^31: 0
 * and p are the representatives of 0 below 2p. */
static __device__ __forceinline__ bool gpu_maybe_zero(const gpu_fp *a)
{
    return a->l[0] == 0 || a->l[0] == GPU_FP_P[0];
}

/* FE_QUADS: 16-byte words of a coordinate. SWAP: odd records have y before x, so that x never
 * straddles a 64-byte line. ADD_THREADS: of a block of the addition kernel, one block a
 * multiprocessor, by the registers it needs (128 and 255). ADD_PS: picoseconds an addition takes
 * in large launches, H200. */
struct gpu_curve_g1 {
    typedef gpu_fp fe;
    typedef gpu_g1 point;
    enum { FE_QUADS = 3, SWAP = 1, ADD_THREADS = 512, ADD_PS = 260 };
    /* Not Montgomery's 1, for where any number but 0 will do. */
    static __device__ __forceinline__ void set_raw_one(fe *o)
    {
#pragma unroll
        for (int i = 0; i < GPU_FP_WORDS; i++)
            o->l[i] = i == 0;
    }
    static __device__ __forceinline__ void set_mont_one(fe *o) { gpu_fp_set_one(o); }
    static __device__ __forceinline__ void mul(fe *o, const fe *a, const fe *b)
    {
        gpu_lz_mul(o, a, b);
    }
    static __device__ __forceinline__ void sqr(fe *o, const fe *a) { gpu_lz_sqr(o, a); }
    static __device__ __forceinline__ void add(fe *o, const fe *a, const fe *b)
    {
        gpu_lz_add(o, a, b);
    }
    static __device__ __forceinline__ void sub(fe *o, const fe *a, const fe *b)
    {
        gpu_lz_sub(o, a, b);
    }
    /* a - b as one factor of one product */
    static __device__ __forceinline__ void sub_factor(fe *o, const fe *a, const fe *b)
    {
        gpu_lz_sub_wide(o, a, b);
    }
    static __device__ __forceinline__ void inv(fe *o, const fe *a) { gpu_lz_inv(o, a); }
    static __device__ __forceinline__ void neg_if(fe *o, uint32_t neg) { gpu_lz_neg_if(o, o, neg); }
    static __device__ __forceinline__ void canon(fe *o) { gpu_lz_canon(o, o); }
    static __device__ __forceinline__ bool is_zero(const fe *a) { return gpu_lz_is_zero(a); }
    static __device__ __forceinline__ bool maybe_zero(const fe *a) { return gpu_maybe_zero(a); }
    static __device__ __forceinline__ uint32_t &top(fe *x) { return x->l[GPU_FP_WORDS - 1]; }
    static __device__ __forceinline__ void set_inf(point *o) { gpu_g1_set_inf(o); }
    static __device__ __forceinline__ void add(point *o, const point *a, const point *b)
    {
        gpu_g1_add(o, a, b);
    }
    static __device__ __forceinline__ void on_line(point *o, const point *a, const fe *bx,
                                                   const fe *slope)
    {
        gpu_g1_on_line(o, a, bx, slope);
    }
};

struct gpu_curve_g2 {
    typedef gpu_fp2 fe;
    typedef gpu_g2 point;
    enum { FE_QUADS = 6, SWAP = 0, ADD_THREADS = 256, ADD_PS = 850 };
    static __device__ __forceinline__ void set_raw_one(fe *o)
    {
        gpu_curve_g1::set_raw_one(&o->c0);
        gpu_fp_set_zero(&o->c1);
    }
    static __device__ __forceinline__ void set_mont_one(fe *o) { gpu_lz2_set_one(o); }
    static __device__ __forceinline__ void mul(fe *o, const fe *a, const fe *b)
    {
        gpu_lz2_mul(o, a, b);
    }
    static __device__ __forceinline__ void sqr(fe *o, const fe *a) { gpu_lz2_sqr(o, a); }
    static __device__ __forceinline__ void add(fe *o, const fe *a, const fe *b)
    {
        gpu_lz2_add(o, a, b);
    }
    static __device__ __forceinline__ void sub(fe *o, const fe *a, const fe *b)
    {
        gpu_lz2_sub(o, a, b);
    }
    static __device__ __forceinline__ void sub_factor(fe *o, const fe *a, const fe *b)
    {
        gpu_lz2_sub(o, a, b);
    }
    static __device__ __forceinline__ void inv(fe *o, const fe *a) { gpu_lz2_inv(o, a); }
    static __device__ __forceinline__ void neg_if(fe *o, uint32_t neg)
    {
        gpu_lz2_neg_if(o, o, neg);
    }
    static __device__ __forceinline__ void canon(fe *o) { gpu_lz2_canon(o, o); }
    static __device__ __forceinline__ bool is_zero(const fe *a) { return gpu_lz2_is_zero(a); }
    static __device__ __forceinline__ bool maybe_zero(const fe *a)
    {
        return gpu_maybe_zero(&a->c0) && gpu_maybe_zero(&a->c1);
    }
    static __device__ __forceinline__ uint32_t &top(fe *x) { return x->c0.l[GPU_FP_WORDS - 1]; }
    static __device__ __forceinline__ void set_inf(point *o) { gpu_g2_set_inf(o); }
    static __device__ __forceinline__ void add(point *o, const point *a, const point *b)
    {
        gpu_g2_add(o, a, b);
    }
    static __device__ __forceinline__ void on_line(point *o, const point *a, const fe *bx,
                                                   const fe *slope)
    {
        gpu_g2_on_line(o, a, bx, slope);
    }
};

template <class C> static __device__ __forceinline__ bool gpu_x_is_inf(typename C::fe *x)
{
    return (C::top(x) & GPU_G1_INF_BIT) != 0;
}

/* Where record i keeps x, in 16-byte words from its start; y is at 2 FE_QUADS less FE_QUADS and
 * that. */
template <class C> static __device__ __forceinline__ uint32_t gpu_record_x(size_t i)
{
    return C::SWAP ? (uint32_t)(i & 1) * C::FE_QUADS : 0;
}

template <class C> static __device__ __forceinline__ size_t gpu_pool_word(uint32_t q)
{
    return (size_t)(q >> 5) * (64 * C::FE_QUADS) + (q & 31);
}

template <class C, bool ALL_BASES>
static __device__ __forceinline__ void gpu_load_x(typename C::fe *o, const uint4 *bases,
                                                  const uint4 *pool, uint32_t ref)
{
    uint32_t q = ref & GPU_REF_INDEX;
    if (ALL_BASES || !(ref & GPU_REF_POOL))
        gpu_load_fe(o, bases + (size_t)q * (2 * C::FE_QUADS) + gpu_record_x<C>(q), 1);
    else
        gpu_load_fe(o, pool + gpu_pool_word<C>(q), 32);
}

template <class C, bool ALL_BASES>
static __device__ __forceinline__ void gpu_load_y(typename C::fe *o, const uint4 *bases,
                                                  const uint4 *pool, uint32_t ref)
{
    uint32_t q = ref & GPU_REF_INDEX;
    if (ALL_BASES || !(ref & GPU_REF_POOL))
        gpu_load_fe(o, bases + (size_t)q * (2 * C::FE_QUADS) + C::FE_QUADS - gpu_record_x<C>(q), 1);
    else
        gpu_load_fe(o, pool + gpu_pool_word<C>(q) + 32 * C::FE_QUADS, 32);
    C::neg_if(o, (uint32_t)((int32_t)ref >> 31));
}

template <class C>
static __device__ __forceinline__ void gpu_load_point(typename C::point *o, const uint4 *bases,
                                                      const uint4 *pool, uint32_t ref)
{
    gpu_load_x<C, false>(&o->x, bases, pool, ref);
    gpu_load_y<C, false>(&o->y, bases, pool, ref);
}

template <class C>
static __device__ __forceinline__ void gpu_store_pool(uint4 *pool, uint32_t q,
                                                      const typename C::point *a)
{
    uint4 *p = pool + gpu_pool_word<C>(q);
    gpu_store_fe(p, 32, &a->x);
    gpu_store_fe(p + 32 * C::FE_QUADS, 32, &a->y);
}
#endif
