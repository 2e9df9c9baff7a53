/* Forward passes. */
#include "gpu/gpu_ntt_pass.cuh"

/* A butterfly of the trivial twiddle, which no product brings below 2r. */
static __device__ __forceinline__ void ct_plain(gpu_fr *x, gpu_fr *y)
{
    gpu_fr t;
    gpu_fr_reduce_2r(&t, y);
    gpu_fr_butterfly(x, y, &t);
}

/* down8 at the root: five products in place of twelve. In: reduced. */
static __device__ __forceinline__ void down8_root(gpu_fr v[8])
{
#pragma unroll
    for (int j = 0; j < 4; j++) {
        gpu_fr t = v[j + 4];
        gpu_fr_butterfly(&v[j], &v[j + 4], &t);
    }
    ct_plain(&v[0], &v[2]);
    ct_plain(&v[1], &v[3]);
    ct(&v[4], &v[6], &k_tw_first[0]);
    ct(&v[5], &v[7], &k_tw_first[0]);
    ct_plain(&v[0], &v[1]);
    ct(&v[2], &v[3], &k_tw_first[0]);
    ct(&v[4], &v[5], &k_tw_first[1]);
    ct(&v[6], &v[7], &k_tw_first[2]);
}

/* One forward pass. A thread has eight elements in registers, three stages of three levels; it writes
 * the slots it read, so each exchange costs one barrier. The stage loop is rolled: unrolled code
 * outgrows the instruction cache. ROOT: the pass that begins at level 0 of the domain. CONTIGUOUS:
 * the pass that ends at the last level, whose output is reduced. SKIP: p.skip may be above 0. */
template <uint32_t LG_COLS, uint32_t BLOCKS, bool ROOT, bool CONTIGUOUS, bool SKIP>
static __global__ __launch_bounds__(64 << LG_COLS, BLOCKS) void k_ntt_down(gpu_ntt_pass p)
{
    extern __shared__ uint4 tile[];
    gpu_fr v[8];
    place t = place_get<LG_COLS, CONTIGUOUS>(p);
    rows_load(v, p.a, t, 0);
    uint32_t s = 0;
    if (ROOT) {
        down8_root(v);
        tile_put<LG_COLS>(tile, t, v, 0);
        __syncthreads();
        tile_get<LG_COLS>(v, tile, t, 1);
        s = 1;
    }
#pragma unroll 1
    for (;; s++) {
        down8(v, p.tw, (t.node << (3 * s)) + (t.q >> (6 - 3 * s)),
              SKIP ? (int)p.skip - 3 * (int)s : 0);
        if (s == 2)
            break;
        tile_put<LG_COLS>(tile, t, v, s);
        __syncthreads();
        tile_get<LG_COLS>(v, tile, t, s + 1);
    }
    if (CONTIGUOUS) {
#pragma unroll
        for (int j = 0; j < 8; j++)
            gpu_fr_reduce(&v[j], &v[j]);
        tile_put<LG_COLS>(tile, t, v, 2);
        __syncthreads();
        tile_get<LG_COLS>(v, tile, t, 0);
        rows_store(p.a, v, t, 0);
    } else {
        rows_store(p.a, v, t, 2);
    }
}

typedef void (*down_kernel)(gpu_ntt_pass);
/* A kernel and the columns of its blocks. */
struct down_shape {
    down_kernel kernel;
    uint32_t lg_cols;
};

/* Pass i of n. */
static down_shape down_get(uint32_t i, uint32_t n, const gpu_ntt_pass &p)
{
    down_shape root = {k_ntt_down<2, 2, true, false, false>, 2};
    down_shape mid = {k_ntt_down<1, 3, false, false, false>, 1};
    down_shape mid_skip = {k_ntt_down<1, 3, false, false, true>, 1};
    down_shape last = {k_ntt_down<1, 3, false, true, false>, 1};
    down_shape last_skip = {k_ntt_down<1, 3, false, true, true>, 1};
    if (i + 1 == n)
        return p.skip ? last_skip : last;
    if (i == 0 && !p.coset)
        return root;
    return p.skip ? mid_skip : mid;
}

cuzk_status gpu_ntt_down(const gpu_ntt_table *t, void *d_a, uint32_t lg_n, uint32_t coset,
                         cudaStream_t stream)
{
    uint32_t first[5];
    CUZK_TRY(gpu_ntt_check(t, lg_n, coset));
    if (lg_n <= GPU_NTT_LG_SMALL_MAX) {
        uint32_t all[2] = {0, lg_n};
        gpu_ntt_pass p = gpu_ntt_pass_get(t, d_a, lg_n, coset, all);
        return gpu_ntt_small(&p, false, false, stream);
    }
    uint32_t n = gpu_ntt_plan(lg_n, first);
    for (uint32_t i = 0; i < n; i++) {
        gpu_ntt_pass p = gpu_ntt_pass_get(t, d_a, lg_n, coset, first + i);
        down_shape k = down_get(i, n, p);
        size_t tile_bytes = sizeof(gpu_fr) << (LG_ROWS + k.lg_cols);
        CUZK_TRY(gpu_ntt_allow_tile((const void *)k.kernel, tile_bytes));
        uint32_t n_blocks = 1u << (lg_n - LG_ROWS - k.lg_cols);
        k.kernel<<<n_blocks, 64u << k.lg_cols, tile_bytes, stream>>>(p);
        CUZK_TRY(gpu_check_launch("k_ntt_down"));
    }
    return cuzk_ok();
}
