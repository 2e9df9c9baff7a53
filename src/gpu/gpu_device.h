/* CUDA devices: finding, naming, entering; their memory as one planned block. No CUDA type leaves
 * src/gpu. */
#ifndef GPU_DEVICE_H
#define GPU_DEVICE_H
#include "base/run_ctx.h"
#include "base/status.h"
#ifdef __cplusplus
extern "C" {
#endif
#define GPU_DEVICES_MAX 64u

typedef struct gpu_device_info {
    int ordinal;
    char name[96];
    char uuid[48]; /* "GPU-xxxxxxxx-xxxx-..." as nvidia-smi prints it */
    char pci[32];  /* "0000:17:00.0" */
    uint64_t total_bytes, free_bytes;
    int cc_major, cc_minor, n_multiprocessors;
} gpu_device_info;

/* Devices this process can use; 0 with CUZK_OK when there is none. Errors: CUZK_E_UNSUPPORTED (built
 * without CUDA), CUZK_E_DEVICE (driver). */
CUZK_MUST_CHECK cuzk_status gpu_devices(gpu_device_info *out, uint32_t *n_out, uint32_t n_max);
/* sel: an index, a UUID (or a unique start of it) or a PCI address. Errors: CUZK_E_NOT_FOUND (names
 * what there is). */
CUZK_MUST_CHECK cuzk_status gpu_device_find(gpu_device_info *out, const char *sel);
#ifdef __cplusplus
}
#endif
#endif
