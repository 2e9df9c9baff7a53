/* The set-up on the device against groth16/setup.c: the same file, byte for byte, and the same
 * refusals, word for word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "circuit/circuit.h"
#include "gpu/gpu_mem.h"
#include "gpu/gpu_setup_write.h"
#include "groth16/groth16_int.h"
#include "poly/ntt.h"
#include "r1cs/cs.h"
#include "device_test.h"
#include "setup_fixture.h"

static setup_device dev;
static pool *threads;

static void assert_ok(cuzk_status st, const char *what)
{
    if (st.code != CUZK_OK)
        fail_msg("%s: %s: %s", what, cuzk_code_name(st.code), st.msg);
}

/* The reference stack's values (golden params.json). */
static void golden_toxic(g16_toxic *t)
{
    fr_from_u64(&t->alpha, 48577);
    fr_from_u64(&t->beta, 22580);
    fr_from_u64(&t->gamma, 53332);
    fr_from_u64(&t->delta, 5481);
    fr_from_u64(&t->tau, 3673);
}

/* Compares bytes with those expected. */
typedef struct bytes_sink {
    const uint8_t *want;
    size_t len, cap;
} bytes_sink;

static cuzk_status compare_bytes(void *ctx, const void *p, size_t n)
{
    bytes_sink *s = ctx;
    if (n > s->cap - s->len)
        return cuzk_fail(CUZK_E_INTERNAL, "more than %zu bytes", s->cap);
    for (size_t i = 0; memcmp(s->want + s->len, p, n) != 0 && i < n; i++)
        if (s->want[s->len + i] != ((const uint8_t *)p)[i])
            return cuzk_fail(CUZK_E_INTERNAL, "byte %zu of %zu differs", s->len + i, s->cap);
    s->len += n;
    return cuzk_ok();
}

/* Key made piece by piece, in memory of its own; returns milliseconds. */
static double check_stream(const uint8_t *want, const r1cs_shape *s, const g16_toxic *t,
                           const char *name)
{
    bytes_sink sink = {.want = want, .cap = g16_params_bytes(s)};
    gpu_msm_ws ws = dev.ws;
    assert_ok(gpu_setup_stream_bytes(&ws.bytes, s), name);
    assert_int_equal(cudaMalloc(&ws.d_ws, ws.bytes), cudaSuccess);
    assert_int_equal(cudaMemset(ws.d_ws, 0x5a, ws.bytes), cudaSuccess);
    double start = setup_clock_ms();
    assert_ok(gpu_setup_stream((g16_sink){&sink, compare_bytes}, s, t, &ws, &(run_ctx){0}), name);
    double ms = setup_clock_ms() - start;
    assert_int_equal(sink.len, sink.cap);
    ws.bytes--;
    assert_int_equal(
        gpu_setup_stream((g16_sink){&sink, compare_bytes}, s, t, &ws, &(run_ctx){0}).code,
        CUZK_E_RANGE);
    assert_int_equal(cudaFree(ws.d_ws), cudaSuccess);
    return ms;
}

static void check_against_cpu(const r1cs_shape *s, const g16_toxic *t, const char *name)
{
    run_ctx rc = {.pool = threads};
    setup_key k;
    bytes_sink sink = {.cap = g16_params_bytes(s)};
    uint8_t *b = mem_alloc(sink.cap, 64);
    assert_non_null(b);
    sink.want = b;
    setup_device_reset(&dev);
    assert_ok(setup_key_make(&k, &dev, s, t), name);
    assert_ok(setup_key_bytes(b, sink.cap, &k, &dev), name);
    double start = setup_clock_ms();
    assert_ok(g16_setup_stream(s, t, (g16_sink){&sink, compare_bytes}, &rc), name);
    double cpu_ms = setup_clock_ms() - start;
    assert_int_equal(sink.len, sink.cap);
    double stream_ms = check_stream(b, s, t, name);
    print_message("%-32s %10zu bytes, device %8.1f ms, to bytes %8.1f ms, CPU %8.1f ms\n", name,
                  sink.cap, k.wall_ms, stream_ms, cpu_ms);
    setup_key_free(&k, &dev);
    mem_free(b);
}

static void test_tiny_is_the_reference(void **state)
{
    (void)state;
    r1cs_shape *s;
    g16_toxic t;
    assert_ok(g16_tiny_shape(&s), "tiny");
    g16_tiny_toxic(&t);
    check_against_cpu(s, &t, "tiny");
    assert_ok(g16_toxic_random(&t), "toxic");
    check_against_cpu(s, &t, "tiny, random");
    r1cs_shape_destroy(s);
}

static void check_circuits(const char *const *names, size_t n)
{
    g16_toxic t;
    golden_toxic(&t);
    for (size_t i = 0; i < n; i++) {
        r1cs_shape *s;
        assert_ok(circuit_shape(&s, names[i]), names[i]);
        check_against_cpu(s, &t, names[i]);
        r1cs_shape_destroy(s);
    }
}

/* Rows of inputs alone, with or without B. */
static r1cs_shape *inputs_shape(unsigned n, bool with_b)
{
    cs b;
    r1cs_shape *s;
    assert_ok(cs_init_shape(&b, "inputs"), "cs");
    for (unsigned i = 0; i < n; i++)
        (void)cs_alloc_input(&b, &FR_ONE);
    for (unsigned i = 0; i <= n; i++) {
        cs_term_one(&b, CS_A, R1CS_INPUT | i);
        if (with_b)
            cs_term_minus(&b, CS_B, R1CS_INPUT | (n - i));
        cs_term_one(&b, CS_C, R1CS_ONE);
        cs_end_row(&b);
    }
    assert_ok(cs_finish_shape(&b, &s), "shape");
    cs_fini(&b);
    return s;
}

static void test_empty_sections_match(void **state)
{
    (void)state;
    g16_toxic t;
    golden_toxic(&t);
    for (int i = 0; i < 6; i++) {
        r1cs_shape *s = inputs_shape(i / 2 * 40, i % 2 == 0);
        check_against_cpu(s, &t, i % 2 ? "inputs alone, no B" : "inputs alone");
        r1cs_shape_destroy(s);
    }
}

static void test_small_circuits_match(void **state)
{
    (void)state;
    static const char *const names[] = {"PoRep 2KiB",
                                        "PoRep 4KiB",
                                        "WinningPoSt 2KiB",
                                        "WindowPoSt 2KiB",
                                        "WindowPoSt 4KiB",
                                        "EmptySectorUpdate 2KiB",
                                        "EmptySectorUpdate-Poseidon 2KiB",
                                        "EmptySectorUpdate 16KiB"};
    check_circuits(names, ARRAY_LEN(names));
}

static void test_512mib_circuits_match(void **state)
{
    (void)state;
    static const char *const names[] = {"PoRep 512MiB", "WinningPoSt 32GiB"};
    check_circuits(names, ARRAY_LEN(names));
}

static bool all_zero(const void *d_p, size_t n)
{
    uint8_t *b = mem_alloc(n, 64);
    assert_non_null(b);
    assert_int_equal(cudaMemcpy(b, d_p, n, cudaMemcpyDeviceToHost), cudaSuccess);
    bool zero = true;
    for (size_t i = 0; i < n; i++)
        zero = zero && b[i] == 0;
    mem_free(b);
    return zero;
}

static void test_no_secret_stays(void **state)
{
    (void)state;
    r1cs_shape *s;
    setup_key k;
    g16_toxic t;
    assert_ok(circuit_shape(&s, "PoRep 2KiB"), "shape");
    assert_ok(g16_toxic_random(&t), "toxic");
    for (int i = 0; i < 2; i++) {
        setup_device_reset(&dev);
        dev.fail_at = i == 0 ? 0 : 4;
        assert_int_equal(setup_key_make(&k, &dev, s, &t).code, i == 0 ? CUZK_OK : CUZK_E_CANCELLED);
        assert_int_equal(cudaStreamSynchronize(dev.run.stream), cudaSuccess);
        assert_true(all_zero(dev.ws.d_ws, k.scratch_bytes));
        setup_key_free(&k, &dev);
    }
    r1cs_shape_destroy(s);
}

static void test_failing_slices_stop_it(void **state)
{
    (void)state;
    r1cs_shape *s;
    g16_toxic t;
    assert_ok(g16_tiny_shape(&s), "tiny");
    g16_tiny_toxic(&t);
    uint64_t n = 1;
    for (;; n++) {
        setup_key k;
        setup_device_reset(&dev);
        dev.fail_at = n;
        cuzk_status st = setup_key_make(&k, &dev, s, &t);
        bool none = k.vk.ic == NULL;
        setup_key_free(&k, &dev);
        if (st.code == CUZK_OK)
            break;
        assert_int_equal(st.code, CUZK_E_CANCELLED);
        assert_true(none);
    }
    assert_true(n > 10);
    r1cs_shape_destroy(s);
}

static cuzk_status ignore_bytes(void *ctx, const void *p, size_t n)
{
    (void)ctx, (void)p, (void)n;
    return cuzk_ok();
}

/* Both refuse, with the same words. */
static void check_refused(const r1cs_shape *s, const g16_toxic *t, const char *part_of_message)
{
    run_ctx rc = {.pool = threads};
    setup_key k;
    setup_device_reset(&dev);
    cuzk_status want = g16_setup_stream(s, t, (g16_sink){NULL, ignore_bytes}, &rc);
    cuzk_status got = setup_key_make(&k, &dev, s, t);
    setup_key_free(&k, &dev);
    assert_int_equal(want.code, CUZK_E_INPUT);
    assert_non_null(strstr(want.msg, part_of_message));
    assert_int_equal(got.code, want.code);
    assert_string_equal(got.msg, want.msg);
}

static void test_bad_toxic_values_are_refused(void **state)
{
    (void)state;
    static const size_t offsets[] = {offsetof(g16_toxic, alpha), offsetof(g16_toxic, beta),
                                     offsetof(g16_toxic, gamma), offsetof(g16_toxic, delta),
                                     offsetof(g16_toxic, tau)};
    r1cs_shape *s;
    g16_toxic t;
    assert_ok(g16_tiny_shape(&s), "tiny");
    for (size_t i = 0; i < ARRAY_LEN(offsets); i++) {
        g16_tiny_toxic(&t);
        *(fr *)((char *)&t + offsets[i]) = FR_ZERO;
        check_refused(s, &t, "nonzero toxic value");
    }
    for (uint32_t lg = 0; lg <= 3; lg++) {
        g16_tiny_toxic(&t);
        fr_root_of_unity(&t.tau, lg);
        check_refused(s, &t, "outside the domain");
    }
    r1cs_shape_destroy(s);
}

/* n variables, each alone in A of a row; variable `unbound` in none. Variable `twice`, if any, has
 * another row, with coefficient c, and one in C. */
static r1cs_shape *rows_shape(unsigned n, unsigned unbound, unsigned twice, const fr *c)
{
    cs b;
    r1cs_shape *s;
    assert_ok(cs_init_shape(&b, "rows"), "cs");
    r1cs_var first = cs_alloc_num(&b, &FR_ONE);
    for (unsigned i = 1; i < n; i++)
        (void)cs_alloc_num(&b, &FR_ONE);
    for (unsigned i = 0; i < n; i++) {
        if (i == unbound)
            continue;
        cs_term_one(&b, CS_A, first + i);
        cs_term_one(&b, CS_B, R1CS_ONE);
        cs_end_row(&b);
    }
    if (twice < n) {
        cs_term(&b, CS_A, c, first + twice);
        cs_end_row(&b);
        cs_term_one(&b, CS_C, first + twice);
        cs_end_row(&b);
    }
    assert_ok(cs_finish_shape(&b, &s), "shape");
    cs_fini(&b);
    return s;
}

static void test_bad_circuits_are_refused(void **state)
{
    (void)state;
    enum { N = 9 };
    run_ctx rc = {0};
    g16_toxic t;
    golden_toxic(&t);
    r1cs_shape *s = rows_shape(N, 5, N, NULL);
    check_refused(s, &t, "unconstrained aux 5");
    r1cs_shape_destroy(s);
    /* A coefficient that makes variable 3's polynomial vanish at tau: rows 3 and N of 2^4. */
    fr lag[16], c;
    assert_ok(ntt_lagrange_at(lag, &t.tau, 4, &rc), "lagrange");
    fr_inv(&c, &lag[N]);
    fr_mul(&c, &c, &lag[3]);
    fr_neg(&c, &c);
    s = rows_shape(N, N, 3, &c);
    assert_int_equal(r1cs_shape_counts(s)->lg_m, 4);
    check_refused(s, &t, "element 4 of query a vanishes");
    r1cs_shape_destroy(s);
}

static void test_memory_is_checked(void **state)
{
    (void)state;
    r1cs_shape *s;
    g16_toxic t;
    setup_key k;
    g16_vk vk;
    assert_ok(g16_tiny_shape(&s), "tiny");
    g16_tiny_toxic(&t);
    setup_device_reset(&dev);
    assert_ok(setup_key_make(&k, &dev, s, &t), "tiny");
    gpu_msm_ws small = dev.ws;
    small.bytes = k.scratch_bytes - 1;
    assert_int_equal(gpu_setup(&k.mem, &vk, s, &t, &small).code, CUZK_E_RANGE);
    assert_null(vk.ic);
    for (int i = 0; i < G16_N_SECTIONS; i++) {
        gpu_key_mem wrong = k.mem;
        wrong.n[i]++;
        assert_int_equal(gpu_setup(&wrong, &vk, s, &t, &dev.ws).code, CUZK_E_RANGE);
    }
    setup_key_free(&k, &dev);
    r1cs_shape_destroy(s);
}

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

static void test_file_is_the_cpus(void **state)
{
    (void)state;
    char dir[] = "/tmp/cuzk-gpu-setup-XXXXXX", path[64], hex[33];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/tiny.params", dir);
    run_ctx rc = {0};
    r1cs_shape *s;
    g16_toxic t;
    g16_key *key;
    struct stat sb;
    assert_ok(g16_tiny_shape(&s), "tiny");
    g16_tiny_toxic(&t);
    assert_int_equal(gpu_setup_file("no such", path, s, &t, &rc).code, CUZK_E_NOT_FOUND);
    assert_int_equal(gpu_setup_file(NULL, path, s, &t, &(run_ctx){.cancelled = always}).code,
                     CUZK_E_CANCELLED);
    t.gamma = FR_ZERO;
    assert_int_equal(gpu_setup_file(NULL, path, s, &t, &rc).code, CUZK_E_INPUT);
    assert_int_equal(stat(path, &sb), -1);
    g16_tiny_toxic(&t);
    for (int i = 0; i < 2; i++) /* the second replaces the first */
        assert_ok(gpu_setup_file(NULL, path, s, &t, &rc), "write");
    assert_ok(g16_key_open(&key, path), "open");
    assert_ok(g16_key_digest(key, hex, &rc), "digest");
    assert_string_equal(hex, "8ba4bf89ef97787d4fcd021e57daf922"); /* golden tiny.params */
    g16_key_close(key);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0); /* no temporary file is left */
    r1cs_shape_destroy(s);
}

/* Memory comes back, of the device and of the host, however the set-up ends. */
static void test_file_leaves_no_memory(void **state)
{
    (void)state;
    char path[] = "/tmp/cuzk-gpu-setup-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    r1cs_shape *s;
    g16_toxic t;
    assert_ok(g16_tiny_shape(&s), "tiny");
    g16_tiny_toxic(&t);
    gpu_mem_stats before = gpu_mem_get_stats();
    uint64_t live = mem_get_stats().live_bytes, n = 1;
    for (;; n++) { /* device and pinned memory */
        gpu_mem_fail_nth(n);
        cuzk_status st = gpu_setup_file(NULL, path, s, &t, &(run_ctx){0});
        gpu_mem_fail_nth(0);
        assert_int_equal(gpu_mem_get_stats().device_bytes, before.device_bytes);
        assert_int_equal(gpu_mem_get_stats().pinned_bytes, before.pinned_bytes);
        assert_int_equal(mem_get_stats().live_bytes, live);
        if (st.code == CUZK_OK)
            break;
        assert_int_equal(st.code, CUZK_E_NOMEM);
    }
    assert_int_equal(n, 3);
    for (n = 1;; n++) {
        mem_fail_nth(n);
        cuzk_status st = gpu_setup_file(NULL, path, s, &t, &(run_ctx){0});
        mem_fail_nth(0);
        assert_int_equal(mem_get_stats().live_bytes, live);
        if (st.code == CUZK_OK)
            break;
        assert_int_equal(st.code, CUZK_E_NOMEM);
    }
    assert_true(n > 8);
    assert_int_equal(unlink(path), 0);
    r1cs_shape_destroy(s);
}

static int open_all(void **state)
{
    (void)state;
    return setup_device_open(&dev) && pool_create(&threads, 0).code == CUZK_OK ? 0 : -1;
}

static int close_all(void **state)
{
    (void)state;
    setup_device_close(&dev);
    pool_destroy(threads);
    return 0;
}

int main(void)
{
    if (!gpu_test_has_device())
        return GPU_TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_is_the_reference),
        cmocka_unit_test(test_file_is_the_cpus),
        cmocka_unit_test(test_file_leaves_no_memory),
        cmocka_unit_test(test_memory_is_checked),
        cmocka_unit_test(test_bad_toxic_values_are_refused),
        cmocka_unit_test(test_bad_circuits_are_refused),
        cmocka_unit_test(test_failing_slices_stop_it),
        cmocka_unit_test(test_no_secret_stays),
        cmocka_unit_test(test_empty_sections_match),
        cmocka_unit_test(test_small_circuits_match),
        cmocka_unit_test(test_512mib_circuits_match),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
