/* Carry chains over 32-bit words: PTX on the device, plain C beside it. A mad.lo.cc / madc.hi.cc
 * pair on neighbouring words becomes one IMAD.WIDE.X, so every row below keeps its products on
 * 64-bit aligned pairs. The word counts n are literals at every call and the loops unroll. */
#ifndef GPU_CHAIN_CUH
#define GPU_CHAIN_CUH
#include "gpu/gpu_common.h"

#if GPU_DEVICE_CODE
/* The carry flag lives from one statement to the next: they are volatile, hence stay in order, and
 * nothing the compiler puts between them sets it. */
#define GPU_OP3(name, op)                                                   \
    static __device__ __forceinline__ uint32_t name(uint32_t a, uint32_t b) \
    {                                                                       \
        uint32_t o;                                                         \
        asm volatile(op ".u32 %0, %1, %2;" : "=r"(o) : "r"(a), "r"(b));     \
        return o;                                                           \
    }
#define GPU_OP4(name, op)                                                               \
    static __device__ __forceinline__ uint32_t name(uint32_t a, uint32_t b, uint32_t c) \
    {                                                                                   \
        uint32_t o;                                                                     \
        asm volatile(op ".u32 %0, %1, %2, %3;" : "=r"(o) : "r"(a), "r"(b), "r"(c));     \
        return o;                                                                       \
    }
GPU_OP3(gpu_add_cc, "add.cc")
GPU_OP3(gpu_addc_cc, "addc.cc")
GPU_OP3(gpu_addc, "addc")
GPU_OP3(gpu_sub_cc, "sub.cc")
GPU_OP3(gpu_subc_cc, "subc.cc")
GPU_OP3(gpu_subc, "subc")
GPU_OP4(gpu_mad_lo_cc, "mad.lo.cc")
GPU_OP4(gpu_madc_lo_cc, "madc.lo.cc")
GPU_OP4(gpu_madc_hi_cc, "madc.hi.cc")
#endif

/* o[0..n) = sum of a[2k] b 2^(64 k), n even. */
CUZK_HD void gpu_row_mul(uint32_t *o, const uint32_t *a, uint32_t b, int n)
{
    GPU_UNROLL
    for (int i = 0; i < n; i += 2) {
        uint64_t p = (uint64_t)a[i] * b;
        o[i] = (uint32_t)p;
        o[i + 1] = (uint32_t)(p >> 32);
    }
}

/* acc[0..n) += sum of a[2k] b 2^(64 k); the carry out is added to *top, if there is a top. */
CUZK_HD void gpu_row_mad(uint32_t *acc, const uint32_t *a, uint32_t b, int n, uint32_t *top)
{
#if GPU_DEVICE_CODE
    acc[0] = gpu_mad_lo_cc(a[0], b, acc[0]);
    acc[1] = gpu_madc_hi_cc(a[0], b, acc[1]);
    GPU_UNROLL
    for (int i = 2; i < n; i += 2) {
        acc[i] = gpu_madc_lo_cc(a[i], b, acc[i]);
        acc[i + 1] = gpu_madc_hi_cc(a[i], b, acc[i + 1]);
    }
    if (top)
        *top = gpu_addc(*top, 0);
#else
    uint32_t carry = 0;
    for (int i = 0; i < n; i += 2) {
        uint64_t p = (uint64_t)a[i] * b, lo = (uint64_t)acc[i] + (uint32_t)p + carry;
        uint64_t hi = (uint64_t)acc[i + 1] + (p >> 32) + (lo >> 32);
        acc[i] = (uint32_t)lo;
        acc[i + 1] = (uint32_t)hi;
        carry = (uint32_t)(hi >> 32);
    }
    if (top)
        *top += carry;
#endif
}

/* acc[0..n) += sum of a[2k] b 2^(64 k) mod 2^(32 n); with n odd only the low half of the last
 * product is made. */
CUZK_HD void gpu_row_mad_low(uint32_t *acc, const uint32_t *a, uint32_t b, int n)
{
#if GPU_DEVICE_CODE
    if (n == 1) {
        acc[0] += a[0] * b;
        return;
    }
    acc[0] = gpu_mad_lo_cc(a[0], b, acc[0]);
    acc[1] = gpu_madc_hi_cc(a[0], b, acc[1]);
    GPU_UNROLL
    for (int i = 2; i < n; i += 2) {
        acc[i] = gpu_madc_lo_cc(a[i], b, acc[i]);
        if (i + 1 < n)
            acc[i + 1] = gpu_madc_hi_cc(a[i], b, acc[i + 1]);
    }
#else
    uint32_t carry = 0;
    for (int i = 0; i < n; i += 2) {
        uint64_t p = (uint64_t)a[i] * b, lo = (uint64_t)acc[i] + (uint32_t)p + carry;
        acc[i] = (uint32_t)lo;
        if (i + 1 < n) {
            uint64_t hi = (uint64_t)acc[i + 1] + (p >> 32) + (lo >> 32);
            acc[i + 1] = (uint32_t)hi;
            carry = (uint32_t)(hi >> 32);
        }
    }
#endif
}

/* One row further down: *even0 += odd[1], and with that carry
 * odd[i] <- odd[i + 2] + (sum of a[2k] b 2^(64 k))[i], words past the end being 0. No carry out. */
CUZK_HD void gpu_row_mad_shift(uint32_t *odd, uint32_t *even0, const uint32_t *a, uint32_t b, int n)
{
#if GPU_DEVICE_CODE
    *even0 = gpu_add_cc(*even0, odd[1]);
    GPU_UNROLL
    for (int i = 0; i < n; i += 2) {
        odd[i] = gpu_madc_lo_cc(a[i], b, i + 2 < n ? odd[i + 2] : 0);
        odd[i + 1] = gpu_madc_hi_cc(a[i], b, i + 2 < n ? odd[i + 3] : 0);
    }
#else
    uint64_t s = (uint64_t)*even0 + odd[1];
    uint32_t carry = (uint32_t)(s >> 32);
    *even0 = (uint32_t)s;
    for (int i = 0; i < n; i += 2) {
        uint64_t p = (uint64_t)a[i] * b;
        uint64_t lo = (uint64_t)(i + 2 < n ? odd[i + 2] : 0) + (uint32_t)p + carry;
        uint64_t hi = (uint64_t)(i + 2 < n ? odd[i + 3] : 0) + (p >> 32) + (lo >> 32);
        odd[i] = (uint32_t)lo;
        odd[i + 1] = (uint32_t)hi;
        carry = (uint32_t)(hi >> 32);
    }
#endif
}

/* o = a + b; returns the carry (0 or 1). */
CUZK_HD uint32_t gpu_words_add(uint32_t *o, const uint32_t *a, const uint32_t *b, int n)
{
#if GPU_DEVICE_CODE
    o[0] = gpu_add_cc(a[0], b[0]);
    GPU_UNROLL
    for (int i = 1; i < n; i++)
        o[i] = gpu_addc_cc(a[i], b[i]);
    return gpu_addc(0, 0);
#else
    uint64_t c = 0;
    for (int i = 0; i < n; i++) {
        c += (uint64_t)a[i] + b[i];
        o[i] = (uint32_t)c;
        c >>= 32;
    }
    return (uint32_t)c;
#endif
}

/* o = a - b; returns all ones when it borrows, else 0. */
CUZK_HD uint32_t gpu_words_sub(uint32_t *o, const uint32_t *a, const uint32_t *b, int n)
{
#if GPU_DEVICE_CODE
    o[0] = gpu_sub_cc(a[0], b[0]);
    GPU_UNROLL
    for (int i = 1; i < n; i++)
        o[i] = gpu_subc_cc(a[i], b[i]);
    return gpu_subc(0, 0);
#else
    uint32_t borrow = 0;
    for (int i = 0; i < n; i++) {
        uint64_t d = (uint64_t)a[i] - b[i] - borrow;
        o[i] = (uint32_t)d;
        borrow = (uint32_t)(d >> 32) & 1;
    }
    return 0 - borrow;
#endif
}

/* o = t - m when t >= m, else t. */
CUZK_HD void gpu_words_reduce_once(uint32_t *o, const uint32_t *t, const uint32_t *m, int n)
{
    uint32_t d[12];
    uint32_t below = gpu_words_sub(d, t, m, n);
    GPU_UNROLL
    for (int i = 0; i < n; i++)
        o[i] = below ? t[i] : d[i];
}

/* o += m when mask is all ones, nothing when it is 0; the carry is dropped. */
CUZK_HD void gpu_words_add_masked(uint32_t *o, const uint32_t *m, uint32_t mask, int n)
{
    uint32_t t[12];
    GPU_UNROLL
    for (int i = 0; i < n; i++)
        t[i] = m[i] & mask;
    (void)gpu_words_add(o, o, t, n);
}

/* o = (a b + k m) / 2^(32 n) for the k that makes it whole, not reduced: one word of b a row, with
 * the reduction in between (CIOS; Koc, Acar, Kaliski, IEEE Micro 16, 1996). Two accumulators hold
 * the products that start on even and on odd words; their trading places is the shift by a word.
 * 2 n^2 wide products and n low ones. ninv = -1/m mod 2^32. o may alias a and b.
 * Bounds: a < m, b any n words; the result is below 2m (for b < m below m + 1 + m^2 / 2^(32 n)).
 * With k spare bits in m, a and b may each be up to 2^(k/2) m. */
CUZK_HD void gpu_mont_mul(uint32_t *o, const uint32_t *a, const uint32_t *b, const uint32_t *m,
                          uint32_t ninv, int n)
{
    uint32_t even[12], odd[12];
    GPU_UNROLL
    for (int i = 0; i < n; i += 2) {
        if (i == 0) {
            gpu_row_mul(even, a, b[0], n);
            gpu_row_mul(odd, a + 1, b[0], n);
        } else {
            gpu_row_mad_shift(odd, &even[0], a + 1, b[i], n);
            gpu_row_mad(even, a, b[i], n, &odd[n - 1]);
        }
        uint32_t k = even[0] * ninv;
        gpu_row_mad(odd, m + 1, k, n, (uint32_t *)0);
        gpu_row_mad(even, m, k, n, &odd[n - 1]);

        gpu_row_mad_shift(even, &odd[0], a + 1, b[i + 1], n);
        gpu_row_mad(odd, a, b[i + 1], n, &even[n - 1]);
        k = odd[0] * ninv;
        gpu_row_mad(even, m + 1, k, n, (uint32_t *)0);
        gpu_row_mad(odd, m, k, n, &even[n - 1]);
    }
    /* odd[0] is 0; the value is even + (odd >> 32). */
    uint32_t hi[12];
    GPU_UNROLL
    for (int i = 0; i < n; i++)
        hi[i] = i + 1 < n ? odd[i + 1] : 0;
    (void)gpu_words_add(o, even, hi, n);
}
#endif
