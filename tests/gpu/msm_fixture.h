/* What the MSM's device test and bench share: bases with known logarithms, scalars, expected
 * sums. */
#ifndef MSM_FIXTURE_H
#define MSM_FIXTURE_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
/* In device memory, as g1_aff: point i of the first n, plus *step (96 bytes on the host), to n +
 * i. */
void fixture_extend(void *d_points, size_t n, const void *step);
#ifdef __cplusplus
}
#else
#include "ec/g1.h"
#include <cuda_runtime_api.h>
/* End the program unless ok. */
void fixture_need(bool ok, const char *what);
#define FIXTURE_NEED(call) fixture_need((call) == cudaSuccess, #call)
void fixture_seed(uint64_t seed);
uint64_t fixture_rng(void);
void fixture_scalar(fr_int *k); /* random, below r */
/* (i + 1) G for i < 2^lg_n, as g1_aff in device memory. */
void fixture_multiples(void *d_bases, unsigned lg_n);
/* *want = (sum of k_i (i + 1)) G. */
void fixture_expect(g1_jac *want, const fr_int *k, size_t n);
#endif
#endif
