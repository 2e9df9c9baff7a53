/* Batched affine additions of G1 points, four at a time in AVX2 lanes. Included by msm_g1_adx.c
 * only, before msm_group_tmpl.h.
 *
 * Each lane runs its own chain of Montgomery's trick over every fourth addition. The integers in
 * lanes are the coordinates' own 384-bit Montgomery forms, and a lane product is a b 2^-390
 * (fp_x4.h). With X, Y, D the forms of x, y, d, the inverse of the whole product is scaled so that
 * every addition gets D' = 2^777 / D mod p; then for a slope m = num / d
 *     M = Num D' 2^-390 = 2^387 m,   M^2 2^-390 = 2^384 m^2,   M (8 U) 2^-390 = 2^384 (m u),
 * and both coordinates come out in the 384-bit form again. */
#include <assert.h>
#include "ff/fp_x4.h"
#include "msm/msm_int.h"

typedef g1_aff aff;

/* KIND_PAD fills the lanes of the last four that have no addition. */
enum { KIND_ADD, KIND_DBL, KIND_COPY_A, KIND_COPY_B, KIND_INF, KIND_PAD };

static const fp zero_fp;

typedef struct batch {
    msm_op *ops;
    size_t n, n_adds, n_fetched;
    uint16_t adds[MSM_BATCH + 3]; /* which ops are additions, in order */
    fp_x4 *d, *after;             /* by four: denominators, and products of the later ones */
    fp_x4 p;
} batch;

/* In the 16-byte pieces in which points are stored: a wider load of two fresh pieces would wait for
 * both to reach the cache. */
static inline void move_fp(fp *o, const fp *p)
{
    for (int i = 0; i < 6; i += 2)
        _mm_storeu_si128((__m128i *)&o->l[i], _mm_loadu_si128((const __m128i *)&p->l[i]));
}

static inline bool is_inf(const aff *p) { return fpi_is_zero(&p->x) && fpi_is_zero(&p->y); }

/* Do the two points enter with different signs? */
static inline bool is_flipped(const msm_op *op) { return (op->neg ^ op->neg >> 1) & 1; }

/* An op whose denominator may be zero: find out what it really is. */
static __attribute__((noinline)) uint8_t classify(const msm_op *op)
{
    const aff *a = op->a, *b = op->b;
    if (!b)
        return KIND_COPY_A;
    if (is_inf(a))
        return KIND_COPY_B;
    if (is_inf(b))
        return KIND_COPY_A;
    if (!fpi_eq(&a->x, &b->x))
        return KIND_ADD;
    fp yb = b->y;
    if (is_flipped(op))
        fpi_neg(&yb, &yb);
    return !fpi_eq(&a->y, &yb) || fpi_is_zero(&a->y) ? KIND_INF : KIND_DBL;
}

static inline void fetch(const void *p)
{
    static_assert(sizeof(aff) == 96, "a point aligned to 32 bytes lies in two lines");
    __builtin_prefetch(p);
    __builtin_prefetch((const char *)p + 64);
}

/* Fetch operands of the next batch: a few at a time, as memory has more time than a burst of them
 * would leave it. */
static inline void fetch_some(batch *b, const msm_batch *in, size_t n)
{
    for (; n > 0 && b->n_fetched < in->n_next; n--, b->n_fetched++) {
        const msm_op *op = &in->next[b->n_fetched];
        fetch(op->a);
        if (op->b)
            fetch(op->b);
    }
}

/* Tell additions from copies. */
static void pass_kinds(batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        msm_op *op = &b->ops[i];
        const aff *pa = op->a, *pb = op->b ? op->b : op->a;
        uint64_t xa = pa->x.l[0], xb = pb->x.l[0];
        op->kind = KIND_ADD;
        if (__builtin_expect((xa == xb) | (xa == 0) | (xb == 0), 0))
            op->kind = classify(op);
        b->adds[b->n_adds] = (uint16_t)i;
        b->n_adds += op->kind <= KIND_DBL;
    }
}

/* Where the four additions from adds[k] on find their operands. */
typedef struct quad {
    const msm_op *op[4];
    const fp *xa[4], *ya[4], *xb[4], *yb[4];
    unsigned kinds; /* 0 if all are KIND_ADD */
    uint8_t kind[4];
    unsigned n; /* all but the last quad: 4 */
} quad;

static inline void quad_init(quad *q, const batch *b, size_t k)
{
    static const msm_op pad = {.a = &G1_GENERATOR, .b = &G1_GENERATOR, .kind = KIND_PAD};
    q->kinds = 0;
    q->n = b->n_adds - k < 4 ? (unsigned)(b->n_adds - k) : 4;
    for (unsigned l = 0; l < 4; l++) {
        const msm_op *op = l < q->n ? &b->ops[b->adds[k + l]] : &pad;
        const aff *pa = op->a, *pb = op->b;
        q->op[l] = op;
        q->xa[l] = &pa->x;
        q->ya[l] = &pa->y;
        q->xb[l] = &pb->x;
        q->yb[l] = &pb->y;
        q->kinds |= q->kind[l] = op->kind;
    }
}

/* Tangents have denominators 2 y, and padding 1. */
static __attribute__((noinline)) void odd_denominators(const quad *q, const fp *xa[4],
                                                       const fp *xb[4], fp tmp[4])
{
    for (unsigned l = 0; l < 4; l++) {
        xa[l] = q->kind[l] == KIND_ADD ? q->xa[l] : &zero_fp;
        xb[l] = q->kind[l] == KIND_ADD ? q->xb[l] : &tmp[l];
        if (q->kind[l] == KIND_DBL)
            fpi_dbl(&tmp[l], q->ya[l]);
        else
            tmp[l] = FP_ONE;
    }
}

/* Tangents have numerators 3 x^2. */
static __attribute__((noinline)) void odd_numerators(const quad *q, const fp *ya[4],
                                                     const fp *yb[4], fp tmp[4])
{
    for (unsigned l = 0; l < 4; l++) {
        ya[l] = q->kind[l] == KIND_DBL ? &zero_fp : q->ya[l];
        yb[l] = q->kind[l] == KIND_DBL ? &tmp[l] : q->yb[l];
        if (q->kind[l] == KIND_DBL) {
            fp t;
            fpi_sqr(&t, q->xa[l]);
            fpi_dbl(&tmp[l], &t);
            fpi_add(&tmp[l], &tmp[l], &t);
        }
    }
}

/* Denominators and their products from the end, so that the second pass can write in order. */
static __attribute__((target("avx2"))) void pass_products(batch *b, fp_x4 *prod)
{
    static const uint64_t one[FPV_LIMBS] = {1};
    size_t n_quads = (b->n_adds + 3) / 4;
    fpv_all_limbs(&b->after[n_quads - 1], one);
    for (size_t i = n_quads; i-- > 0;) {
        quad q;
        fp tmp[4];
        fp_x4 xa, xb;
        __m256i t[FPV_LIMBS];
        const fp *odd_xa[4], *odd_xb[4];
        quad_init(&q, b, 4 * i);
        if (__builtin_expect(q.kinds != 0, 0)) {
            odd_denominators(&q, odd_xa, odd_xb, tmp);
            fpv_load(&xa, odd_xa);
            fpv_load(&xb, odd_xb);
        } else {
            fpv_load(&xa, q.xa);
            fpv_load(&xb, q.xb);
        }
        fpv_sub_raw(t, &xb, &xa, fpv_2p);
        fpv_carry_once(&b->d[i], t, 0);
        fpv_mul(i > 0 ? &b->after[i - 1] : prod, &b->after[i], &b->d[i], &b->p);
    }
}

/* Lane by lane 2^777 / prod mod p: fp_inv gives 2^768 / prod. */
static __attribute__((target("avx2"))) void invert_lanes(fp_x4 *inv, const fp_x4 *prod)
{
    fp f[4], ab, cd, t, all, scale;
    const fp *const fs[4] = {&f[0], &f[1], &f[2], &f[3]};
    static const uint64_t none[FPV_LIMBS];
    fp_x4 zero;
    __m256i raw[FPV_LIMBS];
    fpv_all_limbs(&zero, none);
    fpv_sub_raw(raw, prod, &zero, fpv_1p);
    fpv_reduce(raw);
    fpv_store(f, raw);
    fpi_mul(&ab, &f[0], &f[1]);
    fpi_mul(&cd, &f[2], &f[3]);
    fpi_mul(&t, &ab, &cd);
    fp_inv(&all, &t);
    fp_from_u64(&scale, 512);
    fpi_mul(&all, &all, &scale);
    fpi_mul(&cd, &cd, &all); /* 1 / ab */
    fpi_mul(&ab, &ab, &all); /* 1 / cd */
    t = f[0];
    fpi_mul(&f[0], &f[1], &cd);
    fpi_mul(&f[1], &t, &cd);
    t = f[2];
    fpi_mul(&f[2], &f[3], &ab);
    fpi_mul(&f[3], &t, &ab);
    fpv_load(inv, fs);
}

/* All ones in lanes that subtract. */
FPV_FN __m256i sign_mask(const quad *q, unsigned bit)
{
    return _mm256_set_epi64x(
        -(long long)(q->op[3]->neg >> bit & 1), -(long long)(q->op[2]->neg >> bit & 1),
        -(long long)(q->op[1]->neg >> bit & 1), -(long long)(q->op[0]->neg >> bit & 1));
}

/* y in lanes where mask is 0, -y elsewhere; limbs of either sign. */
FPV_FN void apply_sign(fp_x4 *y, __m256i mask)
{
    FPV_EACH_LIMB
    for (int j = 0; j < FPV_LIMBS; j++)
        y->l[j] = _mm256_sub_epi64(_mm256_xor_si256(y->l[j], mask), mask);
}

/* num = yb - ya, with signs (a tangent's numerator has a's); ya is left signed as sa ya. */
FPV_FN void numerators(fp_x4 *num, fp_x4 *ya, const quad *q, bool with_signs)
{
    fp_x4 yb, na;
    __m256i t[FPV_LIMBS];
    fp tmp[4];
    const fp *odd_ya[4], *odd_yb[4];
    bool is_odd = q->kinds != 0;
    fpv_load(ya, q->ya);
    if (__builtin_expect(is_odd, 0)) {
        odd_numerators(q, odd_ya, odd_yb, tmp);
        fpv_load(&na, odd_ya);
        fpv_load(&yb, odd_yb);
    } else {
        fpv_load(&yb, q->yb);
    }
    if (with_signs) {
        __m256i mask_a = sign_mask(q, 0), mask_b = sign_mask(q, 1);
        apply_sign(ya, mask_a);
        if (__builtin_expect(is_odd, 0)) {
            for (unsigned l = 0; l < 4; l++)
                if (q->kind[l] == KIND_DBL)
                    ((long long *)&mask_b)[l] = ((const long long *)&mask_a)[l];
            apply_sign(&na, mask_a);
        }
        apply_sign(&yb, mask_b);
    }
    fpv_sub_raw(t, &yb, __builtin_expect(is_odd, 0) ? &na : ya, with_signs ? fpv_4p : fpv_2p);
    fpv_carry_once(num, t, 0);
}

/* The sums of one quad, *inv going from this quad's chain to the next. */
FPV_FN void add_quad(fp x[4], fp y[4], const quad *q, bool with_signs, const batch *b, size_t i,
                     fp_x4 *inv)
{
    fp_x4 xa, xb, ya, m, u, v;
    __m256i t[FPV_LIMBS];
    fpv_mul(&v, inv, &b->after[i], &b->p);
    fpv_mul(inv, inv, &b->d[i], &b->p);
    numerators(&u, &ya, q, with_signs);
    fpv_mul(&m, &u, &v, &b->p);
    fpv_mul(&v, &m, &m, &b->p);
    fpv_load(&xa, q->xa);
    fpv_load(&xb, q->xb);
    FPV_EACH_LIMB
    for (int j = 0; j < FPV_LIMBS; j++)
        xb.l[j] = _mm256_add_epi64(xa.l[j], xb.l[j]);
    fpv_sub_raw(t, &v, &xb, fpv_2p);
    fpv_reduce(t);
    fpv_store(x, t);
    FPV_EACH_LIMB
    for (int j = 0; j < FPV_LIMBS; j++)
        v.l[j] = t[j];
    fpv_sub_raw(t, &xa, &v, fpv_2p);
    fpv_carry_once(&u, t, 3);
    fpv_mul(&v, &m, &u, &b->p);
    fpv_sub_raw(t, &v, &ya, fpv_1p);
    fpv_reduce(t);
    fpv_store(y, t);
}

/* An op that is no addition after all. */
static void copy_or_inf(const msm_op *op)
{
    bool is_b = op->kind == KIND_COPY_B;
    if (op->kind == KIND_INF) {
        *(aff *)op->out = (aff){0};
        return;
    }
    const aff *p = is_b ? op->b : op->a;
    aff *o = op->out;
    if (op->neg & (is_b ? MSM_NEG_B : MSM_NEG_A))
        fpi_neg(&o->y, &p->y);
    else
        move_fp(&o->y, &p->y);
    move_fp(&o->x, &p->x);
}

FPV_FN void pass_add(batch *b, const msm_batch *in, bool with_signs, fp_x4 *inv)
{
    size_t next = 0; /* the first op not yet done */
    for (size_t i = 0; 4 * i < b->n_adds; i++) {
        quad q;
        fp x[4], y[4];
        quad_init(&q, b, 4 * i);
        fetch_some(b, in, 4);
        add_quad(x, y, &q, with_signs, b, i, inv);
        for (unsigned l = 0; l < q.n; l++) {
            size_t at = b->adds[4 * i + l];
            for (; next < at; next++)
                copy_or_inf(&b->ops[next]);
            next = at + 1;
            aff *o = b->ops[at].out;
            move_fp(&o->x, &x[l]);
            move_fp(&o->y, &y[l]);
        }
    }
    for (; next < b->n; next++)
        copy_or_inf(&b->ops[next]);
}

/* 5 multiplications and 1 square per addition, and 1/n of an inversion (Montgomery's trick). */
static __attribute__((target("avx2"))) void batch_add(const msm_batch *in, void *scratch)
{
    batch b = {.ops = in->ops, .n = in->n};
    fp_x4 prod, inv;
    b.d = scratch;
    b.after = b.d + MSM_BATCH / 4;
    fpv_all_limbs(&b.p, fpv_p);
    pass_kinds(&b);
    if (b.n_adds > 0) {
        pass_products(&b, &prod);
        invert_lanes(&inv, &prod);
    }
    if (in->with_signs)
        pass_add(&b, in, true, &inv);
    else
        pass_add(&b, in, false, &inv);
    fetch_some(&b, in, in->n_next);
}
