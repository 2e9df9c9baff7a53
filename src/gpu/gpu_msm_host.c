/* The host side of the device MSM: how many windows, what fits, and joining the last points. */
#include "gpu/gpu_msm.h"
#include "gpu/gpu_msm_int.h"
#include "gpu/gpu_tree.h"
#include <string.h>

/* Longest list of a group of several windows: its first level takes 35 ms (G1 4 G/s, G2 1.2),
 * which is what run->slice can put up with. */
static const size_t list_max[GPU_MSM_N_GROUPS] = {(size_t)1 << 28, (size_t)1 << 26};

/* The group's arithmetic, behind one join. */
typedef struct group_ops {
    size_t aff_bytes, jac_bytes;
    void (*dbl)(void *o, const void *a);
    void (*add)(void *o, const void *jac, const void *aff);
    void (*from_aff)(void *jac, const void *aff);
} group_ops;

static void g1_dbl(void *o, const void *a) { g1_jac_dbl(o, a); }
static void g1_add(void *o, const void *a, const void *b) { g1_jac_add_aff(o, a, b); }
static void g1_from_aff(void *o, const void *a) { g1_jac_from_aff(o, a); }
static void g2_dbl(void *o, const void *a) { g2_jac_dbl(o, a); }
static void g2_add(void *o, const void *a, const void *b) { g2_jac_add_aff(o, a, b); }
static void g2_from_aff(void *o, const void *a) { g2_jac_from_aff(o, a); }
static const group_ops ops_of[GPU_MSM_N_GROUPS] = {
    {sizeof(g1_aff), sizeof(g1_jac), g1_dbl, g1_add, g1_from_aff},
    {sizeof(g2_aff), sizeof(g2_jac), g2_dbl, g2_add, g2_from_aff}};

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

static void plan_msm(gpu_msm_plan *p, size_t n, unsigned n_batch, uint32_t per_group)
{
    memset(p, 0, sizeof *p);
    p->n_windows = windows_for(n);
    p->n_units = p->n_windows * n_batch;
    p->per_group = per_group < p->n_units ? per_group : p->n_units;
    uint32_t lg_buckets = (GPU_MSM_SCALAR_BITS + p->n_windows - 1) / p->n_windows - 1;
    p->n_buckets = 1u << lg_buckets;
    p->lg_cols = lg_buckets / 2;
    p->n_cols = 1u << p->lg_cols;
    p->n_rows = p->n_buckets >> p->lg_cols;
    p->n_bits = p->lg_cols + 1; /* columns weigh up to n_cols, rows less than 2 n_cols */
    p->n_lines = p->n_units * (p->n_rows + p->n_cols);
    p->n_final = p->n_units * 2 * p->n_bits;
    size_t n_all = (size_t)p->n_units * p->n_buckets;
    p->first_lines = (uint32_t)n_all;
    p->first_final = (uint32_t)(n_all + p->n_lines);
    p->n_dense = n_all + p->n_lines + p->n_final;
    p->n_list = max_size(max_size(n * p->per_group, 2 * n_all), (size_t)p->n_lines * p->n_bits);
    p->n_segments = max_size((size_t)p->per_group * p->n_buckets, max_size(p->n_lines, p->n_final));
}

/* The fewest groups of units whose workspace fits, and whose buckets have keys of 24 bits: the
 * sort takes 8 at a time. 0 if none does. */
static size_t plan_within(gpu_msm_plan *p, gpu_msm_group g, size_t n, unsigned n_batch,
                          size_t max_bytes)
{
    if (n >= GPU_MSM_N_MAX || n_batch == 0 || n_batch > GPU_MSM_BATCH_MAX)
        return 0;
    uint32_t n_units = windows_for(n) * n_batch;
    for (uint32_t groups = 1; groups <= n_units; groups++) {
        plan_msm(p, n, n_batch, (n_units + groups - 1) / groups);
        if ((p->per_group * p->n_buckets) >> 24 != 0 ||
            (p->per_group > 1 && n * p->per_group > list_max[g]))
            continue;
        gpu_tree_size size = {g, p->n_list, p->n_segments, p->n_dense, p->n_final};
        size_t bytes = gpu_tree_bytes(&size);
        if (bytes > 0 && bytes <= max_bytes)
            return bytes;
    }
    return 0;
}

size_t gpu_msm_workspace_bytes(gpu_msm_group g, size_t n, unsigned n_batch, size_t max_bytes)
{
    gpu_msm_plan p;
    return plan_within(&p, g, n, n_batch, max_bytes);
}

/* Every point of a partition stands for a power of two times itself: double down through the
 * powers. */
static void join(void *out, const group_ops *ops, const char *final, const gpu_msm_plan *p)
{
    memset(out, 0, ops->jac_bytes);
    for (uint32_t e = GPU_MSM_SCALAR_BITS + 2 * p->n_bits; e-- > 0;) {
        ops->dbl(out, out);
        for (uint32_t i = 0; i < 2 * p->n_windows; i++) {
            uint32_t base =
                gpu_msm_window_start(i / 2, p->n_windows) + (i % 2 == 0 ? p->lg_cols : 0);
            if (e >= base && e - base < p->n_bits)
                ops->add(out, out, final + ((size_t)i * p->n_bits + e - base) * ops->aff_bytes);
        }
    }
}

static cuzk_status run_msm(void *out, gpu_msm_group g, const void *d_bases, const gpu_msm_tails *t,
                           const gpu_msm_ws *ws)
{
    gpu_msm_plan p;
    const group_ops *ops = &ops_of[g];
    if (t->n_batch == 0 || t->n_batch > GPU_MSM_BATCH_MAX)
        return cuzk_fail(CUZK_E_RANGE, "a batch of %u, want 1 to %u", t->n_batch,
                         GPU_MSM_BATCH_MAX);
    memset(out, 0, t->n_batch * ops->jac_bytes);
    if (t->n_idx == 0)
        return cuzk_ok();
    if (plan_within(&p, g, t->n_idx, t->n_batch, ws->bytes) == 0)
        return cuzk_fail(CUZK_E_RANGE, "%zu points in a workspace of %zu bytes", t->n_idx,
                         ws->bytes);
    CUZK_VERIFY(p.n_windows * 2 * p.n_bits <= GPU_MSM_FINAL_MAX);
    gpu_msm_input in = {.group = g, .d_bases = d_bases, .n = t->n_idx, .tails = t};
    CUZK_TRY(gpu_msm_run(&in, &p, ws));
    size_t step = (size_t)p.n_windows * 2 * p.n_bits * ops->aff_bytes;
    for (unsigned k = 0; k < t->n_batch; k++)
        join((char *)out + k * ops->jac_bytes, ops, (const char *)ws->pin + k * step, &p);
    return cuzk_ok();
}

cuzk_status gpu_msm_g1_tails_sync(g1_jac *out, const void *d_bases, const gpu_msm_tails *t,
                                  const gpu_msm_ws *ws)
{
    return run_msm(out, GPU_MSM_G1, d_bases, t, ws);
}

cuzk_status gpu_msm_g2_tails_sync(g2_jac *out, const void *d_bases, const gpu_msm_tails *t,
                                  const gpu_msm_ws *ws)
{
    return run_msm(out, GPU_MSM_G2, d_bases, t, ws);
}

cuzk_status gpu_msm_g1_sync(g1_jac *out, const void *d_bases, const void *d_scalars, size_t n,
                            const gpu_msm_ws *ws)
{
    gpu_msm_tails t = {NULL, n, &d_scalars, 1};
    return run_msm(out, GPU_MSM_G1, d_bases, &t, ws);
}

cuzk_status gpu_msm_g2_sync(g2_jac *out, const void *d_bases, const void *d_scalars, size_t n,
                            const gpu_msm_ws *ws)
{
    gpu_msm_tails t = {NULL, n, &d_scalars, 1};
    return run_msm(out, GPU_MSM_G2, d_bases, &t, ws);
}

static size_t sums_list(size_t n, unsigned n_masks)
{
    return max_size(n, (size_t)n_masks << n_masks);
}

size_t gpu_msm_sums_workspace_bytes(gpu_msm_group g, size_t n, unsigned n_masks)
{
    if (n >= GPU_MSM_N_MAX || n_masks == 0 || n_masks > GPU_MSM_MASKS_MAX)
        return 0;
    size_t n_classes = ((size_t)1 << n_masks) - 1;
    gpu_tree_size size = {g, sums_list(n, n_masks), n_classes, n_classes + n_masks, n_masks};
    return gpu_tree_bytes(&size);
}

static cuzk_status run_sums(void *out, const gpu_msm_input *in, const gpu_msm_ws *ws)
{
    const group_ops *ops = &ops_of[in->group];
    size_t need = gpu_msm_sums_workspace_bytes(in->group, in->n, in->n_masks);
    if (in->n_masks <= GPU_MSM_MASKS_MAX)
        memset(out, 0, in->n_masks * ops->jac_bytes);
    if (need == 0 || need > ws->bytes)
        return cuzk_fail(CUZK_E_RANGE, "%zu points and %u masks in a workspace of %zu bytes", in->n,
                         in->n_masks, ws->bytes);
    if (in->n == 0)
        return cuzk_ok();
    CUZK_TRY(gpu_msm_sums_run(in, sums_list(in->n, in->n_masks), ws));
    for (unsigned j = 0; j < in->n_masks; j++)
        ops->from_aff((char *)out + j * ops->jac_bytes, (const char *)ws->pin + j * ops->aff_bytes);
    return cuzk_ok();
}

cuzk_status gpu_msm_g1_sums_sync(g1_jac *out, const void *d_bases, const uint64_t *d_masks,
                                 size_t n, unsigned n_masks, const gpu_msm_ws *ws)
{
    gpu_msm_input in = {
        .group = GPU_MSM_G1, .d_bases = d_bases, .n = n, .d_masks = d_masks, .n_masks = n_masks};
    return run_sums(out, &in, ws);
}

cuzk_status gpu_msm_g2_sums_sync(g2_jac *out, const void *d_bases, const uint64_t *d_masks,
                                 size_t n, unsigned n_masks, const gpu_msm_ws *ws)
{
    gpu_msm_input in = {
        .group = GPU_MSM_G2, .d_bases = d_bases, .n = n, .d_masks = d_masks, .n_masks = n_masks};
    return run_sums(out, &in, ws);
}
