/* Private to the key set-up: the transposed shape and the steps on the device.
 *
 * u = A^T L, v = B^T L and w = C^T L are summed by variable. A template is transposed once: for
 * each side, the (row, coefficient) entries of every local column in a row. An instance's own
 * variables occur in few rows, nearly all of them in no other segment: a thread sums a column and
 * stores the sum. What is left - ONE, wires, long columns, terms of loose rows - is cut into pieces
 * of bounded length; their sums go to a list, are sorted by variable and folded. So no step depends
 * on how often a variable occurs. */
#ifndef GPU_SETUP_INT_H
#define GPU_SETUP_INT_H
#include "gpu/gpu_fr.cuh"
#include "gpu/gpu_run.h"
#include <assert.h>
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
#include "r1cs/layout.h"
#ifdef __cplusplus
}
#endif

/* Longest column that one thread sums, and longest piece of one. */
#define GPU_SETUP_PIECE 64u
/* Elements of the sorted list that one thread folds. */
#define GPU_SETUP_RUN 32u
#define GPU_SETUP_ONE 0u /* coefficients 1 and -1, first in every dictionary */
#define GPU_SETUP_MINUS 1u

/* row: relative to the instance. coeff: into the dictionary. */
typedef struct gpu_setup_entry {
    uint32_t row, coeff;
} gpu_setup_entry;
/* n entries of local column `column` from entry `first` on. */
typedef struct gpu_setup_piece {
    uint32_t column, first, n;
} gpu_setup_piece;
/* Per side: own column k has entries [cols[own_first + k], cols[own_first + k + 1]); pieces from
 * piece_first on. */
typedef struct gpu_setup_tmpl {
    uint32_t n_wires, own_first[3], piece_first[3];
} gpu_setup_tmpl;
/* own_at: own variables of the instances before; slot_at: pieces of the instances before. One more
 * instance at the end holds the totals. */
typedef struct gpu_setup_inst {
    uint32_t tmpl, row, aux, wires, own_at, slot_at[3];
} gpu_setup_inst;
typedef struct gpu_setup_loose {
    uint32_t row, var, coeff;
} gpu_setup_loose;
static_assert(sizeof(gpu_setup_entry) == 8 && sizeof(gpu_setup_inst) == 32, "read as words");

/* The parts of an image, in host or device memory. */
typedef struct gpu_setup_view {
    const gpu_fr *coeffs;
    const gpu_setup_tmpl *tmpls;
    const gpu_setup_inst *insts; /* n_insts + 1 */
    const uint32_t *wires, *cols;
    const gpu_setup_entry *entries;
    const gpu_setup_piece *pieces;
    const gpu_setup_loose *loose[3];
    uint32_t n_insts, n_inputs;
} gpu_setup_view;

typedef struct gpu_setup_image {
    void *p; /* host memory */
    size_t bytes;
    size_t at_coeffs, at_tmpls, at_insts, at_wires, at_cols, at_entries, at_pieces, at_loose[3];
    size_t n_coeffs, n_tmpls, n_insts, n_wires, n_cols, n_entries, n_pieces;
    size_t n_own, n_slots[3], n_loose[3];
    uint32_t n_inputs;
} gpu_setup_image;

#ifdef __cplusplus
extern "C" {
#endif
/* Sizes only; im->p stays NULL. Errors: CUZK_E_NOMEM, CUZK_E_UNSUPPORTED (2^31 or more variables,
 * rows or list elements). */
CUZK_MUST_CHECK cuzk_status gpu_setup_measure(gpu_setup_image *im, const r1cs_shape *s);
/* The image; gpu_setup_image_fini frees it. */
CUZK_MUST_CHECK cuzk_status gpu_setup_build(gpu_setup_image *im, const r1cs_shape *s);
void gpu_setup_image_fini(gpu_setup_image *im);
gpu_setup_view gpu_setup_view_at(const gpu_setup_image *im, const void *base);
#ifdef __cplusplus
}
#endif
/* Elements of the list of a side. */
static inline size_t gpu_setup_n_list(const gpu_setup_image *im, int side)
{
    return im->n_slots[side] + im->n_loose[side];
}
/* Elements of the list that folding one of n leaves; 0 when none is left. */
static inline size_t gpu_setup_folded(size_t n)
{
    return n <= GPU_SETUP_RUN ? 0 : 2 * ((n + GPU_SETUP_RUN - 1) / GPU_SETUP_RUN);
}

/* The last instance whose place is at or before x, places being 32-bit words 8 words apart. */
CUZK_HD uint32_t gpu_setup_find(const uint32_t *places, uint32_t lo, uint32_t hi, uint32_t x)
{
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (places[(size_t)mid * 8] <= x)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* acc += coefficient * l. */
CUZK_HD void gpu_setup_add_term(gpu_fr *acc, const gpu_setup_view *v, uint32_t coeff,
                                const gpu_fr *l)
{
    if (coeff == GPU_SETUP_ONE) {
        gpu_fr_add(acc, acc, l);
    } else if (coeff == GPU_SETUP_MINUS) {
        gpu_fr_sub(acc, acc, l);
    } else {
        gpu_fr c = v->coeffs[coeff];
        gpu_fr_mul(&c, &c, l);
        gpu_fr_add(acc, acc, &c);
    }
}

CUZK_HD void gpu_setup_set_zero(gpu_fr *o)
{
    GPU_UNROLL
    for (int i = 0; i < GPU_FR_WORDS; i++)
        o->l[i] = 0;
}

/* Sum of entries [from, to) of an instance; lag: L_k(tau) by row. */
CUZK_HD void gpu_setup_sum(gpu_fr *o, const gpu_setup_view *v, uint32_t row_base, uint32_t from,
                           uint32_t to, const gpu_fr *lag)
{
    gpu_fr acc;
    gpu_setup_set_zero(&acc);
    for (uint32_t k = from; k < to; k++) {
        gpu_setup_entry e = v->entries[k];
        gpu_fr l = lag[row_base + e.row];
        gpu_setup_add_term(&acc, v, e.coeff, &l);
    }
    *o = acc;
}

/* Index of a variable: inputs, then aux. */
CUZK_HD uint32_t gpu_setup_index(const gpu_setup_view *v, r1cs_var var)
{
    return var & R1CS_INPUT ? var & ~R1CS_INPUT : v->n_inputs + var;
}

/* Own variable x of all instances, x in the instances [lo, hi): its sum goes to q, unless its
 * column is long. */
CUZK_HD void gpu_setup_own(gpu_fr *q, const gpu_setup_view *v, int side, uint32_t lo, uint32_t hi,
                           uint32_t x, const gpu_fr *lag)
{
    gpu_setup_inst in = v->insts[gpu_setup_find(&v->insts->own_at, lo, hi, x)];
    const uint32_t *c = v->cols + v->tmpls[in.tmpl].own_first[side] + (x - in.own_at);
    if (c[1] > c[0] && c[1] - c[0] <= GPU_SETUP_PIECE)
        gpu_setup_sum(&q[v->n_inputs + in.aux + (x - in.own_at)], v, in.row, c[0], c[1], lag);
}

/* Element x of a side's list: a piece, or past them a term of a loose row. */
CUZK_HD void gpu_setup_slot(uint32_t *key, gpu_fr *val, const gpu_setup_view *v, int side,
                            uint32_t x, const gpu_fr *lag)
{
    uint32_t n_slots = v->insts[v->n_insts].slot_at[side];
    if (x >= n_slots) {
        gpu_setup_loose t = v->loose[side][x - n_slots];
        gpu_fr l = lag[t.row];
        gpu_setup_set_zero(val);
        gpu_setup_add_term(val, v, t.coeff, &l);
        *key = gpu_setup_index(v, t.var);
        return;
    }
    gpu_setup_inst in = v->insts[gpu_setup_find(&v->insts->slot_at[side], 0, v->n_insts, x)];
    gpu_setup_tmpl t = v->tmpls[in.tmpl];
    gpu_setup_piece p = v->pieces[t.piece_first[side] + (x - in.slot_at[side])];
    gpu_setup_sum(val, v, in.row, p.first, p.first + p.n, lag);
    r1cs_var var = p.column == 0           ? R1CS_ONE
                   : p.column <= t.n_wires ? v->wires[in.wires + p.column - 1]
                                           : in.aux + (p.column - 1 - t.n_wires);
    *key = gpu_setup_index(v, var);
}

/* A list sorted by key; slots: where each element's value lies, NULL for the same place. */
typedef struct gpu_setup_list {
    const uint32_t *keys, *slots;
    const gpu_fr *vals;
    uint32_t n;
} gpu_setup_list;

/* Run t of the list: segments that lie within it are added to q; a segment that began before goes
 * to element 2t of the next list, else one that goes on after to 2t + 1. The next list is sorted as
 * well; elements that hold nothing have value 0 and a neighbour's key. */
CUZK_HD void gpu_setup_fold(gpu_fr *q, uint32_t *keys_out, gpu_fr *vals_out,
                            const gpu_setup_list *a, uint32_t t)
{
    uint32_t lo = t * GPU_SETUP_RUN, hi = a->n - lo < GPU_SETUP_RUN ? a->n : lo + GPU_SETUP_RUN;
    uint32_t key = a->keys[lo], first = key;
    int open = lo > 0 && a->keys[lo - 1] == key;
    gpu_fr acc, head, tail;
    gpu_setup_set_zero(&acc);
    head = tail = acc;
    for (uint32_t i = lo; i < hi; i++) {
        gpu_fr x = a->vals[a->slots ? a->slots[i] : i];
        gpu_fr_add(&acc, &acc, &x);
        uint32_t next = i + 1 < a->n ? a->keys[i + 1] : ~key;
        if (next == key && i + 1 < hi)
            continue;
        if (open) {
            head = acc;
        } else if (next == key) {
            tail = acc;
        } else {
            gpu_fr_add(&acc, &acc, &q[key]);
            q[key] = acc;
        }
        open = 0;
        gpu_setup_set_zero(&acc);
        if (i + 1 < hi)
            key = next;
    }
    if (!keys_out)
        return;
    keys_out[2 * t] = first;
    keys_out[2 * t + 1] = key;
    vals_out[2 * t] = head;
    vals_out[2 * t + 1] = tail;
}
#endif
