/* The device MSM and 0/1 sums against src/msm, and at large sizes against known logarithms. Run on
 * a machine with a device; exit status 0 means that all cases passed. Arguments: [lg_n_max [seed]]
 * (default 22, 1); 26 needs 64 GB of device memory. */
#include "base/mem.h"
#include "base/pool.h"
#include "device_test.h"
#include "msm_fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LG_N_G1_CPU 18u
#define LG_N_G2_CPU 14u
#define N_REPEATS 20u
#define SLICE_MS_MAX 60.0

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
    WARM, /* one in 128 is the same: a long segment in lists that are ordered by parts */
    HOT,  /* one in 8 is: too long for that */
    N_SCALAR_KINDS
};
static const char *const scalar_names[] = {"random", "zero",  "one",   "r-1",    "single", "powers",
                                           "short",  "mixed", "equal", "over-r", "warm",   "hot"};
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
        case WARM:
        case HOT:
            if (i % (kind == HOT ? 8 : 128) == 0)
                k[i] = same;
            else
                fixture_scalar(&k[i]);
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

static void check(bool same, cuzk_status st, const char *what, size_t n, const char *a,
                  const char *b)
{
    n_cases++;
    if (st.code == CUZK_OK && same)
        return;
    n_failed++;
    printf("FAILED: %s n=%zu %s %s: %s\n", what, n, a, b, st.code == CUZK_OK ? "wrong" : st.msg);
}

/* A group with its bases on both sides. */
typedef struct device {
    const fixture_group *g;
    void *d_bases, *d_scalars, *d_ws, *pin;
    size_t ws_bytes;
    gpu_run run;
    char *multiples, *b;
    fr_int *k;
} device;

static void fill_bases(const device *d, size_t n, enum base_kind kind)
{
    size_t bytes = d->g->aff_bytes;
    for (size_t i = 0; i < n; i++) {
        char *b = d->b + i * bytes;
        memcpy(b, d->multiples + (kind == SAME || kind == OPPOSITE ? 6 : i) * bytes, bytes);
        if (kind == OPPOSITE && i % 2)
            d->g->neg(b);
        if (kind == ALL_INFINITE || (kind == INFINITIES && fixture_rng() % 3 == 0))
            memset(b, 0, bytes);
    }
    fixture_put(d->d_bases, d->b, n * bytes);
    fixture_need_ok(d->g->prepare(d->d_bases, 0, n, &d->run));
}

static gpu_msm_ws workspace(const device *d, size_t bytes)
{
    fixture_need(bytes > 0 && bytes <= d->ws_bytes, "workspace");
    fixture_fill(d->d_ws, 0xa5, bytes);
    return (gpu_msm_ws){d->d_ws, bytes, d->pin, &d->run};
}

/* groups: 1 for the fastest plan, else a workspace too small for fewer groups of windows. */
static void msm_case(const device *d, size_t n, unsigned groups, const char *bname,
                     const char *sname)
{
    fixture_point got, want;
    size_t bytes = gpu_msm_workspace_bytes(d->g->id, n, 1, SIZE_MAX);
    if (groups > 1)
        bytes = gpu_msm_workspace_bytes(d->g->id, n, 1, bytes - 1);
    gpu_msm_ws ws = workspace(d, bytes);
    fixture_put(d->d_scalars, d->k, n * sizeof *d->k);
    cuzk_status st = d->g->msm(&got, d->d_bases, d->d_scalars, n, &ws);
    fixture_need_ok(d->g->cpu_msm(&want, d->b, d->k, n, &rc));
    check(d->g->eq(&got, &want), st, groups > 1 ? "msm in groups" : "msm", n, bname, sname);
}

static void sums_case(const device *d, size_t n, unsigned n_masks, unsigned density,
                      const char *bname)
{
    static const char *const names[] = {"none", "some", "half", "all"};
    fixture_point got[GPU_MSM_MASKS_MAX], want;
    size_t words = (n + 63) / 64;
    uint64_t *masks = mem_alloc(words * n_masks * 8, 64);
    fixture_need(masks != NULL, "masks");
    for (size_t i = 0; i < words * n_masks; i++)
        masks[i] = density == 0   ? 0
                   : density == 1 ? fixture_rng() & fixture_rng() & fixture_rng()
                   : density == 2 ? fixture_rng()
                                  : ~(uint64_t)0;
    gpu_msm_ws ws = workspace(d, gpu_msm_sums_workspace_bytes(d->g->id, n, n_masks));
    fixture_put(d->d_scalars, masks, words * n_masks * 8);
    cuzk_status st = d->g->sums(got, d->d_bases, d->d_scalars, n, n_masks, &ws);
    for (unsigned j = 0; j < n_masks; j++) {
        fixture_need_ok(d->g->cpu_sum(&want, d->b, masks + j * words, n, &rc));
        check(d->g->eq((char *)got + j * d->g->jac_bytes, &want), st, "sum", n, bname,
              names[density]);
    }
    mem_free(masks);
}

/* All kinds at one size. */
static void small_size(const device *d, size_t n, bool all)
{
    for (int bk = 0; bk < N_BASE_KINDS; bk++) {
        fill_bases(d, n, (enum base_kind)bk);
        for (int sk = 0; sk < N_SCALAR_KINDS; sk++) {
            if (!all && (bk + sk + (int)n) % 5)
                continue;
            fill_scalars(d->k, n, (enum scalar_kind)sk);
            msm_case(d, n, 1, base_names[bk], scalar_names[sk]);
        }
        fill_scalars(d->k, n, RANDOM);
        msm_case(d, n, 2, base_names[bk], "random");
        sums_case(d, n, 1, 2, base_names[bk]);
        sums_case(d, n, 1, all ? 3 : (unsigned)n % 4, base_names[bk]);
        sums_case(d, n, 3, 1, base_names[bk]);
        sums_case(d, n, 10, 2, base_names[bk]);
    }
}

static void large_case(const device *d, size_t n, enum scalar_kind kind)
{
    fixture_point got, want;
    gpu_msm_ws ws = workspace(d, gpu_msm_workspace_bytes(d->g->id, n, 1, d->ws_bytes));
    fill_scalars(d->k, n, kind);
    fixture_put(d->d_scalars, d->k, n * sizeof *d->k);
    cuzk_status st = d->g->msm(&got, d->d_bases, d->d_scalars, n, &ws);
    fixture_expect(d->g, &want, d->k, NULL, n);
    check(d->g->eq(&got, &want), st, "msm", n, "multiples", scalar_names[kind]);
}

static void large_size(const device *d, unsigned lg_n)
{
    static const enum scalar_kind kinds[] = {RANDOM, EQUAL,     MIXED, SHORT,
                                             WARM,   R_MINUS_1, HOT,   ZERO};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        large_case(d, (size_t)1 << lg_n, kinds[i]);
}

/* Sizes about the one from which lists are ordered by parts, and about tiles of that. */
static void border_sizes(const device *d, unsigned lg_max)
{
    static const size_t more[] = {1, 1023, 1025, 16383, 16384, 16385};
    const size_t n = (size_t)1 << 20;
    large_case(d, n - 1, RANDOM);
    for (size_t i = 0; i < ARRAY_LEN(more) && lg_max > 20; i++)
        large_case(d, n + more[i], RANDOM);
}

/* One MSM again and again. */
static void repeat(const device *d, unsigned lg_n)
{
    size_t n = (size_t)1 << lg_n;
    fixture_point want, got;
    fill_scalars(d->k, n, RANDOM);
    fixture_put(d->d_scalars, d->k, n * sizeof *d->k);
    fixture_expect(d->g, &want, d->k, NULL, n);
    gpu_msm_ws ws = workspace(d, gpu_msm_workspace_bytes(d->g->id, n, 1, d->ws_bytes));
    for (unsigned i = 0; i < N_REPEATS; i++) {
        cuzk_status st = d->g->msm(&got, d->d_bases, d->d_scalars, n, &ws);
        check(d->g->eq(&got, &want), st, "repeated msm", n, "multiples", "random");
    }
}

/* Slices: how long the device worked between two, and one that stops the work. */
typedef struct slices {
    void *stream;
    double last_ms, longest_ms;
    unsigned n, fail_at;
} slices;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static cuzk_status on_slice(void *ctx)
{
    slices *s = ctx;
    if (++s->n == s->fail_at)
        return cuzk_fail(CUZK_E_CANCELLED, "stopped");
    FIXTURE_NEED(cudaStreamSynchronize((cudaStream_t)s->stream));
    double now = now_ms(), ms = now - s->last_ms;
    if (s->n > 1 && ms > s->longest_ms)
        s->longest_ms = ms;
    s->last_ms = now;
    return cuzk_ok();
}

static void slice_cases(const device *d, unsigned lg_n)
{
    size_t n = (size_t)1 << lg_n;
    fill_scalars(d->k, n, RANDOM);
    fixture_put(d->d_scalars, d->k, n * sizeof *d->k);
    fixture_point got, want;
    slices s = {.stream = d->run.stream};
    gpu_run run = {.stream = d->run.stream, .slice = on_slice, .ctx = &s};
    gpu_msm_ws ws = workspace(d, gpu_msm_workspace_bytes(d->g->id, n, 1, d->ws_bytes));
    ws.run = &run;
    cuzk_status st = d->g->msm(&want, d->d_bases, d->d_scalars, n, &ws);
    printf("%s n=2^%u: %u slices, at most %.1f ms\n", d->g->name, lg_n, s.n, s.longest_ms);
    check(s.n > 0 && s.longest_ms < SLICE_MS_MAX, st, "slices", n, "", "too long");
    unsigned n_slices = s.n;
    for (unsigned at = 1; at <= n_slices; at += 1 + n_slices / 5) {
        s = (slices){.stream = d->run.stream, .fail_at = at};
        st = d->g->msm(&got, d->d_bases, d->d_scalars, n, &ws);
        static const fixture_point infinity;
        bool is_inf = memcmp(&got, &infinity, d->g->jac_bytes) == 0;
        check(st.code == CUZK_E_CANCELLED && is_inf, cuzk_ok(), "stopped msm", n, "", "");
    }
    ws.run = &d->run;
    st = d->g->msm(&got, d->d_bases, d->d_scalars, n, &ws);
    check(d->g->eq(&got, &want), st, "msm after a stopped one", n, "", "");
}

static void refused_cases(const device *d)
{
    fixture_point got[GPU_MSM_MASKS_MAX];
    size_t bytes = gpu_msm_workspace_bytes(d->g->id, 1000, 1, 1);
    check(bytes == 0, cuzk_ok(), "workspace of a byte", 1000, "", "");
    gpu_msm_ws ws = {d->d_ws, 4096, d->pin, &d->run};
    cuzk_status st = d->g->msm(got, d->d_bases, d->d_scalars, 1000, &ws);
    check(st.code == CUZK_E_RANGE, cuzk_ok(), "msm in a small workspace", 1000, "", "");
    st = d->g->sums(got, d->d_bases, d->d_scalars, 1000, 1, &ws);
    check(st.code == CUZK_E_RANGE, cuzk_ok(), "sum in a small workspace", 1000, "", "");
    ws.bytes = d->ws_bytes;
    st = d->g->sums(got, d->d_bases, d->d_scalars, 1000, GPU_MSM_MASKS_MAX + 1, &ws);
    check(st.code == CUZK_E_RANGE, cuzk_ok(), "too many masks", 1000, "", "");
    st = d->g->msm(got, d->d_bases, d->d_scalars, GPU_MSM_N_MAX, &ws);
    check(st.code == CUZK_E_RANGE, cuzk_ok(), "too many points", GPU_MSM_N_MAX, "", "");
    fixture_point want;
    memset(&want, 0, sizeof want);
    memset(got, 0xff, sizeof got);
    st = d->g->msm(got, d->d_bases, d->d_scalars, 0, &ws);
    check(d->g->eq(got, &want), st, "msm", 0, "", "");
    memset(got, 0xff, sizeof got);
    st = d->g->sums(got, d->d_bases, d->d_scalars, 0, 1, &ws);
    check(d->g->eq(got, &want), st, "sum", 0, "", "");
}

static void test_group(const fixture_group *g, unsigned lg_max, unsigned lg_cpu)
{
    size_t n_max = (size_t)1 << lg_max, n_cpu = (size_t)1 << lg_cpu, free_bytes, total;
    device d = {.g = g};
    fixture_run(&d.run);
    FIXTURE_NEED(cudaMallocHost(&d.pin, GPU_MSM_PIN_BYTES));
    FIXTURE_NEED(cudaMalloc(&d.d_bases, n_max * g->aff_bytes));
    FIXTURE_NEED(cudaMalloc(&d.d_scalars, n_max * 32));
    FIXTURE_NEED(cudaMemGetInfo(&free_bytes, &total));
    size_t want = 2 * gpu_msm_workspace_bytes(g->id, n_cpu, 1, SIZE_MAX),
           fits = free_bytes - ((size_t)1 << 30);
    d.ws_bytes = gpu_msm_workspace_bytes(g->id, n_max, 1, fits);
    d.ws_bytes = d.ws_bytes > want ? d.ws_bytes : want;
    FIXTURE_NEED(cudaMalloc(&d.d_ws, d.ws_bytes));
    d.multiples = mem_alloc(n_cpu * g->aff_bytes, 64);
    d.b = mem_alloc(n_cpu * g->aff_bytes, 64);
    d.k = mem_alloc(n_max * sizeof *d.k, 64);
    fixture_need(d.multiples && d.b && d.k, "memory");

    fixture_multiples(g, d.d_bases, lg_max);
    FIXTURE_NEED(cudaMemcpy(d.multiples, d.d_bases, n_cpu * g->aff_bytes, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n_cpu; i += i < 100 ? 1 : 4099)
        fixture_need(g->on_curve(d.multiples + i * g->aff_bytes), "multiples on the curve");
    fixture_need_ok(g->prepare(d.d_bases, 0, n_max, &d.run));
    for (unsigned lg = 20 + lg_max % 2; lg <= lg_max; lg += 2)
        large_size(&d, lg);
    border_sizes(&d, lg_max);
    slice_cases(&d, lg_max);
    repeat(&d, lg_max < 24 ? lg_max : 24);
    printf("%s large: %u cases, %u failed\n", g->name, n_cases, n_failed);
    refused_cases(&d);
    for (size_t n = 1; n <= 70; n += n < 10 || n > 61 ? 1 : 3)
        small_size(&d, n, n <= 3 || n == 34);
    printf("%s up to 70: %u cases, %u failed\n", g->name, n_cases, n_failed);
    small_size(&d, 1000, true);
    small_size(&d, n_cpu / 4 + 1, true);
    small_size(&d, n_cpu, false);
    printf("%s: %u cases, %u failed\n", g->name, n_cases, n_failed);
    void *device_parts[] = {d.d_bases, d.d_scalars, d.d_ws};
    for (size_t i = 0; i < ARRAY_LEN(device_parts); i++)
        FIXTURE_NEED(cudaFree(device_parts[i]));
    FIXTURE_NEED(cudaFreeHost(d.pin));
    mem_free(d.multiples);
    mem_free(d.b);
    mem_free(d.k);
}

int main(int argc, char **argv)
{
    if (!gpu_test_has_device())
        return GPU_TEST_SKIPPED;
    unsigned lg_max = argc > 1 ? (unsigned)atoi(argv[1]) : 22;
    unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    fixture_seed(seed);
    printf("seed %llu\n", seed);
    lg_max = lg_max < 20 ? 20 : lg_max > 27 ? 27 : lg_max;
    fixture_need_ok(pool_create(&rc.pool, 0));
    test_group(&FIXTURE_GROUPS[GPU_MSM_G1], lg_max, LG_N_G1_CPU);
    test_group(&FIXTURE_GROUPS[GPU_MSM_G2], lg_max < 22 ? lg_max : 22, LG_N_G2_CPU);
    pool_destroy(rc.pool);
    return n_failed > 0;
}
