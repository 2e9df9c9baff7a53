/* Splitting a scalar: with M = x^2, r = M^2 - M + 1 and phi = -M, so k = q M + s gives
 * k P = s P - q phi(P). With |k| < r/2 and |s| <= M/2, both parts have at most 127 bits. */
#include "ec/g1_endo.h"
#include "ec/ec_consts.h"

typedef unsigned __int128 u128;

static const u128 M = (u128)EC_X_ABS * EC_X_ABS;

void g1_aff_phi(g1_aff *o, const g1_aff *a)
{
    static const fp beta = EC_PHI_BETA;
    fp_mul(&o->x, &a->x, &beta);
    o->y = a->y;
}

/* a - b; true if it is negative. */
static bool sub_256(uint64_t o[4], const uint64_t a[4], const uint64_t b[4])
{
    uint64_t borrow = 0;
    for (int i = 0; i < 4; i++) {
        u128 d = (u128)a[i] - b[i] - borrow;
        o[i] = (uint64_t)d;
        borrow = (uint64_t)(d >> 64) & 1;
    }
    return borrow;
}

/* k = q M + s, 0 <= s < M, bit by bit: a split costs a hundredth of the product it is for. */
static u128 divide(u128 *s, const uint64_t k[4])
{
    u128 q = 0, rem = 0;
    for (int bit = 255; bit >= 0; bit--) {
        bool carry = (bool)(rem >> 127);
        rem = rem << 1 | (k[bit / 64] >> (bit % 64) & 1);
        q <<= 1;
        if (carry || rem >= M) {
            rem -= M;
            q |= 1;
        }
    }
    *s = rem;
    return q;
}

void g1_split_scalar(g1_split *o, const fr_int *k)
{
    uint64_t mirrored[4], unused[4];
    sub_256(mirrored, FR_MODULUS.l, k->l);
    bool neg = sub_256(unused, mirrored, k->l), neg_s = false; /* k > r - k */
    u128 s, q = divide(&s, neg ? mirrored : k->l);
    if (s > M / 2) {
        s = M - s;
        q++;
        neg_s = true;
    }
    *o = (g1_split){.k = {{(uint64_t)s, (uint64_t)(s >> 64)}, {(uint64_t)q, (uint64_t)(q >> 64)}},
                    .neg = {neg_s != neg, !neg}};
}
