/* Head, points and digest of an evaluation-form key, in the order of the file. */
#include "groth16/evkey_out.h"
#include "base/bytes.h"
#include "base/span_names.h"
#include "groth16/evkey_int.h"
#include "r1cs/eval.h"

static void emit(g16_evkey_out *o, const void *p, size_t n)
{
    blake2_tree_update(&o->hash, p, n);
    g16_out_write(&o->out, p, n);
}

static cuzk_status take_digests(g16_evkey_info *info, const g16_key *k, const r1cs_shape *s,
                                const run_ctx *rc)
{
    char hex[33];
    CUZK_TRY(g16_key_digest(k, hex, rc));
    CUZK_VERIFY(hex_decode(info->key_digest, sizeof info->key_digest, hex, 32));
    g16_evkey_vk_digest(info->vk_digest, k);
    span_id span = span_begin(rc->spans, rc->parent, SPAN_DIGEST);
    cuzk_status st = r1cs_digest(s, info->circuit_digest, 0, NULL, NULL, rc);
    span_end(rc->spans, span);
    return st;
}

static cuzk_status put_head(g16_evkey_out *o, const g16_key *k, const r1cs_shape *s,
                            const run_ctx *rc)
{
    uint8_t head[G16_EVKEY_HEAD_BYTES];
    CUZK_TRY(blake2_tree_init(&o->hash, G16_EVKEY_CHUNK_BYTES));
    CUZK_TRY(take_digests(&o->info, k, s, rc));
    g16_evkey_encode_head(head, &o->info);
    emit(o, head, sizeof head);
    return o->out.st;
}

cuzk_status g16_evkey_out_create(g16_evkey_out *o, const char *path, const g16_key *k,
                                 const r1cs_shape *s, const run_ctx *rc)
{
    *o = (g16_evkey_out){.out.fd = -1};
    CUZK_TRY(g16_key_match(k, s));
    g16_evkey_of_shape(&o->info, s);
    if (o->info.lg_m > G16_EVKEY_LG_M_MAX)
        return cuzk_fail(CUZK_E_UNSUPPORTED, "domain 2^%u: expected 2^%u or less", o->info.lg_m,
                         G16_EVKEY_LG_M_MAX);
    CUZK_TRY(g16_out_create(&o->out, path, o->info.file_bytes));
    cuzk_status st = put_head(o, k, s, rc);
    if (st.code != CUZK_OK)
        g16_evkey_out_abandon(o);
    return st;
}

cuzk_status g16_evkey_out_write(g16_evkey_out *o, const uint8_t *bytes, uint64_t n)
{
    const uint64_t *count = o->info.n;
    CUZK_VERIFY(n <= count[G16_EV_H] + count[G16_EV_L_INPUTS] + count[G16_EV_L_AUX] - o->n_points);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = o->n_points + i;
        bool is_inf = bytes[i * G1_UNCOMPRESSED_BYTES] & 0x40; /* flag of the encoding */
        if (is_inf && (at < count[G16_EV_H] || at >= count[G16_EV_H] + count[G16_EV_L_INPUTS]))
            return cuzk_fail(CUZK_E_INPUT,
                             "point %llu of the evaluation form is infinity: no key of a set-up",
                             (unsigned long long)at);
    }
    emit(o, bytes, (size_t)n * G1_UNCOMPRESSED_BYTES);
    o->n_points += n;
    return o->out.st;
}

cuzk_status g16_evkey_out_commit(g16_evkey_out *o)
{
    uint8_t digest[G16_EVKEY_DIGEST_BYTES];
    cuzk_status st = blake2_tree_final(&o->hash, digest);
    if (st.code != CUZK_OK) {
        g16_evkey_out_abandon(o);
        return st;
    }
    blake2_tree_fini(&o->hash);
    g16_out_write(&o->out, digest, sizeof digest);
    return g16_out_commit(&o->out);
}

void g16_evkey_out_abandon(g16_evkey_out *o)
{
    blake2_tree_fini(&o->hash);
    g16_out_abandon(&o->out);
}
