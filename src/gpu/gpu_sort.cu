/* The only file that includes CUB (slow to compile): radix sort of pairs and prefix sums. */
extern "C" {
#include "base/status.h"
}
#include "gpu/gpu_sort.h"
#include "gpu/gpu_tree_list.h"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

struct pairs_at {
    unsigned level;
    __host__ __device__ uint32_t operator()(uint32_t len) const
    {
        return gpu_tree_pairs_at(len, level);
    }
};

extern "C" size_t gpu_sort_temp_bytes(size_t n_pairs, size_t n_scan)
{
    size_t sort = 0, scan = 0;
    cub::DoubleBuffer<uint32_t> k(nullptr, nullptr), v(nullptr, nullptr);
    (void)cub::DeviceRadixSort::SortPairs(nullptr, sort, k, v, (uint32_t)n_pairs, 0, 32);
    auto it = thrust::make_transform_iterator((const uint32_t *)nullptr, pairs_at{0});
    (void)cub::DeviceScan::ExclusiveSum(nullptr, scan, it, (uint32_t *)nullptr, (uint32_t)n_scan);
    return sort > scan ? sort : scan;
}

extern "C" cuzk_status gpu_sort_pairs(gpu_pairs *p, size_t n, unsigned key_bits, void *d_temp,
                                      size_t temp_bytes, void *stream)
{
    cub::DoubleBuffer<uint32_t> k(p->keys, p->keys_alt), v(p->vals, p->vals_alt);
    GPU_TRY(cub::DeviceRadixSort::SortPairs(d_temp, temp_bytes, k, v, (uint32_t)n, 0, (int)key_bits,
                                            (cudaStream_t)stream));
    p->keys = k.Current();
    p->keys_alt = k.Alternate();
    p->vals = v.Current();
    p->vals_alt = v.Alternate();
    return cuzk_ok();
}

extern "C" cuzk_status gpu_scan_pairs(uint32_t *d_out, const uint32_t *d_len, size_t n,
                                       unsigned level, void *d_temp, size_t temp_bytes,
                                       void *stream)
{
    auto it = thrust::make_transform_iterator(d_len, pairs_at{level});
    GPU_TRY(cub::DeviceScan::ExclusiveSum(d_temp, temp_bytes, it, d_out, (uint32_t)n,
                                          (cudaStream_t)stream));
    return cuzk_ok();
}
