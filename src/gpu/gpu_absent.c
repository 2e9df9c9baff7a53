/* The device functions of a build without CUDA. */
#include "gpu/gpu_backend.h"
#include "gpu/gpu_backend_bench.h"
#include "gpu/gpu_evkey.h"
#include "gpu/gpu_setup_write.h"

static cuzk_status absent(void)
{
    return cuzk_fail(
        CUZK_E_UNSUPPORTED,
        "this build has no CUDA backend (configure with -DCUZK_CUDA=ON, see docs/gpu.md)");
}

bool gpu_is_built(void) { return false; }

cuzk_status gpu_devices_here(gpu_device_info *out, uint32_t *n_out, uint32_t n_max)
{
    (void)out;
    (void)n_max;
    *n_out = 0;
    return absent();
}

bool gpu_ctx_was_entered(void) { return true; } /* nothing to keep apart */

cuzk_status gpu_ctx_enter(int ordinal)
{
    (void)ordinal;
    return absent();
}

cuzk_status gpu_ctx_memory(uint64_t *free_bytes, uint64_t *total_bytes)
{
    *free_bytes = *total_bytes = 0;
    return absent();
}

cuzk_status g16_cuda_create(g16_backend **out, const g16_cuda_config *cfg)
{
    (void)cfg;
    *out = NULL;
    return absent();
}

cuzk_status g16_cuda_load_development(g16_backend *b, const r1cs_shape *s, const g16_toxic *t,
                                      g16_vk *vk_out, const run_ctx *rc, void **handle)
{
    (void)b;
    (void)s;
    (void)t;
    (void)rc;
    *vk_out = (g16_vk){0};
    *handle = NULL;
    return absent();
}

void g16_cuda_describe_plan(g16_backend *b, const void *handle, char *buf, size_t len)
{
    (void)b;
    (void)handle;
    if (len > 0)
        buf[0] = 0;
}

g16_cuda_memory g16_cuda_get_memory(g16_backend *b)
{
    (void)b;
    return (g16_cuda_memory){0};
}

const gpu_device_info *g16_cuda_device(g16_backend *b)
{
    (void)b;
    return NULL;
}

cuzk_status gpu_bench_ntt(double *forward_ms, double *inverse_ms, unsigned n_samples, uint32_t lg_n,
                          g16_backend *b)
{
    (void)forward_ms;
    (void)inverse_ms;
    (void)n_samples;
    (void)lg_n;
    (void)b;
    return absent();
}

cuzk_status gpu_bench_msm(double *ms[GPU_BENCH_N_SUMS], unsigned n_samples, uint32_t lg_n, bool g2,
                          g16_backend *b)
{
    (void)ms;
    (void)n_samples;
    (void)lg_n;
    (void)g2;
    (void)b;
    return absent();
}

cuzk_status gpu_bench_spmv(double *ms, unsigned n_samples, const gpu_bench_rows *in, g16_backend *b)
{
    (void)ms;
    (void)n_samples;
    (void)in;
    (void)b;
    return absent();
}

cuzk_status gpu_setup_file(const char *device, const char *path, const r1cs_shape *s,
                           const g16_toxic *t, const run_ctx *rc)
{
    (void)device;
    (void)path;
    (void)s;
    (void)t;
    (void)rc;
    return absent();
}

cuzk_status gpu_evkey_file(const char *device, const char *path, const g16_key *k,
                           const r1cs_shape *s, const run_ctx *rc)
{
    (void)device;
    (void)path;
    (void)k;
    (void)s;
    (void)rc;
    return absent();
}
