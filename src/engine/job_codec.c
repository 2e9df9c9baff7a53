/* A request as one block of bytes, and its digest.
 *
 * Layout, little-endian, nothing padded, nothing behind the last field:
 *    0  4  magic "CZJ1" (the digit is the version)
 *    4  4  kind          8  4  priority         12  4  partition_index
 *   16  8  sector_size  24  8  registered_proof 32  8  sector_number
 *   40  8  miner_id     48  8  deadline_unix_ms
 *   56  4  number of vanilla_proofs             60  4  length of request_id
 *   64     request_id
 *   then, each as a 8-byte length and the bytes: vanilla_proof, randomness, comm_r_old, comm_r_new,
 *   comm_d_new, vanilla_proofs in order. */
#include "base/bytes.h"
#include "base/utf8.h"
#include "base/mem.h"
#include "engine/job.h"
#include "hash/blake2.h"

#define MAGIC 0x314a5a43u /* "CZJ1" */
#define HEAD_BYTES 64u
#define N_SINGLE 5u

/* The single byte fields in the order of the layout. */
static void single_fields(const job_bytes *out[N_SINGLE], const job_request *r)
{
    out[0] = &r->vanilla_proof;
    out[1] = &r->randomness;
    out[2] = &r->comm_r_old;
    out[3] = &r->comm_r_new;
    out[4] = &r->comm_d_new;
}

static const job_bytes *field_at(const job_request *r, size_t i)
{
    const job_bytes *single[N_SINGLE];
    single_fields(single, r);
    return i < N_SINGLE ? single[i] : &r->vanilla_proofs[i - N_SINGLE];
}

static void put_head(uint8_t *p, const job_request *r)
{
    store_le32(p, MAGIC);
    store_le32(p + 4, (uint32_t)r->kind);
    store_le32(p + 8, (uint32_t)r->priority);
    store_le32(p + 12, r->partition_index);
    store_le64(p + 16, r->sector_size);
    store_le64(p + 24, r->registered_proof);
    store_le64(p + 32, r->sector_number);
    store_le64(p + 40, r->miner_id);
    store_le64(p + 48, r->deadline_unix_ms);
    store_le32(p + 56, (uint32_t)r->n_vanilla_proofs);
    store_le32(p + 60, (uint32_t)strlen(r->request_id));
}

void job_request_digest(uint8_t out[32], const job_request *r)
{
    /* acc = H(acc, length, H(bytes)), so that field borders cannot move. blake2b_512 cannot fail. */
    uint8_t acc[64 + 8 + 64], head[HEAD_BYTES];
    put_head(head, r);
    memset(head + 8, 0, 4);  /* priority */
    memset(head + 48, 0, 8); /* deadline */
    memset(head + 60, 0, 4); /* the id is not part of what is proven */
    blake2b_512(acc, head, sizeof head);
    for (size_t i = 0; i < N_SINGLE + r->n_vanilla_proofs; i++) {
        const job_bytes *f = field_at(r, i);
        store_le64(acc + 64, f->len);
        blake2b_512(acc + 72, f->p, f->len);
        blake2b_512(acc, acc, sizeof acc);
    }
    memcpy(out, acc, 32);
}

cuzk_status job_request_encode(uint8_t **out, size_t *len, const job_request *r)
{
    *out = NULL;
    *len = 0;
    size_t id_len = strnlen(r->request_id, JOB_REQUEST_ID_MAX), n = HEAD_BYTES + id_len;
    if (id_len == JOB_REQUEST_ID_MAX || r->n_vanilla_proofs > UINT32_MAX)
        return cuzk_fail(CUZK_E_INPUT, "request: id or list of vanilla proofs is too long");
    for (size_t i = 0; i < N_SINGLE + r->n_vanilla_proofs; i++)
        if (__builtin_add_overflow(n, field_at(r, i)->len, &n) ||
            __builtin_add_overflow(n, (size_t)8, &n))
            return cuzk_fail(CUZK_E_INPUT, "request: fields are too long together");
    uint8_t *b = mem_alloc(n, 64);
    if (!b)
        return cuzk_fail(CUZK_E_NOMEM, "request of %zu bytes", n);
    put_head(b, r);
    memcpy(b + HEAD_BYTES, r->request_id, id_len);
    uint8_t *p = b + HEAD_BYTES + id_len;
    for (size_t i = 0; i < N_SINGLE + r->n_vanilla_proofs; i++) {
        const job_bytes *f = field_at(r, i);
        store_le64(p, f->len);
        if (f->len)
            memcpy(p + 8, f->p, f->len);
        p += 8 + f->len;
    }
    *out = b;
    *len = n;
    return cuzk_ok();
}

/* What a decoded request owns: the block and the list that points into it. */
typedef struct decoded {
    uint8_t *block;
    void (*release)(void *);
    job_bytes vanilla_proofs[];
} decoded;

static void release_decoded(void *owned)
{
    decoded *d = owned;
    if (d->release)
        d->release(d->block);
    mem_free(d);
}

static job_bytes read_field(reader *in)
{
    uint64_t len = reader_le64(in);
    /* A length beyond the block must fail the reader and not wrap on the way. */
    const uint8_t *p = reader_bytes(in, len > SIZE_MAX ? SIZE_MAX : (size_t)len);
    return p ? (job_bytes){p, (size_t)len} : (job_bytes){0};
}

static cuzk_status read_head(job_request *r, reader *in, uint32_t *n_vanilla_proofs)
{
    uint32_t magic = reader_le32(in), kind = reader_le32(in), priority = reader_le32(in);
    r->partition_index = reader_le32(in);
    r->sector_size = reader_le64(in);
    r->registered_proof = reader_le64(in);
    r->sector_number = reader_le64(in);
    r->miner_id = reader_le64(in);
    r->deadline_unix_ms = reader_le64(in);
    *n_vanilla_proofs = reader_le32(in);
    uint32_t id_len = reader_le32(in);
    const uint8_t *id = reader_bytes(in, id_len);
    CUZK_TRY(reader_finish(in));
    if (magic != MAGIC)
        return cuzk_bad_input("request.magic", "CZJ1", "%08x", magic);
    if (kind >= PROOF_N_KINDS)
        return cuzk_bad_input("request.kind", "a proof kind", "%u", kind);
    if (priority >= JOB_N_PRIORITIES)
        return cuzk_bad_input("request.priority", "0 to 3", "%u", priority);
    if (id_len >= JOB_REQUEST_ID_MAX || !job_is_text((const char *)id, id_len))
        return cuzk_bad_input("request.request_id", "up to 255 bytes of UTF-8", "%u bytes", id_len);
    memcpy(r->request_id, id, id_len);
    r->kind = (proof_kind)kind;
    r->priority = (job_priority)priority;
    return cuzk_ok();
}

cuzk_status job_request_decode(job_request *out, uint8_t *b, size_t len, void (*release)(void *))
{
    *out = (job_request){0};
    job_request r = {0};
    reader in = reader_make(b, len, "request");
    uint32_t n;
    CUZK_TRY(read_head(&r, &in, &n));
    r.vanilla_proof = read_field(&in);
    r.randomness = read_field(&in);
    r.comm_r_old = read_field(&in);
    r.comm_r_new = read_field(&in);
    r.comm_d_new = read_field(&in);
    CUZK_TRY(reader_finish(&in));
    if (n > reader_left(&in) / 8) /* each takes 8 bytes: bounds the list by the block */
        return cuzk_bad_input("request.vanilla_proofs", "what the bytes left can hold", "%u", n);
    decoded *d = mem_zalloc(sizeof *d + n * sizeof d->vanilla_proofs[0], 16);
    if (!d)
        return cuzk_fail(CUZK_E_NOMEM, "request with %u vanilla proofs", n);
    for (uint32_t i = 0; i < n; i++)
        d->vanilla_proofs[i] = read_field(&in);
    cuzk_status st = reader_finish(&in);
    if (st.code == CUZK_OK && reader_left(&in))
        st = cuzk_bad_input("request", "nothing behind the last field", "%zu bytes",
                            reader_left(&in));
    if (st.code != CUZK_OK) {
        mem_free(d);
        return st;
    }
    d->block = b;
    d->release = release;
    r.vanilla_proofs = n ? d->vanilla_proofs : NULL;
    r.n_vanilla_proofs = n;
    r.owned = d;
    r.release = release_decoded;
    *out = r;
    return cuzk_ok();
}

/* RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
bool job_is_text(const char *s, size_t n)
{
    const uint8_t *p = (const uint8_t *)s;
    for (size_t i = 0, k; i < n; i += k) {
        k = utf8_char_bytes(p + i, n - i);
        if (k == 0 || p[i] < 0x20 || p[i] == 0x7f)
            return false;
    }
    return true;
}
