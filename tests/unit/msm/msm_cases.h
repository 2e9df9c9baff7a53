/* The cases of multi-scalar multiplication on one group. A template, included by test_msm_g1.c and
 * test_msm_g2.c with
 * GT(t) a point type or function of the group, e.g. g1_##t     MT(f) a function of msm.h, e.g.
 * msm_g1##f
 *   FIXED_CREATE(t, base, n, rc)  FIXED_MUL  FIXED_ONCE  GENERATOR */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/mem.h"
#include "ff/fr.h"
#include "msm/msm.h"

#define SEED 0x9e3779b97f4a7c15u
#define N_MAX 18000u /* several chunks and pieces */

typedef GT(aff) aff;
typedef GT(jac) jac;

static uint64_t rng_state = SEED;

static uint64_t rng(void)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return rng_state * 0x2545f4914f6cdd1du;
}

static fr_int rng_scalar(void)
{
    fr_int k = {{rng(), rng(), rng(), rng()}};
    fr f;
    fr_from_int(&f, &k);
    fr_to_int(&k, &f);
    return k;
}

static aff bases[N_MAX];
static fr_int scalars[N_MAX];
static run_ctx no_ctx;

/* Bases with unrelated, known discrete logarithms: log_of[i] = 5^(i+1), so sums can be checked in
 * Fr. */
static fr log_of[N_MAX];

static int make_bases(void **state)
{
    (void)state;
    printf("seed %#llx\n", (unsigned long long)SEED);
    fr five, cur = FR_ONE;
    fr_from_u64(&five, 5);
    jac p, t, step;
    GT(jac_from_aff)(&p, &GENERATOR);
    for (size_t i = 0; i < N_MAX; i++) {
        GT(jac_dbl)(&t, &p);
        GT(jac_dbl)(&step, &t);
        GT(jac_add)(&p, &step, &p);
        fr_mul(&cur, &cur, &five);
        log_of[i] = cur;
        GT(jac_to_aff)(&bases[i], &p);
    }
    return 0;
}

static void naive(jac *out, const aff *b, const fr_int *k, size_t n)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < n; i++) {
        jac p, t = {0};
        GT(jac_from_aff)(&p, &b[i]);
        for (unsigned bit = 256; bit-- > 0;) {
            GT(jac_dbl)(&t, &t);
            if (k[i].l[bit / 64] >> (bit % 64) & 1)
                GT(jac_add)(&t, &t, &p);
        }
        GT(jac_add)(out, out, &t);
    }
}

static void by_logs(jac *out, const fr *logs, const fr_int *k, size_t n)
{
    fr sum = FR_ZERO, t;
    fr_int e;
    for (size_t i = 0; i < n; i++) {
        fr_from_int(&t, &k[i]);
        fr_mul(&t, &t, &logs[i]);
        fr_add(&sum, &sum, &t);
    }
    fr_to_int(&e, &sum);
    naive(out, &GENERATOR, &e, 1);
}

static void check(const char *what, size_t n, const jac *got, const jac *want)
{
    if (!GT(jac_eq)(got, want))
        fail_msg("%s: n = %zu differs", what, n);
}

static void check_ok(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s", st.msg);
}

static void random_scalars(size_t n)
{
    for (size_t i = 0; i < n; i++)
        scalars[i] = rng_scalar();
}

static void run_and_check_naive(const char *what, const aff *b, size_t n)
{
    jac got, want;
    check_ok(MT()(&got, b, scalars, n, &no_ctx));
    naive(&want, b, scalars, n);
    check(what, n, &got, &want);
}

static void test_small_sizes_match_naive(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 40; n += n < 12 ? 1 : 4) {
        random_scalars(n);
        run_and_check_naive("random", bases, n);
    }
    for (size_t n = 0; n <= 70; n++) {
        jac got, want;
        random_scalars(n);
        check_ok(MT()(&got, bases, scalars, n, &no_ctx));
        by_logs(&want, log_of, scalars, n);
        check("random", n, &got, &want);
    }
    random_scalars(150);
    run_and_check_naive("random", bases, 150);
}

static void test_sizes_around_borders(void **state)
{
    (void)state;
    static const size_t sizes[] = {511,  513,  1023, 1024, 1025, 2047,  2048,
                                   2049, 4095, 4096, 4097, 8193, 16385, N_MAX};
    random_scalars(N_MAX);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        jac got, want;
        check_ok(MT()(&got, bases, scalars, sizes[i], &no_ctx));
        by_logs(&want, log_of, scalars, sizes[i]);
        check("border", sizes[i], &got, &want);
    }
}

/* ---- scalars and points chosen to hurt ---- */

typedef enum pattern {
    ALL_ZERO,
    ALL_ONE,
    ALL_TWO,
    ALL_R_MINUS_1,
    ALL_MAX_255,
    ALL_SAME,
    POWERS_OF_TWO,
    SINGLE,
    MOSTLY_BITS,
    SMALL_U16,
    HALF_WINDOW,
    N_PATTERNS
} pattern;

static fr_int pattern_scalar(pattern p, size_t i, size_t n)
{
    fr_int k = {{0, 0, 0, 0}};
    switch (p) {
    case ALL_ZERO:
        break;
    case ALL_ONE:
        k.l[0] = 1;
        break;
    case ALL_TWO:
        k.l[0] = 2;
        break;
    case ALL_R_MINUS_1:
        k = FR_MODULUS, k.l[0]--;
        break;
    case ALL_MAX_255:
        k = (fr_int){{~0ull, ~0ull, ~0ull, ~0ull >> 1}};
        break;
    case ALL_SAME:
        k = (fr_int){
            {0x0123456789abcdef, 0xfedcba9876543210, 0x55aa55aa00ff00ff, 0x1234567812345678}};
        break;
    case POWERS_OF_TWO:
        k.l[i % 255 / 64] = 1ull << (i % 255 % 64);
        break;
    case SINGLE:
        if (i == n / 2)
            k = (fr_int){{3, 0, 7, 9}};
        break;
    case MOSTLY_BITS:
        k = i % 50 == 7 ? rng_scalar() : (fr_int){{rng() & 1, 0, 0, 0}};
        break;
    case SMALL_U16:
        k.l[0] = rng() & 0xffff;
        break;
    /* Every signed digit at its most negative for any even width. */
    case HALF_WINDOW:
        k = (fr_int){
            {0xaaaaaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaaa, 0x8080808080808080, 0x7fffffff80000000}};
        break;
    case N_PATTERNS:
        break;
    }
    return k;
}

static void test_hostile_scalars(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 5, 37, 700, 5001};
    for (int p = 0; p < N_PATTERNS; p++) {
        for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
            jac got, want;
            char what[32];
            for (size_t i = 0; i < sizes[s]; i++)
                scalars[i] = pattern_scalar((pattern)p, i, sizes[s]);
            check_ok(MT()(&got, bases, scalars, sizes[s], &no_ctx));
            by_logs(&want, log_of, scalars, sizes[s]);
            snprintf(what, sizeof what, "pattern %d", p);
            check(what, sizes[s], &got, &want);
        }
    }
}

typedef enum base_pattern {
    EQUAL,
    OPPOSITE,
    WITH_INF,
    ALL_INF,
    FEW_DISTINCT,
    N_BASE_PATTERNS
} base_pattern;

/* One of the bad sets of bases, with the discrete logarithms. */
static void make_hostile_base(base_pattern p, size_t i, aff *b, fr *log)
{
    size_t from = p == EQUAL ? 3 : p == OPPOSITE ? i & ~(size_t)1 : p == FEW_DISTINCT ? i % 4 : i;
    bool is_neg = (p == OPPOSITE && i % 2) || (p == FEW_DISTINCT && i % 8 > 3);
    *b = bases[from];
    *log = log_of[from];
    if (is_neg) {
        GT(aff_neg)(b, b);
        fr_neg(log, log);
    }
    if (p == ALL_INF || (p == WITH_INF && i % 3 == 0)) {
        memset(b, 0, sizeof *b);
        *log = FR_ZERO;
    }
}

static void test_hostile_bases(void **state)
{
    (void)state;
    enum { N = 600 };
    static aff b[N];
    static fr logs[N];
    for (int p = 0; p < N_BASE_PATTERNS; p++) {
        for (size_t i = 0; i < N; i++)
            make_hostile_base((base_pattern)p, i, &b[i], &logs[i]);
        for (int k = 0; k <= N_PATTERNS; k++) {
            char what[48];
            jac got, want;
            for (size_t i = 0; i < N; i++)
                scalars[i] = k < N_PATTERNS ? pattern_scalar((pattern)k, i, N) : rng_scalar();
            check_ok(MT()(&got, b, scalars, N, &no_ctx));
            by_logs(&want, logs, scalars, N);
            snprintf(what, sizeof what, "bases %d, pattern %d", p, k);
            check(what, N, &got, &want);
        }
    }
}

static void test_scalar_of_256_bits_is_refused(void **state)
{
    (void)state;
    jac got;
    random_scalars(100);
    scalars[99].l[3] |= 1ull << 63;
    assert_int_equal(MT()(&got, bases, scalars, 100, &no_ctx).code, CUZK_E_RANGE);
    assert_true(GT(jac_is_inf)(&got));
}

/* ---- sums ---- */

static void test_sums_match_naive(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 63, 64, 65, 100, 2048, 2049, 4096, 4097, 13001, N_MAX};
    static uint64_t mask[N_MAX / 64 + 1];
    for (int density = 0; density < 4; density++) {
        for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
            size_t n = sizes[s];
            jac got, want;
            for (size_t w = 0; w < ARRAY_LEN(mask); w++)
                mask[w] = density == 0   ? 0
                          : density == 1 ? ~0ull
                          : density == 2 ? rng()
                                         : rng() & rng() & rng() & rng() & rng();
            for (size_t i = 0; i < n; i++)
                scalars[i] = (fr_int){{mask[i / 64] >> (i % 64) & 1, 0, 0, 0}};
            check_ok(MT(_sum)(&got, bases, mask, n, &no_ctx));
            by_logs(&want, log_of, scalars, n);
            check("sum", n, &got, &want);
        }
    }
}

static void test_sum_of_equal_and_opposite_points(void **state)
{
    (void)state;
    static aff b[5000];
    static uint64_t mask[5000 / 64 + 1];
    memset(mask, 0xff, sizeof mask);
    for (size_t i = 0; i < ARRAY_LEN(b); i++) {
        b[i] = bases[0];
        scalars[i] = (fr_int){{1, 0, 0, 0}};
    }
    jac got, want;
    fr_int k = {{5000, 0, 0, 0}};
    check_ok(MT(_sum)(&got, b, mask, ARRAY_LEN(b), &no_ctx));
    naive(&want, b, &k, 1);
    check("equal", ARRAY_LEN(b), &got, &want);
    for (size_t i = 1; i < ARRAY_LEN(b); i += 2)
        GT(aff_neg)(&b[i], &b[i]);
    check_ok(MT(_sum)(&got, b, mask, ARRAY_LEN(b), &no_ctx));
    assert_true(GT(jac_is_inf)(&got));
}

/* ---- fixed base ---- */

static const fr_int fixed_edges[] = {
    {{0, 0, 0, 0}},
    {{1, 0, 0, 0}},
    {{2, 0, 0, 0}},
    {{3, 0, 0, 0}},
    {{0x8000, 0, 0, 0}},
    {{0xffff, 0, 0, 0}},
    {{0x10000, 0, 0, 0}},
    {{0xffffffff00000000, 0x53bda402fffe5bfe, 0x3339d80809a1d805, 0x73eda753299d7d48}}, /* r - 1 */
    {{0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805, 0x73eda753299d7d48}}, /* r */
    {{~0ull, ~0ull, ~0ull, ~0ull >> 1}},
    {{0, 0, 0, 1ull << 62}},
};

static void test_fixed_base_matches_mul(void **state)
{
    (void)state;
    enum { N = 600 };
    static aff out[N];
    for (size_t i = 0; i < N; i++)
        scalars[i] = i < ARRAY_LEN(fixed_edges) ? fixed_edges[i] : rng_scalar();
    static const size_t expected[] = {1, 100, 2000, 300000};
    for (size_t e = 0; e < ARRAY_LEN(expected); e++) {
        msm_fixed *t;
        check_ok(FIXED_CREATE(&t, &bases[7], expected[e], &no_ctx));
        check_ok(FIXED_MUL(t, out, scalars, N, &no_ctx));
        msm_fixed_destroy(t);
        for (size_t i = 0; i < N; i++) {
            if (e > 0 && i > 40)
                break;
            jac want, got;
            naive(&want, &bases[7], &scalars[i], 1);
            GT(jac_from_aff)(&got, &out[i]);
            check("fixed", i, &got, &want);
        }
    }
    memset(out, 0x55, sizeof out);
    check_ok(FIXED_ONCE(out, &(aff){0}, scalars, 40, &no_ctx));
    for (size_t i = 0; i < 40; i++)
        assert_true(GT(aff_is_inf)(&out[i]));
    check_ok(FIXED_ONCE(out, &bases[0], scalars, 0, &no_ctx));
}

/* ---- threads, instruction sets, cancel, memory ---- */

static void test_threads_and_isa_agree(void **state)
{
    (void)state;
    enum { N = 5000, N_FIXED = 700 };
    static const unsigned threads[] = {1, 2, 5};
    static const char *const isas[] = {"portable", "adx"};
    static aff fixed[N_FIXED], fixed_first[N_FIXED];
    static uint64_t mask[N / 64 + 1];
    aff first[2], now[2];
    bool have_first = false;
    for (size_t i = 0; i < N; i++)
        scalars[i] = pattern_scalar(i % 2 ? MOSTLY_BITS : ALL_SAME, i, N);
    random_scalars(N / 2);
    for (size_t w = 0; w < ARRAY_LEN(mask); w++)
        mask[w] = rng();
    for (size_t a = 0; a < ARRAY_LEN(isas); a++) {
        if (!ff_force_isa(isas[a]))
            continue;
        for (size_t k = 0; k < ARRAY_LEN(threads); k++) {
            run_ctx rc = {0};
            jac p;
            check_ok(pool_create(&rc.pool, threads[k]));
            check_ok(MT()(&p, bases, scalars, N, &rc));
            GT(jac_to_aff)(&now[0], &p);
            check_ok(MT(_sum)(&p, bases, mask, N, &rc));
            GT(jac_to_aff)(&now[1], &p);
            check_ok(FIXED_ONCE(fixed, &bases[9], scalars, N_FIXED, &rc));
            pool_destroy(rc.pool);
            if (!have_first) {
                memcpy(first, now, sizeof first);
                memcpy(fixed_first, fixed, sizeof fixed);
                have_first = true;
            }
            assert_memory_equal(first, now, sizeof first);
            assert_memory_equal(fixed_first, fixed, sizeof fixed);
        }
    }
    assert_true(ff_force_isa(NULL));
}

static bool cancel_after(void *ctx)
{
    int *left = ctx;
    return (*left)-- <= 0;
}

static void test_cancel_at_every_poll(void **state)
{
    (void)state;
    enum { N = 1200 };
    jac got;
    int n_cancelled = 0;
    random_scalars(N);
    uint64_t live = mem_get_stats().live_bytes;
    for (int polls = 0;; polls++) {
        int left = polls;
        run_ctx rc = {.cancelled = cancel_after, .cancel_ctx = &left};
        cuzk_status st = MT()(&got, bases, scalars, N, &rc);
        assert_true(mem_get_stats().live_bytes == live);
        if (st.code == CUZK_OK)
            break;
        assert_int_equal(st.code, CUZK_E_CANCELLED);
        assert_true(GT(jac_is_inf)(&got));
        n_cancelled++;
    }
    assert_true(n_cancelled >= 5);
}

static cuzk_status run_everything(const uint64_t *mask, size_t n)
{
    static aff out[64];
    jac got;
    CUZK_TRY(MT()(&got, bases, scalars, n, &no_ctx));
    CUZK_TRY(MT(_sum)(&got, bases, mask, n, &no_ctx));
    return FIXED_ONCE(out, &bases[1], scalars, 64, &no_ctx);
}

static void test_every_failing_allocation(void **state)
{
    (void)state;
    enum { N = 1000 };
    static uint64_t mask[N / 64 + 1];
    memset(mask, 0x5a, sizeof mask);
    for (size_t i = 0; i < N; i++)
        scalars[i] = pattern_scalar(MOSTLY_BITS, i, N);
    uint64_t live = mem_get_stats().live_bytes;
    int n_failed = 0;
    for (uint64_t nth = 1;; nth++) {
        mem_fail_nth(nth);
        cuzk_status st = run_everything(mask, N);
        mem_fail_nth(0);
        assert_true(mem_get_stats().live_bytes == live);
        if (st.code == CUZK_OK)
            break;
        assert_int_equal(st.code, CUZK_E_NOMEM);
        n_failed++;
    }
    assert_true(n_failed > 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_sizes_match_naive),
        cmocka_unit_test(test_sizes_around_borders),
        cmocka_unit_test(test_hostile_scalars),
        cmocka_unit_test(test_hostile_bases),
        cmocka_unit_test(test_scalar_of_256_bits_is_refused),
        cmocka_unit_test(test_sums_match_naive),
        cmocka_unit_test(test_sum_of_equal_and_opposite_points),
        cmocka_unit_test(test_fixed_base_matches_mul),
        cmocka_unit_test(test_threads_and_isa_agree),
        cmocka_unit_test(test_cancel_at_every_poll),
        cmocka_unit_test(test_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, make_bases, NULL);
}
