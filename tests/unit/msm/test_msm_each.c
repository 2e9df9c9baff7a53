/* Products in step, butterflies and sparse sums of G1 points, against one product at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/mem.h"
#include "ec/g1_endo.h"
#include "msm/msm_sums.h"

#define SEED 0x2545f4914f6cdd1du
#define N 300u

static uint64_t rng_state = SEED;

static uint64_t rng(void)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return rng_state * 0x9e3779b97f4a7c15u;
}

static fr_int reduced(const fr_int *k)
{
    fr f;
    fr_int o;
    fr_from_int(&f, k);
    fr_to_int(&o, &f);
    return o;
}

static fr_int random_scalar(void)
{
    const fr_int k = {{rng(), rng(), rng(), rng()}};
    return reduced(&k);
}

static void times(g1_aff *o, const g1_aff *p, const fr_int *k)
{
    g1_jac j;
    g1_jac_from_aff(&j, p);
    g1_mul(&j, &j, k);
    g1_jac_to_aff(o, &j);
}

static void plus(g1_aff *o, const g1_aff *a, const g1_aff *b)
{
    g1_jac j;
    g1_jac_from_aff(&j, a);
    g1_jac_add_aff(&j, &j, b);
    g1_jac_to_aff(o, &j);
}

static g1_aff points[N];

static int make_points(void **state)
{
    (void)state;
    printf("seed %#llx\n", (unsigned long long)SEED);
    for (size_t i = 0; i < N; i++) {
        const fr_int k = random_scalar();
        times(&points[i], &G1_GENERATOR, &k);
    }
    points[7] = (g1_aff){0};
    points[9] = points[8];
    g1_aff_neg(&points[11], &points[10]);
    return 0;
}

/* Around 0, r, M = x^2, the halves where a part changes its sign, and random ones. */
static const fr_int edges[] = {
    {{0, 0, 0, 0}},
    {{1, 0, 0, 0}},
    {{8, 0, 0, 0}},
    {{9, 0, 0, 0}},
    {{0xffffffff00000000u, 0x53bda402fffe5bfeu, 0x3339d80809a1d805u, 0x73eda753299d7d48u}},
    {{0x7fffffff80000000u, 0xa9ded2017fff2dffu, 0x199cec0404d0ec02u, 0x39f6d3a994cebea4u}},
    {{0x7fffffff80000001u, 0xa9ded2017fff2dffu, 0x199cec0404d0ec02u, 0x39f6d3a994cebea4u}},
    {{0x00000000ffffffffu, 0xac45a4010001a402u, 0, 0}},
    {{0x0000000100000000u, 0xac45a4010001a402u, 0, 0}},
    {{0x000000007fffffffu, 0x5622d2008000d201u, 0, 0}},
    {{0x0000000080000000u, 0x5622d2008000d201u, 0, 0}},
};

static fr_int scalar_of(size_t i) { return i < ARRAY_LEN(edges) ? edges[i] : random_scalar(); }

static void test_parts_are_short_and_add_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < 200; i++) {
        g1_split s;
        g1_aff want, part[2], got;
        const fr_int k = scalar_of(i);
        g1_split_scalar(&s, &k);
        for (int h = 0; h < 2; h++) {
            assert_true(s.k[h][1] >> 63 == 0);
            const fr_int e = {{s.k[h][0], s.k[h][1], 0, 0}};
            times(&part[h], &points[20], &e);
            if (s.neg[h])
                g1_aff_neg(&part[h], &part[h]);
        }
        g1_aff_phi(&part[1], &part[1]);
        plus(&got, &part[0], &part[1]);
        times(&want, &points[20], &k);
        if (!g1_aff_eq(&got, &want))
            fail_msg("split of scalar %zu differs", i);
    }
}

static msm_factor factors[N];
static fr_int scalars[N];

static void make_factors(void)
{
    for (size_t i = 0; i < N; i++) {
        scalars[i] = scalar_of(i);
        msm_factor_set(&factors[i], &scalars[i]);
    }
}

static void for_each_isa(void (*fn)(void))
{
    static const char *const isas[] = {"portable", "adx"};
    for (size_t k = 0; k < ARRAY_LEN(isas); k++)
        if (ff_force_isa(isas[k]))
            fn();
    assert_true(ff_force_isa(NULL));
}

static void products(void)
{
    static const size_t sizes[] = {0, 1, 3, 40, MSM_EACH_MAX};
    msm_each *e = msm_each_create(2);
    assert_non_null(e);
    for (size_t t = 0; t < ARRAY_LEN(sizes); t++) {
        msm_product in[MSM_EACH_MAX];
        g1_aff out[MSM_EACH_MAX];
        make_factors();
        for (size_t i = 0; i < sizes[t]; i++) {
            out[i] = points[(i + t) % N];
            in[i] = (msm_product){&out[i], &factors[i]};
        }
        msm_each_mul(e, t & 1, out, in, sizes[t]);
        for (size_t i = 0; i < sizes[t]; i++) {
            g1_aff want;
            times(&want, &points[(i + t) % N], &scalars[i]);
            if (!g1_aff_eq(&want, &out[i]))
                fail_msg("product %zu of %zu differs", i, sizes[t]);
        }
    }
    msm_each_destroy(e);
}

static void test_products_match_single_ones(void **state)
{
    (void)state;
    for_each_isa(products);
}

static void butterflies(void)
{
    msm_each *e = msm_each_create(1);
    assert_non_null(e);
    for (int with_factor = 0; with_factor < 2; with_factor++) {
        enum { PAIRS = 50 };
        g1_aff x[PAIRS], y[PAIRS];
        msm_butterfly b[PAIRS];
        make_factors();
        for (size_t i = 0; i < PAIRS; i++) {
            x[i] = points[2 * i];
            y[i] = points[2 * i + 1]; /* equal, opposite and infinite ones among them */
            b[i] = (msm_butterfly){&x[i], &y[i], with_factor ? &factors[i] : NULL};
        }
        msm_each_butterfly(e, 0, b, PAIRS);
        for (size_t i = 0; i < PAIRS; i++) {
            g1_aff t = points[2 * i + 1], want;
            if (with_factor)
                times(&t, &t, &scalars[i]);
            plus(&want, &points[2 * i], &t);
            assert_true(g1_aff_eq(&want, &x[i]));
            g1_aff_neg(&t, &t);
            plus(&want, &points[2 * i], &t);
            assert_true(g1_aff_eq(&want, &y[i]));
        }
    }
    msm_each_destroy(e);
}

static void test_butterflies_match_single_ones(void **state)
{
    (void)state;
    for_each_isa(butterflies);
}

/* Sums of lengths 0 to 20000: many in a piece, and one over several. */
static void sparse_sums(void)
{
    enum { SUMS = 3000 };
    static g1_aff got[SUMS + 1];
    static const size_t longs[] = {10, 4095, 4096, 4097, 20000};
    static g1_jac want[SUMS];
    msm_sums *s = msm_sums_create();
    assert_non_null(s);
    make_factors();
    uint64_t seed = rng_state;
    for (int pass = 0; pass < 2; pass++) {
        rng_state = seed;
        if (pass == 0)
            msm_sums_begin(s, got);
        for (size_t k = 0; k < SUMS; k++) {
            size_t len = k % 700 == 5 ? longs[k / 700] : rng() % 4;
            g1_jac acc = {0};
            for (size_t i = 0; i < len; i++) {
                size_t at = rng() % N;
                unsigned how = (unsigned)(rng() % (len > 20 ? 40 : 4));
                g1_aff t = points[at];
                if (pass == 0 && how == 3)
                    msm_sums_add_product(s, &points[at], &factors[at]);
                else if (pass == 0)
                    msm_sums_add(s, &points[at], how == 1);
                else if (how == 3)
                    times(&t, &t, &scalars[at]);
                else if (how == 1)
                    g1_aff_neg(&t, &t);
                if (pass == 1)
                    g1_jac_add_aff(&acc, &acc, &t);
            }
            if (pass == 0)
                msm_sums_close(s);
            want[k] = acc;
        }
        if (pass == 0)
            msm_sums_finish(s);
    }
    for (size_t k = 0; k < SUMS; k++) {
        g1_jac j;
        g1_jac_from_aff(&j, &got[k]);
        if (!g1_jac_eq(&j, &want[k]))
            fail_msg("sum %zu differs", k);
    }
    msm_sums_destroy(s);
}

static void test_sparse_sums_match_single_additions(void **state)
{
    (void)state;
    for_each_isa(sparse_sums);
}

static void test_out_of_memory_is_null(void **state)
{
    (void)state;
    for (uint64_t nth = 1; nth <= 2; nth++) {
        mem_fail_nth(nth);
        assert_null(msm_each_create(1));
    }
    for (uint64_t nth = 1; nth <= 4; nth++) {
        mem_fail_nth(nth);
        assert_null(msm_sums_create());
    }
    mem_fail_nth(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_are_short_and_add_up),
        cmocka_unit_test(test_products_match_single_ones),
        cmocka_unit_test(test_butterflies_match_single_ones),
        cmocka_unit_test(test_sparse_sums_match_single_additions),
        cmocka_unit_test(test_out_of_memory_is_null),
    };
    return cmocka_run_group_tests(tests, make_points, NULL);
}
