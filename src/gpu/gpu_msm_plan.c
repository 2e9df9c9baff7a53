/* How an MSM is cut into windows and groups, and how its last points are joined. */
#include "gpu/gpu_msm_int.h"
#include <string.h>

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

/* Windows by size; H200, ms: 2^22 with 15 windows 22.2, with 14 22.7. At 2^27, 11 and 12 take the same
 * when all scalars are uniform (buckets cost what points save), and 12 less when some are zero, as those
 * of a key in evaluation form are. Small ones for small n, where the buckets cost more than the points. */
uint32_t gpu_msm_windows(size_t n)
{
    const size_t one = 1;
    if (n <= one << 8)
        return 32;
    if (n <= one << 12)
        return 28;
    if (n <= one << 16)
        return 22;
    if (n <= one << 19)
        return 17;
    if (n <= one << 22)
        return 15;
    if (n <= one << 24)
        return 13;
    return n <= one << 27 ? 12 : 11;
}

/* Parts as large as a block can take, of uniform scalars. The fullest segments are those of the top
 * window if it is of the widest ones: recoded scalars stay below r / 2 + 2^254, so that 0.453 of its
 * buckets are in use, which makes 2.21 times n / n_buckets; a window a bit narrower has 2 times that.
 * The rest up to GPU_MSM_PART_MAX is six times the deviation of such a part's size. */
static void plan_order(gpu_msm_plan *p, size_t n, unsigned n_batch)
{
    const size_t most = GPU_MSM_PART_MAX - 1600;
    uint32_t narrowest = GPU_MSM_SCALAR_BITS / p->n_windows - 1;
    uint32_t lg = GPU_MSM_LG_PART_MAX < narrowest ? GPU_MSM_LG_PART_MAX : narrowest;
    while (lg > 0 && (n * 9 / 4 << lg) / p->n_buckets > most)
        lg--;
    p->lg_part = lg;
    if (n * n_batch < GPU_MSM_ORDER_N_MIN || p->n_buckets >> lg > GPU_MSM_PARTS_MAX)
        return;
    /* gpu_msm_order: places, begins and ends, the largest ones */
    p->order_bytes = (2 * (size_t)(p->n_all >> lg) + 2 * p->n_units + 3) / 4 * 16;
}

void gpu_msm_plan_init(gpu_msm_plan *p, size_t n, unsigned n_batch, uint32_t per_group)
{
    memset(p, 0, sizeof *p);
    p->n_windows = gpu_msm_windows(n);
    p->n_units = p->n_windows * n_batch;
    for (uint32_t w = 0; w < p->n_windows; w++) {
        uint32_t width =
            gpu_msm_window_start(w + 1, p->n_windows) - gpu_msm_window_start(w, p->n_windows);
        p->first_bucket[w + 1] = p->first_bucket[w] + (1u << (width - 1));
    }
    p->n_all = gpu_msm_unit_bucket(p, p->n_units);
    p->per_group = per_group < p->n_units ? per_group : p->n_units;
    uint32_t lg_buckets = (GPU_MSM_SCALAR_BITS + p->n_windows - 1) / p->n_windows - 1;
    p->n_buckets = 1u << lg_buckets;
    p->lg_cols = lg_buckets / 2;
    p->n_cols = 1u << p->lg_cols;
    p->n_rows = p->n_buckets >> p->lg_cols;
    p->n_bits = p->lg_cols + 1; /* columns weigh up to n_cols, rows less than 2 n_cols */
    p->n_lines = p->n_units * (p->n_rows + p->n_cols);
    p->n_final = p->n_units * 2 * p->n_bits;
    p->first_lines = p->n_all;
    p->first_final = p->n_all + p->n_lines;
    p->n_dense = (size_t)p->n_all + p->n_lines + p->n_final;
    p->n_list =
        max_size(max_size(n * p->per_group, (size_t)2 * p->n_all), (size_t)p->n_lines * p->n_bits);
    p->n_segments = max_size((size_t)p->per_group * p->n_buckets, max_size(p->n_lines, p->n_final));
    plan_order(p, n, n_batch);
}

/* Every point of a partition stands for a power of two times itself: double down through the
 * powers. */
void gpu_msm_join(void *out, const gpu_msm_ops *ops, const void *final, const gpu_msm_plan *p)
{
    memset(out, 0, ops->jac_bytes);
    for (uint32_t e = GPU_MSM_SCALAR_BITS + 2 * p->n_bits; e-- > 0;) {
        ops->dbl(out, out);
        for (uint32_t i = 0; i < 2 * p->n_windows; i++) {
            uint32_t base =
                gpu_msm_window_start(i / 2, p->n_windows) + (i % 2 == 0 ? p->lg_cols : 0);
            if (e >= base && e - base < p->n_bits)
                ops->add(out, out,
                         (const char *) final +
                             ((size_t)i * p->n_bits + e - base) * ops->aff_bytes);
        }
    }
}
