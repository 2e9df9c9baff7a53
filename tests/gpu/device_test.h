/* What the device tests share. A test without a device ends with GPU_TEST_SKIPPED, which ctest counts
 * as skipped. */
#ifndef DEVICE_TEST_H
#define DEVICE_TEST_H
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#define GPU_TEST_SKIPPED 77

static inline bool gpu_test_has_device(void)
{
    int n = 0;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e == cudaSuccess && n > 0)
        return true;
    fprintf(stderr, "skipped: no CUDA device (%s)\n", cudaGetErrorString(e));
    return false;
}

static inline uint64_t gpu_test_u64(uint64_t *s) /* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline size_t gpu_test_bit_reverse(size_t k, uint32_t lg_n)
{
    size_t o = 0;
    for (uint32_t b = 0; b < lg_n; b++)
        o |= (k >> b & 1) << (lg_n - 1 - b);
    return o;
}
#define CUDA_OK(call) assert_int_equal(call, cudaSuccess)
#endif
