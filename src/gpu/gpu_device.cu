/* CUDA runtime calls behind gpu_device.h. */
#include "gpu/gpu_common.h"
extern "C" {
#include "gpu/gpu_device.h"
}
#include <atomic>
#include <stdio.h>
#include <string.h>

static void format_uuid(char *out, size_t len, const cudaUUID_t *u)
{
    int at = snprintf(out, len, "GPU-");
    for (int i = 0; i < 16; i++)
        at += snprintf(out + at, len - (size_t)at, "%s%02x",
                       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (uint8_t)u->bytes[i]);
}

/* Without a context: looking at all devices must not take memory on them. */
static cuzk_status fill_info(gpu_device_info *o, int ordinal)
{
    cudaDeviceProp p;
    GPU_TRY(cudaGetDeviceProperties(&p, ordinal));
    memset(o, 0, sizeof *o);
    o->ordinal = ordinal;
    snprintf(o->name, sizeof o->name, "%.95s", p.name);
    format_uuid(o->uuid, sizeof o->uuid, &p.uuid);
    snprintf(o->pci, sizeof o->pci, "%04x:%02x:%02x.0", p.pciDomainID, p.pciBusID, p.pciDeviceID);
    o->cc_major = p.major;
    o->cc_minor = p.minor;
    o->n_multiprocessors = p.multiProcessorCount;
    o->total_bytes = p.totalGlobalMem;
    return cuzk_ok();
}

extern "C" bool gpu_is_built(void) { return true; }

extern "C" cuzk_status gpu_devices_here(gpu_device_info *out, uint32_t *n_out, uint32_t n_max)
{
    int n = 0;
    *n_out = 0;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e == cudaErrorNoDevice || e == cudaErrorInsufficientDriver) {
        (void)cudaGetLastError();
        return cuzk_ok(); /* no driver counts as no device: there is nothing to choose */
    }
    if (e != cudaSuccess)
        return gpu_fail(e, "cudaGetDeviceCount");
    for (int i = 0; i < n && (uint32_t)i < n_max; i++) {
        CUZK_TRY(fill_info(&out[i], i));
        (*n_out)++;
    }
    return cuzk_ok();
}

/* Relaxed: a fact that only ever becomes true. */
static std::atomic<bool> was_entered;

extern "C" bool gpu_ctx_was_entered(void) { return was_entered.load(std::memory_order_relaxed); }

extern "C" cuzk_status gpu_ctx_enter(int ordinal)
{
    was_entered.store(true, std::memory_order_relaxed);
    GPU_TRY(cudaSetDevice(ordinal));
    return cuzk_ok();
}

extern "C" cuzk_status gpu_ctx_memory(uint64_t *free_bytes, uint64_t *total_bytes)
{
    size_t f = 0, t = 0;
    GPU_TRY(cudaMemGetInfo(&f, &t));
    *free_bytes = f;
    *total_bytes = t;
    return cuzk_ok();
}

extern "C" cuzk_status gpu_stream_create(gpu_stream **out)
{
    cudaStream_t s;
    *out = NULL;
    GPU_TRY(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    *out = (gpu_stream *)s;
    return cuzk_ok();
}

extern "C" void gpu_stream_destroy(gpu_stream *s)
{
    if (s)
        (void)cudaStreamDestroy((cudaStream_t)s);
}

extern "C" cuzk_status gpu_stream_wait_sync(gpu_stream *s)
{
    GPU_TRY(cudaStreamSynchronize((cudaStream_t)s));
    return cuzk_ok();
}

extern "C" cuzk_status gpu_event_create(gpu_event **out, bool timed)
{
    cudaEvent_t e;
    *out = NULL;
    GPU_TRY(cudaEventCreateWithFlags(&e, timed ? cudaEventDefault : cudaEventDisableTiming));
    *out = (gpu_event *)e;
    return cuzk_ok();
}

extern "C" void gpu_event_destroy(gpu_event *e)
{
    if (e)
        (void)cudaEventDestroy((cudaEvent_t)e);
}

extern "C" cuzk_status gpu_event_record(gpu_event *e, gpu_stream *s)
{
    GPU_TRY(cudaEventRecord((cudaEvent_t)e, (cudaStream_t)s));
    return cuzk_ok();
}

extern "C" cuzk_status gpu_event_wait_sync(gpu_event *e)
{
    GPU_TRY(cudaEventSynchronize((cudaEvent_t)e));
    return cuzk_ok();
}

extern "C" cuzk_status gpu_stream_after(gpu_stream *s, gpu_event *e)
{
    GPU_TRY(cudaStreamWaitEvent((cudaStream_t)s, (cudaEvent_t)e, 0));
    return cuzk_ok();
}

extern "C" cuzk_status gpu_event_ns(uint64_t *ns, gpu_event *from, gpu_event *to)
{
    float ms = 0;
    *ns = 0;
    GPU_TRY(cudaEventElapsedTime(&ms, (cudaEvent_t)from, (cudaEvent_t)to));
    *ns = ms > 0 ? (uint64_t)((double)ms * 1e6) : 0;
    return cuzk_ok();
}

extern "C" cuzk_status gpu_copy_in(void *d_to, const void *pin_from, size_t n, gpu_stream *s)
{
    GPU_TRY(cudaMemcpyAsync(d_to, pin_from, n, cudaMemcpyHostToDevice, (cudaStream_t)s));
    return cuzk_ok();
}

extern "C" cuzk_status gpu_copy_out(void *pin_to, const void *d_from, size_t n, gpu_stream *s)
{
    GPU_TRY(cudaMemcpyAsync(pin_to, d_from, n, cudaMemcpyDeviceToHost, (cudaStream_t)s));
    return cuzk_ok();
}

extern "C" cuzk_status gpu_fill(void *d_to, int byte, size_t n, gpu_stream *s)
{
    GPU_TRY(cudaMemsetAsync(d_to, byte, n, (cudaStream_t)s));
    return cuzk_ok();
}
