/* Loading and storing points by reference: bases in records, pool points in blocks of planes. */
#ifndef GPU_POINT_IO_CUH
#define GPU_POINT_IO_CUH
#include "gpu/gpu_ec.cuh"
#include "gpu/gpu_tree.h"

/* 48 bytes as three 16-byte words, `stride` of them apart. */
static __device__ __forceinline__ void gpu_load_fp(gpu_fp *o, const uint4 *p, size_t stride)
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

static __device__ __forceinline__ void gpu_store_fp(uint4 *p, size_t stride, const gpu_fp *a)
{
#pragma unroll
    for (int i = 0; i < 3; i++)
        p[i * stride] = make_uint4(a->l[4 * i], a->l[4 * i + 1], a->l[4 * i + 2], a->l[4 * i + 3]);
}

static __device__ __forceinline__ size_t gpu_pool_word(uint32_t q)
{
    return (size_t)(q >> 5) * 192 + (q & 31);
}

/* Odd records have x and y swapped: then x never straddles a 64-byte line. */
template <bool ALL_BASES>
static __device__ __forceinline__ void gpu_load_x(gpu_fp *o, const uint4 *bases, const uint4 *pool,
                                                  uint32_t ref)
{
    uint32_t q = ref & GPU_REF_INDEX;
    if (ALL_BASES || !(ref & GPU_REF_POOL))
        gpu_load_fp(o, bases + (size_t)q * 6 + (q & 1) * 3, 1);
    else
        gpu_load_fp(o, pool + gpu_pool_word(q), 32);
}

template <bool ALL_BASES>
static __device__ __forceinline__ void gpu_load_y(gpu_fp *o, const uint4 *bases, const uint4 *pool,
                                                  uint32_t ref)
{
    uint32_t q = ref & GPU_REF_INDEX;
    if (ALL_BASES || !(ref & GPU_REF_POOL))
        gpu_load_fp(o, bases + (size_t)q * 6 + 3 - (q & 1) * 3, 1);
    else
        gpu_load_fp(o, pool + gpu_pool_word(q) + 96, 32);
    gpu_lz_neg_if(o, o, (uint32_t)((int32_t)ref >> 31));
}

static __device__ __forceinline__ void gpu_load_point(gpu_g1 *o, const uint4 *bases,
                                                      const uint4 *pool, uint32_t ref)
{
    gpu_load_x<false>(&o->x, bases, pool, ref);
    gpu_load_y<false>(&o->y, bases, pool, ref);
}

static __device__ __forceinline__ void gpu_store_pool(uint4 *pool, uint32_t q, const gpu_g1 *a)
{
    uint4 *p = pool + gpu_pool_word(q);
    gpu_store_fp(p, 32, &a->x);
    gpu_store_fp(p + 96, 32, &a->y);
}
#endif
