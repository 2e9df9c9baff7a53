/* One product per kernel: check_sass.py counts their instructions. */
#include "gpu/gpu_fp.cuh"
#include "gpu/gpu_fr.cuh"

extern "C" __global__ void k_probe_fp_mul(gpu_fp *o, const gpu_fp *a, const gpu_fp *b)
{
    gpu_fp x = a[threadIdx.x], y = b[threadIdx.x];
    gpu_fp_mul(&x, &x, &y);
    o[threadIdx.x] = x;
}

extern "C" __global__ void k_probe_fr_mul(gpu_fr *o, const gpu_fr *a, const gpu_fr *b)
{
    gpu_fr x = a[threadIdx.x], y = b[threadIdx.x];
    gpu_fr_mul(&x, &x, &y);
    o[threadIdx.x] = x;
}

extern "C" __global__ void k_probe_fr_mul_fixed(gpu_fr *o, const gpu_fr *a, const gpu_fr_fixed *w)
{
    gpu_fr x = a[threadIdx.x];
    gpu_fr_fixed f = w[threadIdx.x];
    gpu_fr_mul_fixed(&x, &x, &f);
    o[threadIdx.x] = x;
}
