/* PEM files: certificates and keys. */
#ifndef RPC_PEM_H
#define RPC_PEM_H
#include "base/status.h"
#include <time.h>

#define PEM_CERTIFICATE "CERTIFICATE"
#define PEM_KEY "PRIVATE KEY"

/* Whole file as text (mem_free); *changed (may be NULL) is its time of change. One of its blocks has
 * the label, and what is in each has the frame of ASN.1: gRPC's library does not say which file it
 * cannot read. Errors: CUZK_E_INPUT names the option and the path, CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status pem_read(char **out, struct timespec *changed, const char *option,
                                     const char *path, const char *label);
#endif
