/* Pieces of B and C by columns: for all sorts of limits, every variable gets its point of section l
 * and each of its terms once, those of B added, those of C taken away. */
#include <setjmp.h>
#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/mem.h"
#include "gpu/gpu_evkey_list.h"

enum { N_INPUTS = 3, N_VARS = 40, LG_M = 6, M = 1 << LG_M, N_TERMS_MAX = 400 };

static uint64_t next_u64(uint64_t *s) /* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static r1cs_counts counts;
static _Atomic uint64_t ends[2][N_VARS];
static g16_ev_term terms[2][N_TERMS_MAX];
static uint8_t kinds[] = {G16_EV_ONE, G16_EV_MINUS_ONE, G16_EV_OTHER, G16_EV_OTHER};
static g16_ev_columns cols[2];

/* Long and empty columns, among them the first and the last one. */
static void make_columns(int side, uint64_t seed)
{
    g16_ev_columns *c = &cols[side];
    counts = (r1cs_counts){.n_inputs = N_INPUTS, .n_aux = N_VARS - N_INPUTS, .lg_m = LG_M};
    *c = (g16_ev_columns){.c = &counts,
                          .side = side ? G16_EV_C : G16_EV_B,
                          .n_vars = N_VARS,
                          .ends = ends[side],
                          .terms = terms[side],
                          .kinds = kinds};
    for (uint64_t v = 0; v < N_VARS; v++) {
        uint64_t r = next_u64(&seed), n = r % 3;
        if (r >> 8 & 1)
            n = r >> 16 & 7 ? 0 : 30;
        for (uint64_t k = 0; k < n && c->n_terms < N_TERMS_MAX; k++)
            c->terms[c->n_terms++] =
                (g16_ev_term){(uint32_t)(next_u64(&seed) % M), (uint32_t)(next_u64(&seed) % 4)};
        c->ends[v] = c->n_terms;
    }
}

/* A base as a weight: sums of weights stand for sums of points. */
/* Of D, then of G. */
static int64_t weight_of_row(uint32_t at) { return 1 + (int64_t)at * at; }
static int64_t weight_of_l(uint64_t i) { return 100000 + (int64_t)(i * i); }
static int64_t coefficient(uint32_t c)
{
    static const int64_t v[] = {1, -1, 7, -50};
    return v[c];
}

/* The sum of a list by variable. */
static void sum_piece(int64_t *sums, const gpu_ev_piece *p, const gpu_ev_list_in *in, int64_t carry)
{
    for (uint64_t v = 0; v <= p->n_vars; v++)
        sums[v] = 0;
    for (uint64_t i = 0; i < p->n_list; i++) {
        uint32_t ref = p->refs[i] & GPU_REF_INDEX;
        int64_t w;
        assert_true(p->keys[i] <= p->n_vars);
        assert_false(p->refs[i] & GPU_REF_POOL);
        assert_true(ref < in->bases.n);
        if (ref >= in->bases.products) {
            assert_true(ref - in->bases.products < p->n_products);
            const gpu_g1_item *x = &p->items[ref - in->bases.products];
            assert_true(x->base < in->bases.carry);
            w = coefficient(x->coeff & ~GPU_G1_ITEM_MINUS) * weight_of_row(x->base);
            w = x->coeff & GPU_G1_ITEM_MINUS ? -w : w;
        } else if (ref >= in->bases.l) {
            assert_true(ref - in->bases.l < p->n_l);
            w = weight_of_l(p->first_l + ref - in->bases.l);
        } else {
            w = ref == in->bases.carry ? carry : weight_of_row(ref);
        }
        sums[p->keys[i]] += p->refs[i] & GPU_REF_NEG ? -w : w;
    }
}

static int64_t expected(uint64_t v)
{
    int64_t sum = v >= N_INPUTS ? weight_of_l(v - N_INPUTS) : 0;
    for (int side = 0; side < 2; side++) {
        const g16_ev_columns *c = &cols[side];
        for (uint64_t k = g16_ev_columns_start(c, v); k < g16_ev_columns_start(c, v + 1); k++) {
            int64_t w =
                coefficient(c->terms[k].coeff) * weight_of_row(c->terms[k].at + (side ? M : 0));
            sum += side ? -w : w;
        }
    }
    return sum;
}

static void check_limits(const gpu_ev_limits *max)
{
    gpu_ev_list_in in = {{&cols[0], &cols[1]}, *max, gpu_ev_bases_of(LG_M, max)};
    gpu_ev_cursor at = {0};
    gpu_ev_piece p;
    int64_t sums[N_VARS + 1], carry = 0;
    uint64_t next = 0;
    assert_int_equal(gpu_ev_piece_init(&p, max).code, CUZK_OK);
    while (at.var < N_VARS) {
        gpu_ev_piece_next(&p, &at, &in);
        assert_int_equal(p.first_var, next);
        assert_in_range(p.n_vars, 1, max->n_vars);
        assert_in_range(p.n_list, 1, max->n_list);
        assert_in_range(p.n_products, 0, max->n_products);
        assert_in_range(p.n_l, 0, max->n_vars);
        sum_piece(sums, &p, &in, carry);
        for (uint64_t k = 0; k < p.n_vars - p.cut; k++)
            assert_int_equal(sums[k], expected(next + k));
        carry = p.cut ? sums[p.n_vars - 1] : 0;
        next += p.n_vars - p.cut;
    }
    assert_int_equal(next, N_VARS);
    assert_false(p.cut);
    gpu_ev_piece_fini(&p);
}

static void test_every_term_is_summed_once(void **state)
{
    (void)state;
    static const gpu_ev_limits limits[] = {{1, 2, 1},    {1, 1000, 1000},   {1000, 2, 1000},
                                           {1000, 3, 1}, {7, 11, 3},        {1000, 1000, 1},
                                           {40, 40, 40}, {1000, 1000, 1000}};
    for (uint64_t seed = 0; seed < 60; seed++) {
        make_columns(0, seed);
        make_columns(1, ~seed);
        for (size_t i = 0; i < ARRAY_LEN(limits); i++)
            check_limits(&limits[i]);
    }
}

static void test_failed_allocations(void **state)
{
    (void)state;
    const gpu_ev_limits max = {10, 10, 10};
    uint64_t live = mem_get_stats().live_bytes;
    for (uint64_t n = 1; n <= 3; n++) {
        gpu_ev_piece p;
        mem_fail_nth(n);
        assert_int_equal(gpu_ev_piece_init(&p, &max).code, CUZK_E_NOMEM);
        mem_fail_nth(0);
        assert_int_equal(mem_get_stats().live_bytes, live);
        gpu_ev_piece_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_term_is_summed_once),
        cmocka_unit_test(test_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
