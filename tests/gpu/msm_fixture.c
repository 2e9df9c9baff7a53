/* Bases with known logarithms, random scalars and expected sums, on the host. */
#include "msm_fixture.h"
#include <stdio.h>
#include <stdlib.h>

static uint64_t rng_state;

void fixture_need(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "cannot go on: %s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
        exit(2);
    }
}
void fixture_seed(uint64_t seed) { rng_state = seed; }

uint64_t fixture_rng(void) /* splitmix64 */
{
    uint64_t z = (rng_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void fixture_scalar(fr_int *k)
{
    for (int i = 0; i < 4; i++)
        k->l[i] = fixture_rng();
    k->l[3] %= FR_MODULUS.l[3]; /* below r */
}

/* *want = (sum of k_i (i + 1)) G. */
void fixture_expect(g1_jac *want, const fr_int *k, size_t n)
{
    uint64_t acc[6] = {0};
    for (size_t i = 0; i < n; i++) {
        unsigned __int128 c = 0;
        for (int j = 0; j < 6; j++) {
            c += acc[j];
            if (j < 4)
                c += (unsigned __int128)k[i].l[j] * (i + 1);
            acc[j] = (uint64_t)c;
            c >>= 64;
        }
    }
    fr hi, lo, two_256;
    fr_int a = {{acc[0], acc[1], acc[2], acc[3]}}, h = {{acc[4], acc[5], 0, 0}}, m = {{0, 0, 0, 1}};
    fr_from_int(&lo, &a);
    fr_from_int(&hi, &h);
    fr_from_int(&two_256, &m); /* 2^192 */
    for (int i = 0; i < 64; i++)
        fr_dbl(&two_256, &two_256);
    fr_mul(&hi, &hi, &two_256);
    fr_add(&lo, &lo, &hi);
    fr_to_int(&a, &lo);
    g1_jac g;
    g1_jac_from_aff(&g, &G1_GENERATOR);
    g1_mul(want, &g, &a);
}

void fixture_multiples(void *d_bases, unsigned lg_n)
{
    g1_jac step;
    g1_aff aff;
    g1_jac_from_aff(&step, &G1_GENERATOR);
    FIXTURE_NEED(cudaMemcpy(d_bases, &G1_GENERATOR, sizeof G1_GENERATOR, cudaMemcpyHostToDevice));
    for (unsigned i = 0; i < lg_n; i++) {
        g1_jac_to_aff(&aff, &step);
        fixture_extend(d_bases, (size_t)1 << i, &aff);
        g1_jac_dbl(&step, &step);
    }
    FIXTURE_NEED(cudaDeviceSynchronize());
}
