/* The digest of circuits.md F.4, streamed row by row. */
#include "base/bytes.h"
#include "base/mem.h"
#include "hash/blake2.h"
#include "r1cs/eval.h"
#include "r1cs/shape_int.h"
#include <string.h>

#define BUF_BYTES (1u << 18)

typedef struct digest_state {
    const r1cs_shape *s;
    uint8_t (*coeff_be)[32];
    blake2 *all, *chunk;
    uint8_t *buf;
    size_t used;
    uint64_t chunk_rows, chunk_first;
    r1cs_chunk_fn *chunk_out;
    void *ctx;
    cuzk_status st;
} digest_state;

static void flush(digest_state *d)
{
    blake2_update(d->all, d->buf, d->used);
    if (d->chunk)
        blake2_update(d->chunk, d->buf, d->used);
    d->used = 0;
}

static void put(digest_state *d, const r1cs_term *t, uint32_t n)
{
    if (d->used + 8 > BUF_BYTES)
        flush(d);
    store_be64(d->buf + d->used, n);
    d->used += 8;
    for (uint32_t i = 0; i < n; i++) {
        if (d->used + 41 > BUF_BYTES)
            flush(d);
        uint8_t *p = d->buf + d->used;
        p[0] = t[i].var & R1CS_INPUT ? 'I' : 'A';
        store_be64(p + 1, t[i].var & ~R1CS_INPUT);
        memcpy(p + 9, d->coeff_be[t[i].coeff], 32);
        d->used += 41;
    }
}

static void end_chunk(digest_state *d, uint64_t next_first)
{
    uint8_t out[32];
    char path[128];
    flush(d);
    if (d->st.code == CUZK_OK)
        d->st = blake2_final(d->chunk, out);
    blake2_destroy(d->chunk);
    d->chunk = NULL;
    if (d->st.code != CUZK_OK)
        return;
    r1cs_shape_row_path(d->s, d->chunk_first, path, sizeof path);
    d->chunk_out(d->ctx, d->chunk_first, path, out);
    d->chunk_first = next_first;
}

static void digest_row(void *ctx, uint64_t row, const r1cs_row *r)
{
    digest_state *d = ctx;
    if (d->chunk_out && row % d->chunk_rows == 0 && d->st.code == CUZK_OK) {
        if (row)
            end_chunk(d, row);
        else
            flush(d); /* the header is in no chunk */
        if (d->st.code == CUZK_OK)
            d->st = blake2_create(&d->chunk, BLAKE2S_256, NULL, 0);
    }
    for (int k = 0; k < 3; k++)
        put(d, r->t[k], r->n[k]);
}

static cuzk_status run(digest_state *d, uint8_t out[32], const run_ctx *rc)
{
    const r1cs_counts *n = &d->s->counts;
    uint64_t step = 1u << 20;
    CUZK_TRY(blake2_create(&d->all, BLAKE2S_256, NULL, 0));
    store_be64(d->buf, n->n_inputs);
    store_be64(d->buf + 8, n->n_aux);
    store_be64(d->buf + 16, n->n_rows);
    d->used = 24;
    for (uint64_t lo = 0; lo < n->n_rows; lo += step) {
        if (run_cancelled(rc))
            return cuzk_fail(CUZK_E_CANCELLED, "digest cancelled");
        run_progress(rc, "digest", (double)lo / (double)n->n_rows);
        CUZK_TRY(r1cs_shape_visit(d->s, lo, lo + step < n->n_rows ? lo + step : n->n_rows, true,
                                  digest_row, d));
        CUZK_TRY(d->st);
    }
    if (d->chunk)
        end_chunk(d, n->n_rows);
    flush(d);
    CUZK_TRY(d->st);
    return blake2_final(d->all, out);
}

cuzk_status r1cs_digest(const r1cs_shape *s, uint8_t out[32], uint64_t chunk_rows,
                        r1cs_chunk_fn *chunk_out, void *ctx, const run_ctx *rc)
{
    digest_state d = {
        .s = s, .chunk_rows = chunk_rows, .chunk_out = chunk_rows ? chunk_out : NULL, .ctx = ctx};
    d.st = cuzk_ok();
    d.buf = mem_alloc(BUF_BYTES, 64);
    d.coeff_be = mem_alloc(s->coeffs.n * 32, 64);
    cuzk_status st = cuzk_fail(CUZK_E_NOMEM, "digest of %s", s->name);
    if (d.buf && d.coeff_be) {
        for (size_t i = 0; i < s->coeffs.n; i++)
            fr_to_be(d.coeff_be[i], &((const fr *)s->coeffs.p)[i]);
        st = run(&d, out, rc);
    }
    blake2_destroy(d.all);
    blake2_destroy(d.chunk);
    mem_free(d.buf);
    mem_free(d.coeff_be);
    return st;
}
