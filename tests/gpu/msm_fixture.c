/* Bases with known logarithms, random scalars and expected sums, on the host. */
#include "msm_fixture.h"
#include "msm/msm.h"
#include <stdio.h>
#include <stdlib.h>

static uint64_t rng_state;

static cuzk_status g1_msm(void *o, const void *b, const void *k, size_t n, const gpu_msm_ws *ws)
{
    return gpu_msm_g1_sync(o, b, k, n, ws);
}
static cuzk_status g2_msm(void *o, const void *b, const void *k, size_t n, const gpu_msm_ws *ws)
{
    return gpu_msm_g2_sync(o, b, k, n, ws);
}
static cuzk_status g1_tails(void *o, const void *b, const gpu_msm_tails *t, const gpu_msm_ws *ws)
{
    return gpu_msm_g1_tails_sync(o, b, t, ws);
}
static cuzk_status g2_tails(void *o, const void *b, const gpu_msm_tails *t, const gpu_msm_ws *ws)
{
    return gpu_msm_g2_tails_sync(o, b, t, ws);
}
static cuzk_status g1_sums(void *o, const void *b, const uint64_t *m, size_t n, unsigned n_masks,
                           const gpu_msm_ws *ws)
{
    return gpu_msm_g1_sums_sync(o, b, m, n, n_masks, ws);
}
static cuzk_status g2_sums(void *o, const void *b, const uint64_t *m, size_t n, unsigned n_masks,
                           const gpu_msm_ws *ws)
{
    return gpu_msm_g2_sums_sync(o, b, m, n, n_masks, ws);
}
static cuzk_status g1_cpu(void *o, const void *b, const fr_int *k, size_t n, const run_ctx *rc)
{
    return msm_g1(o, b, k, n, rc);
}
static cuzk_status g2_cpu(void *o, const void *b, const fr_int *k, size_t n, const run_ctx *rc)
{
    return msm_g2(o, b, k, n, rc);
}
static cuzk_status g1_sum(void *o, const void *b, const uint64_t *m, size_t n, const run_ctx *rc)
{
    return msm_g1_sum(o, b, m, n, rc);
}
static cuzk_status g2_sum(void *o, const void *b, const uint64_t *m, size_t n, const run_ctx *rc)
{
    return msm_g2_sum(o, b, m, n, rc);
}
static bool g1_eq(const void *a, const void *b) { return g1_jac_eq(a, b); }
static bool g2_eq(const void *a, const void *b) { return g2_jac_eq(a, b); }
static void g1_neg(void *a) { g1_aff_neg(a, a); }
static void g2_neg(void *a) { g2_aff_neg(a, a); }
static bool g1_on(const void *a) { return g1_aff_is_on_curve(a); }
static bool g2_on(const void *a) { return g2_aff_is_on_curve(a); }

const fixture_group FIXTURE_GROUPS[GPU_MSM_N_GROUPS] = {
    {"G1", GPU_MSM_G1, sizeof(g1_aff), sizeof(g1_jac), gpu_msm_prepare_bases_g1, g1_msm, g1_tails,
     g1_sums, g1_cpu, g1_sum, g1_eq, g1_neg, g1_on},
    {"G2", GPU_MSM_G2, sizeof(g2_aff), sizeof(g2_jac), gpu_msm_prepare_bases_g2, g2_msm, g2_tails,
     g2_sums, g2_cpu, g2_sum, g2_eq, g2_neg, g2_on}};

void fixture_need(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "cannot go on: %s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
        exit(2);
    }
}

void fixture_need_ok(cuzk_status st) { fixture_need(st.code == CUZK_OK, st.msg); }

void fixture_put(void *d, const void *h, size_t bytes)
{
    FIXTURE_NEED(cudaMemcpy(d, h, bytes, cudaMemcpyHostToDevice));
    FIXTURE_NEED(cudaDeviceSynchronize());
}

void fixture_fill(void *d, int byte, size_t bytes)
{
    FIXTURE_NEED(cudaMemset(d, byte, bytes));
    FIXTURE_NEED(cudaDeviceSynchronize());
}

void fixture_seed(uint64_t seed) { rng_state = seed; }

uint64_t fixture_rng(void) /* splitmix64 */
{
    uint64_t z = (rng_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void fixture_scalar(fr_int *k)
{
    for (int i = 0; i < 4; i++)
        k->l[i] = fixture_rng();
    k->l[3] %= FR_MODULUS.l[3]; /* below r */
}

void fixture_run(gpu_run *run)
{
    cudaStream_t s;
    FIXTURE_NEED(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    *run = (gpu_run){.stream = s};
}

void fixture_expect(const fixture_group *g, void *want, const fr_int *k, const uint32_t *idx,
                    size_t n)
{
    uint64_t acc[6] = {0};
    for (size_t i = 0; i < n; i++) {
        unsigned __int128 c = 0;
        uint64_t log = (idx ? idx[i] : i) + 1;
        for (int j = 0; j < 6; j++) {
            c += acc[j];
            if (j < 4)
                c += (unsigned __int128)k[i].l[j] * log;
            acc[j] = (uint64_t)c;
            c >>= 64;
        }
    }
    fr hi, lo, two_256;
    fr_int a = {{acc[0], acc[1], acc[2], acc[3]}}, h = {{acc[4], acc[5], 0, 0}}, m = {{0, 0, 0, 1}};
    fr_from_int(&lo, &a);
    fr_from_int(&hi, &h);
    fr_from_int(&two_256, &m); /* 2^192 */
    for (int i = 0; i < 64; i++)
        fr_dbl(&two_256, &two_256);
    fr_mul(&hi, &hi, &two_256);
    fr_add(&lo, &lo, &hi);
    fr_to_int(&a, &lo);
    fixture_point *w = want;
    if (g->id == GPU_MSM_G1) {
        g1_jac_from_aff(&w->g1, &G1_GENERATOR);
        g1_mul(&w->g1, &w->g1, &a);
    } else {
        g2_jac_from_aff(&w->g2, &G2_GENERATOR);
        g2_mul(&w->g2, &w->g2, &a);
    }
}

void fixture_multiples(const fixture_group *g, void *d_bases, unsigned lg_n)
{
    bool is_g2 = g->id == GPU_MSM_G2;
    g1_jac step1;
    g2_jac step2;
    g1_aff aff1;
    g2_aff aff2;
    g1_jac_from_aff(&step1, &G1_GENERATOR);
    g2_jac_from_aff(&step2, &G2_GENERATOR);
    fixture_put(d_bases, is_g2 ? (const void *)&G2_GENERATOR : (const void *)&G1_GENERATOR,
                g->aff_bytes);
    for (unsigned i = 0; i < lg_n; i++) {
        g1_jac_to_aff(&aff1, &step1);
        g2_jac_to_aff(&aff2, &step2);
        fixture_extend(is_g2, d_bases, (size_t)1 << i,
                       is_g2 ? (const void *)&aff2 : (const void *)&aff1);
        g1_jac_dbl(&step1, &step1);
        g2_jac_dbl(&step2, &step2);
    }
    FIXTURE_NEED(cudaDeviceSynchronize());
}
