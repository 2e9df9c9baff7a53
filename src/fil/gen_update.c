#include "fil/gen_int.h"
#include "hash/poseidon.h"
#include <string.h>

typedef struct maker {
    fil_update *u;
    arena *a;      /* of the result */
    arena scratch; /* of everything else */
    const fil_gen_id *id;
    const run_ctx *rc;
    gen_tree r_old, d_new, r_new;
    fr comm_c;
} maker;

static cuzk_status new_blocks(gen_blocks *b, maker *m, bool is_sha256)
{
    void *val;
    *b = (gen_blocks){
        .lg_nodes = m->u->config->lg_nodes, .lg_blocks = m->u->h, .is_sha256 = is_sha256};
    CUZK_TRY(gen_alloc(&val, &m->scratch, (size_t)GEN_PERIOD << b->lg_blocks, sizeof(fr)));
    b->val = val;
    return cuzk_ok();
}

/* Old replica and new data are drawn from the seed. rho changes with the high h bits of a node
 * only, so the new replica repeats wherever those two do, and its tree is as small. */
static cuzk_status make_trees(maker *m)
{
    fil_update *u = m->u;
    const fil_update_config *c = u->config;
    fil_tree shape_r = {c->base, c->base_levels, c->sub, c->top};
    gen_blocks r_old, d_new, r_new;
    fr phi, rho;
    CUZK_TRY(new_blocks(&r_old, m, false));
    CUZK_TRY(new_blocks(&d_new, m, true));
    CUZK_TRY(new_blocks(&r_new, m, false));
    size_t n = (size_t)GEN_PERIOD << u->h;
    for (size_t i = 0; i < n; i++) {
        gen_fr(&r_old.val[i], m->id->seed, "replica", m->id->sector, i);
        gen_fr(&d_new.val[i], m->id->seed, "new data", m->id->sector, i);
    }
    CUZK_TRY(gen_tree_blocks(&m->r_old, &m->scratch, shape_r, &r_old, m->rc));
    CUZK_TRY(gen_tree_blocks(&m->d_new, &m->scratch, gen_tree_d_shape(c->lg_nodes), &d_new, m->rc));
    CUZK_TRY(gen_go_on(m->rc, "gen", 0.5));
    gen_fr(&m->comm_c, m->id->seed, "comm_c", m->id->sector, 0);
    gen_comm_r(&u->comm_r_old, &m->comm_c, gen_tree_root(&m->r_old));
    u->comm_d_new = *gen_tree_root(&m->d_new);
    fil_update_phi(&phi, &u->comm_d_new, &u->comm_r_old);
    for (size_t i = 0; i < n; i++) {
        if (i % GEN_PERIOD == 0)
            fil_update_rho(&rho, &phi, i / GEN_PERIOD);
        fr_mul(&r_new.val[i], &d_new.val[i], &rho);
        fr_add(&r_new.val[i], &r_new.val[i], &r_old.val[i]);
    }
    CUZK_TRY(gen_tree_blocks(&m->r_new, &m->scratch, shape_r, &r_new, m->rc));
    gen_comm_r(&u->comm_r_new, &m->comm_c, gen_tree_root(&m->r_new));
    return gen_go_on(m->rc, "gen", 0.9);
}

static cuzk_status open_partition(fil_update_partition *p, const maker *m, uint32_t k)
{
    const fil_update_config *c = m->u->config;
    uint32_t apex_row = c->lg_nodes - c->lg_partitions - c->lg_apex;
    size_t n_sib =
        gen_tree_n_sib(&m->r_old) + gen_tree_n_sib(&m->d_new) + gen_tree_n_sib(&m->r_new);
    uint64_t challenges[86]; /* the most any size has (circuits.md D.3) */
    void *mem;
    CUZK_VERIFY(c->challenges <= ARRAY_LEN(challenges));
    p->comm_c = m->comm_c;
    p->n_apex = 1u << c->lg_apex;
    CUZK_TRY(gen_alloc(&mem, m->a, p->n_apex, sizeof *p->apex));
    p->apex = mem;
    for (uint32_t i = 0; i < p->n_apex; i++)
        p->apex[i] = *gen_tree_node(&m->d_new, apex_row, (uint64_t)k * p->n_apex + i);
    CUZK_TRY(fil_update_challenges(challenges, c, k, &m->u->comm_r_new));
    CUZK_TRY(gen_alloc(&mem, m->a, c->challenges, sizeof *p->challenges));
    p->challenges = mem;
    CUZK_TRY(gen_alloc(&mem, m->a, c->challenges * n_sib, sizeof(fr)));
    fr *next = mem;
    for (uint32_t i = 0; i < c->challenges; i++) {
        fil_update_challenge *ch = &p->challenges[i];
        gen_tree_open(&ch->r_old, &next, &m->r_old, challenges[i]);
        gen_tree_open(&ch->d_new, &next, &m->d_new, challenges[i]);
        gen_tree_open(&ch->r_new, &next, &m->r_new, challenges[i]);
    }
    return cuzk_ok();
}

static cuzk_status make(maker *m)
{
    fil_update *u = m->u;
    void *mem;
    if (!poseidon_constants_get(2))
        return cuzk_fail(CUZK_E_NOMEM, "Poseidon constants");
    CUZK_TRY(gen_go_on(m->rc, "gen", 0));
    CUZK_TRY(make_trees(m));
    CUZK_TRY(gen_alloc(&mem, m->a, u->n_partitions, sizeof *u->partitions));
    u->partitions = mem;
    for (uint32_t k = 0; k < u->n_partitions; k++)
        CUZK_TRY(open_partition(&u->partitions[k], m, k));
    return gen_go_on(m->rc, "gen", 1);
}

cuzk_status fil_gen_update(fil_update *out, arena *a, const fil_gen_id *id,
                           const fil_update_config *c, const run_ctx *rc)
{
    static const run_ctx no_rc;
    *out = (fil_update){.config = c, .n_partitions = 1u << c->lg_partitions, .h = c->h_default};
    maker m = {.u = out, .a = a, .id = id, .rc = rc ? rc : &no_rc};
    cuzk_status st = make(&m);
    arena_fini(&m.scratch);
    if (st.code != CUZK_OK)
        *out = (fil_update){0};
    return st;
}
