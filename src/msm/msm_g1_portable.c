/* G1 kernels with the portable field code. */
#include "ec/g1_inline.h"
#define MSM_T(t) g1_##t
#define MSM_FE fp
#define MSM_FE_ONE FP_ONE
#define MSM_FE_INV fp_inv
#define MSM_FN(f) fpi_##f
#define MSM_CN(f) g1i_##f
#define MSM_LOW(e) ((e).l[0])
#define MSM_PIECE 4096
#define MSM_FIELD_BYTES sizeof(MSM_FE)
#define MSM_TABLE MSM_GROUP_G1_PORTABLE
#include "msm/msm_batch_tmpl.h"
#include "msm/msm_group_tmpl.h"
