#include "circuit/circuit_parts.h"
#include "base/mem.h"

typedef struct fill_job {
    const circuit_parts *p;
    const cs *c;    /* as it stands behind the beginning */
    cs_range first; /* the first part */
    const run_ctx *rc;
    cuzk_status *st; /* one per part */
} fill_job;

static void fill_one(void *ctx, size_t k, unsigned thread)
{
    fill_job *j = ctx;
    cs c;
    cs_part part;
    cs_range r = j->first;
    (void)thread;
    if (run_cancelled(j->rc)) {
        j->st[k] = cuzk_fail(CUZK_E_CANCELLED, "witness cancelled");
        return;
    }
    r.aux += k * r.n_aux;
    r.input += k * r.n_inputs;
    cs_init_witness_part(&c, &part, j->c->shape, j->c->w, j->c->mode, &r);
    if (c.st.code == CUZK_OK)
        j->p->fill(j->p->ctx, &c, (uint32_t)k);
    j->st[k] = cs_finish_witness_part(&c, &part);
    cs_fini(&c);
}

static cuzk_status fill_all(cs *c, const circuit_parts *p, const run_ctx *rc)
{
    static const run_ctx alone;
    CUZK_TRY(c->st);
    uint64_t n_aux = c->w->n_aux - c->n_aux, n_inputs = c->w->n_inputs - c->n_inputs;
    if (p->n == 0 || n_aux % p->n != 0 || n_inputs % p->n != 0)
        return cuzk_fail(CUZK_E_INTERNAL,
                         "%s: the last %llu variables and %llu inputs are not %u equal parts",
                         r1cs_shape_name(c->shape), (unsigned long long)n_aux,
                         (unsigned long long)n_inputs, p->n);
    fill_job j = {.p = p,
                  .c = c,
                  .first = {c->n_aux, n_aux / p->n, c->n_inputs, n_inputs / p->n},
                  .rc = rc ? rc : &alone};
    /* Parts see to their own types; this is the beginning's. */
    CUZK_VERIFY(n_aux == 0 || c->n_dense == witness_dense_idx(c->w, c->n_aux));
    j.st = mem_alloc(p->n * sizeof *j.st, 64);
    if (!j.st)
        return cuzk_fail(CUZK_E_NOMEM, "states of %u parts", p->n);
    cuzk_status st = run_for(j.rc, p->n, fill_one, &j);
    for (uint32_t k = 0; k < p->n && st.code == CUZK_OK; k++)
        st = j.st[k];
    mem_free(j.st);
    return st;
}

cuzk_status circuit_fill_parts(cs *c, const circuit_parts *p, const run_ctx *rc)
{
    cuzk_status st = fill_all(c, p, rc);
    cs_fini(c);
    return st;
}
