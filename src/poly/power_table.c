/* Two-level tables of powers and of multiples. */
#include "base/mem.h"
#include "poly/ntt_run.h"

/* The low table stays in L1, and is no longer than the shortest block of a large transform. */
#define LG_LO_MAX 10u

cuzk_status power_table_init(power_table *t, uint32_t lg_n, const fr *g, bool reversed)
{
    if (lg_n > NTT_LG_N_MAX) {
        *t = (power_table){0};
        return cuzk_fail(CUZK_E_RANGE, "lg_n: expected 0 to %u, found %u", NTT_LG_N_MAX, lg_n);
    }
    *t = (power_table){.lg_n = lg_n, .lg_lo = lg_n / 2 < LG_LO_MAX ? lg_n / 2 : LG_LO_MAX};
    uint32_t lg_hi = lg_n - t->lg_lo;
    t->lo = mem_alloc(sizeof(fr) << t->lg_lo, 64);
    t->hi = mem_alloc(sizeof(fr) << lg_hi, 64);
    if (reversed)
        t->lo_fixed = mem_alloc(sizeof(ntt_twiddle) << t->lg_lo, 64);
    if (!t->lo || !t->hi || (reversed && !t->lo_fixed)) {
        power_table_fini(t);
        return cuzk_fail(CUZK_E_NOMEM, "tables of powers for 2^%u", lg_n);
    }
    /* Bit b of i adds weight 2^b, or 2^(lg_n - 1 - b) when reversed: each table doubles once per
     * bit. */
    t->lo[0] = t->hi[0] = FR_ONE;
    for (uint32_t b = 0; b < lg_n; b++) {
        fr *tab = b < t->lg_lo ? t->lo : t->hi;
        size_t half = (size_t)1 << (b < t->lg_lo ? b : b - t->lg_lo);
        fr step = *g;
        for (uint32_t i = 0; i < (reversed ? lg_n - 1 - b : b); i++)
            fr_sqr(&step, &step);
        for (size_t i = 0; i < half; i++)
            fr_mul(&tab[half + i], &tab[i], &step);
    }
    for (size_t i = 0; reversed && i < (size_t)1 << t->lg_lo; i++)
        ntt_twiddle_set(&t->lo_fixed[i], &t->lo[i]);
    return cuzk_ok();
}

void power_table_fini(power_table *t)
{
    mem_free(t->lo);
    mem_free(t->hi);
    mem_free(t->lo_fixed);
    *t = (power_table){0};
}

cuzk_status ramp_table_init(ramp_table *t, uint32_t lg_n, const fr *step)
{
    *t = (ramp_table){.lg_n = lg_n, .lg_lo = lg_n < LG_LO_MAX ? lg_n : LG_LO_MAX, .step = *step};
    t->lo = mem_alloc(sizeof(fr) << t->lg_lo, 64);
    if (!t->lo)
        return cuzk_fail(CUZK_E_NOMEM, "table of multiples for 2^%u", lg_n);
    t->lo[0] = FR_ZERO;
    for (uint32_t b = 0; b < t->lg_lo; b++) {
        fr weight;
        fr_from_u64(&weight, (uint64_t)1 << (lg_n - 1 - b));
        fr_mul(&weight, &weight, step);
        for (size_t i = 0; i < (size_t)1 << b; i++)
            fr_add(&t->lo[((size_t)1 << b) + i], &t->lo[i], &weight);
    }
    return cuzk_ok();
}

void ramp_table_fini(ramp_table *t)
{
    mem_free(t->lo);
    *t = (ramp_table){0};
}
