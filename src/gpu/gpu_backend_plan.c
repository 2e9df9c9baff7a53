/* Sizes first, memory later. */
#include "gpu/gpu_backend_plan.h"
#include "gpu/gpu_msm.h"
#include "gpu/gpu_ntt.h"
#include "gpu/gpu_setup.h"
#include <stdio.h>
#include <string.h>

/* Witnesses of a batch and one call's tail scalars together: ten 32 GiB PoRep partitions take
 * 1.1 GB, one of a circuit of field elements up to 8 GB. */
#define SLOTS_MAX_BYTES ((uint64_t)16 << 30)
/* Elements of one call for tails: beyond 2^25 a larger launch gains nothing. */
#define TAIL_CALL_MAX ((uint64_t)1 << 25)
/* Workspace of the h sum at most: two windows at once of 2^27 points. */
#define H_WS_MAX ((uint64_t)42 << 30)

static void fill_counts(gpu_plan *p, const gpu_plan_in *in)
{
    const r1cs_counts *c = r1cs_shape_counts(in->shape);
    memset(p, 0, sizeof *p);
    p->lg_m = c->lg_m;
    p->m = (uint64_t)1 << c->lg_m;
    p->n_aux = c->n_aux;
    p->n_dense = c->n_dense;
    p->n_inputs = c->n_inputs;
    p->is_evaluation = in->is_evaluation;
    p->n[G16_L] = in->query[QUERY_L].n;
    p->n[G16_A] = in->query[QUERY_A].n;
    p->n[G16_B_G1] = p->n[G16_B_G2] = in->query[QUERY_B].n;
    p->n[G16_H] = p->m - (p->is_evaluation ? 0 : 1);
    for (int q = 0; q < N_QUERIES; q++) {
        p->n_tail[q] = in->query[q].n_dense;
        p->n_masked[q] = in->query[q].n > p->n_tail[q] ? in->query[q].n : 0;
    }
    if (p->is_evaluation) {
        p->n[G16_L] += p->n_inputs;
        p->n_tail[QUERY_L] += p->n_inputs;
    }
}

gpu_index_layout gpu_plan_index(const gpu_plan *p)
{
    gpu_index_layout x = {0};
    size_t at = 0, words = words_of(p->n_aux);
    for (int q = 0; q < N_QUERIES; q++) {
        x.density[q] = at;
        at += q == QUERY_L ? 0 : gpu_align(words * 8);
        x.rank[q] = at;
        at += q == QUERY_L ? 0 : gpu_align((words + 1) * 4);
        x.position[q] = at;
        at += gpu_align(p->n_tail[q] * 4);
        x.source[q] = at;
        at += q == QUERY_L ? 0 : gpu_align(p->n_tail[q] * 4); /* l's are all values, in order */
    }
    x.bytes = at;
    return x;
}

static void size_resident(gpu_plan *p, const gpu_plan_in *in)
{
    p->resident_bytes = 0;
    for (int s = 0; s < G16_N_SECTIONS; s++) {
        p->section_bytes[s] = p->n[s] * (s == G16_B_G2 ? sizeof(g2_aff) : sizeof(g1_aff));
        p->resident_bytes += p->section_bytes[s];
    }
    p->image_bytes = in->image_bytes;
    p->index_bytes = gpu_plan_index(p).bytes;
    p->resident_bytes += p->image_bytes + p->index_bytes;
    p->ntt_lg = p->lg_m + (p->is_evaluation ? 0 : 1);
    p->ntt_bytes = gpu_ntt_table_bytes(p->ntt_lg);
    p->setup_bytes = in->development ? gpu_setup_scratch_bytes(in->shape, in->is_evaluation) : 0;
}

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

/* Where the witnesses of n_slots proofs lie; returns where the phases begin. */
static size_t place_slots(gpu_plan *p, unsigned n_slots)
{
    size_t at = 0;
    p->n_slots = n_slots;
    for (int q = 0; q < N_QUERIES; q++) {
        p->mask_bytes[q] = words_of(q == QUERY_L   ? p->n_aux
                                    : q == QUERY_A ? p->n[G16_A]
                                                   : p->n[G16_B_G1]) *
                           8;
        p->mask_at[q] = at;
        at += gpu_align(n_slots * p->mask_bytes[q] + 8); /* one spare word for the writer */
    }
    p->value_bytes = gpu_align((p->n_dense + p->n_inputs) * sizeof(fr));
    p->values_at = at;
    return at + n_slots * p->value_bytes;
}

static uint64_t most_tail(const gpu_plan *p)
{
    uint64_t n = 0;
    for (int q = 0; q < N_QUERIES; q++)
        n = p->n_tail[q] > n ? p->n_tail[q] : n;
    return n;
}

static unsigned tail_batch(uint64_t n_tail, unsigned n_slots)
{
    uint64_t k = n_tail ? TAIL_CALL_MAX / n_tail : n_slots;
    return k < 1 ? 1 : k > n_slots ? n_slots : (unsigned)k;
}

/* The least workspace that the sums of a batch can do with, or what makes them fastest. */
static size_t sums_workspace(const gpu_plan *p, size_t max_bytes)
{
    static const struct {
        g16_section sec;
        g16_query_id q;
        gpu_msm_group g;
    } rows[] = {{G16_L, QUERY_L, GPU_MSM_G1},
                {G16_A, QUERY_A, GPU_MSM_G1},
                {G16_B_G1, QUERY_B, GPU_MSM_G1},
                {G16_B_G2, QUERY_B, GPU_MSM_G2}};
    size_t ws = 256;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t n = p->n_masked[rows[i].q], n_tail = p->n_tail[rows[i].q];
        size_t sums = n > 0 ? gpu_msm_sums_workspace_bytes(rows[i].g, n, p->n_slots) : 256;
        size_t tail =
            n_tail ? gpu_msm_workspace_bytes(rows[i].g, n_tail, p->tail_batch[rows[i].q], max_bytes)
                   : 256;
        if (sums == 0 || sums > max_bytes || tail == 0)
            return 0;
        ws = max_size(ws, max_size(sums, tail));
    }
    return gpu_align(ws);
}

/* Lay the work area out for n_slots proofs within work_max; false when it cannot be. */
static bool place_work(gpu_plan *p, unsigned n_slots, uint64_t work_max)
{
    size_t at = place_slots(p, n_slots), poly = p->m * sizeof(fr), n_scalars = 0;
    for (int q = 0; q < N_QUERIES; q++) {
        p->tail_batch[q] = tail_batch(p->n_tail[q], n_slots);
        n_scalars = max_size(n_scalars, p->tail_batch[q] * p->n_tail[q]);
    }
    p->scalars_at = p->a_at = at;
    p->sum_ws_at = at + gpu_align(n_scalars * sizeof(fr_int));
    p->b_at = gpu_align(at + poly);
    p->c_at = gpu_align(p->b_at + poly);
    size_t least = max_size(p->c_at + gpu_align(poly), p->setup_bytes);
    if (least > work_max || p->sum_ws_at >= work_max || p->b_at >= work_max)
        return false;
    uint64_t h_max = work_max - p->b_at;
    p->h_ws_bytes =
        gpu_msm_workspace_bytes(GPU_MSM_G1, p->n[G16_H], 1, h_max < H_WS_MAX ? h_max : H_WS_MAX);
    /* First within what h takes anyway. */
    size_t h_end = max_size(least, p->b_at + gpu_align(p->h_ws_bytes));
    p->sum_ws_bytes = h_end > p->sum_ws_at ? sums_workspace(p, h_end - p->sum_ws_at) : 0;
    if (p->sum_ws_bytes == 0)
        p->sum_ws_bytes = sums_workspace(p, work_max - p->sum_ws_at);
    if ((p->h_ws_bytes == 0 && p->n[G16_H] > 0) || p->sum_ws_bytes == 0)
        return false;
    p->work_bytes = max_size(h_end, p->sum_ws_at + p->sum_ws_bytes);
    return p->work_bytes <= work_max;
}

static unsigned slots_that_pay(const gpu_plan *p, unsigned asked)
{
    uint64_t per_slot = (p->n_dense + p->n_inputs + most_tail(p)) * sizeof(fr) + 3 * p->n_aux / 8;
    uint64_t k = per_slot ? SLOTS_MAX_BYTES / per_slot : GPU_MSM_MASKS_MAX;
    k = k > GPU_MSM_MASKS_MAX ? GPU_MSM_MASKS_MAX : k;
    k = asked && k > asked ? asked : k;
    return k < 1 ? 1 : (unsigned)k;
}

/* All that the backend would then hold. */
static uint64_t total_need(const gpu_plan *p, const gpu_plan_room *room)
{
    uint64_t ntt = max_size(room->ntt_bytes, p->ntt_bytes);
    uint64_t work = max_size(room->work_bytes, p->work_bytes);
    uint64_t urgent = p->work_bytes <= GPU_URGENT_MAX ? max_size(room->urgent_bytes, p->work_bytes)
                                                      : room->urgent_bytes;
    return room->resident_bytes + p->resident_bytes + ntt + work + urgent;
}

static cuzk_status does_not_fit(gpu_plan *p, const gpu_plan_in *in, const gpu_plan_room *room)
{
    /* What it would take at the least, were there no limit. */
    if (!place_work(p, 1, (uint64_t)1 << 50))
        return cuzk_fail(CUZK_E_DEVICE, "circuit %s: the device does not say what its sums need",
                         r1cs_shape_name(in->shape));
    return cuzk_fail(CUZK_E_NOMEM,
                     "circuit %.60s: needed %llu bytes of device memory (key %llu), free %llu, "
                     "total %llu, allowed %llu",
                     r1cs_shape_name(in->shape), (unsigned long long)total_need(p, room),
                     (unsigned long long)p->resident_bytes, (unsigned long long)room->free_bytes,
                     (unsigned long long)room->total_bytes, (unsigned long long)room->limit_bytes);
}

/* Circuits are refused by the bound before they come here. */
static bool is_within_bound(const gpu_plan *p, const gpu_plan_room *room)
{
    g16_key_info k = {.n_ic = (uint32_t)p->n_inputs};
    uint64_t need, available;
    for (int s = 0; s < G16_N_SECTIONS; s++)
        k.n[s] = (uint32_t)p->n[s];
    k.n[G16_H] = (uint32_t)(p->m - 1); /* as the key file has it */
    k.n[G16_L] = (uint32_t)p->n_aux;
    gpu_plan_bound(&need, &available, &k, &(gpu_device_info){0}, 0);
    return need <= total_need(p, room);
}

cuzk_status gpu_plan_make(gpu_plan *p, const gpu_plan_in *in, const gpu_plan_room *room)
{
    fill_counts(p, in);
    if (p->lg_m >= GPU_NTT_TABLE_LG_MAX)
        return cuzk_fail(CUZK_E_UNSUPPORTED, "circuit %s: domain 2^%u, at most 2^%u",
                         r1cs_shape_name(in->shape), p->lg_m, GPU_NTT_TABLE_LG_MAX - 1);
    size_resident(p, in);
    uint64_t fixed = room->resident_bytes + p->resident_bytes + room->urgent_bytes +
                     max_size(room->ntt_bytes, p->ntt_bytes);
    uint64_t work_max = room->limit_bytes > fixed ? room->limit_bytes - fixed : 0;
    for (unsigned k = slots_that_pay(p, in->n_slots_max); k >= 1; k--)
        if (place_work(p, k, work_max) && total_need(p, room) <= room->limit_bytes) {
            CUZK_VERIFY(is_within_bound(p, room));
            return cuzk_ok();
        }
    return does_not_fit(p, in, room);
}

void gpu_plan_print(char *buf, size_t len, const gpu_plan *p)
{
    const struct {
        const char *name;
        size_t bytes;
    } rows[] = {
        {"key h", p->section_bytes[G16_H]},
        {"key l", p->section_bytes[G16_L]},
        {"key a", p->section_bytes[G16_A]},
        {"key b_g1", p->section_bytes[G16_B_G1]},
        {"key b_g2", p->section_bytes[G16_B_G2]},
        {"circuit", p->image_bytes},
        {"query index", p->index_bytes},
        {"resident", p->resident_bytes},
        {"transform table (shared)", p->ntt_bytes},
        {"work area (shared)", p->work_bytes},
        {"  witnesses of a batch", p->scalars_at},
        {"  workspace of sums", p->sum_ws_bytes},
        {"  workspace of h", p->h_ws_bytes},
        {"  scratch of key making", p->setup_bytes},
    };
    size_t at = 0;
    buf[0] = 0;
    for (size_t i = 0; i < ARRAY_LEN(rows) && at < len; i++) {
        int k = snprintf(buf + at, len - at, "%-26s %12.1f MiB\n", rows[i].name,
                         (double)rows[i].bytes / 1048576.0);
        at += k > 0 ? (size_t)k : 0;
    }
    if (at < len)
        snprintf(buf + at, len - at, "%-26s %12u\n%-26s %12s form\n", "proofs per batch",
                 p->n_slots, "key in", p->is_evaluation ? "evaluation" : "plain");
}
