/* G1 encodings. */
#include "ec_test.h"
#include "ec/g1.h"
#include "g1_table.h"
#define GT(t) g1_##t
#define COMP G1_COMPRESSED_BYTES
#define UNC G1_UNCOMPRESSED_BYTES
#define GENERATOR G1_GENERATOR
#include "codec_cases.h"
