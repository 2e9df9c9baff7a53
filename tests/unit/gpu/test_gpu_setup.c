/* The set-up's index logic on the host: sums by variable over the transposed shape against the rows
 * themselves, folding of sorted lists, digits of scalars. The functions are the ones that kernels
 * call, a thread at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/mem.h"
#include "ec/g2.h"
#include "gpu/gpu_fixed_int.h"
#include "gpu/gpu_setup_int.h"
#include "r1cs/cs.h"

static const uint64_t seed = 0x5e7095eedu;

static uint64_t next_u64(uint64_t *s) /* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void next_fr(fr *o, uint64_t *s)
{
    fr_int v;
    for (int i = 0; i < 4; i++)
        v.l[i] = next_u64(s);
    fr_from_int(o, &v);
}

static void assert_ok(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s", st.msg);
}

typedef struct keyed {
    uint32_t key, slot;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->slot > y->slot) - (x->slot < y->slot);
}

/* q += the values of an unsorted list by key, as the device folds it. */
static void fold_all(gpu_fr *q, const uint32_t *keys, const gpu_fr *vals, uint32_t n)
{
    keyed *k = malloc((n + 1) * sizeof *k);
    uint32_t *sorted = malloc((n + 1) * 4), *slots = malloc((n + 1) * 4);
    for (uint32_t i = 0; i < n; i++)
        k[i] = (keyed){keys[i], i};
    qsort(k, n, sizeof *k, by_key);
    for (uint32_t i = 0; i < n; i++) {
        sorted[i] = k[i].key;
        slots[i] = k[i].slot;
    }
    gpu_setup_list a = {sorted, slots, vals, n};
    uint32_t *old_keys = NULL;
    gpu_fr *old_vals = NULL;
    while (a.n > 0) {
        uint32_t next = (uint32_t)gpu_setup_folded(a.n);
        uint32_t *out_keys = next ? malloc(next * 4) : NULL;
        gpu_fr *out_vals = next ? aligned_alloc(64, next * sizeof *out_vals) : NULL;
        for (uint32_t t = 0; t * GPU_SETUP_RUN < a.n; t++)
            gpu_setup_fold(q, out_keys, out_vals, &a, t);
        for (uint32_t i = 1; i < next; i++)
            assert_true(out_keys[i - 1] <= out_keys[i]);
        free(old_keys);
        free(old_vals);
        old_keys = out_keys;
        old_vals = out_vals;
        a = (gpu_setup_list){out_keys, NULL, out_vals, next};
    }
    free(old_keys);
    free(old_vals);
    free(k);
    free(sorted);
    free(slots);
}

/* Patterns: all one key; all different; few; runs around the width of a thread. */
static uint32_t pattern_key(int pattern, uint32_t i, uint32_t n, uint64_t *s)
{
    switch (pattern) {
    case 0:
        return 7;
    case 1:
        return n - 1 - i;
    case 2:
        return (uint32_t)(next_u64(s) % 3) * 5;
    case 3:
        return i / (GPU_SETUP_RUN - 1);
    case 4:
        return i / GPU_SETUP_RUN;
    case 5:
        return i / (GPU_SETUP_RUN + 1);
    default:
        return (uint32_t)(next_u64(s) % 10 ? 1 : next_u64(s) % n);
    }
}

static void test_folding_sums_by_key(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 31, 32, 33, 64, 65, 1000, 1024, 1025, 33000};
    uint64_t s = seed;
    for (size_t z = 0; z < ARRAY_LEN(sizes); z++)
        for (int p = 0; p < 7; p++) {
            uint32_t n = sizes[z], n_keys = n + 16;
            uint32_t *keys = malloc(n * 4);
            fr *vals = mem_alloc(n * sizeof *vals, 64), *q = mem_zalloc(n_keys * sizeof *q, 64),
               *want = mem_zalloc(n_keys * sizeof *want, 64);
            for (uint32_t i = 0; i < n; i++) {
                keys[i] = pattern_key(p, i, n, &s);
                next_fr(&vals[i], &s);
                fr_add(&want[keys[i]], &want[keys[i]], &vals[i]);
            }
            fold_all((gpu_fr *)q, keys, (const gpu_fr *)vals, n);
            for (uint32_t i = 0; i < n_keys; i++)
                if (!fr_eq(&q[i], &want[i]))
                    fail_msg("key %u of %u elements, pattern %d, seed %llx", i, n, p,
                             (unsigned long long)seed);
            free(keys);
            mem_free(vals);
            mem_free(q);
            mem_free(want);
        }
}

/* A template with wires, an own variable in `n_long` rows, and a ONE in every row. */
typedef struct gadget {
    r1cs_var wire[2];
    uint32_t n_long;
} gadget;

static void gadget_body(cs *c, void *p)
{
    const gadget *g = p;
    fr k;
    r1cs_var own = cs_alloc_num(c, &FR_ONE);
    for (uint32_t i = 0; i < g->n_long; i++) {
        r1cs_var bit = cs_alloc_bit(c, true);
        fr_from_u64(&k, 3 + i % 11);
        cs_term(c, CS_A, &k, own);
        cs_term_minus(c, CS_A, R1CS_ONE);
        cs_term_one(c, CS_B, bit);
        cs_term_minus(c, CS_B, g->wire[i % 2]);
        cs_term_one(c, CS_C, g->wire[1]);
        cs_term(c, CS_C, &k, bit);
        cs_end_row(c);
    }
}

static void empty_body(cs *c, void *p)
{
    cs_term_one(c, CS_A, *(r1cs_var *)p);
    cs_end_row(c);
}

static void call(cs *c, const char *key, const r1cs_var *wires, uint32_t n_wires, cs_body_fn *body,
                 void *args)
{
    cs_template_call t = {key, strlen(key), wires, n_wires, body, args, NULL, 0};
    cs_template(c, &t);
}

/* Loose rows, gadgets of several lengths, and gadgets without own variables, mixed at random. */
static r1cs_shape *random_shape(uint64_t s, unsigned n_parts)
{
    static const uint32_t lengths[] = {1, 63, 64, 65, 200};
    static const char *const keys[] = {"1", "63", "64", "65", "200"};
    cs c;
    r1cs_shape *shape;
    r1cs_var in[3];
    fr k;
    assert_ok(cs_init_shape(&c, "random"));
    for (int i = 0; i < 3; i++)
        in[i] = cs_alloc_input(&c, &FR_ONE);
    r1cs_var x = cs_alloc_num(&c, &FR_ONE), y = cs_alloc_num(&c, &FR_ONE);
    for (unsigned i = 0; i < n_parts; i++) {
        unsigned kind = (unsigned)(next_u64(&s) % 8);
        if (kind < 5) {
            gadget g = {{kind % 2 ? x : in[next_u64(&s) % 3], y}, lengths[kind]};
            call(&c, keys[kind], g.wire, 2, gadget_body, &g);
        } else if (kind == 5) {
            call(&c, "empty", &y, 1, empty_body, &y);
        } else {
            next_fr(&k, &s);
            cs_term(&c, CS_A, &k, x);
            cs_term(&c, CS_B, &k, in[next_u64(&s) % 3]);
            cs_term_one(&c, CS_C, y);
            cs_term_minus(&c, CS_C, R1CS_ONE);
            cs_end_row(&c);
            x = y;
            y = cs_alloc_num(&c, &FR_ONE);
        }
    }
    cs_term_one(&c, CS_A, y);
    cs_end_row(&c);
    assert_ok(cs_finish_shape(&c, &shape));
    cs_fini(&c);
    return shape;
}

typedef struct row_sums {
    const fr *lag, *coeffs;
    fr *q;
    uint64_t n_inputs;
    int side;
} row_sums;

static void add_row(void *ctx, uint64_t row, const r1cs_row *r)
{
    row_sums *x = ctx;
    for (uint32_t i = 0; i < r->n[x->side]; i++) {
        r1cs_term t = r->t[x->side][i];
        fr p;
        fr_mul(&p, &x->coeffs[t.coeff], &x->lag[row]);
        fr *q = &x->q[t.var & R1CS_INPUT ? (t.var & ~R1CS_INPUT) : x->n_inputs + t.var];
        fr_add(q, q, &p);
    }
}

/* One side by the device's functions. */
static void sum_by_image(fr *q, const gpu_setup_image *im, int side, const fr *lag)
{
    gpu_setup_view v = gpu_setup_view_at(im, im->p);
    uint32_t n = (uint32_t)gpu_setup_n_list(im, side);
    for (uint32_t x = 0; x < im->n_own; x++)
        gpu_setup_own((gpu_fr *)q, &v, side, 0, v.n_insts, x, (const gpu_fr *)lag);
    uint32_t *keys = malloc(n * 4 + 4);
    gpu_fr *vals = mem_alloc((n + 1) * sizeof *vals, 64);
    for (uint32_t x = 0; x < n; x++)
        gpu_setup_slot(&keys[x], &vals[x], &v, side, x, (const gpu_fr *)lag);
    fold_all((gpu_fr *)q, keys, vals, n);
    free(keys);
    mem_free(vals);
}

static void check_shape(const r1cs_shape *shape, uint64_t s)
{
    const r1cs_counts *c = r1cs_shape_counts(shape);
    uint64_t n_vars = c->n_inputs + c->n_aux;
    size_t n_coeffs;
    fr *lag = mem_alloc((c->n_rows + 1) * sizeof *lag, 64);
    for (uint64_t i = 0; i < c->n_rows; i++)
        next_fr(&lag[i], &s);
    gpu_setup_image im, sizes;
    assert_ok(gpu_setup_build(&im, shape));
    assert_ok(gpu_setup_measure(&sizes, shape));
    assert_int_equal(sizes.bytes, im.bytes);
    for (int side = 0; side < 3; side++) {
        fr *want = mem_zalloc(n_vars * sizeof *want, 64), *q = mem_zalloc(n_vars * sizeof *q, 64);
        row_sums x = {lag, r1cs_shape_coeffs(shape, &n_coeffs), want, c->n_inputs, side};
        assert_int_equal(gpu_setup_n_list(&sizes, side), gpu_setup_n_list(&im, side));
        assert_ok(r1cs_shape_visit(shape, 0, c->n_rows, false, add_row, &x));
        sum_by_image(q, &im, side, lag);
        for (uint64_t i = 0; i < n_vars; i++)
            if (!fr_eq(&q[i], &want[i]))
                fail_msg("side %d, variable %llu of %llu, seed %llx", side, (unsigned long long)i,
                         (unsigned long long)n_vars, (unsigned long long)s);
        mem_free(want);
        mem_free(q);
    }
    gpu_setup_image_fini(&im);
    mem_free(lag);
}

static void test_transposed_sums_match_rows(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 60; n += 3) {
        r1cs_shape *shape = random_shape(seed + n, n);
        check_shape(shape, seed + n);
        r1cs_shape_destroy(shape);
    }
}

static void test_failing_allocations_are_reported(void **state)
{
    (void)state;
    r1cs_shape *shape = random_shape(seed, 20);
    gpu_setup_image im;
    uint64_t live = mem_get_stats().live_bytes, n = 1;
    for (;; n++) {
        mem_fail_nth(n);
        cuzk_status st = gpu_setup_build(&im, shape);
        mem_fail_nth(0);
        if (st.code == CUZK_OK)
            break;
        assert_int_equal(st.code, CUZK_E_NOMEM);
        assert_null(im.p);
        assert_int_equal(mem_get_stats().live_bytes, live);
    }
    assert_int_equal(n, 5);
    gpu_setup_image_fini(&im);
    gpu_setup_image_fini(&im);
    assert_int_equal(mem_get_stats().live_bytes, live);
    r1cs_shape_destroy(shape);
}

/* 0, 1, small ones, around r/2 and r - 1, then random ones. */
static void scalar_sample(fr *o, uint64_t *s, unsigned i)
{
    fr two, half;
    fr_from_u64(&two, 2);
    fr_inv(&half, &two); /* (r + 1) / 2 */
    switch (i) {
    case 0:
    case 1:
    case 2:
        fr_from_u64(o, i);
        return;
    case 3:
    case 4:
        fr_from_u64(o, i - 2);
        fr_neg(o, o);
        return;
    case 5:
        *o = half;
        return;
    case 6:
        fr_sub(o, &half, &FR_ONE);
        return;
    case 7:
        fr_from_u64(o, 0x8000800080008000u);
        return;
    default:
        next_fr(o, s);
    }
}

static void test_digits_make_up_the_scalar(void **state)
{
    (void)state;
    static const uint32_t widths[] = {2, 8, 15, 16, 17, 18, 20, 22, 24};
    uint64_t s = seed;
    for (size_t z = 0; z < ARRAY_LEN(widths); z++)
        for (unsigned i = 0; i < 500; i++) {
            uint32_t lg = widths[z], halves[GPU_FR_WORDS];
            fr k, sum = FR_ZERO, weight = FR_ONE, x;
            fr_int plain;
            gpu_fr a;
            gpu_fixed_digits d;
            scalar_sample(&k, &s, i);
            fr_to_int(&plain, &k);
            memcpy(&a, &plain, sizeof a);
            gpu_fixed_halves(halves, lg);
            gpu_fixed_recode(&d, &a, halves);
            for (uint32_t w = 0; w < gpu_fixed_windows(lg); w++) {
                int32_t digit = gpu_fixed_next(&d, lg, w);
                if (digit > 1 << (lg - 1) || digit < -(1 << (lg - 1)))
                    fail_msg("digit %d of %u bits, scalar %u, seed %llx", digit, lg, i,
                             (unsigned long long)seed);
                fr_from_u64(&x, (uint64_t)(digit < 0 ? -digit : digit));
                fr_mul(&x, &x, &weight);
                (digit < 0 ? fr_sub : fr_add)(&sum, &sum, &x);
                for (uint32_t b = 0; b < lg; b++)
                    fr_dbl(&weight, &weight);
            }
            if (d.neg)
                fr_neg(&sum, &sum);
            for (int w = 0; w < GPU_FR_WORDS; w++)
                assert_int_equal(d.fields[w], 0); /* all bits were used */
            if (!fr_eq(&sum, &k))
                fail_msg("digits of %u bits, scalar %u, seed %llx", lg, i,
                         (unsigned long long)seed);
        }
}

static void test_window_bases_are_powers_of_two(void **state)
{
    (void)state;
    g1_aff p1[32], want1;
    g2_aff p2[32], want2;
    g1_jac j1;
    g2_jac j2;
    gpu_fixed_window_bases(p1, GPU_MSM_G1, 20);
    gpu_fixed_window_bases(p2, GPU_MSM_G2, 20);
    for (unsigned w = 0; w < gpu_fixed_windows(20); w++) {
        fr_int k = {{0}};
        k.l[20 * w / 64] = (uint64_t)1 << (20 * w % 64);
        g1_jac_from_aff(&j1, &G1_GENERATOR);
        g1_mul(&j1, &j1, &k);
        g1_jac_to_aff(&want1, &j1);
        assert_true(g1_aff_eq(&p1[w], &want1));
        g2_jac_from_aff(&j2, &G2_GENERATOR);
        g2_mul(&j2, &j2, &k);
        g2_jac_to_aff(&want2, &j2);
        assert_true(g2_aff_eq(&p2[w], &want2));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folding_sums_by_key),
        cmocka_unit_test(test_transposed_sums_match_rows),
        cmocka_unit_test(test_failing_allocations_are_reported),
        cmocka_unit_test(test_digits_make_up_the_scalar),
        cmocka_unit_test(test_window_bases_are_powers_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
