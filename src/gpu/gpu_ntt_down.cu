/* Forward passes. */
#include "gpu/gpu_ntt_pass.cuh"

/* A butterfly of the trivial twiddle, which no product brings below 2r. */
static __device__ __forceinline__ void ct_plain(gpu_fr *x, gpu_fr *y)
{
    gpu_fr t;
    gpu_fr_reduce_2r(&t, y);
    gpu_fr_butterfly(x, y, &t);
}

/* Three levels at the root: five products in place of twelve. In: reduced. */
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

/* One forward pass. The loop over windows is rolled: unrolled code outgrows the instruction cache.
 * ROOT: the pass that begins at level 0 of the domain (LG_R is 3). CONTIGUOUS: the pass that ends at
 * the last level, whose output is reduced unless p.lazy. SKIP: p.skip may be above 0. */
template <uint32_t LG_R, uint32_t LG_COLS, uint32_t BLOCKS, bool ROOT, bool CONTIGUOUS, bool SKIP>
static __global__ __launch_bounds__(PASS_THREADS(LG_R, LG_COLS),
                                    BLOCKS) void k_ntt_down(gpu_ntt_pass p)
{
    extern __shared__ uint4 tile[];
    gpu_fr v[1 << LG_R];
    place t = place_get<LG_R, LG_COLS, CONTIGUOUS>(p);
    uint32_t lo = LG_ROWS - LG_R;
    rows_load<LG_R>(v, p.a, t, lo);
    if (ROOT) {
        down8_root(v);
        exchange<LG_R, LG_COLS>(tile, t, v, lo, lo - LG_R);
        lo -= LG_R;
    }
#pragma unroll 1
    for (;; lo = lo_below<LG_R>(lo)) {
        down<LG_R>(v, p.tw, node_of<LG_R>(t, lo), skip_of<LG_R, SKIP>(p, lo));
        if (lo == 0)
            break;
        exchange<LG_R, LG_COLS>(tile, t, v, lo, lo_below<LG_R>(lo));
    }
    if (CONTIGUOUS) {
        if (!p.lazy) {
#pragma unroll
            for (int j = 0; j < 1 << LG_R; j++)
                gpu_fr_reduce(&v[j], &v[j]);
        }
        exchange<LG_R, LG_COLS>(tile, t, v, 0, LO_LANES);
        rows_store<LG_R>(p.a, v, t, LO_LANES);
    } else {
        rows_store<LG_R>(p.a, v, t, 0);
    }
}

typedef void (*down_kernel)(gpu_ntt_pass);
/* A kernel, and its blocks' rows per thread and columns. Shapes as measured on an H200. */
struct down_shape {
    down_kernel kernel;
    uint32_t lg_r, lg_cols;
};

/* Pass i of n. */
static down_shape down_get(uint32_t i, uint32_t n, const gpu_ntt_pass &p)
{
    down_shape root = {k_ntt_down<3, 2, 2, true, false, false>, 3, 2};
    down_shape mid = {k_ntt_down<3, 1, 4, false, false, false>, 3, 1};
    down_shape mid_skip = {k_ntt_down<3, 1, 4, false, false, true>, 3, 1};
    down_shape last = {k_ntt_down<2, 0, 6, false, true, false>, 2, 0};
    down_shape last_skip = {k_ntt_down<2, 0, 6, false, true, true>, 2, 0};
    if (i + 1 == n)
        return p.skip ? last_skip : last;
    if (i == 0 && !p.coset)
        return root;
    return p.skip ? mid_skip : mid;
}

cuzk_status gpu_ntt_down(const gpu_ntt_table *t, void *d_a, uint32_t lg_n, gpu_ntt_kind kind,
                         cudaStream_t stream)
{
    uint32_t first[5];
    CUZK_TRY(gpu_ntt_check(t, lg_n, kind.coset));
    if (lg_n <= GPU_NTT_LG_SMALL_MAX) {
        uint32_t all[2] = {0, lg_n};
        gpu_ntt_pass p = gpu_ntt_pass_get(t, d_a, lg_n, kind.coset, all);
        return gpu_ntt_small(&p, false, false, stream);
    }
    uint32_t n = gpu_ntt_plan(lg_n, first);
    for (uint32_t i = 0; i < n; i++) {
        gpu_ntt_pass p = gpu_ntt_pass_get(t, d_a, lg_n, kind.coset, first + i);
        p.lazy = kind.lazy;
        down_shape k = down_get(i, n, p);
        size_t tile_bytes = sizeof(gpu_fr) << (LG_ROWS + k.lg_cols);
        CUZK_TRY(gpu_ntt_allow_tile((const void *)k.kernel, tile_bytes));
        uint32_t n_blocks = 1u << (lg_n - LG_ROWS - k.lg_cols);
        k.kernel<<<n_blocks, PASS_THREADS(k.lg_r, k.lg_cols), tile_bytes, stream>>>(p);
        CUZK_TRY(gpu_check_launch("k_ntt_down"));
    }
    return cuzk_ok();
}
