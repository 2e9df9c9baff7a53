/* Fr: everything but the per-instruction-set kernels. Constants are re-derived in
 * tests/unit/ff/test_fr.c. */
#include "ff/fr.h"
#include "base/random.h"
#include "ff/ff_kernels.h"
#include "ff/fr_inline.h"
#include "ff/inv_inline.h"

const fr FR_ZERO = {{0, 0, 0, 0}};
const fr FR_ONE = {
    {0x00000001fffffffeu, 0x5884b7fa00034802u, 0x998c4fefecbc4ff5u, 0x1824b159acc5056fu}};
const fr FR_GENERATOR = {
    {0x0000000efffffff1u, 0x17e363d300189c0fu, 0xff9c57876f8457b0u, 0x351332208fc5a8c4u}};
const fr FR_GENERATOR_INV = {
    {0xdb6db6dadb6db6dcu, 0xe6b5824adb6cc6dau, 0xf8b356e005810db9u, 0x66d0f1e660ec4796u}};
const fr_int FR_MODULUS = {{FRP_R0, FRP_R1, FRP_R2, FRP_R3}};

/* R^2 mod r, R = 2^256. */
static const fr fr_r2 = {
    {0xc999e990f3f29c6du, 0x2b6cedcb87925c23u, 0x05d314967254398fu, 0x0748d9d99f59ff11u}};
/* 7^((r-1)/2^32), of order 2^32. */
static const fr fr_root_2_32 = {
    {0xb9b58d8c5f0e466au, 0x5b1b4c801819d7ecu, 0x0af53ae352a31e64u, 0x5bf3adda19e9b27bu}};

void fr_add(fr *o, const fr *a, const fr *b) { fri_add(o, a, b); }

void fr_sub(fr *o, const fr *a, const fr *b) { fri_sub(o, a, b); }

void fr_dbl(fr *o, const fr *a) { fri_add(o, a, a); }

void fr_neg(fr *o, const fr *a) { frp_neg(o, a); }

void fr_mul(fr *o, const fr *a, const fr *b) { ff_active->fr_mul(o, a, b); }

void fr_sqr(fr *o, const fr *a) { ff_active->fr_sqr(o, a); }

void fr_add_ct(fr *o, const fr *a, const fr *b) { fri_add(o, a, b); }

void fr_mul_ct(fr *o, const fr *a, const fr *b) { frp_mul(o, a, b); }

bool fr_is_zero(const fr *a) { return fri_is_zero(a); }

bool fr_is_one(const fr *a) { return fri_eq(a, &FR_ONE); }

bool fr_eq(const fr *a, const fr *b) { return fri_eq(a, b); }

void fr_pow(fr *o, const fr *a, const uint64_t *e, size_t n_limbs)
{
    fr table[16]; /* a^0 .. a^15 */
    table[0] = FR_ONE;
    for (int i = 1; i < 16; i++)
        fr_mul(&table[i], &table[i - 1], a);
    fr acc = FR_ONE;
    bool started = false;
    for (size_t i = n_limbs * 16; i-- > 0;) {
        unsigned digit = (unsigned)(e[i / 16] >> (4 * (i % 16))) & 15;
        if (started)
            for (int k = 0; k < 4; k++)
                fr_sqr(&acc, &acc);
        if (digit) {
            fr_mul(&acc, &acc, &table[digit]);
            started = true;
        }
    }
    *o = acc;
}

void fr_pow_u64(fr *o, const fr *a, uint64_t e)
{
    fr base = *a, acc = FR_ONE;
    for (; e; e >>= 1) {
        if (e & 1)
            fr_mul(&acc, &acc, &base);
        fr_sqr(&base, &base);
    }
    *o = acc;
}

void fr_inv(fr *o, const fr *a)
{
    /* R^2 / (x R) = x^-1 R: the result is in Montgomery form again. */
    inv_mod(o->l, a->l, fr_r2.l, FR_MODULUS.l, FRP_NINV, 4);
}

void fr_from_u64(fr *o, uint64_t v)
{
    fr t = {{v, 0, 0, 0}};
    fr_mul(o, &t, &fr_r2);
}

void fr_to_int(fr_int *o, const fr *a) { ff_active->fr_vec_to_int(o, a, 1); }

void fr_from_int(fr *o, const fr_int *a)
{
    /* The scanned operand need not be reduced: with the other below r, every partial sum stays
     * below (2r + 2 (2^64 - 1) r) / 2^64 <= 2r. */
    fr t = {{a->l[0], a->l[1], a->l[2], a->l[3]}};
    fr_mul(o, &fr_r2, &t);
}

static void load_le(uint64_t l[4], const uint8_t b[32])
{
    for (int i = 0; i < 4; i++) {
        l[i] = 0;
        for (int k = 7; k >= 0; k--)
            l[i] = l[i] << 8 | b[8 * i + k];
    }
}

bool fr_le_is_canonical(const uint8_t b[32])
{
    uint64_t l[4], borrow = 0;
    load_le(l, b);
    for (int i = 0; i < 4; i++)
        (void)limb_sbb(l[i], FR_MODULUS.l[i], &borrow);
    return borrow != 0;
}

bool fr_from_le(fr *o, const uint8_t b[32])
{
    if (!fr_le_is_canonical(b)) {
        *o = FR_ZERO;
        return false;
    }
    fr_from_le_reduce(o, b);
    return true;
}

void fr_from_le_reduce(fr *o, const uint8_t b[32])
{
    fr_int t;
    load_le(t.l, b);
    fr_from_int(o, &t);
}

void fr_to_le(uint8_t b[32], const fr *a)
{
    fr_int t;
    fr_to_int(&t, a);
    for (int i = 0; i < 32; i++)
        b[i] = (uint8_t)(t.l[i / 8] >> (8 * (i % 8)));
}

void fr_to_be(uint8_t b[32], const fr *a)
{
    fr_int t;
    fr_to_int(&t, a);
    for (int i = 0; i < 32; i++)
        b[31 - i] = (uint8_t)(t.l[i / 8] >> (8 * (i % 8)));
}

void fr_batch_inv(fr *a, size_t n, fr *scratch)
{
    /* scratch[i] = product of the nonzero elements before i. */
    fr acc = FR_ONE;
    for (size_t i = 0; i < n; i++) {
        scratch[i] = acc;
        if (!fri_is_zero(&a[i]))
            fr_mul(&acc, &acc, &a[i]);
    }
    fr_inv(&acc, &acc);
    for (size_t i = n; i-- > 0;) {
        if (fri_is_zero(&a[i]))
            continue;
        fr inv;
        fr_mul(&inv, &acc, &scratch[i]);
        fr_mul(&acc, &acc, &a[i]);
        a[i] = inv;
    }
}

void fr_root_of_unity(fr *o, uint32_t lg_n)
{
    CUZK_ASSERT(lg_n <= FR_TWO_ADICITY);
    fr t = fr_root_2_32;
    for (uint32_t i = lg_n; i < FR_TWO_ADICITY; i++)
        fr_sqr(&t, &t);
    *o = t;
}

cuzk_status fr_random(fr *o)
{
    *o = FR_ZERO;
    fr_int t;
    uint64_t borrow;
    /* 255 random bits are below r with probability 0.91; what is rejected is not used, so may be
     * seen. */
    do {
        CUZK_TRY(random_bytes(t.l, sizeof t.l));
        t.l[3] &= 0x7fffffffffffffffu;
        borrow = 0;
        for (int i = 0; i < 4; i++)
            (void)limb_sbb(t.l[i], FR_MODULUS.l[i], &borrow);
    } while (!borrow);
    fr raw = {{t.l[0], t.l[1], t.l[2], t.l[3]}};
    frp_mul(o, &raw, &fr_r2);
    volatile uint64_t *wipe = t.l, *wipe_raw = raw.l;
    for (int i = 0; i < 4; i++)
        wipe[i] = wipe_raw[i] = 0;
    return cuzk_ok();
}

void fr_vec_mul(fr *o, const fr *a, const fr *b, size_t n) { ff_active->fr_vec_mul(o, a, b, n); }

void fr_vec_to_int(fr_int *o, const fr *a, size_t n) { ff_active->fr_vec_to_int(o, a, n); }
