/* Products in slices: a kernel for the scalars' digits, one for the products in Jacobian
 * coordinates, one that adds or brings to affine ones, with shared inversions. What lies between
 * them goes through memory: some 800 bytes for 400,000 instructions. */
extern "C" {
#include "base/status.h"
}
#include "gpu/gpu_common.h"
#include "gpu/gpu_g1_mul.cuh"
#include "gpu/gpu_g1_transform.h"
#include "gpu/gpu_point_io.cuh"
#include <string.h>

#define THREADS 128u
/* Of a multiprocessor at once, by their registers. */
#define RESIDENT 512u
/* Products that a thread's place makes in a slice, and that share an inversion: ten rounds of all
 * threads take about 40 ms (H200). */
#define N_ROUNDS 10u
/* From here on the threads of a warp share a node. */
#define LG_HALF_SHARED 5u
#define JAC_QUADS 9u
#define RECORD_QUADS 6u

typedef char2 digit_pair; /* of both parts */

enum product_source { BUTTERFLIES, POINTS, ITEMS };

struct slice_args {
    uint4 *points; /* records; of items, the bases */
    uint4 *jac;    /* quad q of product i at q n + i; NULL: of butterflies without a factor */
    uint4 *products;
    digit_pair *digits; /* digit k of factor f at k n_factors + f */
    const gpu_g1_item *items;
    size_t lo; /* number of the first butterfly or point; of items, where products go */
    uint32_t n, lg_half, n_factors;
    product_source source;
    gpu_glv_way way;
};

/* Number of x of butterfly b; y is half a node further. */
static __device__ __forceinline__ size_t x_of(const slice_args &a, size_t b)
{
    size_t node = b >> a.lg_half;
    return (node << (a.lg_half + 1)) + (b & (((size_t)1 << a.lg_half) - 1));
}

static __device__ __forceinline__ void load_record(gpu_g1 *o, const uint4 *records, size_t i,
                                                   bool prepared)
{
    const uint4 *r = records + i * RECORD_QUADS;
    uint32_t x = prepared ? gpu_record_x<gpu_curve_g1>(i) : 0;
    gpu_load_fe(&o->x, r + x, 1);
    gpu_load_fe(&o->y, r + 3 - x, 1);
}

static __device__ __forceinline__ void store_record(uint4 *records, size_t i, gpu_g1 *a,
                                                    bool prepared)
{
    uint4 *r = records + i * RECORD_QUADS;
    uint32_t x = prepared ? gpu_record_x<gpu_curve_g1>(i) : 0;
    if (gpu_g1_is_inf(a)) {
        gpu_g1_set_inf(a);
        a->x.l[GPU_FP_WORDS - 1] = prepared ? GPU_G1_INF_BIT : 0;
    } else {
        gpu_lz_canon(&a->x, &a->x);
        gpu_lz_canon(&a->y, &a->y);
    }
    gpu_store_fe(r + x, 1, &a->x);
    gpu_store_fe(r + 3 - x, 1, &a->y);
}

static __device__ __forceinline__ void write_digits(const slice_args &a, const gpu_glv *s,
                                                    uint32_t f)
{
    gpu_glv_reader r0, r1;
    gpu_glv_read(&r0, s, 0);
    gpu_glv_read(&r1, s, 1);
    const uint32_t n = gpu_glv_n_digits(a.way);
#pragma unroll 1
    for (uint32_t k = 0; k < n; k++) {
        int32_t d0 = gpu_glv_next(&r0, a.way), d1 = gpu_glv_next(&r1, a.way);
        a.digits[(size_t)k * a.n_factors + f] = make_char2((signed char)d0, (signed char)d1);
    }
}

/* Thread f: factor of the slice's node f. */
static __global__ void __launch_bounds__(THREADS)
    k_node_digits(slice_args a, gpu_glv_level level, uint32_t first_node)
{
    uint32_t f = blockIdx.x * THREADS + threadIdx.x;
    if (f >= a.n_factors)
        return;
    gpu_fr k;
    gpu_glv s;
    gpu_glv_node_factor(&k, &level, first_node + f);
    gpu_glv_split(&s, &k);
    write_digits(a, &s, f);
}

/* Thread i: minus item i's coefficient. */
static __global__ void __launch_bounds__(THREADS) k_item_digits(slice_args a, const gpu_fr *coeffs)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.n)
        return;
    gpu_fr k = coeffs[a.items[i].coeff], one = {{1}};
    gpu_glv s;
    gpu_fr_mul(&k, &k, &one); /* out of Montgomery form */
    gpu_glv_split(&s, &k);
    s.neg[0] = ~s.neg[0];
    s.neg[1] = ~s.neg[1];
    write_digits(a, &s, i);
}

/* Thread i: product i of the slice. Its table of 8 multiples lies in local memory, where a warp that
 * shares its scalar reads whole lines. 127 doublings, then additions: 42 for sparse digits, 60 for
 * dense ones, and 8 for the table. 128 registers: four warps a scheduler hide the chains of carries.
 * An infinite point gives Z = 0 all the way. */
static __global__ void __launch_bounds__(THREADS, RESIDENT / THREADS) k_mul(slice_args a)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.n)
        return;
    gpu_g1_table t;
    uint32_t f = 0;
    {
        gpu_fp ratio[GPU_GLV_N_TABLE];
        gpu_g1 p;
        size_t at = a.lo + i;
        if (a.source == BUTTERFLIES) {
            at = x_of(a, a.lo + i) + ((size_t)1 << a.lg_half);
            f = (uint32_t)(((a.lo + i) >> a.lg_half) - (a.lo >> a.lg_half));
        } else if (a.source == ITEMS) {
            at = a.items[i].base;
            f = i;
        }
        load_record(&p, a.points, at, a.source == ITEMS);
        if (gpu_g1_is_inf(&p)) {
            gpu_fp_set_zero(&p.x);
            gpu_fp_set_zero(&p.y);
        }
        gpu_g1_table_make(&t, ratio, &p, a.way);
    }
    gpu_g1_jac acc;
    gpu_fp_set_zero(&acc.x);
    gpu_fp_set_zero(&acc.y);
    gpu_fp_set_zero(&acc.z);
    bool empty = true;
    const digit_pair *digits = a.digits + f;
    const uint32_t step = gpu_glv_step(a.way);
#pragma unroll 1
    for (uint32_t k = gpu_glv_n_digits(a.way); k-- > 0;) {
        if (!empty) {
#pragma unroll 1
            for (uint32_t s = 0; s < step; s++)
                gpu_g1_jac_dbl(&acc);
        }
        digit_pair pair = digits[(size_t)k * a.n_factors];
#pragma unroll 1
        for (int part = 0; part < 2; part++) {
            int32_t digit = part == 0 ? pair.x : pair.y;
            if (digit != 0)
                gpu_g1_add_digit(&acc, &empty, &t, digit, part, a.way);
        }
    }
    gpu_lz_mul(&acc.z, &acc.z, &t.z);
    gpu_store_fe(a.jac + i, a.n, &acc.x);
    gpu_store_fe(a.jac + 3 * (size_t)a.n + i, a.n, &acc.y);
    gpu_store_fe(a.jac + 6 * (size_t)a.n + i, a.n, &acc.z);
}

/* y of butterfly i: its product, or itself. */
static __device__ __forceinline__ void load_y(gpu_g1_jac *y, const slice_args &a, uint32_t i,
                                              size_t x_at)
{
    if (a.jac) {
        gpu_load_fe(&y->x, a.jac + i, a.n);
        gpu_load_fe(&y->y, a.jac + 3 * (size_t)a.n + i, a.n);
        gpu_load_fe(&y->z, a.jac + 6 * (size_t)a.n + i, a.n);
        return;
    }
    gpu_g1 p;
    load_record(&p, a.points, x_at + ((size_t)1 << a.lg_half), false);
    y->x = p.x;
    y->y = p.y;
    gpu_fp_set_one(&y->z);
    if (gpu_lz_is_zero(&p.y)) /* of infinity alone */
        gpu_fp_set_zero(&y->z);
}

/* The divisor of butterfly i, or 1 and true for a pair that may be a rare case. */
static __device__ __forceinline__ bool divisor(gpu_fp *o, gpu_fp *d, gpu_fp *z2, gpu_g1 *x,
                                               gpu_g1_jac *y, const slice_args &a, uint32_t i)
{
    size_t at = x_of(a, a.lo + i);
    load_record(x, a.points, at, false);
    load_y(y, a, i, at);
    gpu_g1_denominator(o, d, z2, &x->x, y);
    bool rare = gpu_maybe_zero(o) || gpu_fp_is_zero(&x->y);
    if (rare)
        gpu_curve_g1::set_raw_one(o);
    return rare;
}

static __device__ __noinline__ void butterfly_any(gpu_g1 *x, gpu_g1 *diff, const gpu_g1_jac *y)
{
    if (gpu_fp_is_zero(&x->y))
        gpu_g1_set_inf(x);
    gpu_g1_butterfly_any(x, diff, y);
}

/* Thread t of T: butterflies t + k T of the slice, which share an inversion (Montgomery's trick).
 * 19 products each and a thread's share of 50 for the inversion. */
static __global__ void __launch_bounds__(THREADS, 3) k_join(slice_args a)
{
    const uint32_t t = blockIdx.x * THREADS + threadIdx.x, n_threads = gridDim.x * THREADS;
    gpu_fp run, o, d, z2;
    gpu_g1 x;
    gpu_g1_jac y;
    if (t >= a.n)
        return;
    gpu_curve_g1::set_raw_one(&run);
    for (uint32_t i = t; i < a.n; i += n_threads) {
        (void)divisor(&o, &d, &z2, &x, &y, a, i);
        gpu_store_fe(a.products + i, a.n, &run);
        gpu_lz_mul(&run, &run, &o);
    }
    gpu_lz_inv(&run, &run);
    const uint32_t last = t + (a.n - 1 - t) / n_threads * n_threads;
    for (uint32_t i = last + n_threads; i > t;) {
        i -= n_threads;
        gpu_g1 diff;
        gpu_fp inv;
        bool rare = divisor(&o, &d, &z2, &x, &y, a, i);
        gpu_load_fe(&inv, a.products + i, a.n);
        gpu_lz_mul(&inv, &inv, &run);
        gpu_lz_mul(&run, &run, &o);
        if (rare)
            butterfly_any(&x, &diff, &y);
        else
            gpu_g1_butterfly(&x, &diff, &y, &d, &z2, &inv);
        size_t at = x_of(a, a.lo + i);
        store_record(a.points, at, &x, false);
        store_record(a.points, at + ((size_t)1 << a.lg_half), &diff, false);
    }
}

/* The same for products alone: each replaces its point, or becomes a base. */
static __global__ void __launch_bounds__(THREADS, 4) k_affine(slice_args a)
{
    const uint32_t t = blockIdx.x * THREADS + threadIdx.x, n_threads = gridDim.x * THREADS;
    gpu_fp run, z, inv;
    if (t >= a.n)
        return;
    gpu_curve_g1::set_raw_one(&run);
    for (uint32_t i = t; i < a.n; i += n_threads) {
        gpu_load_fe(&z, a.jac + 6 * (size_t)a.n + i, a.n);
        gpu_store_fe(a.products + i, a.n, &run);
        if (!gpu_lz_is_zero(&z))
            gpu_lz_mul(&run, &run, &z);
    }
    gpu_lz_inv(&run, &run);
    const uint32_t last = t + (a.n - 1 - t) / n_threads * n_threads;
    for (uint32_t i = last + n_threads; i > t;) {
        i -= n_threads;
        gpu_g1_jac y;
        gpu_g1 p;
        gpu_load_fe(&y.x, a.jac + i, a.n);
        gpu_load_fe(&y.y, a.jac + 3 * (size_t)a.n + i, a.n);
        gpu_load_fe(&y.z, a.jac + 6 * (size_t)a.n + i, a.n);
        gpu_load_fe(&inv, a.products + i, a.n);
        gpu_lz_mul(&inv, &inv, &run);
        gpu_g1_affine(&p, &y, &inv);
        if (gpu_lz_is_zero(&y.z))
            gpu_g1_set_inf(&p);
        else
            gpu_lz_mul(&run, &run, &y.z);
        store_record(a.points, a.lo + i, &p, a.source == ITEMS);
    }
}

/* Thread i: quad i mod 6 of record i / 6. */
static __global__ void __launch_bounds__(256)
    k_reversed(uint4 *out, const uint4 *points, uint32_t first, uint32_t n, uint32_t lg_n)
{
    uint64_t i = (uint64_t)blockIdx.x * 256 + threadIdx.x;
    if (i >= (uint64_t)n * RECORD_QUADS)
        return;
    uint32_t at = first + (uint32_t)(i / RECORD_QUADS);
    size_t from = lg_n > 0 ? __brev(at) >> (32 - lg_n) : 0;
    out[i] = points[from * RECORD_QUADS + i % RECORD_QUADS];
}

/* ---- host ---- */

/* Scratch carved up. */
struct slicer {
    slice_args a;
    uint32_t n_max, n_threads; /* products in a slice; threads that join */
    const gpu_g1_work *w;
    cudaStream_t stream;
};

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

static uint32_t blocks_for(size_t n) { return (uint32_t)((n + THREADS - 1) / THREADS); }

static bool measure(slicer *s, uint64_t n_max)
{
    int dev, n;
    memset(s, 0, sizeof *s);
    if (cudaGetDevice(&dev) != cudaSuccess ||
        cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, dev) != cudaSuccess)
        return false;
    s->n_threads = (uint32_t)n * RESIDENT;
    s->n_max = s->n_threads * N_ROUNDS;
    if (n_max < s->n_max)
        s->n_max = (uint32_t)round_up(n_max > 0 ? n_max : 1, THREADS);
    return true;
}

/* Lay the parts out from base (NULL: only count). Two nodes of a slice may be cut. */
static size_t carve(slicer *s, char *base)
{
    size_t at = 0;
    s->a.jac = (uint4 *)(void *)(base + at);
    at += round_up((size_t)s->n_max * JAC_QUADS * sizeof(uint4), 256);
    s->a.products = (uint4 *)(void *)(base + at);
    at += round_up((size_t)s->n_max * 3 * sizeof(uint4), 256);
    s->a.digits = (digit_pair *)(void *)(base + at);
    size_t sparse = ((size_t)(s->n_max >> LG_HALF_SHARED) + 2) * gpu_glv_n_digits(GPU_GLV_SPARSE);
    size_t dense = ((size_t)s->n_max + 2) * gpu_glv_n_digits(GPU_GLV_DENSE);
    at += round_up((sparse > dense ? sparse : dense) * sizeof(digit_pair), 256);
    return at;
}

extern "C" size_t gpu_g1_work_bytes(uint64_t n_max)
{
    slicer s;
    return measure(&s, n_max) ? carve(&s, NULL) : 0;
}

/* As large slices as the scratch allows. */
static cuzk_status begin(slicer *s, uint64_t n, const gpu_g1_work *w)
{
    if (!measure(s, n))
        return cuzk_fail(CUZK_E_DEVICE, "products of points: no device answers");
    size_t need = carve(s, (char *)w->d_ws);
    if (need > w->bytes)
        return cuzk_fail(CUZK_E_RANGE, "products of points in %zu bytes, want %zu", w->bytes, need);
    s->w = w;
    s->stream = (cudaStream_t)w->run->stream;
    return cuzk_ok();
}

static cuzk_status launch_mul(const slicer *s)
{
    k_mul<<<blocks_for(s->a.n), THREADS, 0, s->stream>>>(s->a);
    return gpu_check_launch("k_mul");
}

static uint32_t join_blocks(const slicer *s)
{
    return blocks_for(s->a.n < s->n_threads ? s->a.n : s->n_threads);
}

static cuzk_status launch_affine(const slicer *s)
{
    k_affine<<<join_blocks(s), THREADS, 0, s->stream>>>(s->a);
    return gpu_check_launch("k_affine");
}

static cuzk_status end_slice(const slicer *s)
{
    CUZK_TRY(gpu_run_slice(s->w->run));
    if (s->w->advance)
        s->w->advance(s->w->ctx, s->a.n);
    return cuzk_ok();
}

/* Digits of the factors of the slice's nodes. */
static cuzk_status node_digits(slicer *s, const gpu_glv_level *level)
{
    slice_args *a = &s->a;
    size_t first = a->lo >> a->lg_half, last = (a->lo + a->n - 1) >> a->lg_half;
    a->n_factors = (uint32_t)(last - first + 1);
    a->way = a->lg_half >= LG_HALF_SHARED ? GPU_GLV_SPARSE : GPU_GLV_DENSE;
    k_node_digits<<<blocks_for(a->n_factors), THREADS, 0, s->stream>>>(*a, *level, (uint32_t)first);
    return gpu_check_launch("k_node_digits");
}

/* Butterflies [from, to) of a level; level NULL: with the factor 1. */
static cuzk_status butterflies(const slicer *all, size_t from, size_t to,
                               const gpu_glv_level *level)
{
    slicer s = *all;
    if (!level)
        s.a.jac = NULL;
    for (s.a.lo = from; s.a.lo < to; s.a.lo += s.a.n) {
        s.a.n = to - s.a.lo < s.n_max ? (uint32_t)(to - s.a.lo) : s.n_max;
        if (level) {
            CUZK_TRY(node_digits(&s, level));
            CUZK_TRY(launch_mul(&s));
        }
        k_join<<<join_blocks(&s), THREADS, 0, s.stream>>>(s.a);
        CUZK_TRY(gpu_check_launch("k_join"));
        CUZK_TRY(end_slice(&s));
    }
    return cuzk_ok();
}

static gpu_fr to_device_form(const fr *a)
{
    gpu_fr o;
    static_assert(sizeof o == sizeof *a, "same layout");
    memcpy(&o, a, sizeof o);
    return o;
}

/* Without a shift, node 0 of every level has the factor 1. */
static cuzk_status all_levels(slicer *s, uint32_t lg_n, const fr *shift)
{
    gpu_glv_level level;
    fr root, shift_pow[32]; /* shift^(2^k) */
    memset(&level, 0, sizeof level);
    level.lg_n = lg_n;
    fr_root_of_unity(&root, lg_n);
    fr_inv(&root, &root);
    shift_pow[0] = shift ? *shift : FR_ONE;
    for (uint32_t k = 0; k < lg_n; k++) {
        level.root_pow[k] = to_device_form(&root);
        fr_sqr(&root, &root);
        if (k + 1 < lg_n)
            fr_sqr(&shift_pow[k + 1], &shift_pow[k]);
    }
    for (uint32_t l = lg_n; l-- > 0;) {
        size_t half = (size_t)1 << l, n_plain = shift ? 0 : half;
        s->a.lg_half = l;
        level.shift_pow = to_device_form(&shift_pow[l]);
        CUZK_TRY(butterflies(s, 0, n_plain, NULL));
        CUZK_TRY(butterflies(s, n_plain, (size_t)1 << (lg_n - 1), &level));
    }
    return cuzk_ok();
}

extern "C" cuzk_status gpu_g1_transform(void *d_points, uint32_t lg_n, const fr *shift,
                                        const gpu_g1_work *w)
{
    slicer s;
    CUZK_ASSERT(lg_n <= 31);
    if (lg_n == 0)
        return cuzk_ok();
    CUZK_TRY(begin(&s, (uint64_t)1 << (lg_n - 1), w));
    s.a.points = (uint4 *)d_points;
    s.a.source = BUTTERFLIES;
    return all_levels(&s, lg_n, shift);
}

extern "C" cuzk_status gpu_g1_scale(void *d_points, uint64_t n, const fr *k, const gpu_g1_work *w)
{
    slicer s;
    gpu_glv_level level; /* of one node */
    memset(&level, 0, sizeof level);
    level.shift_pow = to_device_form(k);
    CUZK_TRY(begin(&s, n, w));
    s.a.points = (uint4 *)d_points;
    s.a.source = POINTS;
    s.a.way = GPU_GLV_SPARSE;
    s.a.n_factors = 1;
    k_node_digits<<<1, THREADS, 0, s.stream>>>(s.a, level, 0);
    CUZK_TRY(gpu_check_launch("k_node_digits"));
    for (; s.a.lo < n; s.a.lo += s.a.n) {
        s.a.n = n - s.a.lo < s.n_max ? (uint32_t)(n - s.a.lo) : s.n_max;
        CUZK_TRY(launch_mul(&s));
        CUZK_TRY(launch_affine(&s));
        CUZK_TRY(end_slice(&s));
    }
    return cuzk_ok();
}

extern "C" cuzk_status gpu_g1_multiply(const gpu_g1_products *p, uint64_t n, const gpu_g1_work *w)
{
    slicer s;
    CUZK_TRY(begin(&s, n, w));
    s.a.points = (uint4 *)p->d_bases;
    s.a.source = ITEMS;
    s.a.way = GPU_GLV_DENSE;
    for (uint64_t at = 0; at < n; at += s.a.n) {
        s.a.n = n - at < s.n_max ? (uint32_t)(n - at) : s.n_max;
        s.a.n_factors = s.a.n;
        s.a.lo = p->first + at;
        s.a.items = p->d_items + at;
        k_item_digits<<<blocks_for(s.a.n), THREADS, 0, s.stream>>>(s.a,
                                                                   (const gpu_fr *)p->d_coeffs);
        CUZK_TRY(gpu_check_launch("k_item_digits"));
        CUZK_TRY(launch_mul(&s));
        CUZK_TRY(launch_affine(&s));
        CUZK_TRY(end_slice(&s));
    }
    return cuzk_ok();
}

extern "C" cuzk_status gpu_g1_reversed(void *d_out, const void *d_points, uint64_t first,
                                       uint64_t n, uint32_t lg_n, const gpu_run *run)
{
    CUZK_ASSERT(lg_n <= 31 && first + n <= (uint64_t)1 << lg_n);
    if (n == 0)
        return cuzk_ok();
    uint64_t blocks = (n * RECORD_QUADS + 255) / 256;
    k_reversed<<<(uint32_t)blocks, 256, 0, (cudaStream_t)run->stream>>>(
        (uint4 *)d_out, (const uint4 *)d_points, (uint32_t)first, (uint32_t)n, lg_n);
    return gpu_check_launch("k_reversed");
}
