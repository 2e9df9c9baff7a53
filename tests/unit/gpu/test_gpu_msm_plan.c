/* The MSM's windows, buckets, rows, columns and bits with integers modulo 2^64 in the points'
 * place: what the device sums by them, joined, is the sum of scalars times bases. Few scalars, with
 * plans made for any number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/mem.h"
#include "ff/fr.h"
#include "gpu/gpu_msm_int.h"

#define N 60u
static const uint64_t seed = 0x3c4d5e6f70u;

static uint64_t next_u64(uint64_t *s) /* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void u64_dbl(void *o, const void *a)
{
    uint64_t v;
    memcpy(&v, a, 8);
    v *= 2;
    memcpy(o, &v, 8);
}
static void u64_add(void *o, const void *a, const void *b)
{
    uint64_t v, w;
    memcpy(&v, a, 8);
    memcpy(&w, b, 8);
    v += w;
    memcpy(o, &v, 8);
}
static const gpu_msm_ops u64_ops = {8, 8, u64_dbl, u64_add, NULL};

/* Scalar i below 2^254 in 32-bit words: small ones, large ones, and random ones. */
static void sample(uint32_t *t, uint64_t *s, size_t i)
{
    memset(t, 0, 32);
    if (i < 4) {
        t[0] = (uint32_t)i;
    } else if (i < 8) { /* (r - 1) / 2 less 0 to 3 */
        for (int j = 0; j < 8; j++) {
            uint64_t both =
                FR_MODULUS.l[j / 2] >> 1 | (j / 2 < 3 ? FR_MODULUS.l[j / 2 + 1] << 63 : 0);
            t[j] = (uint32_t)(both >> (j % 2 * 32));
        }
        t[0] -= (uint32_t)i - 4;
    } else {
        for (int j = 0; j < 8; j++)
            t[j] = (uint32_t)next_u64(s);
        t[7] %= 0x39f6d3a9; /* below (r - 1) / 2 */
    }
}

/* What k_recode adds: half a digit in every window. */
static void add_halves(uint32_t *t, const gpu_msm_plan *p)
{
    uint32_t halves[8] = {0};
    for (uint32_t w = 1; w <= p->n_windows; w++) {
        uint32_t bit = gpu_msm_window_start(w, p->n_windows) - 1;
        halves[bit / 32] |= 1u << (bit % 32);
    }
    uint64_t c = 0;
    for (int j = 0; j < 8; j++) {
        c += (uint64_t)t[j] + halves[j];
        t[j] = (uint32_t)c;
        c >>= 32;
    }
    assert_int_equal(t[7] >> 31, 0); /* room for the sign */
}

static void put_scalar(uint64_t *pool, const gpu_msm_plan *p, uint32_t partition, const uint32_t *t,
                       uint64_t base)
{
    for (uint32_t w = 0; w < p->n_windows; w++) {
        uint32_t bit = gpu_msm_window_start(w, p->n_windows), k = bit / 32;
        uint32_t width = gpu_msm_window_start(w + 1, p->n_windows) - bit;
        int32_t digit = gpu_msm_digit(t[k], k + 1 < 8 ? t[k + 1] : 0, bit, width);
        uint32_t abs = (uint32_t)(digit < 0 ? -digit : digit), u = partition * p->n_windows + w;
        if (abs == 0)
            continue;
        uint32_t q = gpu_msm_unit_bucket(p, u) + abs - 1;
        assert_true(q < gpu_msm_unit_bucket(p, u + 1));
        pool[q] += digit < 0 ? 0 - base : base;
    }
}

/* Buckets to lines to bits. */
static void sum_weights(uint64_t *pool, const gpu_msm_plan *p)
{
    uint8_t *is_taken = mem_zalloc((size_t)2 * p->n_all, 64);
    assert_non_null(is_taken);
    for (uint32_t i = 0; i < p->n_lines; i++) {
        gpu_msm_buckets x = gpu_msm_buckets_of(p, i);
        for (uint32_t k = 0; k < x.n; k++) {
            assert_true(x.q + k * x.step < p->n_all && x.at + k < 2 * p->n_all);
            assert_false(is_taken[x.at + k]);
            is_taken[x.at + k] = 1;
            pool[p->first_lines + i] += pool[x.q + k * x.step];
        }
    }
    assert_null(memchr(is_taken, 0, (size_t)2 * p->n_all));
    mem_free(is_taken);
    for (uint32_t i = 0; i < p->n_lines; i++) {
        gpu_msm_line l = gpu_msm_line_of(p, i);
        assert_int_equal(l.weight >> p->n_bits, 0);
        assert_true(l.first_bit + p->n_bits <= p->n_final);
        for (uint32_t j = 0; j < p->n_bits; j++)
            pool[p->first_final + l.first_bit + j] +=
                l.weight >> j & 1 ? pool[p->first_lines + i] : 0;
    }
}

static void check_plan(size_t n, unsigned n_batch, uint32_t per_group)
{
    gpu_msm_plan p;
    uint64_t s = seed, want[GPU_MSM_BATCH_MAX] = {0};
    gpu_msm_plan_init(&p, n, n_batch, per_group);
    assert_true(p.n_windows * 2 * p.n_bits <= GPU_MSM_FINAL_MAX);
    assert_true(p.first_bucket[p.n_windows] * n_batch == p.n_all);
    assert_true(p.n_list >= (size_t)p.n_all * 2 && p.n_list >= n * p.per_group);
    uint64_t *pool = mem_alloc(p.n_dense * sizeof *pool, 64);
    assert_non_null(pool);
    memset(pool, 0, p.n_dense * sizeof *pool);
    for (unsigned k = 0; k < n_batch; k++) {
        for (size_t i = 0; i < N; i++) {
            uint32_t t[8];
            uint64_t base = next_u64(&s);
            sample(t, &s, i);
            want[k] += ((uint64_t)t[1] << 32 | t[0]) * base;
            add_halves(t, &p);
            put_scalar(pool, &p, k, t, base);
        }
    }
    sum_weights(pool, &p);
    for (unsigned k = 0; k < n_batch; k++) {
        uint64_t got;
        gpu_msm_join(&got, &u64_ops, pool + p.first_final + (size_t)k * p.n_final / n_batch, &p);
        if (got != want[k])
            fail_msg("n = %zu, partition %u of %u: seed %llx", n, k, n_batch,
                     (unsigned long long)seed);
    }
    mem_free(pool);
}

static void test_plans_weigh_every_digit(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        unsigned n_batch;
        uint32_t per_group;
    } cases[] = {{1, 1, 32},     {256, 3, 7},     {257, 10, 99},    {65536, 2, 5},
                 {300000, 1, 1}, {524289, 2, 30}, {4194305, 1, 13}, {16777217, 1, 2}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_plan(cases[i].n, cases[i].n_batch, cases[i].per_group);
}

/* Uniform scalars: elements in the fullest part of window w. */
static double fullest_part(const gpu_msm_plan *p, size_t n, uint32_t w)
{
    /* the top window's digits stay below (r / 2) / 2^start; the bits below make no difference */
    uint32_t start = gpu_msm_window_start(w, p->n_windows);
    double n_used = p->first_bucket[w + 1] - p->first_bucket[w], top = 0x39f6d3a9;
    for (uint32_t i = 224; i < start; i++)
        top /= 2;
    if (w + 1 == p->n_windows && top < n_used)
        n_used = top;
    return (double)n / n_used * (double)(1u << p->lg_part);
}

static void test_parts_fit_a_block(void **state)
{
    (void)state;
    for (unsigned lg = 20; lg <= 27; lg++)
        for (int d = -1; d <= 1; d++) {
            gpu_msm_plan p;
            size_t n = ((size_t)1 << lg) + (size_t)d;
            gpu_msm_plan_init(&p, n, 1, 3);
            assert_int_equal(p.order_bytes > 0, n >= GPU_MSM_ORDER_N_MIN);
            assert_true(p.lg_part <= GPU_MSM_LG_PART_MAX);
            assert_true(p.n_buckets >> p.lg_part <= GPU_MSM_PARTS_MAX);
            assert_true(p.order_bytes == 0 ||
                        p.order_bytes / 4 >= 2 * (size_t)(p.n_all >> p.lg_part) + 2 * p.n_units);
            for (uint32_t w = 0; w < p.n_windows; w++) {
                assert_int_equal(p.first_bucket[w + 1] % (1u << p.lg_part), 0);
                /* with six deviations */
                if (fullest_part(&p, n, w) + 6 * 197 > GPU_MSM_PART_MAX)
                    fail_msg("n = %zu, window %u: %f elements", n, w, fullest_part(&p, n, w));
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plans_weigh_every_digit),
                                       cmocka_unit_test(test_parts_fit_a_block)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
