/* The cases of point encodings of one curve. A template, included by test_g1_codec.c and
 * test_g2_codec.c with
 * GT(t) a point type or function, e.g. g1_##t    COMP, UNC  bytes of both encodings    GENERATOR */
typedef GT(aff) aff;

static const ec_decode_opts strict = {
    .allow_inf = false, .check_subgroup = true, .check_curve = true};
static const ec_decode_opts with_inf = {
    .allow_inf = true, .check_subgroup = true, .check_curve = true};
static const ec_decode_opts no_subgroup = {
    .allow_inf = true, .check_subgroup = false, .check_curve = true};
static const ec_decode_opts trusted = {.allow_inf = true};
static const ec_decode_opts subgroup_only = {.allow_inf = true, .check_subgroup = true};

static cuzk_status decode(aff *o, bool compressed, const uint8_t *b, ec_decode_opts opts)
{
    *o = GENERATOR; /* a refusal must overwrite it */
    return compressed ? GT(decode_compressed)(o, b, opts) : GT(decode_uncompressed)(o, b, opts);
}

/* Refused as bad input, with these words, and the output is infinity. */
static void check_refused(bool compressed, const uint8_t *b, ec_decode_opts opts, const char *want,
                          const char *what)
{
    aff o;
    cuzk_status st = decode(&o, compressed, b, opts);
    if (st.code != CUZK_E_INPUT || !strstr(st.msg, want))
        fail_msg("%s: expected \"%s\", got %s: %s", what, want, cuzk_code_name(st.code), st.msg);
    if (!GT(aff_is_inf)(&o))
        fail_msg("%s: output holds a point", what);
}

static void check_round_trip(const char *unc_hex, const char *comp_hex, ec_decode_opts opts)
{
    uint8_t unc[UNC], comp[COMP], back[UNC];
    aff a, b;
    unhex(unc, UNC, unc_hex);
    unhex(comp, COMP, comp_hex);
    assert_ok(decode(&a, false, unc, opts));
    assert_ok(decode(&b, true, comp, opts));
    assert_true(GT(aff_eq)(&a, &b));
    GT(encode_uncompressed)(back, &b);
    assert_memory_equal(back, unc, UNC);
    GT(encode_compressed)(back, &a);
    assert_memory_equal(back, comp, COMP);
}

static void test_encodings_equal_the_model_and_come_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table_multiples); i++)
        check_round_trip(table_multiples[i][1], table_multiples[i][2], with_inf);
    for (size_t i = 0; i < ARRAY_LEN(table_outside); i++)
        check_round_trip(table_outside[i][0], table_outside[i][1], no_subgroup);
}

/* The other sign bit is the opposite point. */
static void test_sign_flag_chooses_between_y_and_minus_y(void **state)
{
    (void)state;
    int n_set = 0, n = 0;
    for (size_t i = 0; i < ARRAY_LEN(table_outside); i++, n++) {
        uint8_t b[COMP], back[COMP];
        aff p, q, minus;
        unhex(b, COMP, table_outside[i][1]);
        n_set += b[0] >> 5 & 1;
        assert_ok(decode(&p, true, b, no_subgroup));
        b[0] ^= 0x20;
        assert_ok(decode(&q, true, b, no_subgroup));
        GT(aff_neg)(&minus, &p);
        assert_true(GT(aff_eq)(&q, &minus));
        assert_false(GT(aff_eq)(&q, &p));
        GT(encode_compressed)(back, &q);
        assert_memory_equal(back, b, COMP);
    }
    assert_in_range(n_set, 1, n - 1); /* the table has both */
}

static void test_malformed_points_are_refused_and_told_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table_bad); i++) {
        const struct bad_point *t = &table_bad[i];
        uint8_t b[UNC];
        unhex(b, t->compressed ? COMP : UNC, t->hex);
        check_refused(t->compressed, b, with_inf, t->want, t->what);
        check_refused(t->compressed, b, no_subgroup, t->want, t->what);
    }
}

static void test_every_stray_bit_in_an_infinity_is_refused(void **state)
{
    (void)state;
    for (int compressed = 0; compressed < 2; compressed++) {
        size_t n = compressed ? COMP : UNC;
        for (size_t bit = 0; bit < 8 * n; bit++) {
            uint8_t b[UNC] = {compressed ? 0xc0 : 0x40};
            char what[32];
            snprintf(what, sizeof what, "bit %zu", bit);
            b[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
            const char *want = bit == 0   ? "the compressed flag"
                               : bit == 2 ? "an infinity without the sign flag"
                                          : "zero bytes in an infinity";
            if (bit != 1)
                check_refused(compressed, b, with_inf, want, what);
        }
    }
}

static void test_infinity_is_taken_only_where_allowed(void **state)
{
    (void)state;
    for (int compressed = 0; compressed < 2; compressed++) {
        uint8_t b[UNC] = {compressed ? 0xc0 : 0x40};
        aff a;
        check_refused(compressed, b, strict, "a point other than infinity", "infinity");
        assert_ok(decode(&a, compressed, b, with_inf));
        assert_true(GT(aff_is_inf)(&a));
        assert_ok(decode(&a, compressed, b, trusted));
        assert_true(GT(aff_is_inf)(&a));
    }
}

static void test_points_outside_the_subgroup_are_refused_where_asked(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table_outside); i++)
        for (int compressed = 0; compressed < 2; compressed++) {
            uint8_t b[UNC];
            aff a;
            unhex(b, compressed ? COMP : UNC, table_outside[i][compressed]);
            check_refused(compressed, b, with_inf, "the subgroup of order r", "outside");
            check_refused(compressed, b, subgroup_only, "the subgroup of order r", "outside");
            assert_ok(decode(&a, compressed, b, no_subgroup));
            assert_true(GT(aff_is_on_curve)(&a));
        }
}

/* A trusted file may skip the equation, never the ranges; and (0, 0), which in memory means
 * infinity, stays refused. */
static void test_curve_check_can_be_left_out(void **state)
{
    (void)state;
    uint8_t b[UNC];
    aff a;
    GT(encode_uncompressed)(b, &GENERATOR);
    b[UNC - 1] ^= 1;
    check_refused(false, b, no_subgroup, "a point on the curve", "y changed");
    check_refused(false, b, subgroup_only, "a point on the curve", "y changed");
    assert_ok(decode(&a, false, b, trusted));
    assert_false(GT(aff_is_on_curve)(&a));
    memset(b, 0, UNC);
    check_refused(false, b, trusted, "a point on the curve", "(0, 0)");
    for (size_t i = 0; i < ARRAY_LEN(table_bad); i++) {
        const struct bad_point *t = &table_bad[i];
        if (t->compressed || strstr(t->want, "on the curve"))
            continue;
        unhex(b, UNC, t->hex);
        check_refused(false, b, trusted, t->want, t->what);
    }
}

static void test_no_single_bit_can_change_in_an_uncompressed_point(void **state)
{
    (void)state;
    for (size_t bit = 0; bit < 8 * UNC; bit++) {
        uint8_t b[UNC];
        aff a;
        GT(encode_uncompressed)(b, &GENERATOR);
        b[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (decode(&a, false, b, no_subgroup).code != CUZK_E_INPUT)
            fail_msg("bit %zu", bit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encodings_equal_the_model_and_come_back),
        cmocka_unit_test(test_sign_flag_chooses_between_y_and_minus_y),
        cmocka_unit_test(test_malformed_points_are_refused_and_told_why),
        cmocka_unit_test(test_every_stray_bit_in_an_infinity_is_refused),
        cmocka_unit_test(test_infinity_is_taken_only_where_allowed),
        cmocka_unit_test(test_points_outside_the_subgroup_are_refused_where_asked),
        cmocka_unit_test(test_curve_check_can_be_left_out),
        cmocka_unit_test(test_no_single_bit_can_change_in_an_uncompressed_point),
    };
    return run_on_every_isa(tests, ARRAY_LEN(tests));
}
