/* The host side of the device MSM: how many windows, what fits, and joining the last points. */
#include "base/mem.h"
#include "gpu/gpu_msm.h"
#include "gpu/gpu_msm_int.h"
#include "gpu/gpu_tree.h"
#include <string.h>

#define N_WINDOWS_MAX 32u

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

/* Windows by size; H200, ms: 2^22 with 15 windows 22.2, with 14 22.7. Small ones for small n,
 * where the buckets cost more than the points. */
static uint32_t windows_for(size_t n)
{
    static const struct {
        unsigned lg_n_max;
        uint32_t n_windows;
    } table[] = {{8, 32}, {12, 28}, {16, 22}, {19, 17}, {22, 15}, {24, 13}, {63, 12}};
    unsigned i = 0;
    while (n > (size_t)1 << table[i].lg_n_max)
        i++;
    return table[i].n_windows;
}

static void plan_msm(gpu_msm_plan *p, size_t n, uint32_t per_group)
{
    memset(p, 0, sizeof *p);
    p->n_windows = windows_for(n);
    p->per_group = per_group < p->n_windows ? per_group : p->n_windows;
    uint32_t lg_buckets = (GPU_MSM_SCALAR_BITS + p->n_windows - 1) / p->n_windows - 1;
    p->n_buckets = 1u << lg_buckets;
    p->lg_cols = lg_buckets / 2;
    p->n_cols = 1u << p->lg_cols;
    p->n_rows = p->n_buckets >> p->lg_cols;
    p->n_bits = p->lg_cols + 1; /* columns weigh up to n_cols, rows less than 2 n_cols */
    p->n_lines = p->n_windows * (p->n_rows + p->n_cols);
    size_t n_all = (size_t)p->n_windows * p->n_buckets,
           n_final = (size_t)p->n_windows * 2 * p->n_bits;
    p->first_lines = (uint32_t)n_all;
    p->first_final = (uint32_t)(n_all + p->n_lines);
    p->n_dense = n_all + p->n_lines + n_final;
    p->n_list = max_size(max_size(n * p->per_group, 2 * n_all), (size_t)p->n_lines * p->n_bits);
    p->n_segments = max_size((size_t)p->per_group * p->n_buckets, max_size(p->n_lines, n_final));
}

static size_t plan_bytes(const gpu_msm_plan *p)
{
    return gpu_tree_bytes(p->n_list, p->n_segments, p->n_dense, GPU_MSM_FINAL_MAX);
}

/* The fewest groups of windows whose workspace fits, and whose buckets have keys of 24 bits: the
 * sort takes 8 at a time. 0 if none does. */
static size_t plan_within(gpu_msm_plan *p, size_t n, size_t max_bytes)
{
    if (n >= GPU_MSM_N_MAX)
        return 0;
    for (uint32_t groups = 1; groups <= N_WINDOWS_MAX; groups++) {
        plan_msm(p, n, (windows_for(n) + groups - 1) / groups);
        size_t bytes = plan_bytes(p);
        if (bytes > 0 && bytes <= max_bytes && (p->per_group * p->n_buckets) >> 24 == 0)
            return bytes;
    }
    return 0;
}

size_t gpu_msm_workspace_bytes(size_t n, size_t max_bytes)
{
    gpu_msm_plan p;
    return plan_within(&p, n, max_bytes);
}

/* Every point stands for a power of two times itself: double down through the powers. */
static void join(g1_jac *out, const g1_aff *final, const gpu_msm_plan *p)
{
    g1_jac acc;
    memset(&acc, 0, sizeof acc);
    for (uint32_t e = GPU_MSM_SCALAR_BITS + 2 * p->n_bits; e-- > 0;) {
        g1_jac_dbl(&acc, &acc);
        for (uint32_t w = 0; w < p->n_windows; w++) {
            for (uint32_t part = 0; part < 2; part++) {
                uint32_t base =
                    gpu_msm_window_start(w, p->n_windows) + (part == 0 ? p->lg_cols : 0);
                if (e >= base && e - base < p->n_bits)
                    g1_jac_add_aff(&acc, &acc, &final[(w * 2 + part) * p->n_bits + e - base]);
            }
        }
    }
    *out = acc;
}

cuzk_status gpu_msm_g1_sync(g1_jac *out, const void *d_bases, const void *d_scalars, size_t n,
                            const gpu_msm_ws *ws)
{
    gpu_msm_plan p;
    memset(out, 0, sizeof *out);
    if (n == 0)
        return cuzk_ok();
    if (plan_within(&p, n, ws->bytes) == 0)
        return cuzk_fail(CUZK_E_RANGE, "%zu points in a workspace of %zu bytes", n, ws->bytes);
    CUZK_VERIFY(p.n_windows * 2 * p.n_bits <= GPU_MSM_FINAL_MAX);
    g1_aff *points = mem_alloc(GPU_MSM_FINAL_MAX * sizeof *points, 64);
    if (!points)
        return cuzk_fail(CUZK_E_NOMEM, "%u points", GPU_MSM_FINAL_MAX);
    cuzk_status st = gpu_msm_run(points, &p, d_bases, d_scalars, n, ws->d_ws, ws->stream);
    if (st.code == CUZK_OK)
        join(out, points, &p);
    mem_free(points);
    return st;
}

static size_t sums_list(size_t n, unsigned n_masks)
{
    return max_size(n, (((size_t)1 << n_masks) - 1) * n_masks);
}

size_t gpu_msm_sums_workspace_bytes(size_t n, unsigned n_masks)
{
    if (n >= GPU_MSM_N_MAX || n_masks == 0 || n_masks > GPU_MSM_MASKS_MAX)
        return 0;
    size_t n_classes = ((size_t)1 << n_masks) - 1;
    return gpu_tree_bytes(sums_list(n, n_masks), n_classes, n_classes + n_masks, GPU_MSM_FINAL_MAX);
}

cuzk_status gpu_msm_g1_sums_sync(g1_jac *out, const void *d_bases, const uint64_t *d_masks,
                                 size_t n, unsigned n_masks, const gpu_msm_ws *ws)
{
    g1_aff sums[GPU_MSM_MASKS_MAX];
    size_t need = gpu_msm_sums_workspace_bytes(n, n_masks);
    if (n_masks <= GPU_MSM_MASKS_MAX)
        memset(out, 0, n_masks * sizeof *out);
    if (need == 0 || need > ws->bytes)
        return cuzk_fail(CUZK_E_RANGE, "%zu points and %u masks in a workspace of %zu bytes", n,
                         n_masks, ws->bytes);
    if (n == 0)
        return cuzk_ok();
    CUZK_TRY(gpu_msm_sums_run(sums, sums_list(n, n_masks), n_masks, d_bases, d_masks, n, ws->d_ws,
                              ws->stream));
    for (unsigned j = 0; j < n_masks; j++)
        g1_jac_from_aff(&out[j], &sums[j]);
    return cuzk_ok();
}
