/* The device MSM against src/msm, and at large sizes against known logarithms. Run on a machine
 * with a device; exit status 0 means that all cases passed. Arguments: [lg_n_max [seed]]
 * (default 22, 1); 26 needs 64 GB of device memory. */
#include "base/mem.h"
#include "base/pool.h"
#include "gpu/gpu_msm.h"
#include "msm/msm.h"
#include "msm_fixture.h"
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LG_N_CPU 18u

static run_ctx rc;
static unsigned n_cases, n_failed;

enum scalar_kind {
    RANDOM,
    ZERO,
    ONE,
    R_MINUS_1,
    SINGLE,
    POWERS,
    SHORT,
    MIXED,
    EQUAL,
    OVER_R,
    N_SCALAR_KINDS
};
static const char *const scalar_names[] = {"random", "zero",  "one",   "r-1",   "single",
                                           "powers", "short", "mixed", "equal", "over-r"};
enum base_kind { MULTIPLES, SAME, OPPOSITE, INFINITIES, ALL_INFINITE, N_BASE_KINDS };
static const char *const base_names[] = {"multiples", "same", "opposite", "infinities",
                                         "all infinite"};

static void fill_scalars(fr_int *k, size_t n, enum scalar_kind kind)
{
    static const fr_int one = {{1, 0, 0, 0}};
    fr_int minus_1 = FR_MODULUS, same;
    minus_1.l[0]--;
    fixture_scalar(&same);
    for (size_t i = 0; i < n; i++) {
        memset(&k[i], 0, sizeof k[i]);
        switch (kind) {
        case RANDOM:
            fixture_scalar(&k[i]);
            break;
        case ONE:
            k[i] = one;
            break;
        case R_MINUS_1:
            k[i] = minus_1;
            break;
        case POWERS:
            k[i].l[i % 255 / 64] = (uint64_t)1 << (i % 255 % 64);
            break;
        case SHORT:
            k[i].l[0] = fixture_rng() & 0xffff;
            break;
        case MIXED:
            if (fixture_rng() % 3 > 0)
                k[i] = fixture_rng() % 2 ? one : minus_1;
            break;
        case EQUAL:
            k[i] = same;
            break;
        case OVER_R:
            for (int j = 0; j < 4; j++)
                k[i].l[j] = j < 3 ? fixture_rng() : 0x7fffffffffffffffu;
            break;
        default:
            break;
        }
    }
    if (kind == SINGLE)
        fixture_scalar(&k[n / 2]);
}

static void fill_bases(g1_aff *b, const g1_aff *multiples, size_t n, enum base_kind kind)
{
    for (size_t i = 0; i < n; i++) {
        b[i] = multiples[kind == SAME || kind == OPPOSITE ? 6 : i];
        if (kind == OPPOSITE && i % 2)
            g1_aff_neg(&b[i], &b[i]);
        if (kind == ALL_INFINITE || (kind == INFINITIES && fixture_rng() % 3 == 0))
            memset(&b[i], 0, sizeof b[i]);
    }
}

static void check(const g1_jac *got, const g1_jac *want, cuzk_status st, const char *what, size_t n,
                  const char *a, const char *b)
{
    n_cases++;
    if (st.code == CUZK_OK && g1_jac_eq(got, want))
        return;
    n_failed++;
    printf("FAILED: %s n=%zu %s %s: %s\n", what, n, a, b,
           st.code == CUZK_OK ? "wrong point" : st.msg);
}

typedef struct device {
    void *d_bases, *d_scalars, *d_ws;
    size_t ws_bytes;
} device;

static void put_bases(device *d, const g1_aff *b, size_t n)
{
    FIXTURE_NEED(cudaMemcpy(d->d_bases, b, n * sizeof *b, cudaMemcpyHostToDevice));
    cuzk_status st = gpu_msm_prepare_bases(d->d_bases, n, NULL);
    fixture_need(st.code == CUZK_OK, st.msg);
}

/* groups: 1 for the fastest plan, else a workspace too small for fewer groups of windows. */
static void msm_case(device *d, const g1_aff *b, const fr_int *k, size_t n, unsigned groups,
                     const char *bname, const char *sname)
{
    g1_jac got, want;
    size_t bytes = gpu_msm_workspace_bytes(n, SIZE_MAX);
    if (groups > 1)
        bytes = gpu_msm_workspace_bytes(n, bytes - 1);
    fixture_need(bytes > 0 && bytes <= d->ws_bytes, "workspace");
    gpu_msm_ws ws = {d->d_ws, bytes, NULL};
    FIXTURE_NEED(cudaMemcpy(d->d_scalars, k, n * sizeof *k, cudaMemcpyHostToDevice));
    FIXTURE_NEED(cudaMemset(d->d_ws, 0xa5, bytes));
    cuzk_status st = gpu_msm_g1_sync(&got, d->d_bases, d->d_scalars, n, &ws);
    cuzk_status cpu = msm_g1(&want, b, k, n, &rc);
    fixture_need(cpu.code == CUZK_OK, cpu.msg);
    check(&got, &want, st, groups > 1 ? "msm in groups" : "msm", n, bname, sname);
}

static void sums_case(device *d, const g1_aff *b, size_t n, unsigned n_masks, unsigned density,
                      const char *bname)
{
    g1_jac got[GPU_MSM_MASKS_MAX], want;
    size_t words = (n + 63) / 64, bytes = gpu_msm_sums_workspace_bytes(n, n_masks);
    uint64_t *masks = mem_alloc(words * n_masks * 8, 64);
    fixture_need(masks && bytes > 0 && bytes <= d->ws_bytes, "sums");
    for (size_t i = 0; i < words * n_masks; i++)
        masks[i] = density == 0   ? 0
                   : density == 1 ? fixture_rng() & fixture_rng() & fixture_rng()
                   : density == 2 ? fixture_rng()
                                  : ~(uint64_t)0;
    gpu_msm_ws ws = {d->d_ws, bytes, NULL};
    FIXTURE_NEED(cudaMemcpy(d->d_scalars, masks, words * n_masks * 8, cudaMemcpyHostToDevice));
    FIXTURE_NEED(cudaMemset(d->d_ws, 0xa5, bytes));
    cuzk_status st = gpu_msm_g1_sums_sync(got, d->d_bases, d->d_scalars, n, n_masks, &ws);
    for (unsigned j = 0; j < n_masks; j++) {
        cuzk_status cpu = msm_g1_sum(&want, b, masks + j * words, n, &rc);
        fixture_need(cpu.code == CUZK_OK, cpu.msg);
        check(&got[j], &want, st, "sum", n, bname,
              density == 0   ? "none"
              : density == 3 ? "all"
                             : "some");
    }
    mem_free(masks);
}

/* All kinds at one size. */
static void small_size(device *d, const g1_aff *multiples, g1_aff *b, fr_int *k, size_t n, bool all)
{
    for (int bk = 0; bk < N_BASE_KINDS; bk++) {
        fill_bases(b, multiples, n, (enum base_kind)bk);
        put_bases(d, b, n);
        for (int sk = 0; sk < N_SCALAR_KINDS; sk++) {
            if (!all && (bk + sk + (int)n) % 5)
                continue;
            fill_scalars(k, n, (enum scalar_kind)sk);
            msm_case(d, b, k, n, 1, base_names[bk], scalar_names[sk]);
        }
        fill_scalars(k, n, RANDOM);
        msm_case(d, b, k, n, 2, base_names[bk], "random");
        sums_case(d, b, n, 1, 2, base_names[bk]);
        sums_case(d, b, n, 1, all ? 3 : (unsigned)n % 4, base_names[bk]);
        sums_case(d, b, n, 3, 1, base_names[bk]);
        sums_case(d, b, n, 10, 2, base_names[bk]);
    }
}

static void large_size(device *d, fr_int *k, unsigned lg_n)
{
    size_t n = (size_t)1 << lg_n;
    static const enum scalar_kind kinds[] = {RANDOM, EQUAL, MIXED, SHORT, R_MINUS_1};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        g1_jac got, want;
        gpu_msm_ws ws = {d->d_ws, d->ws_bytes, NULL};
        fill_scalars(k, n, kinds[i]);
        FIXTURE_NEED(cudaMemcpy(d->d_scalars, k, n * sizeof *k, cudaMemcpyHostToDevice));
        cuzk_status st = gpu_msm_g1_sync(&got, d->d_bases, d->d_scalars, n, &ws);
        fixture_expect(&want, k, n);
        check(&got, &want, st, "msm", n, "multiples", scalar_names[kinds[i]]);
    }
}

int main(int argc, char **argv)
{
    unsigned lg_max = argc > 1 ? (unsigned)atoi(argv[1]) : 22;
    unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    fixture_seed(seed);
    printf("seed %llu\n", seed);
    lg_max = lg_max < LG_N_CPU ? LG_N_CPU : lg_max > 27 ? 27 : lg_max;
    size_t n_max = (size_t)1 << lg_max, n_cpu = (size_t)1 << LG_N_CPU, free_bytes, total;
    device d;
    FIXTURE_NEED(cudaMalloc(&d.d_bases, n_max * 96));
    FIXTURE_NEED(cudaMalloc(&d.d_scalars, n_max * 32));
    FIXTURE_NEED(cudaMemGetInfo(&free_bytes, &total));
    size_t want = 2 * gpu_msm_workspace_bytes(n_cpu, SIZE_MAX),
           fits = free_bytes - ((size_t)1 << 30);
    d.ws_bytes = gpu_msm_workspace_bytes(n_max, fits);
    d.ws_bytes = d.ws_bytes > want ? d.ws_bytes : want;
    FIXTURE_NEED(cudaMalloc(&d.d_ws, d.ws_bytes));
    g1_aff *multiples = mem_alloc(n_cpu * sizeof *multiples, 64),
           *b = mem_alloc(n_cpu * sizeof *b, 64);
    fr_int *k = mem_alloc(n_max * sizeof *k, 64);
    fixture_need(multiples && b && k, "memory");
    cuzk_status st = pool_create(&rc.pool, 0);
    fixture_need(st.code == CUZK_OK, st.msg);

    fixture_multiples(d.d_bases, lg_max);
    FIXTURE_NEED(
        cudaMemcpy(multiples, d.d_bases, n_cpu * sizeof *multiples, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n_cpu; i += i < 100 ? 1 : 4099)
        fixture_need(g1_aff_is_on_curve(&multiples[i]), "multiples on the curve");
    st = gpu_msm_prepare_bases(d.d_bases, n_max, NULL);
    fixture_need(st.code == CUZK_OK, st.msg);
    for (unsigned lg = 20; lg <= lg_max; lg += 2)
        large_size(&d, k, lg);
    printf("large: %u cases, %u failed\n", n_cases, n_failed);
    for (size_t n = 1; n <= 70; n++)
        small_size(&d, multiples, b, k, n, n <= 3 || n == 33);
    printf("up to 70: %u cases, %u failed\n", n_cases, n_failed);
    small_size(&d, multiples, b, k, 1000, true);
    small_size(&d, multiples, b, k, (size_t)1 << 16, true);
    small_size(&d, multiples, b, k, n_cpu, false);
    printf("%u cases, %u failed\n", n_cases, n_failed);
    pool_destroy(rc.pool);
    return n_failed > 0;
}
