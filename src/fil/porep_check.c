#include "base/bytes.h"
#include "base/mem.h"
#include "fil/porep.h"
#include "hash/poseidon.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The reference checks less than this and its circuit reads less than is stored (circuits.md G);
 * here every stored value must agree with the rest, so that a proof is never begun for inputs that
 * cannot satisfy the circuit or that a verifier would derive otherwise. */

typedef struct checker {
    const fil_porep *p;
    const run_ctx *rc;
    fil_graph graph;
    fil_seal_version version;
    uint64_t *challenges; /* [n_partitions][n_challenges], derived */
    cuzk_status *results; /* one per challenge */
} checker;

/* Field path of what is being checked, cut to fit. */
typedef struct where {
    char s[112];
} where;

static CUZK_PRINTF(2, 3) where where_in(const where *outer, const char *fmt, ...)
{
    where w;
    va_list ap;
    w.s[0] = 0;
    if (outer)
        snprintf(w.s, sizeof w.s, "%s.", outer->s);
    size_t n = strlen(w.s);
    va_start(ap, fmt);
    vsnprintf(w.s + n, sizeof w.s - n, fmt, ap);
    va_end(ap);
    return w;
}

/* The first 8 bytes are enough to recognise a value and leave room for the path. */
static void short_hex(char out[24], const fr *v)
{
    uint8_t b[32];
    fr_to_le(b, v);
    hex_encode(out, b, 8);
    memcpy(out + 16, "...", 4);
}

static cuzk_status expect_fr(const where *w, const char *field, const char *what, const fr *want,
                             const fr *got)
{
    if (fr_eq(want, got))
        return cuzk_ok();
    char a[24], b[24], expected[80];
    short_hex(a, want);
    short_hex(b, got);
    snprintf(expected, sizeof expected, "%s %s", what, a);
    return cuzk_bad_input(where_in(w, "%s", field).s, expected, "%s", b);
}

static cuzk_status expect_u64(const where *w, const char *field, const char *what, uint64_t want,
                              uint64_t got)
{
    if (want == got)
        return cuzk_ok();
    char expected[80];
    snprintf(expected, sizeof expected, "%s %llu", what, (unsigned long long)want);
    return cuzk_bad_input(where_in(w, "%s", field).s, expected, "%llu", (unsigned long long)got);
}

typedef void root_fn(fr *out, const fil_path *p, const fr *leaf);

static cuzk_status check_path(const where *w, const fil_path *path, uint64_t node,
                              const char *root_name, const fr *root, root_fn *root_of)
{
    fr recomputed;
    CUZK_TRY(expect_u64(w, "path[].index", "the digits of node", node, fil_path_index(path)));
    CUZK_TRY(expect_fr(w, "root", root_name, root, &path->root));
    root_of(&recomputed, path, &path->leaf);
    return expect_fr(w, "path[].hashes", "siblings that lead from leaf to root", root, &recomputed);
}

static cuzk_status check_column(const checker *c, const where *w, const fil_column *col,
                                uint64_t node)
{
    fr leaf;
    CUZK_TRY(expect_u64(w, "column.index", "node", node, col->node));
    poseidon_hash_merkle(&leaf, col->n_rows, col->rows);
    where proof = where_in(w, "inclusion_proof");
    CUZK_TRY(expect_fr(&proof, "leaf", "the hash of column.rows", &leaf, &col->path.leaf));
    return check_path(&proof, &col->path, node, "comm_c", &c->p->comm_c, fil_path_root_poseidon);
}

static cuzk_status check_columns(const checker *c, const where *proof,
                                 const fil_porep_challenge *ch)
{
    uint32_t drg[FIL_DRG_DEGREE], expander[FIL_EXP_DEGREE];
    where w = where_in(proof, "replica_column_proofs.c_x");
    CUZK_TRY(check_column(c, &w, &ch->c_x, ch->challenge));
    fil_graph_drg_parents(&c->graph, drg, ch->challenge);
    for (unsigned i = 0; i < FIL_DRG_DEGREE; i++) {
        w = where_in(proof, "replica_column_proofs.drg_parents[%u]", i);
        CUZK_TRY(check_column(c, &w, &ch->drg[i], drg[i]));
    }
    fil_graph_exp_parents(&c->graph, expander, ch->challenge);
    for (unsigned i = 0; i < FIL_EXP_DEGREE; i++) {
        w = where_in(proof, "replica_column_proofs.exp_parents[%u]", i);
        CUZK_TRY(check_column(c, &w, &ch->exp[i], expander[i]));
    }
    return cuzk_ok();
}

/* The 37 labels under label(layer, challenge), out of the parents' columns (circuits.md E.4). */
static void label_parents(fr out[FIL_LABEL_PARENTS], const fil_porep_challenge *ch, uint32_t layer)
{
    for (uint32_t k = 0; k < FIL_LABEL_PARENTS; k++) {
        uint32_t j = fil_label_parent(layer, k);
        out[k] = j < FIL_DRG_DEGREE ? ch->drg[j].rows[layer - 1]
                                    : ch->exp[j - FIL_DRG_DEGREE].rows[layer - 2];
    }
}

static cuzk_status check_labeling(const where *w, const fil_labeling *l, uint64_t node,
                                  uint32_t layer, const fr *parents)
{
    CUZK_TRY(expect_u64(w, "node", "challenge", node, l->node));
    CUZK_TRY(expect_u64(w, "layer_index", "layer", layer, l->layer_idx));
    CUZK_TRY(expect_u64(w, "parents", "length", FIL_LABEL_PARENTS, l->n_parents));
    for (uint32_t k = 0; k < l->n_parents; k++)
        if (!fr_eq(&parents[k], &l->parents[k])) {
            where at = where_in(w, "parents[%u]", k);
            char a[24], b[24];
            short_hex(a, &parents[k]);
            short_hex(b, &l->parents[k]);
            return cuzk_bad_input(at.s, "the parent column's row", "%s instead of %s", b, a);
        }
    return cuzk_ok();
}

static cuzk_status check_labels(const checker *c, const where *proof, const fil_porep_challenge *ch)
{
    fr parents[FIL_LABEL_PARENTS], label;
    uint32_t layers = c->p->layers;
    for (uint32_t layer = 1; layer <= layers; layer++) {
        where w = where_in(proof, "labeling_proofs[%u]", layer - 1);
        label_parents(parents, ch, layer);
        CUZK_TRY(check_labeling(&w, &ch->labeling[layer - 1], ch->challenge, layer, parents));
        fil_label(&label, &c->p->replica_id, layer, ch->challenge, parents, FIL_LABEL_PARENTS);
        w = where_in(proof, "replica_column_proofs.c_x.column.rows[%u]", layer - 1);
        if (!fr_eq(&label, &ch->c_x.rows[layer - 1])) {
            char a[24], b[24];
            short_hex(a, &label);
            short_hex(b, &ch->c_x.rows[layer - 1]);
            return cuzk_bad_input(w.s, "the label of replica_id and parents", "%s instead of %s", b,
                                  a);
        }
    }
    where w = where_in(proof, "encoding_proof");
    return check_labeling(&w, &ch->encoding, ch->challenge, layers, parents);
}

static cuzk_status check_challenge(const checker *c, uint32_t part, uint32_t i)
{
    const fil_porep *p = c->p;
    const fil_porep_challenge *ch = &p->partitions[part][i];
    where proof = where_in(NULL, "vanilla_proofs[%u][%u]", part, i);
    uint64_t want = c->challenges[(size_t)part * p->n_challenges + i];
    CUZK_TRY(expect_u64(&proof, "labeling_proofs[0].node", "challenge", want, ch->challenge));
    where w = where_in(&proof, "comm_d_proofs");
    CUZK_TRY(
        check_path(&w, &ch->comm_d, ch->challenge, "comm_d", &p->comm_d, fil_path_root_sha256));
    w = where_in(&proof, "comm_r_last_proof");
    CUZK_TRY(check_path(&w, &ch->comm_r_last, ch->challenge, "comm_r_last", &p->comm_r_last,
                        fil_path_root_poseidon));
    CUZK_TRY(check_columns(c, &proof, ch));
    CUZK_TRY(check_labels(c, &proof, ch));
    fr encoded;
    fr_add(&encoded, &ch->c_x.rows[p->layers - 1], &ch->comm_d.leaf);
    return expect_fr(&w, "leaf", "label + data", &encoded, &ch->comm_r_last.leaf);
}

static void check_chunk(void *ctx, size_t chunk, unsigned thread)
{
    checker *c = ctx;
    (void)thread;
    if (run_cancelled(c->rc))
        c->results[chunk] = cuzk_fail(CUZK_E_CANCELLED, "PoRep check cancelled");
    else
        c->results[chunk] = check_challenge(c, (uint32_t)(chunk / c->p->n_challenges),
                                            (uint32_t)(chunk % c->p->n_challenges));
}

/* Both trees' roots come from the first challenge, so its own paths must be sound before comm_r can
 * be blamed. */
static cuzk_status check_commitments(const fil_porep *p)
{
    const fil_porep_challenge *first = &p->partitions[0][0];
    where w = where_in(NULL, "vanilla_proofs[0][0].comm_r_last_proof");
    fr root;
    fil_path_root_poseidon(&root, &first->comm_r_last, &first->comm_r_last.leaf);
    CUZK_TRY(expect_fr(&w, "root", "the root of leaf and path", &root, &p->comm_r_last));
    w = where_in(NULL, "vanilla_proofs[0][0].replica_column_proofs.c_x.inclusion_proof");
    fil_path_root_poseidon(&root, &first->c_x.path, &first->c_x.path.leaf);
    CUZK_TRY(expect_fr(&w, "root", "the root of leaf and path", &root, &p->comm_c));
    fr pair[2] = {p->comm_c, p->comm_r_last};
    poseidon_hash_merkle(&root, 2, pair);
    return expect_fr(NULL, "comm_r", "Poseidon(comm_c, comm_r_last) =", &root, &p->comm_r);
}

static cuzk_status check_head(const fil_porep *p, const fil_porep_context *ctx,
                              const uint8_t porep_id[32])
{
    static const uint8_t zero[32];
    if (memcmp(p->seed, zero, sizeof zero) == 0)
        return cuzk_bad_input("seed", "a seed that is not all zero", "32 zero bytes");
    if (fr_is_zero(&p->comm_r))
        return cuzk_bad_input("comm_r", "a commitment that is not zero", "zero");
    if (fr_is_zero(&p->comm_d))
        return cuzk_bad_input("comm_d", "a commitment that is not zero", "zero");
    if (!ctx || !ctx->has_miner || !ctx->has_sector)
        return cuzk_ok();
    uint8_t prover_id[32];
    fr id;
    fil_prover_id(prover_id, ctx->miner);
    fil_replica_id(&id, prover_id, ctx->sector, p->ticket, &p->comm_d, porep_id);
    if (fr_eq(&id, &p->replica_id))
        return cuzk_ok();
    char a[24], b[24];
    short_hex(a, &id);
    short_hex(b, &p->replica_id);
    return cuzk_bad_input("replica_id", "the hash of miner, sector, ticket and comm_d",
                          "%s instead of %s (miner %llu, sector %llu)", b, a,
                          (unsigned long long)ctx->miner, (unsigned long long)ctx->sector);
}

static cuzk_status derive_challenges(checker *c)
{
    const fil_porep *p = c->p;
    for (uint32_t k = 0; k < p->n_partitions; k++)
        CUZK_TRY(fil_challenges(c->challenges + (size_t)k * p->n_challenges, p->n_challenges, k,
                                c->version, p->sector->n_nodes, &p->replica_id, &p->comm_r,
                                p->seed));
    return cuzk_ok();
}

static cuzk_status check_all(checker *c, size_t n)
{
    CUZK_TRY(derive_challenges(c));
    CUZK_TRY(check_commitments(c->p));
    CUZK_TRY(run_for(c->rc, n, check_chunk, c));
    for (size_t i = 0; i < n; i++)
        if (c->results[i].code != CUZK_OK)
            return c->results[i];
    return cuzk_ok();
}

cuzk_status fil_porep_check(const fil_porep *p, const fil_porep_context *ctx, const run_ctx *rc)
{
    static const run_ctx no_rc;
    checker c = {.p = p,
                 .rc = rc ? rc : &no_rc,
                 .version = ctx && ctx->has_version ? ctx->version : p->version};
    const uint8_t *porep_id = ctx && ctx->has_porep_id ? ctx->porep_id : p->porep_id;
    CUZK_TRY(check_head(p, ctx, porep_id));
    if (!poseidon_constants_get(2) || !poseidon_constants_get(8) ||
        !poseidon_constants_get(p->layers))
        return cuzk_fail(CUZK_E_NOMEM, "Poseidon constants");
    fil_graph_init(&c.graph, p->sector->n_nodes, porep_id, c.version == FIL_SEAL_V1);
    size_t n = (size_t)p->n_partitions * p->n_challenges;
    c.challenges = mem_zalloc(n * sizeof *c.challenges, 8);
    c.results = mem_zalloc(n * sizeof *c.results, 8);
    cuzk_status st = c.challenges && c.results
                         ? check_all(&c, n)
                         : cuzk_fail(CUZK_E_NOMEM, "checking %zu challenges", n);
    mem_free(c.results);
    mem_free(c.challenges);
    return st;
}
