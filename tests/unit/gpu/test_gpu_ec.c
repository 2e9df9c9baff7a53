/* The host twins of the device's lazily reduced Fp and of its G1 addition against src/ff and
 * src/ec. */
#include <setjmp.h>
#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "ec/g1.h"
#include "gpu/gpu_ec.cuh"

#define N_RANDOM 3000
static const uint64_t seed = 0x1a2b3c4d5eu;

static uint64_t next_u64(uint64_t *s) /* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* An element and one of its two representatives below 2p: 0, 1, p - 1 first, then random ones. */
static void sample(fp *o, gpu_fp *g, uint64_t *s, int i)
{
    uint8_t be[48];
    if (i % 19 < 3) {
        fp_from_u64(o, (uint64_t)(i % 19 > 0));
        if (i % 19 == 2)
            fp_neg(o, o);
    } else {
        do {
            for (int k = 0; k < 6; k++) {
                uint64_t v = next_u64(s);
                memcpy(be + 8 * k, &v, 8);
            }
            be[0] &= 0x1f;
        } while (!fp_from_be(o, be));
    }
    static_assert(sizeof *g == sizeof *o, "shared buffers");
    memcpy(g, o, sizeof *g);
    if (next_u64(s) & 1)
        (void)gpu_words_add(g->l, g->l, GPU_CONST(GPU_FP_P), GPU_FP_WORDS);
}

static void assert_fp(const gpu_fp *got, const fp *want, const char *op, int i)
{
    gpu_fp c, over;
    if (gpu_words_sub(over.l, got->l, GPU_CONST(GPU_LZ_2P), GPU_FP_WORDS) == 0)
        fail_msg("%s is not below 2p at case %d, seed %llx", op, i, (unsigned long long)seed);
    gpu_lz_canon(&c, got);
    if (memcmp(&c, want, sizeof c) != 0)
        fail_msg("%s differs at case %d, seed %llx", op, i, (unsigned long long)seed);
}

static void test_lazy_fp_matches_ff(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (int i = 0; i < N_RANDOM; i++) {
        fp a, b, want;
        gpu_fp x, y, got;
        sample(&a, &x, &s, i);
        sample(&b, &y, &s, i / 19);
        fp_mul(&want, &a, &b);
        gpu_lz_mul(&got, &x, &y);
        assert_fp(&got, &want, "mul", i);
        fp_sqr(&want, &a);
        gpu_lz_sqr(&got, &x);
        assert_fp(&got, &want, "sqr", i);
        fp_add(&want, &a, &b);
        gpu_lz_add(&got, &x, &y);
        assert_fp(&got, &want, "add", i);
        fp_sub(&want, &a, &b);
        gpu_lz_sub(&got, &x, &y);
        assert_fp(&got, &want, "sub", i);
        fp_inv(&want, &a);
        gpu_lz_inv(&got, &x);
        assert_fp(&got, &want, "inv", i);
        assert_int_equal(gpu_lz_is_zero(&x), fp_is_zero(&a));
        /* the wide difference is a factor, of a value below 2p */
        gpu_lz_sub_wide(&got, &x, &y);
        fp_sub(&want, &a, &b);
        fp_mul(&want, &want, &b);
        gpu_lz_mul(&got, &got, &y);
        assert_fp(&got, &want, "wide difference times b", i);
    }
}

static void test_negation_takes_both_signs(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (int i = 3; i < 200; i++) {
        fp a, want;
        gpu_fp x, got;
        sample(&a, &x, &s, i % 16 + 3);
        fp_neg(&want, &a);
        gpu_lz_neg_if(&got, &x, ~0u);
        assert_fp(&got, &want, "neg", i);
        gpu_lz_neg_if(&got, &x, 0);
        assert_fp(&got, &a, "no neg", i);
    }
}

static void to_gpu(gpu_g1 *o, const g1_aff *a, bool other)
{
    if (g1_aff_is_inf(a)) {
        gpu_g1_set_inf(o);
        return;
    }
    memcpy(o, a, sizeof *o);
    if (other) {
        (void)gpu_words_add(o->x.l, o->x.l, GPU_CONST(GPU_FP_P), GPU_FP_WORDS);
        (void)gpu_words_add(o->y.l, o->y.l, GPU_CONST(GPU_FP_P), GPU_FP_WORDS);
    }
}

static void test_addition_is_complete(void **state)
{
    (void)state;
    enum { N = 9 }; /* -4 G to 4 G: every pair is generic, equal, opposite, or has an infinity */
    g1_aff p[N];
    for (int i = 0; i < N; i++) {
        g1_jac g;
        fr_int k = {{(uint64_t)(i < 4 ? 4 - i : i - 4), 0, 0, 0}};
        g1_jac_from_aff(&g, &G1_GENERATOR);
        g1_mul(&g, &g, &k);
        g1_jac_to_aff(&p[i], &g);
        if (i < 4)
            g1_aff_neg(&p[i], &p[i]);
    }
    for (int c = 0; c < N * N * 4; c++) {
        const g1_aff *a = &p[c / 4 % N], *b = &p[c / 4 / N];
        g1_jac j;
        g1_aff want;
        gpu_g1 x, y, sum;
        g1_jac_from_aff(&j, a);
        g1_jac_add_aff(&j, &j, b);
        g1_jac_to_aff(&want, &j);
        to_gpu(&x, a, c & 1);
        to_gpu(&y, b, c & 2);
        gpu_g1_add(&sum, &x, &y);
        gpu_g1_add(&y, &x, &y); /* in place */
        assert_memory_equal(&sum, &y, sizeof sum);
        assert_int_equal(gpu_g1_is_inf(&sum), g1_aff_is_inf(&want));
        if (!g1_aff_is_inf(&want)) {
            assert_fp(&sum.x, &want.x, "x of sum", c);
            assert_fp(&sum.y, &want.y, "y of sum", c);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lazy_fp_matches_ff),
        cmocka_unit_test(test_negation_takes_both_signs),
        cmocka_unit_test(test_addition_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
