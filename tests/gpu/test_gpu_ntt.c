/* The device transforms against poly/ntt.h byte for byte, and against their definition and
 * themselves at sizes the CPU takes long for. */
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/mem.h"
#include "device_test.h"
#include "gpu/gpu_ntt.h"
#include "poly/ntt.h"

#define LG_CPU_MAX 20u
#define LG_MAX 27u
static const uint64_t seed = 0x17e5eed5u;
static cudaStream_t stream;
static gpu_ntt_table table;
static void *d_table, *d_a;
static pool *threads;
static fr *host, *want, *got;

static void status_ok(cuzk_status st, uint32_t lg_n)
{
    if (st.code != CUZK_OK)
        fail_msg("2^%u: %s", lg_n, st.msg);
}

enum pattern { RANDOM, ZEROS, ALL_MINUS_ONE, MIXED, N_PATTERNS };

static void fill(fr *a, uint32_t lg_n, enum pattern p)
{
    uint64_t s = seed + lg_n;
    for (size_t i = 0; i < (size_t)1 << lg_n; i++) {
        uint64_t r = gpu_test_u64(&s);
        if (p == ZEROS || (p == MIXED && r % 3 == 0)) {
            a[i] = FR_ZERO;
        } else if (p == ALL_MINUS_ONE || (p == MIXED && r % 3 == 1)) {
            memcpy(&a[i], &FR_MODULUS, sizeof a[i]); /* the largest words, r - 1 */
            a[i].l[0]--;
        } else {
            for (int k = 0; k < 4; k++)
                a[i].l[k] = gpu_test_u64(&s);
            a[i].l[3] >>= 2; /* below r */
        }
    }
}

static void to_device(const fr *a, uint32_t lg_n)
{
    CUDA_OK(cudaMemcpyAsync(d_a, a, sizeof *a << lg_n, cudaMemcpyHostToDevice, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
}

static void to_host(fr *a, uint32_t lg_n)
{
    CUDA_OK(cudaMemcpyAsync(a, d_a, sizeof *a << lg_n, cudaMemcpyDeviceToHost, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
}

/* got becomes want's order; both as bytes. */
static void assert_reversed(uint32_t lg_n, const char *what, int pattern)
{
    for (size_t k = 0; k < (size_t)1 << lg_n; k++)
        if (memcmp(&got[gpu_test_bit_reverse(k, lg_n)], &want[k], sizeof *want) != 0)
            fail_msg("%s 2^%u, pattern %d: element %zu differs, seed %llx", what, lg_n, pattern, k,
                     (unsigned long long)seed);
}

static void test_forward_and_inverse_match_cpu(void **state)
{
    (void)state;
    run_ctx rc = {.pool = threads};
    ntt_plan *plan;
    status_ok(ntt_plan_create(&plan, LG_CPU_MAX, &rc), LG_CPU_MAX);
    for (uint32_t lg = 0; lg <= LG_CPU_MAX; lg++)
        for (int p = 0; p < (lg <= 14 ? N_PATTERNS : 1); p++) {
            size_t n = (size_t)1 << lg;
            fill(host, lg, p);
            memcpy(want, host, n * sizeof *host);
            status_ok(ntt_forward(plan, want, lg, &rc), lg);
            to_device(host, lg);
            status_ok(gpu_ntt_forward(&table, d_a, lg, stream), lg);
            to_host(got, lg);
            assert_reversed(lg, "forward", p);

            /* The device's input is the same vector in bit-reversed places. */
            memcpy(want, host, n * sizeof *host);
            status_ok(ntt_inverse(plan, want, lg, &rc), lg);
            for (size_t k = 0; k < n; k++)
                got[gpu_test_bit_reverse(k, lg)] = host[k];
            to_device(got, lg);
            status_ok(gpu_ntt_inverse(&table, d_a, lg, stream), lg);
            to_host(got, lg);
            if (memcmp(got, want, n * sizeof *got) != 0)
                fail_msg("inverse 2^%u, pattern %d", lg, p);
        }
    ntt_plan_destroy(plan);
}

static void test_inverse_undoes_forward(void **state)
{
    (void)state;
    for (uint32_t lg = LG_CPU_MAX + 1; lg <= LG_MAX; lg++) {
        fill(host, lg, RANDOM);
        to_device(host, lg);
        status_ok(gpu_ntt_forward(&table, d_a, lg, stream), lg);
        status_ok(gpu_ntt_inverse(&table, d_a, lg, stream), lg);
        to_host(got, lg);
        if (memcmp(got, host, sizeof *host << lg) != 0)
            fail_msg("round trip 2^%u, seed %llx", lg, (unsigned long long)seed);
    }
}

/* Twenty times there and back, without a wait between: exchanges within warps must not race. */
static void test_repeated_round_trips_give_one_answer(void **state)
{
    (void)state;
    for (uint32_t lg = 12; lg <= 22; lg++) {
        fill(host, lg, RANDOM);
        to_device(host, lg);
        for (int i = 0; i < 20; i++)
            status_ok(gpu_ntt_forward(&table, d_a, lg, stream), lg);
        for (int i = 0; i < 20; i++)
            status_ok(gpu_ntt_inverse(&table, d_a, lg, stream), lg);
        to_host(got, lg);
        if (memcmp(got, host, sizeof *host << lg) != 0)
            fail_msg("20 round trips 2^%u, seed %llx", lg, (unsigned long long)seed);
    }
}

/* Three terms c_i x^e_i: samples of the transform are sums of powers. */
static void test_large_forward_is_evaluation(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (uint32_t lg = LG_CPU_MAX + 1; lg <= LG_MAX; lg++) {
        size_t n = (size_t)1 << lg, e[3] = {1, n / 2 + 5, n - 1 - gpu_test_u64(&s) % (n / 4)};
        fr w, c[3];
        fr_root_of_unity(&w, lg);
        memset(host, 0, n * sizeof *host);
        for (int i = 0; i < 3; i++) {
            fr_from_u64(&c[i], gpu_test_u64(&s));
            host[e[i]] = c[i];
        }
        to_device(host, lg);
        status_ok(gpu_ntt_forward(&table, d_a, lg, stream), lg);
        to_host(got, lg);
        for (int t = 0; t < 200; t++) {
            size_t k = t == 0 ? 0 : t == 1 ? n - 1 : gpu_test_u64(&s) % n;
            fr sum = FR_ZERO, x, v;
            fr_pow_u64(&x, &w, k);
            for (int i = 0; i < 3; i++) {
                fr_pow_u64(&v, &x, e[i]);
                fr_mul(&v, &v, &c[i]);
                fr_add(&sum, &sum, &v);
            }
            assert_memory_equal(&got[gpu_test_bit_reverse(k, lg)], &sum, sizeof sum);
        }
    }
}

/* The largest size, whose vector and table take 17 GiB: into samples that are sums of powers and back
 * to three terms and zeros. */
typedef struct largest {
    void *d_a, *d_table;
    gpu_ntt_table table;
    size_t e[3];
    fr c[3];
} largest;

static void largest_make(largest *x)
{
    size_t n = (size_t)1 << GPU_NTT_LG_N_MAX;
    x->e[0] = 1, x->e[1] = n / 2 + 5, x->e[2] = n - 7;
    CUDA_OK(cudaMalloc(&x->d_a, n * sizeof(fr)));
    CUDA_OK(cudaMalloc(&x->d_table, gpu_ntt_table_bytes(GPU_NTT_LG_N_MAX)));
    status_ok(gpu_ntt_table_build(&x->table, x->d_table, GPU_NTT_LG_N_MAX, stream),
              GPU_NTT_LG_N_MAX);
    CUDA_OK(cudaMemsetAsync(x->d_a, 0, n * sizeof(fr), stream));
    for (int i = 0; i < 3; i++) {
        fr_from_u64(&x->c[i], seed * (uint64_t)(i + 1));
        CUDA_OK(cudaMemcpyAsync((fr *)x->d_a + x->e[i], &x->c[i], sizeof(fr),
                                cudaMemcpyHostToDevice, stream));
    }
    CUDA_OK(cudaStreamSynchronize(stream));
}

static void largest_samples(const largest *x)
{
    uint64_t s = seed;
    size_t n = (size_t)1 << GPU_NTT_LG_N_MAX;
    fr w;
    fr_root_of_unity(&w, GPU_NTT_LG_N_MAX);
    for (int t = 0; t < 200; t++) {
        size_t k = t == 0 ? 0 : t == 1 ? n - 1 : gpu_test_u64(&s) % n;
        fr sum = FR_ZERO, at, v, found;
        fr_pow_u64(&at, &w, k);
        for (int i = 0; i < 3; i++) {
            fr_pow_u64(&v, &at, x->e[i]);
            fr_mul(&v, &v, &x->c[i]);
            fr_add(&sum, &sum, &v);
        }
        CUDA_OK(cudaMemcpy(&found, (fr *)x->d_a + gpu_test_bit_reverse(k, GPU_NTT_LG_N_MAX),
                           sizeof found, cudaMemcpyDeviceToHost));
        assert_memory_equal(&found, &sum, sizeof sum);
    }
}

static void largest_is_sparse(const largest *x)
{
    size_t n = (size_t)1 << GPU_NTT_LG_N_MAX, step = (size_t)1 << LG_MAX;
    for (size_t at = 0; at < n; at += step) {
        CUDA_OK(cudaMemcpy(got, (fr *)x->d_a + at, step * sizeof(fr), cudaMemcpyDeviceToHost));
        for (size_t k = 0; k < step; k++) {
            const fr *is = &FR_ZERO;
            for (int i = 0; i < 3; i++)
                is = at + k == x->e[i] ? &x->c[i] : is;
            if (memcmp(&got[k], is, sizeof *is) != 0)
                fail_msg("round trip 2^%u: element %zu differs", GPU_NTT_LG_N_MAX, at + k);
        }
    }
}

static void test_largest_size(void **state)
{
    (void)state;
    largest x = {0};
    size_t free_bytes, total_bytes;
    size_t need = (sizeof(fr) << GPU_NTT_LG_N_MAX) + gpu_ntt_table_bytes(GPU_NTT_LG_N_MAX);
    CUDA_OK(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (free_bytes < need + ((size_t)1 << 30)) {
        print_message("2^%u: %zu bytes needed, %zu free\n", GPU_NTT_LG_N_MAX, need, free_bytes);
        skip();
    }
    largest_make(&x);
    status_ok(gpu_ntt_forward(&x.table, x.d_a, GPU_NTT_LG_N_MAX, stream), GPU_NTT_LG_N_MAX);
    CUDA_OK(cudaStreamSynchronize(stream));
    largest_samples(&x);
    status_ok(gpu_ntt_inverse(&x.table, x.d_a, GPU_NTT_LG_N_MAX, stream), GPU_NTT_LG_N_MAX);
    CUDA_OK(cudaStreamSynchronize(stream));
    largest_is_sparse(&x);
    cudaFree(x.d_table);
    cudaFree(x.d_a);
}

static void test_sizes_are_checked(void **state)
{
    (void)state;
    gpu_ntt_table t = {0};
    assert_int_equal(gpu_ntt_table_build(&t, d_table, GPU_NTT_TABLE_LG_MAX + 1, stream).code,
                     CUZK_E_RANGE);
    assert_int_equal(gpu_ntt_forward(&t, d_a, 4, stream).code, CUZK_E_RANGE);
    assert_int_equal(gpu_ntt_forward(&table, d_a, LG_MAX + 1, stream).code, CUZK_E_RANGE);
    assert_int_equal(gpu_ntt_inverse(&table, d_a, LG_MAX + 1, stream).code, CUZK_E_RANGE);
}

static int setup(void **state)
{
    (void)state;
    size_t bytes = sizeof(fr) << LG_MAX;
    host = mem_alloc(bytes, 64);
    want = mem_alloc(sizeof(fr) << LG_CPU_MAX, 64);
    got = mem_alloc(bytes, 64);
    if (!host || !want || !got || pool_create(&threads, 0).code != CUZK_OK)
        return -1;
    if (cudaMalloc(&d_a, bytes) != cudaSuccess ||
        cudaMalloc(&d_table, gpu_ntt_table_bytes(LG_MAX)) != cudaSuccess ||
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
        return -1;
    return gpu_ntt_table_build(&table, d_table, LG_MAX, stream).code == CUZK_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    cudaStreamDestroy(stream);
    cudaFree(d_table);
    cudaFree(d_a);
    pool_destroy(threads);
    mem_free(got);
    mem_free(want);
    mem_free(host);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_are_checked),
        cmocka_unit_test(test_forward_and_inverse_match_cpu),
        cmocka_unit_test(test_inverse_undoes_forward),
        cmocka_unit_test(test_large_forward_is_evaluation),
        cmocka_unit_test(test_largest_size),
        cmocka_unit_test(test_repeated_round_trips_give_one_answer),
    };
    if (!gpu_test_has_device())
        return GPU_TEST_SKIPPED;
    return cmocka_run_group_tests(tests, setup, teardown);
}
