/* Field kernels with BMI2 and ADX; run only where ff_use_adx() is true. */
#define CUZK_ISA_ADX 1
#define FF_KERNELS_TABLE ff_kernels_adx
#define FF_KERNELS_NAME "adx"
#include "ff/ff_kernels_template.h"
