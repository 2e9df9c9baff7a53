/* Row evaluations and query masks on the device against r1cs_eval and a bit-by-bit compaction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/mem.h"
#include "circuit/circuit.h"
#include "device_test.h"
#include "gpu/gpu_shape.h"
#include "r1cs/eval.h"
#include "random_shape.h"

static const uint64_t seed = 0x5ba9e5u;
static cudaStream_t stream;
static gpu_run run;
static pool *threads;

static void must(cuzk_status st, const char *what)
{
    if (st.code != CUZK_OK)
        fail_msg("%s: %s", what, st.msg);
}

static void *to_device(const void *p, size_t bytes)
{
    void *d;
    CUDA_OK(cudaMalloc(&d, bytes + 256));
    CUDA_OK(cudaMemcpyAsync(d, p, bytes, cudaMemcpyHostToDevice, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    return d;
}

static void compare(const r1cs_shape *s, const witness *w, uint32_t lg_m, void *const d_out[2],
                    const char *name)
{
    size_t m = (size_t)1 << lg_m;
    run_ctx rc = {.pool = threads};
    fr *want[2], *got = mem_alloc(m * sizeof(fr), 64);
    for (int k = 0; k < 2; k++)
        assert_non_null(want[k] = mem_alloc(m * sizeof(fr), 64));
    must(r1cs_eval(s, w, want[0], want[1], NULL, m, &rc), name);
    for (int k = 0; k < 2; k++) {
        CUDA_OK(cudaMemcpy(got, d_out[k], m * sizeof(fr), cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < m; i++)
            if (memcmp(&got[gpu_test_bit_reverse(i, lg_m)], &want[k][i], sizeof(fr)) != 0)
                fail_msg("%s, domain 2^%u: row %zu of %c differs", name, lg_m, i, "AB"[k]);
        mem_free(want[k]);
    }
    mem_free(got);
}

/* Evaluate in the smallest domain and in one twice as large. */
static void check_shape(const r1cs_shape *s, uint64_t sd, const char *name)
{
    gpu_shape *g;
    witness w;
    must(gpu_shape_create(&g, s, false), name);
    must(random_shape_witness(&w, s, sd), name);
    void *d_image = to_device(gpu_shape_image(g), gpu_shape_bytes(g));
    gpu_witness dw = {to_device(w.inputs, w.n_inputs * sizeof(fr)),
                      to_device(w.bits, (w.n_aux + 63) / 64 * 8),
                      to_device(w.dense, w.n_dense * sizeof(fr))};
    uint32_t lg_m = r1cs_shape_counts(s)->lg_m;
    void *d_out[2];
    for (int k = 0; k < 2; k++)
        CUDA_OK(cudaMalloc(&d_out[k], 2 * sizeof(fr) << lg_m));
    assert_int_equal(gpu_shape_eval(g, d_out[0], d_out[1], &dw, lg_m, &run).code, CUZK_E_RANGE);
    gpu_shape_bind(g, d_image);
    if (lg_m > 0)
        assert_int_equal(gpu_shape_eval(g, d_out[0], d_out[1], &dw, lg_m - 1, &run).code,
                         CUZK_E_RANGE);
    for (uint32_t lg = lg_m; lg <= lg_m + (lg_m < 20); lg++) {
        for (int k = 0; k < 2; k++)
            CUDA_OK(cudaMemsetAsync(d_out[k], 0xff, 2 * sizeof(fr) << lg_m, stream));
        must(gpu_shape_eval(g, d_out[0], d_out[1], &dw, lg, &run), name);
        CUDA_OK(cudaStreamSynchronize(stream));
        compare(s, &w, lg, d_out, name);
    }
    void *d[] = {d_image,  (void *)(uintptr_t)dw.d_inputs, (void *)(uintptr_t)dw.d_bits,
                 d_out[0], (void *)(uintptr_t)dw.d_dense,  d_out[1]};
    for (size_t i = 0; i < sizeof d / sizeof *d; i++)
        cudaFree(d[i]);
    witness_fini(&w);
    gpu_shape_destroy(g);
}

static void test_random_shapes_match_cpu(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 40; i++) {
        r1cs_shape *s;
        char name[32];
        snprintf(name, sizeof name, "seed %llx", (unsigned long long)(seed + i));
        must(random_shape_make(&s, seed + i, (uint32_t)(1 + i * i / 4)), name);
        check_shape(s, seed + i, name);
        r1cs_shape_destroy(s);
    }
}

static void test_empty_shape(void **state)
{
    (void)state;
    cs c;
    r1cs_shape *s;
    must(cs_init_shape(&c, "empty"), "empty");
    must(cs_finish_shape(&c, &s), "empty");
    cs_fini(&c);
    check_shape(s, seed, "empty");
    r1cs_shape_destroy(s);
}

static void test_circuits_match_cpu(void **state)
{
    (void)state;
    static const char *const names[] = {"WinningPoSt 2KiB", "WinningPoSt 32GiB", "PoRep 2KiB",
                                        "EmptySectorUpdate 2KiB"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        r1cs_shape *s;
        must(circuit_shape(&s, names[i]), names[i]);
        check_shape(s, seed, names[i]);
        r1cs_shape_destroy(s);
    }
}

static void bit_set(uint64_t *w, uint64_t i) { w[i / 64] |= (uint64_t)1 << (i % 64); }
static bool bit_get(const uint64_t *w, uint64_t i) { return w[i / 64] >> (i % 64) & 1; }

static void check_mask(uint64_t n_aux, uint32_t n_skip, int density_of_8, uint64_t s)
{
    size_t words = (size_t)(n_aux + 63) / 64;
    uint64_t *bits = mem_zalloc((words + 1) * 8, 64), *sel = mem_zalloc((words + 1) * 8, 64);
    uint64_t *want = mem_zalloc((words + n_skip / 64 + 2) * 8, 64);
    uint64_t *got = mem_zalloc((words + n_skip / 64 + 2) * 8, 64), n = n_skip;
    uint32_t *rank = mem_zalloc((words + 1) * 4, 64);
    for (uint64_t i = 0; i < n_aux; i++) {
        uint64_t r = gpu_test_u64(&s);
        if (i % 64 == 0)
            rank[i / 64] = (uint32_t)(n - n_skip);
        if (r & 1)
            bit_set(bits, i);
        if (density_of_8 < 0 || (int)(r >> 8 & 7) < density_of_8) {
            bit_set(sel, i);
            if (r & 1)
                bit_set(want, n);
            n++;
        }
    }
    void *d_bits = to_device(bits, words * 8), *d_sel = to_device(sel, words * 8);
    void *d_rank = to_device(rank, words * 4), *d_mask = to_device(want, (n + 63) / 64 * 8);
    CUDA_OK(cudaMemsetAsync(d_mask, 0xa5, (n + 63) / 64 * 8, stream));
    must(gpu_query_mask(d_mask, n, n_skip, d_bits, n_aux, density_of_8 < 0 ? NULL : d_sel, d_rank,
                        &run),
         "mask");
    CUDA_OK(cudaStreamSynchronize(stream));
    CUDA_OK(cudaMemcpy(got, d_mask, (n + 63) / 64 * 8, cudaMemcpyDeviceToHost));
    for (uint64_t i = 0; i < (n + 63) / 64 * 64; i++)
        if (bit_get(got, i) != bit_get(want, i))
            fail_msg("%llu bits, %u skipped, density %d: entry %llu", (unsigned long long)n_aux,
                     n_skip, density_of_8, (unsigned long long)i);
    void *d[] = {d_bits, d_sel, d_rank, d_mask}, *h[] = {bits, sel, want, got, rank};
    for (size_t i = 0; i < 4; i++)
        cudaFree(d[i]);
    for (size_t i = 0; i < 5; i++)
        mem_free(h[i]);
}

static void test_masks_match_bit_by_bit_compaction(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 63, 64, 65, 1000, 16384, 1000003};
    static const uint32_t skips[] = {0, 1, 63, 64, 328};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof skips / sizeof *skips; k++)
            for (int density = -1; density <= 8; density += 3)
                check_mask(sizes[i], skips[k], density, seed + i + 100 * k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_shapes_match_cpu),
        cmocka_unit_test(test_empty_shape),
        cmocka_unit_test(test_circuits_match_cpu),
        cmocka_unit_test(test_masks_match_bit_by_bit_compaction),
    };
    if (!gpu_test_has_device())
        return GPU_TEST_SKIPPED;
    if (pool_create(&threads, 0).code != CUZK_OK ||
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
        return 1;
    run.stream = stream;
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    cudaStreamDestroy(stream);
    pool_destroy(threads);
    return rc;
}
