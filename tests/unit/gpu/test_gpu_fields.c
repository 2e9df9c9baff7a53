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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fp_matches_ff),
        cmocka_unit_test(test_fp_inv_matches_ff),
        cmocka_unit_test(test_fp_lazy_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
