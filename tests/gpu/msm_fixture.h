/* What the MSM's device tests and bench share: the two groups behind one table, bases with known
 * logarithms, scalars, expected sums. */
#ifndef MSM_FIXTURE_H
#define MSM_FIXTURE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
/* In device memory, as g1_aff (g2_aff): point i of the first n, plus *step (a record on the host),
 * to n + i. */
void fixture_extend(bool g2, void *d_points, size_t n, const void *step);
#ifdef __cplusplus
}
#else
#include "base/run_ctx.h"
#include "gpu/gpu_msm.h"
#include <cuda_runtime_api.h>

/* A point of either group, as the functions below take it by address. */
typedef union fixture_point {
    g1_jac g1;
    g2_jac g2;
} fixture_point;

typedef struct fixture_group {
    const char *name;
    gpu_msm_group id;
    size_t aff_bytes, jac_bytes;
    cuzk_status (*prepare)(void *d_bases, size_t first_index, size_t n, const gpu_run *run);
    /* the device's, and the CPU's */
    cuzk_status (*msm)(void *out, const void *d_bases, const void *d_k, size_t n,
                       const gpu_msm_ws *ws);
    cuzk_status (*tails)(void *out, const void *d_bases, const gpu_msm_tails *t,
                         const gpu_msm_ws *ws);
    cuzk_status (*sums)(void *out, const void *d_bases, const uint64_t *d_masks, size_t n,
                        unsigned n_masks, const gpu_msm_ws *ws);
    cuzk_status (*cpu_msm)(void *out, const void *bases, const fr_int *k, size_t n,
                           const run_ctx *rc);
    cuzk_status (*cpu_sum)(void *out, const void *bases, const uint64_t *mask, size_t n,
                           const run_ctx *rc);
    bool (*eq)(const void *a, const void *b);
    void (*neg)(void *aff);
    bool (*on_curve)(const void *aff);
} fixture_group;
extern const fixture_group FIXTURE_GROUPS[GPU_MSM_N_GROUPS];

/* End the program unless ok. */
void fixture_need(bool ok, const char *what);
void fixture_need_ok(cuzk_status st);
#define FIXTURE_NEED(call) fixture_need((call) == cudaSuccess, #call)
/* Copies and fills that are done when they return: the plain ones may still be under way, and the
 * tests' streams do not wait for them. */
void fixture_put(void *d, const void *h, size_t bytes);
void fixture_fill(void *d, int byte, size_t bytes);
void fixture_seed(uint64_t seed);
uint64_t fixture_rng(void);
void fixture_scalar(fr_int *k); /* random, below r */
/* A stream of its own, no slices, no spans. */
void fixture_run(gpu_run *run);
/* (i + 1) G for i < 2^lg_n, as g1_aff (g2_aff) in device memory. */
void fixture_multiples(const fixture_group *g, void *d_bases, unsigned lg_n);
/* *want = (sum of k_i (j + 1)) G, i < n, j = idx[i], or i when idx is NULL. */
void fixture_expect(const fixture_group *g, void *want, const fr_int *k, const uint32_t *idx,
                    size_t n);
#endif
#endif
