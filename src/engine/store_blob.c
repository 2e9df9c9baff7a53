/* Packed requests and timelines (zstd frames), and the check bytes of proofs. */
#include "base/bytes.h"
#include "base/mem.h"
#include "engine/store_int.h"
#include "hash/blake2.h"
#include <zstd.h>
#include <zstd_errors.h>

#define LEVEL 3 /* vanilla proofs are hashes written as text: higher levels cost time for nothing */

static cuzk_status compress(ZSTD_CCtx *ctx, store_packed *out, size_t cap, const void *raw,
                            size_t len)
{
    size_t rc = ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel, LEVEL);
    if (!ZSTD_isError(rc))
        rc = ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1);
    if (!ZSTD_isError(rc))
        rc = ZSTD_compress2(ctx, out->p, cap, raw, len);
    if (ZSTD_isError(rc)) /* the output has room for anything, so only memory can be short */
        return cuzk_fail(CUZK_E_NOMEM, "packing %zu bytes: %s", len, ZSTD_getErrorName(rc));
    out->len = rc;
    out->raw_len = len;
    return cuzk_ok();
}

cuzk_status store_pack(store_packed *out, const void *raw, size_t len)
{
    *out = (store_packed){0};
    if (len > STORE_BLOB_MAX)
        return cuzk_fail(CUZK_E_RANGE, "%zu bytes to store, want at most %llu", len,
                         (unsigned long long)STORE_BLOB_MAX);
    size_t cap = ZSTD_compressBound(len);
    out->p = mem_alloc(cap, 64);
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    cuzk_status st = out->p && ctx ? compress(ctx, out, cap, raw, len)
                                   : cuzk_fail(CUZK_E_NOMEM, "packing %zu bytes", len);
    ZSTD_freeCCtx(ctx);
    if (st.code != CUZK_OK) {
        mem_free(out->p);
        *out = (store_packed){0};
    }
    return st;
}

cuzk_status store_unpack(uint8_t **out, const store_packed *in, const char *job_id,
                         const char *what)
{
    *out = NULL;
    unsigned long long frame = ZSTD_getFrameContentSize(in->p, in->len);
    if (in->raw_len > STORE_BLOB_MAX || frame != in->raw_len)
        return cuzk_fail(CUZK_E_INPUT, "job \"%.100s\": stored %s is damaged: its length is wrong",
                         job_id, what);
    size_t len = (size_t)in->raw_len;
    uint8_t *raw = mem_alloc(len + 1, 64);
    if (!raw)
        return cuzk_fail(CUZK_E_NOMEM, "%s of %zu bytes", what, len);
    size_t rc = ZSTD_decompress(raw, len, in->p, in->len);
    if (ZSTD_isError(rc) || rc != len) {
        mem_free(raw);
        return cuzk_fail(ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation ? CUZK_E_NOMEM
                                                                               : CUZK_E_INPUT,
                         "job \"%.100s\": stored %s is damaged: %s", job_id, what,
                         ZSTD_isError(rc) ? ZSTD_getErrorName(rc) : "it is too short");
    }
    raw[len] = 0;
    *out = raw;
    return cuzk_ok();
}

void store_proof_check(uint8_t out[STORE_CHECK_BYTES], const char *job_id, uint32_t k,
                       const void *proof, size_t len)
{
    uint8_t in[64 + 64 + 8], full[64];
    blake2b_512(in, job_id, strlen(job_id));
    blake2b_512(in + 64, proof, len);
    store_le64(in + 128, k);
    blake2b_512(full, in, sizeof in);
    memcpy(out, full, STORE_CHECK_BYTES);
}

cuzk_status store_write_parts(store_sqlite *s, int64_t seq, const store_packed *b, size_t first,
                              size_t max_bytes, size_t *next)
{
    size_t n = store_n_parts(b), k = first;
    for (; k < n && (k - first) * STORE_PART_BYTES < max_bytes; k++) {
        size_t from = k * STORE_PART_BYTES;
        size_t len = b->len - from < STORE_PART_BYTES ? b->len - from : STORE_PART_BYTES;
        store_query q = q_make(s, SQL_PART_INSERT);
        q_i64(&q, seq * (1 << STORE_PART_BITS) + (int64_t)k);
        q_blob(&q, b->p + from, len);
        CUZK_TRY(q_run(&q));
    }
    *next = k;
    return cuzk_ok();
}
