/* Between the tree's common part (gpu_tree.cu) and its kernels for one group (gpu_tree_add.cuh,
 * instantiated in gpu_tree_g1.cu and gpu_tree_g2.cu). */
#ifndef GPU_TREE_INT_H
#define GPU_TREE_INT_H
#include "gpu/gpu_common.h"
#include "gpu/gpu_tree.h"
#include "gpu/gpu_tree_list.h"

#define GPU_POOL_BLOCK 32u

/* Of the level under way; its sums begin at pool_first, those of the one before at pool_prev. */
typedef struct gpu_tree_counts {
    uint32_t n_pairs, pool_first, pool_prev, n_exceptions, longest;
} gpu_tree_counts;

/* There is a segment of that length. Looks first: most lengths are no news, and one word takes one
 * atomic operation at a time. */
static __device__ __forceinline__ void gpu_tree_longest(gpu_tree_counts *c, uint32_t len)
{
    if (len > c->longest)
        atomicMax(&c->longest, len);
}

/* One level: pair p's sum goes to pool index c->pool_first + p. */
typedef struct gpu_tree_args {
    const uint4 *bases;
    uint4 *pool;
    const uint2 *pairs;
    uint4 *products;
    uint32_t *exceptions;
    gpu_tree_counts *c;
    uint32_t k_max;
} gpu_tree_args;

/* Segments of at most one element each, after the last level; list.pool_first is c's. */
typedef struct gpu_tree_ends {
    gpu_tree_list list;
    const gpu_tree_counts *c;
    uint32_t n_segments, out_first;
} gpu_tree_ends;

/* The kernels of a group. */
typedef struct gpu_tree_ops {
    uint32_t point_bytes, add_threads;
    uint32_t add_ps; /* device time of an addition in a large launch (H200) */
    cuzk_status (*add)(const gpu_tree_args *a, uint32_t n_blocks, bool all_bases, cudaStream_t s);
    cuzk_status (*exceptions)(const gpu_tree_args *a, uint32_t n_blocks, cudaStream_t s);
    cuzk_status (*collect)(uint4 *pool, const uint4 *bases, const gpu_tree_ends *e, cudaStream_t s);
    cuzk_status (*export_points)(gpu_tree *t, uint32_t first, uint32_t n, cudaStream_t s);
} gpu_tree_ops;
extern const gpu_tree_ops GPU_TREE_OPS_G1, GPU_TREE_OPS_G2;

static inline uint32_t gpu_blocks_for(size_t n, uint32_t threads, uint32_t max)
{
    size_t b = (n + threads - 1) / threads;
    return b < 1 ? 1 : b < max ? (uint32_t)b : max;
}
#endif
