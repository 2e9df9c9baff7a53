/* G2 encodings. */
#include "ec_test.h"
#include "ec/g2.h"
#include "g2_table.h"
#define GT(t) g2_##t
#define COMP G2_COMPRESSED_BYTES
#define UNC G2_UNCOMPRESSED_BYTES
#define GENERATOR G2_GENERATOR
#include "codec_cases.h"
