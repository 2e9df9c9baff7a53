/* Between the host side (gpu_msm_host.c: plans, joining) and the device side (gpu_msm.cu) of the
 * MSM. */
#ifndef GPU_MSM_INT_H
#define GPU_MSM_INT_H
#include "gpu/gpu_common.h"
#include "gpu/gpu_msm.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define GPU_MSM_SCALAR_BITS 255u
/* Points the host gets for one partition: windows x (row, column) x bits. */
#define GPU_MSM_FINAL_MAX 288u

#define GPU_MSM_WINDOWS_MAX 32u
/* A part of a list as one block orders it: elements, in 152 KiB of shared memory, and segments. */
#define GPU_MSM_PART_MAX 38912u
#define GPU_MSM_LG_PART_MAX 10u
/* Parts of a window; and the scalars, of all partitions, from which on counting parts pays. */
#define GPU_MSM_PARTS_MAX 8192u
#define GPU_MSM_ORDER_N_MIN ((size_t)1 << 20)

/* Window w covers bits [w 255/W, (w+1) 255/W). Digits are signed, so it has half as many buckets as
 * its width allows, numbered from first_bucket[w] on in a partition; a bucket b of a window, of
 * weight b + 1 = (row << lg_cols) + column + 1. Unit u is window u mod W of partition u / W. Rows
 * and columns are those of the widest window, which has n_buckets. */
typedef struct gpu_msm_plan {
    uint32_t n_windows, n_units, per_group, n_buckets, lg_cols, n_cols, n_rows, n_bits;
    uint32_t n_all;                    /* buckets of all units */
    uint32_t n_lines, n_final;         /* rows and columns of all units; their bits */
    uint32_t first_lines, first_final; /* where in the dense part of the pool */
    uint32_t first_bucket[GPU_MSM_WINDOWS_MAX + 1];
    uint32_t lg_part;   /* neighbouring segments that make a part of a list: gpu_msm_order.h */
    size_t order_bytes; /* 0: all lists are left to gpu_sort_pairs */
    size_t n_list, n_segments, n_dense;
} gpu_msm_plan;

CUZK_HD uint32_t gpu_msm_window_start(uint32_t w, uint32_t n_windows)
{
    return w * GPU_MSM_SCALAR_BITS / n_windows;
}

/* The number of unit u's first bucket among all, u <= n_units. */
CUZK_HD uint32_t gpu_msm_unit_bucket(const gpu_msm_plan *p, uint32_t u)
{
    return u / p->n_windows * p->first_bucket[p->n_windows] + p->first_bucket[u % p->n_windows];
}

/* Windows for n scalars, per_group (or all) units in a group. */
void gpu_msm_plan_init(gpu_msm_plan *p, size_t n, unsigned n_batch, uint32_t per_group);
uint32_t gpu_msm_windows(size_t n);

/* The digit of a window that starts at that bit, from the words bit / 32 and bit / 32 + 1 of a
 * recoded scalar (k_recode). */
CUZK_HD int32_t gpu_msm_digit(uint32_t lo, uint32_t hi, uint32_t bit, uint32_t width)
{
    uint64_t both = (uint64_t)hi << 32 | lo;
    uint32_t field = (uint32_t)(both >> (bit % 32)) & ((1u << width) - 1);
    return (int32_t)field - (int32_t)(1u << (width - 1));
}

/* Line i of all, rows first: n buckets from number q on, step apart. In the list of all lines its
 * elements have the places from `at` on; each bucket is in a row and in a column, so that the list has
 * 2 n_all places. */
typedef struct gpu_msm_buckets {
    uint32_t q, step, n, at;
} gpu_msm_buckets;
CUZK_HD gpu_msm_buckets gpu_msm_buckets_of(const gpu_msm_plan *p, uint32_t i)
{
    uint32_t rows = p->n_units * p->n_rows;
    bool is_col = i >= rows;
    uint32_t u = is_col ? (i - rows) / p->n_cols : i / p->n_rows;
    uint32_t k = is_col ? (i - rows) % p->n_cols : i % p->n_rows;
    uint32_t first = gpu_msm_unit_bucket(p, u), w = u % p->n_windows;
    uint32_t n_rows = (p->first_bucket[w + 1] - p->first_bucket[w]) >> p->lg_cols;
    gpu_msm_buckets o = {first + (k << p->lg_cols), 1, k < n_rows ? p->n_cols : 0, 0};
    o.at = o.q;
    if (is_col) {
        o.q = first + k;
        o.step = p->n_cols;
        o.n = n_rows;
        o.at = p->n_all + first + k * n_rows;
    }
    return o;
}

/* Line i of all, rows first: bit j of its weight counts for point first_bit + j of the last. */
typedef struct gpu_msm_line {
    uint32_t weight, first_bit;
} gpu_msm_line;
CUZK_HD gpu_msm_line gpu_msm_line_of(const gpu_msm_plan *p, uint32_t i)
{
    gpu_msm_line l;
    uint32_t rows = p->n_units * p->n_rows;
    bool is_col = i >= rows;
    uint32_t u = is_col ? (i - rows) / p->n_cols : i / p->n_rows;
    l.weight = is_col ? (i - rows) % p->n_cols + 1 : i % p->n_rows;
    l.first_bit = (u * 2 + is_col) * p->n_bits;
    return l;
}

/* A group's arithmetic on points in host memory. */
typedef struct gpu_msm_ops {
    size_t aff_bytes, jac_bytes;
    void (*dbl)(void *o, const void *a);
    void (*add)(void *o, const void *jac, const void *aff);
    void (*from_aff)(void *jac, const void *aff);
} gpu_msm_ops;

/* *out = what the last points of one partition, n_final / n_batch of them, add up to; infinity is
 * all zero. */
void gpu_msm_join(void *out, const gpu_msm_ops *ops, const void *final, const gpu_msm_plan *p);

/* What is summed: by scalars, or by masks. */
typedef struct gpu_msm_input {
    gpu_msm_group group;
    const void *d_bases;
    size_t n;
    const gpu_msm_tails *tails; /* of an MSM */
    const uint64_t *d_masks;    /* of 0/1 sums */
    unsigned n_masks;
} gpu_msm_input;

/* The points of gpu_msm_host.c's join, n_final g1_aff (g2_aff) records, to ws->pin. Blocks until
 * they are there. */
CUZK_MUST_CHECK cuzk_status gpu_msm_run(const gpu_msm_input *in, const gpu_msm_plan *p,
                                        const gpu_msm_ws *ws);
/* The masks' sums, likewise. n_list bounds the lists. */
CUZK_MUST_CHECK cuzk_status gpu_msm_sums_run(const gpu_msm_input *in, size_t n_list,
                                             const gpu_msm_ws *ws);
#ifdef __cplusplus
}
#endif
#endif
