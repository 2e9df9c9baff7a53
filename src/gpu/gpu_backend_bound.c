/* What a circuit takes on a device at the least, by the counts of its key alone. */
#include "gpu/gpu_backend_plan.h"

/* The transform table has 32 bytes per point of the domain (gpu_ntt.h), of twice the domain for keys
 * without an evaluation form. */
#define NTT_BYTES_PER_ROW 32u
/* The sum of h in G1, one window at a time: per point a scalar of 32 bytes; the point itself (96),
 * key and reference twice (16), half a pair of references and half a place for exceptions (6). */
#define H_SUM_BYTES_PER_POINT (32u + 96u + 16u + 6u)

static uint64_t section_bytes(const g16_key_info *k)
{
    uint64_t sum = 0;
    for (int s = 0; s < G16_N_SECTIONS; s++)
        sum += k->n[s] * (uint64_t)(s == G16_B_G2 ? sizeof(g2_aff) : sizeof(g1_aff));
    return sum;
}

/* Left out as the key does not tell: the circuit's image, field values, the sums' tails. */
static uint64_t least_bytes(const g16_key_info *k)
{
    uint64_t m = (uint64_t)k->n[G16_H] + 1;
    uint64_t density = words_of(k->n[G16_L]) * 12; /* bits and ranks, of A and of B */
    uint64_t masks = (words_of(k->n[G16_L]) + words_of(k->n[G16_A]) + words_of(k->n[G16_B_G1])) * 8;
    uint64_t work = masks + k->n_ic * sizeof(fr) + m * sizeof(fr) +
                    (uint64_t)k->n[G16_H] * H_SUM_BYTES_PER_POINT;
    return section_bytes(k) + 2 * density + m * NTT_BYTES_PER_ROW + work;
}

void gpu_plan_bound(uint64_t *need, uint64_t *available, const g16_key_info *k,
                    const gpu_device_info *d, uint64_t limit_bytes)
{
    *need = least_bytes(k);
    *available = d->total_bytes > GPU_RESERVE_BYTES ? d->total_bytes - GPU_RESERVE_BYTES : 0;
    if (limit_bytes && limit_bytes < *available)
        *available = limit_bytes;
}
