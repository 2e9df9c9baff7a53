/* Device and pinned host memory: the only place that takes and returns it. Counted, so that a test
 * can see that a proof takes none; limited by a plan made before (gpu_backend_plan.h).
 * Threads: locked; the caller has entered the device (gpu_ctx_enter). */
#ifndef GPU_MEM_H
#define GPU_MEM_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#include "base/status.h"

typedef struct gpu_block {
    void *p; /* NULL: none */
    size_t bytes;
} gpu_block;

/* Device memory, 256-byte aligned; 0 bytes give none. Not cleared.
 * Errors: CUZK_E_NOMEM with needed, free and total bytes; CUZK_E_DEVICE. On failure *b is empty. */
CUZK_MUST_CHECK cuzk_status gpu_mem_take(gpu_block *b, size_t bytes, const char *what);
void gpu_mem_return(gpu_block *b); /* empty is allowed; *b is then empty */
/* Page-locked host memory, 4096-byte aligned. Errors: CUZK_E_NOMEM, CUZK_E_DEVICE. */
CUZK_MUST_CHECK cuzk_status gpu_pin_take(gpu_block *b, size_t bytes, const char *what);
void gpu_pin_return(gpu_block *b);

typedef struct gpu_mem_stats {
    uint64_t device_bytes, device_peak_bytes, pinned_bytes, n_takes, n_returns;
} gpu_mem_stats;
gpu_mem_stats gpu_mem_get_stats(void); /* of this process, all devices */
/* Tests: the n-th take from now fails (1 = next); 0 switches it off. */
void gpu_mem_fail_nth(uint64_t n);
#ifdef __cplusplus
}
#endif
#endif
