/* Golden data of other provers: tiny.vk (tests/golden/README.md), and a key, proof and inputs of a
 * third party, whose Groth16 equation is checked here with nothing but src/ec. */
#include "ec_test.h"
#include "ec/pairing.h"
#include "thirdparty_table.h"

#define N_INPUTS ARRAY_LEN(thirdparty_inputs)
#define N_IC (N_INPUTS + 1)
#define VK_BYTES (3 * 48 + 3 * 96 + 4 + N_IC * 48)
#define PROOF_BYTES (48 + 96 + 48)

static const ec_decode_opts strict = {.check_subgroup = true, .check_curve = true};

/* Read one point off the front of *b and compare its encoding with what was read. */
static cuzk_status take_g1(g1_aff *o, const uint8_t **b, bool compressed)
{
    uint8_t back[96];
    size_t n = compressed ? 48 : 96;
    CUZK_TRY(compressed ? g1_decode_compressed(o, *b, strict)
                        : g1_decode_uncompressed(o, *b, strict));
    compressed ? g1_encode_compressed(back, o) : g1_encode_uncompressed(back, o);
    assert_memory_equal(back, *b, n);
    *b += n;
    return cuzk_ok();
}

static cuzk_status take_g2(g2_aff *o, const uint8_t **b, bool compressed)
{
    uint8_t back[192];
    size_t n = compressed ? 96 : 192;
    CUZK_TRY(compressed ? g2_decode_compressed(o, *b, strict)
                        : g2_decode_uncompressed(o, *b, strict));
    compressed ? g2_encode_compressed(back, o) : g2_encode_uncompressed(back, o);
    assert_memory_equal(back, *b, n);
    *b += n;
    return cuzk_ok();
}

typedef struct key {
    g1_aff alpha_g1, beta_g1, delta_g1, ic[N_IC];
    g2_aff beta_g2, gamma_g2, delta_g2;
    size_t n_ic;
} key;

/* alpha g1, beta g1, beta g2, gamma g2, delta g1, delta g2, number of ic (u32 BE), ic. */
static cuzk_status take_key(key *o, const uint8_t *b, size_t len, bool compressed)
{
    const uint8_t *end = b + len;
    CUZK_TRY(take_g1(&o->alpha_g1, &b, compressed));
    CUZK_TRY(take_g1(&o->beta_g1, &b, compressed));
    CUZK_TRY(take_g2(&o->beta_g2, &b, compressed));
    CUZK_TRY(take_g2(&o->gamma_g2, &b, compressed));
    CUZK_TRY(take_g1(&o->delta_g1, &b, compressed));
    CUZK_TRY(take_g2(&o->delta_g2, &b, compressed));
    o->n_ic = (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
    assert_in_range(o->n_ic, 1, N_IC);
    b += 4;
    for (size_t i = 0; i < o->n_ic; i++)
        CUZK_TRY(take_g1(&o->ic[i], &b, compressed));
    assert_ptr_equal(b, end);
    return cuzk_ok();
}

static void test_tiny_key_decodes_and_encodes_back(void **state)
{
    (void)state;
    static uint8_t b[2048];
    static key k;
    FILE *f = fopen(CUZK_GOLDEN_DIR "/tiny.vk", "rb");
    assert_non_null(f);
    size_t len = fread(b, 1, sizeof b, f);
    fclose(f);
    assert_int_equal(len, 1060);
    assert_ok(take_key(&k, b, len, false));
    assert_int_equal(k.n_ic, 2);
    /* beta and delta appear in both groups, so the pairing ties them together. */
    fp12 l, r;
    pairing(&l, &k.beta_g1, &G2_GENERATOR);
    pairing(&r, &G1_GENERATOR, &k.beta_g2);
    assert_true(fp12_eq(&l, &r));
    pairing(&l, &k.delta_g1, &G2_GENERATOR);
    pairing(&r, &G1_GENERATOR, &k.delta_g2);
    assert_true(fp12_eq(&l, &r));
    /* beta is not delta, so the comparison can fail */
    pairing(&l, &k.beta_g1, &G2_GENERATOR);
    assert_false(fp12_eq(&l, &r));
}

typedef struct instance {
    key k;
    g1_aff a, c;
    g2_aff b;
    fr_int inputs[N_INPUTS];
} instance;

static instance load(void)
{
    static uint8_t vk[VK_BYTES], proof[PROOF_BYTES];
    const uint8_t *b = proof;
    static instance o;
    unhex(vk, VK_BYTES, thirdparty_vk);
    unhex(proof, PROOF_BYTES, thirdparty_proof);
    assert_ok(take_key(&o.k, vk, VK_BYTES, true));
    assert_int_equal(o.k.n_ic, N_IC);
    assert_ok(take_g1(&o.a, &b, true));
    assert_ok(take_g2(&o.b, &b, true));
    assert_ok(take_g1(&o.c, &b, true));
    for (size_t i = 0; i < N_INPUTS; i++) {
        uint8_t le[32];
        fr v;
        unhex(le, 32, thirdparty_inputs[i]);
        assert_true(fr_from_le(&v, le));
        fr_to_int(&o.inputs[i], &v);
    }
    return o;
}

/* e(A, B) = e(alpha, beta) e(sum x_i ic_i, gamma) e(C, delta). */
static bool verifies(const instance *t)
{
    static g2_prepared prep[4];
    g1_jac sum, term;
    g1_aff x, minus_a;
    g1_jac_from_aff(&sum, &t->k.ic[0]);
    for (size_t i = 0; i < N_INPUTS; i++) {
        g1_jac_from_aff(&term, &t->k.ic[i + 1]);
        g1_mul(&term, &term, &t->inputs[i]);
        g1_jac_add(&sum, &sum, &term);
    }
    g1_jac_to_aff(&x, &sum);
    g1_aff_neg(&minus_a, &t->a);
    const g1_aff *ps[4] = {&minus_a, &t->k.alpha_g1, &x, &t->c};
    const g2_aff *points[4] = {&t->b, &t->k.beta_g2, &t->k.gamma_g2, &t->k.delta_g2};
    const g2_prepared *qs[4];
    for (int i = 0; i < 4; i++) {
        g2_prepare(&prep[i], points[i]);
        qs[i] = &prep[i];
    }
    return pairing_product_is_one(ps, qs, 4);
}

static void test_third_party_proof_verifies(void **state)
{
    (void)state;
    instance t = load();
    assert_true(verifies(&t));
}

static void test_no_input_can_change(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_INPUTS; i++) {
        instance t = load();
        t.inputs[i].l[0] ^= 1;
        if (verifies(&t))
            fail_msg("input %zu", i);
    }
}

static void test_no_point_of_the_proof_can_change(void **state)
{
    (void)state;
    const instance good = load();
    instance t = good;
    g1_aff_neg(&t.a, &t.a);
    assert_false(verifies(&t));
    g2_aff_neg(&t.b, &t.b); /* e(-A, -B) = e(A, B): proofs are malleable, and this one is right */
    assert_true(verifies(&t));
    t = good;
    g2_aff_neg(&t.b, &t.b);
    assert_false(verifies(&t));
    t = good;
    g1_aff_neg(&t.c, &t.c);
    assert_false(verifies(&t));
    t = good;
    t.a = good.c;
    t.c = good.a;
    assert_false(verifies(&t));
    t = good;
    t.c = (g1_aff){0};
    assert_false(verifies(&t));
}

static void test_no_point_of_the_key_can_change(void **state)
{
    (void)state;
    const instance good = load();
    instance t;
    t = good, t.k.alpha_g1 = G1_GENERATOR;
    assert_false(verifies(&t));
    t = good, t.k.beta_g2 = G2_GENERATOR;
    assert_false(verifies(&t));
    t = good, g2_aff_neg(&t.k.gamma_g2, &t.k.gamma_g2);
    assert_false(verifies(&t));
    t = good, t.k.delta_g2 = good.k.beta_g2;
    assert_false(verifies(&t));
    t = good, t.k.ic[0] = good.k.ic[1];
    assert_false(verifies(&t));
    /* beta and delta of G1 are for the prover; both groups have them over generators drawn for this
     * key. */
    fp12 l, r;
    pairing(&l, &good.k.beta_g1, &good.k.delta_g2);
    pairing(&r, &good.k.delta_g1, &good.k.beta_g2);
    assert_true(fp12_eq(&l, &r));
    pairing(&l, &good.k.alpha_g1, &good.k.delta_g2);
    assert_false(fp12_eq(&l, &r));
}

/* A changed byte of the proof no longer decodes, or decodes to a proof that fails. */
static void test_no_byte_of_the_proof_can_change(void **state)
{
    (void)state;
    const instance good = load();
    int refused = 0;
    for (size_t i = 0; i < PROOF_BYTES; i += 3) {
        uint8_t bytes[PROOF_BYTES];
        instance t = good;
        unhex(bytes, PROOF_BYTES, thirdparty_proof);
        bytes[i] ^= 0x08;
        cuzk_status a = g1_decode_compressed(&t.a, bytes, strict);
        cuzk_status b = g2_decode_compressed(&t.b, bytes + 48, strict);
        cuzk_status c = g1_decode_compressed(&t.c, bytes + 144, strict);
        if (a.code != CUZK_OK || b.code != CUZK_OK || c.code != CUZK_OK) {
            refused++;
            continue;
        }
        if (verifies(&t))
            fail_msg("byte %zu", i);
    }
    /* A random point of either curve is in the subgroup with probability 2^-125 at most. */
    assert_int_equal(refused, PROOF_BYTES / 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_key_decodes_and_encodes_back),
        cmocka_unit_test(test_third_party_proof_verifies),
        cmocka_unit_test(test_no_input_can_change),
        cmocka_unit_test(test_no_point_of_the_proof_can_change),
        cmocka_unit_test(test_no_point_of_the_key_can_change),
        cmocka_unit_test(test_no_byte_of_the_proof_can_change),
    };
    return run_on_every_isa(tests, ARRAY_LEN(tests));
}
