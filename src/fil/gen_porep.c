#include "fil/gen_int.h"
#include "hash/poseidon.h"
#include <string.h>

/* The data of a sector: up to 1,024 blocks that differ, so that its whole tree is known before any
 * challenge is. */
#define LG_DATA_BLOCKS 10u

typedef struct maker {
    fil_porep *p;
    arena *a;      /* of the result */
    arena scratch; /* of everything else */
    const fil_gen_id *id;
    const run_ctx *rc;
    fil_graph graph;
    gen_tree tree_d, tree_c, tree_r;
    gen_columns columns;
    uint64_t *challenges; /* all partitions */
    size_t n_challenges;
} maker;

static bool is_sealed(fil_seal_version v) { return v == FIL_SEAL_SYNTHETIC || v == FIL_SEAL_NI; }

/* Development sizes have no registered proof; the id is then that of a size with as many layers, as
 * for decoding. */
static void set_names(fil_porep *p, const fil_sector *s, fil_seal_version v)
{
    p->sector = s;
    p->version = v;
    p->layers = s->layers;
    p->n_partitions = fil_seal_partitions(s, v);
    p->n_challenges = s->challenges;
    uint64_t like = s->layers == FIL_MAX_LAYERS ? (uint64_t)32 << 30 : (uint64_t)2 << 10;
    const fil_seal_proof *guess = NULL;
    for (uint32_t i = 0; i < FIL_N_SEAL_PROOFS; i++) {
        const fil_seal_proof *r = fil_seal_proof_by_id(i);
        if (r->version != v)
            continue;
        if (r->sector_bytes == s->sector_bytes)
            p->registered = r;
        if (r->sector_bytes == like)
            guess = r;
    }
    fil_porep_id(p->porep_id, p->registered ? p->registered : guess);
}

static cuzk_status make_data(maker *m)
{
    fil_porep *p = m->p;
    uint32_t lg = p->sector->lg_nodes,
             lg_blocks = lg - 3 < LG_DATA_BLOCKS ? lg - 3 : LG_DATA_BLOCKS;
    void *val;
    CUZK_TRY(gen_alloc(&val, &m->scratch, (size_t)GEN_PERIOD << lg_blocks, sizeof(fr)));
    const gen_blocks blocks = {lg, lg_blocks, val, true};
    for (size_t i = 0; i < GEN_PERIOD << lg_blocks; i++)
        gen_fr(&blocks.val[i], m->id->seed, "data", m->id->sector, i);
    CUZK_TRY(gen_tree_blocks(&m->tree_d, &m->scratch, gen_tree_d_shape(lg), &blocks, m->rc));
    p->comm_d = *gen_tree_root(&m->tree_d);
    return cuzk_ok();
}

static void make_replica_id(maker *m)
{
    fil_porep *p = m->p;
    uint8_t prover_id[32];
    fil_prover_id(prover_id, m->id->miner);
    gen_bytes(p->seed, m->id->seed, "seed", m->id->sector, 0);
    gen_bytes(p->ticket, m->id->seed, "ticket", m->id->sector, 0);
    fil_replica_id(&p->replica_id, prover_id, m->id->sector, p->ticket, &p->comm_d, p->porep_id);
    p->sector_num = m->id->sector;
    p->wrapper_sector_size = p->sector->sector_bytes;
}

static cuzk_status draw_challenges(maker *m)
{
    const fil_porep *p = m->p;
    for (uint32_t k = 0; k < p->n_partitions; k++)
        CUZK_TRY(fil_challenges(m->challenges + (size_t)k * p->n_challenges, p->n_challenges, k,
                                p->version, p->sector->n_nodes, &p->replica_id, &p->comm_r,
                                p->seed));
    return cuzk_ok();
}

/* TreeR over the computed nodes: last label + data. */
static cuzk_status make_tree_r(maker *m)
{
    const gen_columns *c = &m->columns;
    void *idx, *val;
    CUZK_TRY(gen_alloc(&idx, &m->scratch, c->n_sealed, sizeof(uint64_t)));
    CUZK_TRY(gen_alloc(&val, &m->scratch, c->n_sealed, sizeof(fr)));
    uint64_t *nodes = idx;
    gen_row row = {.n = c->n_sealed, .idx = nodes, .val = val};
    gen_fr(&row.other, m->id->seed, "unopened replica", m->id->sector, 0);
    for (size_t i = 0; i < c->n_sealed; i++) {
        size_t col = c->sealed[i];
        nodes[i] = c->node[col];
        fr_add(&row.val[i], &c->rows[col * c->layers + c->layers - 1],
               gen_tree_node(&m->tree_d, 0, nodes[i]));
    }
    return gen_tree_sparse(&m->tree_r, &m->scratch, gen_tree_r_shape(m->p->sector), &row, m->rc);
}

static cuzk_status make_replica(maker *m)
{
    fil_porep *p = m->p;
    bool sealed = is_sealed(p->version);
    fr other;
    fil_graph_init(&m->graph, p->sector->n_nodes, p->porep_id, p->version == FIL_SEAL_V1);
    if (!sealed)
        CUZK_TRY(draw_challenges(m));
    m->columns.layers = p->layers;
    CUZK_TRY(gen_columns_init(&m->columns, &m->scratch, &m->graph, sealed ? NULL : m->challenges,
                              m->n_challenges, m->rc));
    CUZK_TRY(gen_columns_label(&m->columns, &m->scratch, m->id->seed, &p->replica_id, m->rc));
    gen_fr(&other, m->id->seed, "unopened column", m->id->sector, 0);
    CUZK_TRY(gen_tree_c(&m->tree_c, &m->scratch, p->sector, &m->columns, &other, m->rc));
    CUZK_TRY(gen_go_on(m->rc, "gen", 0.7));
    CUZK_TRY(make_tree_r(m));
    p->comm_c = *gen_tree_root(&m->tree_c);
    p->comm_r_last = *gen_tree_root(&m->tree_r);
    gen_comm_r(&p->comm_r, &p->comm_c, &p->comm_r_last);
    return sealed ? draw_challenges(m) : cuzk_ok();
}

static void open_column(fil_column *out, fr **sib, const maker *m, size_t col)
{
    const gen_columns *c = &m->columns;
    out->n_rows = c->layers;
    out->node = c->node[col];
    memcpy(out->rows, &c->rows[col * c->layers], c->layers * sizeof *out->rows);
    gen_tree_open(&out->path, sib, &m->tree_c, out->node);
}

static void open_labeling(fil_labeling *l, fr **mem, const fil_porep_challenge *ch, uint32_t layer)
{
    *l = (fil_labeling){FIL_LABEL_PARENTS, layer, ch->challenge, *mem};
    for (uint32_t k = 0; k < FIL_LABEL_PARENTS; k++) {
        uint32_t j = fil_label_parent(layer, k);
        *(*mem)++ = j < FIL_DRG_DEGREE ? ch->drg[j].rows[layer - 1]
                                       : ch->exp[j - FIL_DRG_DEGREE].rows[layer - 2];
    }
}

static cuzk_status open_challenge(fil_porep_challenge *ch, const maker *m, uint64_t node)
{
    uint32_t drg[FIL_DRG_DEGREE], expander[FIL_EXP_DEGREE], layers = m->p->layers;
    size_t n_paths_rc = 2 + FIL_DRG_DEGREE + FIL_EXP_DEGREE;
    size_t n = gen_tree_n_sib(&m->tree_d) + n_paths_rc * gen_tree_n_sib(&m->tree_c) +
               (layers + 1) * FIL_LABEL_PARENTS;
    void *mem;
    CUZK_TRY(gen_alloc(&mem, m->a, n, sizeof(fr)));
    fr *next = mem;
    ch->challenge = node;
    gen_tree_open(&ch->comm_d, &next, &m->tree_d, node);
    gen_tree_open(&ch->comm_r_last, &next, &m->tree_r, node);
    open_column(&ch->c_x, &next, m, gen_column_find(&m->columns, node));
    fil_graph_drg_parents(&m->graph, drg, node);
    fil_graph_exp_parents(&m->graph, expander, node);
    for (uint32_t k = 0; k < FIL_DRG_DEGREE; k++)
        open_column(&ch->drg[k], &next, m, gen_column_find(&m->columns, drg[k]));
    for (uint32_t k = 0; k < FIL_EXP_DEGREE; k++)
        open_column(&ch->exp[k], &next, m, gen_column_find(&m->columns, expander[k]));
    ch->n_labeling = layers;
    for (uint32_t layer = 1; layer <= layers; layer++)
        open_labeling(&ch->labeling[layer - 1], &next, ch, layer);
    open_labeling(&ch->encoding, &next, ch, layers);
    return cuzk_ok();
}

static cuzk_status open_all(maker *m)
{
    fil_porep *p = m->p;
    for (uint32_t k = 0; k < p->n_partitions; k++) {
        void *mem;
        CUZK_TRY(gen_alloc(&mem, m->a, p->n_challenges, sizeof **p->partitions));
        p->partitions[k] = mem;
        for (uint32_t i = 0; i < p->n_challenges; i++)
            CUZK_TRY(open_challenge(&p->partitions[k][i], m,
                                    m->challenges[(size_t)k * p->n_challenges + i]));
    }
    return gen_go_on(m->rc, "gen", 1);
}

static cuzk_status make(maker *m)
{
    fil_porep *p = m->p;
    void *mem;
    if (!poseidon_constants_get(2))
        return cuzk_fail(CUZK_E_NOMEM, "Poseidon constants");
    m->n_challenges = (size_t)p->n_partitions * p->n_challenges;
    CUZK_TRY(gen_alloc(&mem, &m->scratch, m->n_challenges, sizeof *m->challenges));
    m->challenges = mem;
    CUZK_TRY(gen_alloc(&mem, m->a, p->n_partitions, sizeof *p->partitions));
    p->partitions = mem;
    CUZK_TRY(gen_go_on(m->rc, "gen", 0));
    CUZK_TRY(make_data(m));
    make_replica_id(m);
    CUZK_TRY(make_replica(m));
    return open_all(m);
}

cuzk_status fil_gen_porep(fil_porep *out, arena *a, const fil_gen_id *id, const fil_sector *s,
                          fil_seal_version v, const run_ctx *rc)
{
    static const run_ctx no_rc;
    *out = (fil_porep){0};
    if (is_sealed(v) && s->sector_bytes > FIL_GEN_SEAL_MAX_BYTES)
        return cuzk_bad_input("size",
                              "8MiB at most for Synthetic and NI (their challenges depend on "
                              "comm_r, so the sector is really sealed)",
                              "%s", s->name);
    maker m = {.p = out, .a = a, .id = id, .rc = rc ? rc : &no_rc};
    set_names(out, s, v);
    cuzk_status st = make(&m);
    arena_fini(&m.scratch);
    if (st.code != CUZK_OK)
        *out = (fil_porep){0};
    return st;
}
