/* Private: transforms without reordering, and tables of powers in either order. */
#ifndef POLY_NTT_RUN_H
#define POLY_NTT_RUN_H
#include "poly/ntt_int.h"

/* Natural order in, bit-reversed out; the inverse leaves out 1/n. */
CUZK_MUST_CHECK cuzk_status ntt_down(const ntt_plan *p, fr *a, uint32_t lg_n, bool inverse,
                                     const run_ctx *rc);
/* Bit-reversed order in, natural out; forward root. */
CUZK_MUST_CHECK cuzk_status ntt_up(const ntt_plan *p, fr *a, uint32_t lg_n, const run_ctx *rc);
void ntt_bit_reverse(fr *a, uint32_t lg_n, const run_ctx *rc);

/* Powers g^e(i) for i < 2^lg_n, e(i) = i or its bit reversal, as hi[i >> lg_lo] * lo[i & mask]. */
typedef struct power_table {
    uint32_t lg_n, lg_lo;
    fr *lo, *hi;
} power_table;
CUZK_MUST_CHECK cuzk_status power_table_init(power_table *t, uint32_t lg_n, const fr *g,
                                             bool reversed);
void power_table_fini(power_table *t);
/* a[i] *= c * g^e(i). */
void power_table_scale(const power_table *t, fr *a, const fr *c, const run_ctx *rc);
/* d[i] = d[i] * c * g^e(i) - cc[i] * k. */
void power_table_combine(const power_table *t, fr *d, const fr *cc, const fr *c, const fr *k,
                         const run_ctx *rc);
#endif
