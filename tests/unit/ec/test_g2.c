/* G2 arithmetic. */
#include "ec_test.h"
#include "ec/g2_inline.h"
#include "g2_table.h"
#define GT(t) g2_##t
#define GI(f) g2i_##f
#define FT(f) fp2_##f
#define F fp2
#define F_ONE FP2_ONE
#define UNC G2_UNCOMPRESSED_BYTES
#define GENERATOR G2_GENERATOR
#include "curve_cases.h"
