/* Keys made on the device, as .params files. */
#ifndef GPU_SETUP_WRITE_H
#define GPU_SETUP_WRITE_H
#include "base/run_ctx.h"
#include "gpu/gpu_setup.h"
#include "groth16/params_out.h"

/* What g16_setup writes, made on a device (gpu_device_find's selector; NULL: the first). The file
 * appears whole or not at all. Takes device memory while it runs, 18.4 GB for a 32 GiB PoRep: the
 * key is written as it is made. Uses the driver in this process: not for one that proves too.
 * Errors: as g16_setup; CUZK_E_UNSUPPORTED (built without CUDA), CUZK_E_NOT_FOUND (no such device),
 * CUZK_E_NOMEM (the device's memory too), CUZK_E_CANCELLED, CUZK_E_DEVICE, CUZK_E_DEVICE_LOST. */
CUZK_MUST_CHECK cuzk_status gpu_setup_file(const char *device, const char *path,
                                           const r1cs_shape *s, const g16_toxic *t,
                                           const run_ctx *rc);

/* Workspace of gpu_setup_stream. Errors: CUZK_E_NOMEM (of the host), CUZK_E_UNSUPPORTED (too long a
 * circuit), CUZK_E_DEVICE. */
CUZK_MUST_CHECK cuzk_status gpu_setup_stream_bytes(size_t *bytes, const r1cs_shape *s);
/* The same bytes to any sink, in order. rc: progress, spans and cancel. Errors: also the sink's,
 * CUZK_E_RANGE (workspace). */
CUZK_MUST_CHECK cuzk_status gpu_setup_stream(g16_sink sink, const r1cs_shape *s, const g16_toxic *t,
                                             const gpu_msm_ws *ws, const run_ctx *rc);
#endif
