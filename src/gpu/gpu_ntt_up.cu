/* Inverse passes. */
#include "gpu/gpu_ntt_pass.cuh"
#include <string.h>
extern "C" {
#include "ff/fr.h"
}

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

/* Factors of the eight rows j << 6, addends, reduction. */
static __device__ __forceinline__ void scale8(gpu_fr *v, const gpu_ntt_pass &p, const place &t)
{
#pragma unroll
    for (int j = 0; j < 8; j++) {
        gpu_fr_mul_fixed(&v[j], &v[j], &p.scale[j]);
        gpu_fr_reduce(&v[j], &v[j]);
        if (p.add) {
            gpu_fr x;
            fr_load(&x, p.add + t.at + ((size_t)row_of<3>(t.q, j, 6) << t.lg_row));
            gpu_fr_add(&v[j], &v[j], &x);
        }
    }
}

/* Rows j << 6 times their numbers in the whole. */
static __device__ __forceinline__ void theta8(gpu_fr *v, const place &t)
{
#pragma unroll
    for (int j = 0; j < 8; j++)
        gpu_fr_mul_word(&v[j], &v[j],
                        (uint32_t)(t.at + ((size_t)row_of<3>(t.q, j, 6) << t.lg_row)));
}

/* One inverse pass: the mirror of k_ntt_down. CONTIGUOUS: the first pass; MUL: it multiplies. ROOT:
 * the pass that ends at level 0 of the domain; of the coset too if SCALE, since its factors can take
 * up the powers by which the two differ. SCALE: factors, addend and reduction at the end. */
template <uint32_t LG_R, uint32_t LG_COLS, uint32_t BLOCKS, bool ROOT, bool SCALE, bool CONTIGUOUS,
          bool MUL, bool SKIP>
static __global__ __launch_bounds__(PASS_THREADS(LG_R, LG_COLS),
                                    BLOCKS) void k_ntt_up(gpu_ntt_pass p)
{
    extern __shared__ uint4 tile[];
    gpu_fr v[1 << LG_R];
    place t = place_get<LG_R, LG_COLS, CONTIGUOUS>(p);
    if (CONTIGUOUS) {
        rows_load<LG_R>(v, p.in, t, LO_LANES);
        if (MUL) {
#pragma unroll
            for (int j = 0; j < 1 << LG_R; j++) {
                gpu_fr x;
                fr_load(&x, p.mul + t.at + row_of<LG_R>(t.q, j, LO_LANES));
                gpu_fr_mul(&v[j], &v[j], &x);
            }
        }
        exchange<LG_R, LG_COLS>(tile, t, v, LO_LANES, 0);
    } else {
        rows_load<LG_R>(v, p.a, t, 0);
    }
    const uint32_t last = LG_ROWS - LG_R - (ROOT ? LG_R : 0);
    uint32_t lo = 0;
#pragma unroll 1
    for (;; lo = lo_above<LG_R>(lo)) {
        up<LG_R>(v, p.tw, node_of<LG_R>(t, lo), skip_of<LG_R, SKIP>(p, lo));
        if (lo == last)
            break;
        exchange<LG_R, LG_COLS>(tile, t, v, lo, lo_above<LG_R>(lo));
    }
    if (ROOT) {
        exchange<LG_R, LG_COLS>(tile, t, v, last, LG_ROWS - LG_R);
        up8_root(v);
    }
    if (SCALE)
        scale8(v, p, t);
    else if (ROOT && p.theta)
        theta8(v, t);
    rows_store<LG_R>(p.a, v, t, LG_ROWS - LG_R);
}

typedef void (*up_kernel)(gpu_ntt_pass);
/* As down_shape. */
struct up_shape {
    up_kernel kernel;
    uint32_t lg_r, lg_cols;
};

/* Pass i of n, counted from level 0. */
static up_shape up_get(uint32_t i, uint32_t n, const gpu_ntt_pass &p, bool scale)
{
    up_shape root = {k_ntt_up<3, 1, 3, true, false, false, false, false>, 3, 1};
    up_shape root_scale = {k_ntt_up<3, 2, 2, true, true, false, false, false>, 3, 2};
    up_shape mid = {k_ntt_up<3, 1, 3, false, false, false, false, false>, 3, 1};
    up_shape mid_skip = {k_ntt_up<3, 1, 3, false, false, false, false, true>, 3, 1};
    up_shape first = {k_ntt_up<2, 0, 5, false, false, true, false, false>, 2, 0};
    up_shape first_skip = {k_ntt_up<2, 0, 5, false, false, true, false, true>, 2, 0};
    up_shape mul = {k_ntt_up<2, 0, 5, false, false, true, true, false>, 2, 0};
    up_shape mul_skip = {k_ntt_up<2, 0, 5, false, false, true, true, true>, 2, 0};
    if (i + 1 == n && p.mul)
        return p.skip ? mul_skip : mul;
    if (i + 1 == n)
        return p.skip ? first_skip : first;
    if (i == 0 && scale)
        return root_scale;
    if (i == 0 && !p.coset)
        return root;
    return p.skip ? mid_skip : mid;
}

/* Factors of the last pass. The coset's node 1 is the root with X = z Y, z of order 16 for the
 * roots of the third level: coefficient j of eight has a factor z^-j. */
static void ends_set(gpu_ntt_pass *p, const gpu_ntt_ends *ends)
{
    if (ends->d_in)
        p->in = (const gpu_fr *)ends->d_in;
    p->mul = (const gpu_fr *)ends->d_mul;
    p->add = (const gpu_fr *)ends->d_add;
    p->theta = ends->theta;
    if (!ends->scale)
        return;
    fr z;
    gpu_fr z_mont, w = ends->scale->w;
    fr_root_of_unity(&z, 4);
    fr_inv(&z, &z);
    memcpy(&z_mont, &z, sizeof z_mont);
    p->scale[0] = *ends->scale;
    for (int j = 1; j < 8; j++) {
        if (p->coset)
            gpu_fr_mul(&w, &w, &z_mont);
        gpu_fr_fixed_set(&p->scale[j], &w);
    }
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
        k.kernel<<<n_blocks, PASS_THREADS(k.lg_r, k.lg_cols), tile_bytes, stream>>>(p);
        CUZK_TRY(gpu_check_launch("k_ntt_up"));
    }
    return cuzk_ok();
}
