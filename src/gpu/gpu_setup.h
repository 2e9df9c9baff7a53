/* A development key made in device memory from known toxic waste; equal to what g16_setup writes. */
#ifndef GPU_SETUP_H
#define GPU_SETUP_H
#include "gpu/gpu_ntt.h"
#include "gpu/gpu_run.h"
#include "groth16/key.h"
#include "gpu/gpu_shape.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Where the sections of a key lie in device memory: g1_aff (96 bytes) and g2_aff (192 bytes) records
 * in Montgomery form, g16_key_info's order and counts, before gpu_msm_prepare_bases. */
typedef struct gpu_key_mem {
    void *d[G16_N_SECTIONS];
    uint32_t n[G16_N_SECTIONS];
} gpu_key_mem;

/* Counts of every section of the shape's key. */
void gpu_setup_counts(uint32_t n[G16_N_SECTIONS], const r1cs_shape *s);
/* Scratch for gpu_setup; it may be the memory later used for proving. */
size_t gpu_setup_scratch_bytes(const r1cs_shape *s, const gpu_shape *g);
/* Fill *mem's sections and make the verifying key (host; give it back with g16_vk_fini).
 * Errors: as g16_setup, CUZK_E_RANGE (scratch), CUZK_E_DEVICE. */
CUZK_MUST_CHECK cuzk_status gpu_setup(const gpu_key_mem *mem, g16_vk *vk, const r1cs_shape *s,
                                      const gpu_shape *g, const g16_toxic *t, void *d_scratch,
                                      size_t scratch_bytes, const gpu_run *run);
#ifdef __cplusplus
}
#endif
#endif
