/* The known-answer test of a backend: a circuit of three rows from set-up to verification. */
#include "base/mem.h"
#include "groth16/backend.h"
#include "groth16/groth16_int.h"
#include "r1cs/cs.h"
#include <string.h>

/* bellperson 0.27.0 over blstrs 0.7.1 with the values below (tests/golden/proofs.json.gz,
 * "tiny"). */
const uint8_t g16_tiny_proof[G16_PROOF_BYTES] = {
    0x85, 0x03, 0xf5, 0xec, 0xee, 0xd6, 0x39, 0x23, 0xa4, 0x9f, 0x51, 0x8f, 0x06, 0xb7, 0x4c, 0xbc,
    0x4f, 0x85, 0x18, 0x5e, 0x03, 0x43, 0xb4, 0x31, 0x63, 0xb6, 0x2f, 0x0e, 0x7a, 0xd5, 0x83, 0x4f,
    0x4e, 0x60, 0x87, 0xe6, 0xdd, 0x1f, 0x1a, 0x92, 0x4b, 0xbe, 0xce, 0x85, 0x38, 0xae, 0x2e, 0xb2,
    0xb7, 0xe4, 0xa8, 0x87, 0x11, 0xfa, 0x1d, 0x66, 0x15, 0x53, 0x3b, 0x79, 0x6e, 0xed, 0xe5, 0x9b,
    0x04, 0x67, 0x17, 0x8d, 0xa9, 0x37, 0xe8, 0xac, 0x20, 0x0d, 0x08, 0x51, 0xf6, 0xc2, 0xdb, 0xc3,
    0xab, 0xe1, 0xfe, 0xd9, 0x52, 0x18, 0x0c, 0x88, 0xb9, 0xbc, 0xec, 0x1f, 0x72, 0xc6, 0x37, 0x56,
    0x15, 0xd5, 0x16, 0x54, 0xdf, 0x16, 0x07, 0xfe, 0x09, 0xd5, 0xe8, 0x52, 0x05, 0xe5, 0x45, 0x09,
    0xef, 0xed, 0x7a, 0xa0, 0x13, 0xf5, 0x53, 0x30, 0x7d, 0x15, 0xe3, 0x6d, 0x13, 0x6d, 0x2d, 0x4b,
    0x56, 0x1c, 0xa6, 0x0c, 0x4a, 0xb3, 0x37, 0x04, 0x8b, 0x15, 0x0e, 0x87, 0x61, 0xf3, 0x3e, 0x10,
    0x85, 0x50, 0x0e, 0xa2, 0x2a, 0xc6, 0xa9, 0x8b, 0x76, 0xfc, 0xe7, 0xca, 0xa7, 0x7c, 0x25, 0xc0,
    0xa5, 0x3c, 0x6b, 0xba, 0x97, 0xd2, 0x36, 0x6b, 0x0e, 0x37, 0x23, 0x11, 0x55, 0xb0, 0x4f, 0xf5,
    0x5e, 0x4a, 0xd9, 0xf6, 0x40, 0x03, 0x7c, 0x5c, 0xbd, 0xc2, 0x64, 0x2f, 0x2c, 0x18, 0x76, 0xc0,
};

void g16_tiny_toxic(g16_toxic *t)
{
    fr_from_u64(&t->alpha, 48577);
    fr_from_u64(&t->beta, 22580);
    fr_from_u64(&t->gamma, 53332);
    fr_from_u64(&t->delta, 5481);
    fr_from_u64(&t->tau, 3673);
}

void g16_tiny_blinding(g16_blinding *rs)
{
    fr_from_u64(&rs->r, 27134);
    fr_from_u64(&rs->s, 17146);
}

static void term_small(cs *c, cs_side side, int64_t k, r1cs_var v)
{
    fr coeff;
    fr_from_u64(&coeff, (uint64_t)(k < 0 ? -k : k));
    if (k < 0)
        fr_neg(&coeff, &coeff);
    cs_term(c, side, &coeff, v);
}

static void tiny_synthesize(cs *c)
{
    static const uint64_t vals[4] = {3, 9, 45, 50}; /* a, b, c, x */
    fr v[4];
    for (size_t i = 0; i < 4; i++)
        fr_from_u64(&v[i], vals[i]);
    r1cs_var a = cs_alloc_num(c, &v[0]), b = cs_alloc_num(c, &v[1]), d = cs_alloc_num(c, &v[2]);
    r1cs_var x = cs_alloc_input(c, &v[3]);
    cs_term_one(c, CS_A, a);
    cs_term_one(c, CS_B, a);
    cs_term_one(c, CS_C, b);
    cs_end_row(c);
    cs_term_one(c, CS_A, b);
    cs_term_one(c, CS_B, a);
    term_small(c, CS_B, 2, R1CS_ONE);
    cs_term_one(c, CS_C, d);
    cs_end_row(c);
    cs_term_one(c, CS_A, b);
    term_small(c, CS_A, 5, R1CS_ONE);
    term_small(c, CS_A, -3, a);
    cs_term_one(c, CS_B, R1CS_ONE);
    cs_term_one(c, CS_C, x);
    cs_term_minus(c, CS_C, d);
    cs_end_row(c);
}

cuzk_status g16_tiny_shape(r1cs_shape **out)
{
    *out = NULL;
    cs c;
    CUZK_TRY(cs_init_shape(&c, "tiny"));
    tiny_synthesize(&c);
    cuzk_status st = cs_finish_shape(&c, out);
    cs_fini(&c);
    return st;
}

cuzk_status g16_tiny_witness(witness *w, const r1cs_shape *s)
{
    CUZK_TRY(witness_init(w, s));
    cs c;
    cs_init_witness(&c, s, w, CS_WITNESS_SLOW);
    tiny_synthesize(&c);
    cuzk_status st = cs_finish_witness(&c);
    cs_fini(&c);
    if (st.code != CUZK_OK)
        witness_fini(w);
    return st;
}

/* What the test owns; released by kat_fini in any state. */
typedef struct kat {
    r1cs_shape *shape;
    witness w;
    uint8_t *bytes;
    size_t len, cap;
    g16_key *key;
    g16_pvk *pvk;
    void *handle;
} kat;

static cuzk_status kat_write(void *ctx, const void *p, size_t n)
{
    kat *k = ctx;
    CUZK_VERIFY(n <= k->cap - k->len);
    memcpy(k->bytes + k->len, p, n);
    k->len += n;
    return cuzk_ok();
}

static cuzk_status kat_prove(g16_backend *b, kat *k, const run_ctx *rc)
{
    g16_blinding rs[2];
    g16_tiny_blinding(&rs[0]);
    CUZK_TRY(g16_blinding_random(&rs[1]));
    const witness *ws[2] = {&k->w, &k->w};
    g16_proof proofs[2];
    CUZK_TRY(g16_prove(b, k->handle, ws, rs, 2, proofs, NULL, rc));
    uint8_t got[G16_PROOF_BYTES];
    g16_proof_encode(got, &proofs[0]);
    if (memcmp(got, g16_tiny_proof, sizeof got) != 0)
        return cuzk_fail(CUZK_E_VERIFY, "backend %s: the known-answer proof differs", b->ops->name);
    for (size_t i = 0; i < 2; i++)
        CUZK_TRY(g16_verify(k->pvk, k->w.inputs + 1, k->w.n_inputs - 1, &proofs[i]));
    fr wrong;
    fr_add(&wrong, &k->w.inputs[1], &FR_ONE);
    if (g16_verify(k->pvk, &wrong, 1, &proofs[1]).code != CUZK_E_VERIFY)
        return cuzk_fail(CUZK_E_INTERNAL, "the verifier accepts a wrong input");
    return cuzk_ok();
}

static cuzk_status kat_build(g16_backend *b, kat *k, const run_ctx *rc)
{
    g16_toxic toxic;
    g16_tiny_toxic(&toxic);
    CUZK_TRY(g16_tiny_shape(&k->shape));
    CUZK_TRY(g16_tiny_witness(&k->w, k->shape));
    k->cap = (size_t)g16_params_bytes(k->shape);
    k->bytes = mem_alloc(k->cap, 64);
    if (!k->bytes)
        return cuzk_fail(CUZK_E_NOMEM, "%zu bytes of test key", k->cap);
    CUZK_TRY(g16_setup_stream(k->shape, &toxic, (g16_sink){.ctx = k, .write = kat_write}, rc));
    CUZK_TRY(g16_key_from_memory(&k->key, k->bytes, k->len));
    CUZK_TRY(g16_key_check_points(k->key, rc));
    CUZK_TRY(g16_pvk_create(&k->pvk, g16_key_vk(k->key)));
    CUZK_TRY(b->ops->load(b, k->shape, k->key, rc, &k->handle));
    return kat_prove(b, k, rc);
}

cuzk_status g16_known_answer_test(g16_backend *b, const run_ctx *rc)
{
    kat k = {0};
    cuzk_status st = kat_build(b, &k, rc);
    if (k.handle)
        b->ops->unload(b, k.handle);
    g16_pvk_destroy(k.pvk);
    g16_key_close(k.key);
    mem_free(k.bytes);
    witness_fini(&k.w);
    r1cs_shape_destroy(k.shape);
    return cuzk_wrap(st, "self-test");
}
