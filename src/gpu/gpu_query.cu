/* Masks of queries: the witness bits that a density map selects, moved together. */
#include "gpu/gpu_common.h"
extern "C" {
#include "base/span_names.h"
#include "gpu/gpu_shape.h"
}

#define N_THREADS 256u

struct query {
    unsigned long long *mask;
    const uint64_t *bits, *density;
    const uint32_t *rank;
    uint64_t n_words, n_aux, n_entries;
    uint32_t n_skip;
};

/* The bits of x selected by m, moved together at the low end, order kept.
 * Source: Warren, Hacker's Delight, 2nd ed., section 7-4 ("compress"). */
static __device__ __forceinline__ uint64_t compress64(uint64_t x, uint64_t m)
{
    if (m == ~0ull || (x & m) == 0)
        return x & m;
    x &= m;
    uint64_t mk = ~m << 1; /* counts the zeros to the right */
#pragma unroll
    for (uint32_t i = 0; i < 6; i++) {
        uint64_t mp = mk;
#pragma unroll
        for (uint32_t k = 1; k < 64; k <<= 1)
            mp ^= mp << k;
        uint64_t mv = mp & m, t = x & mv; /* bits that move by 2^i */
        m = (m ^ mv) | mv >> (1u << i);
        x = (x ^ t) | t >> (1u << i);
        mk &= ~mp;
    }
    return x;
}

/* One thread per word of witness bits; words of the mask, zeroed before, are shared by neighbours.
 * Bounds keep a density map that does not fit n_entries from writing past the mask. */
static __global__ __launch_bounds__(N_THREADS) void k_query_mask(query q)
{
    uint64_t k = (uint64_t)blockIdx.x * N_THREADS + threadIdx.x;
    if (k >= q.n_words)
        return;
    uint64_t sel = q.density ? q.density[k] : ~0ull;
    if (k == q.n_words - 1 && (q.n_aux & 63))
        sel &= (1ull << (q.n_aux & 63)) - 1;
    uint64_t v = compress64(q.bits[k], sel), pos = q.n_skip + (q.density ? q.rank[k] : 64 * k);
    if (v == 0 || pos >= q.n_entries)
        return;
    if (q.n_entries - pos < 64)
        v &= (1ull << (q.n_entries - pos)) - 1;
    uint32_t sh = pos & 63;
    atomicOr(&q.mask[pos >> 6], v << sh);
    if (sh && v >> (64 - sh))
        atomicOr(&q.mask[(pos >> 6) + 1], v >> (64 - sh));
}

extern "C" cuzk_status gpu_query_mask(void *d_mask, size_t n_entries, uint32_t n_skip,
                                      const void *d_bits, uint64_t n_aux, const void *d_density,
                                      const uint32_t *d_rank, const gpu_run *run)
{
    query q = {(unsigned long long *)d_mask,
               (const uint64_t *)d_bits,
               (const uint64_t *)d_density,
               d_rank,
               (n_aux + 63) / 64,
               n_aux,
               n_entries,
               n_skip};
    if (n_entries == 0)
        return cuzk_ok();
    if (n_aux >= 1ull << 32 || n_entries > (1ull << 32) || (d_density && !d_rank))
        return cuzk_fail(CUZK_E_RANGE, "mask of %zu entries from %llu bits", n_entries,
                         (unsigned long long)n_aux);
    cudaStream_t s = (cudaStream_t)run->stream;
    gpu_run_group(run, SPAN_MASK);
    cudaError_t e = cudaMemsetAsync(d_mask, 0, (n_entries + 63) / 64 * 8, s);
    cuzk_status st = e == cudaSuccess ? cuzk_ok() : gpu_fail(e, "cudaMemsetAsync");
    if (st.code == CUZK_OK && q.n_words) {
        k_query_mask<<<(uint32_t)((q.n_words + N_THREADS - 1) / N_THREADS), N_THREADS, 0, s>>>(q);
        st = gpu_check_launch("k_query_mask");
    }
    gpu_run_group(run, NULL);
    return st;
}
