/* The proving devices of a configuration, opened. */
#ifndef DAEMON_DEVICES_H
#define DAEMON_DEVICES_H
#include "daemon/config.h"
#include "engine/engine.h"

typedef struct daemon_devices {
    engine_device items[CONFIG_LIST_MAX];
    uint32_t n;
} daemon_devices;

/* names: "cpu", or a GPU by index ("0", "cuda:0"), UUID or PCI address; none: every GPU, or the CPU
 * where there is none (told in the log). Errors: CUZK_E_NOT_FOUND, CUZK_E_UNSUPPORTED (built
 * without CUDA), CUZK_E_DEVICE; never another device than the one named. */
CUZK_MUST_CHECK cuzk_status daemon_devices_open(daemon_devices *out, const config_list *names,
                                                uint64_t memory_bytes);
void daemon_devices_close(daemon_devices *d);
/* The GPU's selector (gpu/gpu_device.h) in a name: what follows "cuda:", else all of it. */
const char *device_selector(const char *name);
#endif
