/* Choice of the point code that matches the field code in use. */
#include "ec/ec_ops.h"

const ec_ops *ec_ops_active(void) { return ff_use_adx() ? &EC_OPS_ADX : &EC_OPS_PORTABLE; }
