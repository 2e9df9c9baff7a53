/* The CUDA backend behind groth16/backend.h: circuits resident in device memory, proofs in batches.
 *
 * Memory is planned before it is taken (gpu_backend_plan.h); a load that cannot fit is refused with
 * CUZK_E_NOMEM and takes nothing. A proof takes and returns none.
 *
 * The work is done by a device process, a fork of this one: a fault that ends the driver's context is
 * CUZK_E_DEVICE_LOST for the proofs it hits, and the next prove or load starts a new device process,
 * which passes the known-answer test and brings all circuits back first (docs/gpu.md). Create
 * backends before the driver is used in this process, and before other threads hold locks for long.
 *
 * Calls come from any threads. Commands of one backend take turns, but a proof of a small circuit
 * may run inside another proof's run_ctx.yield, on another handle. */
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
    bool plain_keys;       /* never a key's evaluation form, though there is one; to compare */
    bool in_process;       /* use the driver in this process, which then does not outlive a fault */
    /* Tests: called between slices where the device's work is done. */
    void (*at_slice)(void *ctx);
    void *at_slice_ctx;
} g16_cuda_config;

/* The backend of one device; the known-answer test has passed. cfg may be NULL.
 * Errors: CUZK_E_UNSUPPORTED (built without CUDA), CUZK_E_NOT_FOUND (no such device),
 * CUZK_E_DEVICE, CUZK_E_VERIFY (the test fails). */
CUZK_MUST_CHECK cuzk_status g16_cuda_create(g16_backend **out, const g16_cuda_config *cfg);
/* Make a shape resident with a development key generated on the device (no key file), in evaluation
 * form unless cfg says plain_keys: *vk_out gets the verifying key (release: g16_vk_fini). *t is copied and wiped at ops->unload, which releases
 * the handle. */
CUZK_MUST_CHECK cuzk_status g16_cuda_load_development(g16_backend *b, const r1cs_shape *s,
                                                      const g16_toxic *t, g16_vk *vk_out,
                                                      const run_ctx *rc, void **handle);
/* The device memory plan of a loaded circuit, as lines of text. */
void g16_cuda_describe_plan(g16_backend *b, const void *handle, char *buf, size_t len);
/* Device memory and page-locked host memory, taken by the backend. */
typedef struct g16_cuda_memory {
    uint64_t device_bytes, device_peak_bytes, pinned_bytes;
} g16_cuda_memory;
g16_cuda_memory g16_cuda_get_memory(g16_backend *b);
/* Of a CUDA backend; lives as long as b. */
const gpu_device_info *g16_cuda_device(g16_backend *b);
#ifdef __cplusplus
}
#endif
#endif
