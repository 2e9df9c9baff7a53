#include "r1cs/witness.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "hash/blake2.h"
#include "r1cs/eval.h"

cuzk_status witness_init(witness *w, const r1cs_shape *s)
{
    const r1cs_counts *n = r1cs_shape_counts(s);
    *w = (witness){.n_inputs = n->n_inputs,
                   .n_aux = n->n_aux,
                   .n_dense = n->n_dense,
                   .dense_map = r1cs_shape_dense_map(s),
                   .dense_rank = r1cs_shape_dense_rank(s)};
    /* One spare word: bits are written by words that may straddle the end. */
    w->inputs = mem_zalloc((n->n_inputs + 1) * sizeof *w->inputs, 64);
    w->bits = mem_zalloc((n->n_aux / 64 + 2) * sizeof *w->bits, 64);
    /* Not zeroed: a WindowPoSt has 4 GB of it, and cs_finish_witness sees that all of it was written. */
    w->dense = mem_alloc((n->n_dense + 1) * sizeof *w->dense, 64);
    if (!w->inputs || !w->bits || !w->dense) {
        witness_fini(w);
        return cuzk_fail(CUZK_E_NOMEM, "witness of %llu variables", (unsigned long long)n->n_aux);
    }
    w->inputs[0] = FR_ONE;
    return cuzk_ok();
}

static void wipe(witness *w)
{
    if (w->bits)
        mem_wipe(w->bits, (w->n_aux / 64 + 2) * sizeof *w->bits);
    if (w->dense)
        mem_wipe(w->dense, w->n_dense * sizeof *w->dense);
}

void witness_reset(witness *w)
{
    wipe(w);
    mem_wipe(w->inputs, w->n_inputs * sizeof *w->inputs);
    w->inputs[0] = FR_ONE;
}

void witness_fini(witness *w)
{
    wipe(w);
    witness_free(w);
}

void witness_free(witness *w)
{
    mem_free(w->inputs);
    mem_free(w->bits);
    mem_free(w->dense);
    *w = (witness){0};
}

cuzk_status witness_digest(const witness *w, uint8_t out[32])
{
    enum { CHUNK = 1024 };
    uint8_t buf[CHUNK * 32];
    blake2 *b;
    CUZK_TRY(blake2_create(&b, BLAKE2S_256, NULL, 0));
    uint64_t total = w->n_inputs + w->n_aux;
    for (uint64_t i = 0; i < total; i += CHUNK) {
        uint64_t n = total - i < CHUNK ? total - i : CHUNK;
        for (uint64_t k = 0; k < n; k++) {
            fr v;
            witness_var(&v, w,
                        i + k < w->n_inputs ? R1CS_INPUT | (r1cs_var)(i + k)
                                            : (r1cs_var)(i + k - w->n_inputs));
            fr_to_le(buf + 32 * k, &v);
        }
        blake2_update(b, buf, n * 32);
    }
    cuzk_status st = blake2_final(b, out);
    blake2_destroy(b);
    return st;
}
