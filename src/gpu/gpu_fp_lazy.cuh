/* Fp with lazy reduction, for long chains of curve additions: values in [0, 2p), Montgomery form
 * (R = 2^384). A product of two such values comes out below 2p with no final subtraction, since
 * (2p)^2 + R p < 2p R (4p < R). Two representatives of one element may differ: only
 * gpu_lz_is_zero and gpu_lz_canon look at the element itself. Outputs may alias inputs. */
#ifndef GPU_FP_LAZY_CUH
#define GPU_FP_LAZY_CUH
#include "gpu/gpu_fp.cuh"

GPU_CONST_TABLE(uint32_t, GPU_LZ_2P, 12, 0xffff5556, 0x73fdffff, 0x62a7ffff, 0x3d57fffd, 0xed61ec48,
                0xce61a541, 0xe70a257e, 0xc8ee9709, 0x869759ae, 0x96374f6c, 0x72ffcd34, 0x340223d4);
/* R^3 mod p: takes 1/(aR) to R/a in one product. */
GPU_CONST_TABLE(uint32_t, GPU_LZ_R3, 12, 0xd94ca1e0, 0xed48ac6b, 0x03a7adf8, 0x315f831e, 0x615e29dd,
                0x9a53352a, 0x921e1761, 0x34c04e5e, 0x65724728, 0x2512d435, 0x91755d4d, 0x0aa63460);
/* p in limbs of 30 bits. */
GPU_CONST_TABLE(int32_t, GPU_LZ_P30, 13, 0x3fffaaab, 0x27fbffff, 0x153ffffb, 0x2affffac, 0x30f6241e,
                0x034a83da, 0x112bf673, 0x12e13ce1, 0x2cd76477, 0x1ed90d2e, 0x29a4b1ba, 0x3a8e5ff9,
                0x001a0111);
/* A table entry, since the compiler turns a product by the literal into shifts and additions, which
 * are slower here. */
GPU_CONST_TABLE(uint32_t, GPU_LZ_NINV, 1, GPU_FP_NINV);

/* acc += sum of a[k]^2 2^(64 k); no carry out. */
CUZK_HD void gpu_row_squares(uint32_t *acc, const uint32_t *a, int n)
{
#if GPU_DEVICE_CODE
    acc[0] = gpu_mad_lo_cc(a[0], a[0], acc[0]);
    acc[1] = gpu_madc_hi_cc(a[0], a[0], acc[1]);
    GPU_UNROLL
    for (int i = 1; i < n; i++) {
        acc[2 * i] = gpu_madc_lo_cc(a[i], a[i], acc[2 * i]);
        acc[2 * i + 1] = gpu_madc_hi_cc(a[i], a[i], acc[2 * i + 1]);
    }
#else
    uint64_t carry = 0;
    for (int i = 0; i < n; i++) {
        uint64_t p = (uint64_t)a[i] * a[i], lo = (uint64_t)acc[2 * i] + (uint32_t)p + carry;
        uint64_t hi = (uint64_t)acc[2 * i + 1] + (p >> 32) + (lo >> 32);
        acc[2 * i] = (uint32_t)lo;
        acc[2 * i + 1] = (uint32_t)hi;
        carry = hi >> 32;
    }
#endif
}

CUZK_HD void gpu_lz_mul(gpu_fp *o, const gpu_fp *a, const gpu_fp *b)
{
    gpu_mont_mul(o->l, a->l, b->l, GPU_CONST(GPU_FP_P), GPU_CONST(GPU_LZ_NINV)[0], GPU_FP_WORDS);
}

/* o = a^2 / 2^(32 n) + k m as gpu_mont_mul(o, a, a), with each mixed product once: 66 + 12 wide
 * products for the square and 144 for its reduction, against 288. a < 2p. */
CUZK_HD void gpu_lz_sqr(gpu_fp *o, const gpu_fp *a)
{
    enum { N = GPU_FP_WORDS };
    const uint32_t *m = GPU_CONST(GPU_FP_P);
    /* Mixed products that start on even and on odd words; word w at [w]. */
    uint32_t even[2 * N], odd[2 * N];
    GPU_UNROLL
    for (int i = 0; i < 2 * N; i++)
        even[i] = odd[i] = 0;
    GPU_UNROLL
    for (int i = 0; i < N - 1; i++) {
        int n_odd = (N - i) / 2 * 2, n_even = (N - 1 - i) / 2 * 2;
        gpu_row_mad(&odd[2 * i + 1], &a->l[i + 1], a->l[i], n_odd, &odd[2 * i + 1 + n_odd]);
        if (n_even > 0)
            gpu_row_mad(&even[2 * i + 2], &a->l[i + 2], a->l[i], n_even, &even[2 * i + 2 + n_even]);
    }
    (void)gpu_words_add(even, even, odd, 2 * N);
    GPU_UNROLL
    for (int i = 2 * N - 1; i > 0; i--)
        even[i] = even[i] << 1 | even[i - 1] >> 31;
    gpu_row_squares(even, a->l, N);

    gpu_fp low, hi;
    uint32_t k = even[0] * GPU_CONST(GPU_LZ_NINV)[0];
    GPU_UNROLL
    for (int i = 0; i < N; i++) {
        low.l[i] = even[i];
        hi.l[i] = even[N + i];
    }
    gpu_row_mul(odd, m + 1, k, N);
    gpu_row_mad(low.l, m, k, N, &odd[N - 1]);
    GPU_UNROLL
    for (int i = 1; i < N; i++) {
        uint32_t *main = i % 2 ? odd : low.l, *other = i % 2 ? low.l : odd;
        k = (main[0] + other[1]) * GPU_CONST(GPU_LZ_NINV)[0];
        gpu_row_mad_shift(other, &main[0], m + 1, k, N);
        gpu_row_mad(main, m, k, N, &other[N - 1]);
    }
    /* odd[0] is 0 by now; the reduced low half is low + (odd >> 32) */
    GPU_UNROLL
    for (int i = 0; i < N; i++)
        odd[i] = i + 1 < N ? odd[i + 1] : 0;
    (void)gpu_words_add(low.l, low.l, odd, N);
    (void)gpu_words_add(o->l, low.l, hi.l, N);
}

/* o = a - b + 2p, below 4p: good enough for one factor of a product: the other being
 * below 2p, the result is below (8p / 2^384 + 1) p < 2p. */
CUZK_HD void gpu_lz_sub_wide(gpu_fp *o, const gpu_fp *a, const gpu_fp *b)
{
    (void)gpu_words_add(o->l, a->l, GPU_CONST(GPU_LZ_2P), GPU_FP_WORDS);
    (void)gpu_words_sub(o->l, o->l, b->l, GPU_FP_WORDS);
}

CUZK_HD void gpu_lz_sub(gpu_fp *o, const gpu_fp *a, const gpu_fp *b)
{
    uint32_t below = gpu_words_sub(o->l, a->l, b->l, GPU_FP_WORDS);
    gpu_words_add_masked(o->l, GPU_CONST(GPU_LZ_2P), below, GPU_FP_WORDS);
}

CUZK_HD void gpu_lz_add(gpu_fp *o, const gpu_fp *a, const gpu_fp *b)
{
    (void)gpu_words_add(o->l, a->l, b->l, GPU_FP_WORDS);
    uint32_t below = gpu_words_sub(o->l, o->l, GPU_CONST(GPU_LZ_2P), GPU_FP_WORDS);
    gpu_words_add_masked(o->l, GPU_CONST(GPU_LZ_2P), below, GPU_FP_WORDS);
}

/* o = -a when neg is all ones, a when it is 0: 2p - a lies in (0, 2p], and every function here
 * takes 2p as well; y = 0 does not occur on the curve. */
CUZK_HD void gpu_lz_neg_if(gpu_fp *o, const gpu_fp *a, uint32_t neg)
{
    uint32_t t[GPU_FP_WORDS];
    (void)gpu_words_sub(t, GPU_CONST(GPU_LZ_2P), a->l, GPU_FP_WORDS);
    GPU_UNROLL
    for (int i = 0; i < GPU_FP_WORDS; i++)
        o->l[i] = neg ? t[i] : a->l[i];
}

/* The representative below p; takes values up to 2p. */
CUZK_HD void gpu_lz_canon(gpu_fp *o, const gpu_fp *a)
{
    gpu_words_reduce_once(o->l, a->l, GPU_CONST(GPU_FP_P), GPU_FP_WORDS);
    gpu_words_reduce_once(o->l, o->l, GPU_CONST(GPU_FP_P), GPU_FP_WORDS);
}

CUZK_HD bool gpu_lz_is_zero(const gpu_fp *a)
{
    gpu_fp c;
    uint32_t any = 0;
    gpu_lz_canon(&c, a);
    GPU_UNROLL
    for (int i = 0; i < GPU_FP_WORDS; i++)
        any |= c.l[i];
    return any == 0;
}

/* Inversion by division steps (Bernstein, Yang, CHES 2019; with delta from 1/2, 30 steps at a
 * time on the low words). 381 bits need at most (45907 * 381 + 26313) / 19929 = 879 steps: 30
 * rounds. */
#define GPU_LZ_LIMBS 13
#define GPU_LZ_M30 0x3fffffff
#define GPU_LZ_PINV30 0x00030003 /* 1/p mod 2^30 */

typedef struct gpu_lz_step {
    int32_t u, v, q, r;
} gpu_lz_step;

CUZK_HD int32_t gpu_lz_divsteps(int32_t zeta, uint32_t f, uint32_t g, gpu_lz_step *t)
{
    uint32_t u = 1, v = 0, q = 0, r = 1;
    for (int i = 0; i < 30; i++) {
        uint32_t neg = (uint32_t)(zeta >> 31), odd = 0u - (g & 1);
        g += ((f ^ neg) - neg) & odd;
        q += ((u ^ neg) - neg) & odd;
        r += ((v ^ neg) - neg) & odd;
        neg &= odd;
        zeta = (zeta ^ (int32_t)neg) - 1;
        f += g & neg;
        u += q & neg;
        v += r & neg;
        g >>= 1;
        u <<= 1;
        v <<= 1;
    }
    t->u = (int32_t)u;
    t->v = (int32_t)v;
    t->q = (int32_t)q;
    t->r = (int32_t)r;
    return zeta;
}

/* (f, g) <- (u f + v g, q f + r g) / 2^30, exactly. */
CUZK_HD void gpu_lz_update_fg(int32_t *f, int32_t *g, const gpu_lz_step *t)
{
    int64_t cf = ((int64_t)t->u * f[0] + (int64_t)t->v * g[0]) >> 30;
    int64_t cg = ((int64_t)t->q * f[0] + (int64_t)t->r * g[0]) >> 30;
    GPU_UNROLL
    for (int i = 1; i < GPU_LZ_LIMBS; i++) {
        cf += (int64_t)t->u * f[i] + (int64_t)t->v * g[i];
        cg += (int64_t)t->q * f[i] + (int64_t)t->r * g[i];
        f[i - 1] = (int32_t)cf & GPU_LZ_M30;
        g[i - 1] = (int32_t)cg & GPU_LZ_M30;
        cf >>= 30;
        cg >>= 30;
    }
    f[GPU_LZ_LIMBS - 1] = (int32_t)cf;
    g[GPU_LZ_LIMBS - 1] = (int32_t)cg;
}

/* The same for (d, e) modulo p: multiples of p make the low 30 bits vanish; both stay in (-2p,
 * p). */
CUZK_HD void gpu_lz_update_de(int32_t *d, int32_t *e, const gpu_lz_step *t)
{
    const int32_t *p = GPU_CONST(GPU_LZ_P30);
    int32_t sd = d[GPU_LZ_LIMBS - 1] >> 31, se = e[GPU_LZ_LIMBS - 1] >> 31;
    int32_t md = (t->u & sd) + (t->v & se), me = (t->q & sd) + (t->r & se);
    int64_t cd = (int64_t)t->u * d[0] + (int64_t)t->v * e[0];
    int64_t ce = (int64_t)t->q * d[0] + (int64_t)t->r * e[0];
    md -= (int32_t)((GPU_LZ_PINV30 * (uint32_t)cd + (uint32_t)md) & GPU_LZ_M30);
    me -= (int32_t)((GPU_LZ_PINV30 * (uint32_t)ce + (uint32_t)me) & GPU_LZ_M30);
    cd = (cd + (int64_t)p[0] * md) >> 30;
    ce = (ce + (int64_t)p[0] * me) >> 30;
    GPU_UNROLL
    for (int i = 1; i < GPU_LZ_LIMBS; i++) {
        cd += (int64_t)t->u * d[i] + (int64_t)t->v * e[i] + (int64_t)p[i] * md;
        ce += (int64_t)t->q * d[i] + (int64_t)t->r * e[i] + (int64_t)p[i] * me;
        d[i - 1] = (int32_t)cd & GPU_LZ_M30;
        e[i - 1] = (int32_t)ce & GPU_LZ_M30;
        cd >>= 30;
        ce >>= 30;
    }
    d[GPU_LZ_LIMBS - 1] = (int32_t)cd;
    e[GPU_LZ_LIMBS - 1] = (int32_t)ce;
}

/* d <- (neg ? -d : d), then + p if add; limbs back to 30 bits, the top one signed. */
CUZK_HD void gpu_lz_fix(int32_t *d, int32_t neg, int32_t add)
{
    int32_t carry = 0;
    GPU_UNROLL
    for (int i = 0; i < GPU_LZ_LIMBS; i++) {
        int32_t x = ((d[i] ^ neg) - neg) + (GPU_CONST(GPU_LZ_P30)[i] & add) + carry;
        d[i] = i + 1 < GPU_LZ_LIMBS ? x & GPU_LZ_M30 : x;
        carry = x >> 30;
    }
}

/* o = 1/a; 0 -> 0. About 40 products. */
CUZK_HD void gpu_lz_inv(gpu_fp *o, const gpu_fp *a)
{
    int32_t f[GPU_LZ_LIMBS], g[GPU_LZ_LIMBS], d[GPU_LZ_LIMBS], e[GPU_LZ_LIMBS], zeta = -1;
    gpu_fp c;
    gpu_lz_canon(&c, a);
    GPU_UNROLL
    for (int i = 0; i < GPU_LZ_LIMBS; i++) {
        int bit = 30 * i, w = bit / 32, s = bit % 32;
        uint32_t x = c.l[w] >> s;
        if (s > 2 && w + 1 < GPU_FP_WORDS)
            x |= c.l[w + 1] << (32 - s);
        g[i] = (int32_t)(x & GPU_LZ_M30);
        f[i] = GPU_CONST(GPU_LZ_P30)[i];
        d[i] = 0;
        e[i] = i == 0;
    }
#if GPU_DEVICE_CODE
#pragma unroll 1
#endif
    for (int round = 0; round < 30; round++) {
        gpu_lz_step t;
        zeta = gpu_lz_divsteps(zeta, (uint32_t)f[0] | (uint32_t)f[1] << 30,
                               (uint32_t)g[0] | (uint32_t)g[1] << 30, &t);
        gpu_lz_update_de(d, e, &t);
        gpu_lz_update_fg(f, g, &t);
    }
    /* f = +-1, d = +-1/a in (-2p, p): into (-p, p), then the sign, then into [0, p). */
    gpu_lz_fix(d, 0, d[GPU_LZ_LIMBS - 1] >> 31);
    gpu_lz_fix(d, f[GPU_LZ_LIMBS - 1] >> 31, 0);
    gpu_lz_fix(d, 0, d[GPU_LZ_LIMBS - 1] >> 31);
    GPU_UNROLL
    for (int i = 0; i < GPU_FP_WORDS; i++) {
        int bit = 32 * i, k = bit / 30, s = bit % 30;
        uint32_t x = (uint32_t)d[k] >> s | (uint32_t)d[k + 1] << (30 - s);
        if (s > 28 && k + 2 < GPU_LZ_LIMBS)
            x |= (uint32_t)d[k + 2] << (60 - s);
        c.l[i] = x;
    }
    gpu_fp r3;
    GPU_UNROLL
    for (int i = 0; i < GPU_FP_WORDS; i++)
        r3.l[i] = GPU_CONST(GPU_LZ_R3)[i];
    gpu_lz_mul(o, &c, &r3);
}
#endif
