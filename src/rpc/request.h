/* SubmitProofRequest and ProveRequest (proto/cuzk/v1/proving.proto) by hand: up to 256 MiB, of which
 * nothing is copied once the message lies in one block. */
#ifndef RPC_REQUEST_H
#define RPC_REQUEST_H
#include "engine/job.h"

#define REQUEST_MAX_PROOFS 65536u

/* Parse bytes [0, len) of buf, which the request's views point into. wrapped: a ProveRequest, else
 * a SubmitProofRequest. Unknown fields are skipped, fields that come twice are merged, as protobuf
 * defines it.
 * Memory: takes buf (mem_alloc) in every case; gives *out (job_request_fini), {0} on failure.
 * Errors: CUZK_E_INPUT names the field, or the offset where bytes are no message; CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status request_decode(job_request *out, uint8_t *buf, size_t len,
                                           bool wrapped);
/* Bytes that count as the request's: what the engine takes over of a reservation. */
uint64_t request_payload_bytes(const job_request *r);

/* The message of a request, for clients: its size, then its bytes. */
size_t request_encoded_bytes(const job_request *r, bool wrapped);
void request_encode(uint8_t *out, const job_request *r, bool wrapped);
#endif
