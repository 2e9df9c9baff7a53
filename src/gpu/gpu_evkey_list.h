/* What the device sums to fold B and C into section l, piece by piece: lists of (variable, reference
 * to a point) for gpu_tree_sum. The bases are D and G of groth16/evkey.h, and behind them the sum so
 * far of a variable cut in two, points of section l, and products by coefficients other than 1 and
 * -1. */
#ifndef GPU_EVKEY_LIST_H
#define GPU_EVKEY_LIST_H
#include "gpu/gpu_g1_transform.h"
#include "gpu/gpu_tree.h"
#include "groth16/evkey_columns.h"

/* Of a piece; at least 1, 2, 1. */
typedef struct gpu_ev_limits {
    uint64_t n_vars, n_list, n_products;
} gpu_ev_limits;

/* Numbers of the first bases of each kind behind the m of D, and of all. */
typedef struct gpu_ev_bases {
    uint64_t g, carry, l, products, n;
} gpu_ev_bases;
static inline gpu_ev_bases gpu_ev_bases_of(uint32_t lg_m, const gpu_ev_limits *max)
{
    uint64_t m = (uint64_t)1 << lg_m;
    uint64_t l = 2 * m + 1, products = l + max->n_vars;
    return (gpu_ev_bases){m, 2 * m, l, products, products + max->n_products};
}

/* Where the next piece begins; {0} for the first one. */
typedef struct gpu_ev_cursor {
    uint64_t var, term[2];
    bool cut; /* var was begun, and its next terms are those, of B and C */
} gpu_ev_cursor;

typedef struct gpu_ev_piece {
    uint64_t first_var, n_vars; /* inputs count before aux */
    uint64_t first_l, n_l;      /* points of section l to lie at base number l */
    uint64_t n_list, n_products;
    bool cut; /* the last variable goes on in the next piece, whose first element is the sum */
    uint32_t *keys; /* variable less first_var */
    uint32_t *refs;
    gpu_g1_item *items;
} gpu_ev_piece;
/* {0} before. Memory: gives 8 bytes per list element and product. Errors: CUZK_E_NOMEM; *p is then
 * empty. */
CUZK_MUST_CHECK cuzk_status gpu_ev_piece_init(gpu_ev_piece *p, const gpu_ev_limits *max);
void gpu_ev_piece_fini(gpu_ev_piece *p);

typedef struct gpu_ev_list_in {
    const g16_ev_columns *cols[2]; /* of B, which is added, and of C, which is taken away */
    gpu_ev_limits max;
    gpu_ev_bases bases;
} gpu_ev_list_in;
/* The next piece: as many variables as the limits allow, at->var being below their n_vars. A list
 * that would be empty has one element that is ignored (key n_vars). Cost: some ns an element. */
void gpu_ev_piece_next(gpu_ev_piece *p, gpu_ev_cursor *at, const gpu_ev_list_in *in);
#endif
