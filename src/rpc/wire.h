/* Small messages to and from the wire. Big ones: request.h. */
#ifndef RPC_WIRE_H
#define RPC_WIRE_H
#include "engine/job.h"
#include "rpc/transport.h"
#include <cuzk/v1/proving.pb-c.h>

#define WIRE_SMALL_MAX_BYTES 65536u

/* Parse the whole body; strings are checked for UTF-8. NULL: the call was failed with the reason.
 * Memory: gives; wire_free. */
void *wire_parse(rpc_call *c, rpc_body *b, const ProtobufCMessageDescriptor *desc);
void wire_free(void *message);
/* Why bytes are no message of this type, or OK. On OK gives *out. */
CUZK_MUST_CHECK cuzk_status wire_unpack(void **out, const ProtobufCMessageDescriptor *desc,
                                        const uint8_t *bytes, size_t len);
/* All that is left of a body, in one block (mem_free) of at most max_bytes. Errors: CUZK_E_INPUT,
 * CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status wire_gather(uint8_t **out, size_t *len, rpc_body *b, size_t max_bytes);
void wire_reply(rpc_call *c, const void *message);
bool wire_send(rpc_call *c, const void *message);

/* Texts in *v are made valid UTF-8 in place and borrowed by *out. */
void wire_job_info(Cuzk__V1__JobInfo *out, job_view *v);
void wire_job_view(job_view *out, const Cuzk__V1__JobInfo *in);
Cuzk__V1__ProofKind wire_kind(proof_kind k);
/* False: none of the four. */
bool wire_kind_back(proof_kind *out, uint64_t wire);
Cuzk__V1__Priority wire_priority(job_priority p);
/* As existing clients mean it: unspecified goes by kind, unknown is normal. */
job_priority wire_priority_back(uint64_t wire, proof_kind kind);
Cuzk__V1__JobState wire_state(job_state s);
/* -1: unspecified or unknown. */
int wire_state_back(uint64_t wire);
#endif
