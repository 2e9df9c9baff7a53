/* Sizes and durations as people write them. */
#ifndef DAEMON_UNITS_H
#define DAEMON_UNITS_H
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

/* "512", "256 MiB", "1.5GiB", "64GB", "1TiB": a decimal number and B, KB, MB, GB, TB (powers of
 * 1000) or KiB, MiB, GiB, TiB (powers of 1024); no unit means bytes. Nothing is guessed. Errors:
 * CUZK_E_INPUT naming field. */
CUZK_MUST_CHECK cuzk_status parse_size(uint64_t *out_bytes, const char *field, const char *text);
/* "90", "90s", "500ms", "5m", "1.5h", "7d"; no unit means seconds. */
CUZK_MUST_CHECK cuzk_status parse_duration_ms(uint64_t *out_ms, const char *field,
                                              const char *text);
#endif
