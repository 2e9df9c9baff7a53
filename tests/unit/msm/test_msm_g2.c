/* Multi-scalar multiplication on G2. */
#include "ec/g2.h"
#define GT(t) g2_##t
#define MT(f) msm_g2##f
#define GENERATOR G2_GENERATOR
#define FIXED_CREATE(t, base, n, rc) msm_fixed_create(t, NULL, base, n, rc)
#define FIXED_MUL msm_fixed_mul_g2
#define FIXED_ONCE msm_fixed_g2
#include "msm_cases.h"
