/* The lists of a tree sum, level by level, without writing them: after the first level an element
 * is told by its segment and place alone. The sums of a segment's pairs lie one after the other in
 * the pool; only the element that an odd length leaves over needs a reference of its own.
 * Shared by the kernels and their host tests. */
#ifndef GPU_TREE_LIST_H
#define GPU_TREE_LIST_H
#include "gpu/gpu_common.h"
#include "gpu/gpu_tree.h"
#include <stdbool.h>
#include <stddef.h>

/* Segments and pairs that a block of k_pairs takes together. */
#define GPU_TREE_TILE 2048u

/* Elements that are left at that level of a segment of len: ceil(len / 2^level). */
CUZK_HD uint32_t gpu_tree_len_at(uint32_t len, uint32_t level)
{
    return (uint32_t)(((uint64_t)len + ((uint64_t)1 << level) - 1) >> level);
}

/* And the pairs they make: half of that, rounded down. */
CUZK_HD uint32_t gpu_tree_pairs_at(uint32_t len, uint32_t level)
{
    return gpu_tree_len_at(len, level) / 2;
}

/* What tells the elements at a level. At level 0 `at` has the segments' places in refs; later the
 * number of each segment's first pair of the level before, whose sums begin at pool_first. */
typedef struct gpu_tree_list {
    const uint32_t *refs, *at, *len, *left;
    uint32_t pool_first, level;
} gpu_tree_list;

/* Element j < gpu_tree_len_at(len, level) of segment s, len = l->len[s]. */
CUZK_HD uint32_t gpu_tree_element(const gpu_tree_list *l, uint32_t s, uint32_t len, uint32_t j)
{
    if (l->level == 0)
        return l->refs[l->at[s] + j];
    if (j < gpu_tree_pairs_at(len, l->level - 1))
        return GPU_REF_POOL | (l->pool_first + l->at[s] + j);
    return l->left[s];
}

/* Whether a segment's last element is left over at this level and was not already at the one
 * before: then it is to be kept in left[s]. Where it is not, an element in left[s] stays or is in a
 * pair of this level, so that pairs never read what the same level writes. */
CUZK_HD bool gpu_tree_leaves(uint32_t len, uint32_t level)
{
    return (gpu_tree_len_at(len, level) & 1) != 0 &&
           (level == 0 || (gpu_tree_len_at(len, level - 1) & 1) == 0);
}

/* Segments and pairs in one order, each segment before its pairs; pair_at[s] is the number of
 * segment s's first pair, and pair_at[n_segments] that of all pairs. How many of the first d <=
 * n_segments + n_pairs are segments (Green, McColl, Bader, GPU Merge Path, 2012). */
CUZK_HD uint32_t gpu_tree_split(const uint32_t *pair_at, uint32_t n_segments, uint32_t d)
{
    uint32_t n_pairs = pair_at[n_segments];
    uint32_t lo = d > n_pairs ? d - n_pairs : 0, hi = d < n_segments ? d : n_segments;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (pair_at[mid] < d - mid)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The segment, among the m >= 1 whose first pairs at[] has, to which pair j >= at[0] belongs: the
 * last one that starts at or before j. */
CUZK_HD uint32_t gpu_tree_owner(const uint32_t *at, uint32_t m, uint32_t j)
{
    uint32_t lo = 0, hi = m;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (at[mid] <= j)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* At most so many pairs at a level of a list of n elements in n_segments. */
static inline size_t gpu_tree_pairs_max(size_t n, size_t n_segments, uint32_t level)
{
    size_t k = (n >> (level + 1)) + n_segments / 2 + 1;
    return k < n / 2 ? k : n / 2;
}

static inline size_t gpu_tree_tiles(size_t n_pairs, size_t n_segments)
{
    return (n_pairs + n_segments + GPU_TREE_TILE - 1) / GPU_TREE_TILE;
}
#endif
