/* Field kernels in plain C. */
#define FF_KERNELS_TABLE ff_kernels_portable
#define FF_KERNELS_NAME "portable"
#include "ff/ff_kernels_template.h"
