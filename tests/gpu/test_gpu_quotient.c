/* The device quotient against poly/ntt.h byte for byte, and at 2^27 against its definition at a random
 * point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/mem.h"
#include "device_test.h"
#include "gpu/gpu_quotient.h"
#include "poly/ntt.h"

#define LG_CPU_MAX 20u
#define LG_MAX 27u
#define CHUNK ((size_t)1 << 16)
static const uint64_t seed = 0x9007e17u;
static cudaStream_t stream;
static gpu_ntt_table table;
static void *d_table, *d_v[3];
static pool *threads;
static fr *v[3], *w;

static void must(cuzk_status st, uint32_t lg)
{
    if (st.code != CUZK_OK)
        fail_msg("2^%u: %s", lg, st.msg);
}

static fr random_fr(uint64_t *s)
{
    fr x;
    for (int k = 0; k < 4; k++)
        x.l[k] = gpu_test_u64(s);
    x.l[3] >>= 2; /* below r */
    return x;
}

enum pattern { RANDOM, ZEROS, ALL_MINUS_ONE, CONSTANT_TIMES_SPARSE, SMALL, N_PATTERNS };

static void fill(fr *a, fr *b, uint32_t lg, enum pattern p)
{
    uint64_t s = seed + lg;
    fr minus_one = FR_ZERO;
    fr_sub(&minus_one, &minus_one, &FR_ONE);
    for (size_t i = 0; i < (size_t)1 << lg; i++) {
        uint64_t r = gpu_test_u64(&s);
        a[i] = p == RANDOM          ? random_fr(&s)
               : p == ZEROS         ? FR_ZERO
               : p == ALL_MINUS_ONE ? minus_one
               : p == SMALL         ? (r % 4 == 0   ? minus_one
                                       : r % 4 == 1 ? FR_ZERO
                                                    : FR_ONE)
                                    : FR_ONE;
        b[i] = p == RANDOM                           ? random_fr(&s)
               : p == ALL_MINUS_ONE                  ? minus_one
               : p == SMALL                          ? (r >> 8 & 1 ? FR_ONE : FR_ZERO)
               : p == CONSTANT_TIMES_SPARSE && r % 9 ? FR_ZERO
                                                     : random_fr(&s);
    }
}

/* v[0], v[1] in natural order to d_v in reversed places, through w. */
static void upload(uint32_t lg)
{
    size_t n = (size_t)1 << lg;
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < n; i++)
            w[gpu_test_bit_reverse(i, lg)] = v[k][i];
        CUDA_OK(cudaMemcpyAsync(d_v[k], w, n * sizeof(fr), cudaMemcpyHostToDevice, stream));
        CUDA_OK(cudaStreamSynchronize(stream));
    }
    /* scratch holds no values */
    CUDA_OK(cudaMemsetAsync(d_v[2], 0xff, n * sizeof(fr), stream));
}

static cuzk_status count_slice(void *ctx)
{
    ++*(int *)ctx;
    return cuzk_ok();
}

static void test_matches_cpu(void **state)
{
    (void)state;
    run_ctx rc = {.pool = threads};
    ntt_plan *plan;
    must(ntt_plan_create(&plan, LG_CPU_MAX, &rc), LG_CPU_MAX);
    for (uint32_t lg = 0; lg <= LG_CPU_MAX; lg++)
        for (int p = 0; p < (lg <= 14 ? N_PATTERNS : lg == LG_CPU_MAX ? 2 : 1); p++) {
            size_t n = (size_t)1 << lg;
            int n_slices = 0;
            gpu_run run = {.stream = stream, .slice = count_slice, .ctx = &n_slices};
            fill(v[0], v[1], lg, p);
            upload(lg);
            must(gpu_quotient(&table, d_v[0], d_v[1], d_v[2], lg, &run), lg);
            assert_int_equal(n_slices, 5);
            CUDA_OK(cudaStreamSynchronize(stream));
            CUDA_OK(cudaMemcpy(w, d_v[0], n * sizeof(fr), cudaMemcpyDeviceToHost));
            must(ntt_quotient(plan, v[0], v[1], v[2], lg, &rc), lg);
            for (size_t i = 0; i < n; i++) {
                fr_int want;
                fr_to_int(&want, &v[0][i]);
                if (memcmp(&w[i], &want, sizeof want) != 0)
                    fail_msg("2^%u, pattern %d: coefficient %zu differs, seed %llx", lg, p, i,
                             (unsigned long long)seed);
            }
            assert_memory_equal(&w[n - 1], &FR_ZERO, sizeof(fr));
        }
    ntt_plan_destroy(plan);
}

/* What evaluation forms want: (1/m^2) (a theta b + b theta a) on the domain, by its definition. */
static void derive(const ntt_plan *plan, fr *x, uint32_t lg, const run_ctx *rc)
{
    must(ntt_inverse(plan, x, lg, rc), lg);
    for (size_t i = 0; i < (size_t)1 << lg; i++) {
        fr k;
        fr_from_u64(&k, i);
        fr_mul(&x[i], &x[i], &k);
    }
    must(ntt_forward(plan, x, lg, rc), lg);
}

static void want_derivative_product(const ntt_plan *plan, uint32_t lg, const run_ctx *rc)
{
    size_t n = (size_t)1 << lg;
    fr *a = v[0], *b = v[1], *t = v[2], scale;
    memcpy(t, b, n * sizeof *t);
    derive(plan, t, lg, rc);
    for (size_t i = 0; i < n; i++)
        fr_mul(&t[i], &t[i], &a[i]);
    derive(plan, a, lg, rc);
    fr_from_u64(&scale, n);
    fr_sqr(&scale, &scale);
    fr_inv(&scale, &scale);
    for (size_t i = 0; i < n; i++) {
        fr_int plain;
        fr_mul(&a[i], &a[i], &b[i]);
        fr_add(&a[i], &a[i], &t[i]);
        fr_mul(&a[i], &a[i], &scale);
        fr_to_int(&plain, &a[i]);
        memcpy(&t[i], &plain, sizeof plain);
    }
}

static void test_derivative_product_matches_cpu(void **state)
{
    (void)state;
    run_ctx rc = {.pool = threads};
    ntt_plan *plan;
    must(ntt_plan_create(&plan, LG_CPU_MAX, &rc), LG_CPU_MAX);
    for (uint32_t lg = 0; lg <= LG_CPU_MAX; lg++)
        for (int p = 0; p < (lg <= 14 ? N_PATTERNS : lg == LG_CPU_MAX ? 2 : 1); p++) {
            size_t n = (size_t)1 << lg;
            int n_slices = 0;
            gpu_run run = {.stream = stream, .slice = count_slice, .ctx = &n_slices};
            gpu_ntt_table own = {table.d_table, lg}; /* of the domain, not twice */
            fill(v[0], v[1], lg, p);
            upload(lg);
            must(gpu_derivative_product(&own, d_v[0], d_v[1], d_v[2], lg, &run), lg);
            assert_int_equal(n_slices, 4);
            CUDA_OK(cudaStreamSynchronize(stream));
            CUDA_OK(cudaMemcpy(w, d_v[0], n * sizeof(fr), cudaMemcpyDeviceToHost));
            want_derivative_product(plan, lg, &rc);
            for (size_t i = 0; i < n; i++)
                if (memcmp(&w[gpu_test_bit_reverse(i, lg)], &v[2][i], sizeof(fr_int)) != 0)
                    fail_msg("2^%u, pattern %d: value %zu differs, seed %llx", lg, p, i,
                             (unsigned long long)seed);
        }
    ntt_plan_destroy(plan);
}

/* Sums over chunks of the large check: of a_k L_k, b_k L_k, a_k b_k L_k, and of h_i x^i. */
typedef struct large_sum {
    const fr *lag;
    fr x, *part; /* four per chunk */
    const fr *h;
} large_sum;

static void fill_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)ctx, (void)thread;
    uint64_t s = seed ^ chunk << 20;
    for (size_t i = chunk * CHUNK; i < (chunk + 1) * CHUNK; i++) {
        v[0][i] = random_fr(&s);
        v[1][i] = random_fr(&s);
    }
}

static void sum_rows(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    large_sum *l = ctx;
    fr *o = &l->part[4 * chunk], t, c;
    o[0] = o[1] = o[2] = FR_ZERO;
    for (size_t i = chunk * CHUNK; i < (chunk + 1) * CHUNK; i++) {
        const fr *lag = &l->lag[gpu_test_bit_reverse(i, LG_MAX)];
        fr_mul(&t, &v[0][i], lag);
        fr_add(&o[0], &o[0], &t);
        fr_mul(&c, &t, &v[1][i]);
        fr_add(&o[2], &o[2], &c);
        fr_mul(&t, &v[1][i], lag);
        fr_add(&o[1], &o[1], &t);
    }
}

static void sum_powers(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    large_sum *l = ctx;
    fr sum = FR_ZERO, t, p;
    for (size_t i = (chunk + 1) * CHUNK; i-- > chunk * CHUNK;) {
        fr_int plain;
        memcpy(&plain, &l->h[i], sizeof plain);
        fr_from_int(&t, &plain);
        fr_mul(&sum, &sum, &l->x);
        fr_add(&sum, &sum, &t);
    }
    fr_pow_u64(&p, &l->x, chunk * CHUNK);
    fr_mul(&l->part[4 * chunk + 3], &sum, &p);
}

/* h(x) (x^m - 1) = a(x) b(x) - c(x), the right side by Lagrange's basis at x. */
static void test_large_quotient_divides(void **state)
{
    (void)state;
    run_ctx rc = {.pool = threads};
    gpu_run run = {.stream = stream};
    size_t n = (size_t)1 << LG_MAX, n_chunks = n / CHUNK;
    uint64_t s = seed;
    large_sum l = {.x = random_fr(&s), .h = w};
    assert_non_null(l.part = mem_alloc(4 * n_chunks * sizeof(fr), 64));
    pool_for(threads, n_chunks, fill_chunk, NULL);
    for (int k = 0; k < 2; k++)
        CUDA_OK(cudaMemcpyAsync(d_v[k], v[k], n * sizeof(fr), cudaMemcpyHostToDevice, stream));
    must(gpu_quotient(&table, d_v[0], d_v[1], d_v[2], LG_MAX, &run), LG_MAX);
    CUDA_OK(cudaStreamSynchronize(stream));
    must(ntt_lagrange_at(v[2], &l.x, LG_MAX, &rc), LG_MAX);
    l.lag = v[2];
    pool_for(threads, n_chunks, sum_rows, &l);
    CUDA_OK(cudaMemcpy(w, d_v[0], n * sizeof(fr), cudaMemcpyDeviceToHost));
    pool_for(threads, n_chunks, sum_powers, &l);
    fr sum[4] = {FR_ZERO, FR_ZERO, FR_ZERO, FR_ZERO}, z;
    for (size_t i = 0; i < 4 * n_chunks; i++)
        fr_add(&sum[i % 4], &sum[i % 4], &l.part[i]);
    fr_pow_u64(&z, &l.x, n);
    fr_sub(&z, &z, &FR_ONE);
    fr_mul(&z, &z, &sum[3]);
    fr_mul(&sum[0], &sum[0], &sum[1]);
    fr_sub(&sum[0], &sum[0], &sum[2]);
    assert_memory_equal(&z, &sum[0], sizeof z);
    assert_memory_equal(&w[n - 1], &FR_ZERO, sizeof(fr));
    mem_free(l.part);
}

static cuzk_status stop_third(void *ctx)
{
    return ++*(int *)ctx == 3 ? cuzk_fail(CUZK_E_CANCELLED, "third slice") : cuzk_ok();
}

static void test_slices_can_stop_and_sizes_are_checked(void **state)
{
    (void)state;
    int n = 0;
    gpu_run run = {.stream = stream, .slice = stop_third, .ctx = &n};
    assert_int_equal(gpu_quotient(&table, d_v[0], d_v[1], d_v[2], 12, &run).code, CUZK_E_CANCELLED);
    assert_int_equal(n, 3);
    gpu_ntt_table half = {table.d_table, 12};
    run.slice = NULL;
    assert_int_equal(gpu_quotient(&half, d_v[0], d_v[1], d_v[2], 12, &run).code, CUZK_E_RANGE);
    CUDA_OK(cudaStreamSynchronize(stream));
}

static int setup(void **state)
{
    (void)state;
    size_t bytes = sizeof(fr) << LG_MAX;
    if (pool_create(&threads, 0).code != CUZK_OK || !(w = mem_alloc(bytes, 64)))
        return -1;
    for (int k = 0; k < 3; k++)
        if (!(v[k] = mem_alloc(bytes, 64)) || cudaMalloc(&d_v[k], bytes) != cudaSuccess)
            return -1;
    if (cudaMalloc(&d_table, gpu_ntt_table_bytes(LG_MAX + 1)) != cudaSuccess ||
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
        return -1;
    return gpu_ntt_table_build(&table, d_table, LG_MAX + 1, stream).code == CUZK_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    cudaStreamDestroy(stream);
    cudaFree(d_table);
    for (int k = 0; k < 3; k++) {
        cudaFree(d_v[k]);
        mem_free(v[k]);
    }
    mem_free(w);
    pool_destroy(threads);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices_can_stop_and_sizes_are_checked),
        cmocka_unit_test(test_matches_cpu),
        cmocka_unit_test(test_derivative_product_matches_cpu),
        cmocka_unit_test(test_large_quotient_divides),
    };
    if (!gpu_test_has_device())
        return GPU_TEST_SKIPPED;
    return cmocka_run_group_tests(tests, setup, teardown);
}
