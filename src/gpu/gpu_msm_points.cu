/* Key points: bytes of a file, records, and what a record must be. */
extern "C" {
#include "base/status.h"
}
#include "gpu/gpu_msm.h"
#include "gpu/gpu_msm_points_int.h"
#include "gpu/gpu_point_io.cuh"

/* R^2 mod p takes a plain number to Montgomery form. */
static __device__ __constant__ const uint32_t FP_RR[GPU_FP_WORDS] = {
    0x1c341746, 0xf4df1f34, 0x09d104f1, 0x0a76e6a6, 0x4c95b6d5, 0x8de5476c,
    0x939d83c0, 0x67eb88a9, 0xb519952d, 0x9a793e85, 0x92cae3aa, 0x11988fe5};
/* The endomorphisms, in Montgomery form: phi(x, y) = (beta x, y) on G1 with beta^3 = 1;
 * psi(x, y) = (conj(x) c_x, conj(y) c_y) on G2 with c_x = (1 + u)^(-(p-1)/3), of real part 0, and
 * c_y = (1 + u)^(-(p-1)/2). */
static __device__ __constant__ const uint32_t BETA[GPU_FP_WORDS] = {
    0x798a64e8, 0x30f1361b, 0x7ece5a2a, 0xf3b8ddab, 0xc61577f7, 0x16a8ca3a,
    0x74fd029b, 0xc26a2ff8, 0x60701c6e, 0x3636b766, 0x241b6160, 0x051ba4ab};
static __device__ __constant__ const uint32_t PSI_CX1[GPU_FP_WORDS] = {
    0x867545c3, 0x890dc9e4, 0x3285a5d5, 0x2af32253, 0x309b7e2c, 0x50880866,
    0x7e881024, 0xa20d1b8c, 0xe2db9068, 0x14e4f04f, 0x1564853a, 0x14e56d3f};
static __device__ __constant__ const uint32_t PSI_CY0[GPU_FP_WORDS] = {
    0xa55c9ad1, 0x3e2f585d, 0x86c18183, 0x4294213d, 0x8b623732, 0x382844c8,
    0x19103e18, 0x92ad2afd, 0xac7cf0b9, 0x1d794e4f, 0x7d825ec8, 0x0bd592fc};
static __device__ __constant__ const uint32_t PSI_CY1[GPU_FP_WORDS] = {
    0x5aa30fda, 0x7bcfa7a2, 0x2a927e7c, 0xdc17dec1, 0x6b4ebef1, 0x2f088dd8,
    0xda74d4a7, 0xd1ca2087, 0x96cebc1d, 0x2da25966, 0xbbfd87d2, 0x0e2b7eed};
/* The curve parameter's absolute value; the parameter is negative. */
#define CURVE_X UINT64_C(0xd201000000010000)

static __device__ __forceinline__ void set_words(gpu_fp *o, const uint32_t *w)
{
#pragma unroll
    for (int i = 0; i < GPU_FP_WORDS; i++)
        o->l[i] = w[i];
}

/* 48 big-endian bytes at three 16-byte words. */
static __device__ __forceinline__ void load_be(gpu_fp *o, const uint4 *p)
{
    gpu_fp t;
    gpu_load_fe(&t, p, 1);
#pragma unroll
    for (int i = 0; i < GPU_FP_WORDS; i++)
        o->l[i] = __byte_perm(t.l[GPU_FP_WORDS - 1 - i], 0, 0x0123);
}

static __device__ __forceinline__ void store_be(uint4 *p, const gpu_fp *a)
{
    gpu_fp t;
#pragma unroll
    for (int i = 0; i < GPU_FP_WORDS; i++)
        t.l[i] = __byte_perm(a->l[GPU_FP_WORDS - 1 - i], 0, 0x0123);
    gpu_store_fe(p, 1, &t);
}

/* False when not below p. */
static __device__ __forceinline__ bool from_plain(gpu_fp *a)
{
    gpu_fp t;
    if (gpu_words_sub(t.l, a->l, GPU_FP_P, GPU_FP_WORDS) == 0)
        return false;
    set_words(&t, FP_RR);
    gpu_lz_mul(a, a, &t);
    gpu_lz_canon(a, a);
    return true;
}

static __device__ __forceinline__ void to_plain(gpu_fp *a)
{
    gpu_fp one;
#pragma unroll
    for (int i = 0; i < GPU_FP_WORDS; i++)
        one.l[i] = i == 0;
    gpu_lz_mul(a, a, &one);
    gpu_lz_canon(a, a);
}

/* A coordinate in a file; c1 comes first. */
static __device__ __forceinline__ void load_file(gpu_fp *o, const uint4 *p) { load_be(o, p); }
static __device__ __forceinline__ void load_file(gpu_fp2 *o, const uint4 *p)
{
    load_be(&o->c1, p);
    load_be(&o->c0, p + 3);
}
static __device__ __forceinline__ void store_file(uint4 *p, gpu_fp *a)
{
    to_plain(a);
    store_be(p, a);
}
static __device__ __forceinline__ void store_file(uint4 *p, gpu_fp2 *a)
{
    store_file(p, &a->c1);
    store_file(p + 3, &a->c0);
}
static __device__ __forceinline__ bool from_plain(gpu_fp2 *a)
{
    bool ok0 = from_plain(&a->c0), ok1 = from_plain(&a->c1);
    return ok0 && ok1;
}
static __device__ __forceinline__ uint32_t &first_word(gpu_fp *a) { return a->l[GPU_FP_WORDS - 1]; }
static __device__ __forceinline__ uint32_t &first_word(gpu_fp2 *a)
{
    return a->c1.l[GPU_FP_WORDS - 1];
}

/* b = 4, or 4 (1 + u). */
static __device__ __forceinline__ void set_b(gpu_fp *o)
{
    gpu_fp_set_one(o);
    gpu_lz_add(o, o, o);
    gpu_lz_add(o, o, o);
}
static __device__ __forceinline__ void set_b(gpu_fp2 *o)
{
    set_b(&o->c0);
    o->c1 = o->c0;
}

/* Checking is all products: calls keep the code small (inline they take minutes to compile). */
static __device__ __noinline__ void fe_mul(gpu_fp *o, const gpu_fp *a, const gpu_fp *b)
{
    gpu_lz_mul(o, a, b);
}
static __device__ __noinline__ void fe_mul(gpu_fp2 *o, const gpu_fp2 *a, const gpu_fp2 *b)
{
    gpu_lz2_mul(o, a, b);
}
static __device__ __forceinline__ void fe_sqr(gpu_fp *o, const gpu_fp *a) { fe_mul(o, a, a); }
static __device__ __forceinline__ void fe_sqr(gpu_fp2 *o, const gpu_fp2 *a) { fe_mul(o, a, a); }

template <class C> static __device__ bool is_on_curve(const typename C::point *a)
{
    typename C::fe l, r, b;
    set_b(&b);
    fe_sqr(&l, &a->y);
    fe_sqr(&r, &a->x);
    fe_mul(&r, &r, &a->x);
    C::add(&r, &r, &b);
    C::sub(&l, &l, &r);
    return C::is_zero(&l);
}

/* (X / Z^2, Y / Z^3); infinity: Z = 0. */
template <class C> struct jacobian {
    typename C::fe x, y, z;
};

template <class C> static __device__ __noinline__ void jac_dbl(jacobian<C> *p)
{
    typename C::fe a, b, c, d, e;
    fe_sqr(&a, &p->x);
    fe_sqr(&b, &p->y);
    fe_sqr(&c, &b);
    C::add(&d, &p->x, &b);
    fe_sqr(&d, &d);
    C::sub(&d, &d, &a);
    C::sub(&d, &d, &c);
    C::add(&d, &d, &d);
    C::add(&e, &a, &a);
    C::add(&e, &e, &a);
    fe_mul(&p->z, &p->z, &p->y);
    C::add(&p->z, &p->z, &p->z);
    fe_sqr(&p->x, &e);
    C::sub(&p->x, &p->x, &d);
    C::sub(&p->x, &p->x, &d);
    C::sub(&d, &d, &p->x);
    fe_mul(&p->y, &e, &d);
    C::add(&c, &c, &c);
    C::add(&c, &c, &c);
    C::add(&c, &c, &c);
    C::sub(&p->y, &p->y, &c);
}

/* p += q, all cases. */
template <class C> static __device__ __noinline__ void jac_add(jacobian<C> *p, const jacobian<C> *q)
{
    typename C::fe z1, z2, u1, h, s1, r;
    if (C::is_zero(&q->z))
        return;
    if (C::is_zero(&p->z)) {
        *p = *q;
        return;
    }
    fe_sqr(&z1, &p->z);
    fe_sqr(&z2, &q->z);
    fe_mul(&u1, &p->x, &z2);
    fe_mul(&h, &q->x, &z1);
    C::sub(&h, &h, &u1);
    fe_mul(&z2, &z2, &q->z);
    fe_mul(&s1, &p->y, &z2);
    fe_mul(&z1, &z1, &p->z);
    fe_mul(&r, &q->y, &z1);
    C::sub(&r, &r, &s1);
    if (C::is_zero(&h)) {
        if (C::is_zero(&r))
            jac_dbl(p);
        else
            C::sub(&p->z, &p->z, &p->z);
        return;
    }
    fe_mul(&p->z, &p->z, &q->z);
    fe_mul(&p->z, &p->z, &h);
    fe_sqr(&z1, &h);
    fe_mul(&h, &h, &z1); /* H^3 */
    fe_mul(&u1, &u1, &z1);
    fe_sqr(&p->x, &r);
    C::sub(&p->x, &p->x, &h);
    C::sub(&p->x, &p->x, &u1);
    C::sub(&p->x, &p->x, &u1);
    C::sub(&u1, &u1, &p->x);
    fe_mul(&p->y, &r, &u1);
    fe_mul(&s1, &s1, &h);
    C::sub(&p->y, &p->y, &s1);
}

/* p *= CURVE_X */
template <class C> static __device__ void jac_mul_x(jacobian<C> *p)
{
    jacobian<C> base = *p;
#pragma unroll 1
    for (int i = 62; i >= 0; i--) {
        jac_dbl(p);
        if (CURVE_X >> i & 1)
            jac_add(p, &base);
    }
}

template <class C> static __device__ void to_jacobian(jacobian<C> *o, const typename C::point *a)
{
    o->x = a->x;
    o->y = a->y;
    C::set_mont_one(&o->z);
}

/* (X, Y, Z) = (x, -y)? */
template <class C>
static __device__ bool is_negative_of(const jacobian<C> *p, const typename C::fe *x,
                                      const typename C::fe *y)
{
    typename C::fe zz, t;
    if (C::is_zero(&p->z))
        return false;
    fe_sqr(&zz, &p->z);
    fe_mul(&t, x, &zz);
    C::sub(&t, &t, &p->x);
    if (!C::is_zero(&t))
        return false;
    fe_mul(&zz, &zz, &p->z);
    fe_mul(&t, y, &zz);
    C::add(&t, &t, &p->y);
    return C::is_zero(&t);
}

/* On the curve, phi acts as -x^2 on the subgroup of order r and nowhere else (Scott, ePrint
 * 2021/1130); psi as x. */
static __device__ bool is_in_subgroup(const gpu_g1 *a)
{
    jacobian<gpu_curve_g1> p;
    gpu_fp x;
    to_jacobian<gpu_curve_g1>(&p, a);
    jac_mul_x(&p);
    jac_mul_x(&p);
    set_words(&x, BETA);
    fe_mul(&x, &x, &a->x);
    return is_negative_of<gpu_curve_g1>(&p, &x, &a->y);
}

static __device__ bool is_in_subgroup(const gpu_g2 *a)
{
    jacobian<gpu_curve_g2> p;
    gpu_fp2 x = a->x, y = a->y, c;
    to_jacobian<gpu_curve_g2>(&p, a);
    jac_mul_x(&p);
    gpu_lz_neg_if(&x.c1, &x.c1, ~0u);
    gpu_lz_neg_if(&y.c1, &y.c1, ~0u);
    gpu_fp_set_zero(&c.c0);
    set_words(&c.c1, PSI_CX1);
    fe_mul(&x, &x, &c);
    set_words(&c.c0, PSI_CY0);
    set_words(&c.c1, PSI_CY1);
    fe_mul(&y, &y, &c);
    return is_negative_of<gpu_curve_g2>(&p, &x, &y);
}

/* Flags of the first byte: ZCash protocol specification, section 5.4.9.2. */
template <class C, bool FULL>
static __device__ __forceinline__ uint32_t decode(typename C::point *o, const uint4 *bytes,
                                                  gpu_points_check check)
{
    load_file(&o->x, bytes);
    load_file(&o->y, bytes + C::FE_QUADS);
    uint32_t flags = first_word(&o->x) >> 29;
    if (flags != 0)
        return flags & 4   ? GPU_POINTS_COMPRESSED
               : flags & 1 ? GPU_POINTS_SIGN
                           : GPU_POINTS_INFINITY;
    if (!from_plain(&o->x))
        return GPU_POINTS_X;
    if (!from_plain(&o->y))
        return GPU_POINTS_Y;
    /* (0, 0), which stands for infinity in memory, is refused even where the equation is not
     * looked at */
    bool zero = C::is_zero(&o->x) && C::is_zero(&o->y);
    if (zero || (FULL && !is_on_curve<C>(o)))
        return GPU_POINTS_EQUATION;
    if (FULL && check == GPU_POINTS_SUBGROUP && !is_in_subgroup(o))
        return GPU_POINTS_ORDER;
    return 0;
}

template <class C>
static __device__ __forceinline__ void store_record(uint4 *r, typename C::point *a, size_t index,
                                                    bool prepared)
{
    uint32_t at = prepared ? gpu_record_x<C>(index) : 0;
    gpu_store_fe(r + at, 1, &a->x);
    gpu_store_fe(r + C::FE_QUADS - at, 1, &a->y);
}

/* Thread i: point i of the piece. FULL: more than GPU_POINTS_RANGE, which needs few registers. */
template <class C, bool FULL>
static __global__ void __launch_bounds__(128)
    k_decode(gpu_points p, gpu_points_check check, unsigned long long *status)
{
    size_t i = (size_t)blockIdx.x * 128 + threadIdx.x;
    if (i >= p.n)
        return;
    typename C::point a;
    uint32_t fault = decode<C, FULL>(&a, (const uint4 *)p.d_bytes + i * (2 * C::FE_QUADS), check);
    if (fault != 0) {
        atomicMin(status, (unsigned long long)(p.first_index + i) << 8 | fault);
        C::set_inf(&a);
        if (!p.prepared)
            C::top(&a.x) = 0;
    }
    store_record<C>((uint4 *)p.d_records + i * (2 * C::FE_QUADS), &a, p.first_index + i,
                    p.prepared);
}

/* Thread i: point i of the piece. */
template <class C> static __global__ void __launch_bounds__(128) k_encode(gpu_points p)
{
    size_t i = (size_t)blockIdx.x * 128 + threadIdx.x;
    if (i >= p.n)
        return;
    typename C::point a;
    const uint4 *r = (const uint4 *)p.d_records + i * (2 * C::FE_QUADS);
    uint32_t at = p.prepared ? gpu_record_x<C>(p.first_index + i) : 0;
    gpu_load_fe(&a.x, r + at, 1);
    gpu_load_fe(&a.y, r + C::FE_QUADS - at, 1);
    bool inf = p.prepared ? gpu_x_is_inf<C>(&a.x) : C::is_zero(&a.x) && C::is_zero(&a.y);
    if (inf) {
        C::set_inf(&a);
        C::top(&a.x) = 0;
    }
    uint4 *out = (uint4 *)p.d_bytes + i * (2 * C::FE_QUADS);
    store_file(out, &a.x);
    store_file(out + C::FE_QUADS, &a.y);
    if (inf)
        *(uint8_t *)out = 0x40;
}

/* Thread i: record i of the piece, from plain to prepared. */
template <class C>
static __global__ void __launch_bounds__(256)
    k_prepare(uint4 *records, size_t first_index, size_t n)
{
    size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    typename C::point a;
    uint4 *r = records + i * (2 * C::FE_QUADS);
    gpu_load_fe(&a.x, r, 1);
    gpu_load_fe(&a.y, r + C::FE_QUADS, 1);
    if (C::is_zero(&a.x) && C::is_zero(&a.y))
        C::set_inf(&a);
    store_record<C>(r, &a, first_index + i, true);
}

/* Thread i: records i and j, if i < j. Odd records have their coordinates the other way round. */
static __global__ void __launch_bounds__(256) k_bit_reverse(uint4 *records, uint32_t lg_n)
{
    enum { QUADS = gpu_curve_g1::FE_QUADS };
    uint32_t i = blockIdx.x * 256 + threadIdx.x, j = __brev(i) >> (32 - lg_n);
    if (i >> lg_n || i >= j)
        return;
    uint4 a[2 * QUADS], b[2 * QUADS];
    uint4 *at_i = records + (size_t)i * (2 * QUADS), *at_j = records + (size_t)j * (2 * QUADS);
    bool turn = (i ^ j) & 1;
#pragma unroll
    for (int k = 0; k < 2 * QUADS; k++) {
        a[k] = at_i[k];
        b[k] = at_j[k];
    }
#pragma unroll
    for (int k = 0; k < 2 * QUADS; k++) {
        at_j[k] = turn ? a[(k + QUADS) % (2 * QUADS)] : a[k];
        at_i[k] = turn ? b[(k + QUADS) % (2 * QUADS)] : b[k];
    }
}

extern "C" cuzk_status gpu_points_bit_reverse(void *d_bases, uint32_t lg_n, const gpu_run *run)
{
    CUZK_ASSERT(lg_n <= 31);
    if (lg_n < 2) /* nothing changes places */
        return cuzk_ok();
    k_bit_reverse<<<((1u << lg_n) + 255) / 256, 256, 0, (cudaStream_t)run->stream>>>(
        (uint4 *)d_bases, lg_n);
    return gpu_check_launch("k_bit_reverse");
}

template <class C>
static cuzk_status launch_decode(const gpu_points *p, gpu_points_check check, uint64_t *d_status,
                                 const gpu_run *run)
{
    if (p->n == 0)
        return cuzk_ok();
    uint32_t blocks = (uint32_t)((p->n + 127) / 128);
    if (check == GPU_POINTS_RANGE)
        k_decode<C, false><<<blocks, 128, 0, (cudaStream_t)run->stream>>>(
            *p, check, (unsigned long long *)d_status);
    else
        k_decode<C, true><<<blocks, 128, 0, (cudaStream_t)run->stream>>>(
            *p, check, (unsigned long long *)d_status);
    return gpu_check_launch("k_decode");
}

template <class C> static cuzk_status launch_encode(const gpu_points *p, const gpu_run *run)
{
    if (p->n == 0)
        return cuzk_ok();
    k_encode<C><<<(uint32_t)((p->n + 127) / 128), 128, 0, (cudaStream_t)run->stream>>>(*p);
    return gpu_check_launch("k_encode");
}

template <class C>
static cuzk_status launch_prepare(void *d_bases, size_t first_index, size_t n, const gpu_run *run)
{
    if (n == 0)
        return cuzk_ok();
    k_prepare<C><<<(uint32_t)((n + 255) / 256), 256, 0, (cudaStream_t)run->stream>>>(
        (uint4 *)d_bases, first_index, n);
    return gpu_check_launch("k_prepare");
}

extern "C" cuzk_status gpu_points_decode_g1(const gpu_points *p, gpu_points_check check,
                                            uint64_t *d_status, const gpu_run *run)
{
    return launch_decode<gpu_curve_g1>(p, check, d_status, run);
}
extern "C" cuzk_status gpu_points_decode_g2(const gpu_points *p, gpu_points_check check,
                                            uint64_t *d_status, const gpu_run *run)
{
    return launch_decode<gpu_curve_g2>(p, check, d_status, run);
}
extern "C" cuzk_status gpu_points_encode_g1(const gpu_points *p, const gpu_run *run)
{
    return launch_encode<gpu_curve_g1>(p, run);
}
extern "C" cuzk_status gpu_points_encode_g2(const gpu_points *p, const gpu_run *run)
{
    return launch_encode<gpu_curve_g2>(p, run);
}
extern "C" cuzk_status gpu_msm_prepare_bases_g1(void *d_bases, size_t first_index, size_t n,
                                                const gpu_run *run)
{
    return launch_prepare<gpu_curve_g1>(d_bases, first_index, n, run);
}
extern "C" cuzk_status gpu_msm_prepare_bases_g2(void *d_bases, size_t first_index, size_t n,
                                                const gpu_run *run)
{
    return launch_prepare<gpu_curve_g2>(d_bases, first_index, n, run);
}
