/* Four-lane Fp arithmetic against the one-element functions, on random values and around multiples
 * of p. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "ff/fp.h"

#if defined(__x86_64__)
#include "ff/fp_x4.h"

#define SEED 88172645463325252u
#define ROUNDS 2000

static uint64_t rng_state = SEED;

static uint64_t rng(void)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return rng_state * 0x2545f4914f6cdd1du;
}

/* 0, 1, p - 1, a single limb's edge, or random. */
static void pick(fp *o)
{
    static const fp minus_one_canon = {{FPP_P0 - 1, FPP_P1, FPP_P2, FPP_P3, FPP_P4, FPP_P5}};
    uint64_t kind = rng() % 8;
    memset(o, 0, sizeof *o);
    if (kind == 1)
        o->l[0] = 1;
    else if (kind == 2)
        *o = minus_one_canon;
    else if (kind == 3)
        o->l[rng() % 5] = UINT64_MAX;
    else if (kind > 3) {
        for (int i = 0; i < 6; i++)
            o->l[i] = rng();
        o->l[5] %= FPP_P5;
    }
}

static void check(const char *what, int round, const fp got[4], const fp want[4])
{
    for (int k = 0; k < 4; k++)
        if (memcmp(&got[k], &want[k], sizeof(fp)) != 0)
            fail_msg("%s: round %d, lane %d differs (seed %#llx)", what, round, k,
                     (unsigned long long)SEED);
}

typedef struct four {
    fp x[4], y[4];
} four;

static void pick_four(four *f)
{
    for (int k = 0; k < 4; k++) {
        pick(&f->x[k]);
        pick(&f->y[k]);
        if (rng() % 4 == 0)
            f->y[k] = f->x[k];
    }
}

static __attribute__((target("avx2"))) void lanes_of(fp_x4 *a, fp_x4 *b, const four *f)
{
    const fp *const px[4] = {&f->x[0], &f->x[1], &f->x[2], &f->x[3]}, *const py[4] = {
                                                                          &f->y[0], &f->y[1],
                                                                          &f->y[2], &f->y[3]};
    fpv_load(a, px);
    fpv_load(b, py);
}

static __attribute__((target("avx2"))) void products(fp got[4], const four *f)
{
    static const uint64_t none[FPV_LIMBS];
    fp_x4 a, b, p, zero;
    __m256i t[FPV_LIMBS];
    lanes_of(&a, &b, f);
    fpv_all_limbs(&p, fpv_p);
    fpv_all_limbs(&zero, none);
    fpv_mul(&a, &a, &b, &p);
    fpv_sub_raw(t, &a, &zero, fpv_1p);
    fpv_reduce(t);
    fpv_store(got, t);
}

static __attribute__((target("avx2"))) void differences(fp got[4], const four *f,
                                                        const uint64_t k[FPV_LIMBS])
{
    fp_x4 a, b;
    __m256i t[FPV_LIMBS];
    lanes_of(&a, &b, f);
    fpv_sub_raw(t, &a, &b, k);
    fpv_reduce(t);
    fpv_store(got, t);
}

/* 8 (x - y) y - x, by way of the unreduced operands which kernels use. */
static __attribute__((target("avx2"))) void chains(fp got[4], const four *f)
{
    fp_x4 a, b, d, p;
    __m256i t[FPV_LIMBS];
    lanes_of(&a, &b, f);
    fpv_all_limbs(&p, fpv_p);
    fpv_sub_raw(t, &a, &b, fpv_2p);
    fpv_carry_once(&d, t, 3);
    fpv_mul(&d, &d, &b, &p);
    fpv_sub_raw(t, &d, &a, fpv_1p);
    fpv_reduce(t);
    fpv_store(got, t);
}

static void test_lanes_match_one_at_a_time(void **state)
{
    (void)state;
    if (!__builtin_cpu_supports("avx2"))
        skip();
    fp scale;
    fp_from_u64(&scale, 64);
    for (int r = 0; r < ROUNDS; r++) {
        four f;
        fp got[4], want[4], d;
        pick_four(&f);
        products(got, &f);
        for (int k = 0; k < 4; k++) {
            fp_mul(&got[k], &got[k], &scale); /* a lane product has 2^-6 more */
            fp_mul(&want[k], &f.x[k], &f.y[k]);
        }
        check("product", r, got, want);
        for (int k = 0; k < 4; k++)
            fp_sub(&want[k], &f.x[k], &f.y[k]);
        differences(got, &f, fpv_1p);
        check("difference + p", r, got, want);
        differences(got, &f, fpv_2p);
        check("difference + 2 p", r, got, want);
        chains(got, &f);
        for (int k = 0; k < 4; k++) {
            d = want[k];
            for (int i = 0; i < 3; i++)
                fp_add(&d, &d, &d);
            fp_mul(&want[k], &d, &f.y[k]);
            fp_add(&got[k], &got[k], &f.x[k]);
            fp_mul(&got[k], &got[k], &scale);
        }
        check("chain", r, got, want);
    }
}
#else
static void test_lanes_match_one_at_a_time(void **state)
{
    (void)state;
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lanes_match_one_at_a_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
