/* Called only where ff_use_adx() is true. */
#if defined(__x86_64__)
#define CUZK_ISA_ADX 1
#define NTT_TABLE NTT_KERNELS_ADX
#include "poly/ntt_kernel_tmpl.h"
#endif
