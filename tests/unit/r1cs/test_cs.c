/* The builder: templates against the same rows written out, densities, evaluation, failing rows by
 * name, digests, failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "r1cs/cs.h"
#include "r1cs/eval.h"

static const run_ctx no_rc = {0};

static void check(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s", st.msg);
}

/* The toy gadget: y = x * x * k + 5 x, with a bit b on the way: rows x*x = s; (3 s + ONE) * b = t;
 * t * ONE = t. */
typedef struct toy {
    r1cs_var x;
    fr x_val;
    r1cs_var outs[1];
    fr out_val;
} toy;

static void toy_body(cs *c, void *p)
{
    toy *t = p;
    fr s, three, v = FR_ZERO;
    fr_from_u64(&three, 3);
    fr_sqr(&s, &t->x_val);
    r1cs_var sv = cs_alloc_num(c, &s);
    cs_ns_push(c, "square");
    cs_term_one(c, CS_A, t->x);
    cs_term_one(c, CS_B, t->x);
    cs_term_one(c, CS_C, sv);
    cs_end_row(c);
    cs_ns_pop(c);
    r1cs_var b = cs_alloc_bit(c, true);
    fr_mul(&v, &s, &three);
    fr_add(&v, &v, &FR_ONE);
    r1cs_var tv = cs_alloc_num(c, &v);
    cs_ns_push(c, "scale");
    /* 3 s in two terms that merge, and a pair that cancels. */
    cs_term_one(c, CS_A, sv);
    cs_term_one(c, CS_A, sv);
    cs_term_one(c, CS_A, sv);
    cs_term_one(c, CS_A, R1CS_ONE);
    cs_term_one(c, CS_A, t->x);
    cs_term_minus(c, CS_A, t->x);
    cs_term_one(c, CS_B, b);
    cs_term_one(c, CS_C, tv);
    cs_end_row(c);
    cs_ns_pop(c);
    t->outs[0] = tv;
    t->out_val = v;
}

static void toy_call(cs *c, toy *t, bool as_template)
{
    cs_template_call call = {"toy", 3, &t->x, 1, toy_body, t, t->outs, 1};
    if (as_template)
        cs_template(c, &call);
    else
        toy_body(c, t);
}

#define N_CALLS 5
/* Input x, then a chain of toys, then out * ONE = input y. */
static void chain(cs *c, bool as_template)
{
    fr x, y = FR_ONE;
    fr_from_u64(&x, 7);
    toy t = {.x = cs_alloc_input(c, &x), .x_val = x};
    for (int i = 0; i < N_CALLS; i++) {
        cs_ns_push(c, "toy %d", i);
        toy_call(c, &t, as_template);
        cs_ns_pop(c);
        t.x = t.outs[0];
        t.x_val = t.out_val;
    }
    y = t.x_val;
    r1cs_var yv = cs_alloc_input(c, &y);
    cs_ns_push(c, "out");
    cs_term_one(c, CS_A, t.x);
    cs_term_one(c, CS_B, R1CS_ONE);
    cs_term_one(c, CS_C, yv);
    cs_end_row(c);
    cs_ns_pop(c);
}

static r1cs_shape *chain_shape(bool as_template)
{
    cs c;
    r1cs_shape *s;
    check(cs_init_shape(&c, "chain"));
    chain(&c, as_template);
    check(cs_finish_shape(&c, &s));
    cs_fini(&c);
    return s;
}

static void chain_witness(witness *w, const r1cs_shape *s, cs_mode mode)
{
    cs c;
    check(witness_init(w, s));
    cs_init_witness(&c, s, w, mode);
    chain(&c, true);
    check(cs_finish_witness(&c));
    cs_fini(&c);
}

static void test_template_equals_written_out_rows(void **state)
{
    (void)state;
    r1cs_shape *s[2] = {chain_shape(false), chain_shape(true)};
    uint8_t d[2][32];
    for (int i = 0; i < 2; i++)
        check(r1cs_digest(s[i], d[i], 0, NULL, NULL, &no_rc));
    assert_memory_equal(d[0], d[1], 32);
    r1cs_counts a = *r1cs_shape_counts(s[0]), b = *r1cs_shape_counts(s[1]);
    a.shape_bytes = b.shape_bytes = 0;
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(a.n_inputs, 3);
    assert_int_equal(a.n_aux, 3 * N_CALLS);
    assert_int_equal(a.n_rows, 2 * N_CALLS + 1);
    assert_int_equal(a.n_dense, 2 * N_CALLS);
    assert_int_equal(a.lg_m, 4);
    /* A: x, then s + ONE per toy, then out; the cancelled x left no term. */
    assert_int_equal(a.nnz_a, 3 * N_CALLS + 1);
    assert_int_equal(a.nnz_b, 2 * N_CALLS + 1);
    assert_int_equal(a.nnz_c, 2 * N_CALLS + 1);
    /* s and t of each toy are in A; x of toys 1.. (aux t) and each b in B, input x and ONE in B. */
    assert_int_equal(a.a_aux, 2 * N_CALLS);
    assert_int_equal(a.b_aux, N_CALLS - 1 + N_CALLS);
    assert_int_equal(a.b_inputs, 2);
    assert_true(r1cs_shape_b_input(s[0], 0) && r1cs_shape_b_input(s[1], 1) &&
                !r1cs_shape_b_input(s[1], 2));
    r1cs_shape_destroy(s[0]);
    r1cs_shape_destroy(s[1]);
}

static void test_witness_satisfies_and_evaluates(void **state)
{
    (void)state;
    r1cs_shape *s = chain_shape(true);
    witness w;
    chain_witness(&w, s, CS_WITNESS_SLOW);
    check(r1cs_satisfied(s, &w, NULL, &no_rc));
    enum { M = 16 };
    fr a[M], b[M], c[M], ab;
    check(r1cs_eval(s, &w, a, b, c, M, &no_rc));
    for (int k = 0; k < 2 * N_CALLS + 1; k++) {
        fr_mul(&ab, &a[k], &b[k]);
        assert_true(fr_eq(&ab, &c[k]));
    }
    /* Input rows, then padding. */
    for (int i = 0; i < 3; i++) {
        assert_true(fr_eq(&a[2 * N_CALLS + 1 + i], &w.inputs[i]));
        assert_true(fr_is_zero(&b[2 * N_CALLS + 1 + i]) && fr_is_zero(&c[2 * N_CALLS + 1 + i]));
    }
    for (int k = 2 * N_CALLS + 4; k < M; k++)
        assert_true(fr_is_zero(&a[k]) && fr_is_zero(&b[k]) && fr_is_zero(&c[k]));
    assert_int_equal(r1cs_eval(s, &w, a, b, c, 8, &no_rc).code, CUZK_E_RANGE);
    witness_fini(&w);
    r1cs_shape_destroy(s);
}

static void test_failing_row_is_named_with_its_values(void **state)
{
    (void)state;
    r1cs_shape *s = chain_shape(true);
    witness w;
    uint64_t n_bad = 0;
    chain_witness(&w, s, CS_WITNESS_FAST);
    /* Toy 3's square (dense variable 6): rows square and scale of toy 3 fail. */
    fr_add(&w.dense[6], &w.dense[6], &FR_ONE);
    cuzk_status st = r1cs_satisfied(s, &w, &n_bad, &no_rc);
    assert_int_equal(st.code, CUZK_E_VERIFY);
    assert_int_equal(n_bad, 2);
    assert_non_null(strstr(st.msg, "row 6 (toy 3/square)"));
    assert_non_null(strstr(st.msg, "A=0x"));
    fr_sub(&w.dense[6], &w.dense[6], &FR_ONE);
    w.bits[0] ^= 1u << (3 * 1 + 1); /* bit b of toy 1: its scale row */
    st = r1cs_satisfied(s, &w, &n_bad, &no_rc);
    assert_non_null(strstr(st.msg, "row 3 (toy 1/scale)"));
    assert_non_null(strstr(st.msg, "B=0x0"));
    witness_fini(&w);
    r1cs_shape_destroy(s);
}

typedef struct seen {
    uint64_t rows;
    bool sorted;
} seen;

static void see(void *ctx, uint64_t row, const r1cs_row *r)
{
    seen *s = ctx;
    assert_int_equal(row, s->rows++ + 3);
    for (int k = 0; k < 3; k++)
        for (uint32_t i = 1; i < r->n[k]; i++)
            s->sorted =
                s->sorted && (r->t[k][i - 1].var ^ R1CS_INPUT) < (r->t[k][i].var ^ R1CS_INPUT);
}

static void test_visit_covers_a_range_in_order(void **state)
{
    (void)state;
    r1cs_shape *s = chain_shape(true);
    seen v = {0, true};
    check(r1cs_shape_visit(s, 3, 9, true, see, &v));
    assert_int_equal(v.rows, 6);
    assert_true(v.sorted);
    assert_int_equal(r1cs_shape_visit(s, 0, 12, true, see, &v).code, CUZK_E_RANGE);
    r1cs_shape_destroy(s);
}

static void leak_body(cs *c, void *p)
{
    r1cs_var *outside = p;
    r1cs_var v = cs_alloc_bit(c, false);
    cs_term_one(c, CS_A, *outside);
    cs_term_one(c, CS_B, v);
    cs_end_row(c);
}

static void input_body(cs *c, void *p)
{
    (void)p;
    cs_alloc_input(c, &FR_ONE);
}

static cuzk_status finish_after(cs_body_fn *body, void *args, uint32_t n_wires,
                                const r1cs_var *wires)
{
    cs c;
    r1cs_shape *s;
    check(cs_init_shape(&c, "bad"));
    cs_alloc_num(&c, &FR_ONE);
    cs_alloc_num(&c, &FR_ONE);
    cs_template_call call = {"t", 1, wires, n_wires, body, args, NULL, 0};
    cs_template(&c, &call);
    cuzk_status st = cs_finish_shape(&c, &s);
    assert_null(s);
    cs_fini(&c);
    return st;
}

static void test_template_misuse_is_an_internal_error(void **state)
{
    (void)state;
    r1cs_var first = 0;
    const r1cs_var twice[] = {1, 1};
    assert_int_equal(finish_after(leak_body, &first, 0, NULL).code, CUZK_E_INTERNAL);
    assert_int_equal(finish_after(input_body, NULL, 0, NULL).code, CUZK_E_INTERNAL);
    assert_int_equal(finish_after(leak_body, &first, 2, twice).code, CUZK_E_INTERNAL);
}

static void test_witness_of_wrong_length_is_refused(void **state)
{
    (void)state;
    r1cs_shape *s = chain_shape(true);
    witness w;
    cs c;
    check(witness_init(&w, s));
    cs_init_witness(&c, s, &w, CS_WITNESS_SLOW);
    assert_int_equal(cs_finish_witness(&c).code, CUZK_E_INTERNAL);
    chain(&c, true);
    check(cs_finish_witness(&c));
    cs_alloc_bit(&c, true);
    assert_int_equal(cs_finish_witness(&c).code, CUZK_E_INTERNAL);
    cs_init_witness(&c, s, &w, CS_WITNESS_SLOW);
    for (int i = 0; i < 3 * N_CALLS; i++)
        cs_alloc_num(&c, &FR_ONE);
    assert_int_equal(cs_finish_witness(&c).code, CUZK_E_INTERNAL);
    for (int i = 0; i < 4; i++)
        cs_alloc_input(&c, &FR_ONE);
    assert_int_equal(cs_finish_witness(&c).code, CUZK_E_INTERNAL);
    witness_fini(&w);
    r1cs_shape_destroy(s);
}

static void test_every_failing_allocation_is_reported(void **state)
{
    (void)state;
    r1cs_shape_destroy(chain_shape(true)); /* one-time allocations of other modules happen here */
    uint64_t live = mem_get_stats().live_bytes;
    bool done = false;
    for (uint64_t n = 1; n < 200 && !done; n++) {
        cs c;
        r1cs_shape *s = NULL;
        mem_fail_nth(n);
        cuzk_status st = cs_init_shape(&c, "chain");
        if (st.code == CUZK_OK) {
            chain(&c, true);
            st = cs_finish_shape(&c, &s);
            cs_fini(&c);
        }
        mem_fail_nth(0);
        done = st.code == CUZK_OK;
        if (!done)
            assert_int_equal(st.code, CUZK_E_NOMEM);
        r1cs_shape_destroy(s);
        assert_int_equal(mem_get_stats().live_bytes, live);
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_template_equals_written_out_rows),
        cmocka_unit_test(test_witness_satisfies_and_evaluates),
        cmocka_unit_test(test_failing_row_is_named_with_its_values),
        cmocka_unit_test(test_visit_covers_a_range_in_order),
        cmocka_unit_test(test_template_misuse_is_an_internal_error),
        cmocka_unit_test(test_witness_of_wrong_length_is_refused),
        cmocka_unit_test(test_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
