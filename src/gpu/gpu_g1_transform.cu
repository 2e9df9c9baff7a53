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

/* PAIRS: of one node, each with a factor of its own. */
enum product_source { BUTTERFLIES, PAIRS, POINTS, ITEMS };

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

/* Of factor f, which is k in plain form, or -k. */
static __device__ __forceinline__ void write_digits(const slice_args &a, const gpu_fr *k, bool minus,
                                                    uint32_t f)
{
    gpu_glv split;
    gpu_glv *s = &split;
    gpu_glv_reader r0, r1;
    gpu_glv_split(s, k);
    if (minus) {
        s->neg[0] = ~s->neg[0];
        s->neg[1] = ~s->neg[1];
    }
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
    k_node_digits(slice_args a, gpu_glv_roots roots, uint32_t first_node)
{
    uint32_t f = blockIdx.x * THREADS + threadIdx.x;
    if (f >= a.n_factors)
        return;
    gpu_fr k;
    gpu_glv_node_factor(&k, &roots, first_node + f);
    write_digits(a, &k, false, f);
}

/* Thread i: k (in Montgomery form) times the number of the slice's point i. */
static __global__ void __launch_bounds__(THREADS) k_index_digits(slice_args a, gpu_fr k)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.n)
        return;
    gpu_fr index = {{(uint32_t)(a.lo + i)}};
    gpu_fr_mul(&k, &k, &index);
    write_digits(a, &k, false, i);
}

/* Thread i: factor i of the slice, in Montgomery form, times `by`, in plain form. */
static __global__ void __launch_bounds__(THREADS)
    k_factor_digits(slice_args a, const gpu_fr *factors, gpu_fr by)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.n)
        return;
    gpu_fr k = factors[a.lo + i];
    gpu_fr_mul(&k, &k, &by);
    write_digits(a, &k, false, i);
}

/* Thread i: item i's coefficient. */
static __global__ void __launch_bounds__(THREADS) k_item_digits(slice_args a, const gpu_fr *coeffs)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.n)
        return;
    uint32_t coeff = a.items[i].coeff;
    gpu_fr k = coeffs[coeff & ~GPU_G1_ITEM_MINUS], one = {{1}};
    gpu_fr_mul(&k, &k, &one); /* out of Montgomery form */
    write_digits(a, &k, (coeff & GPU_G1_ITEM_MINUS) != 0, i);
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
    uint32_t f = i;
    {
        gpu_fp ratio[GPU_GLV_N_TABLE];
        gpu_g1 p;
        size_t at = a.lo + i;
        if (a.source == BUTTERFLIES)
            f = (uint32_t)(((a.lo + i) >> a.lg_half) - (a.lo >> a.lg_half));
        if (a.source == BUTTERFLIES || a.source == PAIRS)
            at = x_of(a, a.lo + i) + ((size_t)1 << a.lg_half);
        else if (a.source == ITEMS)
            at = a.items[i].base;
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

/* Infinities are common in the first levels of a vector that has many: they share the inversion
 * like others. What may be equal or opposite is RARE, and has inversions of its own. */
enum pair_kind { ORDINARY, X_INFINITE, Y_INFINITE, RARE };

/* What butterfly i divides by; 1 if by nothing. */
static __device__ __forceinline__ pair_kind divisor(gpu_fp *o, gpu_fp *d, gpu_fp *z2, gpu_g1 *x,
                                                    gpu_g1_jac *y, const slice_args &a, uint32_t i)
{
    size_t at = x_of(a, a.lo + i);
    pair_kind kind = ORDINARY;
    load_record(x, a.points, at, false);
    load_y(y, a, i, at);
    gpu_g1_denominator(o, d, z2, &x->x, y);
    if (gpu_lz_is_zero(&y->z))
        kind = Y_INFINITE;
    else if (gpu_fp_is_zero(&x->y)) /* of infinity alone */
        kind = X_INFINITE;
    else if (gpu_maybe_zero(o))
        kind = RARE;
    if (kind == X_INFINITE)
        *o = y->z;
    else if (kind != ORDINARY)
        gpu_curve_g1::set_raw_one(o);
    return kind;
}

static __device__ __noinline__ void butterfly_any(gpu_g1 *x, gpu_g1 *diff, const gpu_g1_jac *y)
{
    gpu_g1_butterfly_any(x, diff, y);
}

/* Thread t of T: butterflies t + k T of the slice, which share an inversion (Montgomery's trick).
 * 19 products each and a thread's share of 50 for the inversion; fewer for an infinite point. */
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
        pair_kind kind = divisor(&o, &d, &z2, &x, &y, a, i);
        gpu_load_fe(&inv, a.products + i, a.n);
        gpu_lz_mul(&inv, &inv, &run);
        gpu_lz_mul(&run, &run, &o);
        if (kind == ORDINARY)
            gpu_g1_butterfly(&x, &diff, &y, &d, &z2, &inv);
        else if (kind == RARE)
            butterfly_any(&x, &diff, &y);
        else
            gpu_g1_butterfly_infinite(&x, &diff, kind == X_INFINITE ? &y : NULL, &inv);
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

static cuzk_status launch_join(const slicer *s)
{
    k_join<<<join_blocks(s), THREADS, 0, s->stream>>>(s->a);
    return gpu_check_launch("k_join");
}

static cuzk_status end_slice(const slicer *s)
{
    CUZK_TRY(gpu_run_slice(s->w->run));
    if (s->w->advance)
        s->w->advance(s->w->ctx, s->a.n);
    return cuzk_ok();
}

/* Digits of the factors of the slice's nodes. */
static cuzk_status node_digits(slicer *s, const gpu_glv_roots *roots)
{
    slice_args *a = &s->a;
    size_t first = a->lo >> a->lg_half, last = (a->lo + a->n - 1) >> a->lg_half;
    a->n_factors = (uint32_t)(last - first + 1);
    a->way = a->lg_half >= LG_HALF_SHARED ? GPU_GLV_SPARSE : GPU_GLV_DENSE;
    k_node_digits<<<blocks_for(a->n_factors), THREADS, 0, s->stream>>>(*a, *roots, (uint32_t)first);
    return gpu_check_launch("k_node_digits");
}

/* The slice at lo, of what lies before `to`. */
static void take_slice(slicer *s, size_t to)
{
    s->a.n = to - s->a.lo < s->n_max ? (uint32_t)(to - s->a.lo) : s->n_max;
}

/* Butterflies [from, to) of a level; roots NULL: with the factor 1. */
static cuzk_status butterflies(const slicer *all, size_t from, size_t to,
                               const gpu_glv_roots *roots)
{
    slicer s = *all;
    if (!roots)
        s.a.jac = NULL;
    for (s.a.lo = from; s.a.lo < to; s.a.lo += s.a.n) {
        take_slice(&s, to);
        if (roots) {
            CUZK_TRY(node_digits(&s, roots));
            CUZK_TRY(launch_mul(&s));
        }
        CUZK_TRY(launch_join(&s));
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

/* Node 0 of every level has the factor 1. */
static cuzk_status all_levels(slicer *s, uint32_t lg_n)
{
    gpu_glv_roots roots;
    fr root;
    memset(&roots, 0, sizeof roots);
    roots.lg_n = lg_n;
    roots.one = to_device_form(&FR_ONE);
    fr_root_of_unity(&root, lg_n);
    fr_inv(&root, &root);
    for (uint32_t k = 0; k < lg_n; k++) {
        roots.root_pow[k] = to_device_form(&root);
        fr_sqr(&root, &root);
    }
    for (uint32_t l = lg_n; l-- > 0;) {
        size_t half = (size_t)1 << l;
        s->a.lg_half = l;
        CUZK_TRY(butterflies(s, 0, half, NULL));
        CUZK_TRY(butterflies(s, half, (size_t)1 << (lg_n - 1), &roots));
    }
    return cuzk_ok();
}

extern "C" cuzk_status gpu_g1_transform(void *d_points, uint32_t lg_n, const gpu_g1_work *w)
{
    slicer s;
    CUZK_ASSERT(lg_n <= 31);
    if (lg_n == 0)
        return cuzk_ok();
    CUZK_TRY(begin(&s, (uint64_t)1 << (lg_n - 1), w));
    s.a.points = (uint4 *)d_points;
    s.a.source = BUTTERFLIES;
    return all_levels(&s, lg_n);
}

extern "C" cuzk_status gpu_g1_times_index(void *d_points, uint32_t lg_n, const fr *k,
                                          const gpu_g1_work *w)
{
    slicer s;
    const size_t n = (size_t)1 << lg_n;
    CUZK_ASSERT(lg_n <= 31);
    CUZK_TRY(begin(&s, n, w));
    s.a.points = (uint4 *)d_points;
    s.a.source = POINTS;
    s.a.way = GPU_GLV_DENSE;
    for (; s.a.lo < n; s.a.lo += s.a.n) {
        take_slice(&s, n);
        s.a.n_factors = s.a.n;
        k_index_digits<<<blocks_for(s.a.n), THREADS, 0, s.stream>>>(s.a, to_device_form(k));
        CUZK_TRY(gpu_check_launch("k_index_digits"));
        CUZK_TRY(launch_mul(&s));
        CUZK_TRY(launch_affine(&s));
        CUZK_TRY(end_slice(&s));
    }
    return cuzk_ok();
}

extern "C" cuzk_status gpu_g1_add_products(void *d_points, uint32_t lg_n, const void *d_k,
                                           const fr *by, const gpu_g1_work *w)
{
    slicer s;
    fr_int e;
    gpu_fr by_plain;
    const size_t n = (size_t)1 << lg_n;
    CUZK_ASSERT(lg_n <= 31);
    static_assert(sizeof e == sizeof by_plain, "same layout");
    fr_to_int(&e, by);
    memcpy(&by_plain, &e, sizeof by_plain);
    CUZK_TRY(begin(&s, n, w));
    s.a.points = (uint4 *)d_points;
    s.a.source = PAIRS;
    s.a.lg_half = lg_n;
    s.a.way = GPU_GLV_DENSE;
    for (; s.a.lo < n; s.a.lo += s.a.n) {
        take_slice(&s, n);
        s.a.n_factors = s.a.n;
        k_factor_digits<<<blocks_for(s.a.n), THREADS, 0, s.stream>>>(s.a, (const gpu_fr *)d_k,
                                                                     by_plain);
        CUZK_TRY(gpu_check_launch("k_factor_digits"));
        CUZK_TRY(launch_mul(&s));
        CUZK_TRY(launch_join(&s));
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
