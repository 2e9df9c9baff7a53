/* The host twins of the device's field arithmetic against src/ff. The schemes (rows, accumulators,
 * bounds) are the device's own code; only the carry chains under them differ. */
#include <setjmp.h>
#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "ff/fp.h"
#include "ff/fr.h"
#include "gpu/gpu_fp.cuh"
#include "gpu/gpu_fr.cuh"

#define N_RANDOM 20000
static const uint64_t seed = 0x5eed0f9e1d5u;

static uint64_t next_u64(uint64_t *s) /* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Edge values first (0, 1, p - 1, words of ones), then random ones. */
static void fp_sample(fp *o, uint64_t *s, int i)
{
    uint8_t be[48];
    fp one = FP_ONE;
    if (i % 17 == 0) {
        *o = FP_ZERO;
    } else if (i % 17 == 1) {
        *o = one;
    } else if (i % 17 == 2) {
        fp_neg(o, &one);
    } else {
        do {
            for (int k = 0; k < 6; k++) {
                uint64_t v = next_u64(s);
                v = i % 17 == 3 ? 0 - (v & 1) : v;
                memcpy(be + 8 * k, &v, 8);
            }
            be[0] &= 0x1f;
        } while (!fp_from_be(o, be));
    }
}

static void to_gpu(gpu_fp *o, const fp *a)
{
    static_assert(sizeof *o == sizeof *a, "shared buffers");
    memcpy(o, a, sizeof *o);
}

static void assert_same(const gpu_fp *got, const fp *want, const char *op, int i)
{
    if (memcmp(got, want, sizeof *want) != 0)
        fail_msg("%s differs at case %d, seed %llx", op, i, (unsigned long long)seed);
}

static void test_fp_matches_ff(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (int i = 0; i < N_RANDOM; i++) {
        fp a, b, want;
        gpu_fp x, y, got;
        fp_sample(&a, &s, i);
        fp_sample(&b, &s, i / 17);
        to_gpu(&x, &a);
        to_gpu(&y, &b);
        fp_mul(&want, &a, &b);
        gpu_fp_mul(&got, &x, &y);
        assert_same(&got, &want, "mul", i);
        fp_sqr(&want, &a);
        gpu_fp_sqr(&got, &x);
        assert_same(&got, &want, "sqr", i);
        fp_add(&want, &a, &b);
        gpu_fp_add(&got, &x, &y);
        assert_same(&got, &want, "add", i);
        fp_sub(&want, &a, &b);
        gpu_fp_sub(&got, &x, &y);
        assert_same(&got, &want, "sub", i);
        fp_neg(&want, &a);
        gpu_fp_neg(&got, &x);
        assert_same(&got, &want, "neg", i);
        fp_dbl(&want, &a);
        gpu_fp_dbl(&x, &x); /* in place */
        assert_same(&x, &want, "dbl", i);
        assert_int_equal(gpu_fp_is_zero(&y), fp_is_zero(&b));
        assert_int_equal(gpu_fp_eq(&x, &y), fp_eq(&want, &b));
    }
}

static void test_fp_inv_matches_ff(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (int i = 0; i < 40; i++) {
        fp a, want;
        gpu_fp x;
        fp_sample(&a, &s, i);
        to_gpu(&x, &a);
        fp_inv(&want, &a);
        gpu_fp_inv(&x, &x);
        assert_same(&x, &want, "inv", i);
    }
}

/* Inputs up to 8p: the lazy product may not lose a carry, and stays below 8p. */
static void test_fp_lazy_bounds(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (int i = 0; i < N_RANDOM; i++) {
        fp a, b, want;
        gpu_fp x, y, got;
        fp_sample(&a, &s, i);
        fp_sample(&b, &s, i / 17);
        to_gpu(&x, &a);
        to_gpu(&y, &b);
        fp_mul(&want, &a, &b);
        for (int k = 0; k < 7; k++) {
            (void)gpu_words_add(x.l, x.l, GPU_FP_P, GPU_FP_WORDS);
            (void)gpu_words_add(y.l, y.l, GPU_FP_P, GPU_FP_WORDS);
        }
        gpu_fp_mul_lazy(&got, &x, &y);
        int n_sub = 0;
        for (gpu_fp r;; got = r, n_sub++) {
            gpu_fp_reduce(&r, &got);
            if (gpu_fp_eq(&r, &got))
                break;
        }
        assert_true(n_sub < 8);
        assert_same(&got, &want, "lazy mul", i);
    }
}

/* Edge values first, then random ones; below r, or any 256-bit value. */
static void fr_words_sample(gpu_fr *o, uint64_t *s, int i, bool reduced)
{
    fr_int v;
    for (int k = 0; k < 4; k++) {
        v.l[k] = next_u64(s);
        if (i % 13 < 4) /* all zeros, all ones, and mixtures */
            v.l[k] = i % 13 == 0 ? 0 : i % 13 == 1 ? ~(uint64_t)0 : 0 - (v.l[k] & 1);
    }
    if (i % 13 == 4)
        v = FR_MODULUS;
    memcpy(o, &v, sizeof v);
    if (reduced)
        gpu_fr_reduce(o, o);
}

static void as_fr(fr *o, const gpu_fr *a) { memcpy(o, a, sizeof *o); }

static void assert_fr_same(const gpu_fr *got, const fr *want, const char *op, int i)
{
    gpu_fr r;
    gpu_fr_reduce(&r, got);
    if (memcmp(&r, want, sizeof *want) != 0)
        fail_msg("%s differs at case %d, seed %llx", op, i, (unsigned long long)seed);
}

static void test_fr_matches_ff(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (int i = 0; i < N_RANDOM; i++) {
        gpu_fr x, y, got;
        fr a, b, want;
        fr_words_sample(&x, &s, i, true);
        fr_words_sample(&y, &s, i / 13, true);
        as_fr(&a, &x);
        as_fr(&b, &y);
        gpu_fr_mul(&got, &x, &y);
        fr_mul(&want, &a, &b);
        assert_memory_equal(&got, &want, sizeof want);
        gpu_fr lazy, r; /* the second factor may be any words */
        fr_words_sample(&lazy, &s, i, false);
        gpu_fr_reduce(&r, &lazy);
        as_fr(&want, &r);
        gpu_fr_mul(&got, &x, &lazy);
        fr_mul(&want, &a, &want);
        assert_memory_equal(&got, &want, sizeof want);
        gpu_fr_add(&got, &x, &y);
        fr_add(&want, &a, &b);
        assert_memory_equal(&got, &want, sizeof want);
        gpu_fr_sub(&got, &x, &y);
        fr_sub(&want, &a, &b);
        assert_memory_equal(&got, &want, sizeof want);
    }
}

/* The product by a fixed operand, for any 256-bit x, and its bound. */
static void test_fr_fixed_product(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (int i = 0; i < N_RANDOM; i++) {
        gpu_fr w, x, xr, got;
        gpu_fr_fixed f;
        fr a, want;
        fr_int w_plain;
        fr_words_sample(&w, &s, i, true);
        fr_words_sample(&x, &s, i / 13, false);
        gpu_fr_fixed_set(&f, &w);
        gpu_fr_mul_fixed(&got, &x, &f);
        memcpy(&w_plain, &w, sizeof w);
        fr_from_int(&want, &w_plain);
        gpu_fr_reduce(&xr, &x);
        as_fr(&a, &xr);
        fr_mul(&want, &want, &a);
        assert_fr_same(&got, &want, "fixed product", i);
        gpu_fr below_2r;
        gpu_fr_reduce_2r(&below_2r, &got);
        if (x.l[7] < GPU_FR_LAZY_TOP)
            assert_memory_equal(&below_2r, &got, sizeof got);
    }
}

/* The product by a word less 32 bits, for any 256-bit x; with factors at the ends of the range. */
static void test_fr_word_product(void **state)
{
    (void)state;
    uint64_t s = seed;
    fr two32;
    fr_from_u64(&two32, (uint64_t)1 << 32);
    for (int i = 0; i < N_RANDOM; i++) {
        gpu_fr x, xr, got;
        fr a, k_fr, want, product;
        uint32_t k = i % 4 == 0 ? 0 : i % 4 == 1 ? (1u << 30) - 1 : (uint32_t)(next_u64(&s) >> 34);
        fr_words_sample(&x, &s, i, false);
        gpu_fr_mul_word(&got, &x, k);
        gpu_fr_reduce(&xr, &got);
        assert_memory_equal(&xr, &got, sizeof got); /* is reduced */
        gpu_fr_reduce(&xr, &x);
        as_fr(&a, &xr);
        fr_from_u64(&k_fr, k);
        fr_mul(&want, &a, &k_fr);
        as_fr(&product, &got);
        fr_mul(&product, &product, &two32);
        assert_memory_equal(&product, &want, sizeof want);
    }
}

static void test_fr_butterflies(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (int i = 0; i < N_RANDOM; i++) {
        gpu_fr x, t, y, u, r;
        fr a, b, sum, diff;
        fr_words_sample(&x, &s, i, false);
        fr_words_sample(&t, &s, i / 13, false);
        if (x.l[7] >= GPU_FR_LAZY_TOP)
            x.l[7] = GPU_FR_LAZY_TOP - 1;
        gpu_fr_reduce_2r(&t, &t);
        gpu_fr_reduce(&r, &x);
        as_fr(&a, &r);
        gpu_fr_reduce(&r, &t);
        as_fr(&b, &r);
        fr_add(&sum, &a, &b);
        fr_sub(&diff, &a, &b);
        u = x;
        gpu_fr_butterfly(&u, &y, &t);
        assert_true(u.l[7] < GPU_FR_LAZY_TOP && y.l[7] < GPU_FR_LAZY_TOP);
        assert_fr_same(&u, &sum, "butterfly sum", i);
        assert_fr_same(&y, &diff, "butterfly difference", i);
        gpu_fr_reduce_2r(&u, &x);
        gpu_fr_sum_diff(&u, &t);
        assert_fr_same(&u, &sum, "sum", i);
        assert_fr_same(&t, &diff, "difference", i);
        assert_true(u.l[7] <= GPU_FR_2R[7] && t.l[7] <= GPU_FR_2R[7]);
    }
}

/* Sums and differences over 28 levels, as in the inverse transform of 2^28 points, from the largest
 * and from random values below 2r; levels keep the largest words by taking sums with equals. */
static void test_fr_sums_stay_lazy(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (int i = 0; i < N_RANDOM / 10; i++) {
        gpu_fr x, y, r;
        fr a, b, sum, diff;
        fr_words_sample(&x, &s, i, false);
        fr_words_sample(&y, &s, i / 13, false);
        gpu_fr_reduce_2r(&x, &x);
        gpu_fr_reduce_2r(&y, &y);
        for (int k = 0; k < 28; k++) {
            if (i % 3 == 0)
                y = x;
            gpu_fr_reduce(&r, &x);
            as_fr(&a, &r);
            gpu_fr_reduce(&r, &y);
            as_fr(&b, &r);
            fr_add(&sum, &a, &b);
            fr_sub(&diff, &a, &b);
            gpu_fr_sum_diff(&x, &y);
            assert_true(x.l[7] < GPU_FR_LAZY_TOP && y.l[7] < GPU_FR_LAZY_TOP);
            assert_fr_same(&x, &sum, "sum", i);
            assert_fr_same(&y, &diff, "difference", i);
            if (i % 3 == 1) { /* the other input as large as it may be: just below 2^224 above 2r */
                memset(&y, 0xff, sizeof y);
                y.l[7] = GPU_FR_2R[7];
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fp_matches_ff),     cmocka_unit_test(test_fp_inv_matches_ff),
        cmocka_unit_test(test_fp_lazy_bounds),    cmocka_unit_test(test_fr_matches_ff),
        cmocka_unit_test(test_fr_fixed_product),  cmocka_unit_test(test_fr_butterflies),
        cmocka_unit_test(test_fr_sums_stay_lazy), cmocka_unit_test(test_fr_word_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
