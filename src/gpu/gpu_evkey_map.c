/* What becomes of section h (groth16/evkey.h) in four transforms: first H', of which D is made, then G
 * in its place. D's places come first, then those of H' and G: a sum of the two is a butterfly. */
#include "base/mem.h"
#include "base/span_names.h"
#include "gpu/gpu_evkey_int.h"
#include "gpu/gpu_g1_order.h"
#include "gpu/gpu_setup_steps.h"

static uint64_t domain_size(const gpu_ev_job *j) { return (uint64_t)1 << j->c->lg_m; }

static uint8_t *d_at(const gpu_ev_job *j) { return gpu_ev_at(j, j->plan.at_bases); }

static uint8_t *h_at(const gpu_ev_job *j) { return d_at(j) + j->plan.bases.g * sizeof(g1_aff); }

/* o = 1/m^n */
static void size_inverse(fr *o, const gpu_ev_job *j, uint64_t n)
{
    fr_from_u64(o, domain_size(j));
    fr_inv(o, o);
    fr_pow_u64(o, o, n);
}

static cuzk_status send_boolean_rows(gpu_ev_job *j)
{
    uint64_t *bits = g16_evkey_boolean_rows(j->shape);
    if (!bits)
        return cuzk_fail(CUZK_E_NOMEM, "bits of %llu rows", (unsigned long long)domain_size(j));
    cuzk_status st = gpu_feed_copy(&j->feed, gpu_ev_at(j, j->plan.at_rows), bits,
                                   gpu_ev_rows_bytes(j->c->lg_m), j->rc);
    mem_free(bits);
    return st;
}

/* The twiddles lie where points are going to. */
static cuzk_status make_theta_u(gpu_ev_job *j)
{
    gpu_ntt_table ntt;
    gpu_setup_d_args a = {.ntt = &ntt,
                          .d_u = gpu_ev_at(j, j->plan.at_rows),
                          .n_rows = j->c->n_rows,
                          .lg_m = j->c->lg_m};
    CUZK_ASSERT(gpu_ntt_table_bytes(j->c->lg_m) <= j->plan.bases.n * sizeof(g1_aff));
    gpu_run_group(j->run, SPAN_NTT);
    CUZK_TRY(send_boolean_rows(j));
    CUZK_TRY(gpu_ntt_table_build(&ntt, d_at(j), j->c->lg_m, gpu_lane_stream(j->lane)));
    return gpu_setup_theta_u(gpu_ev_at(j, j->plan.at_theta_u), &a, j->run);
}

/* Section h, infinity at the end, into its place. */
static cuzk_status load_h(gpu_ev_job *j)
{
    const uint64_t m = domain_size(j);
    CUZK_TRY(
        gpu_ev_load(j, &(gpu_ev_points){.section = G16_H, .n = m - 1, .base = j->plan.bases.g}));
    gpu_run_group(j->run, SPAN_NTT);
    return gpu_fill(h_at(j) + (m - 1) * sizeof(g1_aff), 0, sizeof(g1_aff),
                    gpu_lane_stream(j->lane));
}

static cuzk_status emit_h(gpu_ev_job *j)
{
    const uint64_t m = domain_size(j);
    for (uint64_t at = 0; at < m;) {
        uint64_t n = m - at < j->plan.max.n_vars ? m - at : j->plan.max.n_vars;
        CUZK_TRY(
            gpu_g1_reversed(gpu_ev_at(j, j->plan.at_stage), h_at(j), at, n, j->c->lg_m, j->run));
        CUZK_TRY(gpu_ev_emit(j, n));
        at += n;
    }
    return cuzk_ok();
}

/* D from H', which is used up. The mask puts point k at -k, so that the transform is that with the
 * root itself instead of its inverse. */
static cuzk_status make_d(gpu_ev_job *j)
{
    const uint32_t lg_m = j->c->lg_m;
    gpu_g1_work w = gpu_ev_work(j);
    fr by_index, by, two32;
    size_inverse(&by_index, j, 3);
    size_inverse(&by, j, 2); /* theta U is given over 2^32 */
    fr_from_u64(&two32, (uint64_t)1 << 32);
    fr_mul(&by, &by, &two32);
    gpu_run_group(j->run, SPAN_NTT);
    CUZK_TRY(gpu_g1_mask(d_at(j), h_at(j), gpu_ev_at(j, j->plan.at_rows), lg_m, j->run));
    CUZK_TRY(gpu_g1_transform(d_at(j), lg_m, &w));
    CUZK_TRY(gpu_g1_reverse(d_at(j), lg_m, j->run));
    CUZK_TRY(gpu_g1_times_index(d_at(j), lg_m, &by_index, &w));
    CUZK_TRY(gpu_g1_transform(d_at(j), lg_m, &w));
    CUZK_TRY(gpu_g1_add_products(d_at(j), lg_m, gpu_ev_at(j, j->plan.at_theta_u), &by, &w));
    return gpu_lane_wait_sync(j->lane);
}

static cuzk_status make_g(gpu_ev_job *j)
{
    gpu_g1_work w = gpu_ev_work(j);
    fr by_index;
    size_inverse(&by_index, j, 2);
    CUZK_TRY(load_h(j));
    CUZK_TRY(gpu_g1_times_index(h_at(j), j->c->lg_m, &by_index, &w));
    CUZK_TRY(gpu_g1_transform(h_at(j), j->c->lg_m, &w));
    return gpu_lane_wait_sync(j->lane);
}

cuzk_status gpu_ev_map(gpu_ev_job *j)
{
    gpu_g1_work w = gpu_ev_work(j);
    CUZK_TRY(make_theta_u(j));
    CUZK_TRY(load_h(j));
    CUZK_TRY(gpu_g1_transform(h_at(j), j->c->lg_m, &w));
    CUZK_TRY(gpu_lane_wait_sync(j->lane));
    CUZK_TRY(emit_h(j));
    CUZK_TRY(make_d(j));
    return make_g(j);
}
