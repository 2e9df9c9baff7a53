/* The host twins of the device's lazily reduced Fp2 and of its G2 addition against src/ff and
 * src/ec; what a status of decoded points says. */
#include <setjmp.h>
#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "ec/g2.h"
#include "gpu/gpu_ec2.cuh"
#include "gpu/gpu_msm_points.h"

#define N_RANDOM 2000
static const uint64_t seed = 0x2b3c4d5e6fu;

static uint64_t next_u64(uint64_t *s) /* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* An element and one of its representatives up to 2p: 0, 1, p - 1 first, then random ones. */
static void sample_fp(fp *o, gpu_fp *g, uint64_t *s, int i)
{
    uint8_t be[48];
    if (i % 7 < 3) {
        fp_from_u64(o, (uint64_t)(i % 7 > 0));
        if (i % 7 == 2)
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
    memcpy(g, o, sizeof *g);
    if (next_u64(s) & 1)
        (void)gpu_words_add(g->l, g->l, GPU_CONST(GPU_FP_P), GPU_FP_WORDS);
    if (fp_is_zero(o) && (next_u64(s) & 1))
        memcpy(g->l, GPU_CONST(GPU_LZ_2P), sizeof g->l); /* what negating a 0 gives */
}

static void sample(fp2 *o, gpu_fp2 *g, uint64_t *s, int i)
{
    static_assert(sizeof *g == sizeof *o, "shared buffers");
    sample_fp(&o->c0, &g->c0, s, i % 7);
    sample_fp(&o->c1, &g->c1, s, i / 7 % 7);
}

static void assert_fp(const gpu_fp *got, const fp *want, const char *op, int i)
{
    gpu_fp c, over;
    if (gpu_words_sub(over.l, GPU_CONST(GPU_LZ_2P), got->l, GPU_FP_WORDS) != 0)
        fail_msg("%s is above 2p at case %d, seed %llx", op, i, (unsigned long long)seed);
    gpu_lz_canon(&c, got);
    if (memcmp(&c, want, sizeof c) != 0)
        fail_msg("%s differs at case %d, seed %llx", op, i, (unsigned long long)seed);
}

static void assert_fp2(const gpu_fp2 *got, const fp2 *want, const char *op, int i)
{
    assert_fp(&got->c0, &want->c0, op, i);
    assert_fp(&got->c1, &want->c1, op, i);
}

static void test_sum_of_products(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (int i = 0; i < N_RANDOM; i++) {
        fp a[4], want, t;
        gpu_fp x[4], got;
        for (int j = 0; j < 4; j++)
            sample_fp(&a[j], &x[j], &s, i + j * (i / 7));
        fp_mul(&want, &a[0], &a[1]);
        fp_mul(&t, &a[2], &a[3]);
        fp_add(&want, &want, &t);
        gpu_lz_mul_add(&got, &x[0], &x[1], &x[2], &x[3]);
        assert_fp(&got, &want, "a b + c d", i);
    }
}

static void test_lazy_fp2_matches_ff(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (int i = 0; i < N_RANDOM; i++) {
        fp2 a, b, want;
        gpu_fp2 x, y, got;
        sample(&a, &x, &s, i);
        sample(&b, &y, &s, i / 49);
        fp2_mul(&want, &a, &b);
        gpu_lz2_mul(&got, &x, &y);
        assert_fp2(&got, &want, "mul", i);
        fp2_sqr(&want, &a);
        gpu_lz2_sqr(&got, &x);
        assert_fp2(&got, &want, "sqr", i);
        fp2_add(&want, &a, &b);
        gpu_lz2_add(&got, &x, &y);
        assert_fp2(&got, &want, "add", i);
        fp2_sub(&want, &a, &b);
        gpu_lz2_sub(&got, &x, &y);
        assert_fp2(&got, &want, "sub", i);
        fp2_neg(&want, &a);
        gpu_lz2_neg_if(&got, &x, ~0u);
        assert_fp2(&got, &want, "neg", i);
        gpu_lz2_neg_if(&got, &x, 0);
        assert_fp2(&got, &a, "no neg", i);
        fp2_inv(&want, &a);
        gpu_lz2_inv(&got, &x);
        assert_fp2(&got, &want, "inv", i);
        gpu_lz2_inv(&x, &x); /* in place */
        assert_memory_equal(&x, &got, sizeof x);
        assert_int_equal(gpu_lz2_is_zero(&y), fp2_is_zero(&b));
    }
}

static void to_gpu(gpu_g2 *o, const g2_aff *a, bool other)
{
    if (g2_aff_is_inf(a)) {
        gpu_g2_set_inf(o);
        return;
    }
    memcpy(o, a, sizeof *o);
    if (other) {
        gpu_fp *c[] = {&o->x.c0, &o->x.c1, &o->y.c0, &o->y.c1};
        for (int i = 0; i < 4; i++)
            (void)gpu_words_add(c[i]->l, c[i]->l, GPU_CONST(GPU_FP_P), GPU_FP_WORDS);
    }
}

static void test_addition_is_complete(void **state)
{
    (void)state;
    enum { N = 9 }; /* -4 G to 4 G: every pair is generic, equal, opposite, or has an infinity */
    g2_aff p[N];
    for (int i = 0; i < N; i++) {
        g2_jac g;
        fr_int k = {{(uint64_t)(i < 4 ? 4 - i : i - 4), 0, 0, 0}};
        g2_jac_from_aff(&g, &G2_GENERATOR);
        g2_mul(&g, &g, &k);
        g2_jac_to_aff(&p[i], &g);
        if (i < 4)
            g2_aff_neg(&p[i], &p[i]);
    }
    for (int c = 0; c < N * N * 4; c++) {
        const g2_aff *a = &p[c / 4 % N], *b = &p[c / 4 / N];
        g2_jac j;
        g2_aff want;
        gpu_g2 x, y, sum;
        g2_jac_from_aff(&j, a);
        g2_jac_add_aff(&j, &j, b);
        g2_jac_to_aff(&want, &j);
        to_gpu(&x, a, c & 1);
        to_gpu(&y, b, c & 2);
        gpu_g2_add(&sum, &x, &y);
        gpu_g2_add(&y, &x, &y); /* in place */
        assert_memory_equal(&sum, &y, sizeof sum);
        assert_int_equal(gpu_g2_is_inf(&sum), g2_aff_is_inf(&want));
        if (!g2_aff_is_inf(&want)) {
            assert_fp2(&sum.x, &want.x, "x of sum", c);
            assert_fp2(&sum.y, &want.y, "y of sum", c);
        }
    }
}

static void test_verdict_names_the_point(void **state)
{
    (void)state;
    assert_int_equal(gpu_points_verdict(UINT64_MAX).code, CUZK_OK);
    for (uint64_t fault = 1; fault <= 7; fault++) {
        cuzk_status st = gpu_points_verdict(((uint64_t)1 << 33) << 8 | fault);
        assert_int_equal(st.code, CUZK_E_INPUT);
        assert_non_null(strstr(st.msg, "point 8589934592: "));
    }
    assert_int_equal(gpu_points_verdict(5 << 8).code, CUZK_E_INTERNAL);
    assert_int_equal(gpu_points_verdict(5 << 8 | 8).code, CUZK_E_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum_of_products),
        cmocka_unit_test(test_lazy_fp2_matches_ff),
        cmocka_unit_test(test_addition_is_complete),
        cmocka_unit_test(test_verdict_names_the_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
