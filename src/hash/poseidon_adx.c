/* Poseidon with MULX/ADCX/ADOX field code; runs only where ff_use_adx(). Elsewhere than x86-64 this
 * is the portable form again, and is not called. */
#define CUZK_ISA_ADX 1
#define POSEIDON_FN(name) name##_adx
#include "hash/poseidon_template.h"
