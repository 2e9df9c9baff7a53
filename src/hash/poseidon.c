#include "hash/poseidon.h"

#include <string.h>

#include "hash/poseidon_int.h"

void poseidon_hash(fr *out, const poseidon_constants *c, const fr *tag, const fr *in)
{
    if (ff_use_adx())
        poseidon_hash_adx(out, c, tag, in);
    else
        poseidon_hash_portable(out, c, tag, in);
}

void poseidon_hash_trace(fr *trace, const poseidon_constants *c, const fr *tag, const fr *in)
{
    if (ff_use_adx())
        poseidon_trace_adx(trace, c, tag, in);
    else
        poseidon_trace_portable(trace, c, tag, in);
}

size_t poseidon_trace_len(const poseidon_constants *c)
{
    const size_t n_sbox = (size_t)c->t * c->r_f + c->r_p;
    return 3 * (n_sbox - 1) + (n_sbox - c->arity);
}

void poseidon_hash_merkle(fr *out, uint32_t arity, const fr *in)
{
    const poseidon_constants *c = poseidon_constants_get(arity);
    if (c)
        poseidon_hash(out, c, &c->tag_merkle, in);
    else
        *out = FR_ZERO;
}

void poseidon_hash_md(fr *out, const fr *in, size_t n)
{
    const size_t n_group = POSEIDON_MAX_ARITY - 1;
    fr block[POSEIDON_MAX_ARITY];
    block[0] = in[0];
    for (size_t pos = 1; pos < n; pos += n_group) {
        const size_t n_now = n - pos < n_group ? n - pos : n_group;
        memcpy(block + 1, in + pos, n_now * sizeof *block);
        memset(block + 1 + n_now, 0, (n_group - n_now) * sizeof *block);
        poseidon_hash_merkle(&block[0], POSEIDON_MAX_ARITY, block);
    }
    *out = block[0];
}
