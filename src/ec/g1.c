/* G1: the out-of-line functions. */
#include "ec/g1.h"
#include "ec/ec_consts.h"
#include "ec/ec_ops.h"

const g1_aff G1_GENERATOR = {EC_G1_GEN_X, EC_G1_GEN_Y};

#define EC_F fp
#define EC_F_ONE FP_ONE
#define EC_FN(f) fp_##f
#define EC_T(t) g1_##t
#define EC_C(f) g1_##f
#define EC_OPS g1
#include "ec/curve_outline.h"
