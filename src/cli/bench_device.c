/* cuzk bench ntt and msm on a CUDA device. */
#include "cli/bench.h"
#include "gpu/gpu_backend_bench.h"
#include <stdio.h>

/* G2 points are twice as long, and no circuit has more of them. */
#define LG_G2_MAX 25u

static bench_row *row_of(bench *b, const char *what, uint32_t lg)
{
    char name[48];
    snprintf(name, sizeof name, "%s_2^%u", what, lg);
    bench_row *r = bench_add_row(b, name, (uint64_t)1 << lg, "ms");
    r->n_samples = b->n_samples;
    return r;
}

cuzk_status bench_device_ntt(bench *b)
{
    for (uint32_t lg = b->lg_lo; lg <= b->lg_hi; lg += 2) {
        bench_row *f = row_of(b, "ntt_forward", lg), *i = row_of(b, "ntt_inverse", lg);
        CUZK_TRY(gpu_bench_ntt(f->samples, i->samples, b->n_samples, lg, b->device.backend));
    }
    return cuzk_ok();
}

static cuzk_status msm_rows(bench *b, uint32_t lg, bool g2)
{
    static const char *const names[2][GPU_BENCH_N_SUMS] = {
        {"msm_g1_uniform", "msm_g1_bits", "msm_g1_ten_bits"},
        {"msm_g2_uniform", "msm_g2_bits", "msm_g2_ten_bits"}};
    double *ms[GPU_BENCH_N_SUMS];
    for (int i = 0; i < GPU_BENCH_N_SUMS; i++)
        ms[i] = row_of(b, names[g2][i], lg)->samples;
    return gpu_bench_msm(ms, b->n_samples, lg, g2, b->device.backend);
}

cuzk_status bench_device_msm(bench *b)
{
    for (uint32_t lg = b->lg_lo; lg <= b->lg_hi; lg += 2) {
        CUZK_TRY(msm_rows(b, lg, false));
        if (lg <= LG_G2_MAX)
            CUZK_TRY(msm_rows(b, lg, true));
    }
    return cuzk_ok();
}
