/* B and C folded into section l on the device, piece by piece (gpu_evkey_list.h). */
#include "base/span_names.h"
#include "gpu/gpu_evkey_int.h"

typedef struct folder {
    gpu_ev_job *j;
    gpu_ev_list_in in;
    gpu_ev_piece piece;
    gpu_ev_cursor at;
    gpu_tree tree;
} folder;

static uint8_t *base_at(const gpu_ev_job *j, uint64_t i)
{
    return (uint8_t *)gpu_ev_at(j, j->plan.at_bases) + i * sizeof(g1_aff);
}

static cuzk_status send_list(folder *f)
{
    gpu_ev_job *j = f->j;
    const gpu_ev_piece *p = &f->piece;
    gpu_run_group(j->run, SPAN_UPLOAD);
    CUZK_TRY(gpu_feed_copy(&j->feed, f->tree.list.keys, p->keys, p->n_list * 4, j->rc));
    CUZK_TRY(gpu_feed_copy(&j->feed, f->tree.list.vals, p->refs, p->n_list * 4, j->rc));
    CUZK_TRY(gpu_feed_copy(&j->feed, gpu_ev_at(j, j->plan.at_items), p->items,
                           p->n_products * sizeof *p->items, j->rc));
    gpu_run_group(j->run, NULL);
    return gpu_ev_load(j, &(gpu_ev_points){.section = G16_L,
                                           .first = p->first_l,
                                           .n = p->n_l,
                                           .base = j->plan.bases.l,
                                           .prepared = true});
}

static cuzk_status multiply(folder *f)
{
    gpu_ev_job *j = f->j;
    gpu_g1_work w = gpu_ev_work(j);
    w.advance = NULL; /* variables are counted here */
    gpu_g1_products p = {.d_bases = gpu_ev_at(j, j->plan.at_bases),
                         .d_coeffs = gpu_ev_at(j, j->plan.at_coeffs),
                         .d_items = gpu_ev_at(j, j->plan.at_items),
                         .first = j->plan.bases.products};
    return f->piece.n_products > 0 ? gpu_g1_multiply(&p, f->piece.n_products, &w) : cuzk_ok();
}

/* The sum so far of a variable that was cut. */
static cuzk_status carry(folder *f)
{
    gpu_ev_job *j = f->j;
    uint64_t to = j->plan.bases.carry;
    CUZK_TRY(gpu_tree_records(&f->tree, base_at(j, to), (uint32_t)f->piece.n_vars - 1, 1));
    return gpu_msm_prepare_bases_g1(base_at(j, to), to, 1, j->run);
}

static cuzk_status fold_piece(folder *f)
{
    gpu_ev_job *j = f->j;
    gpu_ev_piece *p = &f->piece;
    span_id s = span_begin(j->rc->spans, j->rc->parent, SPAN_GATHER);
    gpu_ev_piece_next(p, &f->at, &f->in);
    span_end(j->rc->spans, s);
    CUZK_TRY(send_list(f));
    gpu_run_group(j->run, SPAN_SUM);
    CUZK_TRY(multiply(f));
    CUZK_TRY(gpu_tree_sum(&f->tree, (size_t)p->n_list, (uint32_t)p->n_vars, true, 0));
    uint32_t n_done = (uint32_t)p->n_vars - p->cut;
    if (n_done > 0)
        CUZK_TRY(gpu_tree_records(&f->tree, gpu_ev_at(j, j->plan.at_stage), 0, n_done));
    if (p->cut)
        CUZK_TRY(carry(f));
    gpu_run_group(j->run, NULL);
    CUZK_TRY(gpu_ev_emit(j, n_done));
    gpu_ev_advance(j, n_done);
    return cuzk_ok();
}

static cuzk_status fold_all(folder *f)
{
    gpu_ev_job *j = f->j;
    size_t n_coeffs;
    const fr *coeffs = r1cs_shape_coeffs(j->shape, &n_coeffs);
    gpu_msm_ws ws = {.d_ws = gpu_ev_at(j, j->plan.at_tree),
                     .bytes = j->plan.tree_bytes,
                     .pin = j->pin.p,
                     .run = j->run};
    CUZK_TRY(gpu_feed_copy(&j->feed, gpu_ev_at(j, j->plan.at_coeffs), coeffs,
                           n_coeffs * sizeof *coeffs, j->rc));
    CUZK_TRY(gpu_msm_prepare_bases_g1(base_at(j, 0), 0, (size_t)j->plan.bases.carry, j->run));
    CUZK_TRY(gpu_tree_init(&f->tree, &j->plan.tree, base_at(j, 0), &ws));
    while (f->at.var < f->in.cols[0]->n_vars)
        CUZK_TRY(fold_piece(f));
    return cuzk_ok();
}

static cuzk_status fold_with(gpu_ev_job *j, const g16_ev_columns *cols)
{
    folder f = {.j = j,
                .in = {.cols = {&cols[0], &cols[1]}, .max = j->plan.max, .bases = j->plan.bases}};
    CUZK_TRY(gpu_ev_piece_init(&f.piece, &f.in.max));
    cuzk_status st = fold_all(&f);
    gpu_ev_piece_fini(&f.piece);
    return st;
}

static cuzk_status make_columns(g16_ev_columns *cols, gpu_ev_job *j)
{
    span_id s = span_begin(j->rc->spans, j->rc->parent, SPAN_GATHER);
    run_ctx under = run_ctx_under(j->rc, s);
    cuzk_status st = g16_ev_columns_init(&cols[0], j->shape, G16_EV_B, &under);
    if (st.code == CUZK_OK)
        st = g16_ev_columns_init(&cols[1], j->shape, G16_EV_C, &under);
    span_end(j->rc->spans, s);
    return st;
}

cuzk_status gpu_ev_fold(gpu_ev_job *j)
{
    g16_ev_columns cols[2] = {0};
    cuzk_status st = make_columns(cols, j);
    if (st.code == CUZK_OK)
        st = fold_with(j, cols);
    g16_ev_columns_fini(&cols[0]);
    g16_ev_columns_fini(&cols[1]);
    return st;
}
