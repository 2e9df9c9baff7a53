/* Dense tails in a batch against src/msm, and scalars from Montgomery form. Run on a machine with
 * a device; exit status 0 means that all cases passed. Argument: [seed] (default 1). */
#include "base/mem.h"
#include "base/pool.h"
#include "device_test.h"
#include "msm_fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LG_N_BASES 16u
#define N_BASES ((size_t)1 << LG_N_BASES)

static run_ctx rc;
static unsigned n_cases, n_failed;

static void check(bool same, cuzk_status st, const char *what, size_t n, unsigned k)
{
    n_cases++;
    if (st.code == CUZK_OK && same)
        return;
    n_failed++;
    printf("FAILED: %s n=%zu partition %u: %s\n", what, n, k,
           st.code == CUZK_OK ? "wrong" : st.msg);
}

typedef struct device {
    const fixture_group *g;
    char *bases, *gathered; /* on the host: all, and those of an index list */
    void *d_bases, *d_idx, *d_scalars, *d_ws, *pin;
    size_t ws_bytes;
    gpu_run run;
} device;

/* Ascending positions: n of N_BASES, the last among them. */
static void fill_idx(uint32_t *idx, size_t n)
{
    for (size_t j = 0; j < n; j++)
        idx[j] = (uint32_t)((j + 1) * N_BASES / n - 1);
}

/* Partition k: random, zero, one, r - 1, short, a single one, in turn. */
static void fill_scalars(fr_int *s, size_t n, unsigned k)
{
    fr_int minus_1 = FR_MODULUS;
    minus_1.l[0]--;
    for (size_t j = 0; j < n; j++) {
        memset(&s[j], 0, sizeof s[j]);
        if (k % 6 == 0)
            fixture_scalar(&s[j]);
        else if (k % 6 == 2)
            s[j].l[0] = 1;
        else if (k % 6 == 3)
            s[j] = minus_1;
        else if (k % 6 == 4)
            s[j].l[0] = fixture_rng() % 100;
    }
    if (k % 6 == 5)
        fixture_scalar(&s[n - 1]);
}

/* As many scalars as make the lists be ordered by parts, if they are uniform. */
#define N_LARGE N_BASES
#define BATCH_LARGE GPU_MSM_BATCH_MAX

/* small: a workspace with room for a few windows only. uniform: random scalars but for partition 1's,
 * which are zero. */
static void tails_case(const device *d, size_t n, unsigned n_batch, bool small, bool uniform)
{
    const fixture_group *g = d->g;
    fixture_point got[GPU_MSM_BATCH_MAX], want;
    const void *d_scalars[GPU_MSM_BATCH_MAX];
    uint32_t *idx = mem_alloc(n * sizeof *idx, 64);
    fr_int *s = mem_alloc(n * n_batch * sizeof *s, 64);
    fixture_need(idx && s, "memory");
    fill_idx(idx, n);
    for (size_t j = 0; j < n; j++)
        memcpy(d->gathered + j * g->aff_bytes, d->bases + idx[j] * g->aff_bytes, g->aff_bytes);
    for (unsigned k = 0; k < n_batch; k++) {
        fill_scalars(s + k * n, n, uniform ? k == 1 : k);
        d_scalars[n_batch - 1 - k] = (const char *)d->d_scalars + k * n * sizeof *s;
    }
    fixture_put(d->d_idx, idx, n * sizeof *idx);
    fixture_put(d->d_scalars, s, n * n_batch * sizeof *s);
    size_t bytes = gpu_msm_workspace_bytes(g->id, n, n_batch, SIZE_MAX);
    for (int i = 0; i < 4 && small; i++)
        bytes = gpu_msm_workspace_bytes(g->id, n, n_batch, bytes - 1);
    fixture_need(bytes > 0 && bytes <= d->ws_bytes, "workspace");
    gpu_msm_ws ws = {d->d_ws, bytes, d->pin, &d->run};
    fixture_fill(d->d_ws, 0x5a, bytes);
    gpu_msm_tails t = {d->d_idx, n, d_scalars, n_batch};
    cuzk_status st = g->tails(got, d->d_bases, &t, &ws);
    for (unsigned k = 0; k < n_batch; k++) {
        fixture_need_ok(g->cpu_msm(&want, d->gathered, s + (n_batch - 1 - k) * n, n, &rc));
        check(g->eq((char *)got + k * g->jac_bytes, &want), st, small ? "tails, small" : g->name, n,
              k);
    }
    mem_free(idx);
    mem_free(s);
}

static void test_group(const fixture_group *g)
{
    device d = {.g = g};
    fixture_run(&d.run);
    d.bases = mem_alloc(N_BASES * g->aff_bytes, 64);
    d.gathered = mem_alloc(N_BASES * g->aff_bytes, 64);
    fixture_need(d.bases && d.gathered, "memory");
    d.ws_bytes = gpu_msm_workspace_bytes(g->id, N_LARGE, BATCH_LARGE, SIZE_MAX);
    FIXTURE_NEED(cudaMallocHost(&d.pin, GPU_MSM_PIN_BYTES));
    FIXTURE_NEED(cudaMalloc(&d.d_bases, N_BASES * g->aff_bytes));
    FIXTURE_NEED(cudaMalloc(&d.d_idx, N_BASES * 4));
    FIXTURE_NEED(cudaMalloc(&d.d_scalars, BATCH_LARGE * N_LARGE * 32));
    FIXTURE_NEED(cudaMalloc(&d.d_ws, d.ws_bytes));
    fixture_multiples(g, d.d_bases, LG_N_BASES);
    FIXTURE_NEED(cudaMemcpy(d.bases, d.d_bases, N_BASES * g->aff_bytes, cudaMemcpyDeviceToHost));
    fixture_need_ok(g->prepare(d.d_bases, 0, N_BASES, &d.run));
    tails_case(&d, 1, 1, false, false);
    tails_case(&d, 2, 3, false, false);
    tails_case(&d, 257, GPU_MSM_BATCH_MAX, false, false);
    tails_case(&d, 257, 7, true, false);
    tails_case(&d, 5000, 10, false, false);
    tails_case(&d, 4999, 10, true, false);
    tails_case(&d, 4999, 10, false, true);
    tails_case(&d, N_LARGE, BATCH_LARGE, false, true);
    tails_case(&d, N_LARGE, BATCH_LARGE, true, true);
    tails_case(&d, N_LARGE, BATCH_LARGE, false, false);
    fixture_point got[GPU_MSM_BATCH_MAX], want;
    gpu_msm_ws ws = {d.d_ws, d.ws_bytes, d.pin, &d.run};
    const void *none[GPU_MSM_BATCH_MAX] = {NULL};
    gpu_msm_tails t = {d.d_idx, 0, none, GPU_MSM_BATCH_MAX};
    memset(&want, 0, sizeof want);
    cuzk_status st = g->tails(got, d.d_bases, &t, &ws);
    for (unsigned k = 0; k < GPU_MSM_BATCH_MAX; k++)
        check(g->eq((char *)got + k * g->jac_bytes, &want), st, "no tails", 0, k);
    t = (gpu_msm_tails){d.d_idx, 10, none, GPU_MSM_BATCH_MAX + 1};
    check(g->tails(got, d.d_bases, &t, &ws).code == CUZK_E_RANGE, cuzk_ok(), "large batch", 10, 0);
    t.n_batch = 0;
    check(g->tails(got, d.d_bases, &t, &ws).code == CUZK_E_RANGE, cuzk_ok(), "empty batch", 10, 0);
    void *device_parts[] = {d.d_bases, d.d_idx, d.d_scalars, d.d_ws};
    for (size_t i = 0; i < ARRAY_LEN(device_parts); i++)
        FIXTURE_NEED(cudaFree(device_parts[i]));
    FIXTURE_NEED(cudaFreeHost(d.pin));
    mem_free(d.bases);
    mem_free(d.gathered);
}

static void test_scalars(void)
{
    enum { N = 1000, N_OUT = 1777 };
    static fr in[N];
    static fr_int got[N_OUT], want[N];
    static uint32_t src[N_OUT];
    void *d_in, *d_out;
    uint32_t *d_src;
    gpu_run run;
    fixture_run(&run);
    for (size_t i = 0; i < N; i++) {
        fixture_scalar(&want[i]);
        if (i < 3)
            want[i] = (fr_int){{i, 0, 0, 0}};
        if (i == 3)
            want[i] = FR_MODULUS, want[i].l[0]--;
        fr_from_int(&in[i], &want[i]);
    }
    for (size_t j = 0; j < N_OUT; j++)
        src[j] = (uint32_t)(fixture_rng() % N);
    FIXTURE_NEED(cudaMalloc(&d_in, sizeof in));
    FIXTURE_NEED(cudaMalloc(&d_out, sizeof got));
    FIXTURE_NEED(cudaMalloc((void **)&d_src, sizeof src));
    fixture_put(d_in, in, sizeof in);
    fixture_put(d_src, src, sizeof src);
    cuzk_status st = gpu_scalars_gather(d_out, d_in, d_src, N_OUT, &run);
    FIXTURE_NEED(cudaStreamSynchronize((cudaStream_t)run.stream));
    FIXTURE_NEED(cudaMemcpy(got, d_out, sizeof got, cudaMemcpyDeviceToHost));
    bool same = true;
    for (size_t j = 0; j < N_OUT; j++)
        same = same && memcmp(&got[j], &want[src[j]], sizeof got[j]) == 0;
    check(same, st, "gathered scalars", N_OUT, 0);
    st = gpu_scalars_canonical(d_in, d_in, N, &run);
    FIXTURE_NEED(cudaStreamSynchronize((cudaStream_t)run.stream));
    FIXTURE_NEED(cudaMemcpy(got, d_in, sizeof want, cudaMemcpyDeviceToHost));
    check(memcmp(got, want, sizeof want) == 0, st, "canonical scalars", N, 0);
    FIXTURE_NEED(cudaFree(d_in));
    FIXTURE_NEED(cudaFree(d_out));
    FIXTURE_NEED(cudaFree(d_src));
}

int main(int argc, char **argv)
{
    if (!gpu_test_has_device())
        return GPU_TEST_SKIPPED;
    unsigned long long seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    fixture_seed(seed);
    printf("seed %llu\n", seed);
    fixture_need_ok(pool_create(&rc.pool, 0));
    for (int i = 0; i < GPU_MSM_N_GROUPS; i++)
        test_group(&FIXTURE_GROUPS[i]);
    test_scalars();
    printf("%u cases, %u failed\n", n_cases, n_failed);
    pool_destroy(rc.pool);
    return n_failed > 0;
}
