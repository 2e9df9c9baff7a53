/* The CUDA backend behind groth16/backend.h. */
#ifndef GPU_BACKEND_H
#define GPU_BACKEND_H
#include "gpu/gpu_device.h"
#include "groth16/backend.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct g16_cuda_config {
    const char *device;      /* gpu_device_find's selector; NULL: the first */
    uint64_t memory_bytes;   /* most device memory to use; 0: all that is free but a reserve */
} g16_cuda_config;

/* Errors: CUZK_E_UNSUPPORTED (built without CUDA), CUZK_E_NOT_FOUND (no such device),
 * CUZK_E_DEVICE. */
CUZK_MUST_CHECK cuzk_status g16_cuda_create(g16_backend **out, const g16_cuda_config *cfg);
/* Make a shape resident with a development key generated on the device (no key file): *vk_out gets
 * the verifying key. Released by ops->unload. */
CUZK_MUST_CHECK cuzk_status g16_cuda_load_development(g16_backend *b, const r1cs_shape *s,
                                                      const g16_toxic *t, g16_vk *vk_out,
                                                      const run_ctx *rc, void **handle);
#ifdef __cplusplus
}
#endif
#endif
