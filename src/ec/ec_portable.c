/* Point formulas on the portable field code. */
#define EC_OPS_TABLE EC_OPS_PORTABLE
#include "ec/ec_ops_body.h"
