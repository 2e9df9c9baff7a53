/* NTT, derivatives, Groth16 quotient and Lagrange bases against direct evaluation and golden values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "poly/ntt.h"
#include "poly/ntt_int.h"
#include "tiny_quotient_table.h"

static uint64_t seed = 20240917;

static void rand_fr(fr *o)
{
    fr_int v;
    for (int i = 0; i < 4; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        v.l[i] = seed ^ (seed >> 29);
    }
    fr_from_int(o, &v);
}

static fr *rand_vec(size_t n)
{
    fr *v = mem_alloc((n + 1) * sizeof *v, 64);
    assert_non_null(v);
    for (size_t i = 0; i < n; i++)
        rand_fr(&v[i]);
    return v;
}

static void eval_poly(fr *o, const fr *c, size_t n, const fr *x)
{
    *o = FR_ZERO;
    for (size_t i = n; i-- > 0;) {
        fr_mul(o, o, x);
        fr_add(o, o, &c[i]);
    }
}

static void check(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s", st.msg);
}

static void for_each_setting(void (*fn)(const run_ctx *rc))
{
    static const unsigned threads[] = {1, 2, 5};
    const char *isas[] = {"portable", "adx"};
    for (size_t k = 0; k < 2; k++) {
        if (!ff_force_isa(isas[k]))
            continue;
        for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
            pool *p;
            check(pool_create(&p, threads[i]));
            run_ctx rc = {.pool = p};
            fn(&rc);
            pool_destroy(p);
        }
    }
    assert_true(ff_force_isa(NULL));
}

static void evaluates(const run_ctx *rc)
{
    ntt_plan *plan;
    check(ntt_plan_create(&plan, 9, rc));
    for (uint32_t lg = 0; lg <= 9; lg++) {
        size_t n = (size_t)1 << lg;
        fr *c = rand_vec(n), *v = rand_vec(n), w, x = FR_ONE, want;
        memcpy(v, c, n * sizeof *v);
        check(ntt_forward(plan, v, lg, rc));
        fr_root_of_unity(&w, lg);
        for (size_t k = 0; k < n; k++) {
            eval_poly(&want, c, n, &x);
            if (!fr_eq(&want, &v[k]))
                fail_msg("lg %u value %zu differs", lg, k);
            fr_mul(&x, &x, &w);
        }
        check(ntt_inverse(plan, v, lg, rc));
        assert_memory_equal(v, c, n * sizeof *v);
        mem_free(c);
        mem_free(v);
    }
    ntt_plan_destroy(plan);
}

static void test_transforms_evaluate_polynomials(void **state)
{
    (void)state;
    for_each_setting(evaluates);
}

/* Big enough for the blocked paths of every parity; a few values against Horner. */
static void evaluates_big(const run_ctx *rc)
{
    ntt_plan *plan;
    check(ntt_plan_create(&plan, 16, rc));
    for (uint32_t lg = 13; lg <= 16; lg++) {
        size_t n = (size_t)1 << lg;
        fr *c = rand_vec(n), *v = rand_vec(n), w, x, want;
        memcpy(v, c, n * sizeof *v);
        check(ntt_forward(plan, v, lg, rc));
        fr_root_of_unity(&w, lg);
        for (size_t k = 1; k < n; k = k * 5 + 3) {
            fr_pow_u64(&x, &w, k);
            eval_poly(&want, c, n, &x);
            assert_true(fr_eq(&want, &v[k]));
        }
        check(ntt_inverse(plan, v, lg, rc));
        assert_memory_equal(v, c, n * sizeof *v);
        mem_free(c);
        mem_free(v);
    }
    ntt_plan_destroy(plan);
}

static void test_big_transforms_evaluate_polynomials(void **state)
{
    (void)state;
    for_each_setting(evaluates_big);
}

/* A*B - C = h (X^m - 1), checked at a random point, with c = a o b interpolated by the (tested)
 * inverse transform. */
static void quotient_divides(const run_ctx *rc)
{
    ntt_plan *plan;
    check(ntt_plan_create(&plan, 15, rc));
    for (uint32_t lg = 0; lg <= 15; lg += lg < 6 ? 1 : 3) {
        size_t m = (size_t)1 << lg;
        fr *a = rand_vec(m), *b = rand_vec(m), *s = rand_vec(m), *h = rand_vec(m),
           *hb = rand_vec(m), *c = rand_vec(m);
        fr x, va, vb, vc, vh, z;
        memcpy(h, a, m * sizeof *h);
        memcpy(hb, b, m * sizeof *h);
        check(ntt_quotient(plan, h, hb, s, lg, rc));
        assert_true(fr_is_zero(&h[m - 1]));
        for (size_t i = 0; i < m; i++)
            fr_mul(&c[i], &a[i], &b[i]);
        check(ntt_inverse(plan, a, lg, rc));
        check(ntt_inverse(plan, b, lg, rc));
        check(ntt_inverse(plan, c, lg, rc));
        rand_fr(&x);
        eval_poly(&va, a, m, &x);
        eval_poly(&vb, b, m, &x);
        eval_poly(&vc, c, m, &x);
        eval_poly(&vh, h, m, &x);
        fr_mul(&va, &va, &vb);
        fr_sub(&va, &va, &vc);
        fr_pow_u64(&z, &x, m);
        fr_sub(&z, &z, &FR_ONE);
        fr_mul(&vh, &vh, &z);
        if (!fr_eq(&va, &vh))
            fail_msg("quotient at lg %u", lg);
        fr *all[] = {a, b, s, h, hb, c};
        for (size_t i = 0; i < ARRAY_LEN(all); i++)
            mem_free(all[i]);
    }
    ntt_plan_destroy(plan);
}

static void test_quotient_divides(void **state)
{
    (void)state;
    for_each_setting(quotient_divides);
}

/* c_i <- i c_i. */
static void times_index(fr *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fr k;
        fr_from_u64(&k, i);
        fr_mul(&c[i], &c[i], &k);
    }
}

/* theta of the polynomial of degree < 2^lg with these values, at the points of the domain: one by one
 * for small sizes, by (tested) transforms of its coefficients for others. */
static fr *derivative_of(const ntt_plan *plan, const fr *values, uint32_t lg, const run_ctx *rc)
{
    size_t n = (size_t)1 << lg;
    fr *c = rand_vec(n), *v = rand_vec(n), w, x = FR_ONE;
    memcpy(c, values, n * sizeof *c);
    check(ntt_inverse(plan, c, lg, rc));
    times_index(c, n);
    fr_root_of_unity(&w, lg);
    for (size_t j = 0; j < n && lg <= 9; j++) {
        eval_poly(&v[j], c, n, &x);
        fr_mul(&x, &x, &w);
    }
    if (lg > 9) {
        memcpy(v, c, n * sizeof *v);
        check(ntt_forward(plan, v, lg, rc));
    }
    mem_free(c);
    return v;
}

static void derives(const run_ctx *rc)
{
    ntt_plan *plan;
    check(ntt_plan_create(&plan, 15, rc));
    for (uint32_t lg = 0; lg <= 15; lg++) {
        size_t m = (size_t)1 << lg;
        fr *a = rand_vec(m), *want = derivative_of(plan, a, lg, rc), k;
        rand_fr(&k);
        check(ntt_derivative(plan, a, &k, lg, rc));
        for (size_t j = 0; j < m; j++) {
            fr_mul(&want[j], &want[j], &k);
            if (!fr_eq(&want[j], &a[j]))
                fail_msg("derivative at lg %u, value %zu", lg, j);
        }
        mem_free(a);
        mem_free(want);
    }
    ntt_plan_destroy(plan);
}

static void test_derivative_of_values(void **state)
{
    (void)state;
    for_each_setting(derives);
}

/* With values that are zero on one side, on both, on none. */
static void derivative_product_is(const run_ctx *rc)
{
    ntt_plan *plan;
    check(ntt_plan_create(&plan, 15, rc));
    for (uint32_t lg = 0; lg <= 15; lg++) {
        size_t m = (size_t)1 << lg;
        fr *a = rand_vec(m), *b = rand_vec(m), *b0 = rand_vec(m), m_inv2, x, y;
        fr_int *got = mem_alloc(m * sizeof *got, 64), want, zero = {{0}};
        assert_non_null(got);
        for (size_t j = 0; j < m; j++) {
            a[j] = j % 4 & 1 ? FR_ZERO : a[j];
            b[j] = j % 4 & 2 ? FR_ZERO : b[j];
        }
        memcpy(b0, b, m * sizeof *b);
        fr *da = derivative_of(plan, a, lg, rc), *db = derivative_of(plan, b, lg, rc);
        fr_from_u64(&m_inv2, m);
        fr_inv(&m_inv2, &m_inv2);
        fr_sqr(&m_inv2, &m_inv2);
        for (size_t j = 0; j < m; j++) { /* da: what is wanted */
            fr_mul(&x, &a[j], &db[j]);
            fr_mul(&y, &b[j], &da[j]);
            fr_add(&x, &x, &y);
            fr_mul(&da[j], &x, &m_inv2);
        }
        check(ntt_derivative_product(plan, got, a, b, lg, rc));
        for (size_t j = 0; j < m; j++) {
            fr_to_int(&want, &da[j]);
            if (memcmp(&want, &got[j], sizeof want) != 0)
                fail_msg("derivative product at lg %u, value %zu", lg, j);
            if (j % 4 == 3)
                assert_memory_equal(&got[j], &zero, sizeof zero);
        }
        assert_memory_equal(b, b0, m * sizeof *b);
        fr *all[] = {a, b, b0, da, db};
        for (size_t i = 0; i < ARRAY_LEN(all); i++)
            mem_free(all[i]);
        mem_free(got);
    }
    ntt_plan_destroy(plan);
}

static void test_derivative_product_is_the_definition(void **state)
{
    (void)state;
    for_each_setting(derivative_product_is);
}

static void from_hex(fr *o, const char *hex)
{
    uint8_t b[32];
    assert_true(hex_decode(b, 32, hex, 64));
    assert_true(fr_from_le(o, b));
}

static void test_quotient_is_golden(void **state)
{
    (void)state;
    run_ctx rc = {0};
    ntt_plan *plan;
    fr a[8] = {{{0}}}, b[8] = {{{0}}}, s[8], want;
    check(ntt_plan_create(&plan, 3, &rc));
    for (size_t i = 0; i < ARRAY_LEN(tiny_a); i++) {
        from_hex(&a[i], tiny_a[i]);
        from_hex(&b[i], tiny_b[i]);
    }
    check(ntt_quotient(plan, a, b, s, 3, &rc));
    assert_int_equal(ARRAY_LEN(tiny_h), 7);
    for (size_t i = 0; i < ARRAY_LEN(tiny_h); i++) {
        from_hex(&want, tiny_h[i]);
        assert_true(fr_eq(&want, &a[i]));
    }
    ntt_plan_destroy(plan);
}

static void lagrange_interpolates(const run_ctx *rc)
{
    ntt_plan *plan;
    check(ntt_plan_create(&plan, 13, rc));
    for (uint32_t lg = 0; lg <= 13; lg += lg < 4 ? 1 : 3) {
        size_t m = (size_t)1 << lg;
        fr *v = rand_vec(m), *lag = rand_vec(m), tau, sum = FR_ZERO, t, want;
        rand_fr(&tau);
        check(ntt_lagrange_at(lag, &tau, lg, rc));
        for (size_t i = 0; i < m; i++) {
            fr_mul(&t, &v[i], &lag[i]);
            fr_add(&sum, &sum, &t);
        }
        check(ntt_inverse(plan, v, lg, rc));
        eval_poly(&want, v, m, &tau);
        assert_true(fr_eq(&sum, &want));
        fr_root_of_unity(&tau, lg);
        check(ntt_lagrange_at(lag, &tau, lg, rc));
        for (size_t i = 0; i < m; i++)
            assert_true(i == (m > 1) ? fr_is_one(&lag[i]) : fr_is_zero(&lag[i]));
        mem_free(v);
        mem_free(lag);
    }
    ntt_plan_destroy(plan);
}

static void test_lagrange_interpolates(void **state)
{
    (void)state;
    for_each_setting(lagrange_interpolates);
}

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

static void test_limits_and_cancel(void **state)
{
    (void)state;
    run_ctx rc = {0};
    ntt_plan *plan;
    fr v[8] = {{{0}}};
    assert_int_equal(ntt_plan_create(&plan, NTT_LG_N_MAX + 1, &rc).code, CUZK_E_RANGE);
    assert_null(plan);
    check(ntt_plan_create(&plan, 2, &rc));
    assert_int_equal(ntt_forward(plan, v, 3, &rc).code, CUZK_E_RANGE);
    assert_int_equal(ntt_derivative(plan, v, &FR_ONE, 3, &rc).code, CUZK_E_RANGE);
    assert_int_equal(ntt_quotient(plan, v, v, v, 3, &rc).code, CUZK_E_RANGE);
    rc.cancelled = always;
    assert_int_equal(ntt_forward(plan, v, 2, &rc).code, CUZK_E_CANCELLED);
    assert_int_equal(ntt_quotient(plan, v, v + 4, v, 2, &rc).code, CUZK_E_CANCELLED);
    fr_int out[4];
    assert_int_equal(ntt_derivative(plan, v, &FR_ONE, 2, &rc).code, CUZK_E_CANCELLED);
    assert_int_equal(ntt_derivative_product(plan, out, v, v + 4, 2, &rc).code, CUZK_E_CANCELLED);
    assert_int_equal(ntt_derivative_product(plan, out, v, v + 4, 3, &rc).code, CUZK_E_RANGE);
    ntt_plan_destroy(plan);
}

static void test_failing_allocations_are_reported(void **state)
{
    (void)state;
    run_ctx rc = {0};
    fr a[16] = {{{0}}}, b[16] = {{{0}}}, s[16], tau;
    fr_int out[16];
    uint64_t live = mem_get_stats().live_bytes;
    fr_from_u64(&tau, 5);
    for (uint64_t n = 1; n < 20; n++) {
        ntt_plan *plan;
        mem_fail_nth(n);
        cuzk_status st = ntt_plan_create(&plan, 4, &rc);
        if (st.code == CUZK_OK) {
            st = ntt_quotient(plan, a, b, s, 4, &rc);
            if (st.code == CUZK_OK)
                st = ntt_lagrange_at(s, &tau, 4, &rc);
            if (st.code == CUZK_OK)
                st = ntt_derivative(plan, a, &tau, 4, &rc);
            if (st.code == CUZK_OK)
                st = ntt_derivative_product(plan, out, a, b, 4, &rc);
            ntt_plan_destroy(plan);
        }
        mem_fail_nth(0);
        assert_true(st.code == CUZK_OK || st.code == CUZK_E_NOMEM);
        assert_int_equal(st.code, n <= 16 ? CUZK_E_NOMEM : CUZK_OK);
        assert_int_equal(mem_get_stats().live_bytes, live);
    }
}

/* Products by fixed operands against Montgomery products, with operands at both ends of their
 * ranges. */
static void test_fixed_products(void **state)
{
    (void)state;
    const char *isas[] = {"portable", "adx"};
    uint64_t first_seed = seed;
    for (size_t k = 0; k < 2; k++) {
        if (!ff_force_isa(isas[k]))
            continue;
        const ntt_kernels *ker = ntt_kernels_get();
        seed = first_seed;
        for (int i = 0; i < 4000; i++) {
            fr w, x[2], lazy, want;
            ntt_twiddle t;
            rand_fr(&w);
            rand_fr(&x[0]);
            if (i % 5 == 0)
                fr_neg(&w, i % 2 ? &FR_ONE : &FR_ZERO);
            if (i % 7 == 0)
                fr_from_u64(&w, (uint64_t)i / 7);
            if (i % 3 == 0)
                fr_from_int(&x[0], &(fr_int){{(uint64_t)i % 4, 0, 0, 0}});
            if (i % 11 == 0) /* raw r - 1 */
                memcpy(&x[0], &FR_MODULUS, sizeof x[0]), x[0].l[0]--;
            lazy = x[0];
            if (i % 2) { /* the other number in [0, 2r) of the class */
                unsigned __int128 c = 0;
                for (int j = 0; j < 4; j++) {
                    c += (unsigned __int128)lazy.l[j] + FR_MODULUS.l[j];
                    lazy.l[j] = (uint64_t)c;
                    c >>= 64;
                }
            }
            fr_mul(&want, &x[0], &w);
            ntt_twiddle_set(&t, &w);
            ker->scale(&lazy, 1, &t, NULL);
            ker->reduce(&lazy, 1);
            if (!fr_eq(&lazy, &want))
                fail_msg("%s: product %d, seed %llu", isas[k], i, (unsigned long long)first_seed);
        }
    }
    assert_true(ff_force_isa(NULL));
}

/* Many threads make short blocks, so that the levels above them need two column passes. */
static void test_two_column_passes(void **state)
{
    (void)state;
    enum { LG = 20 };
    size_t n = (size_t)1 << LG;
    run_ctx rc = {0};
    ntt_plan *plan;
    check(pool_create(&rc.pool, 64));
    check(ntt_plan_create(&plan, LG, &rc));
    fr *c = rand_vec(n), *v = rand_vec(n), *d = rand_vec(n), w, x, want;
    fr_root_of_unity(&w, LG);
    memcpy(v, c, n * sizeof *v);
    check(ntt_forward(plan, v, LG, &rc));
    for (size_t k = 12345; k < n; k += n / 3) {
        fr_pow_u64(&x, &w, k);
        eval_poly(&want, c, n, &x);
        assert_true(fr_eq(&want, &v[k]));
    }
    memcpy(d, v, n * sizeof *d);
    check(ntt_derivative(plan, d, &FR_ONE, LG, &rc));
    check(ntt_inverse(plan, v, LG, &rc));
    assert_memory_equal(v, c, n * sizeof *v);
    check(ntt_inverse(plan, d, LG, &rc));
    times_index(c, n);
    assert_memory_equal(d, c, n * sizeof *d);
    mem_free(c);
    mem_free(v);
    mem_free(d);
    ntt_plan_destroy(plan);
    pool_destroy(rc.pool);
}

typedef struct nested {
    const ntt_plan *plan;
    fr *a, *b, *s;
    cuzk_status st[3];
} nested;

static void nested_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    nested *x = ctx;
    run_ctx rc = {0};
    size_t at = chunk << 8;
    x->st[chunk] = ntt_quotient(x->plan, x->a + at, x->b + at, x->s + at, 8, &rc);
}

/* From inside a chunk, under a thread index that is past the callee's own (absent) pool. */
static void test_runs_inside_another_loop(void **state)
{
    (void)state;
    pool *p;
    run_ctx rc = {0};
    ntt_plan *plan;
    size_t n = 3 << 8;
    fr *a = rand_vec(n), *b = rand_vec(n), *s = rand_vec(n), *a2 = rand_vec(n), *b2 = rand_vec(n);
    memcpy(a2, a, n * sizeof *a);
    memcpy(b2, b, n * sizeof *b);
    check(ntt_plan_create(&plan, 8, &rc));
    check(pool_create(&p, 3));
    nested x = {.plan = plan, .a = a, .b = b, .s = s};
    pool_for(p, 3, nested_chunk, &x);
    pool_destroy(p);
    for (size_t i = 0; i < 3; i++) {
        check(x.st[i]);
        check(ntt_quotient(plan, a2 + (i << 8), b2 + (i << 8), s, 8, &rc));
    }
    assert_memory_equal(a, a2, n * sizeof *a);
    fr *all[] = {a, b, s, a2, b2};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        mem_free(all[i]);
    ntt_plan_destroy(plan);
}

static bool countdown(void *ctx)
{
    uint64_t *left = ctx;
    return *left == 0 || --*left == 0;
}

/* Cancelled at the n-th poll for every n: either done or reported, nothing else. */
static void test_cancel_at_any_poll(void **state)
{
    (void)state;
    run_ctx rc = {0};
    ntt_plan *plan;
    size_t n = (size_t)1 << 13, n_cancelled = 0;
    fr *a = rand_vec(n), *b = rand_vec(n), *s = rand_vec(n), *want = rand_vec(n);
    fr *a0 = rand_vec(n), *b0 = rand_vec(n);
    check(ntt_plan_create(&plan, 13, &rc));
    memcpy(want, a0, n * sizeof *a);
    memcpy(b, b0, n * sizeof *b);
    check(ntt_quotient(plan, want, b, s, 13, &rc));
    rc.cancelled = countdown;
    for (uint64_t polls = 1;; polls++) {
        uint64_t left = polls;
        rc.cancel_ctx = &left;
        memcpy(a, a0, n * sizeof *a);
        memcpy(b, b0, n * sizeof *b);
        cuzk_status st = ntt_quotient(plan, a, b, s, 13, &rc);
        if (st.code == CUZK_OK)
            break;
        assert_int_equal(st.code, CUZK_E_CANCELLED);
        n_cancelled++;
    }
    assert_true(n_cancelled > 3);
    assert_memory_equal(a, want, n * sizeof *a);
    fr *all[] = {a, b, s, want, a0, b0};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        mem_free(all[i]);
    ntt_plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transforms_evaluate_polynomials),
        cmocka_unit_test(test_big_transforms_evaluate_polynomials),
        cmocka_unit_test(test_quotient_divides),
        cmocka_unit_test(test_derivative_product_is_the_definition),
        cmocka_unit_test(test_derivative_of_values),
        cmocka_unit_test(test_quotient_is_golden),
        cmocka_unit_test(test_lagrange_interpolates),
        cmocka_unit_test(test_fixed_products),
        cmocka_unit_test(test_two_column_passes),
        cmocka_unit_test(test_runs_inside_another_loop),
        cmocka_unit_test(test_limits_and_cancel),
        cmocka_unit_test(test_cancel_at_any_poll),
        cmocka_unit_test(test_failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
