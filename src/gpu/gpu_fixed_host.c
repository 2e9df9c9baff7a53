/* The host's part of gpu_fixed.cu. */
#include "gpu/gpu_fixed_int.h"

static void bases_g1(g1_aff *out, uint32_t lg_digit)
{
    g1_jac p;
    g1_jac_from_aff(&p, &G1_GENERATOR);
    for (uint32_t w = 0; w < gpu_fixed_windows(lg_digit); w++) {
        g1_jac_to_aff(&out[w], &p);
        for (uint32_t k = 0; k < lg_digit; k++)
            g1_jac_dbl(&p, &p);
    }
}

static void bases_g2(g2_aff *out, uint32_t lg_digit)
{
    g2_jac p;
    g2_jac_from_aff(&p, &G2_GENERATOR);
    for (uint32_t w = 0; w < gpu_fixed_windows(lg_digit); w++) {
        g2_jac_to_aff(&out[w], &p);
        for (uint32_t k = 0; k < lg_digit; k++)
            g2_jac_dbl(&p, &p);
    }
}

void gpu_fixed_window_bases(void *out, gpu_msm_group group, uint32_t lg_digit)
{
    if (group == GPU_MSM_G2)
        bases_g2(out, lg_digit);
    else
        bases_g1(out, lg_digit);
}
