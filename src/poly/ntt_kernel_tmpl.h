/* The hot loops, compiled once per instruction set: the including file defines NTT_TABLE (and
 * CUZK_ISA_ADX before any include). No include guard on purpose. Each pass does two levels so that
 * an element is loaded half as often. */
#include "ff/fr_inline.h"
#include "poly/ntt_int.h"

/* Twiddle of node k; the inverse one comes without its sign, which the butterfly swaps in. Node 0's
 * inverse is 1 = -(-1). */
static inline const fr *twiddle(const fr *tw, size_t k, bool inverse, const fr *minus_one)
{
    if (!inverse)
        return &tw[k];
    if (k == 0)
        return minus_one;
    size_t top = (size_t)1 << (63 - __builtin_clzll(k));
    return &tw[k ^ (top - 1)];
}

/* (x, y) <- (x + t y, x - t y), or with the signs swapped. */
static inline void down2(fr *x, fr *y, const fr *t, bool swap)
{
    fr p;
    fri_mul(&p, y, t);
    if (swap) {
        fri_add(y, x, &p);
        fri_sub(x, x, &p);
    } else {
        fri_sub(y, x, &p);
        fri_add(x, x, &p);
    }
}

static inline void up2(fr *x, fr *y, const fr *t)
{
    fr d;
    fri_sub(&d, x, y);
    fri_add(x, x, y);
    fri_mul(y, &d, t);
}

static inline __attribute__((always_inline)) void down_range(const fr *t, fr *a, size_t q,
                                                             size_t lo, size_t hi, bool swap)
{
    for (size_t j = lo; j < hi; j++) {
        fr x0 = a[j], x1 = a[j + q], x2 = a[j + 2 * q], x3 = a[j + 3 * q];
        down2(&x0, &x2, &t[0], swap);
        down2(&x1, &x3, &t[0], swap);
        down2(&x0, &x1, &t[1], swap);
        down2(&x2, &x3, &t[2], swap);
        a[j] = x0;
        a[j + q] = x1;
        a[j + 2 * q] = x2;
        a[j + 3 * q] = x3;
    }
}

static void down_pass(const fr *tw, fr *a, size_t len, size_t k, bool inverse, size_t lo, size_t hi)
{
    fr minus_one, t[3];
    fri_neg(&minus_one, &FR_ONE);
    t[0] = *twiddle(tw, k, inverse, &minus_one);
    t[1] = *twiddle(tw, 2 * k, inverse, &minus_one);
    t[2] = *twiddle(tw, 2 * k + 1, inverse, &minus_one);
    if (inverse)
        down_range(t, a, len / 4, lo, hi, true);
    else
        down_range(t, a, len / 4, lo, hi, false);
}

static void up_pass(const fr *tw, fr *a, size_t len, size_t k, size_t lo, size_t hi)
{
    size_t q = len / 4;
    const fr t0 = tw[k], t1 = tw[2 * k], t2 = tw[2 * k + 1];
    for (size_t j = lo; j < hi; j++) {
        fr x0 = a[j], x1 = a[j + q], x2 = a[j + 2 * q], x3 = a[j + 3 * q];
        up2(&x0, &x1, &t1);
        up2(&x2, &x3, &t2);
        up2(&x0, &x2, &t0);
        up2(&x1, &x3, &t0);
        a[j] = x0;
        a[j + q] = x1;
        a[j + 2 * q] = x2;
        a[j + 3 * q] = x3;
    }
}

static void down_tree(const fr *tw, fr *a, size_t len, size_t k, bool inverse)
{
    fr minus_one;
    fri_neg(&minus_one, &FR_ONE);
    if (len > (size_t)1 << NTT_LG_CACHED) {
        down_pass(tw, a, len, k, inverse, 0, len / 4);
        for (size_t c = 0; c < 4; c++)
            down_tree(tw, a + c * (len / 4), len / 4, 4 * k + c, inverse);
        return;
    }
    size_t nodes = 1;
    for (; len >= 4; len /= 4, nodes *= 4, k *= 4)
        for (size_t b = 0; b < nodes; b++)
            down_pass(tw, a + b * len, len, k + b, inverse, 0, len / 4);
    if (len == 2)
        for (size_t b = 0; b < nodes; b++)
            down2(&a[2 * b], &a[2 * b + 1], twiddle(tw, k + b, inverse, &minus_one), inverse);
}

static void up_cached(const fr *tw, fr *a, size_t len, size_t k)
{
    uint32_t lg = (uint32_t)__builtin_ctzll(len);
    size_t cur = lg % 2 ? 2 : 1;
    if (cur == 2)
        for (size_t b = 0; b < len / 2; b++)
            up2(&a[2 * b], &a[2 * b + 1], &tw[k * (len / 2) + b]);
    for (cur *= 4; cur <= len; cur *= 4)
        for (size_t b = 0; b < len / cur; b++)
            up_pass(tw, a + b * cur, cur, k * (len / cur) + b, 0, cur / 4);
}

static void up_tree(const fr *tw, fr *a, size_t len, size_t k)
{
    if (len <= (size_t)1 << NTT_LG_CACHED) {
        up_cached(tw, a, len, k);
        return;
    }
    for (size_t c = 0; c < 4; c++)
        up_tree(tw, a + c * (len / 4), len / 4, 4 * k + c);
    up_pass(tw, a, len, k, 0, len / 4);
}

static void scale(fr *a, size_t n, const fr *c, const fr *lo_tab, size_t mask)
{
    fr f;
    for (size_t i = 0; i < n; i++) {
        fri_mul(&f, &lo_tab[i & mask], c);
        fri_mul(&a[i], &a[i], &f);
    }
}

static void mul(fr *o, const fr *a, const fr *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fri_mul(&o[i], &a[i], &b[i]);
}

static void combine(fr *d, const fr *cc, size_t n, const fr *c, const fr *lo_tab, size_t mask,
                    const fr *k)
{
    fr f, g;
    for (size_t i = 0; i < n; i++) {
        fri_mul(&f, &lo_tab[i & mask], c);
        fri_mul(&d[i], &d[i], &f);
        fri_mul(&g, &cc[i], k);
        fri_sub(&d[i], &d[i], &g);
    }
}

const ntt_kernels NTT_TABLE = {down_pass, up_pass, down_tree, up_tree, scale, mul, combine};
