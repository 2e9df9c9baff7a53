/* Parts of the input generator: seeded values, and Merkle trees of which only some or few different
 * leaves exist. */
#ifndef FIL_GEN_INT_H
#define FIL_GEN_INT_H
#include "base/arena.h"
#include "base/run_ctx.h"
#include "fil/bincode.h"
#include "fil/gen.h"

/* 32 bytes from (seed, what, a, b): SHA-256, so that no value depends on the order in which they
 * are drawn. */
void gen_bytes(uint8_t out[32], uint64_t seed, const char *what, uint64_t a, uint64_t b);
/* The same as a field element below 2^254, which is what data, labels and commitments are. */
void gen_fr(fr *out, uint64_t seed, const char *what, uint64_t a, uint64_t b);
/* Sort n numbers and keep each once; returns how many are left. */
size_t gen_sort_unique(uint64_t *v, size_t n);
/* n elements, zeroed. Errors: CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status gen_alloc(void **out, arena *a, size_t n, size_t size);
/* Errors: CUZK_E_CANCELLED. */
CUZK_MUST_CHECK cuzk_status gen_go_on(const run_ctx *rc, const char *stage, double fraction);
/* Run fn for items [0, n) in chunks over rc->pool. */
typedef void gen_item_fn(void *ctx, size_t i);
void gen_for_each(const run_ctx *rc, size_t n, gen_item_fn *fn, void *ctx);

/* Row k of a tree: its nodes of height k. Either sparse (idx: sorted node numbers, all other nodes
 * are `other`) or periodic (idx NULL: runs of 2^shift nodes, in each of which the same `period`
 * values repeat; period is a power of two). */
typedef struct gen_row {
    size_t n;
    const uint64_t *idx;
    fr *val;
    fr other;
    uint32_t shift, period;
} gen_row;
/* Rows 0 (leaves) to n_levels (the root). Immutable once built; lives in the arena given. */
typedef struct gen_tree {
    bool is_sha256; /* else Poseidon */
    uint32_t n_levels;
    uint8_t arity[FIL_PATH_MAX_LEVELS];
    gen_row rows[FIL_PATH_MAX_LEVELS + 1];
} gen_tree;

fil_tree gen_tree_r_shape(const fil_sector *s);
fil_tree gen_tree_d_shape(uint32_t lg_nodes);

/* Leaves idx[0..n-1] (ascending, each once) have values val, all others the value other. Poseidon.
 * Keeps idx and val.
 * Errors: CUZK_E_NOMEM. Cost: n * levels hashes at most. */
CUZK_MUST_CHECK cuzk_status gen_tree_sparse(gen_tree *t, arena *a, fil_tree shape,
                                            const gen_row *leaves, const run_ctx *rc);
/* 2^lg_blocks blocks of equal size (8 leaves at least); leaf i of block b is val[8 b + i mod 8].
 * Keeps val. Errors: CUZK_E_NOMEM. */
#define GEN_PERIOD 8u
typedef struct gen_blocks {
    uint32_t lg_nodes, lg_blocks;
    fr *val; /* GEN_PERIOD << lg_blocks */
    bool is_sha256;
} gen_blocks;
CUZK_MUST_CHECK cuzk_status gen_tree_blocks(gen_tree *t, arena *a, fil_tree shape,
                                            const gen_blocks *b, const run_ctx *rc);
/* Node idx of a row; idx is below the row's width. */
const fr *gen_tree_node(const gen_tree *t, uint32_t row, uint64_t idx);
const fr *gen_tree_root(const gen_tree *t);
/* Siblings a path has. */
size_t gen_tree_n_sib(const gen_tree *t);
/* The path of a leaf; writes gen_tree_n_sib siblings at *sib, which p keeps, and moves *sib behind
 * them. */
void gen_tree_open(fil_path *p, fr **sib, const gen_tree *t, uint64_t leaf);
/* comm_r = Poseidon(comm_c, comm_r_last). */
void gen_comm_r(fr *out, const fr *comm_c, const fr *comm_r_last);

/* What sealing makes: columns of some nodes (ascending), of which some (all, in a really sealed
 * sector) are computed. */
typedef struct gen_columns {
    uint32_t layers;
    size_t n;
    uint64_t *node;
    fr *rows; /* [n][layers] */
    size_t n_sealed;
    uint32_t *sealed;  /* which columns are computed, ascending */
    uint32_t *parents; /* [n_sealed][14]: columns of the drg, then the expander parents */
} gen_columns;
/* Columns of n challenges (any order, repeats allowed) and their parents, or of every node when
 * challenges is NULL. rows stay zero. */
CUZK_MUST_CHECK cuzk_status gen_columns_init(gen_columns *c, arena *a, const fil_graph *g,
                                             const uint64_t *challenges, size_t n,
                                             const run_ctx *rc);
/* The labels: computed ones in layer order, those of other columns drawn from seed. c->layers is
 * set. */
CUZK_MUST_CHECK cuzk_status gen_columns_label(gen_columns *c, arena *a, uint64_t seed,
                                              const fr *replica_id, const run_ctx *rc);
/* TreeC over the columns; all other leaves are `other`. Errors: CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status gen_tree_c(gen_tree *t, arena *a, const fil_sector *s,
                                       const gen_columns *c, const fr *other, const run_ctx *rc);
/* Column of a node that has one. */
size_t gen_column_find(const gen_columns *c, uint64_t node);
#endif
