/* Scalars from Montgomery form to canonical integers. */
extern "C" {
#include "base/status.h"
}
#include "gpu/gpu_common.h"
#include "gpu/gpu_fr.cuh"
#include "gpu/gpu_msm.h"

/* Thread i: scalar i; src NULL: from its own place. */
static __global__ void __launch_bounds__(256)
    k_canonical(uint4 *out, const uint4 *in, const uint32_t *src, size_t n)
{
    size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    const uint4 *p = in + (src ? src[i] : i) * 2;
    uint4 lo = p[0], hi = p[1];
    gpu_fr a = {{lo.x, lo.y, lo.z, lo.w, hi.x, hi.y, hi.z, hi.w}}, one = {{1}};
    gpu_fr_mul(&a, &a, &one);
    out[i * 2] = make_uint4(a.l[0], a.l[1], a.l[2], a.l[3]);
    out[i * 2 + 1] = make_uint4(a.l[4], a.l[5], a.l[6], a.l[7]);
}

static cuzk_status canonical(void *d_out, const void *d_in, const uint32_t *d_src, size_t n,
                             const gpu_run *run)
{
    if (n == 0)
        return cuzk_ok();
    k_canonical<<<(uint32_t)((n + 255) / 256), 256, 0, (cudaStream_t)run->stream>>>(
        (uint4 *)d_out, (const uint4 *)d_in, d_src, n);
    return gpu_check_launch("k_canonical");
}

extern "C" cuzk_status gpu_scalars_canonical(void *d_out, const void *d_in, size_t n,
                                             const gpu_run *run)
{
    return canonical(d_out, d_in, nullptr, n, run);
}

extern "C" cuzk_status gpu_scalars_gather(void *d_out, const void *d_in, const uint32_t *d_src,
                                          size_t n, const gpu_run *run)
{
    return canonical(d_out, d_in, d_src, n, run);
}
