/* Development set-up: golden bytes, named refusals, atomic output. */
#include "g16_test.h"

#include "r1cs/cs.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static const run_ctx no_ctx = {0};

static void test_tiny_set_up_gives_the_reference_bytes(void **state)
{
    (void)state;
    size_t len;
    uint8_t *want = golden_file("tiny.params", &len);
    r1cs_shape *shape;
    g16_toxic toxic;
    g16_tiny_toxic(&toxic);
    assert_ok(g16_tiny_shape(&shape));
    assert_int_equal(g16_params_bytes(shape), len);
    pool *threads;
    assert_ok(pool_create(&threads, 3));
    for (int i = 0; i < 2; i++) {
        byte_sink s;
        assert_ok(setup_bytes(&s, shape, &toxic, &(run_ctx){.pool = i ? threads : NULL}));
        assert_int_equal(s.len, len);
        assert_memory_equal(s.b, want, len);
        free(s.b);
    }
    pool_destroy(threads);
    uint8_t *vk = golden_file("tiny.vk", &len);
    assert_memory_equal(want, vk, len);
    free(vk);
    free(want);
    r1cs_shape_destroy(shape);
}

static void test_bad_toxic_values_are_named(void **state)
{
    (void)state;
    r1cs_shape *shape;
    assert_ok(g16_tiny_shape(&shape)); /* domain of 8 */
    static const struct {
        const char *name;
        size_t offset;
    } fields[] = {{"alpha", offsetof(g16_toxic, alpha)},
                  {"beta", offsetof(g16_toxic, beta)},
                  {"gamma", offsetof(g16_toxic, gamma)},
                  {"delta", offsetof(g16_toxic, delta)},
                  {"tau", offsetof(g16_toxic, tau)}};
    byte_sink s;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        g16_toxic t;
        g16_tiny_toxic(&t);
        *(fr *)((char *)&t + fields[i].offset) = FR_ZERO;
        assert_refused(setup_bytes(&s, shape, &t, &no_ctx), CUZK_E_INPUT, fields[i].name);
        assert_int_equal(s.len, 0);
        free(s.b);
    }
    for (uint32_t lg = 0; lg <= 4; lg++) {
        g16_toxic t;
        g16_tiny_toxic(&t);
        fr_root_of_unity(&t.tau, lg);
        cuzk_status st = setup_bytes(&s, shape, &t, &no_ctx);
        if (lg <= 3)
            assert_refused(st, CUZK_E_INPUT, "tau: expected a value outside the domain");
        else
            assert_ok(st);
        free(s.b);
    }
    r1cs_shape_destroy(shape);
}

static void test_unconstrained_variable_is_named(void **state)
{
    (void)state;
    cs c;
    assert_ok(cs_init_shape(&c, "loose end"));
    r1cs_var first = cs_alloc_num(&c, &FR_ONE);
    for (int j = 1; j < 9; j++)
        (void)cs_alloc_num(&c, &FR_ONE);
    for (r1cs_var v = first; v < first + 9; v++) {
        if (v == first + 5)
            continue;
        cs_term_one(&c, CS_A, v);
        cs_term_one(&c, CS_C, R1CS_ONE);
        cs_end_row(&c);
    }
    r1cs_shape *shape;
    assert_ok(cs_finish_shape(&c, &shape));
    cs_fini(&c);
    g16_toxic t;
    g16_tiny_toxic(&t);
    byte_sink s;
    assert_refused(setup_bytes(&s, shape, &t, &no_ctx), CUZK_E_INPUT, "aux 5");
    free(s.b);
    r1cs_shape_destroy(shape);
}

static size_t count_entries(const char *dir)
{
    size_t n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

static void test_file_appears_whole_or_not_at_all(void **state)
{
    (void)state;
    char dir[] = "/tmp/cuzk-setup-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/tiny.params", dir);
    r1cs_shape *shape;
    g16_toxic t;
    g16_tiny_toxic(&t);
    assert_ok(g16_tiny_shape(&shape));
    assert_refused(g16_setup(shape, &t, path, &(run_ctx){.cancelled = always}), CUZK_E_CANCELLED,
                   NULL);
    assert_int_equal(count_entries(dir), 0);
    t.gamma = FR_ZERO;
    assert_refused(g16_setup(shape, &t, path, &no_ctx), CUZK_E_INPUT, "gamma");
    assert_int_equal(count_entries(dir), 0);
    g16_tiny_toxic(&t);
    assert_ok(g16_setup(shape, &t, path, &no_ctx));
    assert_ok(g16_setup(shape, &t, path, &no_ctx)); /* replaces */
    assert_int_equal(count_entries(dir), 1);
    struct stat sb;
    assert_int_equal(stat(path, &sb), 0);
    assert_int_equal(sb.st_size, 3000);
    assert_int_equal(sb.st_mode & 0777, 0644);
    g16_key *k;
    char hex[33];
    assert_ok(g16_key_open(&k, path));
    assert_ok(g16_key_digest(k, hex, &no_ctx));
    assert_string_equal(hex, "8ba4bf89ef97787d4fcd021e57daf922");
    g16_key_close(k);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
    assert_refused(g16_setup(shape, &t, path, &no_ctx), CUZK_E_IO, "tiny.params");
    r1cs_shape_destroy(shape);
}

static void test_full_disk_is_reported(void **state)
{
    (void)state;
    g16_out o;
    /* More than any file system holds, but a valid off_t: refused before a byte is written. */
    char dir[] = "/tmp/cuzk-full-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/huge", dir);
    cuzk_status st = g16_out_create(&o, path, (uint64_t)1 << 60);
    if (st.code == CUZK_OK) { /* a file system that cannot reserve */
        g16_out_write(&o, "x", 1);
        st = g16_out_commit(&o);
        assert_refused(st, CUZK_E_INTERNAL, "planned");
    } else {
        assert_refused(st, CUZK_E_IO, "huge");
    }
    assert_int_equal(count_entries(dir), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void test_failing_allocations_leave_nothing(void **state)
{
    (void)state;
    r1cs_shape *shape;
    g16_toxic t;
    g16_tiny_toxic(&t);
    assert_ok(g16_tiny_shape(&shape));
    uint64_t live = mem_get_stats().live_bytes, n = 1;
    for (;; n++) {
        byte_sink s;
        mem_fail_nth(n);
        cuzk_status st = setup_bytes(&s, shape, &t, &no_ctx);
        mem_fail_nth(0);
        free(s.b);
        assert_int_equal(mem_get_stats().live_bytes, live);
        if (st.code == CUZK_OK)
            break;
        assert_int_equal(st.code, CUZK_E_NOMEM);
    }
    assert_true(n > 5);
    r1cs_shape_destroy(shape);
}

static void test_random_toxic_values_differ(void **state)
{
    (void)state;
    g16_toxic a, b;
    assert_ok(g16_toxic_random(&a));
    assert_ok(g16_toxic_random(&b));
    assert_memory_not_equal(&a, &b, sizeof a);
    assert_false(fr_is_zero(&a.alpha) || fr_is_zero(&a.beta) || fr_is_zero(&a.gamma) ||
                 fr_is_zero(&a.delta) || fr_is_zero(&a.tau));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_set_up_gives_the_reference_bytes),
        cmocka_unit_test(test_bad_toxic_values_are_named),
        cmocka_unit_test(test_unconstrained_variable_is_named),
        cmocka_unit_test(test_file_appears_whole_or_not_at_all),
        cmocka_unit_test(test_full_disk_is_reported),
        cmocka_unit_test(test_failing_allocations_leave_nothing),
        cmocka_unit_test(test_random_toxic_values_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
