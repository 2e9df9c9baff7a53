/* Fp6 and Fp12 against Python's integers, and by their defining identities. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "ff/fp12.h"
#include "ff/fr.h"
#include "fp12_table.h"

#define SEED 0x5eed0003u
#define N_ROWS (sizeof fp12_rows / sizeof fp12_rows[0])

static const char *const isas[] = {"portable", "adx"};

static uint64_t rng_state = SEED;

/* splitmix64 */
static uint64_t next64(void)
{
    uint64_t z = (rng_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void rand_fp2(fp2 *o)
{
    for (int i = 0; i < 6; i++) {
        o->c0.l[i] = next64();
        o->c1.l[i] = next64();
    }
    o->c0.l[5] %= 0x1a0111ea397fe69au; /* below the modulus's top limb, so reduced */
    o->c1.l[5] %= 0x1a0111ea397fe69au;
}

static void rand_fp6(fp6 *o)
{
    rand_fp2(&o->c0);
    rand_fp2(&o->c1);
    rand_fp2(&o->c2);
}

static void rand_fp12(fp12 *o)
{
    rand_fp6(&o->c0);
    rand_fp6(&o->c1);
}

static void from_table(fp12 *o, const uint64_t c[12][6])
{
    fp flat[12];
    for (int i = 0; i < 12; i++) {
        uint8_t be[48];
        for (int k = 0; k < 48; k++)
            be[47 - k] = (uint8_t)(c[i][k / 8] >> (8 * (k % 8)));
        if (!fp_from_be(&flat[i], be))
            fail_msg("table value refused");
    }
    memcpy(o, flat, sizeof *o);
}

/* Into the cyclotomic subgroup: a^((p^6 - 1)(p^2 + 1)). */
static void easy_part(fp12 *o, const fp12 *a)
{
    fp12 t, u;
    fp12_inv(&t, a);
    fp12_conj(&u, a);
    fp12_mul(&t, &t, &u);
    fp12_frobenius(&u, &t, 2);
    fp12_mul(o, &t, &u);
}

static void test_products_and_frobenius_equal_big_integers(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS; i++) {
        fp12 a, b, t, want;
        from_table(&a, fp12_rows[i][0]);
        from_table(&b, fp12_rows[i][1]);
        from_table(&want, fp12_rows[i][2]);
        fp12_mul(&t, &a, &b);
        assert_true(fp12_eq(&t, &want));
        t = a;
        fp12_mul(&t, &t, &b);
        assert_true(fp12_eq(&t, &want));
        t = b;
        fp12_mul(&t, &a, &t);
        assert_true(fp12_eq(&t, &want));
        for (unsigned k = 1; k <= 3; k++) {
            from_table(&want, fp12_rows[i][2 + k]);
            t = a;
            fp12_frobenius(&t, &t, k);
            if (!fp12_eq(&t, &want))
                fail_msg("p^%u, row %zu", k, i);
        }
    }
}

static void test_squares_equal_products(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        fp12 a, t, want;
        rand_fp12(&a);
        fp12_mul(&want, &a, &a);
        t = a;
        fp12_sqr(&t, &t);
        assert_true(fp12_eq(&t, &want));
        fp6 s, m;
        fp6_sqr(&s, &a.c0);
        fp6_mul(&m, &a.c0, &a.c0);
        assert_true(fp6_eq(&s, &m));
        easy_part(&a, &a);
        fp12_sqr(&want, &a);
        t = a;
        fp12_cyc_sqr(&t, &t);
        assert_true(fp12_eq(&t, &want));
    }
}

static void test_inverses(void **state)
{
    (void)state;
    fp12 a, t, z = FP12_ZERO;
    fp12_inv(&t, &z);
    assert_true(fp12_eq(&t, &z));
    for (int i = 0; i < 30; i++) {
        rand_fp12(&a);
        if (i == 1)
            a.c0 = FP6_ZERO;
        if (i == 2)
            a.c1 = FP6_ZERO;
        t = a;
        fp12_inv(&t, &t);
        fp12_mul(&t, &t, &a);
        assert_true(fp12_is_one(&t));
        fp6 s = i == 1 ? a.c1 : a.c0;
        fp6_inv(&s, &s);
        fp6_mul(&s, &s, i == 1 ? &a.c1 : &a.c0);
        assert_true(fp6_eq(&s, &FP6_ONE));
    }
}

static void test_frobenius_composes_to_conjugation_and_identity(void **state)
{
    (void)state;
    fp12 a, t, u;
    rand_fp12(&a);
    fp12_frobenius(&t, &a, 3);
    fp12_frobenius(&t, &t, 3); /* p^6 */
    fp12_conj(&u, &a);
    assert_true(fp12_eq(&t, &u));
    t = a;
    for (int i = 0; i < 12; i++)
        fp12_frobenius(&t, &t, 1);
    assert_true(fp12_eq(&t, &a));
    easy_part(&a, &a);
    fp12_conj(&t, &a);
    fp12_mul(&t, &t, &a);
    assert_true(fp12_is_one(&t));
    fp12_frobenius(&t, &a, 2); /* a^(p^4 + 1) = a^(p^2) */
    fp12_frobenius(&u, &t, 2);
    fp12_mul(&u, &u, &a);
    assert_true(fp12_eq(&t, &u));
}

static void test_sparse_products_equal_dense_ones(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        fp12 a, t, line = FP12_ZERO, want;
        rand_fp12(&a);
        rand_fp2(&line.c0.c0);
        rand_fp2(&line.c0.c1);
        rand_fp2(&line.c1.c1);
        fp12_mul(&want, &a, &line);
        t = a;
        fp12_mul_line(&t, &t, &line.c0.c0, &line.c0.c1, &line.c1.c1);
        assert_true(fp12_eq(&t, &want));
        fp6 v = FP6_ZERO, x, y, k = FP6_ZERO;
        v.c1 = FP2_ONE;
        fp6_mul(&x, &a.c0, &v);
        y = a.c0;
        fp6_mul_v(&y, &y);
        assert_true(fp6_eq(&x, &y));
        k.c0 = a.c1.c0;
        fp6_mul(&x, &a.c0, &k);
        fp6_mul_fp2(&y, &a.c0, &k.c0);
        assert_true(fp6_eq(&x, &y));
    }
}

static void test_linear_operations(void **state)
{
    (void)state;
    fp12 a, b, t, u;
    rand_fp12(&a);
    rand_fp12(&b);
    fp12_add(&t, &a, &b);
    fp12_sub(&t, &t, &b);
    assert_true(fp12_eq(&t, &a));
    assert_false(fp12_eq(&t, &b));
    fp12_neg(&u, &a);
    fp12_add(&t, &t, &u);
    assert_true(fp12_eq(&t, &FP12_ZERO));
    assert_true(fp6_is_zero(&t.c0));
    assert_false(fp6_is_zero(&a.c0));
    fp6_dbl(&t.c0, &a.c0);
    fp6_sub(&t.c0, &t.c0, &a.c0);
    assert_true(fp6_eq(&t.c0, &a.c0));
    for (int i = 0; i < 12; i++) { /* eq sees every coordinate */
        fp flat[12];
        memcpy(flat, &a, sizeof flat);
        fp_add(&flat[i], &flat[i], &FP_ONE);
        memcpy(&t, flat, sizeof flat);
        assert_false(fp12_eq(&t, &a));
    }
}

static void test_powers(void **state)
{
    (void)state;
    fp12 a, t, want = FP12_ONE;
    rand_fp12(&a);
    for (uint64_t e = 0; e < 20; e++) {
        fp12_pow(&t, &a, &e, 1);
        assert_true(fp12_eq(&t, &want));
        fp12_mul(&want, &want, &a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_and_frobenius_equal_big_integers),
        cmocka_unit_test(test_squares_equal_products),
        cmocka_unit_test(test_inverses),
        cmocka_unit_test(test_frobenius_composes_to_conjugation_and_identity),
        cmocka_unit_test(test_sparse_products_equal_dense_ones),
        cmocka_unit_test(test_linear_operations),
        cmocka_unit_test(test_powers),
    };
    int failed = 0;
    print_message("seed %#x\n", SEED);
    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++)
        if (ff_force_isa(isas[i]))
            failed += cmocka_run_group_tests_name(isas[i], tests, NULL, NULL);
    return failed;
}
