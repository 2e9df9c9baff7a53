/* Multi-scalar multiplication on G1. */
#include "ec/g1.h"
#define GT(t) g1_##t
#define MT(f) msm_g1##f
#define GENERATOR G1_GENERATOR
#define FIXED_CREATE(t, base, n, rc) msm_fixed_create(t, base, NULL, n, rc)
#define FIXED_MUL msm_fixed_mul_g1
#define FIXED_ONCE msm_fixed_g1
#include "msm_cases.h"
