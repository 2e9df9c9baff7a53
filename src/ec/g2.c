/* G2: the out-of-line functions. */
#include "ec/g2.h"
#include "ec/ec_consts.h"
#include "ec/ec_ops.h"

const g2_aff G2_GENERATOR = {{EC_G2_GEN_X_C0, EC_G2_GEN_X_C1}, {EC_G2_GEN_Y_C0, EC_G2_GEN_Y_C1}};

#define EC_F fp2
#define EC_F_ONE FP2_ONE
#define EC_FN(f) fp2_##f
#define EC_T(t) g2_##t
#define EC_C(f) g2_##f
#define EC_OPS g2
#include "ec/curve_outline.h"
