/* Evaluation-form keys: what the check finds, refusals, faults. */
#include "evkey_fixture.h"

/* ---- checking ---- */

static void test_check_finds_every_wrong_point(void **state)
{
    (void)state;
    circuit b;
    size_t len;
    load_tiny(&b);
    make(&b);
    uint8_t *good = read_file(b.evkey, &len), *bad = malloc(len), other[96];
    assert_non_null(bad);
    g1_encode_uncompressed(other, &G1_GENERATOR);
    assert_ok(check_bytes(&b, good, len));
    for (size_t at = 256; at < len - 64; at += 96) {
        memcpy(bad, good, len);
        memcpy(bad + at, other, 96);
        renew_digests(bad, len);
        assert_refused(check_bytes(&b, bad, len), CUZK_E_VERIFY, "transform");
    }
    /* two points of a section change places */
    memcpy(bad, good, len);
    memcpy(bad + 256, good + 352, 96);
    memcpy(bad + 352, good + 256, 96);
    renew_digests(bad, len);
    assert_refused(check_bytes(&b, bad, len), CUZK_E_VERIFY, "transform");
    free(good);
    free(bad);
    free_circuit(&b);
}

/* (0, 2) is on the curve and has order 3: errors of such points can cancel by chance. */
static void test_check_wants_points_of_the_subgroup(void **state)
{
    (void)state;
    circuit b;
    size_t len;
    load_tiny(&b);
    make(&b);
    uint8_t *p = read_file(b.evkey, &len);
    memset(p + 256, 0, 96);
    p[256 + 95] = 2;
    renew_digests(p, len);
    assert_refused(check_bytes(&b, p, len), CUZK_E_INPUT, "section h[0]");
    free(p);
    free_circuit(&b);
}

static void test_check_compares_digests(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        bool renew;
        const char *want;
    } cases[] = {{300, false, "digest: expected that of the file"},
                 {40, true, "key digest"},
                 {56, true, "verifying key"},
                 {88, true, "circuit digest"},
                 {120, true, "circuit: expected"},
                 {23, true, "rows"},
                 {31, true, "terms of C"}};
    circuit b;
    size_t len;
    load_tiny(&b);
    make(&b);
    uint8_t *p = read_file(b.evkey, &len);
    assert_ok(check_bytes(&b, p, len));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        p[cases[i].at] ^= 1;
        if (cases[i].renew)
            renew_digests(p, len);
        assert_refused(check_bytes(&b, p, len), CUZK_E_INPUT, cases[i].want);
        p[cases[i].at] ^= 1;
        renew_digests(p, len);
    }
    free(p);
    free_circuit(&b);
}

/* A file of n points, all of other bytes than the next, with its digest; the head's counts are right. */
static uint8_t *big_file(size_t *len, uint64_t n_points)
{
    g16_evkey_info info = {.lg_m = 17, .n_aux = (uint32_t)(n_points - (1u << 17))};
    g16_evkey_layout(&info);
    *len = (size_t)info.file_bytes;
    uint8_t *p = malloc(*len);
    assert_non_null(p);
    for (size_t i = 0; i + 8 <= *len; i += 8)
        store_be64(p + i, i * 0x9e3779b97f4a7c15u);
    g16_evkey_encode_head(p, &info);
    renew_digests(p, *len);
    return p;
}

static bool is_undamaged(const uint8_t *p, size_t len, const run_ctx *rc)
{
    g16_evkey *e;
    assert_ok(g16_evkey_from_memory(&e, p, len));
    cuzk_status st = g16_evkey_check_bytes(e, rc);
    g16_evkey_close(e);
    if (st.code != CUZK_OK)
        assert_refused(st, CUZK_E_INPUT, "digest: expected that of the file");
    return st.code == CUZK_OK;
}

/* 256 + 96 n bytes are one chunk of 2^24 at n = 174760. */
static void test_digest_covers_every_chunk(void **state)
{
    (void)state;
    static const uint64_t n_points[] = {174760, 174761, 400000};
    pool *threads;
    assert_ok(pool_create(&threads, 3));
    const run_ctx rc = {.pool = threads};
    for (size_t i = 0; i < ARRAY_LEN(n_points); i++) {
        size_t len;
        uint8_t *p = big_file(&len, n_points[i]);
        assert_int_equal(len, 256 + 96 * n_points[i] + 64);
        const size_t at[] = {256, 16777215, len / 2, len - 65, len - 64, len - 1};
        assert_true(is_undamaged(p, len, &rc));
        assert_true(is_undamaged(p, len, &no_ctx));
        for (size_t k = 0; k < ARRAY_LEN(at); k++) {
            p[at[k]] ^= 0x10;
            if (is_undamaged(p, len, &rc))
                fail_msg("%zu bytes, byte %zu flipped: not noticed", len, at[k]);
            p[at[k]] ^= 0x10;
        }
        assert_true(is_undamaged(p, len, &rc));
        free(p);
    }
    pool_destroy(threads);
}

static bool cancel_now(void *ctx)
{
    (void)ctx;
    return true;
}

static void test_digest_is_cancelled(void **state)
{
    (void)state;
    size_t len;
    g16_evkey *e;
    const run_ctx rc = {.cancelled = cancel_now};
    uint8_t *p = big_file(&len, 400000);
    assert_ok(g16_evkey_from_memory(&e, p, len));
    assert_int_equal(g16_evkey_check_bytes(e, &rc).code, CUZK_E_CANCELLED);
    g16_evkey_close(e);
    free(p);
}

/* ---- malformed files ---- */

static void test_head_is_checked(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t xor_with;
        bool renew;
        const char *want;
    } cases[] = {{0, 1, true, "magic"},
                 {11, 2 ^ 1, true, "version: expected 2 (make the file again), found 1"},
                 {11, 2 ^ 3, true, "version"},
                 {12, 0x80, true, "lg_m"},
                 {15, 3 ^ 33, true, "lg_m: expected 32 or less, found 33"},
                 {15, 3 ^ 32, true, "length"}, /* the domain would do */
                 {184, 1, true, "byte 184"},
                 {100, 1, false, "head"},
                 {192, 1, false, "head"},
                 {15, 1, true, "length"},
                 {35, 1, true, "length"},
                 {36, 0x80, true, "length"},
                 {39, 1, true, "length"}};
    circuit b;
    size_t len;
    g16_evkey *e;
    load_tiny(&b);
    make(&b);
    uint8_t *p = read_file(b.evkey, &len);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        p[cases[i].at] ^= cases[i].xor_with;
        if (cases[i].renew)
            renew_digests(p, len);
        assert_refused(g16_evkey_from_memory(&e, p, len), CUZK_E_INPUT, cases[i].want);
        assert_null(e);
        p[cases[i].at] ^= cases[i].xor_with;
        renew_digests(p, len);
    }
    memset(p + 120, 'a', 64);
    renew_digests(p, len);
    assert_refused(g16_evkey_from_memory(&e, p, len), CUZK_E_INPUT, "circuit name");
    free(p);
    free_circuit(&b);
}

static void test_every_cut_is_refused(void **state)
{
    (void)state;
    circuit b;
    size_t len;
    g16_evkey *e;
    load_tiny(&b);
    make(&b);
    uint8_t *p = read_file(b.evkey, &len);
    for (size_t n = 0; n < len; n++) {
        uint8_t *cut = malloc(n + 1); /* its own block, so that a sanitizer sees reads past it */
        assert_non_null(cut);
        memcpy(cut, p, n);
        assert_refused(g16_evkey_from_memory(&e, cut, n), CUZK_E_INPUT, NULL);
        free(cut);
    }
    assert_ok(g16_evkey_from_memory(&e, p, len));
    g1_aff pts[16];
    assert_int_equal(g16_evkey_points(e, G16_EV_H, 1, 8, false, pts, &no_ctx).code, CUZK_E_RANGE);
    assert_int_equal(g16_evkey_points(e, G16_EV_H, 9, 0, false, pts, &no_ctx).code, CUZK_E_RANGE);
    g16_evkey_close(e);
    /* infinity: in the inputs' section only */
    memset(p + 256, 0, 96);
    p[256] = 0x40;
    memcpy(p + 256 + 8 * 96, p + 256, 96);
    assert_ok(g16_evkey_from_memory(&e, p, len));
    assert_refused(g16_evkey_points(e, G16_EV_H, 0, 8, false, pts, &no_ctx), CUZK_E_INPUT,
                   "section h[0]");
    assert_ok(g16_evkey_points(e, G16_EV_L_INPUTS, 0, 1, true, pts, &no_ctx));
    assert_true(g1_aff_is_inf(&pts[0]));
    g16_evkey_close(e);
    free(p);
    free_circuit(&b);
}

/* A file that does not fit costs no proof: the plain key is used. */
static void test_file_of_another_key_is_left_alone(void **state)
{
    (void)state;
    circuit a, b;
    g16_backend *cpu;
    g16_evkey *ev;
    void *handle;
    size_t len;
    load_rich(&a, &sizes[1]);
    load_rich(&b, &sizes[1]);
    make(&a);
    uint8_t *p = read_file(a.evkey, &len);
    assert_ok(g16_cpu_create(&cpu));
    for (size_t n = len; n > len - 2; n--) { /* of another key, then cut */
        write_file(b.evkey, p, n);
        assert_refused(g16_evkey_open_beside(&ev, b.key, b.shape), CUZK_E_INPUT,
                       n == len ? "verifying key" : "length");
        assert_null(ev);
        assert_ok(cpu->ops->load(cpu, b.shape, b.key, &no_ctx, &handle));
        assert_null(((cpu_handle *)handle)->ev);
        cpu->ops->unload(cpu, handle);
    }
    make(&b);
    assert_ok(cpu->ops->load(cpu, b.shape, b.key, &no_ctx, &handle));
    assert_non_null(((cpu_handle *)handle)->ev);
    cpu->ops->unload(cpu, handle);
    free(p);
    p = read_file(b.evkey, &len);
    p[len - 1000] ^= 1; /* its own, damaged in a point */
    write_file(b.evkey, p, len);
    assert_ok(cpu->ops->load(cpu, b.shape, b.key, &no_ctx, &handle));
    assert_null(((cpu_handle *)handle)->ev);
    cpu->ops->unload(cpu, handle);
    cpu->ops->destroy(cpu);
    free(p);
    free_circuit(&a);
    free_circuit(&b);
}

static void test_key_of_another_circuit_is_refused(void **state)
{
    (void)state;
    circuit a, b;
    load_rich(&a, &sizes[1]);
    load_tiny(&b);
    assert_refused(g16_evkey_make(a.evkey, a.key, b.shape, &no_ctx), CUZK_E_INPUT, "ic");
    free_circuit(&a);
    free_circuit(&b);
}

/* H_{m-2} chosen so that H'_0 = 0. */
static void test_points_that_vanish_are_refused(void **state)
{
    (void)state;
    circuit b;
    size_t len;
    load_tiny(&b);
    uint8_t *p = read_file(b.params, &len);
    uint64_t at = g16_key_get_info(b.key)->offset[G16_H];
    g1_aff h[7];
    g1_jac sum = {0};
    assert_ok(g16_key_g1(b.key, G16_H, 0, 7, true, h, &no_ctx));
    for (size_t i = 0; i < 6; i++)
        g1_jac_add_aff(&sum, &sum, &h[i]);
    g1_jac_neg(&sum, &sum);
    g1_jac_to_aff(&h[6], &sum);
    g1_encode_uncompressed(p + at + 6 * 96, &h[6]);
    g16_key *key;
    assert_ok(g16_key_from_memory(&key, p, len));
    assert_refused(g16_evkey_make(b.evkey, key, b.shape, &no_ctx), CUZK_E_INPUT, "infinity");
    g16_key_close(key);
    free(p);
    free_circuit(&b); /* and no file is left */
}

static void test_writer_wants_all_points_and_no_more(void **state)
{
    (void)state;
    static const struct {
        uint64_t n;
        bool too_many;
    } cases[] = {{14, true}, {13, false}, {12, false}};
    circuit b;
    g16_evkey_out o;
    size_t len, len2;
    load_tiny(&b); /* 8 + 2 + 3 points */
    make(&b);
    uint8_t *p = read_file(b.evkey, &len);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        unlink(b.evkey);
        assert_ok(g16_evkey_out_create(&o, b.evkey, b.key, b.shape, &no_ctx));
        cuzk_status st = g16_evkey_out_write(&o, p + 256, cases[i].n);
        if (cases[i].too_many) {
            assert_int_equal(st.code, CUZK_E_INTERNAL);
            g16_evkey_out_abandon(&o);
        } else {
            assert_ok(st);
            st = g16_evkey_out_commit(&o);
            assert_int_equal(st.code, cases[i].n == 13 ? CUZK_OK : CUZK_E_INTERNAL);
        }
        assert_int_equal(access(b.evkey, F_OK), cases[i].n == 13 ? 0 : -1);
        if (cases[i].n == 13) {
            uint8_t *again = read_file(b.evkey, &len2);
            assert_int_equal(len, len2);
            assert_memory_equal(p, again, len);
            free(again);
        }
    }
    free(p);
    free_circuit(&b);
}

/* ---- faults ---- */

static bool countdown(void *ctx)
{
    unsigned *left = ctx;
    return *left == 0 || --*left == 0;
}

static void test_cancel_at_every_poll(void **state)
{
    (void)state;
    circuit b;
    load_rich(&b, &sizes[1]);
    for (int what = 0; what < 2; what++) {
        g16_evkey *e = NULL;
        unsigned polls = 1;
        if (what == 1)
            assert_ok(g16_evkey_open(&e, b.evkey));
        for (;; polls++) {
            unsigned left = polls;
            run_ctx rc = {.cancelled = countdown, .cancel_ctx = &left};
            cuzk_status st = what == 0 ? g16_evkey_make(b.evkey, b.key, b.shape, &rc)
                                       : g16_evkey_check(e, b.key, b.shape, &rc);
            if (st.code == CUZK_OK)
                break;
            assert_int_equal(st.code, CUZK_E_CANCELLED);
            assert_true(what == 1 || access(b.evkey, F_OK) != 0);
        }
        assert_true(polls > 15);
        g16_evkey_close(e);
    }
    free_circuit(&b);
}

static void test_failing_allocations_leave_nothing(void **state)
{
    (void)state;
    circuit b;
    load_rich(&b, &sizes[1]);
    uint64_t live = mem_get_stats().live_bytes;
    for (int what = 0; what < 3; what++) {
        g16_evkey *e = NULL;
        uint64_t n = 1;
        if (what == 1)
            assert_ok(g16_evkey_open(&e, b.evkey));
        for (;; n++) {
            mem_fail_nth(n);
            cuzk_status st = what == 0   ? g16_evkey_make(b.evkey, b.key, b.shape, &no_ctx)
                             : what == 1 ? g16_evkey_check(e, b.key, b.shape, &no_ctx)
                                         : g16_evkey_open(&e, b.evkey);
            mem_fail_nth(0);
            if (st.code == CUZK_OK)
                break;
            assert_int_equal(st.code, CUZK_E_NOMEM);
        }
        assert_true(n > (what == 2 ? 1 : 10));
        g16_evkey_close(e);
        assert_int_equal(mem_get_stats().live_bytes, live);
    }
    free_circuit(&b);
}

static void test_paths(void **state)
{
    (void)state;
    char p[32];
    g16_evkey_path(p, sizeof p, "/a/b.params");
    assert_string_equal(p, "/a/b.evkey");
    g16_evkey_path(p, sizeof p, "b.par");
    assert_string_equal(p, "b.par.evkey");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_finds_every_wrong_point),
        cmocka_unit_test(test_check_wants_points_of_the_subgroup),
        cmocka_unit_test(test_check_compares_digests),
        cmocka_unit_test(test_digest_covers_every_chunk),
        cmocka_unit_test(test_digest_is_cancelled),
        cmocka_unit_test(test_head_is_checked),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_file_of_another_key_is_left_alone),
        cmocka_unit_test(test_key_of_another_circuit_is_refused),
        cmocka_unit_test(test_points_that_vanish_are_refused),
        cmocka_unit_test(test_writer_wants_all_points_and_no_more),
        cmocka_unit_test(test_cancel_at_every_poll),
        cmocka_unit_test(test_failing_allocations_leave_nothing),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
