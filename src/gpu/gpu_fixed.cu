/* Fixed-base products: the table, the lists of digits, and chunks of tree sums. */
extern "C" {
#include "base/mem.h"
#include "base/span_names.h"
#include "base/status.h"
}
#include "gpu/gpu_fixed.h"
#include "gpu/gpu_fixed_int.h"
#include "gpu/gpu_point_io.cuh"
#include "gpu/gpu_tree_int.h"
#include <string.h>

#define THREADS 256
#define N_WINDOWS_MAX 32u

/* Records of the table: window w's multiple k at w stride + k - 1. Thread i of window blockIdx.y:
 * multiple n + 1 + i from multiples i + 1 and n. An inversion each: 6.8 million of them cost 11 ms
 * (G1), and the table needs no other memory. */
template <class C>
static __global__ void __launch_bounds__(128) k_extend(uint4 *table, uint32_t stride, uint32_t n)
{
    uint32_t i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n)
        return;
    enum { QUADS = 2 * C::FE_QUADS };
    uint4 *t = table + (size_t)blockIdx.y * stride * QUADS;
    const uint4 *pa = t + (size_t)i * QUADS, *pb = t + (size_t)(n - 1) * QUADS;
    typename C::point a, b;
    gpu_load_fe(&a.x, pa, 1);
    gpu_load_fe(&a.y, pa + C::FE_QUADS, 1);
    gpu_load_fe(&b.x, pb, 1);
    gpu_load_fe(&b.y, pb + C::FE_QUADS, 1);
    C::add(&a, &a, &b);
    C::canon(&a.x);
    C::canon(&a.y);
    t += (size_t)(n + i) * QUADS;
    gpu_store_fe(t, 1, &a.x);
    gpu_store_fe(t + C::FE_QUADS, 1, &a.y);
}

enum { SRC_POWERS, SRC_RANGE, SRC_INDEXED };

struct digit_args {
    uint32_t *keys, *refs;
    const gpu_fr *vals;
    const uint32_t *idx;
    gpu_fr first, pow[32]; /* base^(2^k) */
    uint32_t halves[GPU_FR_WORDS];
    uint32_t at, n, lg_digit, n_windows;
    uint32_t *zero;
};

template <int SRC>
static __device__ __forceinline__ void load_scalar(gpu_fr *o, const digit_args &a, uint32_t i)
{
    if (SRC == SRC_POWERS) {
        *o = a.first;
        for (uint32_t b = 0; i >> b; b++)
            if (i >> b & 1)
                gpu_fr_mul(o, o, &a.pow[b]);
    } else {
        *o = a.vals[SRC == SRC_INDEXED ? a.idx[a.at + i] : a.at + i];
    }
}

/* Thread i: scalar at + i; its digits, window by window, to the list. */
template <int SRC> static __global__ void __launch_bounds__(THREADS) k_digits(digit_args a)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x, any = 0;
    if (i >= a.n)
        return;
    gpu_fr x, one = {{1}};
    gpu_fixed_digits d;
    load_scalar<SRC>(&x, a, i);
    gpu_fr_mul(&x, &x, &one); /* out of Montgomery form */
#pragma unroll
    for (int k = 0; k < GPU_FR_WORDS; k++)
        any |= x.l[k];
    if (any == 0)
        atomicMin(a.zero, a.at + i);
    gpu_fixed_recode(&d, &x, a.halves);
    for (uint32_t w = 0; w < a.n_windows; w++) {
        int32_t digit = gpu_fixed_next(&d, a.lg_digit, w);
        uint32_t abs = (uint32_t)(digit < 0 ? -digit : digit);
        size_t at = (size_t)w * a.n + i;
        a.keys[at] = abs == 0 ? a.n : i;
        a.refs[at] = abs == 0 ? 0
                              : ((w << (a.lg_digit - 1)) + abs - 1) |
                                    ((digit < 0) != (d.neg != 0) ? GPU_REF_NEG : 0);
    }
}

static size_t round_up(size_t n) { return (n + 255) / 256 * 256; }

static size_t record_bytes(gpu_msm_group g) { return g == GPU_MSM_G2 ? 192 : 96; }

/* Wide digits for many points. */
static void choose(gpu_fixed *f, gpu_msm_group group, size_t n_points)
{
    static const struct {
        size_t n_min;
        uint32_t lg_digit;
    } table[] = {{(size_t)1 << 22, 20}, {(size_t)1 << 12, 16}, {0, 8}};
    unsigned i = 0;
    while (n_points < table[i].n_min)
        i++;
    memset(f, 0, sizeof *f);
    f->group = group;
    f->lg_digit = table[i].lg_digit;
    f->n_windows = gpu_fixed_windows(f->lg_digit);
    f->chunk = (size_t)1 << (group == GPU_MSM_G2 ? 20 : 21);
    if (n_points < f->chunk)
        f->chunk = n_points > 0 ? n_points : 1;
}

static size_t table_bytes(const gpu_fixed *f)
{
    return round_up(record_bytes(f->group) * f->n_windows << (f->lg_digit - 1));
}

static gpu_tree_size tree_size(const gpu_fixed *f)
{
    gpu_tree_size s = {f->group, f->chunk * f->n_windows, f->chunk, f->chunk, 0};
    return s;
}

extern "C" size_t gpu_fixed_bytes(gpu_msm_group group, size_t n_points)
{
    gpu_fixed f;
    choose(&f, group, n_points);
    gpu_tree_size s = tree_size(&f);
    size_t tree = gpu_tree_bytes(&s);
    return tree > 0 ? table_bytes(&f) + tree : 0;
}

static cuzk_status build_table(gpu_fixed *f, const gpu_msm_ws *ws)
{
    static_assert(N_WINDOWS_MAX * 192 <= GPU_MSM_PIN_BYTES,
                  "window bases go through pinned memory");
    cudaStream_t s = (cudaStream_t)ws->run->stream;
    size_t rec = record_bytes(f->group);
    uint32_t stride = 1u << (f->lg_digit - 1);
    gpu_fixed_window_bases(ws->pin, f->group, f->lg_digit);
    GPU_TRY(cudaMemcpy2DAsync(f->d_table, rec * stride, ws->pin, rec, rec, f->n_windows,
                              cudaMemcpyHostToDevice, s));
    for (uint32_t n = 1; n < stride; n *= 2) {
        dim3 grid(gpu_blocks_for(n, 128, UINT32_MAX), f->n_windows);
        if (f->group == GPU_MSM_G2)
            k_extend<gpu_curve_g2><<<grid, 128, 0, s>>>((uint4 *)f->d_table, stride, n);
        else
            k_extend<gpu_curve_g1><<<grid, 128, 0, s>>>((uint4 *)f->d_table, stride, n);
        CUZK_TRY(gpu_check_launch("k_extend"));
    }
    GPU_TRY(cudaStreamSynchronize(s)); /* the pinned memory is free again */
    size_t n_records = (size_t)f->n_windows * stride;
    return f->group == GPU_MSM_G2 ? gpu_msm_prepare_bases_g2(f->d_table, 0, n_records, ws->run)
                                  : gpu_msm_prepare_bases_g1(f->d_table, 0, n_records, ws->run);
}

extern "C" cuzk_status gpu_fixed_init(gpu_fixed *f, gpu_msm_group group, size_t n_points,
                                      const gpu_msm_ws *ws)
{
    size_t need = gpu_fixed_bytes(group, n_points);
    if (need == 0 || need > ws->bytes)
        return cuzk_fail(CUZK_E_RANGE,
                         "products of %zu scalars in a workspace of %zu bytes, want %zu", n_points,
                         ws->bytes, need);
    choose(f, group, n_points);
    f->d_table = ws->d_ws;
    gpu_msm_ws rest = *ws;
    rest.d_ws = (char *)ws->d_ws + table_bytes(f);
    rest.bytes = ws->bytes - table_bytes(f);
    gpu_tree_size size = tree_size(f);
    CUZK_TRY(build_table(f, ws));
    CUZK_TRY(gpu_tree_init(&f->tree, &size, f->d_table, &rest));
    f->tree.part = SPAN_SETUP_MUL; /* the group it runs in: too many chunks to tell their parts */
    return cuzk_ok();
}

static gpu_fr to_device_form(const fr *a)
{
    gpu_fr o;
    static_assert(sizeof o == sizeof *a, "same layout");
    memcpy(&o, a, sizeof o);
    return o;
}

static cuzk_status launch_digits(const digit_args *a, cudaStream_t s)
{
    uint32_t blocks = gpu_blocks_for(a->n, THREADS, UINT32_MAX);
    if (!a->vals)
        k_digits<SRC_POWERS><<<blocks, THREADS, 0, s>>>(*a);
    else if (a->idx)
        k_digits<SRC_INDEXED><<<blocks, THREADS, 0, s>>>(*a);
    else
        k_digits<SRC_RANGE><<<blocks, THREADS, 0, s>>>(*a);
    return gpu_check_launch("k_digits");
}

/* Of a source of powers: a chunk's first scalar, and the factor from chunk to chunk. */
struct chunk_powers {
    fr first, step;
};

static cuzk_status mul_chunks(void *d_out, gpu_fixed *f, digit_args *a, chunk_powers *p, size_t n)
{
    cudaStream_t s = (cudaStream_t)f->tree.run->stream;
    for (size_t at = 0; at < n; at += f->chunk) {
        a->keys = f->tree.list.keys;
        a->refs = f->tree.list.vals;
        a->first = to_device_form(&p->first);
        a->n = (uint32_t)(n - at < f->chunk ? n - at : f->chunk);
        CUZK_TRY(launch_digits(a, s));
        CUZK_TRY(gpu_tree_sum(&f->tree, (size_t)a->n * a->n_windows, a->n, true, 0));
        f->tree.d_export = (char *)d_out + at * record_bytes(f->group);
        CUZK_TRY(f->tree.ops->export_points(&f->tree, 0, a->n, s));
        a->at += a->n;
        fr_mul(&p->first, &p->first, &p->step);
    }
    return cuzk_ok();
}

extern "C" cuzk_status gpu_fixed_mul(void *d_out, gpu_fixed *f, gpu_fixed_src *src, size_t n,
                                     uint32_t *d_zero)
{
    digit_args a;
    chunk_powers p;
    fr base = src->base;
    memset(&a, 0, sizeof a);
    a.vals = (const gpu_fr *)src->d_vals;
    a.idx = src->d_idx;
    a.at = (uint32_t)src->at;
    a.lg_digit = f->lg_digit;
    a.n_windows = f->n_windows;
    a.zero = d_zero;
    gpu_fixed_halves(a.halves, f->lg_digit);
    fr_pow_u64(&p.step, &base, f->chunk);
    fr_pow_u64(&p.first, &base, src->at);
    fr_mul(&p.first, &p.first, &src->first);
    for (int k = 0; k < 32; k++) {
        a.pow[k] = to_device_form(&base);
        fr_sqr(&base, &base);
    }
    cuzk_status st = mul_chunks(d_out, f, &a, &p, n);
    src->at += n;
    mem_wipe(&a, sizeof a);
    mem_wipe(&base, sizeof base);
    mem_wipe(&p, sizeof p);
    return st;
}
