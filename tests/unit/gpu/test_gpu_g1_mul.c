/* The host twins of the device's Jacobian products and butterflies against src/ec. */
#include <setjmp.h>
#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/mem.h"
#include "ec/g1_endo.h"
#include "gpu/gpu_g1_mul.cuh"

static const uint64_t seed = 0x5e6f708192a3u;

static uint64_t next_u64(uint64_t *s) /* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void times(g1_aff *o, const g1_aff *a, const fr *k)
{
    g1_jac j;
    fr_int e;
    fr_to_int(&e, k);
    g1_jac_from_aff(&j, a);
    g1_mul(&j, &j, &e);
    g1_jac_to_aff(o, &j);
}

static void random_fr(fr *o, uint64_t *s)
{
    for (int k = 0; k < 4; k++)
        o->l[k] = next_u64(s);
    o->l[3] >>= 2;
}

static void random_point(g1_aff *o, uint64_t *s)
{
    fr k;
    random_fr(&k, s);
    times(o, &G1_GENERATOR, &k);
}

/* other: the representatives above p. */
static void to_gpu(gpu_g1 *o, const g1_aff *a, bool other)
{
    if (g1_aff_is_inf(a)) {
        gpu_g1_set_inf(o);
        return;
    }
    memcpy(o, a, sizeof *o);
    if (other) {
        (void)gpu_words_add(o->x.l, o->x.l, GPU_CONST(GPU_FP_P), GPU_FP_WORDS);
        (void)gpu_words_add(o->y.l, o->y.l, GPU_CONST(GPU_FP_P), GPU_FP_WORDS);
    }
}

static void assert_point(const gpu_g1 *got, const g1_aff *want, const char *what, int i)
{
    gpu_g1 c;
    if (gpu_g1_is_inf(got) != g1_aff_is_inf(want))
        fail_msg("%s: infinity at case %d, seed %llx", what, i, (unsigned long long)seed);
    if (g1_aff_is_inf(want))
        return;
    gpu_lz_canon(&c.x, &got->x);
    gpu_lz_canon(&c.y, &got->y);
    if (memcmp(&c, want, sizeof c) != 0)
        fail_msg("%s differs at case %d, seed %llx", what, i, (unsigned long long)seed);
}

/* a with another Z. */
static void to_jac(gpu_g1_jac *o, const g1_aff *a, uint64_t *s)
{
    fp z, t;
    fp_from_u64(&z, next_u64(s) | 1);
    g1_aff j = *a;
    fp_sqr(&t, &z);
    fp_mul(&j.x, &j.x, &t);
    fp_mul(&t, &t, &z);
    fp_mul(&j.y, &j.y, &t);
    if (g1_aff_is_inf(a))
        z = (fp){{0}};
    memcpy(&o->x, &j.x, sizeof o->x);
    memcpy(&o->y, &j.y, sizeof o->y);
    memcpy(&o->z, &z, sizeof o->z);
}

static void test_doubling_and_addition(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (int i = 0; i < 300; i++) {
        g1_aff a, b, want;
        g1_jac j;
        gpu_g1 got, q;
        gpu_g1_jac p;
        gpu_fp h, z;
        random_point(&a, &s);
        random_point(&b, &s);
        to_jac(&p, &a, &s);
        to_gpu(&q, &b, i & 1);
        z = p.z;
        gpu_g1_jac_add(&p, &h, &q);
        gpu_lz_mul(&z, &z, &h);
        gpu_lz_canon(&z, &z);
        gpu_lz_canon(&h, &p.z);
        assert_memory_equal(&z, &h, sizeof z);
        gpu_g1_affine_any(&got, &p);
        g1_jac_from_aff(&j, &a);
        g1_jac_add_aff(&j, &j, &b);
        g1_jac_to_aff(&want, &j);
        assert_point(&got, &want, "sum", i);
        gpu_g1_jac_dbl(&p);
        gpu_g1_affine_any(&got, &p);
        g1_jac_dbl(&j, &j);
        g1_jac_to_aff(&want, &j);
        assert_point(&got, &want, "double", i);
    }
}

static void test_tables_have_the_multiples(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (int i = 0; i < 40; i++) {
        gpu_glv_way way = i & 1 ? GPU_GLV_SPARSE : GPU_GLV_DENSE;
        gpu_g1_table t;
        gpu_fp ratio[GPU_GLV_N_TABLE];
        g1_aff a, want;
        gpu_g1 p;
        random_point(&a, &s);
        to_gpu(&p, &a, i & 2);
        gpu_g1_table_make(&t, ratio, &p, way);
        for (uint32_t e = 0; e < GPU_GLV_N_TABLE; e++) {
            fr k;
            gpu_g1 got;
            fr_from_u64(&k, way == GPU_GLV_SPARSE ? 2 * e + 1 : e + 1);
            times(&want, &a, &k);
            gpu_g1_affine_any(&got, &(gpu_g1_jac){t.p[e].x, t.p[e].y, t.z});
            assert_point(&got, &want, "multiple", (int)e);
        }
    }
}

/* As k_mul does it. */
static void product(gpu_g1_jac *acc, const gpu_g1 *p, const fr *k, gpu_glv_way way)
{
    gpu_g1_table t;
    gpu_fp ratio[GPU_GLV_N_TABLE];
    gpu_fr plain;
    gpu_glv g;
    fr_int e;
    int32_t d[2][128];
    bool empty = true;
    fr_to_int(&e, k);
    memcpy(&plain, &e, sizeof plain);
    gpu_glv_split(&g, &plain);
    for (int part = 0; part < 2; part++) {
        gpu_glv_reader r;
        gpu_glv_read(&r, &g, part);
        for (uint32_t n = 0; n < gpu_glv_n_digits(way); n++)
            d[part][n] = gpu_glv_next(&r, way);
    }
    memset(acc, 0, sizeof *acc);
    gpu_g1_table_make(&t, ratio, p, way);
    for (uint32_t n = gpu_glv_n_digits(way); n-- > 0;) {
        for (uint32_t b = 0; b < gpu_glv_step(way) && !empty; b++)
            gpu_g1_jac_dbl(acc);
        for (int part = 0; part < 2; part++)
            if (d[part][n] != 0)
                gpu_g1_add_digit(acc, &empty, &t, d[part][n], part, way);
    }
    gpu_lz_mul(&acc->z, &acc->z, &t.z);
}

static void test_products_by_all_kinds_of_scalars(void **state)
{
    (void)state;
    uint64_t s = seed;
    fr m;
    fr_int m_int = {{0x0000000100000000u, 0xac45a4010001a402u, 0, 0}}; /* -phi */
    fr_from_int(&m, &m_int);
    for (int i = 0; i < 400; i++) {
        gpu_glv_way way = i & 1 ? GPU_GLV_SPARSE : GPU_GLV_DENSE;
        g1_aff a, want;
        gpu_g1 p, got;
        gpu_g1_jac acc;
        fr k, off;
        random_point(&a, &s);
        fr_from_u64(&off, (uint64_t)(i / 4) % 20);
        if (i < 80) /* 0 to 19 and their negatives */
            k = off;
        else if (i < 160)
            fr_add(&k, &m, &off);
        else
            random_fr(&k, &s);
        if (i & 2)
            fr_neg(&k, &k);
        times(&want, &a, &k);
        to_gpu(&p, &a, i & 4);
        product(&acc, &p, &k, way);
        gpu_g1_affine_any(&got, &acc);
        assert_point(&got, &want, "product", i);
    }
}

static void test_infinity_gives_infinity(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (int i = 0; i < 20; i++) {
        gpu_g1 p, got;
        gpu_g1_jac acc;
        fr k;
        memset(&p, 0, sizeof p);
        random_fr(&k, &s);
        product(&acc, &p, &k, i & 1 ? GPU_GLV_SPARSE : GPU_GLV_DENSE);
        assert_true(gpu_lz_is_zero(&acc.z));
        gpu_g1_affine_any(&got, &acc);
        assert_true(gpu_g1_is_inf(&got));
    }
}

static void add_aff(g1_aff *o, const g1_aff *a, const g1_aff *b)
{
    g1_jac j;
    g1_jac_from_aff(&j, a);
    g1_jac_add_aff(&j, &j, b);
    g1_jac_to_aff(o, &j);
}

static void test_butterflies(void **state)
{
    (void)state;
    uint64_t s = seed;
    for (int i = 0; i < 400; i++) {
        g1_aff a, b, minus, sum, diff;
        gpu_g1 x, y;
        gpu_g1_jac j;
        random_point(&a, &s);
        random_point(&b, &s);
        switch (i % 8) {
        case 0:
            a = (g1_aff){0};
            break;
        case 1:
            b = (g1_aff){0};
            break;
        case 2:
            a = b = (g1_aff){0};
            break;
        case 3:
            b = a;
            break;
        case 4:
            g1_aff_neg(&b, &a);
            break;
        default:
            break;
        }
        g1_aff_neg(&minus, &b);
        add_aff(&sum, &a, &b);
        add_aff(&diff, &a, &minus);
        to_gpu(&x, &a, i & 8);
        to_jac(&j, &b, &s);
        gpu_fp inv;
        if (i % 8 < 2 && i % 3 > 0) {
            gpu_lz_inv(&inv, &j.z);
            gpu_g1_butterfly_infinite(&x, &y, i % 8 == 0 ? &j : NULL, &inv);
        } else if (i % 8 > 4) {
            gpu_fp o, d, z2;
            gpu_g1_denominator(&o, &d, &z2, &x.x, &j);
            assert_false(gpu_lz_is_zero(&o));
            gpu_lz_inv(&o, &o);
            gpu_g1_butterfly(&x, &y, &j, &d, &z2, &o);
        } else {
            gpu_g1_butterfly_any(&x, &y, &j);
        }
        assert_point(&x, &sum, "x + y", i);
        assert_point(&y, &diff, "x - y", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubling_and_addition),
        cmocka_unit_test(test_tables_have_the_multiples),
        cmocka_unit_test(test_products_by_all_kinds_of_scalars),
        cmocka_unit_test(test_infinity_gives_infinity),
        cmocka_unit_test(test_butterflies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
