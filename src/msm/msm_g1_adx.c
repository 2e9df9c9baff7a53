/* G1 kernels with the ADX and AVX2 field code; called only where the CPU has both. */
#if defined(__x86_64__)
#define CUZK_ISA_ADX 1
#include "ec/g1_inline.h"
#define MSM_T(t) g1_##t
#define MSM_CN(f) g1i_##f
#define MSM_PIECE 4096
#define MSM_FIELD_BYTES (sizeof(fp_x4) / 4)
#define MSM_TABLE MSM_GROUP_G1_ADX
#include "msm/msm_batch_x4.h"
#include "msm/msm_group_tmpl.h"
#endif
