/* cudaMalloc and cudaHostAlloc behind counters. */
#include "gpu/gpu_common.h"
#include "gpu/gpu_mem.h"
#include <atomic>

/* Counters of the process, as base/mem.c has them for the host. Relaxed: they order nothing. */
static std::atomic<uint64_t> device_bytes, device_peak, pinned_bytes, n_takes, n_returns, fail_in;

static bool fails_now(void)
{
    uint64_t n = fail_in.load(std::memory_order_relaxed);
    while (n && !fail_in.compare_exchange_weak(n, n - 1, std::memory_order_relaxed))
        ;
    return n == 1;
}

static void count_device(size_t bytes)
{
    uint64_t now = device_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    uint64_t peak = device_peak.load(std::memory_order_relaxed);
    while (now > peak && !device_peak.compare_exchange_weak(peak, now, std::memory_order_relaxed))
        ;
    n_takes.fetch_add(1, std::memory_order_relaxed);
}

static cuzk_status no_memory(size_t bytes, const char *what)
{
    size_t f = 0, t = 0;
    int dev = -1;
    (void)cudaGetDevice(&dev);
    (void)cudaMemGetInfo(&f, &t);
    return cuzk_fail(CUZK_E_NOMEM, "device %d: %s: needed %zu bytes, free %zu of %zu", dev, what,
                     bytes, f, t);
}

extern "C" cuzk_status gpu_mem_take(gpu_block *b, size_t bytes, const char *what)
{
    b->p = NULL;
    b->bytes = 0;
    if (bytes == 0)
        return cuzk_ok();
    void *p = NULL;
    cudaError_t e = fails_now() ? cudaErrorMemoryAllocation : cudaMalloc(&p, bytes);
    if (e == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return no_memory(bytes, what);
    }
    if (e != cudaSuccess)
        return gpu_fail(e, what);
    count_device(bytes);
    b->p = p;
    b->bytes = bytes;
    return cuzk_ok();
}

extern "C" void gpu_mem_return(gpu_block *b)
{
    if (b->p) {
        (void)cudaFree(b->p);
        device_bytes.fetch_sub(b->bytes, std::memory_order_relaxed);
        n_returns.fetch_add(1, std::memory_order_relaxed);
    }
    b->p = NULL;
    b->bytes = 0;
}

extern "C" cuzk_status gpu_pin_take(gpu_block *b, size_t bytes, const char *what)
{
    b->p = NULL;
    b->bytes = 0;
    void *p = NULL;
    cudaError_t e =
        fails_now() ? cudaErrorMemoryAllocation : cudaHostAlloc(&p, bytes, cudaHostAllocPortable);
    if (e == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return cuzk_fail(CUZK_E_NOMEM, "%s: %zu bytes of page-locked host memory", what, bytes);
    }
    if (e != cudaSuccess)
        return gpu_fail(e, what);
    pinned_bytes.fetch_add(bytes, std::memory_order_relaxed);
    n_takes.fetch_add(1, std::memory_order_relaxed);
    b->p = p;
    b->bytes = bytes;
    return cuzk_ok();
}

extern "C" void gpu_pin_return(gpu_block *b)
{
    if (b->p) {
        (void)cudaFreeHost(b->p);
        pinned_bytes.fetch_sub(b->bytes, std::memory_order_relaxed);
        n_returns.fetch_add(1, std::memory_order_relaxed);
    }
    b->p = NULL;
    b->bytes = 0;
}

extern "C" gpu_mem_stats gpu_mem_get_stats(void)
{
    gpu_mem_stats s;
    s.device_bytes = device_bytes.load(std::memory_order_relaxed);
    s.device_peak_bytes = device_peak.load(std::memory_order_relaxed);
    s.pinned_bytes = pinned_bytes.load(std::memory_order_relaxed);
    s.n_takes = n_takes.load(std::memory_order_relaxed);
    s.n_returns = n_returns.load(std::memory_order_relaxed);
    return s;
}

extern "C" void gpu_mem_fail_nth(uint64_t n) { fail_in.store(n, std::memory_order_relaxed); }
