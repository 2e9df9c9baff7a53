/* The cases of point arithmetic on one curve. A template, included by test_g1.c and test_g2.c with
 * GT(t) a point type or function, e.g. g1_##t    GI(f) an inline function, e.g. g1i_##f    FT(f) a
 * field function, e.g. fp_##f
 *   F, F_ONE  the field    UNC  bytes of an uncompressed point    GENERATOR */
#define REACH 5 /* operands are -5 .. 5 times a base point; the tables hold 0 .. 10 times it */

typedef GT(aff) aff;
typedef GT(jac) jac;
typedef GT(xyzz) xyzz;

static aff decode(const char *hex)
{
    uint8_t b[UNC];
    aff a;
    unhex(b, UNC, hex);
    assert_ok(
        GT(decode_uncompressed)(&a, b, (ec_decode_opts){.allow_inf = true, .check_curve = true}));
    return a;
}

/* k * base from the model's table, -10 <= k <= 10. Base 0 is the generator, base 1 a point of small
 * order. */
static aff multiple(int base, int k)
{
    aff a = decode(base ? table_torsion[abs(k)] : table_multiples[abs(k)][1]);
    if (k < 0)
        GT(aff_neg)(&a, &a);
    return a;
}

/* Not zero. */
static void random_field(F *o)
{
    F one = F_ONE;
    uint64_t bits = rng();
    *o = one;
    for (int i = 0; i < 64; i++) {
        FT(dbl)(o, o);
        if (bits >> i & 1)
            FT(add)(o, o, &one);
    }
}

/* The same point with another z; infinity keeps meaningless x and y. */
static jac jac_of(const aff *a)
{
    jac o;
    F z, zz;
    GT(jac_from_aff)(&o, a);
    random_field(&z);
    FT(sqr)(&zz, &z);
    FT(mul)(&o.x, &o.x, &zz);
    FT(mul)(&zz, &zz, &z);
    FT(mul)(&o.y, &o.y, &zz);
    FT(mul)(&o.z, &o.z, &z);
    if (GT(aff_is_inf)(a))
        o.x = o.y = z;
    return o;
}

static xyzz xyzz_of(const aff *a)
{
    xyzz o;
    F z;
    random_field(&z);
    FT(sqr)(&o.zz, &z);
    FT(mul)(&o.zzz, &o.zz, &z);
    FT(mul)(&o.x, &a->x, &o.zz);
    FT(mul)(&o.y, &a->y, &o.zzz);
    if (GT(aff_is_inf)(a)) {
        o = (xyzz){0};
        o.x = o.y = z;
    }
    return o;
}

static void check_jac(const jac *got, const aff *want, const char *op, int base, int i, int j)
{
    aff a;
    GT(jac_to_aff)(&a, got);
    if (!GT(aff_eq)(&a, want) || GT(jac_is_inf)(got) != GT(aff_is_inf)(want))
        fail_msg("%s: base %d, %d and %d", op, base, i, j);
}

static void check_xyzz(const xyzz *got, const aff *want, const char *op, int base, int i, int j)
{
    jac t;
    if (FT(is_zero)(&got->zz) != GT(aff_is_inf)(want))
        fail_msg("%s: zz, base %d, %d and %d", op, base, i, j);
    GT(jac_from_xyzz)(&t, got);
    check_jac(&t, want, op, base, i, j);
}

static void test_generator_is_on_the_curve_and_of_order_r(void **state)
{
    (void)state;
    jac g, t;
    aff a, minus;
    fr_int k = FR_MODULUS;
    assert_true(GT(aff_is_on_curve)(&GENERATOR));
    assert_true(GT(aff_is_in_subgroup)(&GENERATOR));
    assert_false(GT(aff_is_inf)(&GENERATOR));
    GT(jac_from_aff)(&g, &GENERATOR);
    GT(mul)(&t, &g, &k);
    assert_true(GT(jac_is_inf)(&t));
    k.l[0] -= 1;
    GT(mul)(&t, &g, &k);
    GT(jac_to_aff)(&a, &t);
    GT(aff_neg)(&minus, &GENERATOR);
    assert_true(GT(aff_eq)(&a, &minus));
}

/* Bit by bit with mixed additions: shares neither tables nor recoding with mul and mul_ct. */
static void ladder(jac *o, const aff *a, const fr_int *k)
{
    *o = (jac){0};
    for (int i = 255; i >= 0; i--) {
        GT(jac_dbl)(o, o);
        if (k->l[i / 64] >> (i % 64) & 1)
            GT(jac_add_aff)(o, o, a);
    }
}

static void test_multiples_of_the_generator_equal_the_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table_multiples); i++) {
        fr_int k = scalar_of(table_multiples[i][0]);
        aff want = decode(table_multiples[i][1]);
        jac g = jac_of(&GENERATOR), t;
        GT(mul)(&t, &g, &k);
        check_jac(&t, &want, "mul", 0, (int)i, 0);
        GT(mul_ct)(&t, &g, &k);
        check_jac(&t, &want, "mul_ct", 0, (int)i, 0);
        ladder(&t, &GENERATOR, &k);
        check_jac(&t, &want, "ladder", 0, (int)i, 0);
    }
}

static void test_multiples_equal_repeated_addition(void **state)
{
    (void)state;
    jac g, sum = {0}, t;
    GT(jac_from_aff)(&g, &GENERATOR);
    for (uint64_t k = 0; k < 70; k++) {
        fr_int n = {{k}};
        GT(mul)(&t, &g, &n);
        assert_true(GT(jac_eq)(&t, &sum));
        GT(mul_ct)(&t, &g, &n);
        assert_true(GT(jac_eq)(&t, &sum));
        GT(jac_add)(&sum, &sum, &g);
    }
}

static void test_mul_mul_ct_and_the_ladder_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table_outside); i++) {
        fr_int k = {{rng(), rng(), rng(), rng()}};
        aff p = decode(table_outside[i][0]), want;
        jac a = jac_of(&p), t;
        ladder(&t, &p, &k);
        GT(jac_to_aff)(&want, &t);
        GT(mul)(&t, &a, &k);
        check_jac(&t, &want, "mul", 2, (int)i, 0);
        GT(mul_ct)(&t, &a, &k);
        check_jac(&t, &want, "mul_ct", 2, (int)i, 0);
        GT(mul)(&a, &a, &k); /* in place */
        check_jac(&a, &want, "mul in place", 2, (int)i, 0);
        a = jac_of(&p);
        GT(mul_ct)(&a, &a, &k);
        check_jac(&a, &want, "mul_ct in place", 2, (int)i, 0);
    }
    aff inf = {0};
    const jac zeros = {0}, infinities[] = {jac_of(&inf), zeros};
    for (size_t i = 0; i < ARRAY_LEN(infinities); i++) {
        fr_int k = {{rng(), rng(), rng(), rng()}};
        jac t;
        GT(mul)(&t, &infinities[i], &k);
        assert_true(GT(jac_is_inf)(&t));
        GT(mul_ct)(&t, &infinities[i], &k);
        assert_true(GT(jac_is_inf)(&t));
    }
}

static void check_jac_pair(int base, int i, int j)
{
    aff pa = multiple(base, i), qa = multiple(base, j), want = multiple(base, i + j);
    jac p = jac_of(&pa), q = jac_of(&qa), o;
    GT(jac_add)(&o, &p, &q);
    check_jac(&o, &want, "jac_add", base, i, j);
    o = p;
    GT(jac_add)(&o, &o, &q);
    check_jac(&o, &want, "jac_add onto p", base, i, j);
    o = q;
    GT(jac_add)(&o, &p, &o);
    check_jac(&o, &want, "jac_add onto q", base, i, j);
    GT(jac_add_aff)(&o, &p, &qa);
    check_jac(&o, &want, "jac_add_aff", base, i, j);
    o = p;
    GT(jac_add_aff)(&o, &o, &qa);
    check_jac(&o, &want, "jac_add_aff onto p", base, i, j);
    if (GT(jac_eq)(&p, &q) != GT(aff_eq)(&pa, &qa))
        fail_msg("jac_eq: base %d, %d and %d", base, i, j);
}

static void check_xyzz_pair(int base, int i, int j)
{
    aff pa = multiple(base, i), qa = multiple(base, j), want = multiple(base, i + j),
        diff = multiple(base, i - j);
    xyzz p = xyzz_of(&pa), q = xyzz_of(&qa), o;
    GT(xyzz_add)(&o, &p, &q);
    check_xyzz(&o, &want, "xyzz_add", base, i, j);
    o = p;
    GT(xyzz_add)(&o, &o, &q);
    check_xyzz(&o, &want, "xyzz_add onto p", base, i, j);
    o = q;
    GT(xyzz_add)(&o, &p, &o);
    check_xyzz(&o, &want, "xyzz_add onto q", base, i, j);
    GT(xyzz_add_aff)(&o, &p, &qa);
    check_xyzz(&o, &want, "xyzz_add_aff", base, i, j);
    o = p;
    GT(xyzz_add_aff)(&o, &o, &qa);
    check_xyzz(&o, &want, "xyzz_add_aff onto p", base, i, j);
    GI(xyzz_sub_aff)(&o, &p, &qa);
    check_xyzz(&o, &diff, "xyzz_sub_aff", base, i, j);
}

/* Every pair of small multiples of the generator and of a point whose own multiples wrap around:
 * equal, opposite, infinite. */
static void test_sums_of_small_multiples_equal_the_model(void **state)
{
    (void)state;
    for (int base = 0; base < 2; base++)
        for (int i = -REACH; i <= REACH; i++)
            for (int j = -REACH; j <= REACH; j++) {
                check_jac_pair(base, i, j);
                check_xyzz_pair(base, i, j);
            }
}

static void test_doubling_and_negation_equal_the_model(void **state)
{
    (void)state;
    for (int base = 0; base < 2; base++)
        for (int i = -REACH; i <= REACH; i++) {
            aff a = multiple(base, i), twice = multiple(base, 2 * i), minus = multiple(base, -i);
            jac p = jac_of(&a), o;
            xyzz q = xyzz_of(&a), x;
            GT(jac_neg)(&o, &p);
            check_jac(&o, &minus, "jac_neg", base, i, 0);
            GT(jac_dbl)(&o, &p);
            check_jac(&o, &twice, "jac_dbl", base, i, 0);
            GT(jac_dbl)(&p, &p);
            check_jac(&p, &twice, "jac_dbl in place", base, i, 0);
            GT(xyzz_dbl)(&x, &q);
            check_xyzz(&x, &twice, "xyzz_dbl", base, i, 0);
            GT(xyzz_dbl)(&q, &q);
            check_xyzz(&q, &twice, "xyzz_dbl in place", base, i, 0);
        }
}

/* The whole square of pairs as one batch, so that infinite and opposite pairs share the inversion
 * with the others. */
static void test_batched_affine_additions_equal_the_model(void **state)
{
    (void)state;
    enum { SIDE = 2 * REACH + 1, N = SIDE * SIDE };
    static aff p[N], q[N];
    static F den[N], scratch[N];
    static ec_aff_kind kind[N];
    for (int base = 0; base < 2; base++) {
        for (int n = 0; n < N; n++) {
            p[n] = multiple(base, n / SIDE - REACH);
            q[n] = multiple(base, n % SIDE - REACH);
            kind[n] = GI(aff_add_prepare)(&den[n], &p[n], &q[n]);
            assert_false(FT(is_zero)(&den[n]));
        }
        FT(batch_inv)(den, N, scratch);
        for (int n = 0; n < N; n++) {
            aff o, want = multiple(base, n / SIDE + n % SIDE - 2 * REACH);
            GI(aff_add_finish)(&o, &p[n], &q[n], &den[n], kind[n]);
            GI(aff_add_finish)(&p[n], &p[n], &q[n], &den[n], kind[n]); /* in place */
            if (!GT(aff_eq)(&o, &want) || !GT(aff_eq)(&p[n], &want))
                fail_msg("base %d, %d and %d", base, n / SIDE - REACH, n % SIDE - REACH);
        }
    }
}

/* All 2^N placements of infinities among N points. */
static void test_batch_conversion_keeps_infinities(void **state)
{
    (void)state;
    enum { N = 6 };
    aff points[N], inf = {0}, o[N + 1];
    F scratch[N];
    for (int i = 0; i < N; i++)
        points[i] = multiple(0, i + 1);
    for (unsigned mask = 0; mask < 1u << N; mask++)
        for (size_t n = 0; n <= N; n++) {
            jac in[N];
            for (int i = 0; i < N; i++)
                in[i] = jac_of(mask >> i & 1 ? &inf : &points[i]);
            for (int i = 0; i <= N; i++)
                o[i] = GENERATOR;
            GT(jac_batch_to_aff)(o, in, n, scratch);
            for (size_t i = 0; i < n; i++)
                if (!GT(aff_eq)(&o[i], mask >> i & 1 ? &inf : &points[i]))
                    fail_msg("mask %#x, n %zu, point %zu", mask, n, i);
            assert_true(GT(aff_eq)(&o[n], &GENERATOR));
        }
}

static void test_points_outside_the_subgroup_are_told(void **state)
{
    (void)state;
    const fr_int k = {{0x1234567}};
    for (size_t i = 0; i < ARRAY_LEN(table_outside); i++) {
        aff p = decode(table_outside[i][0]), want_k = decode(table_outside[i][2]),
            want_r = decode(table_outside[i][3]);
        jac a = jac_of(&p), t;
        GT(mul)(&t, &a, &k);
        check_jac(&t, &want_k, "k", 2, (int)i, 0);
        GT(mul)(&t, &a, &FR_MODULUS);
        check_jac(&t, &want_r, "r", 2, (int)i, 0);
        assert_false(GT(aff_is_inf)(&want_r));
        if (!GT(aff_is_on_curve)(&p) || GT(aff_is_in_subgroup)(&p))
            fail_msg("point %zu", i);
    }
}

static void test_points_inside_the_subgroup_are_told(void **state)
{
    (void)state;
    aff inf = {0};
    assert_true(GT(aff_is_in_subgroup)(&inf));
    assert_true(GT(aff_is_on_curve)(&inf));
    for (int i = 0; i < 20; i++) {
        fr_int k = {{rng(), rng(), rng(), rng() >> 1}};
        jac g, t;
        aff a;
        GT(jac_from_aff)(&g, &GENERATOR);
        GT(mul)(&t, &g, &k);
        GT(jac_to_aff)(&a, &t);
        GT(mul)(&t, &t, &FR_MODULUS);
        assert_true(GT(jac_is_inf)(&t));
        assert_true(GT(aff_is_on_curve)(&a));
        assert_true(GT(aff_is_in_subgroup)(&a));
        /* plus something outside: out again */
        aff off = decode(table_outside[(size_t)i % ARRAY_LEN(table_outside)][0]);
        jac s = jac_of(&off);
        GT(jac_add_aff)(&s, &s, &a);
        GT(jac_to_aff)(&off, &s);
        GT(mul)(&t, &s, &FR_MODULUS);
        assert_false(GT(jac_is_inf)(&t));
        assert_false(GT(aff_is_in_subgroup)(&off));
    }
}

static void test_points_off_the_curve_are_told(void **state)
{
    (void)state;
    aff a = GENERATOR;
    F one = F_ONE;
    FT(add)(&a.y, &a.y, &one);
    assert_false(GT(aff_is_on_curve)(&a));
    a = GENERATOR;
    FT(sub)(&a.x, &a.x, &one);
    assert_false(GT(aff_is_on_curve)(&a));
    a = (aff){.x = GENERATOR.y, .y = GENERATOR.x};
    assert_false(GT(aff_is_on_curve)(&a));
    a = (aff){.x = GENERATOR.x};
    assert_false(GT(aff_is_on_curve)(&a));
    assert_false(GT(aff_is_inf)(&a));
    a = (aff){.y = GENERATOR.y};
    assert_false(GT(aff_is_on_curve)(&a));
    assert_false(GT(aff_is_inf)(&a));
}

/* Raw coordinates, not only points: both paths run the same formulas on fully reduced values. */
static size_t results(uint8_t *b, size_t cap)
{
    size_t n = 0;
    rng_state = EC_TEST_SEED;
    for (size_t i = 0; i < ARRAY_LEN(table_outside); i++) {
        struct {
            jac sum, mixed, twice, product, product_ct, from;
            xyzz x_sum, x_mixed, x_twice;
        } o;
        fr_int k = {{rng(), rng(), rng(), rng()}};
        aff p = decode(table_outside[i][0]);
        jac a = jac_of(&p), g = jac_of(&GENERATOR);
        xyzz xa = xyzz_of(&p), xg = xyzz_of(&GENERATOR);
        GT(jac_add)(&o.sum, &a, &g);
        GT(jac_add_aff)(&o.mixed, &g, &p);
        GT(jac_dbl)(&o.twice, &a);
        GT(mul)(&o.product, &a, &k);
        GT(mul_ct)(&o.product_ct, &a, &k);
        GT(xyzz_add)(&o.x_sum, &xa, &xg);
        GT(xyzz_add_aff)(&o.x_mixed, &xg, &p);
        GT(xyzz_dbl)(&o.x_twice, &xa);
        GT(jac_from_xyzz)(&o.from, &xa);
        assert_true(n + sizeof o <= cap);
        memcpy(b + n, &o, sizeof o);
        n += sizeof o;
    }
    return n;
}

static void test_instruction_sets_give_equal_bytes(void **state)
{
    (void)state;
    static uint8_t portable[65536], adx[65536];
    assert_true(ff_force_isa("portable"));
    size_t n = results(portable, sizeof portable);
    if (!ff_force_isa("adx"))
        skip();
    assert_string_equal(ff_isa(), "adx");
    assert_int_equal(results(adx, sizeof adx), n);
    assert_memory_equal(portable, adx, n);
    ff_force_isa(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generator_is_on_the_curve_and_of_order_r),
        cmocka_unit_test(test_multiples_of_the_generator_equal_the_model),
        cmocka_unit_test(test_multiples_equal_repeated_addition),
        cmocka_unit_test(test_mul_mul_ct_and_the_ladder_agree),
        cmocka_unit_test(test_sums_of_small_multiples_equal_the_model),
        cmocka_unit_test(test_doubling_and_negation_equal_the_model),
        cmocka_unit_test(test_batched_affine_additions_equal_the_model),
        cmocka_unit_test(test_batch_conversion_keeps_infinities),
        cmocka_unit_test(test_points_outside_the_subgroup_are_told),
        cmocka_unit_test(test_points_inside_the_subgroup_are_told),
        cmocka_unit_test(test_points_off_the_curve_are_told),
    };
    const struct CMUnitTest between[] = {cmocka_unit_test(test_instruction_sets_give_equal_bytes)};
    int failed = run_on_every_isa(tests, ARRAY_LEN(tests));
    return failed + cmocka_run_group_tests_name("agree", between, NULL, NULL);
}
