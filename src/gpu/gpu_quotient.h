/* The quotient h = (a b - c) / z of satisfied rows on the device: six transforms, c being a o b on
 * the domain (the CPU twin is poly/quotient.c). */
#ifndef GPU_QUOTIENT_H
#define GPU_QUOTIENT_H
#include "gpu/gpu_ntt.h"
#include "gpu/gpu_run.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Tables beside gpu_ntt_table: coset factors. */
typedef struct gpu_quotient_table {
    void *d_table;
    uint32_t lg_m;
} gpu_quotient_table;
size_t gpu_quotient_table_bytes(uint32_t lg_m);
CUZK_MUST_CHECK cuzk_status gpu_quotient_table_build(gpu_quotient_table *t, void *d_table,
                                                     uint32_t lg_m, const gpu_run *run);

/* In: a, b evaluations on the domain, 2^lg_m fr each (Montgomery, natural order); both are used up,
 * and d_c, as long, is scratch. Out: d_a holds the coefficients of h as canonical integers
 * (fr_int) in natural order, the last one 0. Calls run->slice between transforms. */
CUZK_MUST_CHECK cuzk_status gpu_quotient(const gpu_ntt_table *ntt, const gpu_quotient_table *t,
                                         void *d_a, void *d_b, void *d_c, uint32_t lg_m,
                                         const gpu_run *run);
#ifdef __cplusplus
}
#endif
#endif
