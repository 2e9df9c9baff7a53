/* The lists of an MSM, ordered by segment in two passes instead of a sort's three, and
 * with the digits taken from the scalars in the first: into parts of neighbouring segments (counted
 * before, so that any distribution fits), then each part by one block in shared memory, which finds
 * the segments' bounds on the way. Where a part is too large for that, as scalars are that repeat,
 * the list is left to gpu_sort_pairs. The order within a segment changes from run to run: the sums
 * do not. */
#ifndef GPU_MSM_ORDER_H
#define GPU_MSM_ORDER_H
#include "gpu/gpu_msm_int.h"
#include "gpu/gpu_tree.h"
#ifdef __cplusplus
extern "C" {
#endif

/* What digits are taken from: word k of recoded scalar i of partition j at planes[(8 j + k) n + i],
 * and the base of scalar i (NULL: i). */
typedef struct gpu_msm_scalars {
    const uint32_t *planes, *idx;
    uint32_t n;
} gpu_msm_scalars;

/* Device memory behind the recoded scalars: of every part, where its next element goes; of every
 * group of units, where its parts begin, and one more for the end; of every group, the largest
 * part. Host: that, too. */
typedef struct gpu_msm_order {
    uint32_t *d_next, *d_begin, *d_largest;
    uint32_t largest[GPU_MSM_WINDOWS_MAX * GPU_MSM_BATCH_MAX];
} gpu_msm_order;

/* Whether the device's blocks may have the shared memory that a plan with order_bytes wants: up to 164
 * KB, which those of capability 8.0 and 9.0 have and those of 8.6, 8.9 and 12.0 have not. */
bool gpu_msm_order_works(const gpu_msm_plan *p);
/* Count the parts of all units. d_ws: p->order_bytes, 16-byte aligned. Blocks until it is known
 * how large they are. */
CUZK_MUST_CHECK cuzk_status gpu_msm_order_count(gpu_msm_order *o, void *d_ws, gpu_tree *t,
                                                const gpu_msm_plan *p, const gpu_msm_scalars *k);
/* Whether the parts of the group that begins with unit u0 fit. */
static inline bool gpu_msm_order_fits(const gpu_msm_order *o, const gpu_msm_plan *p, uint32_t u0)
{
    return o->largest[u0 / p->per_group] <= GPU_MSM_PART_MAX;
}
/* The list of the group that begins with unit u0, and fits, for gpu_tree_sum_ordered.
 * Asynchronous. */
CUZK_MUST_CHECK cuzk_status gpu_msm_order_list(const gpu_msm_order *o, gpu_tree *t,
                                               const gpu_msm_plan *p, const gpu_msm_scalars *k,
                                               uint32_t u0);
#ifdef __cplusplus
}
#endif
#endif
