extern "C" {
#include "base/status.h"
}
#include "gpu/gpu_point_io.cuh"
#include "msm_fixture.h"
#include <string.h>

/* Thread i: point i. Points are plain records, never infinite. */
template <class C>
static __global__ void __launch_bounds__(128) k_extend(uint4 *p, size_t n, typename C::point step)
{
    size_t i = (size_t)blockIdx.x * 128 + threadIdx.x;
    if (i >= n)
        return;
    typename C::point a;
    gpu_load_fe(&a.x, p + i * (2 * C::FE_QUADS), 1);
    gpu_load_fe(&a.y, p + i * (2 * C::FE_QUADS) + C::FE_QUADS, 1);
    C::add(&a, &a, &step);
    C::canon(&a.x);
    C::canon(&a.y);
    gpu_store_fe(p + (n + i) * (2 * C::FE_QUADS), 1, &a.x);
    gpu_store_fe(p + (n + i) * (2 * C::FE_QUADS) + C::FE_QUADS, 1, &a.y);
}

template <class C> static void extend(void *d_points, size_t n, const void *step)
{
    typename C::point s;
    memcpy(&s, step, sizeof s);
    k_extend<C><<<(unsigned)((n + 127) / 128), 128>>>((uint4 *)d_points, n, s);
}

extern "C" void fixture_extend(bool g2, void *d_points, size_t n, const void *step)
{
    if (g2)
        extend<gpu_curve_g2>(d_points, n, step);
    else
        extend<gpu_curve_g1>(d_points, n, step);
}
