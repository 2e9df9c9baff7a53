/* Randomness from the operating system. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H
#include "base/status.h"
#include <stddef.h>
/* Fill from getrandom(2). Errors: CUZK_E_IO. */
CUZK_MUST_CHECK cuzk_status random_bytes(void *out, size_t n);
#endif
