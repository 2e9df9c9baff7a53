/* A development key made in device memory from known toxic waste; equal to what g16_setup writes, or
 * that key's evaluation form (groth16/evkey.h): its points are known multiples of the generator, so it
 * takes no transform of points. There H_{m-1} is tau^(m-1) (tau^m - 1) / delta times the generator
 * instead of infinity, which makes no difference to a proof of rows that hold, and simpler factors.
 * With z = tau^m - 1, the Lagrange basis L_j of the domain and u, U, theta as there,
 *     H'_j = (m z / delta) L_j(tau),   G_j = (z / (m delta)) (theta L_j)(tau),
 *     D_j  = (1/m^2) ((theta U)(w^j) H'_j + sum_k u_k (theta L_j)(w^k) H'_k). */
#ifndef GPU_SETUP_H
#define GPU_SETUP_H
#include "gpu/gpu_msm.h"
#include "gpu/gpu_ntt.h"
#ifdef __cplusplus
extern "C" {
#endif
#include "groth16/key.h"

/* Where the sections of a key lie in device memory: g1_aff (96 bytes) and g2_aff (192 bytes) records
 * in Montgomery form, 256-byte aligned, g16_key_info's order and counts, before gpu_msm_prepare_bases. */
typedef struct gpu_key_mem {
    void *d[G16_N_SECTIONS];
    uint32_t n[G16_N_SECTIONS];
    bool is_evaluation;       /* h is H' in bit-reversed places; l is L' of aux, then of inputs */
    const gpu_ntt_table *ntt; /* then: serves the circuit's domain */
} gpu_key_mem;

/* Counts of every section of the shape's key, or of its evaluation form. */
void gpu_setup_counts(uint32_t n[G16_N_SECTIONS], const r1cs_shape *s, bool is_evaluation);
/* Scratch for gpu_setup; it may be the memory later used for proving. 0 when there is no device, no
 * memory on the host, or when the circuit is too long. Cost: a pass over the shape's templates. A 32
 * GiB PoRep takes about 20 GB. */
size_t gpu_setup_scratch_bytes(const r1cs_shape *s, bool is_evaluation);
/* Fill *mem's sections and make the verifying key (host; give it back with g16_vk_fini). No secrets
 * are left in the workspace. Calls ws->run->slice as gpu_msm.h does. Blocks: until the key is there.
 * Errors: as g16_setup, CUZK_E_RANGE (workspace, counts of *mem), CUZK_E_DEVICE, CUZK_E_DEVICE_LOST,
 * those of run->slice. */
CUZK_MUST_CHECK cuzk_status gpu_setup(const gpu_key_mem *mem, g16_vk *vk, const r1cs_shape *s,
                                      const g16_toxic *t, const gpu_msm_ws *ws);
#ifdef __cplusplus
}
#endif
#endif
