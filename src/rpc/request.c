/* Decoder of proof requests: one walk that counts the proofs of the list, one that takes all. */
#include "rpc/request.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "rpc/wire.h"
#include <stdio.h>
#include <string.h>

enum {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_GROUP = 3,
    WIRE_END = 4,
    WIRE_FIXED32 = 5
};
#define MAX_GROUPS 32u

/* What the views of a request stand on. */
typedef struct request_memory {
    uint8_t *buf;
    job_bytes *proofs;
} request_memory;

static void release(void *owned)
{
    request_memory *m = owned;
    mem_free(m->buf);
    mem_free(m->proofs);
    mem_free(m);
}

/* Reads fields of [p, end); base is only for offsets in messages. */
typedef struct cursor {
    const uint8_t *p, *end, *base;
} cursor;

typedef struct field {
    uint32_t number, type;
    uint64_t value;  /* varint, fixed */
    job_bytes bytes; /* WIRE_BYTES */
} field;

static cuzk_status malformed(const cursor *c, const char *what)
{
    return cuzk_fail(CUZK_E_INPUT, "request: expected a protobuf message, found %s at byte %zu",
                     what, (size_t)(c->p - c->base));
}

static cuzk_status get_varint(cursor *c, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (c->p == c->end)
            return malformed(c, "a cut number");
        uint8_t b = *c->p++;
        if (shift < 64)
            v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) {
            *out = v;
            return cuzk_ok();
        }
    }
    return malformed(c, "a number of more than ten bytes");
}

static cuzk_status get_fixed(cursor *c, uint64_t *out, size_t n)
{
    *out = 0;
    if ((size_t)(c->end - c->p) < n)
        return malformed(c, "a cut number");
    memcpy(out, c->p, n);
    c->p += n;
    return cuzk_ok();
}

static cuzk_status get_tag(cursor *c, field *f)
{
    uint64_t tag;
    CUZK_TRY(get_varint(c, &tag));
    if (tag > UINT32_MAX || tag >> 3 == 0)
        return malformed(c, "a wrong field number");
    f->number = (uint32_t)(tag >> 3);
    f->type = (uint32_t)(tag & 7);
    return cuzk_ok();
}

static cuzk_status get_value(cursor *c, field *f)
{
    switch (f->type) {
    case WIRE_VARINT:
        return get_varint(c, &f->value);
    case WIRE_FIXED64:
        return get_fixed(c, &f->value, 8);
    case WIRE_FIXED32:
        return get_fixed(c, &f->value, 4);
    case WIRE_BYTES:
        CUZK_TRY(get_varint(c, &f->value));
        if (f->value > (size_t)(c->end - c->p))
            return malformed(c, "a length that runs past the end");
        f->bytes = (job_bytes){c->p, (size_t)f->value};
        c->p += f->value;
        return cuzk_ok();
    default:
        return malformed(c, "an unknown kind of field");
    }
}

/* Past a group, an old form of nested message that only unknown fields can have. */
static cuzk_status skip_group(cursor *c, uint32_t number)
{
    uint32_t open[MAX_GROUPS], depth = 0;
    open[depth++] = number;
    while (depth) {
        field f;
        CUZK_TRY(get_tag(c, &f));
        if (f.type == WIRE_END) {
            if (f.number != open[--depth])
                return malformed(c, "the end of another group");
        } else if (f.type == WIRE_GROUP) {
            if (depth == MAX_GROUPS)
                return malformed(c, "groups nested too deep");
            open[depth++] = f.number;
        } else {
            CUZK_TRY(get_value(c, &f));
        }
    }
    return cuzk_ok();
}

/* The next field that is no group; *more = false at the end. */
static cuzk_status next_field(cursor *c, field *f, bool *more)
{
    for (*more = false; c->p != c->end;) {
        CUZK_TRY(get_tag(c, f));
        if (f->type != WIRE_GROUP) {
            *more = true;
            return get_value(c, f);
        }
        CUZK_TRY(skip_group(c, f->number));
    }
    return cuzk_ok();
}

/* ---- fields of SubmitProofRequest ---- */

enum {
    F_REQUEST_ID = 1,
    F_PROOF_KIND = 2,
    F_SECTOR_SIZE = 3,
    F_REGISTERED_PROOF = 4,
    F_PRIORITY = 5,
    F_VANILLA_PROOF = 10,
    F_VANILLA_PROOFS = 11,
    F_SECTOR_NUMBER = 20,
    F_MINER_ID = 21,
    F_RANDOMNESS = 22,
    F_PARTITION_INDEX = 23,
    F_COMM_R_OLD = 30,
    F_COMM_R_NEW = 31,
    F_COMM_D_NEW = 32,
    F_DEADLINE = 50
};

/* A request on its way: values that need a look at others wait. */
typedef struct draft {
    job_request *r;
    uint64_t kind, priority, partition;
    job_bytes request_id;
    job_bytes *proofs; /* NULL while counting */
    size_t n_proofs;
} draft;

static uint64_t *number_place(draft *d, uint32_t number)
{
    switch (number) {
    case F_PROOF_KIND:
        return &d->kind;
    case F_SECTOR_SIZE:
        return &d->r->sector_size;
    case F_REGISTERED_PROOF:
        return &d->r->registered_proof;
    case F_PRIORITY:
        return &d->priority;
    case F_SECTOR_NUMBER:
        return &d->r->sector_number;
    case F_MINER_ID:
        return &d->r->miner_id;
    case F_PARTITION_INDEX:
        return &d->partition;
    case F_DEADLINE:
        return &d->r->deadline_unix_ms;
    default:
        return NULL;
    }
}

static job_bytes *bytes_place(draft *d, uint32_t number)
{
    switch (number) {
    case F_REQUEST_ID:
        return &d->request_id;
    case F_VANILLA_PROOF:
        return &d->r->vanilla_proof;
    case F_RANDOMNESS:
        return &d->r->randomness;
    case F_COMM_R_OLD:
        return &d->r->comm_r_old;
    case F_COMM_R_NEW:
        return &d->r->comm_r_new;
    case F_COMM_D_NEW:
        return &d->r->comm_d_new;
    default:
        return NULL;
    }
}

/* A known number with another wire type is an unknown field to protobuf. */
static void take_field(draft *d, const field *f)
{
    uint64_t *number = f->type == WIRE_VARINT ? number_place(d, f->number) : NULL;
    job_bytes *bytes = f->type == WIRE_BYTES ? bytes_place(d, f->number) : NULL;
    if (number)
        *number = f->value;
    if (bytes)
        *bytes = f->bytes;
    if (f->type == WIRE_BYTES && f->number == F_VANILLA_PROOFS) {
        if (d->proofs)
            d->proofs[d->n_proofs] = f->bytes;
        d->n_proofs++;
    }
}

static cuzk_status walk_submit(draft *d, cursor c)
{
    field f;
    bool more;
    for (;;) {
        CUZK_TRY(next_field(&c, &f, &more));
        if (!more)
            return cuzk_ok();
        take_field(d, &f);
    }
}

/* A nested message that comes in pieces is their concatenation. */
static cuzk_status walk_prove(draft *d, cursor c, bool *has_submit)
{
    field f;
    bool more;
    for (*has_submit = false;;) {
        CUZK_TRY(next_field(&c, &f, &more));
        if (!more)
            return cuzk_ok();
        if (f.number != 1 || f.type != WIRE_BYTES)
            continue;
        *has_submit = true;
        CUZK_TRY(walk_submit(d, (cursor){f.bytes.p, f.bytes.p + f.bytes.len, c.base}));
    }
}

static cuzk_status walk(draft *d, cursor c, bool wrapped)
{
    bool has_submit = true;
    d->n_proofs = 0;
    CUZK_TRY(wrapped ? walk_prove(d, c, &has_submit) : walk_submit(d, c));
    return has_submit ? cuzk_ok() : cuzk_fail(CUZK_E_INPUT, "missing submit field");
}

static cuzk_status take_request_id(job_request *r, job_bytes id)
{
    if (id.len >= JOB_REQUEST_ID_MAX)
        return cuzk_bad_input("request_id", "at most 255 bytes", "%zu", id.len);
    if (!utf8_is_valid(id.p, id.len))
        return cuzk_bad_input("request_id", "UTF-8", "other bytes");
    for (size_t i = 0; i < id.len; i++)
        if (id.p[i] < 0x20 || id.p[i] == 0x7f)
            return cuzk_bad_input("request_id", "no control characters", "byte 0x%02x", id.p[i]);
    if (id.len)
        memcpy(r->request_id, id.p, id.len);
    r->request_id[id.len] = 0;
    return cuzk_ok();
}

static cuzk_status finish(draft *d)
{
    job_request *r = d->r;
    if (!wire_kind_back(&r->kind, (uint32_t)d->kind))
        return cuzk_fail(CUZK_E_INPUT, "invalid proof_kind: %lld (expected 1 to 4)",
                         (long long)(int32_t)d->kind);
    r->priority = wire_priority_back((uint32_t)d->priority, r->kind);
    r->partition_index = (uint32_t)d->partition;
    r->vanilla_proofs = d->proofs;
    r->n_vanilla_proofs = d->n_proofs;
    return take_request_id(r, d->request_id);
}

static cuzk_status decode_into(job_request *r, request_memory *m, size_t len, bool wrapped)
{
    draft d = {.r = r};
    cursor c = {m->buf, m->buf + len, m->buf};
    CUZK_TRY(walk(&d, c, wrapped));
    if (d.n_proofs > REQUEST_MAX_PROOFS)
        return cuzk_bad_input("vanilla_proofs", "at most 65536 proofs", "%zu", d.n_proofs);
    m->proofs = mem_alloc((d.n_proofs + 1) * sizeof *m->proofs, 16);
    if (!m->proofs)
        return cuzk_fail(CUZK_E_NOMEM, "%zu vanilla proofs", d.n_proofs);
    d.proofs = m->proofs;
    CUZK_TRY(walk(&d, c, wrapped));
    return finish(&d);
}

cuzk_status request_decode(job_request *out, uint8_t *buf, size_t len, bool wrapped)
{
    *out = (job_request){.kind = PROOF_POREP};
    request_memory *m = mem_zalloc(sizeof *m, 16);
    if (!m) {
        mem_free(buf);
        return cuzk_fail(CUZK_E_NOMEM, "a request");
    }
    m->buf = buf;
    out->owned = m;
    out->release = release;
    cuzk_status st = decode_into(out, m, len, wrapped);
    if (st.code != CUZK_OK) {
        job_request_fini(out);
        *out = (job_request){.kind = PROOF_POREP};
    }
    return st;
}

uint64_t request_payload_bytes(const job_request *r)
{
    uint64_t sum = r->vanilla_proof.len + r->randomness.len + r->comm_r_old.len +
                   r->comm_r_new.len + r->comm_d_new.len;
    for (size_t i = 0; i < r->n_vanilla_proofs; i++)
        sum += r->vanilla_proofs[i].len;
    return sum;
}
