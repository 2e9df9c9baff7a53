/* Products and transforms of points on the device against groth16/g1_transform.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/mem.h"
#include "gpu/gpu_g1_order.h"
#include "gpu/gpu_g1_transform.h"
#include "gpu/gpu_msm_points.h"
#include "groth16/evkey_int.h"
#include "device_test.h"
#include "setup_fixture.h"

#define LG_MAX 12u
static const uint64_t seed = 0xc0ffee1234567u;
static setup_device dev;
static pool *threads;
static g1_aff *points, *want, *got; /* 2^LG_MAX */
static void *d_points, *d_out;
static gpu_g1_work work;
static uint64_t n_counted;

static void assert_ok(cuzk_status st, const char *what)
{
    if (st.code != CUZK_OK)
        fail_msg("%s: %s: %s", what, cuzk_code_name(st.code), st.msg);
}

static void count(void *ctx, uint64_t n)
{
    (void)ctx;
    n_counted += n;
}

static void random_fr(fr *o, uint64_t *s)
{
    for (int k = 0; k < 4; k++)
        o->l[k] = gpu_test_u64(s);
    o->l[3] >>= 2;
}

static void times(g1_aff *o, const g1_aff *a, const fr *k)
{
    g1_jac j;
    fr_int e;
    fr_to_int(&e, k);
    g1_jac_from_aff(&j, a);
    g1_mul(&j, &j, &e);
    g1_jac_to_aff(o, &j);
}

/* Points as different as butterflies have to tell apart. */
enum pattern { RANDOM, INFINITIES, EQUAL, OPPOSITE, LAST_INFINITE, MIXED, MASKED, N_PATTERNS };

static void fill(size_t n, enum pattern pattern, uint64_t s)
{
    g1_aff p, q;
    fr k;
    random_fr(&k, &s);
    times(&p, &G1_GENERATOR, &k);
    g1_aff_neg(&q, &p);
    g1_jac walk;
    g1_jac_from_aff(&walk, &p);
    for (size_t i = 0; i < n; i++) {
        uint64_t r = gpu_test_u64(&s);
        g1_jac_dbl(&walk, &walk);
        g1_jac_add_aff(&walk, &walk, &G1_GENERATOR);
        g1_jac_to_aff(&points[i], &walk);
        if (pattern == INFINITIES || (pattern == MIXED && r % 8 == 0) ||
            (pattern == LAST_INFINITE && i + 1 == n) || (pattern == MASKED && r % 4 > 0))
            points[i] = (g1_aff){0};
        else if (pattern == EQUAL || (pattern == MIXED && r % 8 < 3))
            points[i] = p;
        else if (pattern == OPPOSITE || (pattern == MIXED && r % 8 < 5))
            points[i] = i & 1 || pattern == MIXED ? q : p;
    }
}

static void to_device(size_t n)
{
    CUDA_OK(cudaMemset(d_points, 0x77, sizeof *points << LG_MAX));
    CUDA_OK(cudaMemcpy(d_points, points, n * sizeof *points, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemset(work.d_ws, 0x5a, work.bytes));
    CUDA_OK(cudaDeviceSynchronize());
    n_counted = 0;
}

static void compare(const void *d, size_t n, const char *what, unsigned a, unsigned b)
{
    CUDA_OK(cudaStreamSynchronize(dev.run.stream));
    CUDA_OK(cudaMemcpy(got, d, n * sizeof *got, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++)
        if (memcmp(&got[i], &want[i], sizeof *got) != 0)
            fail_msg("%s: point %zu of %zu differs, case %u %u, seed %llx", what, i, n, a, b,
                     (unsigned long long)seed);
}

static void check_transform(uint32_t lg_n, enum pattern pattern)
{
    run_ctx rc = {.pool = threads};
    g16_ev_progress p = {0};
    size_t n = (size_t)1 << lg_n;
    fill(n, pattern, seed + lg_n);
    memcpy(want, points, n * sizeof *want);
    assert_ok(g16_g1_transform(want, lg_n, &p, &rc), "CPU");
    to_device(n);
    assert_ok(gpu_g1_transform(d_points, lg_n, &work), "transform");
    compare(d_points, n, "transform", lg_n, pattern);
    assert_int_equal(n_counted, g16_g1_transform_products(lg_n));
}

static void test_transforms_match_the_cpu(void **state)
{
    (void)state;
    for (uint32_t lg_n = 0; lg_n <= LG_MAX; lg_n++)
        for (unsigned p = 0; p < N_PATTERNS; p++)
            if (lg_n <= 9 || p == RANDOM || p == MIXED || p == MASKED)
                check_transform(lg_n, (enum pattern)p);
}

static void pick_factor(fr *k, unsigned i, uint64_t *s)
{
    if (i < 4)
        fr_from_u64(k, i);
    else
        random_fr(k, s);
    if (i & 1)
        fr_neg(k, k);
}

static void test_products_by_index_match_the_cpu(void **state)
{
    (void)state;
    run_ctx rc = {.pool = threads};
    uint64_t s = seed;
    for (unsigned i = 0; i < 3 * LG_MAX; i++) {
        uint32_t lg_n = i % (LG_MAX + 1);
        size_t n = (size_t)1 << lg_n;
        fr k;
        pick_factor(&k, i, &s);
        fill(n, i % 3 == 0 ? RANDOM : MIXED, seed + i);
        memcpy(want, points, n * sizeof *want);
        assert_ok(g16_g1_times_index(want, lg_n, &k, &(g16_ev_progress){0}, &rc), "CPU");
        to_device(n);
        assert_ok(gpu_g1_times_index(d_points, lg_n, &k, &work), "times index");
        compare(d_points, n, "products by index", i, 0);
        assert_int_equal(n_counted, n);
    }
}

/* points[i] + by k[place i] points[n + i]; the CPU's factors are in natural order. */
static void check_sums(uint32_t lg_n, enum pattern pattern, fr *k, const fr *by, void *d_k)
{
    run_ctx rc = {.pool = threads};
    size_t n = (size_t)1 << lg_n;
    uint64_t s = seed;
    fr *natural = malloc(n * sizeof *natural);
    assert_non_null(natural);
    for (size_t i = 0; i < n; i++) {
        pick_factor(&k[i], (unsigned)(i % 7), &s);
        fr_mul(&natural[gpu_test_bit_reverse(i, lg_n)], &k[i], by);
    }
    fill(2 * n, pattern, seed + lg_n);
    for (size_t i = 0; i < n; i += 5) { /* sums and differences that are infinite */
        times(&points[i], &points[n + i], &natural[gpu_test_bit_reverse(i, lg_n)]);
        if (i & 1)
            g1_aff_neg(&points[i], &points[i]);
    }
    memcpy(want, points, 2 * n * sizeof *want);
    assert_ok(g16_g1_add_products(want, want + n, natural, lg_n, &(g16_ev_progress){0}, &rc),
              "CPU");
    to_device(2 * n);
    CUDA_OK(cudaMemcpy(d_k, k, n * sizeof *k, cudaMemcpyHostToDevice));
    CUDA_OK(cudaDeviceSynchronize());
    assert_ok(gpu_g1_add_products(d_points, lg_n, d_k, by, &work), "add products");
    compare(d_points, n, "sums of products", lg_n, pattern);
    assert_int_equal(n_counted, n);
    free(natural);
}

static void test_sums_of_products_match_the_cpu(void **state)
{
    (void)state;
    fr *k = malloc(sizeof *k << (LG_MAX - 1));
    void *d_k;
    assert_non_null(k);
    CUDA_OK(cudaMalloc(&d_k, sizeof *k << (LG_MAX - 1)));
    for (uint32_t lg_n = 0; lg_n < LG_MAX; lg_n++)
        for (unsigned p = 0; p < N_PATTERNS; p++)
            check_sums(lg_n, (enum pattern)p, k, p & 1 ? &FR_GENERATOR_INV : &FR_ONE, d_k);
    CUDA_OK(cudaFree(d_k));
    free(k);
}

/* Coefficients of all sorts times chosen bases; the results are bases as well. */
static void test_products_become_bases(void **state)
{
    (void)state;
    enum { N_BASES = 501, N_COEFFS = 70, N_ITEMS = 3000 };
    uint64_t s = seed;
    fr coeffs[N_COEFFS], pow = FR_ONE;
    static gpu_g1_item items[N_ITEMS];
    void *d_coeffs, *d_items;
    for (unsigned i = 0; i < N_COEFFS; i++, fr_dbl(&pow, &pow)) {
        if (i < 10)
            fr_from_u64(&coeffs[i], i);
        else if (i < 60)
            coeffs[i] = pow;
        else
            random_fr(&coeffs[i], &s);
        if (i & 1)
            fr_neg(&coeffs[i], &coeffs[i]);
    }
    fill(N_BASES, MIXED, seed);
    for (unsigned i = 0; i < N_ITEMS; i++) {
        fr k;
        items[i] = (gpu_g1_item){(uint32_t)(gpu_test_u64(&s) % N_BASES),
                                 (uint32_t)(gpu_test_u64(&s) % N_COEFFS)};
        k = coeffs[items[i].coeff];
        if (gpu_test_u64(&s) & 1) {
            fr_neg(&k, &k);
            items[i].coeff |= GPU_G1_ITEM_MINUS;
        }
        times(&want[i], &points[items[i].base], &k);
    }
    to_device(N_BASES);
    CUDA_OK(cudaMalloc(&d_coeffs, sizeof coeffs));
    CUDA_OK(cudaMalloc(&d_items, sizeof items));
    CUDA_OK(cudaMemcpy(d_coeffs, coeffs, sizeof coeffs, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(d_items, items, sizeof items, cudaMemcpyHostToDevice));
    CUDA_OK(cudaDeviceSynchronize());
    assert_ok(gpu_msm_prepare_bases_g1(d_points, 0, N_BASES, &dev.run), "prepare");
    gpu_g1_products p = {d_points, d_coeffs, d_items, N_BASES};
    assert_ok(gpu_g1_multiply(&p, N_ITEMS, &work), "multiply");
    /* through the encoding, which reads bases */
    gpu_points enc = {(char *)d_points + N_BASES * sizeof(g1_aff), d_out, N_BASES, N_ITEMS, true};
    assert_ok(gpu_points_encode_g1(&enc, &dev.run), "encode");
    for (unsigned i = 0; i < N_ITEMS; i++) {
        uint8_t b[G1_UNCOMPRESSED_BYTES];
        g1_encode_uncompressed(b, &want[i]);
        memcpy(&want[i], b, sizeof b);
    }
    compare(d_out, N_ITEMS, "products", 0, 0);
    CUDA_OK(cudaFree(d_coeffs));
    CUDA_OK(cudaFree(d_items));
}

static void test_reversed_order(void **state)
{
    (void)state;
    for (uint32_t lg_n = 0; lg_n <= LG_MAX; lg_n += 3) {
        size_t n = (size_t)1 << lg_n;
        fill(n, RANDOM, seed);
        for (size_t i = 0; i < n; i++)
            want[i] = points[gpu_test_bit_reverse(i, lg_n)];
        to_device(n);
        for (size_t at = 0; at < n; at += 1000)
            assert_ok(gpu_g1_reversed((char *)d_out + at * sizeof(g1_aff), d_points, at,
                                      n - at < 1000 ? n - at : 1000, lg_n, &dev.run),
                      "reversed");
        compare(d_out, n, "reversed order", lg_n, 0);
    }
}

static void test_reverse_exchanges_places(void **state)
{
    (void)state;
    for (uint32_t lg_n = 0; lg_n <= LG_MAX; lg_n++) {
        size_t n = (size_t)1 << lg_n;
        fill(n, RANDOM, seed);
        for (size_t i = 0; i < n; i++)
            want[i] = points[gpu_test_bit_reverse(i, lg_n)];
        to_device(n);
        assert_ok(gpu_g1_reverse(d_points, lg_n, &dev.run), "reverse");
        compare(d_points, n, "places exchanged", lg_n, 0);
    }
}

/* Kinds of bits: none, all, some. */
static void test_mask_keeps_marked_points(void **state)
{
    (void)state;
    static uint64_t bits[(1 << LG_MAX) / 64 + 1];
    uint64_t s = seed;
    void *d_bits;
    CUDA_OK(cudaMalloc(&d_bits, sizeof bits));
    for (uint32_t lg_n = 0; lg_n <= LG_MAX; lg_n++) {
        size_t n = (size_t)1 << lg_n;
        fill(n, RANDOM, seed);
        for (int kind = 0; kind < 3; kind++) {
            for (size_t i = 0; i < ARRAY_LEN(bits); i++)
                bits[i] = kind == 0 ? 0 : kind == 1 ? UINT64_MAX : gpu_test_u64(&s);
            for (size_t i = 0; i < n; i++) {
                bool is_set = bits[i / 64] >> (i % 64) & 1;
                want[(n - i) % n] = is_set ? points[gpu_test_bit_reverse(i, lg_n)] : (g1_aff){0};
            }
            to_device(n);
            CUDA_OK(cudaMemset(d_out, 0x77, n * sizeof *points));
            CUDA_OK(cudaMemcpy(d_bits, bits, sizeof bits, cudaMemcpyHostToDevice));
            CUDA_OK(cudaDeviceSynchronize());
            assert_ok(gpu_g1_mask(d_out, d_points, d_bits, lg_n, &dev.run), "mask");
            compare(d_out, n, "masked points", lg_n, (unsigned)kind);
        }
    }
    CUDA_OK(cudaFree(d_bits));
}

static void test_slices_stop_and_scratch_is_checked(void **state)
{
    (void)state;
    fill(64, RANDOM, seed);
    to_device(64);
    setup_device_reset(&dev);
    assert_ok(gpu_g1_transform(d_points, 6, &work), "transform");
    uint64_t n_slices = dev.n_slices;
    assert_true(n_slices >= 6);
    for (uint64_t n = 1; n <= n_slices; n++) {
        setup_device_reset(&dev);
        dev.fail_at = n;
        assert_int_equal(gpu_g1_transform(d_points, 6, &work).code, CUZK_E_CANCELLED);
    }
    setup_device_reset(&dev);
    gpu_g1_work small = work;
    small.bytes = gpu_g1_work_bytes(32) - 1;
    assert_int_equal(gpu_g1_transform(d_points, 6, &small).code, CUZK_E_RANGE);
    small.bytes++;
    assert_ok(gpu_g1_transform(d_points, 6, &small), "transform");
    CUDA_OK(cudaStreamSynchronize(dev.run.stream));
}

static int open_all(void **state)
{
    (void)state;
    size_t bytes = sizeof *points << LG_MAX;
    if (!setup_device_open(&dev) || pool_create(&threads, 0).code != CUZK_OK)
        return -1;
    points = malloc(bytes);
    want = malloc(bytes);
    got = malloc(bytes);
    work = (gpu_g1_work){.bytes = gpu_g1_work_bytes(UINT64_MAX), .run = &dev.run, .advance = count};
    return points && want && got && work.bytes > 0 && cudaMalloc(&d_points, bytes) == cudaSuccess &&
                   cudaMalloc(&d_out, bytes) == cudaSuccess &&
                   cudaMalloc(&work.d_ws, work.bytes) == cudaSuccess
               ? 0
               : -1;
}

static int close_all(void **state)
{
    (void)state;
    (void)cudaFree(d_points);
    (void)cudaFree(d_out);
    (void)cudaFree(work.d_ws);
    free(points);
    free(want);
    free(got);
    setup_device_close(&dev);
    pool_destroy(threads);
    return 0;
}

int main(void)
{
    if (!gpu_test_has_device())
        return GPU_TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transforms_match_the_cpu),
        cmocka_unit_test(test_products_by_index_match_the_cpu),
        cmocka_unit_test(test_sums_of_products_match_the_cpu),
        cmocka_unit_test(test_products_become_bases),
        cmocka_unit_test(test_reversed_order),
        cmocka_unit_test(test_reverse_exchanges_places),
        cmocka_unit_test(test_mask_keeps_marked_points),
        cmocka_unit_test(test_slices_stop_and_scratch_is_checked),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
