/* The host side of the device MSM: what fits, the calls, and the two groups behind them. */
#include "gpu/gpu_msm.h"
#include "gpu/gpu_msm_int.h"
#include "gpu/gpu_tree.h"
#include <string.h>

/* Longest list of a group of several windows: its first level takes 35 ms (G1 4 G/s, G2 1.2),
 * which is what run->slice can put up with. */
static const size_t list_max[GPU_MSM_N_GROUPS] = {(size_t)1 << 28, (size_t)1 << 26};

static void g1_dbl(void *o, const void *a) { g1_jac_dbl(o, a); }
static void g1_add(void *o, const void *a, const void *b) { g1_jac_add_aff(o, a, b); }
static void g1_from_aff(void *o, const void *a) { g1_jac_from_aff(o, a); }
static void g2_dbl(void *o, const void *a) { g2_jac_dbl(o, a); }
static void g2_add(void *o, const void *a, const void *b) { g2_jac_add_aff(o, a, b); }
static void g2_from_aff(void *o, const void *a) { g2_jac_from_aff(o, a); }
static const gpu_msm_ops ops_of[GPU_MSM_N_GROUPS] = {
    {sizeof(g1_aff), sizeof(g1_jac), g1_dbl, g1_add, g1_from_aff},
    {sizeof(g2_aff), sizeof(g2_jac), g2_dbl, g2_add, g2_from_aff}};

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

/* The fewest groups of units whose workspace fits, and whose buckets have keys of 24 bits: the
 * sort takes 8 at a time. 0 if none does. */
static size_t plan_within(gpu_msm_plan *p, gpu_msm_group g, size_t n, unsigned n_batch,
                          size_t max_bytes)
{
    if (n >= GPU_MSM_N_MAX || n_batch == 0 || n_batch > GPU_MSM_BATCH_MAX)
        return 0;
    uint32_t n_units = gpu_msm_windows(n) * n_batch;
    for (uint32_t groups = 1; groups <= n_units; groups++) {
        gpu_msm_plan_init(p, n, n_batch, (n_units + groups - 1) / groups);
        if ((p->per_group * p->n_buckets) >> 24 != 0 ||
            (p->per_group > 1 && n * p->per_group > list_max[g]))
            continue;
        gpu_tree_size size = {g, p->n_list, p->n_segments, p->n_dense, p->n_final};
        size_t tree = gpu_tree_bytes(&size);
        size_t bytes = tree + n * n_batch * sizeof(fr_int) + p->order_bytes;
        if (tree > 0 && bytes <= max_bytes)
            return bytes;
    }
    return 0;
}

size_t gpu_msm_workspace_bytes(gpu_msm_group g, size_t n, unsigned n_batch, size_t max_bytes)
{
    gpu_msm_plan p;
    return plan_within(&p, g, n, n_batch, max_bytes);
}

static cuzk_status run_msm(void *out, gpu_msm_group g, const void *d_bases, const gpu_msm_tails *t,
                           const gpu_msm_ws *ws)
{
    gpu_msm_plan p;
    const gpu_msm_ops *ops = &ops_of[g];
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
        gpu_msm_join((char *)out + k * ops->jac_bytes, ops, (const char *)ws->pin + k * step, &p);
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
    const gpu_msm_ops *ops = &ops_of[in->group];
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
