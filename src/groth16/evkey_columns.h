/* B and C by columns: what evaluation-form keys fold into section l, on the CPU and on a device. */
#ifndef GROTH16_EVKEY_COLUMNS_H
#define GROTH16_EVKEY_COLUMNS_H
#include "base/run_ctx.h"
#include "r1cs/shape.h"
#include <stdatomic.h>

/* Sides, by their index in r1cs_row. */
typedef enum g16_ev_side { G16_EV_B = 1, G16_EV_C = 2 } g16_ev_side;

typedef struct g16_ev_term {
    uint32_t at; /* the row's place in the transformed section: its lg_m bits reversed */
    uint32_t coeff;
} g16_ev_term;

/* Kinds of coefficients; nearly all are 1 and -1. */
enum { G16_EV_ONE, G16_EV_MINUS_ONE, G16_EV_OTHER };

/* Immutable once made. Variables: inputs, then aux. */
typedef struct g16_ev_columns {
    const r1cs_counts *c;
    g16_ev_side side;
    uint64_t n_vars, n_terms, n_others; /* n_others: terms of kind G16_EV_OTHER */
    _Atomic uint64_t
        *ends; /* of each variable's terms: those of v start where those of v - 1 end */
    g16_ev_term *terms;
    uint8_t *kinds; /* of coefficients, by index */
} g16_ev_columns;

/* s outlives the object. Memory: gives 8 bytes per term of the side and per variable. Errors: CUZK_E_NOMEM,
 * CUZK_E_CANCELLED; *o is then empty. */
CUZK_MUST_CHECK cuzk_status g16_ev_columns_init(g16_ev_columns *o, const r1cs_shape *s,
                                                g16_ev_side side, const run_ctx *rc);
void g16_ev_columns_fini(g16_ev_columns *o);
/* Terms of v: [g16_ev_columns_start(o, v), g16_ev_columns_start(o, v + 1)). */
static inline uint64_t g16_ev_columns_start(const g16_ev_columns *o, uint64_t v)
{
    /* relaxed: the making's pool_for returned before */
    return v ? atomic_load_explicit(&o->ends[v - 1], memory_order_relaxed) : 0;
}
#endif
