/* The CUDA backend behind groth16/backend.h: circuits resident in device memory, proofs in batches.
 *
 * Memory is planned before it is taken (gpu_backend_plan.h); a load that cannot fit is refused with
 * CUZK_E_NOMEM and takes nothing. A proof takes and returns none.
 *
 * Calls come from any threads. Proofs of one backend take turns, but a proof of a small circuit may
 * run beside a large one, also from inside its run_ctx.yield; load and unload wait for running
 * proofs when they have to change what is shared.
 *
 * A fault that ends the context is CUZK_E_DEVICE_LOST for the proofs it hits. The next prove or load
 * makes a new context in this process, brings all circuits back, and runs the known-answer test
 * first (docs/gpu.md). */
#ifndef GPU_BACKEND_H
#define GPU_BACKEND_H
#include "gpu/gpu_device.h"
#include "groth16/backend.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct g16_cuda_config {
    const char *device;    /* gpu_device_find's selector; NULL: the first */
    uint64_t memory_bytes; /* most device memory to use; 0: all that is free but a reserve */
} g16_cuda_config;

/* The backend of one device; the known-answer test has passed. cfg may be NULL.
 * Errors: CUZK_E_UNSUPPORTED (built without CUDA), CUZK_E_NOT_FOUND (no such device),
 * CUZK_E_DEVICE, CUZK_E_VERIFY (the test fails). */
CUZK_MUST_CHECK cuzk_status g16_cuda_create(g16_backend **out, const g16_cuda_config *cfg);
/* Make a shape resident with a development key generated on the device (no key file): *vk_out gets
 * the verifying key (release: g16_vk_fini). *t is copied and wiped at ops->unload, which releases
 * the handle. */
CUZK_MUST_CHECK cuzk_status g16_cuda_load_development(g16_backend *b, const r1cs_shape *s,
                                                      const g16_toxic *t, g16_vk *vk_out,
                                                      const run_ctx *rc, void **handle);
/* The device memory plan of a loaded circuit, as lines of text. */
void g16_cuda_describe_plan(const void *handle, char *buf, size_t len);
/* Memory of this process on all devices, and page-locked host memory. */
typedef struct g16_cuda_memory {
    uint64_t device_bytes, device_peak_bytes, pinned_bytes;
} g16_cuda_memory;
g16_cuda_memory g16_cuda_get_memory(void);
/* Of a CUDA backend; lives as long as b. */
const gpu_device_info *g16_cuda_device(g16_backend *b);
#ifdef __cplusplus
}
#endif
#endif
