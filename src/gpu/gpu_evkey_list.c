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

/* Terms of a side of the piece's last variable, up to its end or the limits. Is that the end? */
static bool put_terms(gpu_ev_piece *p, gpu_ev_cursor *at, int side, const gpu_ev_list_in *in)
{
    const g16_ev_columns *c = in->cols[side];
    const uint64_t end = g16_ev_columns_start(c, at->var + 1), first = side ? in->bases.g : 0;
    for (; at->term[side] < end && p->n_list < in->max.n_list; at->term[side]++) {
        g16_ev_term t = c->terms[at->term[side]];
        uint8_t kind = c->kinds[t.coeff];
        uint64_t ref = first + t.at;
        if (kind == G16_EV_OTHER) {
            if (p->n_products == in->max.n_products)
                return false;
            p->items[p->n_products] =
                (gpu_g1_item){(uint32_t)ref, t.coeff | (side ? GPU_G1_ITEM_MINUS : 0)};
            ref = in->bases.products + p->n_products++;
        } else if ((kind == G16_EV_MINUS_ONE) != (side == 1)) {
            ref |= GPU_REF_NEG;
        }
        put(p, p->n_vars - 1, ref);
    }
    return at->term[side] == end;
}

/* What a variable begins with: its sum so far, or its point of section l. */
static void put_first(gpu_ev_piece *p, gpu_ev_cursor *at, const gpu_ev_list_in *in)
{
    uint64_t n_inputs = in->cols[0]->c->n_inputs;
    if (at->cut) {
        put(p, p->n_vars, in->bases.carry);
        return;
    }
    if (at->var >= n_inputs) {
        if (p->n_l == 0)
            p->first_l = at->var - n_inputs;
        put(p, p->n_vars, in->bases.l + p->n_l++);
    }
    for (int side = 0; side < 2; side++)
        at->term[side] = g16_ev_columns_start(in->cols[side], at->var);
}

void gpu_ev_piece_next(gpu_ev_piece *p, gpu_ev_cursor *at, const gpu_ev_list_in *in)
{
    const uint64_t n_vars = in->cols[0]->n_vars;
    p->first_var = at->var;
    p->n_vars = p->first_l = p->n_l = p->n_list = p->n_products = 0;
    p->cut = false;
    while (at->var < n_vars && p->n_vars < in->max.n_vars && p->n_list < in->max.n_list) {
        put_first(p, at, in);
        p->n_vars++;
        p->cut = at->cut = !put_terms(p, at, 0, in) || !put_terms(p, at, 1, in);
        if (p->cut)
            break;
        at->var++;
    }
    if (p->n_list == 0)
        put(p, p->n_vars, 0);
}
