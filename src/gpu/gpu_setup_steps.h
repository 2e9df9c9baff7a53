/* The steps of the set-up on the device, before any point is made. Asynchronous on run's stream;
 * all pointers named d_ are device memory. Private to the set-up and to the making of evaluation forms. */
#ifndef GPU_SETUP_STEPS_H
#define GPU_SETUP_STEPS_H
#include "gpu/gpu_ntt.h"
#include "gpu/gpu_setup_int.h"
#ifdef __cplusplus
extern "C" {
#endif
#include "ff/fr.h"

/* d_lag[k] = L_k(tau), k < m = 2^lg_m: (tau^m - 1) / m * w^k / (tau - w^k). tau^m is not 1.
 * Cost: 6 products an element, one inversion per thread. */
CUZK_MUST_CHECK cuzk_status gpu_setup_lagrange(void *d_lag, const fr *tau, uint32_t lg_m,
                                               const gpu_run *run);

/* For evaluation forms (gpu_setup.h); all for m = 2^lg_m, tau^m not 1.
 * d_out[brv(j)] = the factor of H'_j. */
CUZK_MUST_CHECK cuzk_status gpu_setup_h_factors(void *d_out, const fr *tau, const fr *delta_inv,
                                                uint32_t lg_m, const gpu_run *run);
/* d_out[j] = the factor of G_j. */
CUZK_MUST_CHECK cuzk_status gpu_setup_g_factors(void *d_out, const fr *tau, const fr *delta_inv,
                                                uint32_t lg_m, const gpu_run *run);
/* d_out[j] = the factor of D_j. d_u: u as n_rows bits in 64-bit words; d_scratch: 3 m fr. */
typedef struct gpu_setup_d_args {
    const gpu_ntt_table *ntt;
    const uint64_t *d_u;
    void *d_scratch;
    size_t n_rows;
    uint32_t lg_m;
} gpu_setup_d_args;
CUZK_MUST_CHECK cuzk_status gpu_setup_d_factors(void *d_out, const gpu_setup_d_args *a,
                                                const fr *tau, const fr *delta_inv,
                                                const gpu_run *run);
/* d_out[brv(j)] = (theta U)(w^j) / 2^32 (groth16/evkey.h). No scratch. */
CUZK_MUST_CHECK cuzk_status gpu_setup_theta_u(void *d_out, const gpu_setup_d_args *a,
                                              const gpu_run *run);
/* d_l[i] += d_f[i], or -=, i < n. */
CUZK_MUST_CHECK cuzk_status gpu_setup_fold_in(void *d_l, const void *d_f, size_t n, bool minus,
                                              const gpu_run *run);

/* Scratch of gpu_setup_query for lists of n elements. 0 when the device cannot be asked. */
size_t gpu_setup_query_bytes(size_t n_list);
typedef struct gpu_setup_query_args {
    const gpu_setup_image *im;
    const void *d_image, *d_lag;
    void *d_scratch; /* of gpu_setup_query_bytes */
    size_t n_vars;
} gpu_setup_query_args;
/* d_q[i] = sum of the side's coefficients of variable i times L of their rows; inputs, then aux.
 * Calls run->slice. */
CUZK_MUST_CHECK cuzk_status gpu_setup_query(void *d_q, int side, const gpu_setup_query_args *a,
                                            const gpu_run *run);
/* d_u[i] += d_lag[n_rows + i], i < n_inputs: the rows Input(i) * 0 = 0. */
CUZK_MUST_CHECK cuzk_status gpu_setup_input_rows(void *d_u, const void *d_lag, size_t n_rows,
                                                 size_t n_inputs, const gpu_run *run);

typedef struct gpu_setup_weights {
    fr alpha, beta, gamma_inv, delta_inv;
    size_t n_inputs, n_vars;
} gpu_setup_weights;
/* w <- (beta u + alpha v + w) / gamma (inputs), / delta (aux); *d_zero: the lowest variable for
 * which that is 0, if lower than before. */
CUZK_MUST_CHECK cuzk_status gpu_setup_combine(void *d_w, const void *d_u, const void *d_v,
                                              const gpu_setup_weights *c, uint32_t *d_zero,
                                              const gpu_run *run);

/* A map of n_aux bits and the set bits before each of its 64-bit words. */
typedef struct gpu_setup_density {
    const uint64_t *d_map;
    const uint32_t *d_rank;
    size_t n_aux, n_inputs;
} gpu_setup_density;
/* d_idx[k] = n_inputs + the number of the k-th set bit. */
CUZK_MUST_CHECK cuzk_status gpu_setup_members(uint32_t *d_idx, const gpu_setup_density *d,
                                              const gpu_run *run);

/* Copies that wait for the device: host memory need not be pinned. */
CUZK_MUST_CHECK cuzk_status gpu_setup_copy_in_sync(void *d_to, const void *from, size_t n,
                                                   const gpu_run *run);
CUZK_MUST_CHECK cuzk_status gpu_setup_copy_out_sync(void *to, const void *d_from, size_t n,
                                                    const gpu_run *run);
CUZK_MUST_CHECK cuzk_status gpu_setup_fill(void *d_to, int byte, size_t n, const gpu_run *run);
#ifdef __cplusplus
}
#endif
#endif
