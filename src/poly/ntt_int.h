/* Private: plan layout and the table of hot kernels. */
#ifndef POLY_NTT_INT_H
#define POLY_NTT_INT_H
#include "poly/ntt.h"

/* tw[k] = w^(bit reversal of k in lg_n - 1 bits), w = fr_root_of_unity(lg_n): one twiddle per
 * block, and the first entries serve every smaller size. Its inverse needs no table: with 2^j <= k
 * < 2^(j+1), tw[k]^-1 = -tw[k ^ (2^j - 1)]. */
struct ntt_plan {
    uint32_t lg_n;
    fr *tw;
};

/* Subtrees of at most this many elements (128 KiB) run level by level inside the L2 cache. */
#define NTT_LG_CACHED 12u

/* The transform tree: node k of level l owns the 2^(lg - l) elements from k * 2^(lg - l) on and
 * splits
 * X^len - t^2 = (X^(len/2) - t)(X^(len/2) + t) with t = tw[k] (von zur Gathen and Gerhard, ch. 8).
 * down: natural order in, bit-reversed out (multiply, then add and subtract).
 * up:   bit-reversed order in, natural out (add and subtract, then multiply), always with the
 * forward root. */
typedef struct ntt_kernels {
    /* Two levels at node k over j in [lo, hi) of its quarters of len/4 elements. */
    void (*down_pass)(const fr *tw, fr *a, size_t len, size_t k, bool inverse, size_t lo,
                      size_t hi);
    void (*up_pass)(const fr *tw, fr *a, size_t len, size_t k, size_t lo, size_t hi);
    /* The whole subtree of node k. */
    void (*down_tree)(const fr *tw, fr *a, size_t len, size_t k, bool inverse);
    void (*up_tree)(const fr *tw, fr *a, size_t len, size_t k);
    /* a[i] *= c * lo_tab[i & mask], i in [0, n). */
    void (*scale)(fr *a, size_t n, const fr *c, const fr *lo_tab, size_t mask);
    /* o[i] = a[i] * b[i]. */
    void (*mul)(fr *o, const fr *a, const fr *b, size_t n);
    /* d[i] = d[i] * c * lo_tab[i & mask] - cc[i] * k, i in [0, n). */
    void (*combine)(fr *d, const fr *cc, size_t n, const fr *c, const fr *lo_tab, size_t mask,
                    const fr *k);
} ntt_kernels;
extern const ntt_kernels NTT_KERNELS_PORTABLE;
#if defined(__x86_64__)
extern const ntt_kernels NTT_KERNELS_ADX;
#endif
const ntt_kernels *ntt_kernels_get(void);
#endif
