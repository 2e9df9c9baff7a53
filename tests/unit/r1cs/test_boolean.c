/* Which rows make bits of variables: loose, of templates, and near misses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "r1cs/cs.h"
#include "r1cs/layout.h"

static void check(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s", st.msg);
}

/* a: terms of A, b: of B, c: of C: "1" ONE, "x" and "y" variables, with "-" before and "2" behind for
 * coefficients -1 and 2. */
static const struct {
    const char *a[3], *b[3], *c[3];
    bool is_boolean;
} rows[] = {
    {{"1", "-x"}, {"x"}, {0}, true},       {{"-x", "1"}, {"x"}, {0}, true},
    {{"1", "-y"}, {"y"}, {0}, true},       {{"1", "-x"}, {"x"}, {"y"}, true}, /* zero with x, too */
    {{"x"}, {"1", "-x"}, {0}, false},      {{"1", "-x"}, {"x", "y"}, {0}, false},
    {{"1", "-x"}, {"x", "1"}, {0}, false}, {{"1", "-x"}, {"-x"}, {0}, false},
    {{"1", "-x"}, {"x2"}, {0}, false},     {{"1", "-x"}, {"1"}, {0}, false},
    {{"1", "-x"}, {"y"}, {0}, false},      {{"1", "-x"}, {0}, {0}, false},
    {{"1", "x"}, {"x"}, {0}, false},       {{"-1", "-x"}, {"x"}, {0}, false},
    {{"12", "-x"}, {"x"}, {0}, false},     {{"1", "-x2"}, {"x"}, {0}, false},
    {{"y", "-x"}, {"x"}, {0}, false},      {{"1", "-x", "-y"}, {"x"}, {0}, false},
    {{"-x"}, {"x"}, {0}, false},           {{"1"}, {"x"}, {0}, false},
    {{"1", "-x"}, {"x"}, {0}, true},
};

static void put_side(cs *c, cs_side side, const char *const terms[3], r1cs_var x, r1cs_var y)
{
    for (int i = 0; i < 3 && terms[i]; i++) {
        bool is_minus = terms[i][0] == '-';
        const char *name = terms[i] + is_minus;
        fr k = FR_ONE;
        if (name[1] == '2')
            fr_dbl(&k, &k);
        if (is_minus)
            fr_neg(&k, &k);
        cs_term(c, side, &k, *name == '1' ? R1CS_ONE : *name == 'x' ? x : y);
    }
}

static void put_rows(cs *c, r1cs_var x, r1cs_var y)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        put_side(c, CS_A, rows[i].a, x, y);
        put_side(c, CS_B, rows[i].b, x, y);
        put_side(c, CS_C, rows[i].c, x, y);
        cs_end_row(c);
    }
}

/* All rows twice: x a wire and y its own, then the other way round. */
static void body(cs *c, void *wire)
{
    r1cs_var own = cs_alloc_bit(c, false);
    put_rows(c, *(const r1cs_var *)wire, own);
    put_rows(c, own, *(const r1cs_var *)wire);
}

/* Loose rows, two calls of a template, loose rows. */
static r1cs_shape *make_shape(bool as_template)
{
    cs c;
    r1cs_shape *s;
    check(cs_init_shape(&c, "bits"));
    r1cs_var x = cs_alloc_input(&c, &FR_ZERO), y = cs_alloc_bit(&c, false);
    put_rows(&c, x, y);
    for (int i = 0; i < 2; i++) {
        r1cs_var wire = i ? y : x;
        cs_template_call call = {
            .key = "bits", .key_len = 4, .wires = &wire, .n_wires = 1, .body = body, .args = &wire};
        if (as_template)
            cs_template(&c, &call);
        else
            body(&c, &wire);
    }
    put_rows(&c, y, x);
    check(cs_finish_shape(&c, &s));
    cs_fini(&c);
    return s;
}

static void check_bits(const r1cs_shape *s)
{
    uint64_t n = r1cs_shape_counts(s)->n_rows, n_words = (n + 63) / 64;
    uint64_t *bits = malloc((n_words + 1) * sizeof *bits);
    assert_non_null(bits);
    assert_int_equal(n, 6 * ARRAY_LEN(rows));
    assert_true(n % 64 != 0);
    for (uint64_t i = 0; i <= n_words; i++)
        bits[i] = UINT64_MAX;
    r1cs_shape_boolean_rows(bits, s);
    for (uint64_t i = 0; i < n; i++)
        if ((bits[i / 64] >> i % 64 & 1) != rows[i % ARRAY_LEN(rows)].is_boolean)
            fail_msg("row %llu, case %llu", (unsigned long long)i,
                     (unsigned long long)(i % ARRAY_LEN(rows)));
    assert_int_equal(bits[n / 64] >> n % 64, 0);
    assert_true(bits[n_words] == UINT64_MAX);
    free(bits);
}

static void test_rows_that_make_bits_are_found(void **state)
{
    (void)state;
    for (int as_template = 0; as_template < 2; as_template++) {
        r1cs_shape *s = make_shape(as_template);
        assert_int_equal(r1cs_shape_n_templates(s), as_template);
        check_bits(s);
        r1cs_shape_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_that_make_bits_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
