/* Keys in device memory to .params files. */
#ifndef GPU_SETUP_WRITE_H
#define GPU_SETUP_WRITE_H
#include "base/run_ctx.h"
#include "gpu/gpu_setup.h"
#include "groth16/params_out.h"

/* The bytes of the .params file of *mem, as gpu_setup leaves it, in order. ws: any 64 MiB or more
 * of device memory; its run's stream orders the work. rc: progress and cancel.
 * Errors: those of sink.write, CUZK_E_CANCELLED, CUZK_E_RANGE (workspace), CUZK_E_NOMEM,
 * CUZK_E_DEVICE, CUZK_E_DEVICE_LOST. */
CUZK_MUST_CHECK cuzk_status gpu_setup_stream(const gpu_key_mem *mem, const g16_vk *vk,
                                             g16_sink sink, const gpu_msm_ws *ws,
                                             const run_ctx *rc);
/* The same to a file, which appears whole or not at all. Errors: also CUZK_E_IO. */
CUZK_MUST_CHECK cuzk_status gpu_setup_write(const gpu_key_mem *mem, const g16_vk *vk,
                                            const char *path, const gpu_msm_ws *ws,
                                            const run_ctx *rc);
#endif
