/* Scalars split by the endomorphism, their digits, and factors of a transform. */
#include <setjmp.h>
#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/mem.h"
#include "ff/fr.h"
#include "gpu/gpu_glv.cuh"

static const uint64_t seed = 0x91f2a3b4c5d6e7u;

static uint64_t next_u64(uint64_t *s) /* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void from_words(fr *o, const uint32_t *w, size_t n)
{
    *o = FR_ZERO;
    for (size_t i = n; i-- > 0;) {
        fr t;
        for (int b = 0; b < 32; b++)
            fr_dbl(o, o);
        fr_from_u64(&t, w[i]);
        fr_add(o, o, &t);
    }
}

/* M as an element: -phi's eigenvalue. */
static void set_m(fr *m) { from_words(m, GPU_CONST(GPU_GLV_M), 4); }

/* 0, 1, 2, ..., their negatives, M and M / 2 and r / 2 about, then random ones. */
static void sample(fr *o, uint64_t *s, int i)
{
    fr m, off, half;
    set_m(&m);
    fr_from_u64(&half, 2);
    fr_inv(&half, &half);
    fr_from_u64(&off, (uint64_t)(i % 20));
    const fr around[] = {FR_ZERO, m, half};
    if (i < 60) {
        fr_add(o, &around[i / 20], &off);
    } else if (i < 120) {
        fr_sub(o, &around[i / 20 - 3], &off);
    } else if (i < 140) { /* about M / 2, and multiples of M */
        from_words(o, GPU_CONST(GPU_GLV_M_HALF), 4);
        fr_from_u64(&m, (uint64_t)i - 130);
        fr_add(o, o, &off);
        fr_mul(o, o, &m);
    } else {
        for (int k = 0; k < 4; k++)
            o->l[k] = next_u64(s);
        o->l[3] >>= 2;
    }
}

static void to_plain(gpu_fr *o, const fr *a)
{
    fr_int k;
    fr_to_int(&k, a);
    static_assert(sizeof *o == sizeof k, "same layout");
    memcpy(o, &k, sizeof *o);
}

/* M^2 - M + 1 = 0, so it is a root as phi's eigenvalue has to be; which of the two is tested with
 * points (test_gpu_g1_mul). */
static void test_m_is_the_eigenvalue(void **state)
{
    (void)state;
    fr m, t;
    set_m(&m);
    fr_sqr(&t, &m);
    fr_sub(&t, &t, &m);
    fr_add(&t, &t, &FR_ONE);
    assert_true(fr_is_zero(&t));
}

static void signed_value(fr *o, const gpu_glv *s, int part)
{
    from_words(o, s->k[part], GPU_GLV_WORDS);
    if (s->neg[part])
        fr_neg(o, o);
}

static void test_parts_are_short_and_make_the_scalar(void **state)
{
    (void)state;
    uint64_t s = seed;
    fr m;
    set_m(&m);
    for (int i = 0; i < 20000; i++) {
        fr k, a, b;
        gpu_fr plain;
        gpu_glv g;
        sample(&k, &s, i);
        to_plain(&plain, &k);
        gpu_glv_split(&g, &plain);
        if (g.k[0][3] >> 31 || g.k[1][3] >> 31)
            fail_msg("case %d, seed %llx: a part of 128 bits", i, (unsigned long long)seed);
        signed_value(&a, &g, 0);
        signed_value(&b, &g, 1);
        fr_mul(&b, &b, &m);
        fr_sub(&a, &a, &b);
        if (!fr_eq(&a, &k))
            fail_msg("case %d, seed %llx: another scalar", i, (unsigned long long)seed);
    }
}

static void check_digits(const gpu_glv *g, int part, gpu_glv_way way, int i)
{
    gpu_glv_reader r;
    fr sum = FR_ZERO, weight = FR_ONE, t, want;
    uint32_t since = 4;
    gpu_glv_read(&r, g, part);
    for (uint32_t n = 0; n < gpu_glv_n_digits(way); n++) {
        int32_t d = gpu_glv_next(&r, way);
        uint32_t abs = (uint32_t)(d < 0 ? -d : d);
        assert_in_range(abs, 0, way == GPU_GLV_SPARSE ? 15 : 8);
        if (way == GPU_GLV_SPARSE && d != 0) {
            assert_int_equal(abs & 1, 1);
            assert_true(since >= 4);
        }
        since = d != 0 ? 0 : since + 1;
        if (d != 0) {
            uint32_t e = gpu_glv_entry(d, way);
            assert_int_equal(way == GPU_GLV_SPARSE ? 2 * e + 1 : e + 1, abs);
            assert_true(e < GPU_GLV_N_TABLE);
        }
        fr_from_u64(&t, abs);
        fr_mul(&t, &t, &weight);
        if (d < 0)
            fr_neg(&t, &t);
        fr_add(&sum, &sum, &t);
        for (uint32_t b = 0; b < gpu_glv_step(way); b++)
            fr_dbl(&weight, &weight);
    }
    assert_int_equal(r.carry, 0);
    signed_value(&want, g, part);
    if (!fr_eq(&sum, &want))
        fail_msg("case %d part %d way %d, seed %llx: another sum", i, part, (int)way,
                 (unsigned long long)seed);
}

static void test_digits_make_the_part(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (int i = 0; i < 2000; i++) {
        fr k;
        gpu_fr plain;
        gpu_glv g;
        sample(&k, &s, i);
        to_plain(&plain, &k);
        gpu_glv_split(&g, &plain);
        for (int part = 0; part < 2; part++) {
            check_digits(&g, part, GPU_GLV_SPARSE, i);
            check_digits(&g, part, GPU_GLV_DENSE, i);
        }
    }
    for (uint32_t b = 0; b < 127; b++) { /* all ones, and single bits */
        gpu_glv g = {{{0}}, {0, ~0u}};
        for (uint32_t k = 0; k <= b; k++)
            g.k[0][k / 32] |= 1u << (k % 32);
        g.k[1][b / 32] = 1u << (b % 32);
        for (int part = 0; part < 2; part++) {
            check_digits(&g, part, GPU_GLV_SPARSE, (int)b);
            check_digits(&g, part, GPU_GLV_DENSE, (int)b);
        }
    }
}

/* Of all nodes of a small tree: w^-rev(node). */
static void test_node_factors(void **state)
{
    (void)state;
    enum { LG_N = 7 };
    gpu_glv_roots r;
    fr root, w;
    r.lg_n = LG_N;
    memcpy(&r.one, &FR_ONE, sizeof r.one);
    fr_root_of_unity(&root, LG_N);
    fr_inv(&root, &root);
    w = root;
    for (uint32_t k = 0; k < LG_N; k++) {
        memcpy(&r.root_pow[k], &w, sizeof w);
        fr_sqr(&w, &w);
    }
    for (uint32_t node = 0; node < 1u << (LG_N - 1); node++) {
        uint32_t rev = 0;
        gpu_fr got, want;
        fr f;
        for (uint32_t b = 0; b < LG_N - 1; b++)
            rev |= (node >> b & 1) << (LG_N - 2 - b);
        fr_pow_u64(&f, &root, rev);
        to_plain(&want, &f);
        gpu_glv_node_factor(&got, &r, node);
        assert_memory_equal(&got, &want, sizeof got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_m_is_the_eigenvalue),
        cmocka_unit_test(test_parts_are_short_and_make_the_scalar),
        cmocka_unit_test(test_digits_make_the_part),
        cmocka_unit_test(test_node_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
