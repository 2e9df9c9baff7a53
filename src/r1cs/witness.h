/* An assignment: bits plus a few dense field elements. Nothing of size n_aux x 32 bytes exists. */
#ifndef R1CS_WITNESS_H
#define R1CS_WITNESS_H
#include "r1cs/shape.h"

/* inputs[0] = ONE. bits: n_aux bits (0 at dense positions); dense: values of the dense variables in
 * ascending aux order.
 * Borrowed from the shape (which must outlive the witness): dense_map, dense_rank. Owner:
 * witness_fini. Wiped before reuse. */
typedef struct witness {
    uint64_t n_inputs, n_aux, n_dense;
    fr *inputs;
    uint64_t *bits;
    fr *dense;
    const uint64_t *dense_map;
    const uint32_t *dense_rank;
} witness;

/* ONE set, other inputs and bits zero, dense values not set. Errors: CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status witness_init(witness *w, const r1cs_shape *s);
void witness_fini(witness *w); /* wipes it first */
/* As witness_init made it; what it held is wiped. The shape must be the same. */
void witness_reset(witness *w);
/* witness_fini of one that holds nothing since witness_reset. */
void witness_free(witness *w);
static inline bool witness_is_dense(const witness *w, uint64_t j)
{
    return w->dense_map[j >> 6] >> (j & 63) & 1;
}
static inline uint64_t witness_dense_idx(const witness *w, uint64_t j)
{
    return w->dense_rank[j >> 6] +
           (uint64_t)__builtin_popcountll(w->dense_map[j >> 6] & ((1ull << (j & 63)) - 1));
}
static inline void witness_aux(fr *o, const witness *w, uint64_t j)
{
    if (witness_is_dense(w, j))
        *o = w->dense[witness_dense_idx(w, j)];
    else
        *o = (w->bits[j >> 6] >> (j & 63) & 1) ? FR_ONE : FR_ZERO;
}
static inline void witness_var(fr *o, const witness *w, r1cs_var v)
{
    if (v & R1CS_INPUT)
        *o = w->inputs[v & ~R1CS_INPUT];
    else
        witness_aux(o, w, v);
}
#endif
