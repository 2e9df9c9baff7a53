#define NTT_TABLE NTT_KERNELS_PORTABLE
#include "poly/ntt_kernel_tmpl.h"
