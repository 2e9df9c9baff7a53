/* Inverse passes. */
#include "gpu/gpu_ntt_pass.cuh"

/* The mirror of down8_root. */
static __device__ __forceinline__ void up8_root(gpu_fr v[8])
{
    gpu_fr_sum_diff(&v[0], &v[1]);
    gs(&v[2], &v[3], &k_tw_first[0]);
    gs(&v[4], &v[5], &k_tw_first[2]);
    gs(&v[6], &v[7], &k_tw_first[1]);
    gpu_fr_sum_diff(&v[0], &v[2]);
    gpu_fr_sum_diff(&v[1], &v[3]);
    gs(&v[4], &v[6], &k_tw_first[0]);
    gs(&v[5], &v[7], &k_tw_first[0]);
#pragma unroll
    for (int j = 0; j < 4; j++)
        gpu_fr_sum_diff(&v[j], &v[j + 4]);
}

/* Rolled, or the products would double the code: the elements move round. */
static __device__ __forceinline__ void scale8(gpu_fr v[8], const gpu_ntt_pass &p, const place &t)
{
#pragma unroll 1
    for (uint32_t j = 0; j < 8; j++) {
        gpu_fr_mul_fixed(&v[0], &v[0], &p.scale);
        gpu_fr_reduce(&v[0], &v[0]);
        if (p.add) {
            gpu_fr x;
            fr_load(&x, p.add + t.at + ((size_t)row_of(t.q, j, 0) << t.lg_row));
            gpu_fr_add(&v[0], &v[0], &x);
        }
        gpu_fr u = v[0];
#pragma unroll
        for (int k = 0; k < 7; k++)
            v[k] = v[k + 1];
        v[7] = u;
    }
}

static __device__ __forceinline__ void mul8(gpu_fr v[8], const gpu_ntt_pass &p, const place &t)
{
#pragma unroll 1
    for (uint32_t j = 0; j < 8; j++) {
        gpu_fr x;
        fr_load(&x, p.mul + t.at + ((size_t)row_of(t.q, j, 0) << t.lg_row));
        gpu_fr_mul(&x, &x, &v[0]);
#pragma unroll
        for (int k = 0; k < 7; k++)
            v[k] = v[k + 1];
        v[7] = x;
    }
}

/* One inverse pass: the mirror of k_ntt_down. CONTIGUOUS: the first pass; it may multiply. ROOT: the
 * pass that ends at level 0 of the domain. SCALE: factor, addend and reduction at the end. */
template <uint32_t LG_COLS, uint32_t BLOCKS, bool ROOT, bool SCALE, bool CONTIGUOUS, bool SKIP>
static __global__ __launch_bounds__(64 << LG_COLS, BLOCKS) void k_ntt_up(gpu_ntt_pass p)
{
    extern __shared__ uint4 tile[];
    gpu_fr v[8];
    place t = place_get<LG_COLS, CONTIGUOUS>(p);
    if (CONTIGUOUS) {
        rows_load(v, p.in, t, 0);
        if (p.mul)
            mul8(v, p, t);
        tile_put<LG_COLS>(tile, t, v, 0);
        __syncthreads();
        tile_get<LG_COLS>(v, tile, t, 2);
    } else {
        rows_load(v, p.a, t, 2);
    }
#pragma unroll 1
    for (uint32_t s = 2;; s--) {
        up8(v, p.tw, (t.node << (3 * s)) + (t.q >> (6 - 3 * s)),
            SKIP ? (int)p.skip - 3 * (int)s : 0);
        if (s == (ROOT ? 1 : 0))
            break;
        tile_put<LG_COLS>(tile, t, v, s);
        __syncthreads();
        tile_get<LG_COLS>(v, tile, t, s - 1);
    }
    if (ROOT) {
        tile_put<LG_COLS>(tile, t, v, 1);
        __syncthreads();
        tile_get<LG_COLS>(v, tile, t, 0);
        up8_root(v);
    }
    if (SCALE)
        scale8(v, p, t);
    rows_store(p.a, v, t, 0);
}

typedef void (*up_kernel)(gpu_ntt_pass);
struct up_shape {
    up_kernel kernel;
    uint32_t lg_cols;
};

/* Pass i of n, counted from level 0. */
static up_shape up_get(uint32_t i, uint32_t n, const gpu_ntt_pass &p, bool scale)
{
    up_shape root = {k_ntt_up<2, 2, true, false, false, false>, 2};
    up_shape root_scale = {k_ntt_up<2, 2, true, true, false, false>, 2};
    up_shape coset_scale = {k_ntt_up<2, 2, false, true, false, false>, 2};
    up_shape mid = {k_ntt_up<1, 3, false, false, false, false>, 1};
    up_shape mid_skip = {k_ntt_up<1, 3, false, false, false, true>, 1};
    up_shape first = {k_ntt_up<1, 3, false, false, true, false>, 1};
    up_shape first_skip = {k_ntt_up<1, 3, false, false, true, true>, 1};
    if (i + 1 == n)
        return p.skip ? first_skip : first;
    if (i == 0 && scale)
        return p.coset ? coset_scale : root_scale;
    if (i == 0 && !p.coset)
        return root;
    return p.skip ? mid_skip : mid;
}

static void ends_set(gpu_ntt_pass *p, const gpu_ntt_ends *ends)
{
    if (ends->d_in)
        p->in = (const gpu_fr *)ends->d_in;
    p->mul = (const gpu_fr *)ends->d_mul;
    p->add = (const gpu_fr *)ends->d_add;
    if (ends->scale)
        p->scale = *ends->scale;
}

cuzk_status gpu_ntt_up(const gpu_ntt_table *t, void *d_a, uint32_t lg_n, uint32_t coset,
                       const gpu_ntt_ends *ends, cudaStream_t stream)
{
    uint32_t first[5], all[2] = {0, lg_n};
    CUZK_TRY(gpu_ntt_check(t, lg_n, coset));
    if (lg_n <= GPU_NTT_LG_SMALL_MAX) {
        gpu_ntt_pass p = gpu_ntt_pass_get(t, d_a, lg_n, coset, all);
        ends_set(&p, ends);
        return gpu_ntt_small(&p, true, ends->scale != NULL, stream);
    }
    uint32_t n = gpu_ntt_plan(lg_n, first);
    for (uint32_t i = n; i-- > 0;) {
        gpu_ntt_pass p = gpu_ntt_pass_get(t, d_a, lg_n, coset, first + i);
        ends_set(&p, ends);
        up_shape k = up_get(i, n, p, ends->scale != NULL);
        size_t tile_bytes = sizeof(gpu_fr) << (LG_ROWS + k.lg_cols);
        CUZK_TRY(gpu_ntt_allow_tile((const void *)k.kernel, tile_bytes));
        uint32_t n_blocks = 1u << (lg_n - LG_ROWS - k.lg_cols);
        k.kernel<<<n_blocks, 64u << k.lg_cols, tile_bytes, stream>>>(p);
        CUZK_TRY(gpu_check_launch("k_ntt_up"));
    }
    return cuzk_ok();
}
