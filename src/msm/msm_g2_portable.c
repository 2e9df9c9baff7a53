/* G2 kernels with the portable field code. */
#include "ec/g2_inline.h"
#define MSM_T(t) g2_##t
#define MSM_FE fp2
#define MSM_FE_ONE FP2_ONE
#define MSM_FE_INV fp2_inv
#define MSM_FN(f) fp2i_##f
#define MSM_CN(f) g2i_##f
#define MSM_LOW(e) ((e).c0.l[0])
#define MSM_PIECE 2048
#define MSM_FIELD_BYTES sizeof(MSM_FE)
#define MSM_TABLE MSM_GROUP_G2_PORTABLE
#include "msm/msm_batch_tmpl.h"
#include "msm/msm_group_tmpl.h"
