/* Reading digits of recoded scalars (k_recode): word k of scalar i at planes[k n + i]. */
#ifndef GPU_MSM_DIGIT_CUH
#define GPU_MSM_DIGIT_CUH
#include "gpu/gpu_msm_int.h"

#define GPU_MSM_WORDS 8u

static __device__ __forceinline__ bool gpu_msm_load_sign(const uint32_t *planes, uint32_t n,
                                                         uint32_t i)
{
    return planes[(size_t)(GPU_MSM_WORDS - 1) * n + i] >> 31;
}

/* Of window w. */
static __device__ __forceinline__ int32_t gpu_msm_load_digit(const uint32_t *planes, uint32_t n,
                                                             uint32_t i, uint32_t w,
                                                             uint32_t n_windows)
{
    const uint32_t bit = gpu_msm_window_start(w, n_windows), k = bit / 32;
    const uint32_t width = gpu_msm_window_start(w + 1, n_windows) - bit;
    const uint32_t lo = planes[(size_t)k * n + i];
    const uint32_t hi = bit % 32 + width > 32 ? planes[(size_t)(k + 1) * n + i] : 0;
    return gpu_msm_digit(lo, hi, bit, width);
}
#endif
