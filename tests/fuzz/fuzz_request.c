/* Proof requests from hostile bytes, delivered in hostile pieces: the gathered message is what was
 * sent, the decoder ends in a status, and what it accepts it reads as protobuf-c does.
 * Input: flags (1: bit 0 wrapped, rest sizes of pieces), the message. */
#include "base/mem.h"
#include "rpc/call_int.h"
#include "rpc/request.h"
#include "rpc/wire.h"
#include <grpc/byte_buffer.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* The message in slices whose sizes follow from the flags, empty ones among them. */
static grpc_byte_buffer *in_pieces(const uint8_t *p, size_t n, uint8_t flags)
{
    grpc_byte_buffer *bb = grpc_raw_byte_buffer_create(NULL, 0);
    uint32_t x = flags | 1u;
    for (size_t at = 0; at < n;) {
        x = x * 1103515245u + 12345u;
        size_t take = (x >> 16) % (1u + flags);
        take = take < n - at ? take : n - at;
        if (take == 0 && flags < 2)
            take = 1;
        grpc_slice_buffer_add_indexed(&bb->data.raw.slice_buffer,
                                      grpc_slice_from_copied_buffer((const char *)p + at, take));
        at += take;
    }
    return bb;
}

static void require_same(job_bytes a, ProtobufCBinaryData b)
{
    require(a.len == b.len && (a.len == 0 || memcmp(a.p, b.data, a.len) == 0));
}

static void compare(const job_request *r, const Cuzk__V1__SubmitProofRequest *m)
{
    require(strcmp(r->request_id, m->request_id) == 0);
    require(r->sector_size == m->sector_size && r->registered_proof == m->registered_proof);
    require(r->sector_number == m->sector_number && r->miner_id == m->miner_id);
    require(r->partition_index == m->partition_index);
    require_same(r->vanilla_proof, m->vanilla_proof);
    require_same(r->randomness, m->randomness);
    require_same(r->comm_r_old, m->comm_r_old);
    require_same(r->comm_r_new, m->comm_r_new);
    require_same(r->comm_d_new, m->comm_d_new);
    require(r->n_vanilla_proofs == m->n_vanilla_proofs);
    for (size_t i = 0; i < r->n_vanilla_proofs; i++)
        require_same(r->vanilla_proofs[i], m->vanilla_proofs[i]);
}

/* What was read, written again and read again, is the same request. */
static void round_trip(const job_request *r, bool wrapped)
{
    size_t n = request_encoded_bytes(r, wrapped);
    uint8_t *b = mem_alloc(n, 16), a_digest[32], b_digest[32];
    job_request again;
    require(b != NULL);
    request_encode(b, r, wrapped);
    require(request_decode(&again, b, n, wrapped).code == CUZK_OK);
    job_request_digest(a_digest, r);
    job_request_digest(b_digest, &again);
    require(memcmp(a_digest, b_digest, 32) == 0 && again.priority == r->priority);
    job_request_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    bool wrapped = data[0] & 1;
    const uint8_t *message = data + 1;
    size_t n = size - 1, len;
    uint8_t *bytes;
    job_request r;
    rpc_body body = {.bb = in_pieces(message, n, data[0] >> 1)};
    require(wire_gather(&bytes, &len, &body, SIZE_MAX).code == CUZK_OK);
    grpc_byte_buffer_destroy(body.bb);
    require(len == n && memcmp(bytes, message, n) == 0);
    if (request_decode(&r, bytes, len, wrapped).code != CUZK_OK)
        return 0;
    if (!wrapped) {
        Cuzk__V1__SubmitProofRequest *m = cuzk__v1__submit_proof_request__unpack(NULL, n, message);
        if (m) {
            compare(&r, m);
            cuzk__v1__submit_proof_request__free_unpacked(m, NULL);
        }
    }
    round_trip(&r, wrapped);
    job_request_fini(&r);
    return 0;
}
