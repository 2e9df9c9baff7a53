/* Verifying keys, proofs, verification. */
#include "g16_test.h"

#include "groth16/vk.h"
#include "msm/msm.h"

typedef struct third_party {
    g16_vk vk;
    g16_proof proof;
    uint8_t proof_bytes[G16_PROOF_BYTES];
    fr *inputs;
    size_t n;
} third_party;

static const ec_decode_opts strict = {.check_subgroup = true, .check_curve = true};

/* That project stores the .vk fields in the same order but compressed. */
static void load_compressed_vk(g16_vk *vk, const uint8_t *b, size_t len)
{
    assert_ok(g1_decode_compressed(&vk->alpha_g1, b, strict));
    assert_ok(g1_decode_compressed(&vk->beta_g1, b + 48, strict));
    assert_ok(g2_decode_compressed(&vk->beta_g2, b + 96, strict));
    assert_ok(g2_decode_compressed(&vk->gamma_g2, b + 192, strict));
    assert_ok(g1_decode_compressed(&vk->delta_g1, b + 288, strict));
    assert_ok(g2_decode_compressed(&vk->delta_g2, b + 336, strict));
    vk->n_ic = load_be32(b + 432);
    assert_int_equal(436 + 48 * (size_t)vk->n_ic, len);
    vk->ic = mem_alloc(vk->n_ic * sizeof *vk->ic, 64);
    assert_non_null(vk->ic);
    for (uint32_t i = 0; i < vk->n_ic; i++)
        assert_ok(g1_decode_compressed(&vk->ic[i], b + 436 + 48 * i, strict));
}

static int setup_third_party(void **state)
{
    third_party *t = calloc(1, sizeof *t);
    size_t len;
    char *text = (char *)golden_file("thirdparty-porep-2kib.json", &len);
    text[len] = 0;
    const char *p = golden_key(text, NULL, "proof");
    golden_hex(&p, t->proof_bytes, sizeof t->proof_bytes);
    assert_ok(g16_proof_decode(&t->proof, t->proof_bytes, sizeof t->proof_bytes));
    p = golden_key(text, NULL, "vk_compressed");
    uint8_t vk[2356];
    golden_hex(&p, vk, sizeof vk);
    load_compressed_vk(&t->vk, vk, sizeof vk);
    t->n = t->vk.n_ic - 1;
    t->inputs = calloc(t->n, sizeof *t->inputs);
    p = golden_key(text, NULL, "public_inputs");
    for (size_t i = 0; i < t->n; i++) {
        uint8_t b[32];
        golden_hex(&p, b, sizeof b);
        assert_true(fr_from_le(&t->inputs[i], b));
    }
    free(text);
    *state = t;
    return 0;
}

static int free_third_party(void **state)
{
    third_party *t = *state;
    g16_vk_fini(&t->vk);
    free(t->inputs);
    free(t);
    return 0;
}

static void test_third_party_proof_verifies(void **state)
{
    third_party *t = *state;
    g16_pvk *pvk;
    assert_ok(g16_pvk_create(&pvk, &t->vk));
    assert_ok(g16_verify(pvk, t->inputs, t->n, &t->proof));
    const fr *in[3] = {t->inputs, t->inputs, t->inputs};
    g16_proof three[3] = {t->proof, t->proof, t->proof};
    for (size_t n = 1; n <= 3; n++)
        assert_ok(g16_verify_batch(pvk, in, t->n, three, n));
    assert_refused(g16_verify_batch(pvk, in, t->n, three, 0), CUZK_E_INPUT, "at least one");
    g16_pvk_destroy(pvk);
}

static void test_every_changed_input_fails(void **state)
{
    third_party *t = *state;
    g16_pvk *pvk;
    assert_ok(g16_pvk_create(&pvk, &t->vk));
    for (size_t i = 0; i < t->n; i++) {
        fr keep = t->inputs[i];
        fr_add(&t->inputs[i], &t->inputs[i], &FR_ONE);
        assert_refused(g16_verify(pvk, t->inputs, t->n, &t->proof), CUZK_E_VERIFY, NULL);
        t->inputs[i] = keep;
    }
    assert_refused(g16_verify(pvk, t->inputs, t->n - 1, &t->proof), CUZK_E_INPUT, "public inputs");
    assert_refused(g16_verify(pvk, t->inputs, t->n + 1, &t->proof), CUZK_E_INPUT, "public inputs");
    g16_pvk_destroy(pvk);
}

/* Negating an element keeps every encoding valid. A and B both negated is a different proof of the
 * same statement. */
static void test_changed_proof_elements_fail(void **state)
{
    third_party *t = *state;
    g16_pvk *pvk;
    assert_ok(g16_pvk_create(&pvk, &t->vk));
    for (unsigned which = 1; which < 8; which++) {
        g16_proof p = t->proof;
        if (which & 1)
            g1_aff_neg(&p.a, &p.a);
        if (which & 2)
            g2_aff_neg(&p.b, &p.b);
        if (which & 4)
            g1_aff_neg(&p.c, &p.c);
        cuzk_status st = g16_verify(pvk, t->inputs, t->n, &p);
        assert_int_equal(st.code, which == 3 ? CUZK_OK : CUZK_E_VERIFY);
    }
    g16_pvk_destroy(pvk);
}

static void test_batch_with_one_bad_member_fails(void **state)
{
    third_party *t = *state;
    g16_pvk *pvk;
    assert_ok(g16_pvk_create(&pvk, &t->vk));
    fr *wrong = calloc(t->n, sizeof *wrong);
    memcpy(wrong, t->inputs, t->n * sizeof *wrong);
    fr_add(&wrong[5], &wrong[5], &FR_ONE);
    g16_proof proofs[3] = {t->proof, t->proof, t->proof};
    for (size_t bad = 0; bad < 3; bad++) {
        const fr *in[3] = {t->inputs, t->inputs, t->inputs};
        in[bad] = wrong;
        assert_refused(g16_verify_batch(pvk, in, t->n, proofs, 3), CUZK_E_VERIFY, NULL);
    }
    /* Two errors that cancel without weights: C of one proof moved by D, of the other by -D. */
    const fr *in[3] = {t->inputs, t->inputs, t->inputs};
    g1_jac c, d;
    g1_jac_from_aff(&d, &G1_GENERATOR);
    g1_jac_from_aff(&c, &t->proof.c);
    g1_jac_add(&c, &c, &d);
    g1_jac_to_aff(&proofs[0].c, &c);
    g1_jac_neg(&d, &d);
    g1_jac_from_aff(&c, &t->proof.c);
    g1_jac_add(&c, &c, &d);
    g1_jac_to_aff(&proofs[1].c, &c);
    assert_refused(g16_verify_batch(pvk, in, t->n, proofs, 3), CUZK_E_VERIFY, NULL);
    g16_pvk_destroy(pvk);
    free(wrong);
}

static void test_changed_key_fails(void **state)
{
    third_party *t = *state;
    g16_vk vk = t->vk;
    g1_aff_neg(&vk.alpha_g1, &vk.alpha_g1);
    g16_pvk *pvk;
    assert_ok(g16_pvk_create(&pvk, &vk));
    assert_refused(g16_verify(pvk, t->inputs, t->n, &t->proof), CUZK_E_VERIFY, NULL);
    g16_pvk_destroy(pvk);
    assert_refused(g16_pvk_create(&pvk, &(g16_vk){0}), CUZK_E_INPUT, NULL);
}

static void test_proof_bytes_round_trip_and_are_strict(void **state)
{
    third_party *t = *state;
    uint8_t b[G16_PROOF_BYTES + 1];
    g16_proof p;
    g16_proof_encode(b, &t->proof);
    assert_memory_equal(b, t->proof_bytes, G16_PROOF_BYTES);
    for (size_t len = 0; len <= G16_PROOF_BYTES + 1; len++)
        if (len != G16_PROOF_BYTES)
            assert_refused(g16_proof_decode(&p, b, len), CUZK_E_INPUT, "192");
    static const struct {
        size_t at;
        const char *name;
    } elements[] = {{0, "A"}, {48, "B"}, {144, "C"}};
    for (size_t i = 0; i < ARRAY_LEN(elements); i++)
        for (unsigned flags = 0; flags < 8; flags++) {
            memcpy(b, t->proof_bytes, G16_PROOF_BYTES);
            uint8_t *first = &b[elements[i].at], want = *first & 0xe0;
            *first = (uint8_t)((*first & 0x1f) | flags << 5);
            cuzk_status st = g16_proof_decode(&p, b, G16_PROOF_BYTES);
            if ((flags << 5 | 0x20u) == (want | 0x20u)) {
                assert_ok(st); /* the other root is a point as well */
                continue;
            }
            char element[16];
            snprintf(element, sizeof element, "element %s", elements[i].name);
            assert_refused(st, CUZK_E_INPUT, element);
        }
    memcpy(b, t->proof_bytes, G16_PROOF_BYTES);
    memset(b + 144, 0, 48);
    b[144] = 0xc0;
    assert_refused(g16_proof_decode(&p, b, G16_PROOF_BYTES), CUZK_E_INPUT, "element C");
}

static void test_vk_files_reencode_equal(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t n_ic;
    } files[] = {{"tiny.vk", 2}, {"window-2KiB.vk", 23}};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        size_t len;
        uint8_t *b = golden_file(files[i].name, &len);
        g16_vk vk;
        assert_ok(g16_vk_decode(&vk, b, len, NULL));
        assert_int_equal(vk.n_ic, files[i].n_ic);
        assert_int_equal(g16_vk_bytes(&vk), len);
        uint8_t *again = malloc(len);
        g16_vk_encode(again, &vk);
        assert_memory_equal(again, b, len);
        g16_vk_fini(&vk);
        g16_vk_fini(&vk);
        free(again);
        free(b);
    }
}

static void test_vk_cut_anywhere_is_refused(void **state)
{
    (void)state;
    size_t len, used = 0;
    uint8_t *b = golden_file("tiny.vk", &len);
    g16_vk vk;
    for (size_t n = 0; n < len; n++) {
        uint8_t *exact = malloc(n + !n); /* so that the address sanitizer sees a read past n */
        memcpy(exact, b, n);
        assert_refused(g16_vk_decode(&vk, exact, n, NULL), CUZK_E_INPUT, "vk");
        assert_null(vk.ic);
        assert_refused(g16_vk_decode(&vk, exact, n, &used), CUZK_E_INPUT, "vk");
        free(exact);
    }
    b[len] = 0;
    assert_refused(g16_vk_decode(&vk, b, len + 1, NULL), CUZK_E_INPUT, "1 more");
    assert_ok(g16_vk_decode(&vk, b, len + 1, &used));
    assert_int_equal(used, len);
    g16_vk_fini(&vk);
    free(b);
}

static void test_vk_fields_are_checked(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        const char *name;
    } fields[] = {{0, "alpha_g1"},   {96, "beta_g1"},   {192, "beta_g2"}, {384, "gamma_g2"},
                  {576, "delta_g1"}, {672, "delta_g2"}, {868, "ic[0]"},   {964, "ic[1]"}};
    size_t len;
    uint8_t *b = golden_file("tiny.vk", &len);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        uint8_t *p = b + fields[i].at, keep[192];
        size_t size = strstr(fields[i].name, "g2") ? 192 : 96;
        memcpy(keep, p, size);
        g16_vk vk;
        /* none is allowed but the true infinity, refused too */
        for (unsigned flags = 1; flags < 8; flags++) {
            p[0] = (uint8_t)(keep[0] | flags << 5);
            assert_refused(g16_vk_decode(&vk, b, len, NULL), CUZK_E_INPUT, fields[i].name);
        }
        memset(p, 0, size);
        p[0] = 0x40;
        assert_refused(g16_vk_decode(&vk, b, len, NULL), CUZK_E_INPUT, fields[i].name);
        memset(p, 0xff, size);
        p[0] = 0x1f;
        assert_refused(g16_vk_decode(&vk, b, len, NULL), CUZK_E_INPUT, fields[i].name);
        memcpy(p, keep, size);
        p[size - 1] ^= 1;
        assert_refused(g16_vk_decode(&vk, b, len, NULL), CUZK_E_INPUT, fields[i].name);
        memcpy(p, keep, size);
    }
    static const uint32_t counts[] = {0, 1, 3, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        g16_vk vk;
        store_be32(b + 864, counts[i]);
        assert_refused(g16_vk_decode(&vk, b, len, NULL), CUZK_E_INPUT, "vk");
    }
    free(b);
}

static void test_vk_load_and_write(void **state)
{
    (void)state;
    char dir[] = "/tmp/cuzk-vk-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/out.vk", dir);
    g16_vk vk, again;
    assert_refused(g16_vk_load(&vk, path), CUZK_E_NOT_FOUND, "out.vk");
    assert_refused(g16_vk_load(&vk, dir), CUZK_E_INPUT, "regular file");
    assert_ok(g16_vk_load(&vk, CUZK_GOLDEN_DIR "/tiny.vk"));
    assert_ok(g16_vk_write(&vk, path));
    assert_ok(g16_vk_load(&again, path));
    assert_int_equal(again.n_ic, vk.n_ic);
    assert_true(g1_aff_eq(&again.ic[1], &vk.ic[1]));
    g16_vk_fini(&again);
    assert_int_equal(remove(path), 0);
    assert_int_equal(remove(dir), 0); /* no temporary file is left */
    assert_refused(g16_vk_write(&vk, path), CUZK_E_IO, "out.vk");
    g16_vk_fini(&vk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_third_party_proof_verifies),
        cmocka_unit_test(test_every_changed_input_fails),
        cmocka_unit_test(test_changed_proof_elements_fail),
        cmocka_unit_test(test_batch_with_one_bad_member_fails),
        cmocka_unit_test(test_changed_key_fails),
        cmocka_unit_test(test_proof_bytes_round_trip_and_are_strict),
        cmocka_unit_test(test_vk_files_reencode_equal),
        cmocka_unit_test(test_vk_cut_anywhere_is_refused),
        cmocka_unit_test(test_vk_fields_are_checked),
        cmocka_unit_test(test_vk_load_and_write),
    };
    return cmocka_run_group_tests(tests, setup_third_party, free_third_party);
}
