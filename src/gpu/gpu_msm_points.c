/* What a decoding status says. */
#include "gpu/gpu_msm_points_int.h"

cuzk_status gpu_points_verdict(uint64_t status)
{
    static const char *const faults[GPU_POINTS_N_FAULTS] = {
        [GPU_POINTS_COMPRESSED] = "the compressed flag is set",
        [GPU_POINTS_SIGN] = "a sign flag in an uncompressed point",
        [GPU_POINTS_INFINITY] = "infinity, want another point",
        [GPU_POINTS_X] = "x is not below the field modulus",
        [GPU_POINTS_Y] = "y is not below the field modulus",
        [GPU_POINTS_EQUATION] = "not on the curve",
        [GPU_POINTS_ORDER] = "not in the subgroup of order r"};
    if (status == UINT64_MAX)
        return cuzk_ok();
    uint64_t fault = status & 0xff;
    if (fault == 0 || fault >= GPU_POINTS_N_FAULTS)
        return cuzk_fail(CUZK_E_INTERNAL, "point status %llx", (unsigned long long)status);
    return cuzk_fail(CUZK_E_INPUT, "point %llu: %s", (unsigned long long)(status >> 8),
                     faults[fault]);
}
