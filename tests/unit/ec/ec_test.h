/* Shared by the ec tests: hex, random numbers, and running every case on every instruction set. */
#ifndef TESTS_EC_TEST_H
#define TESTS_EC_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/status.h"
#include "ff/fr.h"

#define EC_TEST_SEED 0x5eed0ec2u

static uint64_t rng_state = EC_TEST_SEED;

/* splitmix64 */
static inline uint64_t rng(void)
{
    uint64_t z = (rng_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline void unhex(uint8_t *b, size_t n, const char *hex)
{
    assert_int_equal(strlen(hex), 2 * n);
    for (size_t i = 0; i < n; i++) {
        unsigned v;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &v), 1);
        b[i] = (uint8_t)v;
    }
}

static inline fr_int scalar_of(const char *hex_be)
{
    uint8_t b[32];
    fr_int k = {{0}};
    unhex(b, 32, hex_be);
    for (int i = 0; i < 32; i++)
        k.l[3 - i / 8] = k.l[3 - i / 8] << 8 | b[i];
    return k;
}

static inline void assert_ok(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s: %s", cuzk_code_name(st.code), st.msg);
}

/* The group once per instruction set this machine has; the number of failures. */
static inline int run_on_every_isa(const struct CMUnitTest *tests, size_t n)
{
    static const char *const isas[] = {"portable", "adx"};
    int failed = 0;
    print_message("seed %#x\n", EC_TEST_SEED);
    for (size_t i = 0; i < ARRAY_LEN(isas); i++) {
        rng_state = EC_TEST_SEED;
        if (ff_force_isa(isas[i]))
            failed += _cmocka_run_group_tests(isas[i], tests, n, NULL, NULL);
    }
    ff_force_isa(NULL);
    return failed;
}
#endif
