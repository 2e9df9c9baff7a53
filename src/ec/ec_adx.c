/* Point formulas on the MULX/ADX field code. */
#define CUZK_ISA_ADX 1
#define EC_OPS_TABLE EC_OPS_ADX
#include "ec/ec_ops_body.h"
