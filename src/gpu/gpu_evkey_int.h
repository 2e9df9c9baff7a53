/* Private to the making of evaluation-form keys on a device. */
#ifndef GPU_EVKEY_INT_H
#define GPU_EVKEY_INT_H
#include "gpu/gpu_evkey.h"
#include "gpu/gpu_evkey_list.h"
#include "gpu/gpu_mem_feed.h"
#include "gpu/gpu_span.h"
#include "groth16/evkey_out.h"

/* Parts of the device's memory: offsets. */
typedef struct gpu_ev_plan {
    gpu_ev_limits max;
    gpu_ev_bases bases;
    gpu_tree_size tree;
    size_t at_bases, at_theta_u, at_rows, at_stage, at_coeffs, at_items, at_status, at_work,
        at_tree;
    size_t work_bytes, tree_bytes, bytes;
} gpu_ev_plan;
/* max NULL: what is best for a large circuit. Errors: CUZK_E_UNSUPPORTED (domain), CUZK_E_DEVICE. */
CUZK_MUST_CHECK cuzk_status gpu_ev_plan_make(gpu_ev_plan *p, const r1cs_shape *s,
                                             const gpu_ev_limits *max);

/* A bit of each domain point, in words. */
static inline size_t gpu_ev_rows_bytes(uint32_t lg_m)
{
    return lg_m > 6 ? (size_t)1 << (lg_m - 3) : 8;
}

/* A making under way. */
typedef struct gpu_ev_job {
    const g16_key *key;
    const r1cs_shape *shape;
    const r1cs_counts *c;
    const run_ctx *rc;
    gpu_ev_plan plan;
    gpu_block mem, pin;
    gpu_feed feed;
    gpu_lane *lane;
    const gpu_run *run;
    int ordinal;
    uint64_t n_done, n_total; /* products, and variables folded */
    g16_evkey_out out;
} gpu_ev_job;

static inline void *gpu_ev_at(const gpu_ev_job *j, size_t offset)
{
    return (uint8_t *)j->mem.p + offset;
}
void gpu_ev_advance(gpu_ev_job *j, uint64_t n); /* and tell */
/* What products are made with. */
gpu_g1_work gpu_ev_work(gpu_ev_job *j);
/* Points [first, first + n) of a G1 section to base number `base` on. Errors: the words of g16_key_g1
 * for a bad point. Blocks. */
typedef struct gpu_ev_points {
    g16_section section;
    uint64_t first, n, base;
    bool prepared;
} gpu_ev_points;
CUZK_MUST_CHECK cuzk_status gpu_ev_load(gpu_ev_job *j, const gpu_ev_points *p);
/* n g1_aff records of the stage to the file. Blocks. */
CUZK_MUST_CHECK cuzk_status gpu_ev_emit(gpu_ev_job *j, uint64_t n);
/* Section H' to the file; then D and G of groth16/evkey.h lie at the bases' places, in bit-reversed
 * order. Blocks. */
CUZK_MUST_CHECK cuzk_status gpu_ev_map(gpu_ev_job *j);
/* Sections l, from D and G. Blocks. */
CUZK_MUST_CHECK cuzk_status gpu_ev_fold(gpu_ev_job *j);

/* gpu_evkey_file with other limits (tests). */
CUZK_MUST_CHECK cuzk_status gpu_evkey_file_within(const char *device, const char *path,
                                                  const g16_key *k, const r1cs_shape *s,
                                                  const gpu_ev_limits *max, const run_ctx *rc);
#endif
