/* .params files: lengths, decoding, digest, match with a shape; the published table. */
#include "g16_test.h"

#include "groth16/published_table.h"
#include "r1cs/cs.h"

static const run_ctx no_ctx = {0};

static void test_tiny_params_open_and_match(void **state)
{
    (void)state;
    g16_key *k;
    assert_ok(g16_key_open(&k, CUZK_GOLDEN_DIR "/tiny.params"));
    const g16_key_info *info = g16_key_get_info(k);
    static const uint32_t n[G16_N_SECTIONS] = {7, 3, 4, 2, 2};
    static const uint64_t offset[G16_N_SECTIONS] = {1064, 1740, 2032, 2420, 2616};
    assert_int_equal(info->file_bytes, 3000);
    assert_int_equal(info->n_ic, 2);
    for (int s = 0; s < G16_N_SECTIONS; s++) {
        assert_int_equal(info->n[s], n[s]);
        assert_int_equal(info->offset[s], offset[s]);
    }
    r1cs_shape *shape;
    assert_ok(g16_tiny_shape(&shape));
    assert_ok(g16_key_match(k, shape));
    assert_ok(g16_key_check_points(k, &no_ctx));
    char hex[33];
    assert_ok(g16_key_digest(k, hex, &no_ctx));
    /* filecoin_digest of params.json */
    assert_string_equal(hex, "8ba4bf89ef97787d4fcd021e57daf922");
    r1cs_shape_destroy(shape);
    g16_key_close(k);
    g16_key_close(NULL);
}

static void test_params_cut_anywhere_are_refused(void **state)
{
    (void)state;
    size_t len;
    uint8_t *b = golden_file("tiny.params", &len);
    g16_key *k;
    for (size_t n = 0; n < len; n++) {
        uint8_t *exact = malloc(n + !n);
        memcpy(exact, b, n);
        assert_refused(g16_key_from_memory(&k, exact, n), CUZK_E_INPUT, "key");
        assert_null(k);
        free(exact);
    }
    b[len] = 0;
    assert_refused(g16_key_from_memory(&k, b, len + 1), CUZK_E_INPUT, "1 more");
    free(b);
}

/* A count that lies either runs past the end, or leaves the next count at a wrong place: always
 * refused here. */
static void test_lying_counts_are_refused(void **state)
{
    (void)state;
    static const size_t at[] = {1060, 1736, 2028, 2416, 2612};
    size_t len;
    uint8_t *b = golden_file("tiny.params", &len);
    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        uint32_t good = load_be32(b + at[i]);
        const uint32_t lies[] = {0, good - 1, good + 1, 0x01000000, 0x7fffffff, 0xffffffff};
        for (size_t j = 0; j < ARRAY_LEN(lies); j++) {
            g16_key *k;
            store_be32(b + at[i], lies[j]);
            assert_refused(g16_key_from_memory(&k, b, len), CUZK_E_INPUT, "key");
        }
        store_be32(b + at[i], good);
    }
    free(b);
}

/* x on the curve for no subgroup point: found by counting up (about 1 in 2 x has a y, almost none
 * is in the subgroup). */
static void find_outside_subgroup(uint8_t out[96])
{
    for (uint8_t x = 1; x; x++) {
        uint8_t c[48] = {0};
        c[0] = 0x80;
        c[47] = x;
        g1_aff p;
        if (g1_decode_compressed(&p, c, (ec_decode_opts){.check_curve = true}).code != CUZK_OK ||
            g1_aff_is_in_subgroup(&p))
            continue;
        g1_encode_uncompressed(out, &p);
        return;
    }
    fail_msg("no such point");
}

static void test_bad_points_are_named(void **state)
{
    (void)state;
    size_t len;
    uint8_t *b = golden_file("tiny.params", &len), outside[96];
    find_outside_subgroup(outside);
    g16_key *k;
    assert_ok(g16_key_from_memory(&k, b, len));
    const g16_key_info *info = g16_key_get_info(k);
    for (int s = 0; s < G16_N_SECTIONS; s++) {
        bool g2 = s == G16_B_G2;
        size_t size = g2 ? 192 : 96;
        uint8_t *p = b + info->offset[s] + (info->n[s] - 1) * size, keep[192];
        char want[64];
        snprintf(want, sizeof want, "%s[%u]", g16_section_name((g16_section)s), info->n[s] - 1);
        memcpy(keep, p, size);
        enum { INFINITY_POINT, TOO_LARGE, COMPRESSED_FLAG, OFF_CURVE, OFF_SUBGROUP, N_FAULTS };
        for (int fault = 0; fault < N_FAULTS; fault++) {
            if (fault == OFF_SUBGROUP && g2)
                continue;
            memcpy(p, keep, size);
            if (fault == INFINITY_POINT) {
                memset(p, 0, size);
                p[0] = 0x40;
            } else if (fault == TOO_LARGE) {
                memset(p, 0xff, size);
                p[0] = 0x1f;
            } else if (fault == COMPRESSED_FLAG) {
                p[0] |= 0x80;
            } else if (fault == OFF_CURVE) {
                p[size - 1] ^= 1;
            } else {
                memcpy(p, outside, 96);
            }
            g1_aff o1[8];
            g2_aff o2[8];
            bool trusted_sees = fault <= COMPRESSED_FLAG;
            for (int full = 0; full < 2; full++) {
                cuzk_status st =
                    g2 ? g16_key_g2(k, (g16_section)s, 0, info->n[s], full, o2, &no_ctx)
                       : g16_key_g1(k, (g16_section)s, 0, info->n[s], full, o1, &no_ctx);
                if (full || trusted_sees)
                    assert_refused(st, CUZK_E_INPUT, want);
                else
                    assert_ok(st);
            }
            assert_refused(g16_key_check_points(k, &no_ctx), CUZK_E_INPUT, want);
        }
        memcpy(p, keep, size);
    }
    assert_ok(g16_key_check_points(k, &no_ctx));
    g1_aff o;
    assert_refused(g16_key_g1(k, G16_H, 7, 1, false, &o, &no_ctx), CUZK_E_RANGE, "h");
    assert_refused(g16_key_g1(k, G16_H, 8, 0, false, &o, &no_ctx), CUZK_E_RANGE, "h");
    assert_refused(g16_key_g1(k, G16_H, 1, UINT64_MAX, false, &o, &no_ctx), CUZK_E_RANGE, "h");
    assert_ok(g16_key_g1(k, G16_H, 7, 0, false, &o, &no_ctx));
    g16_key_close(k);
    free(b);
}

static void test_another_circuit_does_not_match(void **state)
{
    (void)state;
    g16_key *k;
    assert_ok(g16_key_open(&k, CUZK_GOLDEN_DIR "/tiny.params"));
    static const struct {
        int n_aux, n_inputs, n_rows;
        const char *section;
    } cases[] = {{3, 1, 3, "section ic"},
                 {4, 2, 3, "section l"},
                 {3, 2, 9, "section h"},
                 {3, 2, 4, "section a"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cs c;
        assert_ok(cs_init_shape(&c, "other"));
        r1cs_var last = R1CS_ONE;
        for (int j = 0; j < cases[i].n_aux; j++)
            last = cs_alloc_num(&c, &FR_ONE);
        for (int j = 1; j < cases[i].n_inputs; j++)
            (void)cs_alloc_input(&c, &FR_ONE);
        for (int j = 0; j < cases[i].n_rows; j++) {
            cs_term_one(&c, CS_A, last);
            cs_term_one(&c, CS_C, R1CS_ONE);
            cs_end_row(&c);
        }
        r1cs_shape *s;
        assert_ok(cs_finish_shape(&c, &s));
        cs_fini(&c);
        assert_refused(g16_key_match(k, s), CUZK_E_INPUT, cases[i].section);
        r1cs_shape_destroy(s);
    }
    g16_key_close(k);
}

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

static void test_cancel_stops_reading(void **state)
{
    (void)state;
    g16_key *k;
    run_ctx rc = {.cancelled = always};
    char hex[33];
    assert_ok(g16_key_open(&k, CUZK_GOLDEN_DIR "/tiny.params"));
    assert_refused(g16_key_check_points(k, &rc), CUZK_E_CANCELLED, NULL);
    assert_refused(g16_key_digest(k, hex, &rc), CUZK_E_CANCELLED, NULL);
    assert_string_equal(hex, "");
    g16_key_close(k);
}

static void test_open_names_the_file(void **state)
{
    (void)state;
    g16_key *k;
    assert_refused(g16_key_open(&k, CUZK_GOLDEN_DIR "/none.params"), CUZK_E_NOT_FOUND,
                   "none.params");
    assert_refused(g16_key_open(&k, CUZK_GOLDEN_DIR "/tiny.vk"), CUZK_E_INPUT, "tiny.vk");
    assert_refused(g16_key_open(&k, CUZK_GOLDEN_DIR), CUZK_E_INPUT, "regular file");
    assert_refused(g16_key_open(&k, "/dev/null"), CUZK_E_INPUT, "regular file");
    assert_null(k);
}

static void test_failing_allocations_leave_nothing(void **state)
{
    (void)state;
    size_t len;
    uint8_t *b = golden_file("tiny.params", &len);
    uint64_t live = mem_get_stats().live_bytes;
    for (uint64_t n = 1;; n++) {
        g16_key *k;
        mem_fail_nth(n);
        cuzk_status st = g16_key_from_memory(&k, b, len);
        mem_fail_nth(0);
        if (st.code == CUZK_OK) {
            assert_true(n > 1);
            g16_key_close(k);
            break;
        }
        assert_int_equal(st.code, CUZK_E_NOMEM);
    }
    assert_int_equal(mem_get_stats().live_bytes, live);
    free(b);
}

static void test_published_keys_are_found(void **state)
{
    (void)state;
    const g16_published *p = g16_published_find(
        "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-8-0-"
        "sha256_hasher-82a357d2f2ca81dc61bb45f4a762807aedee1b0a53fd6c4e77b46a01bfef7820");
    assert_non_null(p);
    /* circuits.md A.10 */
    assert_string_equal(p->params_digest, "6a388072a518cf46ebd661f5cc46900a");
    assert_string_equal(p->vk_digest, "0c7b4aac1c40fdb7eb82bc355b41addf");
    assert_int_equal(p->sector_size, 34359738368);
    assert_null(g16_published_find("v28-stacked"));
    assert_null(g16_published_find(""));
    for (size_t i = 0; i < G16_N_PUBLISHED; i++)
        assert_ptr_equal(g16_published_find(g16_published_table[i].file_stem),
                         &g16_published_table[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_params_open_and_match),
        cmocka_unit_test(test_params_cut_anywhere_are_refused),
        cmocka_unit_test(test_lying_counts_are_refused),
        cmocka_unit_test(test_bad_points_are_named),
        cmocka_unit_test(test_another_circuit_does_not_match),
        cmocka_unit_test(test_cancel_stops_reading),
        cmocka_unit_test(test_open_names_the_file),
        cmocka_unit_test(test_failing_allocations_leave_nothing),
        cmocka_unit_test(test_published_keys_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
