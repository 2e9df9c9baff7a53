/* G1 arithmetic. */
#include "ec_test.h"
#include "ec/g1_inline.h"
#include "g1_table.h"
#define GT(t) g1_##t
#define GI(f) g1i_##f
#define FT(f) fp_##f
#define F fp
#define F_ONE FP_ONE
#define UNC G1_UNCOMPRESSED_BYTES
#define GENERATOR G1_GENERATOR
#include "curve_cases.h"
