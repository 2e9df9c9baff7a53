/* What gpu_msm_points.cu finds wrong with a point: the low byte of a status, above which lies the
 * point's number. */
#ifndef GPU_MSM_POINTS_INT_H
#define GPU_MSM_POINTS_INT_H
#include "gpu/gpu_msm_points.h"

enum {
    GPU_POINTS_COMPRESSED = 1,
    GPU_POINTS_SIGN,
    GPU_POINTS_INFINITY,
    GPU_POINTS_X,
    GPU_POINTS_Y,
    GPU_POINTS_EQUATION,
    GPU_POINTS_ORDER,
    GPU_POINTS_N_FAULTS
};
#endif
