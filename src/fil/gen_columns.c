#include "base/mem.h"
#include "fil/gen_int.h"
#include "hash/poseidon.h"
#include <stdlib.h>
#include <string.h>

#define N_PARENTS (FIL_DRG_DEGREE + FIL_EXP_DEGREE)

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void parents_of(uint32_t out[N_PARENTS], const fil_graph *g, uint64_t node)
{
    fil_graph_drg_parents(g, out, node);
    fil_graph_exp_parents(g, out + FIL_DRG_DEGREE, node);
}

size_t gen_column_find(const gen_columns *c, uint64_t node)
{
    if (c->n == c->node[c->n - 1] + 1) /* every node has one */
        return (size_t)node;
    const uint64_t *at = bsearch(&node, c->node, c->n, sizeof node, by_value);
    return at ? (size_t)(at - c->node) : 0;
}

typedef struct parents_job {
    gen_columns *c;
    const fil_graph *g;
} parents_job;

/* Parents as columns rather than nodes, which is what labelling asks for. */
static void set_parents(void *arg, size_t i)
{
    const parents_job *job = arg;
    gen_columns *c = job->c;
    uint32_t *out = c->parents + i * N_PARENTS;
    parents_of(out, job->g, c->node[c->sealed[i]]);
    for (uint32_t k = 0; k < N_PARENTS; k++)
        out[k] = (uint32_t)gen_column_find(c, out[k]);
}

/* Every node of the sector. */
static cuzk_status take_all(gen_columns *c, arena *a, const fil_graph *g)
{
    void *node, *sealed;
    c->n = c->n_sealed = (size_t)g->n_nodes;
    CUZK_TRY(gen_alloc(&node, a, c->n, sizeof *c->node));
    CUZK_TRY(gen_alloc(&sealed, a, c->n, sizeof *c->sealed));
    c->node = node;
    c->sealed = sealed;
    for (size_t i = 0; i < c->n; i++) {
        c->node[i] = i;
        c->sealed[i] = (uint32_t)i;
    }
    return cuzk_ok();
}

static cuzk_status take_challenged(gen_columns *c, arena *a, const fil_graph *g,
                                   const uint64_t *challenges, size_t n)
{
    void *node, *sealed, *own;
    CUZK_TRY(gen_alloc(&own, a, n, sizeof(uint64_t)));
    memcpy(own, challenges, n * sizeof *challenges);
    n = gen_sort_unique(own, n);
    CUZK_TRY(gen_alloc(&node, a, n * (1 + N_PARENTS), sizeof *c->node));
    CUZK_TRY(gen_alloc(&sealed, a, n, sizeof *c->sealed));
    c->node = node;
    c->sealed = sealed;
    c->n_sealed = n;
    for (size_t i = 0; i < n; i++) {
        uint32_t parents[N_PARENTS];
        uint64_t v = ((const uint64_t *)own)[i];
        c->node[c->n++] = v;
        parents_of(parents, g, v);
        for (uint32_t k = 0; k < N_PARENTS; k++)
            c->node[c->n++] = parents[k];
    }
    c->n = gen_sort_unique(c->node, c->n);
    for (size_t i = 0; i < n; i++)
        c->sealed[i] = (uint32_t)gen_column_find(c, ((const uint64_t *)own)[i]);
    return cuzk_ok();
}

cuzk_status gen_columns_init(gen_columns *c, arena *a, const fil_graph *g,
                             const uint64_t *challenges, size_t n, const run_ctx *rc)
{
    void *parents;
    uint32_t layers = c->layers;
    *c = (gen_columns){.layers = layers};
    CUZK_TRY(challenges ? take_challenged(c, a, g, challenges, n) : take_all(c, a, g));
    CUZK_TRY(gen_alloc(&parents, a, c->n_sealed, N_PARENTS * sizeof *c->parents));
    c->parents = parents;
    parents_job job = {c, g};
    gen_for_each(rc, c->n_sealed, set_parents, &job);
    return gen_go_on(rc, "gen", 0.2);
}

static void seal_label(const gen_columns *c, size_t i, uint32_t layer, const fr *replica_id)
{
    const uint32_t *p = c->parents + i * N_PARENTS;
    uint64_t node = c->node[c->sealed[i]];
    fr parents[FIL_LABEL_PARENTS];
    for (uint32_t k = 0; k < FIL_LABEL_PARENTS && node > 0; k++) {
        uint32_t j = fil_label_parent(layer, k);
        uint32_t row =
            j < FIL_DRG_DEGREE ? layer - 1 : layer - 2; /* expander parents are one layer below */
        parents[k] = c->rows[(size_t)p[j] * c->layers + row];
    }
    fil_label(&c->rows[(size_t)c->sealed[i] * c->layers + layer - 1], replica_id, layer, node,
              parents, node > 0 ? FIL_LABEL_PARENTS : 0);
}

typedef struct draw_job {
    const gen_columns *c;
    uint64_t seed;
} draw_job;

/* Drawn for all columns: the computed ones are overwritten. */
static void draw_column(void *arg, size_t i)
{
    const draw_job *job = arg;
    const gen_columns *c = job->c;
    for (uint32_t k = 0; k < c->layers; k++)
        gen_fr(&c->rows[i * c->layers + k], job->seed, "label", c->node[i], k + 1);
}

/* A label needs DRG parents, which are lower nodes of its layer, and expander parents of the layer
 * below, so layer by layer and node by node every parent that is computed at all is computed
 * before. */
cuzk_status gen_columns_label(gen_columns *c, arena *a, uint64_t seed, const fr *replica_id,
                              const run_ctx *rc)
{
    void *rows;
    CUZK_TRY(gen_alloc(&rows, a, c->n, c->layers * sizeof *c->rows));
    c->rows = rows;
    draw_job job = {c, seed};
    if (c->n_sealed < c->n)
        gen_for_each(rc, c->n, draw_column, &job);
    for (uint32_t layer = 1; layer <= c->layers; layer++) {
        CUZK_TRY(gen_go_on(rc, "gen", 0.2 + 0.1 * layer / c->layers));
        for (size_t i = 0; i < c->n_sealed; i++)
            seal_label(c, i, layer, replica_id);
    }
    return cuzk_ok();
}

typedef struct hash_job {
    const gen_columns *c;
    fr *out;
} hash_job;

static void hash_column(void *arg, size_t i)
{
    const hash_job *job = arg;
    poseidon_hash_merkle(&job->out[i], job->c->layers, job->c->rows + i * job->c->layers);
}

cuzk_status gen_tree_c(gen_tree *t, arena *a, const fil_sector *s, const gen_columns *c,
                       const fr *other, const run_ctx *rc)
{
    void *leaves;
    if (!poseidon_constants_get(c->layers))
        return cuzk_fail(CUZK_E_NOMEM, "Poseidon constants");
    CUZK_TRY(gen_alloc(&leaves, a, c->n, sizeof(fr)));
    hash_job job = {c, leaves};
    gen_for_each(rc, c->n, hash_column, &job);
    const gen_row row = {.n = c->n, .idx = c->node, .val = leaves, .other = *other};
    return gen_tree_sparse(t, a, gen_tree_r_shape(s), &row, rc);
}
