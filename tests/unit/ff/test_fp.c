/* Fp and Fp2 against Python's integers, on every kernel set this machine has. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "ff/fp2.h"
#include "ff/fp_portable.h"
#include "ff/fr.h"
#include "fp_table.h"

#define SEED 0x5eed0002u
#define RAND_ROUNDS 20000

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

/* A reduced raw element, often extreme: limbs of all ones, all zeros, or the modulus's own. */
static void rand_raw(fp *o)
{
    uint64_t mix = next64(), borrow = 0;
    for (int i = 0; i < 6; i++, mix >>= 3) {
        uint64_t v = next64();
        switch (mix & 7) {
        case 0:
            v = 0;
            break;
        case 1:
            v = ~(uint64_t)0;
            break;
        case 2:
            v = fp_modulus[i];
            break;
        case 3:
            v = fp_modulus[i] - 1;
            break;
        default:
            break;
        }
        o->l[i] = v;
    }
    o->l[5] %= fp_modulus[5] + 1;
    for (int i = 0; i < 6; i++)
        (void)limb_sbb(o->l[i], fp_modulus[i], &borrow);
    if (!borrow)
        o->l[5] -= 1;
}

static void rand_fp2(fp2 *o)
{
    rand_raw(&o->c0);
    rand_raw(&o->c1);
    if (next64() % 16 == 0)
        o->c0 = FP_ZERO;
    if (next64() % 16 == 0)
        o->c1 = FP_ZERO;
}

static void canon_to_be(uint8_t be[48], const uint64_t c[6])
{
    for (int i = 0; i < 48; i++)
        be[47 - i] = (uint8_t)(c[i / 8] >> (8 * (i % 8)));
}

static void from_canon(fp *o, const uint64_t c[6])
{
    uint8_t be[48];
    canon_to_be(be, c);
    if (!fp_from_be(o, be))
        fail_msg("table value refused");
}

static void check(const char *what, size_t row, const fp *got, const uint64_t want[6])
{
    uint8_t be[48], be_want[48];
    fp_to_be(be, got);
    canon_to_be(be_want, want);
    if (memcmp(be, be_want, 48) != 0)
        fail_msg("%s: %s, row %zu", ff_isa(), what, row);
}

static void test_constants_follow_from_the_modulus(void **state)
{
    (void)state;
    const uint64_t portable[6] = {FPP_P0, FPP_P1, FPP_P2, FPP_P3, FPP_P4, FPP_P5};
    assert_memory_equal(portable, fp_modulus, 48);
    assert_memory_equal(&FP_ONE, fp_r, 48);
    assert_memory_equal(&FP2_ONE.c0, fp_r, 48);
    assert_true(fp_is_zero(&FP2_ONE.c1));
    assert_true(fp_modulus[0] * fp_ninv == ~(uint64_t)0);
    assert_true(fp_ninv == FPP_NINV);
    fp t;
    from_canon(&t, fp_r); /* R in Montgomery form is R^2 */
    assert_memory_equal(&t, fp_r2, 48);
}

static void test_operations_equal_big_integers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fp_rows / sizeof fp_rows[0]; i++) {
        fp a, b, t, d;
        from_canon(&a, fp_rows[i][0]);
        from_canon(&b, fp_rows[i][1]);
        assert_memory_equal(&a, fp_rows[i][6], 48);
        fp_add(&t, &a, &b);
        check("add", i, &t, fp_rows[i][2]);
        fp_sub(&t, &a, &b);
        check("sub", i, &t, fp_rows[i][3]);
        fp_neg(&t, &b);
        fp_add(&t, &t, &a);
        check("neg", i, &t, fp_rows[i][3]);
        fp_mul(&t, &a, &b);
        check("mul", i, &t, fp_rows[i][4]);
        fp_inv(&t, &a);
        check("inv", i, &t, fp_rows[i][5]);
        fp_dbl(&d, &a);
        fp_add(&t, &a, &a);
        assert_true(fp_eq(&d, &t));
        fp_sqr(&d, &a);
        fp_mul(&t, &a, &a);
        assert_true(fp_eq(&d, &t));
    }
}

static void test_bytes_refuse_what_is_not_reduced(void **state)
{
    (void)state;
    uint8_t be[48], back[48];
    fp t = FP_ONE;
    canon_to_be(be, fp_modulus);
    assert_false(fp_from_be(&t, be));
    assert_true(fp_is_zero(&t));
    be[47] -= 1; /* p - 1 */
    assert_true(fp_from_be(&t, be));
    fp_to_be(back, &t);
    assert_memory_equal(be, back, 48);
    assert_true(fp_is_lex_larger(&t));
    fp_neg(&t, &t);
    assert_true(fp_eq(&t, &FP_ONE));
    assert_false(fp_is_lex_larger(&t));
    memset(be, 0xff, 48);
    assert_false(fp_from_be(&t, be));
    fp_from_u64(&t, 0x0123456789abcdefu);
    fp_to_be(back, &t);
    memset(be, 0, 48);
    for (int i = 0; i < 8; i++)
        be[40 + i] = (uint8_t)(0x0123456789abcdefu >> (56 - 8 * i));
    assert_memory_equal(be, back, 48);
}

static void test_larger_means_above_half(void **state)
{
    (void)state;
    assert_false(fp_is_lex_larger(&FP_ZERO));
    fp half, next, two;
    fp_from_u64(&two, 2);
    fp_inv(&next, &two); /* (p+1)/2 */
    fp_sub(&half, &next, &FP_ONE);
    assert_false(fp_is_lex_larger(&half));
    assert_true(fp_is_lex_larger(&next));
    fp2 a = {FP_ZERO, FP_ZERO};
    assert_false(fp2_is_lex_larger(&a));
    a.c0 = next;
    assert_true(fp2_is_lex_larger(&a));
    a.c1 = half;
    assert_false(fp2_is_lex_larger(&a));
    a.c0 = half;
    a.c1 = next;
    assert_true(fp2_is_lex_larger(&a));
    for (int i = 0; i < 200; i++) {
        rand_raw(&half);
        fp_neg(&next, &half);
        if (!fp_is_zero(&half))
            assert_true(fp_is_lex_larger(&half) != fp_is_lex_larger(&next));
    }
}

static void test_roots_of_squares_only(void **state)
{
    (void)state;
    fp a, s, t;
    assert_true(fp_sqrt(&t, &FP_ZERO));
    assert_true(fp_is_zero(&t));
    for (int i = 0; i < 100; i++) {
        rand_raw(&a);
        fp_sqr(&s, &a);
        assert_true(fp_sqrt(&t, &s));
        fp_sqr(&t, &t);
        assert_true(fp_eq(&t, &s));
        if (fp_is_zero(&a))
            continue;
        fp_neg(&s, &s); /* -1 is no square */
        assert_false(fp_sqrt(&t, &s));
        assert_true(fp_is_zero(&t));
    }
}

static void test_fp2_roots_of_squares_only(void **state)
{
    (void)state;
    fp2 a, s, t;
    assert_true(fp2_sqrt(&t, &FP2_ZERO));
    assert_true(fp2_is_zero(&t));
    for (int i = 0; i < 200; i++) {
        rand_fp2(&a);
        fp2_sqr(&s, &a);
        t = s;
        assert_true(fp2_sqrt(&t, &t));
        fp2_sqr(&t, &t);
        if (!fp2_eq(&t, &s))
            fail_msg("round %d, seed %#x", i, SEED);
        if (fp2_is_zero(&a))
            continue;
        fp2_mul_xi(&s, &s); /* 1 + u is no square */
        assert_false(fp2_sqrt(&t, &s));
        assert_true(fp2_is_zero(&t));
    }
}

/* Schoolbook, from fp operations tested above. */
static void fp2_mul_model(fp2 *o, const fp2 *a, const fp2 *b)
{
    fp x, y, z, w;
    fp_mul(&x, &a->c0, &b->c0);
    fp_mul(&y, &a->c1, &b->c1);
    fp_mul(&z, &a->c0, &b->c1);
    fp_mul(&w, &a->c1, &b->c0);
    fp_sub(&o->c0, &x, &y);
    fp_add(&o->c1, &z, &w);
}

static void test_fp2_equals_schoolbook(void **state)
{
    (void)state;
    for (int i = 0; i < 3000; i++) {
        fp2 a, b, t, want;
        rand_fp2(&a);
        rand_fp2(&b);
        fp2_mul_model(&want, &a, &b);
        fp2_mul(&t, &a, &b);
        if (!fp2_eq(&t, &want))
            fail_msg("%s: mul, round %d, seed %#x", ff_isa(), i, SEED);
        t = a;
        fp2_mul(&t, &t, &b);
        assert_true(fp2_eq(&t, &want));
        t = b;
        fp2_mul(&t, &a, &t);
        assert_true(fp2_eq(&t, &want));
        fp2_mul_model(&want, &a, &a);
        t = a;
        fp2_sqr(&t, &t);
        if (!fp2_eq(&t, &want))
            fail_msg("%s: sqr, round %d, seed %#x", ff_isa(), i, SEED);
        fp2 xi = {FP_ONE, FP_ONE}, base = {b.c0, FP_ZERO};
        fp2_mul_model(&want, &a, &xi);
        t = a;
        fp2_mul_xi(&t, &t);
        assert_true(fp2_eq(&t, &want));
        fp2_mul_model(&want, &a, &base);
        fp2_mul_fp(&t, &a, &b.c0);
        assert_true(fp2_eq(&t, &want));
        fp2_conj(&t, &a);
        fp2_add(&t, &t, &a);
        fp2_dbl(&want, &a);
        assert_true(fp_eq(&t.c0, &want.c0) && fp_is_zero(&t.c1));
        fp2_neg(&t, &a);
        fp2_add(&t, &t, &a);
        assert_true(fp2_is_zero(&t));
        fp2_sub(&t, &a, &b);
        fp2_add(&t, &t, &b);
        assert_true(fp2_eq(&t, &a));
    }
}

/* tiny.vk: alpha G1, beta G1, beta G2, gamma G2, delta G1, delta G2, uncompressed big-endian, c1
 * before c0. */
static void test_golden_points_lie_on_their_curves(void **state)
{
    (void)state;
    static const size_t at_g1[] = {0, 96, 576}, at_g2[] = {192, 384, 672};
    uint8_t vk[864];
    FILE *f = fopen(CUZK_GOLDEN_DIR "/tiny.vk", "rb");
    assert_non_null(f);
    size_t n_read = fread(vk, 1, sizeof vk, f);
    fclose(f);
    assert_int_equal(n_read, sizeof vk);
    for (int i = 0; i < 3; i++) {
        fp x, y, b, t; /* y^2 = x^3 + 4 */
        fp_from_u64(&b, 4);
        assert_true(fp_from_be(&x, vk + at_g1[i]));
        assert_true(fp_from_be(&y, vk + at_g1[i] + 48));
        fp_sqr(&t, &x);
        fp_mul(&t, &t, &x);
        fp_add(&t, &t, &b);
        fp_sqr(&y, &y);
        assert_true(fp_eq(&y, &t));
        fp2 x2, y2, b2 = {b, b}, t2; /* y^2 = x^3 + 4(1 + u) */
        assert_true(fp_from_be(&x2.c1, vk + at_g2[i]));
        assert_true(fp_from_be(&x2.c0, vk + at_g2[i] + 48));
        assert_true(fp_from_be(&y2.c1, vk + at_g2[i] + 96));
        assert_true(fp_from_be(&y2.c0, vk + at_g2[i] + 144));
        fp2_sqr(&t2, &x2);
        fp2_mul(&t2, &t2, &x2);
        fp2_add(&t2, &t2, &b2);
        fp2_sqr(&y2, &y2);
        assert_true(fp2_eq(&y2, &t2));
    }
}

static void test_outputs_may_alias(void **state)
{
    (void)state;
    void (*const ops[])(fp *, const fp *, const fp *) = {fp_add, fp_sub, fp_mul};
    for (size_t i = 0; i < 200; i++) {
        for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
            fp a, b, want, t;
            rand_raw(&a);
            rand_raw(&b);
            ops[k](&want, &a, &b);
            t = a;
            ops[k](&t, &t, &b);
            assert_memory_equal(&t, &want, 48);
            t = b;
            ops[k](&t, &a, &t);
            assert_memory_equal(&t, &want, 48);
            ops[k](&want, &a, &a);
            t = a;
            ops[k](&t, &t, &t);
            assert_memory_equal(&t, &want, 48);
        }
    }
}

static void test_inverses(void **state)
{
    (void)state;
    fp a, t;
    for (int i = 0; i < 2000; i++) {
        rand_raw(&a);
        if (i < 376) {
            a = FP_ZERO;
            a.l[i / 64] = (uint64_t)1 << i % 64;
        }
        bool zero = fp_is_zero(&a);
        fp_inv(&t, &a);
        fp_mul(&t, &t, &a);
        if (zero ? !fp_is_zero(&t) : !fp_eq(&t, &FP_ONE))
            fail_msg("%s: round %d, seed %#x", ff_isa(), i, SEED);
    }
    for (int i = 0; i < 100; i++) {
        fp2 b, s;
        rand_fp2(&b);
        s = b;
        fp2_inv(&s, &s);
        fp2_mul(&s, &s, &b);
        assert_true(fp2_is_zero(&b) ? fp2_is_zero(&s) : fp2_eq(&s, &FP2_ONE));
    }
}

static void test_batch_inverse_keeps_zeros(void **state)
{
    (void)state;
    enum { N = 19 };
    fp a[N], b[N], scratch[N], t;
    fp2 a2[N], b2[N], scratch2[N], t2;
    for (size_t n = 0; n <= N; n++) {
        for (size_t i = 0; i < n; i++) {
            rand_raw(&a[i]);
            rand_fp2(&a2[i]);
            if (next64() % 4 == 0 || n == 5) {
                a[i] = FP_ZERO;
                a2[i] = FP2_ZERO;
            }
            b[i] = a[i];
            b2[i] = a2[i];
        }
        fp_batch_inv(b, n, scratch);
        fp2_batch_inv(b2, n, scratch2);
        for (size_t i = 0; i < n; i++) {
            fp_inv(&t, &a[i]);
            assert_true(fp_eq(&t, &b[i]));
            fp2_inv(&t2, &a2[i]);
            assert_true(fp2_eq(&t2, &b2[i]));
        }
    }
}

static void test_cmov_takes_or_leaves(void **state)
{
    (void)state;
    fp2 a, b, t;
    rand_fp2(&a);
    rand_fp2(&b);
    t = a;
    fp2_cmov(&t, &b, false);
    assert_true(fp2_eq(&t, &a));
    fp2_cmov(&t, &b, true);
    assert_true(fp2_eq(&t, &b));
}

static void test_kernel_sets_agree(void **state)
{
    (void)state;
    if (!ff_force_isa("adx"))
        skip();
    print_message("seed %#x\n", SEED);
    for (int i = 0; i < RAND_ROUNDS; i++) {
        fp a, b, x, y;
        rand_raw(&a);
        rand_raw(&b);
        fp_mul(&x, &a, &b);
        fpp_mul(&y, &a, &b);
        if (memcmp(&x, &y, sizeof x) != 0)
            fail_msg("mul differs, round %d", i);
        fp_sqr(&x, &a);
        fpp_mul(&y, &a, &a);
        if (memcmp(&x, &y, sizeof x) != 0)
            fail_msg("sqr differs, round %d", i);
    }
    ff_force_isa(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants_follow_from_the_modulus),
        cmocka_unit_test(test_operations_equal_big_integers),
        cmocka_unit_test(test_bytes_refuse_what_is_not_reduced),
        cmocka_unit_test(test_larger_means_above_half),
        cmocka_unit_test(test_roots_of_squares_only),
        cmocka_unit_test(test_fp2_roots_of_squares_only),
        cmocka_unit_test(test_fp2_equals_schoolbook),
        cmocka_unit_test(test_golden_points_lie_on_their_curves),
        cmocka_unit_test(test_outputs_may_alias),
        cmocka_unit_test(test_inverses),
        cmocka_unit_test(test_batch_inverse_keeps_zeros),
        cmocka_unit_test(test_cmov_takes_or_leaves),
    };
    const struct CMUnitTest between[] = {cmocka_unit_test(test_kernel_sets_agree)};
    int failed = 0;
    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++)
        if (ff_force_isa(isas[i]))
            failed += cmocka_run_group_tests_name(isas[i], tests, NULL, NULL);
    return failed + cmocka_run_group_tests_name("agree", between, NULL, NULL);
}
