/* Evaluation-form keys made on the device against groth16/evkey_make.c: the same files, byte for
 * byte, and the same refusals; nothing is left of one that fails. */
#include "unit/groth16/evkey_fixture.h"

#include "circuit/circuit.h"
#include "gpu/gpu_evkey_int.h"
#include "device_test.h"

static pool *threads;

/* Small enough that every limit cuts variables in two. */
static const gpu_ev_limits limits[] = {{1, 2, 1}, {3, 5, 2}, {1000, 7, 100}, {50, 200, 1}};

static void check_same(const circuit *b, const gpu_ev_limits *max)
{
    size_t len, len2;
    char path[80];
    snprintf(path, sizeof path, "%s/device.evkey", b->dir);
    uint8_t *want = read_file(b->evkey, &len);
    assert_ok(
        gpu_evkey_file_within(NULL, path, b->key, b->shape, max, &(run_ctx){.pool = threads}));
    uint8_t *got = read_file(path, &len2);
    assert_int_equal(len, len2);
    for (size_t i = 0; i < len; i++)
        if (want[i] != got[i])
            fail_msg("byte %zu of %zu differs", i, len);
    free(want);
    free(got);
    assert_int_equal(unlink(path), 0);
}

static void test_small_files_are_the_cpus(void **state)
{
    (void)state;
    for (size_t i = 0; i <= ARRAY_LEN(sizes); i++) {
        circuit b;
        if (i == 0)
            load_tiny(&b);
        else
            load_rich(&b, &sizes[i - 1]);
        make(&b);
        check_same(&b, NULL);
        free_circuit(&b);
    }
}

/* n rows that make bits, and no others: all of them are marked. */
static void load_bits(circuit *b, size_t n)
{
    cs c;
    *b = (circuit){0};
    assert_ok(cs_init_shape(&c, "bits"));
    for (size_t i = 0; i < n; i++) {
        r1cs_var x = cs_alloc_bit(&c, 0);
        cs_term_one(&c, CS_A, R1CS_ONE);
        cs_term_minus(&c, CS_A, x);
        cs_term_one(&c, CS_B, x);
        cs_end_row(&c);
    }
    assert_ok(cs_finish_shape(&c, &b->shape));
    cs_fini(&c);
    assert_ok(g16_toxic_random(&b->toxic));
    open_circuit(b);
}

static size_t n_marked(const circuit *b)
{
    size_t n = 0;
    uint64_t *bits = g16_evkey_boolean_rows(b->shape);
    assert_non_null(bits);
    for (uint64_t i = 0; i < r1cs_shape_counts(b->shape)->n_rows; i++)
        n += bits[i / 64] >> i % 64 & 1;
    mem_free(bits);
    return n;
}

static void test_all_rows_or_none_are_marked(void **state)
{
    (void)state;
    static const size_t n[] = {1, 3, 63, 200};
    circuit b;
    for (size_t i = 0; i < ARRAY_LEN(n); i++) {
        load_bits(&b, n[i]);
        assert_int_equal(n_marked(&b), n[i]);
        make(&b);
        check_same(&b, NULL);
        check_same(&b, &limits[1]);
        free_circuit(&b);
    }
    load_rich(&b, &(rich_params){6, 3, 300}); /* no bits before row 3; a domain of 2^9 */
    assert_int_equal(n_marked(&b), 0);
    make(&b);
    check_same(&b, NULL);
    check_same(&b, &limits[1]);
    free_circuit(&b);
}

static void test_pieces_make_the_same_file(void **state)
{
    (void)state;
    circuit b;
    load_rich(&b, &sizes[3]);
    make(&b);
    for (size_t i = 0; i < ARRAY_LEN(limits); i++)
        check_same(&b, &limits[i]);
    free_circuit(&b);
}

/* The reference stack's toxic values (golden params.json), and a circuit with its templates. */
static void test_window_post_is_the_cpus(void **state)
{
    (void)state;
    circuit b = {0};
    fr_from_u64(&b.toxic.alpha, 48577);
    fr_from_u64(&b.toxic.beta, 22580);
    fr_from_u64(&b.toxic.gamma, 53332);
    fr_from_u64(&b.toxic.delta, 5481);
    fr_from_u64(&b.toxic.tau, 3673);
    assert_ok(circuit_shape(&b.shape, "WindowPoSt 2KiB"));
    open_circuit(&b);
    assert_ok(g16_evkey_make(b.evkey, b.key, b.shape, &(run_ctx){.pool = threads}));
    check_same(&b, NULL);
    check_same(&b, &(gpu_ev_limits){5000, 9000, 100});
    free_circuit(&b);
}

typedef struct cancel_after {
    uint64_t n, left;
    double last; /* progress */
} cancel_after;

static bool is_cancelled(void *ctx)
{
    cancel_after *c = ctx;
    return c->n > 0 && c->left-- <= 1;
}

static void on_progress(void *ctx, const char *stage, double f)
{
    cancel_after *c = ctx;
    if (strcmp(stage, "evkey") != 0) /* the key's digest has its own */
        return;
    assert_true(f >= c->last && f <= 1.0);
    c->last = f;
}

/* The directory then holds the key alone: free_circuit looks. */
static void test_cancel_leaves_nothing(void **state)
{
    (void)state;
    circuit b;
    load_rich(&b, &sizes[2]);
    gpu_mem_stats before = gpu_mem_get_stats();
    uint64_t live = mem_get_stats().live_bytes;
    cuzk_status st = {.code = CUZK_E_CANCELLED};
    for (uint64_t n = 1; st.code == CUZK_E_CANCELLED; n += 1 + n / 8) {
        cancel_after c = {.n = n, .left = n};
        run_ctx rc = {.cancelled = is_cancelled,
                      .cancel_ctx = &c,
                      .progress = on_progress,
                      .progress_ctx = &c};
        st = gpu_evkey_file(NULL, b.evkey, b.key, b.shape, &rc);
        assert_int_equal(gpu_mem_get_stats().device_bytes, before.device_bytes);
        assert_int_equal(gpu_mem_get_stats().pinned_bytes, before.pinned_bytes);
        assert_int_equal(mem_get_stats().live_bytes, live);
        assert_int_equal(access(b.evkey, F_OK), st.code == CUZK_OK ? 0 : -1);
        if (st.code == CUZK_OK)
            assert_true(c.last == 1.0);
    }
    assert_ok(st);
    free_circuit(&b);
}

static void test_failed_allocations_leave_nothing(void **state)
{
    (void)state;
    circuit b;
    load_rich(&b, &sizes[1]);
    gpu_mem_stats before = gpu_mem_get_stats();
    uint64_t live = mem_get_stats().live_bytes, n_failed = 0;
    for (int host = 0; host < 2; host++) {
        cuzk_status st = {.code = CUZK_E_NOMEM};
        for (uint64_t n = 1; st.code == CUZK_E_NOMEM; n++) {
            if (host)
                mem_fail_nth(n);
            else
                gpu_mem_fail_nth(n);
            st = gpu_evkey_file(NULL, b.evkey, b.key, b.shape, &no_ctx);
            mem_fail_nth(0);
            gpu_mem_fail_nth(0);
            assert_int_equal(gpu_mem_get_stats().device_bytes, before.device_bytes);
            assert_int_equal(gpu_mem_get_stats().pinned_bytes, before.pinned_bytes);
            assert_int_equal(mem_get_stats().live_bytes, live);
            n_failed += st.code == CUZK_E_NOMEM;
        }
        assert_ok(st);
        assert_int_equal(unlink(b.evkey), 0);
    }
    assert_true(n_failed >= 4 + 8);
    free_circuit(&b);
}

/* Both refuse, in the same words. */
static void check_refused(circuit *b, g16_section s, uint64_t index, uint8_t byte)
{
    size_t len;
    uint8_t *p = read_file(b->params, &len);
    uint64_t at = g16_key_get_info(b->key)->offset[s] + index * G1_UNCOMPRESSED_BYTES;
    g16_key_close(b->key);
    uint8_t was = p[at];
    p[at] = byte;
    write_file(b->params, p, len);
    assert_ok(g16_key_open(&b->key, b->params));
    cuzk_status want = g16_evkey_make(b->evkey, b->key, b->shape, &no_ctx);
    cuzk_status got = gpu_evkey_file(NULL, b->evkey, b->key, b->shape, &no_ctx);
    assert_int_equal(want.code, CUZK_E_INPUT);
    assert_int_equal(got.code, want.code);
    assert_string_equal(got.msg, want.msg);
    assert_int_equal(access(b->evkey, F_OK), -1);
    g16_key_close(b->key);
    p[at] = was;
    write_file(b->params, p, len);
    assert_ok(g16_key_open(&b->key, b->params));
    free(p);
}

static void test_bad_points_are_refused(void **state)
{
    (void)state;
    circuit b;
    load_rich(&b, &sizes[3]);
    const g16_key_info *info = g16_key_get_info(b.key);
    const uint64_t n[] = {info->n[G16_H], info->n[G16_L]};
    for (int s = G16_H; s <= G16_L; s++) {
        check_refused(&b, (g16_section)s, 0, 0x1f);        /* x is not below p */
        check_refused(&b, (g16_section)s, n[s] / 2, 0x80); /* compressed */
        check_refused(&b, (g16_section)s, n[s] - 1, 0x40); /* infinity */
    }
    free_circuit(&b);
}

static void test_other_refusals(void **state)
{
    (void)state;
    circuit a, b;
    load_rich(&a, &sizes[1]);
    load_rich(&b, &sizes[3]);
    cuzk_status want = g16_evkey_make(b.evkey, b.key, a.shape, &no_ctx);
    cuzk_status got = gpu_evkey_file(NULL, b.evkey, b.key, a.shape, &no_ctx);
    assert_int_equal(want.code, CUZK_E_INPUT);
    assert_int_equal(got.code, want.code);
    assert_string_equal(got.msg, want.msg);
    assert_int_equal(gpu_evkey_file("no such", b.evkey, b.key, b.shape, &no_ctx).code,
                     CUZK_E_NOT_FOUND);
    free_circuit(&a);
    free_circuit(&b);
}

static int open_all(void **state)
{
    (void)state;
    return pool_create(&threads, 0).code == CUZK_OK ? 0 : -1;
}

static int close_all(void **state)
{
    (void)state;
    pool_destroy(threads);
    return 0;
}

int main(void)
{
    if (!gpu_test_has_device())
        return GPU_TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_files_are_the_cpus),
        cmocka_unit_test(test_all_rows_or_none_are_marked),
        cmocka_unit_test(test_pieces_make_the_same_file),
        cmocka_unit_test(test_window_post_is_the_cpus),
        cmocka_unit_test(test_cancel_leaves_nothing),
        cmocka_unit_test(test_failed_allocations_leave_nothing),
        cmocka_unit_test(test_bad_points_are_refused),
        cmocka_unit_test(test_other_refusals),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
