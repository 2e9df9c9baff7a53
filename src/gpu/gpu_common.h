/* What every file of src/gpu shares: the host/device marker and driver-error checks.
 * Compiles as C17 (host twins and their unit tests) and as CUDA C++. */
#ifndef GPU_COMMON_H
#define GPU_COMMON_H
#include <stdint.h>

#if defined(__CUDACC__)
#define CUZK_HD __host__ __device__ __forceinline__
#define GPU_UNROLL _Pragma("unroll")
#else
#define CUZK_HD static inline __attribute__((always_inline))
#define GPU_UNROLL
#endif
#if defined(__CUDA_ARCH__)
#define GPU_DEVICE_CODE 1
#else
#define GPU_DEVICE_CODE 0
#endif

/* GPU_CONST_TABLE(type, NAME, n, words...) defines a table that both sides read as GPU_CONST(NAME).
 * On the device it lies in the constant bank and is not const: the compiler would put the words in
 * as literals, and ptxas splits wide products by literals such as 0xffffffff in two. nvcc's host
 * code may not read that, so it has a copy. */
#if defined(__CUDACC__)
#define GPU_CONST_TABLE(type, name, n, ...)                      \
    static __device__ __constant__ type name[n] = {__VA_ARGS__}; \
    static const type name##_HOST[n] = {__VA_ARGS__}
#if GPU_DEVICE_CODE
#define GPU_CONST(name) name
#else
#define GPU_CONST(name) name##_HOST
#endif
#else
#define GPU_CONST_TABLE(type, name, n, ...) static const type name[n] = {__VA_ARGS__}
#define GPU_CONST(name) name
#endif

#if defined(__CUDACC__)
#include <assert.h>
#include <stddef.h>
extern "C" {
#include "base/status.h"
}
#include <cuda_runtime.h>

/* Errors: CUZK_E_NOMEM for a failed allocation, CUZK_E_DEVICE_LOST for faults that end the context
 * ("sticky" ones: CUDA runtime API, error handling), CUZK_E_DEVICE for the rest. */
static inline cuzk_status gpu_fail(cudaError_t e, const char *call)
{
    int dev = -1;
    cuzk_code code = CUZK_E_DEVICE;
    if (e == cudaErrorMemoryAllocation)
        code = CUZK_E_NOMEM;
    else if (e == cudaErrorIllegalAddress || e == cudaErrorLaunchFailure ||
             e == cudaErrorIllegalInstruction || e == cudaErrorMisalignedAddress ||
             e == cudaErrorInvalidAddressSpace || e == cudaErrorInvalidPc ||
             e == cudaErrorHardwareStackError || e == cudaErrorECCUncorrectable ||
             e == cudaErrorAssert || e == cudaErrorLaunchTimeout)
        code = CUZK_E_DEVICE_LOST;
    (void)cudaGetLastError(); /* not to be reported again by the next launch */
    (void)cudaGetDevice(&dev);
    return cuzk_fail(code, "device %d: %s: %s", dev, call, cudaGetErrorString(e));
}

/* Return early from a function that owns nothing. */
#define GPU_TRY(call)                           \
    do {                                        \
        cudaError_t gpu_try_e_ = (call);        \
        if (gpu_try_e_ != cudaSuccess)          \
            return gpu_fail(gpu_try_e_, #call); \
    } while (0)

/* Right after a launch: bad configurations show here, faults of the kernel at the next wait. */
static inline cuzk_status gpu_check_launch(const char *kernel)
{
    cudaError_t e = cudaGetLastError();
    return e == cudaSuccess ? cuzk_ok() : gpu_fail(e, kernel);
}
#endif
#endif
