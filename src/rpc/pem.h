/* PEM files: certificates and keys. */
#ifndef RPC_PEM_H
#define RPC_PEM_H
#include "base/status.h"
#include <time.h>

/* Whole file as text (mem_free); *changed (may be NULL) is its time of change. Errors: CUZK_E_INPUT
 * names the option and the path. */
CUZK_MUST_CHECK cuzk_status pem_read(char **out, struct timespec *changed, const char *option,
                                     const char *path);
#endif
