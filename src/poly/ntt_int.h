/* Private: plan layout and the table of hot kernels. */
#ifndef POLY_NTT_INT_H
#define POLY_NTT_INT_H
#include "poly/ntt.h"

/* A fixed operand w < r in plain form with v = floor(w 2^256 / r). With q = floor(v x / 2^256) the
 * product is w x - q r, which is below 2r for x < 2r: no Montgomery reduction, and the data may be
 * in either form (Harvey, "Faster arithmetic for number-theoretic transforms", J. Symb.
 * Comp. 60, 2014, section 2). */
typedef struct ntt_twiddle {
    fr_int w, v;
} ntt_twiddle;
static_assert(sizeof(ntt_twiddle) == 64, "one twiddle is one cache line");

/* tw[k] = w^(bit reversal of k in lg_n - 1 bits), w = fr_root_of_unity(lg_n): one twiddle per node,
 * and the first entries serve every smaller size. Its inverse needs no table: with 2^j <= k <
 * 2^(j+1), tw[k]^-1 = -tw[k ^ (2^j - 1)]. */
struct ntt_plan {
    uint32_t lg_n;
    ntt_twiddle *tw;
};

/* The transform tree: node k of level l owns the 2^(lg - l) elements from k * 2^(lg - l) on and
 * splits X^len - t^2 = (X^(len/2) - t)(X^(len/2) + t) with t = tw[k] (von zur Gathen and Gerhard,
 * ch. 8).
 * down: natural order in, bit-reversed out (multiply, then add and subtract).
 * up:   bit-reversed order in, natural out (add and subtract, then multiply), always with the
 * forward root.
 * Values inside are lazy: any number in [0, 2r) for its class. */
typedef struct ntt_kernels {
    /* The n_levels top levels below node k of 2^lg_len elements. The twiddle of a node does not
     * depend on the place inside it, so a tile of some columns of a node is transformed like a
     * shorter node. Lazy in and out. */
    void (*down)(const ntt_twiddle *tw, fr *a, uint32_t lg_len, size_t k, uint32_t n_levels,
                 bool inverse);
    void (*up)(const ntt_twiddle *tw, fr *a, uint32_t lg_len, size_t k, uint32_t n_levels);
    /* a[i] *= c * tab[i]; tab NULL stands for ones. Lazy in and out. */
    void (*scale)(fr *a, size_t n, const ntt_twiddle *c, const ntt_twiddle *tab);
    /* a[i] -= c * b[i]. Lazy in and out. */
    void (*submul)(fr *a, const fr *b, size_t n, const ntt_twiddle *c);
    /* Lazy in, reduced out. */
    void (*reduce)(fr *a, size_t n);
    /* o[i] = a[i] * b[i] of Montgomery forms. Lazy in, reduced out. */
    void (*mul)(fr *o, const fr *a, const fr *b, size_t n);
    /* o[i] += a[i] * b[i], the same; o reduced. */
    void (*muladd)(fr *o, const fr *a, const fr *b, size_t n);
    /* a[i] *= c + tab[i], the same; c and tab reduced. */
    void (*ramp)(fr *a, size_t n, const fr *c, const fr *tab);
} ntt_kernels;
extern const ntt_kernels NTT_KERNELS_PORTABLE;
#if defined(__x86_64__)
extern const ntt_kernels NTT_KERNELS_ADX;
#endif
const ntt_kernels *ntt_kernels_get(void);
void ntt_twiddle_set(ntt_twiddle *t, const fr *w);
#endif
