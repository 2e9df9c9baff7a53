/* The pairing: values from an independent model, the laws of a pairing, and equal bytes on every
 * instruction set. */
#include "ec_test.h"
#include "ec/pairing.h"
#include "pairing_table.h"

static void g1_times(g1_aff *o, const fr *k)
{
    fr_int n;
    g1_jac t;
    fr_to_int(&n, k);
    g1_jac_from_aff(&t, &G1_GENERATOR);
    g1_mul(&t, &t, &n);
    g1_jac_to_aff(o, &t);
}

static void g2_times(g2_aff *o, const fr *k)
{
    fr_int n;
    g2_jac t;
    fr_to_int(&n, k);
    g2_jac_from_aff(&t, &G2_GENERATOR);
    g2_mul(&t, &t, &n);
    g2_jac_to_aff(o, &t);
}

static fr random_fr(void)
{
    fr_int k = {{rng(), rng(), rng(), rng()}};
    fr o;
    fr_from_int(&o, &k);
    return o;
}

static void pow_fr(fp12 *o, const fp12 *a, const fr *k)
{
    fr_int n;
    fr_to_int(&n, k);
    fp12_pow(o, a, n.l, 4);
}

static void test_values_equal_the_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table_pairing); i++) {
        const struct pairing_value *t = &table_pairing[i];
        g1_aff p;
        g2_aff q;
        fr a, b;
        fp12 e;
        fr_from_u64(&a, t->a);
        fr_from_u64(&b, t->b);
        g1_times(&p, &a);
        g2_times(&q, &b);
        pairing(&e, &p, &q);
        /* of w^0 .. w^5 */
        const fp2 *coeff[6] = {&e.c0.c0, &e.c1.c0, &e.c0.c1, &e.c1.c1, &e.c0.c2, &e.c1.c2};
        for (int k = 0; k < 12; k++) {
            uint8_t want[48], got[48];
            unhex(want, 48, t->coeff[k]);
            fp_to_be(got, k % 2 ? &coeff[k / 2]->c1 : &coeff[k / 2]->c0);
            if (memcmp(got, want, 48) != 0)
                fail_msg("case %zu, coefficient %d", i, k);
        }
    }
}

static void test_value_is_not_one_and_of_order_r(void **state)
{
    (void)state;
    fp12 e, t;
    pairing(&e, &G1_GENERATOR, &G2_GENERATOR);
    assert_false(fp12_is_one(&e)); /* r is prime, so r e = 1 and e != 1 make the order r */
    fp12_pow(&t, &e, FR_MODULUS.l, 4);
    assert_true(fp12_is_one(&t));
}

static void test_pairing_is_bilinear(void **state)
{
    (void)state;
    fp12 e;
    pairing(&e, &G1_GENERATOR, &G2_GENERATOR);
    for (int i = 0; i < 3; i++) {
        fr a = random_fr(), b = random_fr(), ab;
        g1_aff p;
        g2_aff q;
        fp12 got, want;
        fr_mul(&ab, &a, &b);
        g1_times(&p, &a);
        g2_times(&q, &b);
        pairing(&got, &p, &q);
        pow_fr(&want, &e, &ab);
        assert_true(fp12_eq(&got, &want));
        pairing(&got, &p, &G2_GENERATOR);
        pow_fr(&want, &e, &a);
        assert_true(fp12_eq(&got, &want));
        pairing(&got, &G1_GENERATOR, &q);
        pow_fr(&want, &e, &b);
        assert_true(fp12_eq(&got, &want));
    }
}

/* e(P1 + P2, Q) = e(P1, Q) e(P2, Q), and in the second argument, without any exponentiation. */
static void test_pairing_is_additive_in_each_argument(void **state)
{
    (void)state;
    fr a = random_fr(), b = random_fr(), s;
    g1_aff pa, pb, ps;
    g2_aff qa, qb, qs;
    fp12 x, y, z;
    fr_add(&s, &a, &b);
    g1_times(&pa, &a), g1_times(&pb, &b), g1_times(&ps, &s);
    g2_times(&qa, &a), g2_times(&qb, &b), g2_times(&qs, &s);
    pairing(&x, &pa, &G2_GENERATOR);
    pairing(&y, &pb, &G2_GENERATOR);
    pairing(&z, &ps, &G2_GENERATOR);
    fp12_mul(&x, &x, &y);
    assert_true(fp12_eq(&x, &z));
    pairing(&x, &G1_GENERATOR, &qa);
    pairing(&y, &G1_GENERATOR, &qb);
    pairing(&z, &G1_GENERATOR, &qs);
    fp12_mul(&x, &x, &y);
    assert_true(fp12_eq(&x, &z));
}

#define N_PAIRS 4

typedef struct pairs {
    g1_aff p[N_PAIRS];
    g2_aff q[N_PAIRS];
    g2_prepared prep[N_PAIRS];
    const g1_aff *ps[N_PAIRS];
    const g2_prepared *qs[N_PAIRS];
} pairs;

static void pairs_set(pairs *o, int i, const fr *a, const fr *b)
{
    g1_times(&o->p[i], a);
    g2_times(&o->q[i], b);
    g2_prepare(&o->prep[i], &o->q[i]);
    o->ps[i] = &o->p[i];
    o->qs[i] = &o->prep[i];
}

/* For n = 0 .. 4 pairs, with an infinity on either side or both at every place. */
static void test_product_form_equals_the_product(void **state)
{
    (void)state;
    static pairs t;
    for (int inf_at = 0; inf_at < 3 * N_PAIRS; inf_at += 2) {
        for (int i = 0; i < N_PAIRS; i++) {
            fr a = random_fr(), b = random_fr();
            if (i == inf_at % N_PAIRS && inf_at / N_PAIRS != 0)
                a = FR_ZERO;
            if (i == inf_at % N_PAIRS && inf_at / N_PAIRS != 1)
                b = FR_ZERO;
            pairs_set(&t, i, &a, &b);
        }
        fp12 want = FP12_ONE, e, got;
        for (size_t n = 0; n <= N_PAIRS; n++) {
            pairing_miller_product(&got, t.ps, t.qs, n);
            pairing_final_exp(&got, &got);
            if (!fp12_eq(&got, &want))
                fail_msg("%zu pairs, infinity at %d", n, inf_at);
            if (n < N_PAIRS) {
                pairing(&e, &t.p[n], &t.q[n]);
                fp12_mul(&want, &want, &e);
            }
        }
    }
}

static void test_infinities_give_one(void **state)
{
    (void)state;
    g1_aff p = {0};
    g2_aff q = {0};
    fp12 e;
    pairing(&e, &p, &G2_GENERATOR);
    assert_true(fp12_is_one(&e));
    pairing(&e, &G1_GENERATOR, &q);
    assert_true(fp12_is_one(&e));
    pairing(&e, &p, &q);
    assert_true(fp12_is_one(&e));
    assert_true(pairing_product_is_one(NULL, NULL, 0));
}

/* A skipped pair leaves no factor at all, not even one that the final exponentiation would
 * remove. */
static void test_infinities_leave_the_miller_product_alone(void **state)
{
    (void)state;
    static pairs t;
    fr a = random_fr(), b = random_fr();
    fp12 got, want;
    pairs_set(&t, 0, &a, &FR_ZERO);
    pairs_set(&t, 1, &FR_ZERO, &b);
    pairs_set(&t, 2, &FR_ZERO, &FR_ZERO);
    pairs_set(&t, 3, &a, &b);
    pairing_miller_product(&got, t.ps, t.qs, 3);
    assert_true(fp12_is_one(&got));
    pairing_miller_product(&got, t.ps, t.qs, 4);
    pairing_miller_product(&want, t.ps + 3, t.qs + 3, 1);
    assert_false(fp12_is_one(&want));
    assert_true(fp12_eq(&got, &want));
}

/* sum a_i b_i = 0 makes the product one; any other sum does not. */
static void test_product_is_one_exactly_when_the_exponents_cancel(void **state)
{
    (void)state;
    static pairs t;
    fr sum = FR_ZERO, a, b, m;
    for (int i = 0; i < N_PAIRS; i++) {
        a = random_fr();
        b = random_fr();
        if (i == N_PAIRS - 1) {
            fr_inv(&b, &a);
            fr_mul(&b, &b, &sum);
            fr_neg(&b, &b);
        }
        fr_mul(&m, &a, &b);
        fr_add(&sum, &sum, &m);
        pairs_set(&t, i, &a, &b);
    }
    assert_true(fr_is_zero(&sum));
    assert_true(pairing_product_is_one(t.ps, t.qs, N_PAIRS));
    assert_false(pairing_product_is_one(t.ps, t.qs, N_PAIRS - 1));
    fr_add(&b, &b, &FR_ONE);
    pairs_set(&t, N_PAIRS - 1, &a, &b);
    assert_false(pairing_product_is_one(t.ps, t.qs, N_PAIRS));
}

static void test_opposite_points_give_inverse_values(void **state)
{
    (void)state;
    g1_aff p;
    g2_aff q;
    fp12 e, f, g, one;
    g1_aff_neg(&p, &G1_GENERATOR);
    g2_aff_neg(&q, &G2_GENERATOR);
    pairing(&e, &G1_GENERATOR, &G2_GENERATOR);
    pairing(&f, &p, &G2_GENERATOR);
    pairing(&g, &G1_GENERATOR, &q);
    assert_true(fp12_eq(&f, &g));
    assert_false(fp12_eq(&e, &f));
    fp12_mul(&one, &e, &f);
    assert_true(fp12_is_one(&one));
}

static void test_instruction_sets_give_equal_bytes(void **state)
{
    (void)state;
    static const char *const isas[] = {"portable", "adx"};
    static struct {
        g2_prepared prep;
        fp12 miller, value;
    } o[2]; /* static, so that padding is zero in both */
    for (int i = 0; i < 2; i++) {
        if (!ff_force_isa(isas[i]))
            skip();
        assert_string_equal(ff_isa(), isas[i]);
        fr a, b;
        fr_from_u64(&a, 0x123456789abcdef1u);
        fr_neg(&b, &a);
        g1_aff p;
        g2_aff q;
        g1_times(&p, &a);
        g2_times(&q, &b);
        g2_prepare(&o[i].prep, &q);
        const g1_aff *ps[] = {&p};
        const g2_prepared *qs[] = {&o[i].prep};
        pairing_miller_product(&o[i].miller, ps, qs, 1);
        pairing_final_exp(&o[i].value, &o[i].miller);
    }
    assert_memory_equal(&o[0], &o[1], sizeof o[0]);
    ff_force_isa(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_equal_the_model),
        cmocka_unit_test(test_value_is_not_one_and_of_order_r),
        cmocka_unit_test(test_pairing_is_bilinear),
        cmocka_unit_test(test_pairing_is_additive_in_each_argument),
        cmocka_unit_test(test_product_form_equals_the_product),
        cmocka_unit_test(test_infinities_give_one),
        cmocka_unit_test(test_infinities_leave_the_miller_product_alone),
        cmocka_unit_test(test_product_is_one_exactly_when_the_exponents_cancel),
        cmocka_unit_test(test_opposite_points_give_inverse_values),
    };
    const struct CMUnitTest between[] = {cmocka_unit_test(test_instruction_sets_give_equal_bytes)};
    int failed = run_on_every_isa(tests, ARRAY_LEN(tests));
    return failed + cmocka_run_group_tests_name("agree", between, NULL, NULL);
}
