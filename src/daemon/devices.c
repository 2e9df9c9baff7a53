#include "daemon/devices.h"
#include "gpu/gpu_backend.h"
#include <stdio.h>
#include <string.h>

/* Partitions of one call of prove: their 0/1 sums share one pass over the bases, up to ten. */
#define BATCH_MAX 10u

static engine_device *next_device(daemon_devices *d, const char *name)
{
    engine_device *dev = &d->items[d->n];
    *dev = (engine_device){.batch_max = BATCH_MAX};
    snprintf(dev->name, sizeof dev->name, "%s", name);
    return dev;
}

static cuzk_status open_cpu(daemon_devices *d)
{
    engine_device *dev = next_device(d, "cpu");
    CUZK_TRY(g16_cpu_create(&dev->backend));
    d->n++;
    return cuzk_ok();
}

static cuzk_status open_gpu(daemon_devices *d, const char *selector, uint64_t memory_bytes)
{
    gpu_device_info info;
    char name[64];
    CUZK_TRY(gpu_device_find(&info, selector));
    snprintf(name, sizeof name, "cuda:%d", info.ordinal);
    for (uint32_t i = 0; i < d->n; i++)
        if (strcmp(d->items[i].name, name) == 0)
            return cuzk_bad_input("gpus.devices", "every device once", "%s twice (as %s)", name,
                                  selector);
    engine_device *dev = next_device(d, name);
    const g16_cuda_config cfg = {.device = info.uuid, .memory_bytes = memory_bytes};
    CUZK_TRY(cuzk_wrap(g16_cuda_create(&dev->backend, &cfg), "%s (%s)", name, info.name));
    snprintf(dev->model, sizeof dev->model, "%s", info.name);
    dev->memory_bytes = memory_bytes ? memory_bytes : info.total_bytes;
    d->n++;
    return cuzk_ok();
}

const char *device_selector(const char *name)
{
    return strncmp(name, "cuda:", 5) == 0 ? name + 5 : name;
}

static cuzk_status open_named(daemon_devices *d, const char *name, uint64_t memory_bytes)
{
    if (strcmp(name, "cpu") == 0)
        return open_cpu(d);
    return open_gpu(d, device_selector(name), memory_bytes);
}

static cuzk_status open_all(daemon_devices *d, uint64_t memory_bytes)
{
    gpu_device_info all[GPU_DEVICES_MAX];
    uint32_t n = 0;
    cuzk_status st = gpu_devices(all, &n, GPU_DEVICES_MAX);
    if (st.code != CUZK_OK && st.code != CUZK_E_UNSUPPORTED)
        return cuzk_wrap(st, "looking for GPUs (gpus.devices = [\"cpu\"] does without)");
    if (n == 0) {
        log_warn("no_gpu", LOG_STR("using", "cpu"),
                 LOG_STR("why", st.code == CUZK_OK ? "none found" : st.msg));
        return open_cpu(d);
    }
    for (uint32_t i = 0; i < n && i < CONFIG_LIST_MAX; i++)
        CUZK_TRY(open_gpu(d, all[i].uuid, memory_bytes));
    return cuzk_ok();
}

cuzk_status daemon_devices_open(daemon_devices *out, const config_list *names,
                                uint64_t memory_bytes)
{
    memset(out, 0, sizeof *out);
    cuzk_status st = names->n ? cuzk_ok() : open_all(out, memory_bytes);
    for (uint32_t i = 0; i < names->n && st.code == CUZK_OK; i++)
        st = open_named(out, names->items[i], memory_bytes);
    if (st.code != CUZK_OK)
        daemon_devices_close(out);
    return st;
}

void daemon_devices_close(daemon_devices *d)
{
    for (uint32_t i = 0; i < d->n; i++)
        d->items[i].backend->ops->destroy(d->items[i].backend);
    memset(d, 0, sizeof *d);
}
