/* CUDA devices: finding, naming, entering; streams, events and copies behind plain C types. No CUDA
 * type leaves src/gpu. */
#ifndef GPU_DEVICE_H
#define GPU_DEVICE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#include "base/status.h"
#define GPU_DEVICES_MAX 64u

typedef struct gpu_device_info {
    int ordinal;
    char name[96];
    char uuid[48]; /* "GPU-xxxxxxxx-xxxx-..." as nvidia-smi prints it */
    char pci[32];  /* "0000:17:00.0" */
    uint64_t total_bytes;
    int cc_major, cc_minor, n_multiprocessors;
} gpu_device_info;

bool gpu_is_built(void); /* with CUDA */
/* Devices this process can use; 0 with CUZK_OK when there is none. Errors: CUZK_E_UNSUPPORTED (built
 * without CUDA), CUZK_E_DEVICE (driver). */
CUZK_MUST_CHECK cuzk_status gpu_devices(gpu_device_info *out, uint32_t *n_out, uint32_t n_max);
/* The same, using the driver in this process. */
CUZK_MUST_CHECK cuzk_status gpu_devices_here(gpu_device_info *out, uint32_t *n_out, uint32_t n_max);
/* sel: an index, a UUID (or a unique start of it) or a PCI address; NULL: the first device. Errors:
 * CUZK_E_NOT_FOUND (names what there is). */
CUZK_MUST_CHECK cuzk_status gpu_device_find(gpu_device_info *out, const char *sel);
/* May it be a selector, of some machine's device? */
bool gpu_device_is_selector(const char *sel);
/* The same as gpu_device_find among given devices. */
CUZK_MUST_CHECK cuzk_status gpu_device_pick(gpu_device_info *out, const gpu_device_info *all,
                                            uint32_t n, const char *sel);

/* The device's context becomes this thread's; made when there is none. The only place that does so. */
CUZK_MUST_CHECK cuzk_status gpu_ctx_enter(int ordinal);
bool gpu_ctx_was_entered(void); /* by any thread of this process */
/* Free and total bytes of the entered device. */
CUZK_MUST_CHECK cuzk_status gpu_ctx_memory(uint64_t *free_bytes, uint64_t *total_bytes);

typedef struct gpu_stream gpu_stream; /* a cudaStream_t */
typedef struct gpu_event gpu_event;   /* a cudaEvent_t */
CUZK_MUST_CHECK cuzk_status gpu_stream_create(gpu_stream **out);
void gpu_stream_destroy(gpu_stream *s);
CUZK_MUST_CHECK cuzk_status gpu_stream_wait_sync(gpu_stream *s);
/* timed: gpu_event_ns works, at a little more cost. */
CUZK_MUST_CHECK cuzk_status gpu_event_create(gpu_event **out, bool timed);
void gpu_event_destroy(gpu_event *e);
CUZK_MUST_CHECK cuzk_status gpu_event_record(gpu_event *e, gpu_stream *s);
CUZK_MUST_CHECK cuzk_status gpu_event_wait_sync(gpu_event *e);
/* The stream's later work waits for the event. */
CUZK_MUST_CHECK cuzk_status gpu_stream_after(gpu_stream *s, gpu_event *e);
/* Time between two finished timed events, `from` first. */
CUZK_MUST_CHECK cuzk_status gpu_event_ns(uint64_t *ns, gpu_event *from, gpu_event *to);

/* Asynchronous. Host memory is pinned (gpu_mem.h), or the copy takes ten times as long. */
CUZK_MUST_CHECK cuzk_status gpu_copy_in(void *d_to, const void *pin_from, size_t n, gpu_stream *s);
CUZK_MUST_CHECK cuzk_status gpu_copy_out(void *pin_to, const void *d_from, size_t n, gpu_stream *s);
CUZK_MUST_CHECK cuzk_status gpu_fill(void *d_to, int byte, size_t n, gpu_stream *s);
#ifdef __cplusplus
}
#endif
#endif
