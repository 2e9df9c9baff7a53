/* Fr against Python's integers, on every kernel set this machine has. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "ff/fr.h"
#include "ff/fr_portable.h"
#include "fr_table.h"

#define SEED 0x5eed0001u
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
static void rand_raw(fr *o)
{
    uint64_t mix = next64();
    for (int i = 0; i < 4; i++, mix >>= 3) {
        uint64_t v = next64();
        switch (mix & 7) {
        case 0:
            v = 0;
            break;
        case 1:
            v = ~(uint64_t)0;
            break;
        case 2:
            v = fr_modulus[i];
            break;
        case 3:
            v = fr_modulus[i] - 1;
            break;
        default:
            break;
        }
        o->l[i] = v;
    }
    fr_int t;
    memcpy(&t, o, sizeof t);
    t.l[3] %= fr_modulus[3] + 1;
    uint64_t borrow = 0;
    for (int i = 0; i < 4; i++)
        (void)limb_sbb(t.l[i], fr_modulus[i], &borrow);
    if (!borrow)
        t.l[3] -= 1;
    memcpy(o, &t, sizeof t);
}

static void from_canon(fr *o, const uint64_t c[4])
{
    fr_int t;
    memcpy(&t, c, sizeof t);
    fr_from_int(o, &t);
}

static void check(const char *what, size_t row, const fr *got, const uint64_t want[4])
{
    fr_int t;
    fr_to_int(&t, got);
    if (memcmp(&t, want, sizeof t) != 0)
        fail_msg("%s: %s, row %zu", ff_isa(), what, row);
}

static void test_constants_follow_from_the_modulus(void **state)
{
    (void)state;
    assert_memory_equal(&FR_MODULUS, fr_modulus, 32);
    assert_memory_equal(&FR_ONE, fr_r, 32);
    assert_true(fr_modulus[0] * fr_ninv == ~(uint64_t)0);
    assert_true(fr_ninv == FRP_NINV);
    fr t;
    from_canon(&t, fr_r); /* R in Montgomery form is R^2 */
    assert_memory_equal(&t, fr_r2, 32);
    fr_from_u64(&t, 7);
    assert_true(fr_eq(&t, &FR_GENERATOR));
    fr_mul(&t, &t, &FR_GENERATOR_INV);
    assert_true(fr_is_one(&t));
    for (uint32_t i = 0; i <= FR_TWO_ADICITY; i++) {
        fr_root_of_unity(&t, i);
        check("root of unity", i, &t, fr_roots[i]);
    }
}

static void test_operations_equal_big_integers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fr_rows / sizeof fr_rows[0]; i++) {
        fr a, b, t;
        from_canon(&a, fr_rows[i][0]);
        from_canon(&b, fr_rows[i][1]);
        assert_memory_equal(&a, fr_rows[i][6], 32);
        fr_add(&t, &a, &b);
        check("add", i, &t, fr_rows[i][2]);
        fr_add_ct(&t, &a, &b);
        check("add_ct", i, &t, fr_rows[i][2]);
        fr_sub(&t, &a, &b);
        check("sub", i, &t, fr_rows[i][3]);
        fr_neg(&t, &b);
        fr_add(&t, &t, &a);
        check("neg", i, &t, fr_rows[i][3]);
        fr_mul(&t, &a, &b);
        check("mul", i, &t, fr_rows[i][4]);
        fr_mul_ct(&t, &a, &b);
        check("mul_ct", i, &t, fr_rows[i][4]);
        fr_vec_mul(&t, &a, &b, 1);
        check("vec_mul", i, &t, fr_rows[i][4]);
        fr_inv(&t, &a);
        check("inv", i, &t, fr_rows[i][5]);
        fr d;
        fr_dbl(&d, &a);
        fr_add(&t, &a, &a);
        assert_true(fr_eq(&d, &t));
        fr_sqr(&d, &a);
        fr_mul(&t, &a, &a);
        assert_true(fr_eq(&d, &t));
    }
}

static void test_golden_encodings_are_sums(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fr_golden / sizeof fr_golden[0]; i++) {
        fr label, data;
        uint8_t le[32];
        assert_true(fr_from_le(&label, fr_golden[i][0]));
        assert_true(fr_from_le(&data, fr_golden[i][1]));
        fr_add(&data, &data, &label);
        fr_to_le(le, &data);
        assert_memory_equal(le, fr_golden[i][2], 32);
    }
}

static void test_outputs_may_alias(void **state)
{
    (void)state;
    void (*const ops[])(fr *, const fr *, const fr *) = {fr_add, fr_sub, fr_mul, fr_add_ct,
                                                         fr_mul_ct};
    for (size_t i = 0; i < 200; i++) {
        for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
            fr a, b, want, t;
            rand_raw(&a);
            rand_raw(&b);
            ops[k](&want, &a, &b);
            t = a;
            ops[k](&t, &t, &b);
            assert_memory_equal(&t, &want, 32);
            t = b;
            ops[k](&t, &a, &t);
            assert_memory_equal(&t, &want, 32);
            ops[k](&want, &a, &a);
            t = a;
            ops[k](&t, &t, &t);
            assert_memory_equal(&t, &want, 32);
        }
    }
}

static void test_bytes_round_trip_and_refuse(void **state)
{
    (void)state;
    uint8_t le[32], be[32];
    fr a, t;
    for (int i = 0; i < 200; i++) {
        rand_raw(&a);
        fr_to_le(le, &a);
        fr_to_be(be, &a);
        for (int k = 0; k < 32; k++)
            assert_int_equal(le[k], be[31 - k]);
        assert_true(fr_from_le(&t, le));
        assert_true(fr_eq(&t, &a));
    }
    for (int i = 0; i < 32; i++)
        le[i] = (uint8_t)(fr_modulus[i / 8] >> (8 * (i % 8)));
    t = FR_ONE;
    assert_false(fr_from_le(&t, le));
    assert_true(fr_is_zero(&t));
    assert_false(fr_le_is_canonical(le));
    fr_from_le_reduce(&t, le);
    assert_true(fr_is_zero(&t));
    le[0] -= 1; /* r - 1 */
    assert_true(fr_from_le(&t, le));
    fr_add(&t, &t, &FR_ONE);
    assert_true(fr_is_zero(&t));
    memset(le, 0xff, 32);
    assert_false(fr_from_le(&t, le));
    fr_from_le_reduce(&t, le); /* 2^256 - 1 = R - 1 */
    from_canon(&a, fr_r);
    fr_sub(&a, &a, &FR_ONE);
    assert_true(fr_eq(&t, &a));
}

static void test_any_256_bits_are_reduced(void **state)
{
    (void)state;
    for (int i = 0; i < 500; i++) {
        fr a, t;
        fr_int x;
        rand_raw(&a);
        fr_to_int(&x, &a);
        if (i % 8 == 0)
            x = (fr_int){{next64(), next64(), 0, 0}};
        fr_from_int(&a, &x);
        for (int k = 0; k < 2; k++) { /* x + r, x + 2r while they fit */
            uint64_t carry = 0;
            for (int j = 0; j < 4; j++)
                x.l[j] = limb_adc(x.l[j], fr_modulus[j], &carry);
            if (carry)
                break;
            fr_from_int(&t, &x);
            if (memcmp(&t, &a, sizeof t) != 0)
                fail_msg("%s: round %d, seed %#x", ff_isa(), i, SEED);
        }
    }
}

static void test_powers(void **state)
{
    (void)state;
    fr a, t, want = FR_ONE;
    rand_raw(&a);
    for (uint64_t e = 0; e < 300; e++) {
        uint64_t wide[2] = {e, 0};
        fr_pow_u64(&t, &a, e);
        assert_true(fr_eq(&t, &want));
        fr_pow(&t, &a, wide, 2);
        assert_true(fr_eq(&t, &want));
        fr_mul(&want, &want, &a);
    }
    fr_pow(&t, &a, fr_modulus, 4); /* Fermat */
    assert_true(fr_eq(&t, &a));
    fr_pow(&t, &FR_ZERO, fr_modulus, 0);
    assert_true(fr_is_one(&t));
}

static void test_batch_inverse_keeps_zeros(void **state)
{
    (void)state;
    enum { N = 67 };
    fr a[N], b[N], scratch[N], t;
    for (size_t n = 0; n <= N; n++) {
        for (size_t i = 0; i < n; i++) {
            rand_raw(&a[i]);
            if (next64() % 4 == 0 || n == 5)
                a[i] = FR_ZERO;
            b[i] = a[i];
        }
        fr_batch_inv(b, n, scratch);
        for (size_t i = 0; i < n; i++) {
            fr_inv(&t, &a[i]);
            assert_true(fr_eq(&t, &b[i]));
        }
    }
}

static void test_inverse_times_itself_is_one(void **state)
{
    (void)state;
    fr a, t;
    for (int i = 0; i < 2000; i++) {
        rand_raw(&a);
        if (i < 256)
            a = (fr){{i < 64 ? (uint64_t)1 << i : 0, i / 64 == 1 ? (uint64_t)1 << i % 64 : 0,
                      i / 64 == 2 ? (uint64_t)1 << i % 64 : 0, 0}};
        bool zero = fr_is_zero(&a);
        fr_inv(&t, &a);
        fr_mul(&t, &t, &a);
        assert_true(zero ? fr_is_zero(&t) : fr_is_one(&t));
    }
}

static void test_kernel_sets_agree(void **state)
{
    (void)state;
    if (!ff_force_isa("adx"))
        skip();
    print_message("seed %#x\n", SEED);
    for (int i = 0; i < RAND_ROUNDS; i++) {
        fr a, b, x, y;
        rand_raw(&a);
        rand_raw(&b);
        fr_mul(&x, &a, &b);
        frp_mul(&y, &a, &b);
        if (memcmp(&x, &y, sizeof x) != 0)
            fail_msg("mul differs, round %d", i);
        fr_sqr(&x, &a);
        frp_mul(&y, &a, &a);
        if (memcmp(&x, &y, sizeof x) != 0)
            fail_msg("sqr differs, round %d", i);
    }
    ff_force_isa(NULL);
}

static void test_vectors_equal_scalars(void **state)
{
    (void)state;
    enum { N = 37 };
    fr a[N], b[N], c[N], t;
    fr_int ints[N], u;
    for (int i = 0; i < N; i++) {
        rand_raw(&a[i]);
        rand_raw(&b[i]);
    }
    fr_vec_mul(c, a, b, N);
    fr_vec_to_int(ints, a, N);
    for (int i = 0; i < N; i++) {
        fr_mul(&t, &a[i], &b[i]);
        assert_true(fr_eq(&t, &c[i]));
        fr_to_int(&u, &a[i]);
        assert_memory_equal(&u, &ints[i], sizeof u);
    }
    fr_vec_mul(a, a, b, N); /* in place */
    assert_memory_equal(a, c, sizeof a);
}

static void test_random_is_reduced_and_varies(void **state)
{
    (void)state;
    fr a, b;
    assert_int_equal(fr_random(&a).code, CUZK_OK);
    assert_int_equal(fr_random(&b).code, CUZK_OK);
    assert_false(fr_eq(&a, &b));
    uint64_t borrow = 0;
    for (int i = 0; i < 4; i++)
        (void)limb_sbb(a.l[i], fr_modulus[i], &borrow);
    assert_true(borrow);
}

static void test_forcing_refuses_unknown_sets(void **state)
{
    (void)state;
    assert_true(ff_force_isa("portable"));
    assert_string_equal(ff_isa(), "portable");
    assert_false(ff_use_adx());
    assert_false(ff_force_isa("avx9"));
    assert_false(ff_force_isa(""));
    assert_string_equal(ff_isa(), "portable");
    if (ff_force_isa("adx")) {
        assert_string_equal(ff_isa(), "adx");
        assert_true(ff_use_adx());
    }
    assert_true(ff_force_isa(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants_follow_from_the_modulus),
        cmocka_unit_test(test_operations_equal_big_integers),
        cmocka_unit_test(test_golden_encodings_are_sums),
        cmocka_unit_test(test_outputs_may_alias),
        cmocka_unit_test(test_bytes_round_trip_and_refuse),
        cmocka_unit_test(test_any_256_bits_are_reduced),
        cmocka_unit_test(test_powers),
        cmocka_unit_test(test_batch_inverse_keeps_zeros),
        cmocka_unit_test(test_inverse_times_itself_is_one),
        cmocka_unit_test(test_vectors_equal_scalars),
        cmocka_unit_test(test_random_is_reduced_and_varies),
    };
    const struct CMUnitTest between[] = {cmocka_unit_test(test_kernel_sets_agree),
                                         cmocka_unit_test(test_forcing_refuses_unknown_sets)};
    int failed = 0;
    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++)
        if (ff_force_isa(isas[i]))
            failed += cmocka_run_group_tests_name(isas[i], tests, NULL, NULL);
    return failed + cmocka_run_group_tests_name("agree", between, NULL, NULL);
}
