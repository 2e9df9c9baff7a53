/* Segmented affine tree sum on the device: the one primitive behind all multi-scalar
 * multiplications and 0/1 sums. Points are named by references; a list of (segment, reference)
 * is sorted by segment, and level after level neighbours of a segment are added pairwise, all
 * pairs of all segments in one launch with shared inversions. A leftover goes on as a reference.
 * Equal, opposite and infinite points are rare cases, set aside and added by complete formulas;
 * the distribution of the segments' lengths changes nothing but the number of levels. */
#ifndef GPU_TREE_H
#define GPU_TREE_H
#include "gpu/gpu_msm.h"
#include "gpu/gpu_sort.h"
#include <stdbool.h>
#ifdef __cplusplus
extern "C" {
#endif

/* A reference: index, and where from. Bases: 96- or 192-byte records (gpu_msm_prepare_bases_*);
 * pool: results of additions. GPU_REF_NEG (bases only) means the negative point. */
#define GPU_REF_NEG 0x80000000u
#define GPU_REF_POOL 0x40000000u
#define GPU_REF_INDEX 0x3fffffffu

/* Lists of at most n_list elements in at most n_segments segments, n_dense results that stay
 * until overwritten (pool indices below n_dense), n_export points to export at once. */
typedef struct gpu_tree_size {
    gpu_msm_group group;
    size_t n_list, n_segments, n_dense, n_export;
} gpu_tree_size;

/* Device addresses carved out of one workspace; see gpu_tree_init. */
typedef struct gpu_tree {
    const void *d_bases;
    void *d_pool;   /* point q: planes of 16 bytes, 32 points a block, plane by plane */
    gpu_pairs list; /* keys: segments; vals: references */
    uint32_t *d_pairs, *d_exceptions, *d_start, *d_start_alt, *d_len, *d_left, *d_split, *d_counts;
    void *d_products, *d_temp, *d_export, *pin;
    size_t temp_bytes;
    gpu_tree_size size;
    uint32_t n_blocks, k_max;
    const struct gpu_tree_ops *ops;
    const gpu_run *run;
    uint64_t queued_ps; /* estimated device time since the last call of run->slice */
    const char *part;   /* what all parts of sums are called; NULL: by what they do */
} gpu_tree;

/* Workspace; 0 when the device cannot be asked or the indices would not fit. */
size_t gpu_tree_bytes(const gpu_tree_size *s);
/* Carve up ws->d_ws. Borrows all until the last call. Calls ws->run->slice, as do the functions
 * below, so that no more than 50 ms of work wait behind another. Errors: CUZK_E_RANGE. */
CUZK_MUST_CHECK cuzk_status gpu_tree_init(gpu_tree *t, const gpu_tree_size *s, const void *d_bases,
                                          const gpu_msm_ws *ws);
/* Sum the n elements of t->list by segment: the sum of segment s goes to pool index out_first + s,
 * infinity for an empty one. Elements with key n_segments are ignored. The list is used up.
 * In: all_bases says that no reference names the pool. Blocks: once, for the longest segment. */
CUZK_MUST_CHECK cuzk_status gpu_tree_sum(gpu_tree *t, size_t n, uint32_t n_segments, bool all_bases,
                                         uint32_t out_first);
/* As gpu_tree_sum, of a list in order: references by segment in t->list.vals, where each segment
 * starts and its length in t->d_start and t->d_len, the longest one's length in t->d_counts
 * (gpu_tree_int.h), all written since gpu_tree_open. n: at least the elements. */
CUZK_MUST_CHECK cuzk_status gpu_tree_sum_ordered(gpu_tree *t, size_t n, uint32_t n_segments,
                                                 bool all_bases, uint32_t out_first);
/* Begin a list: clear t->d_counts. */
CUZK_MUST_CHECK cuzk_status gpu_tree_open(gpu_tree *t);
/* Device work of about that many picoseconds is queued next: t->run->slice is called if it is its
 * turn. */
CUZK_MUST_CHECK cuzk_status gpu_tree_spend(gpu_tree *t, uint64_t ps);
/* What is queued next is that part of a sum (base/span_names.h), or of t->part. */
static inline void gpu_tree_part(const gpu_tree *t, const char *name)
{
    gpu_run_part(t->run, t->part ? t->part : name);
}
/* n pool points as g1_aff (g2_aff) records to t->pin. Blocks until they are there. */
CUZK_MUST_CHECK cuzk_status gpu_tree_export(gpu_tree *t, uint32_t first, uint32_t n);
/* The same to device memory, as many as there are; asynchronous. */
CUZK_MUST_CHECK cuzk_status gpu_tree_records(gpu_tree *t, void *d_out, uint32_t first, uint32_t n);
#ifdef __cplusplus
}
#endif
#endif
