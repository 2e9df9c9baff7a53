/* Lists of points by variable. */
#include "gpu/gpu_evkey_list.h"
#include "base/mem.h"

cuzk_status gpu_ev_piece_init(gpu_ev_piece *p, const gpu_ev_limits *max)
{
    CUZK_ASSERT(max->n_vars >= 1 && max->n_list >= 2 && max->n_products >= 1);
    *p = (gpu_ev_piece){.keys = mem_alloc(max->n_list * sizeof *p->keys, 64),
                        .refs = mem_alloc(max->n_list * sizeof *p->refs, 64),
                        .items = mem_alloc(max->n_products * sizeof *p->items, 64)};
    if (p->keys && p->refs && p->items)
        return cuzk_ok();
    gpu_ev_piece_fini(p);
    return cuzk_fail(CUZK_E_NOMEM, "list of %llu points", (unsigned long long)max->n_list);
}

void gpu_ev_piece_fini(gpu_ev_piece *p)
{
    mem_free(p->keys);
    mem_free(p->refs);
    mem_free(p->items);
    *p = (gpu_ev_piece){0};
}

static void put(gpu_ev_piece *p, uint64_t key, uint64_t ref)
{
    p->keys[p->n_list] = (uint32_t)key;
    p->refs[p->n_list++] = (uint32_t)ref;
}

/* Terms of the piece's last variable, up to `end` or the limits. C is taken away: 1 counts as -1. */
static void put_terms(gpu_ev_piece *p, gpu_ev_cursor *at, uint64_t end, const gpu_ev_list_in *in)
{
    const g16_ev_columns *c = in->cols;
    for (; at->term < end && p->n_list < in->max.n_list; at->term++) {
        g16_ev_term t = c->terms[at->term];
        uint8_t kind = c->kinds[t.coeff];
        uint64_t ref = t.at;
        if (kind == G16_EV_OTHER) {
            if (p->n_products == in->max.n_products)
                return;
            ref = in->bases.products + p->n_products;
            p->items[p->n_products++] = (gpu_g1_item){t.at, t.coeff};
        } else if (kind == G16_EV_ONE) {
            ref |= GPU_REF_NEG;
        }
        put(p, p->n_vars - 1, ref);
    }
}

/* What a variable begins with: its sum so far, or its point of section l. */
static void put_first(gpu_ev_piece *p, gpu_ev_cursor *at, const gpu_ev_list_in *in)
{
    uint64_t n_inputs = in->cols->c->n_inputs;
    if (at->cut) {
        put(p, p->n_vars, in->bases.carry);
    } else if (at->var >= n_inputs) {
        if (p->n_l == 0)
            p->first_l = at->var - n_inputs;
        put(p, p->n_vars, in->bases.l + p->n_l++);
    }
    if (!at->cut)
        at->term = g16_ev_columns_start(in->cols, at->var);
}

void gpu_ev_piece_next(gpu_ev_piece *p, gpu_ev_cursor *at, const gpu_ev_list_in *in)
{
    p->first_var = at->var;
    p->n_vars = p->first_l = p->n_l = p->n_list = p->n_products = 0;
    p->cut = false;
    while (at->var < in->cols->n_vars && p->n_vars < in->max.n_vars && p->n_list < in->max.n_list) {
        uint64_t end = g16_ev_columns_start(in->cols, at->var + 1);
        put_first(p, at, in);
        p->n_vars++;
        put_terms(p, at, end, in);
        p->cut = at->cut = at->term < end;
        if (p->cut)
            break;
        at->var++;
    }
    if (p->n_list == 0)
        put(p, p->n_vars, 0);
}
