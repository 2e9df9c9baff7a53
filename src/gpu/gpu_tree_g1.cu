/* The tree's kernels for G1. */
extern "C" {
#include "base/status.h"
}
#include "gpu/gpu_tree_add.cuh"

extern const gpu_tree_ops GPU_TREE_OPS_G1 = GPU_TREE_OPS_OF(gpu_curve_g1);
