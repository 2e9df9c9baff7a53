/* Encoder of proof requests: one walk over the fields, which counts when there is nowhere to
 * write. */
#include "rpc/request.h"
#include "rpc/wire.h"
#include <string.h>

typedef struct sink {
    uint8_t *p; /* NULL: count only */
    size_t n;
} sink;

static void put_varint(sink *s, uint64_t v)
{
    do {
        uint8_t b = (uint8_t)(v & 0x7f);
        v >>= 7;
        if (s->p)
            s->p[s->n] = b | (v ? 0x80 : 0);
        s->n++;
    } while (v);
}

static void put_number(sink *s, uint32_t field, uint64_t v)
{
    if (v == 0)
        return;
    put_varint(s, (uint64_t)field << 3);
    put_varint(s, v);
}

static void put_element(sink *s, uint32_t field, job_bytes b)
{
    put_varint(s, (uint64_t)field << 3 | 2u);
    put_varint(s, b.len);
    if (s->p && b.len)
        memcpy(s->p + s->n, b.p, b.len);
    s->n += b.len;
}

static void put_bytes(sink *s, uint32_t field, job_bytes b)
{
    if (b.len)
        put_element(s, field, b);
}

static void put_submit(sink *s, const job_request *r)
{
    put_bytes(s, 1, (job_bytes){(const uint8_t *)r->request_id, strlen(r->request_id)});
    put_number(s, 2, (uint64_t)wire_kind(r->kind));
    put_number(s, 3, r->sector_size);
    put_number(s, 4, r->registered_proof);
    put_number(s, 5, (uint64_t)wire_priority(r->priority));
    put_bytes(s, 10, r->vanilla_proof);
    for (size_t i = 0; i < r->n_vanilla_proofs; i++)
        put_element(s, 11, r->vanilla_proofs[i]);
    put_number(s, 20, r->sector_number);
    put_number(s, 21, r->miner_id);
    put_bytes(s, 22, r->randomness);
    put_number(s, 23, r->partition_index);
    put_bytes(s, 30, r->comm_r_old);
    put_bytes(s, 31, r->comm_r_new);
    put_bytes(s, 32, r->comm_d_new);
    put_number(s, 50, r->deadline_unix_ms);
}

static size_t put_message(uint8_t *out, const job_request *r, bool wrapped)
{
    sink s = {.p = NULL};
    put_submit(&s, r);
    size_t inner = s.n;
    s = (sink){.p = out};
    if (wrapped) {
        put_varint(&s, 1u << 3 | 2u);
        put_varint(&s, inner);
    }
    if (out)
        put_submit(&s, r);
    else
        s.n += inner;
    return s.n;
}

size_t request_encoded_bytes(const job_request *r, bool wrapped)
{
    return put_message(NULL, r, wrapped);
}

void request_encode(uint8_t *out, const job_request *r, bool wrapped)
{
    (void)put_message(out, r, wrapped);
}
