/* Keys in evaluation form (groth16/evkey.h), made on a device. */
#ifndef GPU_EVKEY_H
#define GPU_EVKEY_H
#include "groth16/evkey.h"

/* What g16_evkey_make writes, byte for byte, made on a device (gpu_device_find's selector; NULL: the
 * first). The file appears whole or not at all. Uses the driver in this process: not for one that
 * proves too.
 * Memory: of the device, 224 bytes per domain point and up to 2.2 GB more (33 GB for a 32 GiB PoRep);
 * of the host, 8 bytes per term of B and C, 16 per variable and 100 MB.
 * Errors: as g16_evkey_make; CUZK_E_UNSUPPORTED (built without CUDA; a domain of 2^29), CUZK_E_NOT_FOUND
 * (no such device), CUZK_E_NOMEM (the device's memory too: bytes needed and free), CUZK_E_DEVICE,
 * CUZK_E_DEVICE_LOST. */
CUZK_MUST_CHECK cuzk_status gpu_evkey_file(const char *device, const char *path, const g16_key *k,
                                           const r1cs_shape *s, const run_ctx *rc);
#endif
